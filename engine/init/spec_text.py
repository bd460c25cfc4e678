"""Specs as text, with what was found in the events and what is left to decide as comments; and the project around them.

A spec that is complete runs unchanged. What only a person knows is left without a value, with candidates in a comment,
and `validate` lists it.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from siltstone.engine.decode.formats.datastream import ROW_ID
from siltstone.engine.errors import SourceError, SpecError, writing
from siltstone.engine.formats import format_of
from siltstone.engine.formats.rows import ROWS
from siltstone.engine.init.column_samples import Values
from siltstone.engine.init.dms_files import LOADS, OP, READS, commit_column, is_of_dms
from siltstone.engine.init.found_table import FoundTable
from siltstone.engine.init.guessed_types import Guess
from siltstone.engine.init.path_patterns import NamedFolder, Surroundings, common_path, inside, named_folders
from siltstone.engine.init.schema_place import SchemaPlace
from siltstone.engine.init.targets import OtherName, other_names
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
"""The folder of a project for files that siltstone keeps for itself."""
PROJECT: Final = f"""\
{schema_line(f"{SCHEMAS}/{PROJECT_SCHEMA}")}
# The project around specs/. These are the defaults; the README lists the other settings.
catalog:
  name: lake
  type: jdbc # an embedded catalog: SQLite and a folder; rest, glue and hive take their place
  uri: jdbc:sqlite:${{project}}/lake/catalog.db
  warehouse: file://${{project}}/lake/warehouse
namespace: silt # where changes, rejects and runs live
"""


@dataclass(frozen=True)
class WrittenSpec:
    """One spec: its file, its text, what is left to decide in it, and the columns with a question about their type."""

    file: Path
    table: str
    format: str
    keys: tuple[str, ...]
    columns: int
    open_questions: tuple[str, ...]
    unsure_columns: tuple[str, ...]
    text: str


class EventPlace(NamedTuple):
    """Where the events of a table are: the lines of `source` that say it, lines for the end of the spec, and what is
    counted there."""

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
    """The specs of tables, a file for each in the folder. `root`: the project's folder, where paths start; `events`:
    the places where the tables were found; `schemas`: where those of their messages were found; `place_of`: where the
    events of a table are, if not in files.

    Raises: SourceError: two tables would have one name, or the files of one have no path in common. SpecError: the
        project's file is wrong.
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
            place = EventPlace([f"  path: {_scalar(path)}"])
        else:
            place = place_of(table)
        source = _source(table, place)
        if format_of(table.format).needs_schemas and schemas is not None and not schemas.of_project:
            source.append(_schemas(schemas, root))
        schema = os.path.relpath(root.absolute() / SCHEMAS / SPEC_SCHEMA, file.parent.absolute())
        found.append(_spec(table, name, file, place, [schema_line(schema)], source, target))
    return found


def write_specs(specs: Iterable[WrittenSpec], project_file: Path | None, force: bool) -> None:
    """Write the specs, and the project where there is none yet. Without `force` no file is overwritten.

    Raises: SpecError: a file is there already, and nothing was written; or one cannot be written.
    """
    listed = list(specs)
    there = [str(spec.file) for spec in listed if spec.file.exists()]
    if there and not force:
        raise SpecError(
            f"Cannot write {', '.join(there)}: the file is there already. Nothing was written.",
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
    """The project's folder: that of the project file found upward, else the one above the specs. Is there a file?"""
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
        f"# Changes are in the order of {'delivery' if is_written_by_dms(table) else table.order}.",
    ]
    if table.name is None:
        lines.append("# The events do not name their table: this name is the file's; choose a better one.")
    if table.tool is not None:
        lines.append(f"# These are {table.tool}, taken as plain rows: delete_when has to say which ones are deletes.")
    key_line, key = _key(table)
    is_open = table.format == ROWS and not is_written_by_dms(table)
    decisions = {
        "header": table.headers,
        "sequence_by": is_open,
        "time_by": is_open and _lacks_time(table),
        "keys": key is None,
    }
    questions = [name for name, is_needed in decisions.items() if is_needed]
    guesses = table.columns.guesses() if _has_connect_values(table) else {}
    lines += [f"table: {_scalar(name)}", *source, key_line, *_target(target), *_columns(table, guesses), *place.end]
    columns = len(table.columns.names())
    unsure = tuple(name for name, guess in guesses.items() if not guess.is_sure)
    text = "\n".join(lines) + "\n"
    return WrittenSpec(file, name, table.format, key or (), columns, tuple(questions), unsure, text)


