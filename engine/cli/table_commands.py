"""show, export and runs: read the tables without a JVM."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from siltstone.engine.cli.options import (
    ExportFormat,
    JsonOption,
    ProjectOption,
    ShowFormat,
    TableArgument,
    open_project,
    parse_address,
    parse_keys,
    parse_time,
)
from siltstone.engine.cli.output import note, print_json, print_rows, with_changed, write_line
from siltstone.engine.counts import counted
from siltstone.engine.errors import SpecError
from siltstone.engine.names import (
    BATCH,
    CHANGE_HASH,
    CHECKED_BATCH,
    COMMIT_TS,
    COMPLETE_THROUGH,
    COMPLETE_THROUGH_BY,
    CONTROL,
    IS_CURRENT,
    LAST_POSITION,
    OP,
    OPEN_GAPS,
    POSITION,
    RECORDED_FROM,
    RECORDED_TO,
    RESCUED,
    RUNS,
    SEALED_UP_TO,
    STREAM_TS,
    UNKNOWN,
    VALID_FROM,
    VALID_TO,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from siltstone.engine.reader import Reader, TableNames
    from siltstone.engine.spec.model import ProjectSpec

INTERVAL = (VALID_FROM, VALID_TO, OP)
BOOKKEEPING = (
    IS_CURRENT, COMMIT_TS, POSITION, CHANGE_HASH, LAST_POSITION, STREAM_TS, UNKNOWN, RESCUED, BATCH,
    RECORDED_FROM, RECORDED_TO,
)  # fmt: skip
DEFAULT_LIMIT = 20
SHOWN = "_shown"  # the prefix of columns with a position as its source writes it: `_shown_position`
RUNS_SHOWN = (
    "run_id",
    "started_at",
    "table",
    "status",
    "batch",
    "read",
    "changes",
    "rejected",
    "seconds",
    "exit_code",
    "error",
)


def add_commands(app: typer.Typer) -> None:
    """Register this part's commands."""
    app.command()(show)
    app.command()(export)
    app.command()(runs)


def show(
    table: TableArgument,
    key: Annotated[
        list[str] | None, typer.Option(help="The value of a key column, as COLUMN=VALUE; one option per key column.")
    ] = None,
    as_of: Annotated[str | None, typer.Option(help="Print the table as it was at this time (UTC).")] = None,
    as_recorded_at: Annotated[
        str | None, typer.Option(help="Print the rows that history had at this time (UTC). Needs history.recorded.")
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Print all versions.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="The greatest number of rows; 0 prints all.")] = DEFAULT_LIMIT,
    form: Annotated[ShowFormat, typer.Option("--format", help="The output format.")] = ShowFormat.table,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Print siltstone's bookkeeping columns, too.")] = False,
    project: ProjectOption = None,
) -> None:
    """Print the latest rows, the versions of a key, or the table as of a time."""
    from siltstone.engine.reader import as_of as rows_as_of
    from siltstone.engine.reader import (
        first_rows,
        first_versions,
        key_columns,
        load_table,
        matching,
        stored_names,
        timeline,
    )

    keys, moment = parse_keys(key or ()), parse_time(as_of) if as_of else None
    recorded_at = parse_time(as_recorded_at) if as_recorded_at else None
    found_project = open_project(project)
    catalog, names = _open(table, found_project)
    most = limit + 1 if limit else None
    if moment is not None:
        source = load_table(catalog, names.history)
        found = rows_as_of(source, moment, matching(source, keys), key_columns(catalog, names), recorded_at)
        hidden: Sequence[str] = (*INTERVAL, *BOOKKEEPING)
    elif keys:
        source = load_table(catalog, names.history)
        found, hidden = timeline(source, matching(source, keys), recorded_at), BOOKKEEPING
    elif history or recorded_at or table == names.history:
        source = load_table(catalog, names.history)
        interval = called((VALID_FROM, VALID_TO, POSITION), stored_names(source))
        order = (*key_columns(catalog, names), *interval)
        found, hidden = first_versions(source, order, most, recorded_at), BOOKKEEPING
    else:
        source = load_table(catalog, names.latest)
        found, hidden = first_rows(source, key_columns(catalog, names), most), (*INTERVAL, *BOOKKEEPING)
    renamed = stored_names(source)
    shown = _shown(found.column_names, called(INTERVAL, renamed), called(hidden, renamed))
    columns = found.column_names if everything else shown
    form = ShowFormat.json if json else form
    versions_of = key_columns(catalog, names) if moment is None and keys else None
    _print(_with_notation(found.select(columns), catalog, names, form, found_project), limit, form, versions_of)
    if form is ShowFormat.table and (completeness := completeness_note(source.properties)):
        note(completeness)


def completeness_note(properties: Mapping[str, str]) -> str:
    """How complete a table was after its last checked run; empty if no run has checked it."""
    if CHECKED_BATCH not in properties:
        return ""
    through, by = properties.get(COMPLETE_THROUGH, "an unknown time"), properties.get(COMPLETE_THROUGH_BY)
    gaps = int(properties.get(OPEN_GAPS, "0"))
    text = f"complete through {through}" + (f" (by {by})" if by else "")
    text += f", sealed up to {properties.get(SEALED_UP_TO, 'nothing')}"
    return text + (f"; open gaps: {gaps}, see `siltstone gaps list`" if gaps else "")


