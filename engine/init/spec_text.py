"""Writes specs and the project file. Comments show the findings in the events, and the decisions that are left.

A complete spec runs unchanged. A setting that only a person can decide has no value, and a comment lists candidates.
`validate` lists these settings.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import yaml

from siltstone.engine.counts import plural
from siltstone.engine.decode.formats.datastream import ROW_ID
from siltstone.engine.errors import SourceError, SpecError, writing
from siltstone.engine.formats import format_of
from siltstone.engine.formats.rows import ROWS
from siltstone.engine.init.dms_files import LOADS, OP, READS, commit_column, is_of_dms
from siltstone.engine.init.found_table import FoundTable
from siltstone.engine.init.path_patterns import NamedFolder, Surroundings, common_path, inside, named_folders
from siltstone.engine.init.schema_place import SchemaPlace
from siltstone.engine.init.spec_columns import changes_of, columns_of, has_connect_values
from siltstone.engine.init.targets import OtherName, other_names
from siltstone.engine.init.yaml_text import flow, quoted, scalar
from siltstone.engine.inputs.containers import kind_by_name
from siltstone.engine.names import TAKEN_NAMES
from siltstone.engine.spec.editors import (
    PROJECT_SCHEMA,
    SPEC_SCHEMA,
    project_json_schema,
    schema_line,
    schema_text,
    spec_json_schema,
)
from siltstone.engine.spec.interpolation import as_written
from siltstone.engine.spec.load import PROJECT_FILE, load_project, specs_in

CANDIDATES_SHOWN: Final = 5
DEFAULT_UNIT: Final = "microseconds"
SCHEMAS: Final = ".siltstone"
"""The folder of a project for siltstone's own files."""
PROJECT: Final = f"""\
{schema_line(f"{SCHEMAS}/{PROJECT_SCHEMA}")}
# The project of the specs in specs/. These are the defaults.
# All settings: docs/reference/project.md, or `siltstone schema project`.
catalog:
  name: lake
  type: jdbc # an embedded catalog: a SQLite file and a folder; rest, glue and hive are also possible
  uri: jdbc:sqlite:${{project}}/lake/catalog.db
  warehouse: file://${{project}}/lake/warehouse
namespace: silt # the namespace of changes, rejects and runs
"""


@dataclass(frozen=True)
class WrittenSpec:
    """One spec: its file, its text, the open decisions in it, and the columns with a question about their type."""

    file: Path
    table: str
    format: str
    keys: tuple[str, ...]
    columns: int
    open_questions: tuple[str, ...]
    unsure_columns: tuple[str, ...]
    text: str


class EventPlace(NamedTuple):
    """The place of the events of a table: lines for `source`, lines for the end of the spec, and the counted unit."""

    lines: Sequence[str]
    end: Sequence[str] = ()
    unit: str = "file"


def written_specs(
    tables: Sequence[FoundTable],
    folder: Path,
    root: Path,
    events: Iterable[Path] = (),
    schemas: SchemaPlace | None = None,
    place_of: Callable[[FoundTable], EventPlace] | None = None,
) -> list[WrittenSpec]:
    """The specs of tables, with one file per table in the folder.

    `root`: the project's folder, to which paths are relative. `events`: the places where the tables were found.
    `schemas`: the place of the schemas of their messages. `place_of`: the place of a table's events, if not in files.

    Raises: SourceError: two tables have one name, or the files of a table have no common path. SpecError: the project
        file is invalid.
    """
    named: dict[str, Path] = {}
    for table in tables:
        name = table.name or f"{table.files[0].parent.name or 'landing'}.{table.files[0].name.split('.')[0]}"
        if name in named:
            raise SourceError(
                f"Cannot write specs: the table {name} occurs in files of several formats or folders.",
                "run init once for each of them, with a folder of specs of its own",
            )
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
        alike = sum(file.name.casefold().startswith(f"{plain.casefold()}.") for file in named.values())
        named[name] = folder / f"{plain}{f'.{alike + 1}' if alike else ''}.yaml"
    there = [file for file in specs_in(folder) if file not in named.values()]
    targets = other_names(list(named), load_project(start=root).namespace, there)
    folders = named_folders(events)
    found: list[WrittenSpec] = []
    for table, (name, file), target in zip(tables, named.items(), targets, strict=True):
        if place_of is None:
            path = common_path(table.files, root, _around(table, tables, folders))
            place = EventPlace([f"  path: {scalar(path)}"])
        else:
            place = place_of(table)
        source = _source(table, place)
        if format_of(table.format).needs_schemas and schemas is not None and not schemas.of_project:
            source.append(_schemas(schemas, root))
        schema = os.path.relpath(root.absolute() / SCHEMAS / SPEC_SCHEMA, file.parent.absolute())
        found.append(_spec(table, name, file, place, [schema_line(schema)], source, target))
    return found


