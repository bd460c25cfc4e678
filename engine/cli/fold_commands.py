"""plan, explain, verify and rebuild: preview a fold, explain it, verify it, and repeat it for whole tables."""

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
    UntilOption,
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

KeyOption = Annotated[
    list[str] | None, typer.Option(help="The value of a key column, as COLUMN=VALUE; one option per key column.")
]
OUTCOMES = ("opened", "updated", "absorbed", "superseded", "redelivered", "healed")
VERSIONS = ("opened", "closed", "updated", "spliced", "withdrawn", "removed")


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    for command in (plan, explain, verify, rebuild):
        app.command()(command)


def plan(
    specs: SpecArguments = None,
    until: UntilOption = None,
    sql: Annotated[
        bool, typer.Option("--sql", help="Also print the SQL statements that would write the tables.")
    ] = False,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Show what catch-up would do now, and write nothing."""
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
    """Show which event made each version of a key, and why other events made none."""
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
    """The spec of the table to explain. The key is checked here, before Spark starts."""
    from siltstone.engine.reader import find_spec
    from siltstone.engine.spec import load_specs

    specs = load_specs(None, project)
    spec = find_spec(table, specs)
    if spec is None:
        raise SpecError(
            f"Cannot explain {table}: no spec has this name.",
            hint=f"The specs are of: {', '.join(found.target.latest for found in specs)}.",
        )
    if spec.keys is None and not keys:
        raise SpecError(f"Cannot explain {spec.table}: no key is given.", "give every key column: --key COLUMN=VALUE")
    if spec.keys:
        from siltstone.engine.fold.key_ranges import Part

        Part(keys).whole_key(spec.keys, spec.table)
    return spec


def verify(
    specs: SpecArguments = None,
    sample: Annotated[int, typer.Option(min=1, help="The number of keys to verify in each table.")] = 100,
    everything: Annotated[bool, typer.Option("--all", help="Verify all keys.")] = False,
    seed: Annotated[
        int | None, typer.Option(help="The seed of an earlier verify: use the same keys in the same shuffled order.")
    ] = None,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Recompute a sample of keys from their changes, and compare the result with the tables.

    The changes of each key are shuffled, duplicated and split into batches. The result must be the same.
    """
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
    key: Annotated[
        list[str] | None, typer.Option(help="Rebuild only keys with this value of a key column, as COLUMN=VALUE.")
    ] = None,
    span: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            help="Rebuild only keys in this range of a key column, as COLUMN=FROM..TO; either end can be left out.",
        ),
    ] = None,
    reread: Annotated[
        bool,
        typer.Option("--reread", help="Read and decode all inputs a second time first, with the current spec."),
    ] = False,
    accept_changes: Annotated[
        bool,
        typer.Option("--accept-changes", help="Accept the rows of changes that another program has modified."),
    ] = False,
    wait: WaitOption = 0.0,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """Recompute history and latest from changes, replace each table in one commit, and check them.

    Readers see the old tables until the commit. With --reread, the changes are first decoded a second time from the
    inputs, which must still exist. Rows that another program wrote to history and latest are replaced, and listed.
    """
    keys, ranges = parse_keys(key or ()), parse_ranges(span or ())
    if reread and (keys or ranges):
        raise SpecError("Cannot re-read the inputs for some keys only.", "leave out --key and --range")
    if accept_changes and (keys or ranges):
        raise SpecError("Cannot accept the changes for some keys only.", "leave out --key and --range")
    if reread and accept_changes:
        raise SpecError("Cannot both re-read the inputs and accept the changes as they are.", "choose one")
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
    """Print the outcomes of each table's changes, then the effect on its versions."""
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
    """Print the versions with the event that made each, then every change with its outcome."""
    key = ", ".join(f"{name}={'null' if value is None else value}" for name, value in found.key.items())
    if not found.changes and not found.versions_in_table:
        write_line(f"siltstone has taken no change of {key}")
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
        present = found.versions_in_table
        write_line(
            f"The table has {present} versions of the key that differ from those above: run `siltstone rebuild`."
        )


def change_cells(change: "ExplainedChange", folder: str) -> tuple[str, ...]:
    """One change as a line of the printed table, with its place relative to the folder."""
    outcome = f"{change.outcome} (late)" if change.late else change.outcome
    committed, position = change.commit_ts or NULL, change.shown_position or NULL
    place = change.place.removeprefix(folder)
    return outcome, number(change.version), change.op, committed, place, number(change.batch), position, change.why


def shared_folder(places: Sequence[str]) -> str:
    """The folder that contains all places, with its slash; empty if there is none."""
    first, last = min(places, default=""), max(places, default="")
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    return first[: first.rfind("/", 0, same) + 1]


def print_verifications(found: "list[Verification]") -> None:
    """Print what was recomputed and whether it is equal, and the first difference of each table."""
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
            write_line(f"  in the table: {first.actual or 'no row'}")
            write_line(f"  expected: {first.expected or 'no row'}")
        if not v.latest_compared:
            write_line(f"{v.table}: latest is older than history and was not compared; run `siltstone catch-up`")
    print_errors((v.table, v.error) for v in found)
    for seed in {v.seed for v in found}:
        write_line(f"repeat with --seed {seed}")
    if any(v.difference is not None for v in found):
        write_line("Another program changed the table, or siltstone has a bug: run `siltstone rebuild`, and report it.")


def print_rebuild(report: "RunReport") -> None:
    """Print what was recomputed, and the number of versions before and after."""
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
    """Print what other programs had written to the tables, and what the run did with it."""
    for found in report.tables:
        for text in found.notes:
            write_line(f"{found.table}: {text}")


def print_errors(errors: "Iterable[tuple[str, str | None]]") -> None:
    """Print the errors of tables, one per line."""
    from rich.text import Text

    for table, error in errors:
        if error:
            console().print(Text(f"{table}: {error}", style="bold red"), soft_wrap=True)
