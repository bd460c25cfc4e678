"""catch-up: parse, run, print."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.cli.options import JsonOption, ProjectOption, SpecArguments, open_project, parse_time
from engine.cli.output import NULL, console, grid, note, print_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.report import RunReport, SourceReport, TableReport

    Progress = Callable[[str, str], None]

STATUS_STYLES = {"ok": "green", "nothing new": "dim", "failed": "bold red", "blocked": "bold yellow"}


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.command("catch-up")(catch_up)


def catch_up(
    specs: SpecArguments = None,
    until: Annotated[str | None, typer.Option(help="Only what was committed up to this time (UTC).")] = None,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for another run to end.")] = 0.0,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Take all that is new into the tables, exactly once."""
    bound = parse_time(until) if until else None
    found_project = open_project(project)
    from engine.spec import load_specs

    found_specs = load_specs(specs, found_project)
    with progress_line() as progress:
        progress("", "starting Spark")
        from engine import run
        from engine.session import spark_session

        spark = spark_session(found_project)
        report = run.catch_up(found_project, found_specs, spark, progress=progress, until=bound, wait=wait)
    if json:
        print_json(report.to_dict())
    else:
        print_report(report)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


@contextmanager
def progress_line() -> "Iterator[Progress]":
    """What is being done, on standard error: one changing line at a terminal, a line a step in a log."""
    if not sys.stderr.isatty():
        yield lambda table, step: note(f"{datetime.now(UTC):%H:%M:%S} {_doing(table, step)}")
        return
    from rich.markup import escape

    with console(error=True).status("") as status:
        yield lambda table, step: status.update(escape(_doing(table, step)))


def print_report(report: "RunReport") -> None:
    """The report of a run for a person: what was read, what became of it, and what went wrong."""
    from rich.text import Text

    out = console()
    out.print(grid(("source", "read", "taken", "control", "other tables", "rejected"), map(_source, report.sources)))
    columns = ("table", "status", "batch", "changes", "opened", "updated", "closed", "removed", "rejected", "seconds")
    table = grid(columns, ())
    for found in report.tables:
        style = STATUS_STYLES.get(found.status, "")
        table.add_row(*(Text(cell, style if cell == found.status else "") for cell in _table(found)))
    out.print(table)
    for found in report.tables:
        if found.error:
            out.print(Text(f"{found.table}: {found.error}", style="bold red"), soft_wrap=True)
    out.print(Text(f"run {report.run_id}: {len(report.tables)} tables in {report.seconds:.1f} s"), soft_wrap=True)


def _source(source: "SourceReport") -> tuple[str, ...]:
    others = sum(source.other_tables.values())
    numbers = (source.read, sum(source.taken.values()), source.control, others, source.rejected)
    return source.path, *(f"{number:,}" for number in numbers)


def _table(table: "TableReport") -> tuple[str, ...]:
    versions = [_number(table.versions.get(what, 0)) for what in ("opened", "updated", "closed", "removed")]
    batch = _number(table.batch)
    changes, rejected = _number(table.changes), _number(table.rejected)
    return table.table, table.status, batch, changes, *versions, rejected, f"{table.seconds:.1f}"


def _number(value: Any) -> str:
    return NULL if value is None else f"{value:,}"


def _doing(table: str, step: str) -> str:
    return f"{table}: {step}" if table else step
