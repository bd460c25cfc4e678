"""The tables in files: which they are, their keys and columns, and what a person has to decide."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark.sql import types as T

from engine.errors import SourceError
from engine.recognise.columns import Columns, arrow_types, avro_types
from engine.recognise.formats import OF_TOPICS, RECOGNISERS, ROWS, Recogniser, is_blank, recognise
from engine.recognise.frames import SchemaPlace, Writers
from engine.recognise.messages import are_fillers
from engine.recognise.opening import opened
from engine.recognise.paths import NUMBERED
from engine.recognise.sample import Sample, sample

CONTAINERS: Final = ("json", "csv", "avro", "parquet")
OF_FILLERS: Final = "dts-avro"
_BINARY: Final = (".avro", ".parquet")
_SUFFIXES: Final = (".gz", ".bz2", ".jsonl", ".json", ".ndjson", ".csv", ".parquet", ".avro", ".snappy", ".txt")

Name = tuple[str | None, str | None]
"""A table's name, and its database: None where the events do not tell it, or it is a part of the name."""
Place = tuple[Any, str | None, str | None]
"""The same, and before it what keeps tables of a name apart: the format, and of rows where they are."""


@dataclass
class FoundTable:
    """One table as the events tell it. `name` is None where they do not; `keys`: every key that occurs.

    `controls`: files of its format with nothing but control events; `blank`: those of any with nothing in them;
    `by_scn`: as of `Fact`.
    """

    name: str | None
    format: str
    order: str
    files: list[Path] = field(default_factory=list)
    keys: set[tuple[str, ...]] = field(default_factory=set)
    keyless: bool | None = None
    columns: Columns = field(default_factory=Columns)
    changes: int = 0
    whole: bool = True
    delimiter: str = ","
    container: str = "json"
    controls: list[Path] = field(default_factory=list)
    blank: list[Path] = field(default_factory=list)
    by_scn: bool = False

    def respelt(self) -> list[str]:
        """Fields that differ from a column only in upper and lower case: the engine rescues them.

        A key's spelling is the column, otherwise the one that comes first.
        """
        names = list(self.columns.types())
        keys = [name for key in sorted(self.keys) for name in key if name in names]
        columns = {name.casefold(): name for name in reversed([*keys, *names])}
        return [name for name in names if columns[name.casefold()] != name]


def find_tables(
    paths: Sequence[Path], remark: Callable[[str], None] | None = None, schemas: SchemaPlace | None = None
) -> list[FoundTable]:
    """The tables in files and folders, in the order of format and name. `remark`: told of files passed over; `schemas`:
    where those of messages in Confluent's frames are.

    Raises: SourceError: a place is not there; a file that is named, or every file of the folders, is of no known kind.
        SpecError: a file needs schemas, and they are not named.
    """
    writers = None if schemas is None else Writers(schemas)
    unknown: list[Sample] = []
    silent: list[SilentFile] = []
    folded: list[Path] = []
    tables: dict[Place, FoundTable] = {}
    beside = None if schemas is None or schemas.file is None else _absolute(schemas.file)
    for file in _files(paths, beside):
        found = _looked_into(file, writers, remark)
        recogniser = recognise(found)
        told = _tables_in(found, recogniser)
        if told is None:
            unknown.append(found)
        elif not told:
            silent.append(SilentFile.of(found, recogniser))
            folded.extend(_folded(found))
        key_of_file = _rows_key(found) if recogniser is None else recogniser.format
        for (name, database), table in (told or {}).items():
            _merge(tables.setdefault((key_of_file, name, database), table), table)
    named = {_absolute(path) for path in paths}
    if any(found.path in named for found in unknown) or (unknown and not tables):
        raise _not_known(unknown)
    for found in unknown:
        if remark is not None:
            remark(f"{found.path} is passed over: {_what(found)}")
    if not tables:
        raise _no_change(paths, folded)
    _join_unnamed(tables)
    _tell_databases(tables)
    _tell_order(tables.values())
    for table in tables.values():
        _tell_silent(table, silent)
    return sorted(tables.values(), key=lambda table: (table.format, table.name or ""))


def _tables_in(found: Sample, recogniser: Recogniser | None) -> dict[Name, FoundTable] | None:
    """The tables in a file: none where nothing in it tells of one; None where it is of no known kind."""
    if recogniser is not None:
        return _of_format(found, recogniser)
    if is_blank(found) or are_fillers(found):
        return {}
    return _rows_table(found) if _is_rows(found) else None


def _folded(found: Sample) -> list[Path]:
    """The file, where payloads in it are texts of JSON, as `kcat -J` writes them."""
    payloads = [record.get("payload") for record in found.records if isinstance(record, dict)]
    texts = [payload for payload in payloads if isinstance(payload, str) and payload.lstrip().startswith("{")]
    return [found.path] if texts else []


