"""maintain: compact tables, expire snapshots, remove old files and rows."""

from typing import TYPE_CHECKING, Annotated

import typer

from siltstone.engine.cli.options import JsonOption, ProjectOption, SpecArguments, WaitOption, parse_span
from siltstone.engine.cli.output import console, number, print_grid, print_json
from siltstone.engine.cli.spark_command import spark_work
from siltstone.engine.counts import counted

if TYPE_CHECKING:
    from siltstone.engine.report import MaintenanceReport, TableSize


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.command()(maintain)


def maintain(
    specs: SpecArguments = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Report what maintenance would do, and do nothing.")
    ] = False,
    retain: Annotated[
        str | None,
        typer.Option(
            help="How long snapshots stay readable, such as 3d or 12h. Default: the project's maintenance.retain."
        ),
    ] = None,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Compact the tables, expire old snapshots, remove orphan files and trim the ledgers.

    If a spec sets retain_changes, older rows of changes are removed. No row of latest or history changes.
    """
    span = None if retain is None else parse_span(retain)
    with spark_work(specs, project, wait) as (found_project, found_specs, spark, progress):
        from siltstone.engine.run import maintain as run_maintain

        report = run_maintain(found_project, found_specs, spark, progress, dry_run, span, wait)
    if json:
        print_json(report.to_dict())
    else:
        print_maintained(report)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def print_maintained(report: "MaintenanceReport") -> None:
    """Print each table before and after, and what was done."""
    from rich.text import Text

    sizes = ("files", "deletes", "manifests", "snapshots", "size", "scan")
    columns = ("table", *sizes, "expired", "orphans", "old changes")
    lines = []
    for found in report.tables:
        if found.before is None or found.after is None:
            continue
        pairs = zip(_cells(found.before, found.scan_before), _cells(found.after, found.scan_after), strict=True)
        cells = [one if one == other else f"{one} -> {other}" for one, other in pairs]
        lines.append((found.table, *cells, number(found.expired), number(found.orphans), number(found.trimmed)))
    print_grid(columns, lines)
    out = console()
    for found in report.tables:
        if found.error:
            out.print(Text(f"{found.table}: {found.error}", style="bold red"), soft_wrap=True)
    done = "dry run, nothing was changed" if report.dry_run else counted(len(report.tables), "table")
    out.print(Text(f"{done}, {report.seconds:.1f} s"), soft_wrap=True)


def _cells(size: "TableSize", scan: float) -> tuple[str, ...]:
    numbers = (size.files, size.delete_files, size.manifests, size.snapshots)
    return (*(f"{one:,}" for one in numbers), f"{size.bytes / (1 << 20):,.1f} MB", f"{scan:.1f} s")