def _key(table: FoundTable) -> tuple[str, tuple[str, ...] | None]:
    """The line of the key, and the key; None where a person has to decide on it."""
    keys = table.columns.keys()
    if not keys and table.keyless:
        return "keys: [] # the events have no key: the whole row is one", ()
    if keys == [(ROW_ID,)]:
        return (
            f"# keys: left to the events. The table has none; the ids of its rows ({ROW_ID}) are used instead.",
            keys[0],
        )
    if len(keys) == 1 and not _is_taken(keys[0]):
        return f"keys: {_flow(keys[0])} # the key of the events", keys[0]
    found = f"; the events have {' and '.join(_flow(key) for key in keys)}" if keys else ""
    found += ", whose name siltstone or Iceberg needs" if len(keys) == 1 else ""
    seconds = table.columns.second_spellings()
    candidates = [n for n in table.columns.key_candidates() if n not in seconds and not _is_taken([n])]
    return f"keys: {_decide('the columns that identify a row', candidates)}{found}", None


def _around(table: FoundTable, tables: Iterable[FoundTable], folders: Sequence[NamedFolder]) -> Surroundings:
    """What the path of a table may take, other than its files, and what it has to. A run passes over events that name
    another table; rows, and events that name none, are all taken for the table's own.
    """
    alike = [each for each in tables if each.format == table.format]
    unnamed = {file for each in alike if each.name is None for file in each.files}
    is_named = table.format != ROWS and table.name is not None
    others = {file for each in alike for file in each.files} - unnamed if is_named else set()
    return Surroundings(folders, table.controls, table.blank, others, apart=table.format == ROWS)


def _source(table: FoundTable, place: EventPlace) -> list[str]:
    lines = ["source:", f"  format: {table.format}", *place.lines]
    if (
        place.unit == "file"
        and table.format == ROWS
        and any(kind_by_name(file.name) != table.container for file in table.files)
    ):
        lines.append(f"  file_type: {table.container} # their names do not show it")
    if table.by_scn:
        lines.append("  order: scn # commit SCNs are lower than those of their changes, and cannot order them")
    if table.delimiter != ",":
        lines.append(f"  delimiter: {yaml.safe_dump(table.delimiter, default_style=chr(34)).strip()}")
    if table.headers:
        lines.append(f"  header: {_header(table)}")
    if table.format == ROWS and is_written_by_dms(table):
        return [*lines, *_dms_order(table)]
    if table.format == ROWS:
        seconds = table.columns.second_spellings()
        ordering = [name for name in table.columns.order_candidates() if name not in seconds]
        lines.append(f"  sequence_by: {_decide('the column, or columns, that order the changes of a key', ordering)}")
        lines += _time_unit(table, ordering[:CANDIDATES_SHOWN])
        if _lacks_time(table):
            times = [
                name for name, values in table.columns.values.items() if values.may_be_time() and name not in seconds
            ]
            lines.append(f"  time_by: {_decide('the column with the time of a change, or delete this line', times)}")
        lines.append("  # delete_when: op = 'D' # which rows say that a row is gone")
    return lines


def is_written_by_dms(table: FoundTable) -> bool:
    """Whether the files of a table of plain rows are those of AWS DMS, changes among them."""
    return OP in table.columns.values and all(is_of_dms(file) for file in table.files)


