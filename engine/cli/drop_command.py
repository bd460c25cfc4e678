"""drop: remove a table and everything that siltstone stores for it."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from siltstone.engine.cli.options import JsonOption, ProjectOption, TableArgument, WaitOption, open_project
from siltstone.engine.cli.output import note, print_json, write_line
from siltstone.engine.cli.spark_command import refuse_busy, started_spark
from siltstone.engine.errors import SpecError

if TYPE_CHECKING:
    from siltstone.engine.report import DropReport
    from siltstone.engine.run.drop import TableToDrop


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.command()(drop)


def drop(
    table: TableArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Remove the table without confirmation.")] = False,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Remove a table permanently: latest, history, changes, and its rows in the ledgers."""
    from siltstone.engine.run.drop import table_to_drop

    found_project = open_project(project)
    to_drop = table_to_drop(table, found_project)
    if not yes:
        confirm(to_drop)
    refuse_busy(found_project, wait)
    with started_spark(found_project) as (spark, progress):
        from siltstone.engine.run import drop as run_drop

        report = run_drop(found_project, to_drop, spark, progress, wait)
    if json:
        print_json(report.to_dict())
    else:
        print_dropped(report)


def confirm(to_drop: "TableToDrop") -> None:
    """Ask for a confirmation at the terminal.

    Raises: SpecError: there is no terminal, or the answer is no.
    """
    note(f"This removes {', '.join(to_drop.tables)} with all files, and the rows of {to_drop.table} in the ledgers.")
    if not sys.stdin.isatty():
        raise SpecError(
            f"Cannot drop {to_drop.table}: there is no terminal for the confirmation.", "confirm with --yes"
        )
    if not typer.confirm(f"Drop {to_drop.table}?", err=True):
        raise SpecError(f"{to_drop.table} was not dropped: it was not confirmed. Nothing was removed.")


def print_dropped(report: "DropReport") -> None:
    """Print what was removed, and what remains."""
    rows = ", ".join(f"{number:,} in {ledger}" for ledger, number in report.rows.items()) or "none"
    write_line(f"dropped {report.table}: {', '.join(report.tables) or 'no table existed'}; rows of ledgers: {rows}")
    for text in report.kept:
        write_line(f"  kept: {text}")