def write_specs(specs: Iterable[WrittenSpec], project_file: Path | None, force: bool) -> None:
    """Write the specs, and the project file if there is none. Files are only overwritten with `force`.

    Raises: SpecError: a file exists already (then nothing was written), or a file cannot be written.
    """
    listed = list(specs)
    there = [str(spec.file) for spec in listed if spec.file.exists()]
    if there and not force:
        raise SpecError(
            f"Cannot write {', '.join(there)}: the file exists already. Nothing was written.",
            "--force overwrites, -o names another folder",
        )
    for spec in listed:
        with writing(spec.file, "-o names another folder"):
            spec.file.parent.mkdir(parents=True, exist_ok=True)
            spec.file.write_text(spec.text, encoding="utf-8")
    if project_file is not None and not project_file.exists():
        with writing(project_file, "-o names another folder"):
            project_file.write_text(PROJECT, encoding="utf-8")


def write_schemas(root: Path) -> None:
    """Write the JSON Schemas that the first lines of specs and of the project file name.

    Raises: SpecError: they cannot be written.
    """
    folder = root / SCHEMAS
    for name, schema in ((SPEC_SCHEMA, spec_json_schema()), (PROJECT_SCHEMA, project_json_schema())):
        with writing(folder / name, "-o names another folder"):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(schema_text(schema), encoding="utf-8")


def project_root(folder: Path) -> tuple[Path, bool]:
    """The project's folder, and whether it has a project file. Without one, it is the parent of the folder of specs."""
    begin = Path(os.path.normpath(folder.absolute()))
    for place in (begin, *begin.parents):
        if (place / PROJECT_FILE).is_file():
            return place, True
    return begin.parent, False


def _spec(
    table: FoundTable,
    name: str,
    file: Path,
    place: EventPlace,
    head: Sequence[str],
    source: Sequence[str],
    target: Sequence[OtherName],
) -> WrittenSpec:
    lines = [
        *head,
        f"# Written by `siltstone init` from {_counted(table, place)}.",
        f"# Changes are ordered by {'delivery' if is_written_by_dms(table) else table.order}.",
    ]
    if table.name is None:
        lines.append("# The events do not name their table: this name comes from the file. Choose a better one.")
    if table.tool is not None:
        lines.append(
            f"# These are {table.tool}, read as plain rows. delete_when must define which of them are deletes."
        )
    key_line, key = _key(table)
    is_open = table.format == ROWS and not is_written_by_dms(table)
    decisions = {
        "header": table.headers,
        "sequence_by": is_open,
        "time_by": is_open and _lacks_time(table),
        "keys": key is None,
    }
    questions = [name for name, is_needed in decisions.items() if is_needed]
    guesses = table.columns.guesses() if has_connect_values(table) else {}
    lines += [f"table: {scalar(name)}", *source, key_line, *_target(target), *columns_of(table, guesses), *place.end]
    columns = len(table.columns.names())
    unsure = tuple(name for name, guess in guesses.items() if not guess.is_sure)
    text = "\n".join(lines) + "\n"
    return WrittenSpec(file, name, table.format, key or (), columns, tuple(questions), unsure, text)


def _key(table: FoundTable) -> tuple[str, tuple[str, ...] | None]:
    """The line of the key, and the key; None if a person must decide."""
    keys = table.columns.keys()
    if not keys and table.keyless:
        return "keys: [] # the events have no key: the whole row is the key", ()
    if keys == [(ROW_ID,)]:
        return (
            f"# keys: taken from the events. The table has no key, so the ids of its rows ({ROW_ID}) are used.",
            keys[0],
        )
    if len(keys) == 1 and not _is_taken(keys[0]):
        return f"keys: {flow(keys[0])} # the key of the events", keys[0]
    found = f"; the events have {' and '.join(flow(key) for key in keys)}" if keys else ""
    found += ", a name that siltstone or Iceberg reserves" if len(keys) == 1 else ""
    seconds = table.columns.second_spellings()
    candidates = [n for n in table.columns.key_candidates() if n not in seconds and not _is_taken([n])]
    return f"keys: {_decide('the columns that identify a row', candidates)}{found}", None


def _around(table: FoundTable, tables: Iterable[FoundTable], folders: Sequence[NamedFolder]) -> Surroundings:
    """The files that the path of a table can or must match in addition to the table's own files.

    A run skips events that name another table. It reads all rows, and all events without a name, as those of the table.
    """
    alike = [each for each in tables if each.format == table.format]
    unnamed = {file for each in alike if each.name is None for file in each.files}
    is_named = table.format != ROWS and table.name is not None
    others = {file for each in alike for file in each.files} - unnamed if is_named else set()
    return Surroundings(folders, table.controls, table.blank, others, is_exclusive=table.format == ROWS)


