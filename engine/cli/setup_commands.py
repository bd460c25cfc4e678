"""doctor, jars and demo: is this machine ready, what does a cluster need, and what does siltstone do."""

from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from siltstone.engine.cli.options import JsonOption, ProjectOption, open_project
from siltstone.engine.cli.output import note, print_grid, print_json, write_line

NOT_READY_EXIT_CODE = 2


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.command()(doctor)
    app.command()(jars)
    app.command()(demo)


def doctor(project: ProjectOption = None, json: JsonOption = False) -> None:
    """Check that this machine is ready: Java, Python, jars, catalog, warehouse, disk."""
    from siltstone.engine.doctor import examine

    findings = list(examine(open_project(project), note))
    if json:
        print_json([asdict(finding) for finding in findings])
    else:
        cells = [("ok" if finding.ok else "WRONG", finding.matter, finding.found) for finding in findings]
        print_grid(("", "matter", "found"), cells)
        for finding in findings:
            if not finding.ok:
                write_line(f"{finding.matter}: {finding.hint}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(NOT_READY_EXIT_CODE)


def jars(project: ProjectOption = None, json: JsonOption = False) -> None:
    """Print the jars that Spark needs for this project, for spark-submit --jars; fetch those that are missing."""
    from siltstone.engine.jars import jar_paths
    from siltstone.engine.session import needed_jars

    paths = [str(path) for path in jar_paths(needed_jars(open_project(project).catalog))]
    if json:
        print_json(paths)
    else:
        write_line(",".join(paths))


def demo(
    folder: Annotated[Path, typer.Option(help="Where the demo's project is made.")] = Path("siltstone-demo"),
) -> None:
    """The whole story on bundled events, in a folder of its own."""
    raise typer.Exit(import_module("siltstone.engine.demo").run(folder))