def _dms_order(table: FoundTable) -> list[str]:
    """How AWS DMS orders rows, and what they are."""
    time = commit_column([name for name in table.columns.names() if name in table.columns.values])
    excluded = [OP, *([] if time is None else [time])]
    by_name = "# time_by: # the column that TimestampColumnName names; without one, times come from the files' names"
    return [
        "  sequence_by: [_file, _pos] # DMS writes changes in their order: by the names of files, then row by row",
        f"  {by_name}" if time is None else f"  time_by: {_scalar(time)}",
        f"  delete_when: {OP} = 'D'",
        f"  snapshot_when: {_scalar(READS)} # the rows of a full load",
        f"  columns: {{except: {_flow(excluded)}}}",
    ]


def _header(table: FoundTable) -> str:
    names = {LOADS if is_load else "*": _flow(columns) for is_load, columns in sorted(table.headers.items())[::-1]}
    shown = next(iter(names.values()))
    if len(names) > 1:
        shown = "{" + ", ".join(f"{_scalar(pattern)}: {columns}" for pattern, columns in names.items()) + "}"
    return f"# decide: the names of the columns, in their order, like {shown}"


def _lacks_time(table: FoundTable) -> bool:
    """Whether rows can be ordered only by numbers that count no time, so that they would date versions to 1970."""
    ordering = table.columns.order_candidates() if table.format == ROWS else []
    return bool(ordering) and not any(table.columns.values[name].may_be_time() for name in ordering)


def _time_unit(table: FoundTable, ordering: Sequence[str]) -> list[str]:
    """What the first candidate that is a number seems to count, where it is not what numbers are taken to count."""
    units = {name: table.columns.values[name].unit() for name in ordering}
    found = next(((name, unit) for name, unit in units.items() if unit is not None), None)
    if found is None or found[1] == DEFAULT_UNIT:
        return []
    return [f"  # time_unit: {found[1]} # what {_scalar(found[0])} seems to count since 1970, if it stays a number"]


def _target(names: Sequence[OtherName]) -> list[str]:
    lines = [
        f"  {each.place}: {_scalar(each.name)} # {_scalar(each.default)} is written already: {_scalar(each.owner)}"
        for each in names
    ]
    return ["target: # other names than the default ones, which are taken", *lines] if lines else []


def _schemas(place: SchemaPlace, root: Path) -> str:
    if place.file is not None:
        return f"  schemas: {_scalar(inside(os.path.normpath(place.file.absolute()), root.absolute()))}"
    assert place.registry is not None  # one of the two is there
    settings = {name: getattr(place.registry, name) for name in ("url", "user", "password", "token")}
    entries = [f"{name}: {_quoted(as_written(value))}" for name, value in settings.items() if value is not None]
    return f"  registry: {{{', '.join(entries)}}}"


def _is_taken(key: Iterable[str]) -> bool:
    return any(name.casefold() in TAKEN_NAMES for name in key)


def _columns(table: FoundTable, guesses: Mapping[str, Guess]) -> list[str]:
    """The types as comments where the events carry them; declared where they are inferred. Then what is rescued."""
    types, seconds = table.columns.types(), table.columns.second_spellings()
    why = "names that differ only in upper and lower case are one column"
    rescued = [f"# Kept in _rescued, because {why}: {_flow(seconds)}"] if seconds else []
    if table.container == "csv":
        hints = {name: table.columns.values[name].may_be() for name in types if name in table.columns.values}
        return [*_remarks("Every value is text in CSV", types, hints), *rescued]
    if table.columns.has_own_types:
        return [*(_settled(table, types) or _remarks("The events carry their types", types, {})), *rescued]
    return [*_declared(table, types, guesses), *rescued]


_LEFT: Final = (
    "  # Columns of texts that look like numbers or times are left undeclared: they become columns of text, and order",
    "  # rows as the numbers or times. Declare a column that is in sequence_by with the type after its second #.",
)