def _tell_databases(tables: dict[Place, FoundTable]) -> None:
    """Put the database before a name where a connector's tables are in several: two of them can have one name."""
    for form in {form for form, _, database in tables if database is not None}:
        mine = [place for place in tables if place[0] == form and place[1] is not None]
        is_one = len({database for _, _, database in mine if database is not None}) == 1
        for place in [place for place in mine if place[2] is not None]:
            _, name, database = place
            if is_one and (form, name, None) in tables:
                _merge(tables[form, name, None], tables.pop(place))
            elif not is_one:
                tables[place].name = f"{database}.{name}"


def _tell_order(tables: Iterable[FoundTable]) -> None:
    """One source has one order: a change that its commit SCN cannot order tells that of all tables of its format."""
    listed = list(tables)
    for form in {table.format for table in listed if table.by_scn}:
        for table in listed:
            table.by_scn = table.by_scn or table.format == form


def _join_unnamed(tables: dict[Place, FoundTable]) -> None:
    """Give events that name no table to the only one of their format: a spec takes them for its own."""
    for key in [key for key, table in tables.items() if table.name is None and table.format != ROWS]:
        named = [other for other, table in tables.items() if other[0] == key[0] and table.name is not None]
        if len(named) == 1:
            _merge(tables[named[0]], tables.pop(key))


def _looked_into(file: Path, writers: Writers | None, remark: Callable[[str], None] | None) -> Sample:
    """The records of a file, or of the messages of bytes in it; where nobody named schemas, first what is JSON."""
    found = sample(file)
    named = writers is not None and not writers.place.of_project
    if found.container == "empty" or (not named and recognise(found) is not None):
        return found
    return opened(found, writers, remark)


def _files(paths: Iterable[Path], beside: Path | None) -> list[Path]:
    """The visible files at the places, folders searched to the bottom, without one that lies `beside` the events."""
    found: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise SourceError(f"Cannot look into {path}: it does not exist.", "check the path")
        inside = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        for file in inside:
            below = file.relative_to(path).parts if path.is_dir() else ()
            schemas = below and _absolute(file) == beside
            if not schemas and not any(part.startswith((".", "_")) for part in below):
                found[_absolute(file)] = None
    if not found:
        raise SourceError(f"Cannot find files in {', '.join(map(str, paths))}.", "name files or folders with events")
    return list(found)


def _absolute(path: Path) -> Path:
    return Path(os.path.normpath(path.absolute()))


def _of_format(found: Sample, recogniser: Recogniser) -> dict[Name, FoundTable]:
    tables: dict[Name, FoundTable] = {}
    types = avro_types(found.schema, _payload) if found.container == "avro" else None
    for record in found.records:
        for fact in recogniser.told(record) or ():
            table = tables.get((fact.table, fact.database))
            if table is None:
                table = FoundTable(fact.table, recogniser.format, recogniser.order, [found.path], whole=found.whole)
                table.container = found.container
                tables[fact.table, fact.database] = table
            table.by_scn = table.by_scn or fact.by_scn
            table.changes += 1
            table.keyless = _as_both_say(table.keyless, fact.keyless)
            if fact.keys:
                table.keys.add(fact.keys)
            table.columns.add(fact.schema, fact.row, fact.inserted)
            if types is not None:
                _told_by_file(table, types, fact.keys)
    return tables


def _as_both_say(one: bool | None, other: bool | None) -> bool | None:
    """Whether a table is without a key: by all who say something of it."""
    told = [each for each in (one, other) if each is not None]
    return all(told) if told else None


def _told_by_file(table: FoundTable, types: dict[str, Any], keys: Iterable[str]) -> None:
    """The types of the file's schema; a key beside the row is text."""
    if not table.columns.told:
        table.columns.tell(types)
    table.columns.tell({key: T.StringType() for key in keys if key not in table.columns.told})
    table.columns.bare = 0


def _payload(schema: Any) -> Any:
    """The type of Datastream's payload."""
    return next((field["type"] for field in schema["fields"] if field["name"] == "payload"), {"fields": []})


def _merge(known: FoundTable, more: FoundTable) -> None:
    if known is more:
        return
    known.files += [file for file in more.files if file not in known.files]
    known.keys |= more.keys
    known.keyless = _as_both_say(known.keyless, more.keyless)
    known.changes += more.changes
    known.whole = known.whole and more.whole
    known.by_scn = known.by_scn or more.by_scn
    known.columns.tell(more.columns.said)
    for name, kinds in more.columns.kinds.items():
        known.columns.kinds.setdefault(name, set()).update(kinds)
    for equal, schemas in more.columns.by_values.items():
        known.columns.by_values.setdefault(equal, set()).update(schemas)
    known.columns.carried += more.columns.carried
    known.columns.bare += more.columns.bare
    for name, values in more.columns.values.items():
        mine = known.columns.values.setdefault(name, values)
        if mine is not values:
            mine.unsigned, mine.nanos = mine.unsigned or values.unsigned, mine.nanos or values.nanos
            mine.repeats = mine.repeats or values.repeats or bool(mine.inserted & values.inserted)
            for what in ("kinds", "inserted", "digits", "shapes"):
                getattr(mine, what).update(getattr(values, what))
            mine.present, mine.nulls = mine.present + values.present, mine.nulls + values.nulls


