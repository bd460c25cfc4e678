"""plan, explain, verify and rebuild: what a fold would do, did, should have done, and the same again."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated

import typer

from siltstone.engine.cli.check_output import print_checked, print_page
from siltstone.engine.cli.options import (
    JsonOption,
    ProjectOption,
    SpecArguments,
    TableArgument,
    WaitOption,
    open_project,
    parse_keys,
    parse_ranges,
    parse_time,
)
from siltstone.engine.cli.output import (
    NULL,
    console,
    number,
    print_grid,
    print_json,
    print_rows,
    with_changed,
    write_line,
)
from siltstone.engine.cli.spark_command import spark_work, started_spark
from siltstone.engine.errors import SpecError

if TYPE_CHECKING:
    from siltstone.engine.report import ExplainedChange, Explanation, RunReport, TablePlan, Verification
    from siltstone.engine.spec.model import ProjectSpec, TableSpec

KeyOption = Annotated[list[str] | None, typer.Option(help="column=value; once for each key column.")]
OUTCOMES = ("opened", "updated", "absorbed", "superseded", "redelivered", "healed")
VERSIONS = ("opened", "closed", "updated", "spliced", "withdrawn", "removed")


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    for command in (plan, explain, verify, rebuild):
        app.command()(command)


def plan(
    specs: SpecArguments = None,
    until: Annotated[
        str | None, typer.Option(help="Without files modified (of a table: committed) after this time (UTC).")
    ] = None,
    sql: Annotated[bool, typer.Option("--sql", help="Print the statements that would write the tables.")] = False,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Say what catch-up would do now, and write nothing."""
    bound = parse_time(until) if until else None
    with spark_work(specs, project, wait) as (found_project, found_specs, spark, progress):
        from siltstone.engine.run import plan as run_plan

        plans = run_plan(found_project, found_specs, spark, progress, bound, wait)
    if json:
        print_json([asdict(found) for found in plans])
    else:
        print_plans(plans)
        for statement in (text for found in plans if sql for text in found.sql):
            write_line(f"{statement};\n")
    end_with(found.exit_code for found in plans)


def explain(
    table: TableArgument, key: KeyOption = None, json: JsonOption = False, project: ProjectOption = None
) -> None:
    """Tell which event made each version of a key, and what was not applied and why."""
    keys, found_project = parse_keys(key or ()), open_project(project)
    spec = _spec_of(table, keys, found_project)
    with started_spark(found_project) as (spark, progress):
        from siltstone.engine.run import explain as run_explain

        progress(spec.table, "folding the key")
        found = run_explain(found_project, spec, spark, keys)
    if json:
        print_json(asdict(found))
    else:
        print_explanation(found)


def _spec_of(table: str, keys: Mapping[str, str | None], project: "ProjectSpec") -> "TableSpec":
    """The spec of the table to explain; what it tells of the key is asked for before Spark starts."""
    from siltstone.engine.reader import find_spec
    from siltstone.engine.spec import load_specs

    specs = load_specs(None, project)
    spec = find_spec(table, specs)
    if spec is None:
        raise SpecError(
            f"Cannot explain {table}: no spec is of this name.",
            hint=f"There are: {', '.join(found.target.latest for found in specs)}.",
        )
    if spec.keys is None and not keys:
        raise SpecError(f"Cannot explain {spec.table}: no key is named.", "name every key column: --key COLUMN=VALUE")
    if spec.keys:
        from siltstone.engine.fold.key_ranges import Part

        Part(keys).whole_key(spec.keys, spec.table)
    return spec