def _declared(table: FoundTable, types: Mapping[str, Any], guesses: Mapping[str, Guess]) -> list[str]:
    values = table.columns.values
    sure = {name: guess.kind for name, guess in guesses.items() if guess.is_sure}
    declarable = {name: sure.get(name, kind) for name, kind in table.columns.declarable().items()}
    # A column of texts is ordered as text where it is declared, and as what each value looks like where it is not.
    of_rows = declarable if table.format == ROWS else ()
    left = {name for name in of_rows if name in values and values[name].is_written_otherwise()}
    lines = []
    if declarable:
        from_what = f"all {_changes(table)}" if table.whole else f"the first {_changes(table)}"
        why = f"the events carry no types: these are inferred from {from_what}; correct what you know better"
        lines = [f"columns: # {why}"] if declarable.keys() - left else [f"# columns: {why}"]
    for name, kind in declarable.items():
        hint = guesses[name].remark if name in guesses else _hint(values[name], table) if name in values else None
        mark = "# " if name in left else ""
        lines.append(f"  {mark}{_scalar(name)}: {kind}" + (f" # {hint}" if hint else ""))
    lines += _LEFT if left else ()
    reserved = [name for name in types if name not in declarable]
    if reserved:
        lines.append(f"# Kept in _rescued, because siltstone or Iceberg has columns of these names: {_flow(reserved)}")
    return lines


def _hint(values: Values, table: FoundTable) -> str | None:
    hint = "only nulls were seen" if values.is_null() else values.may_be()
    needs_setting = hint is not None and "decimal" in hint and _has_connect_values(table)
    return f"{hint}, and decimals: string under source" if needs_setting else hint


def _has_connect_values(table: FoundTable) -> bool:
    """Whether the settings of a connector decide how the events of a table carry values."""
    return format_of(table.format).values == "connect"


def _remarks(why: str, types: Mapping[str, Any], hints: Mapping[str, str | None]) -> list[str]:
    lines = [f"# {why}; a column that is declared has the declared type.", "# columns:"]
    for name, kind in types.items():
        hint = f" # {hints[name]}" if hints.get(name) else ""
        lines.append(f"#   {_scalar(name)}: {kind.simpleString() if kind else 'string # it differs'}{hint}")
    return lines


def _settled(table: FoundTable, types: Mapping[str, Any]) -> list[str]:
    """The types that events carry, where some differ so that a column of one type cannot become one of the other, or do
    not hold all values: those are declared, or a run could not take what comes after a part of the events."""
    declarable = {name: kind for name, kind in table.columns.declarable().items() if name in types}
    unsettled = table.columns.unsettled({name for key in table.keys for name in key})
    if not unsettled.keys() & declarable.keys():
        return []
    lines = ["columns: # the events carry their types; a column that is declared has the declared type"]
    for name, kind in declarable.items():
        if name in unsettled:
            why = "it holds all values, and the types that the events carry do not"
            lines.append(f"  {_scalar(name)}: {unsettled[name]} # {why}")
        else:
            lines.append(f"  # {_scalar(name)}: {kind}")
    return lines


def _decide(what: str, candidates: Sequence[str]) -> str:
    shown = _flow(candidates[:CANDIDATES_SHOWN]) if candidates else ""
    return f"# decide: {what}{f'; candidates: {shown}' if shown else ''}"


def _changes(table: FoundTable) -> str:
    return "1 change" if table.changes == 1 else f"{table.changes} changes"


def _counted(table: FoundTable, place: EventPlace) -> str:
    files = f"1 {place.unit}" if len(table.files) == 1 else f"{len(table.files)} {place.unit}s"
    return f"{'' if table.whole else 'the first '}{_changes(table)} in {files}"


def _flow(names: Iterable[str]) -> str:
    return "[" + ", ".join(_scalar(name) for name in names) + "]"


def _scalar(text: str) -> str:
    """A text as YAML takes it, in one line, inside a list and a comment too."""
    style = None if text.isprintable() else '"'  # the other styles write a line feed as one
    listed = yaml.safe_dump([text], default_flow_style=True, default_style=style, width=10_000, allow_unicode=True)
    return listed.strip()[1:-1]


def _quoted(text: str) -> str:
    """A text as YAML takes it, a reference to the environment among braces too."""
    return f'"{text}"' if text.startswith("${") else _scalar(text)
