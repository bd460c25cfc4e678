"""rejects list, show, replay and dismiss: records that siltstone could not decode."""

import getpass
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from siltstone.engine.cli.check_output import print_page
from siltstone.engine.cli.command_group import CommandGroup
from siltstone.engine.cli.options import JsonOption, ProjectOption, SpecArguments, WaitOption, open_project
from siltstone.engine.cli.output import note, number, print_grid, print_json, shown_path, write_line
from siltstone.engine.cli.spark_command import spark_work
from siltstone.engine.counts import counted
from siltstone.engine.errors import SpecError

if TYPE_CHECKING:
    from pathlib import Path

    from siltstone.engine.reader.reject_reader import Reject

DEFAULT_LIMIT = 20
RECORD_SHOWN = 2_000
EveryOption = Annotated[
    bool, typer.Option("--all", help="Include rejects that no longer wait: replayed, re-read or dismissed.")
]
TableOption = Annotated[
    str | None,
    typer.Argument(help="The name of the table at its source, as `rejects list` prints it. Default: all tables."),
]

commands = typer.Typer(
    cls=CommandGroup, help="List, show, replay and dismiss records that could not be decoded.", no_args_is_help=True
)


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    commands.command("list")(list_rejects)
    commands.command("show")(show_rejects)
    commands.command("replay")(replay_rejects)
    commands.command("dismiss")(dismiss_rejects)
    app.add_typer(commands, name="rejects")


def list_rejects(
    table: TableOption = None, everything: EveryOption = False, json: JsonOption = False, project: ProjectOption = None
) -> None:
    """Count the waiting rejects by table and reason."""
    from siltstone.engine.reader.reject_reader import grouped

    groups = grouped(_found(table, project, everything, records=False))
    if json:
        print_json([asdict(group) for group in groups])
        return
    cells = (
        (g.table or "(unknown)", g.reason, g.status, number(g.count), f"{shown_path(g.first_file)}:{g.first_line}")
        for g in groups
    )
    print_grid(("table", "reason", "status", "records", "first at"), cells)
    total = sum(group.count for group in groups)
    write_line(counted(total, "record") if groups else "no rejects")


def show_rejects(
    table: TableOption = None,
    reason: Annotated[str | None, typer.Option(help="Only rejects whose reason contains this text.")] = None,
    limit: Annotated[
        int, typer.Option(min=0, help="The greatest number of records to print; 0 prints all.")
    ] = DEFAULT_LIMIT,
    everything: EveryOption = False,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Print rejected records unchanged, with their files, lines and reasons."""
    found = [each for each in _found(table, project, everything, records=True) if (reason or "") in each.reason]
    shown = found[:limit] if limit else found
    if json:
        print_json([_values(each) for each in shown])
    for each in () if json else shown:
        write_line(
            f"{shown_path(each.file)}:{each.line}  {each.table or '(unknown table)'}  {each.status}: {each.reason}"
        )
        if (dismissal := each.dismissal) is not None:
            at = f"{dismissal.at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
            write_line(f"    dismissed at {at} by {dismissal.by}: {dismissal.reason}")
        write_line(f"    {_record(each)}")
    if len(found) > len(shown):
        note(f"the first {len(shown):,} of {counted(len(found), 'record')}; --limit 0 shows all")
    elif not found:
        note("no rejects")


def replay_rejects(
    specs: SpecArguments = None, wait: WaitOption = 0.0, json: JsonOption = False, project: ProjectOption = None
) -> None:
    """Decode the waiting rejects a second time, after the spec or siltstone was fixed.

    The changes keep their original coordinates, so the tables become the same as if the records had never been
    rejected. Each reject is taken once.
    """
    from siltstone.engine.cli.run_commands import print_report

    with spark_work(specs, project, wait) as (found_project, found_specs, spark, progress):
        from siltstone.engine.run import replay
        from siltstone.quality.validate import checks_of_run

        report = replay(found_project, found_specs, spark, progress, wait, checks_of_run)
    if json:
        print_json(report.to_dict())
    else:
        print_report(report)
        for source in report.sources:
            for file, count in source.out_of_reach.items():
                kept = f"{counted(count, 'reject')} of {shown_path(file)} cannot be replayed"
                write_line(f"{kept}: siltstone did not store the records, and the file is missing or has changed.")
    print_page(found_project, report.is_checked)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def dismiss_rejects(
    reason: Annotated[str, typer.Option(help="Why the rejects need no replay. `rejects show --all` prints this text.")],
    places: Annotated[
        list[str] | None,
        typer.Argument(help="FILE or FILE:LINE, as `rejects show` prints them. The end of a path is enough."),
    ] = None,
    table: Annotated[str | None, typer.Option(help="Only rejects of this table.")] = None,
    matching: Annotated[str, typer.Option(help="Only rejects whose reason contains this text.")] = "",
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Dismiss rejects that need no replay: no replay takes them, and no check counts them."""
    from siltstone.engine.reader.dismissals import Choice, Dismissal, dismiss
    from siltstone.engine.reader.reject_reader import DISMISSED

    if not reason.strip():
        raise typer.BadParameter("the reason is empty", param_hint="--reason")
    if not (places or table or matching):
        raise typer.BadParameter("choose rejects by FILE or FILE:LINE, --table or --matching")
    found_project = open_project(project)
    chosen = Choice(places or (), matching=matching).of(_found(table, project, everything=False, records=False))
    dismissal = Dismissal(getpass.getuser(), reason.strip(), datetime.now(UTC))
    dismiss(found_project, chosen, dismissal)
    if json:
        print_json([_values(replace(each, status=DISMISSED, dismissal=dismissal)) for each in chosen])
    else:
        many = "1 reject is" if len(chosen) == 1 else f"{len(chosen)} rejects are"
        write_line(f"{many} dismissed by {dismissal.by}")


def _values(reject: "Reject") -> dict[str, object]:
    """A reject as values for JSON."""
    return {name: value for name, value in asdict(reject).items() if name != "place"}


def _found(table: str | None, project: "Path | None", everything: bool, records: bool) -> "list[Reject]":
    from siltstone.engine.reader import open_catalog
    from siltstone.engine.reader.reject_reader import WAITING, rejects
    from siltstone.engine.spec import load_specs

    found_project = open_project(project)
    specs = load_specs(None, found_project)
    found = rejects(open_catalog(found_project.catalog), found_project, specs, records)
    if table is not None:
        named = [spec.table for spec in specs if table in (spec.table, spec.target.latest)]
        known = {each.table for each in found}
        if not named and table not in known:
            listed = ", ".join(sorted(name for name in known if name)) or "no table"
            raise SpecError(f"Cannot find rejects of {table}: no spec has this name.", f"there are rejects of {listed}")
        found = [each for each in found if each.table in (table, *named)]
    kept = [each for each in found if everything or each.status == WAITING]
    return [replace(each, file=each.file.removeprefix("file:")) for each in kept]


def _record(reject: "Reject") -> str:
    if reject.record is None:
        return "(not stored, because it contains or may contain masked columns; see the file)"
    cut = len(reject.record) - RECORD_SHOWN
    return reject.record if cut <= 0 else f"{reject.record[:RECORD_SHOWN]} ... ({cut} more characters; --json has all)"