def _source(table: FoundTable, place: EventPlace) -> list[str]:
    lines = ["source:", f"  format: {table.format}", *place.lines]
    if (
        place.unit == "file"
        and table.format == ROWS
        and any(kind_by_name(file.name) != table.container for file in table.files)
    ):
        lines.append(f"  file_type: {table.container} # the file names do not show it")
    if table.by_scn:
        lines.append("  order: scn # commit SCNs are lower than the SCNs of their changes, so they cannot order them")
    if table.delimiter != ",":
        lines.append(f"  delimiter: {yaml.safe_dump(table.delimiter, default_style=chr(34)).strip()}")
    if table.headers:
        lines.append(f"  header: {_header(table)}")
    if table.format == ROWS and is_written_by_dms(table):
        return [*lines, *_dms_order(table)]
    if table.format == ROWS:
        seconds = table.columns.second_spellings()
        ordering = [name for name in table.columns.order_candidates() if name not in seconds]
        lines.append(f"  sequence_by: {_decide('the column or columns that order the changes of a key', ordering)}")
        lines += _time_unit(table, ordering[:CANDIDATES_SHOWN])
        if _lacks_time(table):
            times = [
                name for name, values in table.columns.values.items() if values.may_be_time() and name not in seconds
            ]
            lines.append(f"  time_by: {_decide('the column with the time of a change, or delete this line', times)}")
        lines.append("  # delete_when: op = 'D' # which rows are deletes")
    return lines


def is_written_by_dms(table: FoundTable) -> bool:
    """Whether AWS DMS wrote the files of a table of plain rows, and they contain changes."""
    return OP in table.columns.values and all(is_of_dms(file) for file in table.files)


def _dms_order(table: FoundTable) -> list[str]:
    """The settings for rows that AWS DMS wrote."""
    time = commit_column([name for name in table.columns.names() if name in table.columns.values])
    excluded = [OP, *([] if time is None else [time])]
    by_name = "# time_by: # the column of TimestampColumnName; without it, times come from the file names"
    return [
        "  sequence_by: [_file, _pos] # DMS writes changes in order: by file name, then row by row",
        f"  {by_name}" if time is None else f"  time_by: {scalar(time)}",
        f"  delete_when: {OP} = 'D'",
        f"  snapshot_when: {scalar(READS)} # the rows of a full load",
        f"  columns: {{except: {flow(excluded)}}}",
    ]


def _header(table: FoundTable) -> str:
    names = {LOADS if is_load else "*": flow(columns) for is_load, columns in sorted(table.headers.items())[::-1]}
    shown = next(iter(names.values()))
    if len(names) > 1:
        shown = "{" + ", ".join(f"{scalar(pattern)}: {columns}" for pattern, columns in names.items()) + "}"
    return f"# decide: the names of the columns, in order, for example {shown}"


def _lacks_time(table: FoundTable) -> bool:
    """Whether only numbers that are not times can order the rows. Versions would then start in 1970."""
    ordering = table.columns.order_candidates() if table.format == ROWS else []
    return bool(ordering) and not any(table.columns.values[name].may_be_time() for name in ordering)


def _time_unit(table: FoundTable, ordering: Sequence[str]) -> list[str]:
    """The unit that the first numeric candidate seems to count, if it is not the default unit."""
    units = {name: table.columns.values[name].unit() for name in ordering}
    found = next(((name, unit) for name, unit in units.items() if unit is not None), None)
    if found is None or found[1] == DEFAULT_UNIT:
        return []
    return [f"  # time_unit: {found[1]} # the unit in which {scalar(found[0])} seems to count since 1970"]


def _target(names: Sequence[OtherName]) -> list[str]:
    lines = [
        f"  {each.place}: {scalar(each.name)} # {scalar(each.default)} is taken: {scalar(each.owner)}" for each in names
    ]
    return ["target: # these names replace default names that are taken", *lines] if lines else []


def _schemas(place: SchemaPlace, root: Path) -> str:
    if place.file is not None:
        return f"  schemas: {scalar(inside(os.path.normpath(place.file.absolute()), root.absolute()))}"
    assert place.registry is not None  # one of the two is there
    settings = {name: getattr(place.registry, name) for name in ("url", "user", "password", "token")}
    entries = [f"{name}: {quoted(as_written(value))}" for name, value in settings.items() if value is not None]
    return f"  registry: {{{', '.join(entries)}}}"


def _is_taken(key: Iterable[str]) -> bool:
    return any(name.casefold() in TAKEN_NAMES for name in key)


def _decide(what: str, candidates: Sequence[str]) -> str:
    shown = flow(candidates[:CANDIDATES_SHOWN]) if candidates else ""
    return f"# decide: {what}{f'; candidates: {shown}' if shown else ''}"


def _counted(table: FoundTable, place: EventPlace) -> str:
    files = f"{len(table.files)} {plural(place.unit, len(table.files))}"
    return f"{'' if table.whole else 'the first '}{changes_of(table)} in {files}"