def verify(
    specs: SpecArguments = None,
    sample: Annotated[int, typer.Option(min=1, help="How many keys of each table.")] = 100,
    everything: Annotated[bool, typer.Option("--all", help="All keys.")] = False,
    seed: Annotated[int | None, typer.Option(help="The seed of a run before: the same keys, shuffled alike.")] = None,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Fold a sample of keys again, shuffled, doubled and split, and compare with the tables."""
    with spark_work(specs, project, wait) as (found_project, found_specs, spark, progress):
        from siltstone.engine.run import verify as run_verify

        found = run_verify(found_project, found_specs, spark, progress, None if everything else sample, seed, wait)
    if json:
        print_json([asdict(each) for each in found])
    else:
        print_verifications(found)
    end_with(each.exit_code for each in found)


def rebuild(
    specs: SpecArguments = None,
    key: KeyOption = None,
    span: Annotated[
        list[str] | None, typer.Option("--range", help="column=from..to of a key column; either end may be left out.")
    ] = None,
    reread: Annotated[
        bool,
        typer.Option("--reread", help="Read the inputs again first: the way to other settings of decoding."),
    ] = False,
    accept_changes: Annotated[
        bool,
        typer.Option("--accept-changes", help="Take what another program made of the changes for what happened."),
    ] = False,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Fold the tables again from their changes, aside, replace them in one commit each, and check them.

    With --reread the changes are decoded anew first, from the files that were taken; these have to be there still.
    What another program wrote to history and latest is replaced, and named.
    """
    keys, ranges = parse_keys(key or ()), parse_ranges(span or ())
    if reread and (keys or ranges):
        raise SpecError("Cannot read the inputs again for a part of the keys.", "leave out --key and --range")
    if accept_changes and (keys or ranges):
        raise SpecError("Cannot accept the changes for a part of the keys.", "leave out --key and --range")
    if reread and accept_changes:
        raise SpecError("Cannot both read the inputs again and accept the changes that there are.", "choose one")
    with spark_work(specs, project, wait) as (found_project, found_specs, spark, progress):
        from siltstone.engine.fold.key_ranges import Part
        from siltstone.engine.run import rebuild as run_rebuild
        from siltstone.engine.run import reread as run_reread
        from siltstone.quality.validate import checks_of_run

        if reread:
            report = run_reread(found_project, found_specs, spark, progress, wait, checks_of_run)
        else:
            part = Part(keys, ranges) if keys or ranges else None
            report = run_rebuild(found_project, found_specs, spark, progress, part, wait, checks_of_run, accept_changes)
    if json:
        print_json(report.to_dict())
    else:
        print_rebuild(report)
    print_page(found_project, report.is_checked)
    end_with([report.exit_code])


def end_with(exit_codes: Iterable[int]) -> None:
    """End with the first exit code that is not 0."""
    code = next((code for code in exit_codes if code), 0)
    if code:
        raise typer.Exit(code)


def print_plans(plans: "list[TablePlan]") -> None:
    """What each table's changes would become, then what would become of its versions."""
    columns = ("table", "status", "batch", "files", "changes", "in order", "late", "too late", "rejected", *OUTCOMES)
    lines = []
    for found in plans:
        counts = (found.batch, found.files, found.changes, found.in_order, found.late, found.too_late, found.rejected)
        outcomes = (found.outcomes.get(name, 0) for name in OUTCOMES)
        lines.append((found.table, found.status, *map(number, (*counts, *outcomes))))
    print_grid(columns, lines)
    changed = [found for found in plans if found.versions]
    if changed:
        cells = [(p.table, *(number(p.versions.get(name, 0)) for name in VERSIONS)) for p in changed]
        print_grid(("versions of", *VERSIONS), cells)
    for found in plans:
        for what, columns_of in (("new", found.added_columns), ("wider", found.widened_columns)):
            for name, kind in columns_of.items():
                write_line(f"{found.table}: {what} column {name} {kind}")
        for text in found.settings:
            write_line(text)
    print_errors((found.table, found.error) for found in plans)


def print_explanation(found: "Explanation") -> None:
    """The versions with what made them, then every change with its outcome."""
    key = ", ".join(f"{name}={'null' if value is None else value}" for name, value in found.key.items())
    if not found.changes and not found.versions_in_table:
        write_line(f"no change of {key} was ever taken")
        return
    folder = shared_folder([change.place for change in found.changes])
    versions = [
        {"_version": v.number, "_valid_from": v.valid_from, "_valid_to": v.valid_to, "_op": v.op}
        | {"_made_by": v.made_by.removeprefix(folder), "_in_table": "yes" if v.in_table else "NO"}
        | dict(v.row)
        for v in found.versions
    ]
    if versions:
        title = f"{found.table} {key}: versions, folded up to batch {found.folded_batch}"
        data = [name for name in found.versions[0].row if name not in found.key]
        marked = with_changed(versions, (), data, "_op")
        print_rows(list(marked[0]), marked, title)
    columns = ("outcome", "version", "op", "committed", "event", "batch", "position", "why")
    cells = (change_cells(change, folder) for change in found.changes)
    title = "changes, in the order of the source" + (f"; events in {folder}" if folder else "")
    print_grid(columns, cells, title, whole=("outcome", "version", "op", "event", "batch"))
    if not all(v.in_table for v in found.versions) or len(found.versions) != found.versions_in_table:
        there = found.versions_in_table
        write_line(f"The table holds {there} versions of the key, and not these: `siltstone rebuild` mends it.")


def change_cells(change: "ExplainedChange", folder: str) -> tuple[str, ...]:
    """One change as a line of the table; its place as it lies in the folder."""
    outcome = f"{change.outcome} (late)" if change.late else change.outcome
    committed, position = change.commit_ts or NULL, change.shown_position or NULL
    place = change.place.removeprefix(folder)
    return outcome, number(change.version), change.op, committed, place, number(change.batch), position, change.why


def shared_folder(places: Sequence[str]) -> str:
    """The folder that all places lie in, with its slash; empty where there is none."""
    first, last = min(places, default=""), max(places, default="")
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    return first[: first.rfind("/", 0, same) + 1]


def print_verifications(found: "list[Verification]") -> None:
    """What was folded again and whether it is equal; the first difference of each table that is not."""
    columns = ("table", "status", "keys", "changes", "delivered", "batches", "versions", "differing rows", "seconds")
    lines = []
    for v in found:
        counts = (v.keys, v.changes, v.delivered, v.batches, v.versions, v.differing_rows)
        lines.append((v.table, v.status, *map(number, counts), f"{v.seconds:.1f}"))
    print_grid(columns, lines)
    for v in found:
        if v.difference is not None:
            first = v.difference
            place = first.shown_version or "no position"
            write_line(f"{first.table}: {first.key} at {place} differs in {', '.join(first.columns)}")
            write_line(f"  stands: {first.stands or 'no row'}")
            write_line(f"  should: {first.should or 'no row'}")
        if not v.latest_compared:
            write_line(f"{v.table}: latest has not followed history yet and was not compared; catch-up lets it follow")
    print_errors((v.table, v.error) for v in found)
    for seed in {v.seed for v in found}:
        write_line(f"again with --seed {seed}")
    if any(v.difference is not None for v in found):
        write_line("The table was written by others, or siltstone is at fault: run `siltstone rebuild`, and report it.")


def print_rebuild(report: "RunReport") -> None:
    """What was folded again, and how many versions stand now."""
    columns = ("table", "status", "batch", "changes", "versions before", "versions written", "seconds")
    lines = []
    for found in report.tables:
        counts = (found.batch, found.changes, found.versions.get("before"), found.versions.get("written"))
        lines.append((found.table, found.status, *map(number, counts), f"{found.seconds:.1f}"))
    print_grid(columns, lines)
    print_notes(report)
    print_errors((found.table, found.error) for found in report.tables)
    print_checked(report)


def print_notes(report: "RunReport") -> None:
    """What other programs had written to the tables, and what the run did about it."""
    for found in report.tables:
        for text in found.notes:
            write_line(f"{found.table}: {text}")


def print_errors(errors: "Iterable[tuple[str, str | None]]") -> None:
    """What went wrong with a table, a line each."""
    from rich.text import Text

    for table, error in errors:
        if error:
            console().print(Text(f"{table}: {error}", style="bold red"), soft_wrap=True)
