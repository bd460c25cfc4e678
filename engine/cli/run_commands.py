"""catch-up and check: parse the arguments, run, and print the report."""

import uuid
from typing import TYPE_CHECKING, Any, Final

import typer

from siltstone.engine.cli.check_output import print_checked, print_checks, print_page
from siltstone.engine.cli.fold_commands import end_with, print_errors, print_notes
from siltstone.engine.cli.options import JsonOption, ProjectOption, SpecArguments, UntilOption, WaitOption, parse_time
from siltstone.engine.cli.output import console, number, print_grid, print_json, shown_path
from siltstone.engine.cli.spark_command import spark_work

if TYPE_CHECKING:
    from siltstone.engine.report import RunReport, SourceReport, TableReport
    from siltstone.quality import Checked

SOURCE_COLUMNS: Final = ("source", "read", "taken", "control", "other tables", "rejected", "left")


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.command("catch-up")(catch_up)
    app.command()(check)


def catch_up(
    specs: SpecArguments = None,
    until: UntilOption = None,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Read all new events, update the tables with each of them exactly once, and run the checks."""
    bound = parse_time(until) if until else None
    with spark_work(specs, project, wait) as (found_project, found_specs, spark, progress):
        from siltstone.engine.run import catch_up as run_catch_up
        from siltstone.quality.validate import checks_of_run

        report = run_catch_up(found_project, found_specs, spark, progress, bound, wait, checks_of_run)
    if json:
        print_json(report.to_dict())
    else:
        print_report(report)
    print_page(found_project, report.is_checked)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def check(specs: SpecArguments = None, json: JsonOption = False, project: ProjectOption = None) -> None:
    """Run the checks on all data of the tables."""
    tables: list[Checked] = []
    with spark_work(specs, project) as (found_project, found_specs, spark, progress):
        from siltstone.quality.validate import check_table

        run_id = uuid.uuid4().hex[:16]
        for spec in found_specs:
            progress(spec.table, "checking")
            tables.append(check_table(spark, found_project, spec, run_id))
    results = [(found.table, result) for found in tables for result in found.results]
    if json:
        print_json([result for found in tables for result in _checked(found)])
    else:
        print_checks(results)
        print_errors((found.table, found.error) for found in tables)
    print_page(found_project, bool(results))
    end_with(found.exit_code for found in tables)


def print_report(report: "RunReport") -> None:
    """Print the report of a run: the records read, their outcomes, and errors."""
    from rich.text import Text

    out = console()
    print_grid(SOURCE_COLUMNS, map(_source, report.sources))
    columns = ("table", "status", "batch", "changes", "opened", "updated", "removed", "rejected", "seconds")
    print_grid(columns, map(_table, report.tables))
    print_notes(report)
    for source in report.sources:
        if source.warning:
            out.print(Text(f"{shown_path(source.path)}: {source.warning}", style="yellow"), soft_wrap=True)
    for found in report.tables:
        if found.error:
            out.print(Text(f"{found.table}: {found.error}", style="bold red"), soft_wrap=True)
        if found.warning:
            out.print(Text(f"{found.table}: {found.warning}", style="yellow"), soft_wrap=True)
    print_checked(report)


def _checked(found: "Checked") -> list[dict[str, Any]]:
    """One table's results as values for JSON, with its error if it has one."""
    from dataclasses import asdict

    error = {"table": found.table, "status": "failed", "error": found.error, "exit_code": found.exit_code}
    return [*(asdict(result) for result in found.results), *([error] if found.error is not None else [])]


def _source(source: "SourceReport") -> tuple[str, ...]:
    others = sum(source.other_tables.values())
    numbers = (source.read, sum(source.taken.values()), source.control, others, source.rejected)
    return shown_path(source.path), *(f"{number:,}" for number in numbers), number(source.left)


def _table(table: "TableReport") -> tuple[str, ...]:
    versions = [number(table.versions.get(what, 0)) for what in ("opened", "updated", "removed")]
    batch = number(table.batch)
    changes, rejected = number(table.changes), number(table.rejected)
    return table.table, table.status, batch, changes, *versions, rejected, f"{table.seconds:.1f}"