# --- plain rows -----------------------------------------------------------------------------------------------------


def _is_rows(found: Sample) -> bool:
    flat = found.records and all(isinstance(record, dict) for record in found.records[:100])
    return found.container in CONTAINERS and bool(flat)


def _rows_key(found: Sample) -> tuple[str, str, Path]:
    return ROWS, found.container, found.path.parent


def _rows_table(found: Sample) -> dict[Name, FoundTable]:
    name = _rows_name(found.path)
    table = FoundTable(name, ROWS, "a column that you name under sequence_by", [found.path], whole=found.whole)
    table.changes, table.container, table.delimiter = len(found.records), found.container, found.delimiter
    table.keyless = False
    for record in found.records:
        table.columns.add(None, record, inserted=False)
    if found.container == "avro":
        table.columns.tell(avro_types(found.schema))
    elif found.container == "parquet":
        table.columns.tell(arrow_types(found.schema))
    if table.columns.told:
        table.columns.bare = 0
    return {(name, None): table}


def _rows_name(file: Path) -> str:
    """Files of one folder whose names differ in numbers only are one table, named after folder and file."""
    stem = file.name
    while (suffix := Path(stem).suffix.lower()) in _SUFFIXES:
        stem = stem[: -len(suffix)]
    bare = NUMBERED.sub("", stem)
    if stem.startswith("part-") or not bare:
        name = f"{file.parent.parent.name or 'landing'}.{file.parent.name}"
    else:
        name = f"{file.parent.name or 'landing'}.{bare}"
    return ".".join(part.replace(".", "_").strip() or "rows" for part in name.split(".", 1))


# --- files without tables -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SilentFile:
    """A file in which nothing tells of a table. `format`: that of its control events, None where it has none."""

    path: Path
    container: str
    format: str | None

    @classmethod
    def of(cls, found: Sample, recogniser: Recogniser | None) -> "SilentFile":
        """The file that was looked into."""
        if recogniser is not None:
            return cls(found.path, found.container, recogniser.format)
        return cls(found.path, found.container, None if is_blank(found) else OF_FILLERS)

    def is_blank_for(self, table: FoundTable) -> bool:
        """Whether a run that reads the table finds nothing in the file. Of rows, tomorrow's are those of its name."""
        if self.format is not None:
            return False
        readable = self.path.suffix not in _BINARY and table.container not in ("avro", "parquet")
        if table.format == ROWS:
            mine = self.path.parent == table.files[0].parent and _rows_name(self.path) == table.name
            return mine and (readable if self.container == "empty" else self.container == table.container != "json")
        return readable if self.container == "empty" else self.container == "json" and table.format in OF_TOPICS


def _tell_silent(table: FoundTable, silent: Iterable[SilentFile]) -> None:
    for file in silent:
        if file.format == table.format:
            table.controls.append(file.path)
        elif file.is_blank_for(table):
            table.blank.append(file.path)


# --- what is not known ----------------------------------------------------------------------------------------------


def _no_change(paths: Sequence[Path], folded: Sequence[Path]) -> SourceError:
    if folded:
        return SourceError(
            f"Cannot find a change of a table in {', '.join(map(str, folded))}: payload is a text that holds JSON.",
            "write it as JSON: jq -c '.key = (.key | fromjson? // .) | .payload = (.payload | fromjson? // .)'",
        )
    return SourceError(
        f"Cannot find a change of a table in {', '.join(map(str, paths))}: the files are empty, or hold control"
        " events, null messages or fillers only.",
        "name files with changes",
    )


def _not_known(unknown: Sequence[Sample]) -> SourceError:
    looked_for = "; ".join(f"{each.format}: {each.looks_for}" for each in RECOGNISERS)
    listed = ", ".join(f"{found.path} ({_what(found)})" for found in unknown[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    return SourceError(
        f"Cannot tell what is in {listed}{more}. Looked for {looked_for}; rows: JSON objects, CSV with a header, or"
        " Parquet or Avro records. Nothing was written.",
        "name only files with events, or write the spec by hand (specs/README.md)",
    )


def _what(found: Sample) -> str:
    if found.container == "document":
        return "one JSON document; siltstone reads one record a line: jq -c '.[]' for an array of them, else jq -c ."
    if found.container == "text":
        return "neither lines of JSON nor CSV, Avro or Parquet"
    if found.container == "frames":
        return "messages in Confluent's frames that are no Debezium events"
    first = found.records[0] if found.records else None
    if found.container == "json" and all(isinstance(record, list) for record in found.records):
        return "lines that are JSON arrays; siltstone reads one record a line: jq -c '.[]'"
    fields = f" with {', '.join(list(first)[:6])}" if isinstance(first, dict) and first else ""
    return f"{found.container} records{fields} of no known format"
