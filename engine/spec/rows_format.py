"""The settings of plain rows in a spec: their order, which of them delete, and which columns belong to the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from siltstone.engine.formats import FORMATS
from siltstone.engine.formats.rows import ROWS
from siltstone.engine.spec.columns import ColumnTypeError, parse_column_type
from siltstone.engine.spec.model import TrackSpec
from siltstone.engine.spec.predicates import Predicate, columns_of
from siltstone.engine.spec.wording import Place

if TYPE_CHECKING:
    from siltstone.engine.spec.model import TableSpec

SequenceKind = Literal["any", "number", "time", "text", "bytes"]
Ties = Literal["delete", "upsert", "order"]
FileType = Literal["json", "csv", "parquet", "avro"]
Headers = tuple[tuple[str, tuple[str, ...]], ...]
"""Columns by patterns of file names."""
TimeUnit = Literal["seconds", "milliseconds", "microseconds", "nanoseconds"]

SETTINGS: Final = (
    "sequence_by", "delete_when", "truncate_when", "ignore_when", "ignore_nulls", "columns", "ties", "time_by",
    "time_unit", "file_type", "delimiter", "snapshot_when", "header", "null_value",
)  # fmt: skip
FILE, LINE = "_file", "_pos"
COORDINATES: Final[Mapping[str, SequenceKind]] = {FILE: "text", LINE: "number"}
"""Columns that every row has: the name of its file below the source's folder, and its number in the file."""
YEAR_2000: Final = 946_684_800_000_000
"""In microseconds since 1970. Numbers that would be an earlier time are most likely not times."""
_DATED_BY_NUMBER: Final = (
    "siltstone takes the numbers of source.sequence_by as the times of versions, in microseconds since 1970. Set"
    " source.time_by to the column with the time of a change, or source.time_unit to the unit of the numbers."
)
_TIMES: Final = ("timestamp", "timestamp_ntz")
_OF_CSV: Final = ("delimiter", "header", "null_value")
_OF_FILES: Final = ("file_type", *_OF_CSV)
_PLACES: Final = frozenset({"path", "table", "kafka"})
"""The settings that name the place of the events. A source has exactly one of them."""
_KINDS: Final[Mapping[str, SequenceKind]] = {
    "integer": "number", "floating": "number", "decimal": "number", "unsigned": "number",
    "date": "time", "timestamp": "time", "timestamp_ntz": "time", "string": "text", "uuid": "text", "enum": "text",
    "binary": "bytes",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RowsSpec:
    """The settings of one table of plain rows. `sequence_by` pairs columns with the kind of their values.

    `header`: the columns of CSV files that do not name them. The first pattern that matches a file's name counts.
    `null_value`: the text without quotes that means null in a CSV file.
    `digits`: the digits of a second of time columns whose declared type has them. They are the unit of numbers.
    `kinds`: the kinds of the values of declared columns in conditions. Fingerprints contain both through the types.
    `has_time_unit`: whether the spec sets `time_unit`. Setting the default value changes nothing but a warning.
    """

    table: str
    sequence_by: tuple[tuple[str, SequenceKind], ...]
    delete_when: Predicate | None = None
    truncate_when: Predicate | None = None
    ignore_when: Predicate | None = None
    ignore_nulls: TrackSpec | None = None
    columns: TrackSpec = field(default_factory=TrackSpec)
    ties: Ties = "delete"
    time_by: str | None = None
    time_unit: TimeUnit = "microseconds"
    file_type: FileType | None = None
    delimiter: str = ","
    snapshot_when: Predicate | None = None
    header: Headers = ()
    null_value: str = ""
    digits: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    kinds: tuple[tuple[str, SequenceKind], ...] = field(default=(), repr=False)
    has_time_unit: bool = field(default=False, repr=False)

    @property
    def conditions(self) -> dict[str, Predicate | None]:
        """The conditions by their settings."""
        return {
            "delete_when": self.delete_when,
            "truncate_when": self.truncate_when,
            "ignore_when": self.ignore_when,
            "snapshot_when": self.snapshot_when,
        }

    @property
    def looked_at(self) -> list[str]:
        """The columns that define the position, the time and the operation of a row."""
        found = [name for name, _ in self.sequence_by] + ([self.time_by] if self.time_by else [])
        return list(dict.fromkeys([*found, *condition_columns(*self.conditions.values())]))

    @property
    def named(self) -> Iterator[tuple[str, str]]:
        """The columns that conditions and lists of columns name, each with its setting."""
        for setting, condition in self.conditions.items():
            yield from ((setting, name) for name in condition_columns(condition) if name not in COORDINATES)
        yield from (("ignore_nulls", name) for name in (self.ignore_nulls.columns if self.ignore_nulls else ()))
        yield from (("columns", name) for name in self.columns.columns)

    @property
    def may_count_no_time(self) -> bool:
        """Whether numbers of the sequence can become times although the spec does not declare them as times."""
        is_timed = any(kind == "time" for _, kind in self.sequence_by)
        return self.time_by is None and not self.has_time_unit and not is_timed

    def takes(self, column: str) -> bool:
        """Whether a column of the rows is a column of the table."""
        return chosen(self.columns, column)

    def ignores_null(self, column: str) -> bool:
        """Whether a null in the column means that the column is absent."""
        return self.ignore_nulls is not None and chosen(self.ignore_nulls, column)


def condition_columns(*conditions: Predicate | None) -> list[str]:
    """The columns that conditions name, each of them once."""
    return list(dict.fromkeys(name for each in conditions if each is not None for name in columns_of(each)))


def chosen(choice: TrackSpec, column: str) -> bool:
    """Whether a choice of columns includes the column."""
    if choice.mode == "all":
        return True
    return (column in choice.columns) == (choice.mode == "columns")


def sequence_kind(name: str, column_type: str | None) -> SequenceKind:
    """The order of a column's values: by its declared type, else by the form of each value."""
    if column_type is None:
        return COORDINATES.get(name, "any")
    return _KINDS.get(parse_column_type(column_type).source_encoding.kind, "any")


def second_digits(column_type: str) -> int | None:
    """The digits of a second in a declared time type; None if it has none, or is another type."""
    encoding = parse_column_type(column_type).source_encoding
    return encoding.precision if encoding.kind in _TIMES else None


def time_warning(spec: TableSpec, max_commit_us: int | None = None) -> str | None:
    """A warning that numbers in the sequence are probably not times, or None.

    `max_commit_us`: the latest time of the changes, in microseconds since 1970. Without it, the warning depends on the
    spec alone.
    """
    rows = spec.source.rows
    if rows is None or not rows.may_count_no_time:
        return None
    if max_commit_us is not None:
        return f"All its changes have a time before 2000. {_DATED_BY_NUMBER}" if max_commit_us < YEAR_2000 else None
    has_numbers_only = all(kind == "number" for _, kind in rows.sequence_by)
    return f"Only numbers order its changes. {_DATED_BY_NUMBER}" if has_numbers_only else None


def row_disagreements(spec: Mapping[str, Any]) -> Iterator[tuple[Place, str, str | None]]:
    """Required settings that a spec of plain rows lacks, and settings of plain rows in other specs."""
    source = spec.get("source")
    if not isinstance(source, Mapping):
        return
    if source.get("format") == ROWS:
        yield from _of_rows(spec, source)
    elif source.get("format") in FORMATS:
        yield from _of_changes(source)
    elif not _PLACES & source.keys():  # the rest depends on the format
        yield ("source", "path"), "is required", None


def _of_changes(source: Mapping[str, Any]) -> Iterator[tuple[Place, str, str | None]]:
    """Settings that do not apply to formats of change events."""
    for name in SETTINGS:
        if name in source:
            yield ("source", name), "is a setting of the format rows", "leave it out."
    if "table" in source:
        yield ("source", "table"), "reading an Iceberg table is for the format rows", "give source.path."
    elif not _PLACES & source.keys():
        yield ("source", "path"), "is required", "write kafka instead if the events are in topics."
    elif "path" in source and "kafka" in source:
        yield ("source", "path"), "exactly one of source.path and source.kafka is required", None
    form = FORMATS[source["format"]]
    if "kafka" in source and "json" not in form.containers:
        yield ("source", "kafka"), f"{form.name} is for files only", "give source.path."


def _of_rows(spec: Mapping[str, Any], source: Mapping[str, Any]) -> Iterator[tuple[Place, str, str | None]]:
    """Settings that plain rows need to be read in their order, one row at a time."""
    for name in _OF_CSV:
        if name in source and source.get("file_type", "csv") != "csv":
            message = "is a setting of CSV files, and file_type is another type"
            yield ("source", name), message, "leave it out."
    places = {*_named(source.get("sequence_by")), *_named(source.get("time_by"))} & COORDINATES.keys()
    if places and "table" in source:
        message = f"names {' and '.join(sorted(places))}, but the data files of an Iceberg table are in no order"
        yield ("source", "sequence_by"), message, "name a column that orders the rows."
    if source.get("sequence_by") is None:
        yield (
            ("source", "sequence_by"),
            "is required: rows have no order of their own",
            "name the column that orders them.",
        )
    if "time_by" in source and source["time_by"] is None:
        message = "has no value, and the numbers of sequence_by do not look like times"
        hint = "name the column with the time of a change, or delete the line to use these numbers as times."
        yield ("source", "time_by"), message, hint
    if len(_PLACES & source.keys()) != 1:
        yield ("source", "path"), "exactly one of source.path, source.table and source.kafka is required", None
    for name in _OF_FILES if "kafka" in source else ():
        if name in source:
            yield ("source", name), "is a setting of files, and the rows are in topics", "leave it out."
    if not spec.get("keys"):
        yield ("keys",), "is required: rows do not carry their key", "name the columns that identify a row."
    yield from _excluded_keys(spec, source)
    yield from _sequence_types(spec, source)
    yield from _masked_places(spec, source)


def _excluded_keys(spec: Mapping[str, Any], source: Mapping[str, Any]) -> Iterator[tuple[Place, str, str | None]]:
    """Key columns that `source.columns` leaves out."""
    listed = source.get("columns")
    excluded = listed.get("except") if isinstance(listed, Mapping) else None
    for key in spec.get("keys") or () if isinstance(spec.get("keys"), list) else ():
        out = key in excluded if isinstance(excluded, list) else isinstance(listed, list) and key not in listed
        if out:
            yield ("source", "columns"), f"leaves out the key column '{key}'", None


def _sequence_types(spec: Mapping[str, Any], source: Mapping[str, Any]) -> Iterator[tuple[Place, str, str | None]]:
    """Sequence columns of a declared type that has no order."""
    columns = spec.get("columns")
    for name in _named(source.get("sequence_by")):
        declared = columns.get(name) if isinstance(columns, Mapping) else None
        written = declared.get("type") if isinstance(declared, Mapping) else declared
        try:
            kind = parse_column_type(written).source_encoding.kind if isinstance(written, str) else "string"
        except ColumnTypeError:
            continue  # the type has its own violation
        if kind not in _KINDS:
            yield ("source", "sequence_by"), f"the column '{name}' has a type without an order ({written})", None


def _masked_places(spec: Mapping[str, Any], source: Mapping[str, Any]) -> Iterator[tuple[Place, str, str | None]]:
    """Masked columns whose values would be stored unmasked, in the position or as the time of the change."""
    columns = spec.get("columns")
    given = columns.items() if isinstance(columns, Mapping) else ()
    masked = {str(name).casefold() for name, column in given if isinstance(column, Mapping) and column.get("mask")}
    for setting, stored in (("sequence_by", "_position"), ("time_by", "_commit_ts")):
        for name in _named(source.get(setting)):
            if name.casefold() in masked:
                message = f"the column '{name}' is masked, but here its values are stored unmasked in {stored}"
                hint = (
                    "name a column without a mask; source.columns leaves a column out of the tables, but hides nothing."
                )
                yield ("source", setting), message, hint


def _named(value: object) -> list[str]:
    """The columns that a setting names: one, or a list of them."""
    return [name for name in (value if isinstance(value, list) else [value]) if isinstance(name, str)]
