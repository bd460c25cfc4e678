"""drop: remove a table with all that siltstone keeps of it."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from siltstone.engine.cli.options import JsonOption, ProjectOption, TableArgument, WaitOption, open_project
from siltstone.engine.cli.output import note, print_json, write_line
from siltstone.engine.cli.spark_command import refuse_busy, started_spark
from siltstone.engine.errors import SpecError

if TYPE_CHECKING:
    from siltstone.engine.report import DropReport
    from siltstone.engine.run.drop import Unwanted


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.command()(drop)


def drop(
    table: TableArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Remove a table for good: latest, history, changes, and its rows in the ledgers."""
    from siltstone.engine.run.drop import table_to_drop

    found_project = open_project(project)
    unwanted = table_to_drop(table, found_project)
    if not yes:
        confirm(unwanted)
    refuse_busy(found_project, wait)
    with started_spark(found_project) as (spark, progress):
        from siltstone.engine.run import drop as run_drop

        report = run_drop(found_project, unwanted, spark, progress, wait)
    if json:
        print_json(report.to_dict())
    else:
        print_dropped(report)


def confirm(unwanted: "Unwanted") -> None:
    """Ask at the terminal.

    Raises: SpecError: there is no terminal, or the answer is no.
    """
    note(f"This removes {', '.join(unwanted.tables)} with all files, and the rows of {unwanted.table} in the ledgers.")
    if not sys.stdin.isatty():
        raise SpecError(f"Cannot drop {unwanted.table}: no terminal to confirm it at.", "--yes confirms it")
    if not typer.confirm(f"Drop {unwanted.table}?", err=True):
        raise SpecError(f"{unwanted.table} was not dropped: it was not confirmed. Nothing was removed.")


def print_dropped(report: "DropReport") -> None:
    """What is gone, and what stays."""
    rows = ", ".join(f"{number:,} in {ledger}" for ledger, number in report.rows.items()) or "none"
    write_line(f"dropped {report.table}: {', '.join(report.tables) or 'no table was left'}; rows of ledgers: {rows}")
    for text in report.kept:
        write_line(f"  stays: {text}")
