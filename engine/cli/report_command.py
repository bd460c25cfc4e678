"""report: whether the data can be trusted, as a page, JSON or Markdown, without a JVM."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from siltstone.engine.cli.options import JsonOption, ProjectOption, open_project, parse_address
from siltstone.engine.cli.output import print_json, write_line
from siltstone.engine.errors import SpecError


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.command()(report)


def report(
    show: Annotated[bool, typer.Option("--open", help="Open the report's page in a browser.")] = False,
    json: JsonOption = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a summary in Markdown, for a chat or a CI log.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            callback=parse_address,
            help="A folder or a URI to copy the pages to. Default: `report` in the project file.",
        ),
    ] = None,
    project: ProjectOption = None,
) -> None:
    """Write the data quality report: which tables can be trusted, and what to do about the others."""
    from siltstone.engine.spec.resolve import address_in
    from siltstone.quality.report.publish_pages import copy_pages
    from siltstone.quality.report.summary import markdown as summary
    from siltstone.quality.report.summary import plain
    from siltstone.quality.report.verdict import verdict
    from siltstone.quality.report.write_report import facts_of, write_page

    if json and markdown:
        raise SpecError("Cannot print both --json and --markdown.", "choose one")
    found_project = open_project(project)
    facts = facts_of(found_project)
    file = write_page(found_project, facts)
    to = found_project.report if output is None else address_in(output, Path.cwd())
    address = str(file) if to is None else copy_pages(found_project, to)
    if json:
        print_json(plain(facts))
    elif markdown:
        write_line(summary(facts).rstrip("\n"))
    else:
        found = verdict(facts)
        write_line(f"{found.headline}. {found.detail} {found.age}".rstrip())
        write_line(address)
    if show:
        webbrowser.open(file.as_uri())