def export(
    table: TableArgument,
    history: Annotated[bool, typer.Option("--history", help="Write all versions instead of the latest rows.")] = False,
    form: Annotated[
        ExportFormat | None,
        typer.Option("--format", help="The output format. Default: the ending of the file's name, else jsonl."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            callback=parse_address,
            help="A file, or a URI (s3://bucket/file). Default: standard output.",
        ),
    ] = None,
    project: ProjectOption = None,
) -> None:
    """Write all rows of a table, with all columns, to standard output or to a file."""
    from siltstone.engine.cli.table_export import export_rows, goal_of
    from siltstone.engine.reader import batches, load_table

    found_project = open_project(project)
    catalog, names = _open(table, found_project)
    source = load_table(catalog, names.history if history or table == names.history else names.latest)
    goal = goal_of(output, found_project.store) if output else None
    written = export_rows(batches(source), form or _format_of(output), goal)
    if output:
        note(f"{counted(written, 'row')} in {output}")


def runs(
    limit: Annotated[
        int, typer.Option(min=0, help="The greatest number of rows, one per run and table; 0 prints all.")
    ] = DEFAULT_LIMIT,
    json: JsonOption = False,
    project: ProjectOption = None,
) -> None:
    """List what each run did to each table, the newest run first."""
    from siltstone.engine.reader import load_table, open_catalog
    from siltstone.engine.run_lock import read_note

    found_project = open_project(project)
    if noted := read_note(found_project):
        state = "was interrupted; the next run records it" if noted.is_dead() else "is still active"
        note(f"The run that began at {noted.at:%Y-%m-%dT%H:%M:%SZ} {state} (process {noted.process} on {noted.host}).")
    ledger = load_table(open_catalog(found_project.catalog), f"{found_project.namespace}.{RUNS}")
    found = ledger.scan().to_arrow().sort_by([("started_at", "descending"), ("table", "ascending")])
    if json:
        _print(found, limit, ShowFormat.json)
        return
    import pyarrow.compute as pc

    shown = found.select(RUNS_SHOWN)
    seconds = pc.round(shown["seconds"], 1)
    _print(shown.set_column(RUNS_SHOWN.index("seconds"), "seconds", seconds), limit, ShowFormat.table)


def _open(word: str, project: "ProjectSpec") -> "tuple[Reader, TableNames]":
    """The catalog, and the tables with this name. Specs that cannot be loaded fail only if they are needed."""
    from siltstone.engine.reader import open_catalog, table_names
    from siltstone.engine.spec import load_specs
    from siltstone.engine.spec.load import SPECS_FOLDER

    catalog = open_catalog(project.catalog)
    try:
        specs = load_specs(None, project)
    except SpecError:
        names = table_names(word, project, ())
        if catalog.table_exists(names.latest) or not (project.root / SPECS_FOLDER).exists():
            return catalog, names
        raise
    return catalog, table_names(word, project, specs)


def _with_notation(
    found: "pa.Table", catalog: "Reader", names: "TableNames", form: ShowFormat, project: "ProjectSpec"
) -> "pa.Table":
    """Show positions as the source writes them. For JSON they are extra columns after the orderable texts."""
    from siltstone.engine.reader.position_reader import notation_of, with_notation

    if form is ShowFormat.csv or POSITION not in found.column_names:
        return found
    notation = notation_of(catalog, names.history, f"{project.namespace}.{CONTROL}")
    return with_notation(found, notation, SHOWN if form is ShowFormat.json else "")


def called(columns: Sequence[str], renamed: Mapping[str, str]) -> tuple[str, ...]:
    """The names of columns in the table."""
    return tuple(renamed.get(name, name) for name in columns)


def _shown(names: Sequence[str], interval: Sequence[str], hidden: Sequence[str]) -> list[str]:
    """The columns to print: the interval first, the others in their order."""
    first = [name for name in interval if name in names and name not in hidden]
    return first + [name for name in names if name not in first and name not in hidden]


def _print(found: "pa.Table", limit: int, form: ShowFormat, versions_of: Sequence[str] | None = None) -> None:
    """Print rows. `versions_of`: the key columns if the rows are versions; a table then shows what changed."""
    shown = found.slice(0, limit) if limit else found
    if form is ShowFormat.json:
        print_json(list(_rows(shown)))
    elif form is ShowFormat.csv:
        from siltstone.engine.plain_values import csv_line

        write_line(csv_line(shown.column_names))
        for row in _rows(shown):
            write_line(csv_line(row.values()))
    else:
        rows: list[Mapping[str, Any]] = list(_rows(shown))
        if versions_of is not None and OP in shown.column_names:
            data = [name for name in shown.column_names if not name.startswith("_") and name not in versions_of]
            rows = list(with_changed(rows, versions_of, data, OP))
        print_rows(list(rows[0]) if rows else shown.column_names, rows)
    if found.num_rows > shown.num_rows:
        note(f"the first {counted(shown.num_rows, 'row')}; --limit 0 shows all")
    elif not found.num_rows:
        note("no rows")


def _rows(found: "pa.Table") -> Iterator[dict[str, Any]]:
    from siltstone.engine.plain_values import rows

    for batch in found.to_batches():
        yield from rows(batch)


def _format_of(output: str | None) -> ExportFormat:
    """The format from the ending of a file's name; JSON lines if there is none."""
    ending = Path(output).suffix.removeprefix(".").lower() if output else ""
    if not ending:
        return ExportFormat.jsonl
    if ending not in list(ExportFormat):
        raise typer.BadParameter(
            f"export does not write .{ending} files: use one of .{', .'.join(ExportFormat)}, or set --format"
        )
    return ExportFormat(ending)
