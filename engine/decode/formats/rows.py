"""Plain rows: each record is a row of one table. The spec defines their order, the deletes and the columns.

A row that is not a delete has the new values of its columns. With absent columns, it is a partial row. A row that
matches `ignore_when` is a control event, and so is a line that is `null`: a message of a topic without a value.

`sequence_by` defines the order, column by column: numbers as numbers, times as instants, bytes as bytes, all else as
text. Columns whose type the spec declares are ordered by that type. Columns that the file declares as bytes are ordered
as bytes. In all other columns, each value is ordered by its own form: numbers before times before text. Objects and
lists have no order. In a column that is declared as a time, the digits of the type define which unit a number counts.

Rows of JSON lines stay unchanged. Rows of CSV, Parquet and Avro files and of Iceberg tables come as the JSON text that
`typed_records` and `avro_files` write, with the types of the columns in `row_schema`.

`_file` and `_pos` are columns of every row: the name of its file below the source's folder, and its number in the file.
In `sequence_by` they are the order of delivery. The time in a name (20240101-123456789.csv) can be the time of a
change.

A row that matches `snapshot_when` is a READ without a position. If it has no time, it counts as read before all
changes.

Position: epoch (4) - a segment for each column of `sequence_by` (see `row_values`) - 0 or 1, if the spec defines which
change wins a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from siltstone.engine import names
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import Change, Control, Event, Message, rejected
from siltstone.engine.decode.event_batch import signed_hash
from siltstone.engine.decode.formats.coordinates import folder_of, name_below
from siltstone.engine.decode.formats.row_conditions import ColumnTimes, Condition, Texts, condition
from siltstone.engine.decode.formats.row_values import (
    bounded,
    bytes_segment,
    counted_micros,
    number_segment,
    plain_number,
    text_segment,
    time_in_name,
    time_segment,
    unix_nanos,
    written,
)
from siltstone.engine.decode.json_encoding import binary_encoding
from siltstone.engine.decode.json_value import (
    BLANKS,
    NOT_JSON,
    PARSE_ERRORS,
    Number,
    broken_reason,
    is_utf8,
    parse,
    parse_object,
    plain_text,
)
from siltstone.engine.decode.position_text import joined
from siltstone.engine.decode.types.binary import base64_bytes, base64_url_value, hex_bytes
from siltstone.engine.decode.types.zones import source_zone
from siltstone.engine.schema import control_kinds
from siltstone.engine.spec.model import SourceSpec
from siltstone.engine.spec.predicates import Predicate
from siltstone.engine.spec.rows_format import COORDINATES, FILE, LINE, SequenceKind

CONNECTOR: Final = "rows"
UNTIMED: Final = "no sequence column is a time or a number; name a column with the time under source.time_by"
_PLACES: Final = {"seconds": 6, "milliseconds": 3, "microseconds": 0, "nanoseconds": -3}
_TIMES: Final = ("date", "timestamp", "timestamp_ntz")
_BYTES: Final = "binary"
_WANTED: Final = {
    "number": "a number", "time": "a time", "text": "text", "bytes": "bytes", "any": "a number, a time or text",
}  # fmt: skip
_BINARIES: Final = {"hex": hex_bytes, "base64_url": base64_url_value}
_PER_MICRO: Final = 1_000
_NULL: Final = b"null"
BEFORE_ALL: Final = 0
"""The time of a READ without a time: 1970, earlier than every change."""


class FileSchema(NamedTuple):
    """The columns that a file declares as times, and as bytes (in base64 in the rows)."""

    hash: int | None = None
    times: frozenset[str] = frozenset()
    bytes: frozenset[str] = frozenset()


Place = tuple[str | None, int | None, str | None]
"""A value of a sequence column: its segment of the position, None if it has none; its time in nanoseconds, if it is a
time; the number, if it is one."""


class RowsDecoder:
    """Decodes rows."""

    def __init__(self, source: SourceSpec, declared: Declared) -> None:  # noqa: ARG002  # every decoder gets them
        assert source.rows is not None  # the spec ensures it
        rows = source.rows
        self._rows, self._table, self._source = rows, rows.table, f"{CONNECTOR}:{rows.table}"
        self._zone, self._digits = source_zone(source.time_zone), dict(rows.digits)
        self._binary = _BINARIES.get(binary_encoding(source).kind, base64_bytes)
        self._places = _PLACES[rows.time_unit]
        self._folder = folder_of(source)
        times = ColumnTimes(self._zone, self._digits, dict(rows.kinds))
        self._deletes, self._truncates, self._ignores, self._reads = (
            _condition(each, times)
            for each in (rows.delete_when, rows.truncate_when, rows.ignore_when, rows.snapshot_when)
        )
        self._has_coordinates = any(name in COORDINATES for name in rows.looked_at)
        self._read = row_reader([name for name in rows.looked_at if name not in COORDINATES])

    def events(self, message: Message) -> Sequence[Event]:
        """The event of a message."""
        return [self._decoded(message)]

    def _decoded(self, message: Message) -> Event:
        if message.problem is not None:
            return rejected(message, message.problem, self._table)
        texts = self._read(message.text)
        if texts is None:
            return self._of_broken(message)
        if self._has_coordinates:
            texts = {**texts, FILE: name_below(self._folder, message.file), LINE: str(message.line)}
        schema = file_schema(message.row_schema)
        if self._ignores is not None and self._ignores(texts, schema.times):
            return self._control(message, control_kinds.IGNORED)
        if self._reads is not None and self._reads(texts, schema.times):
            return self._read_of_snapshot(message, texts, schema)
        places = [self._place(texts[name], name, kind, schema) for name, kind in self._rows.sequence_by]
        if None in [segment for segment, _, _ in places]:
            return rejected(message, self._misplaced(texts, places), self._table)
        commit_us = self._commit_us(texts, places)
        if commit_us is None:
            return rejected(message, self._untimed(), self._table)
        op = self._op(texts, schema)
        position = joined(*[segment for segment, _, _ in places], *self._tie(op))
        return self._change(message, op, position, schema, commit_us)

    def _read_of_snapshot(self, message: Message, texts: Texts, schema: FileSchema) -> Change:
        places = [self._place(texts[name], name, kind, schema) for name, kind in self._rows.sequence_by]
        commit_us = self._commit_us(texts, places)
        return self._change(message, names.OP_READ, None, schema, BEFORE_ALL if commit_us is None else commit_us)

    def _change(self, message: Message, op: str, position: str | None, schema: FileSchema, commit_us: int) -> Change:
        text = message.text
        return Change(
            file=message.file,
            line=message.line,
            text=text,
            connector=CONNECTOR,
            source=self._source,
            table=self._table,
            op=op,
            origin=names.ORIGIN_SNAPSHOT if op == names.OP_READ else names.ORIGIN_STREAM,
            before=text if op == names.OP_DELETE else None,
            after=text if op in (names.OP_UPDATE, names.OP_READ) else None,
            row_schema=message.row_schema,
            schema_hash=schema.hash,
            position=position,
            commit_us=commit_us,
        )

    def _of_broken(self, message: Message) -> Event:
        """The event of a record that is not a row: a topic's null message, which has no columns, or a reject."""
        if message.row_schema is None and message.text.strip(BLANKS) == _NULL:
            return self._control(message, control_kinds.NULL_MESSAGE)
        return rejected(message, broken_reason(message.text, NOT_JSON), self._table)

    def _control(self, message: Message, kind: str) -> Control:
        return Control(
            file=message.file,
            line=message.line,
            text=message.text,
            connector=CONNECTOR,
            source=self._source,
            table=self._table,
            control_kind=kind,
            control=message.text,
        )

    # --- operations -------------------------------------------------------------------------------------------------

    def _op(self, texts: Texts, schema: FileSchema) -> str:
        if self._truncates is not None and self._truncates(texts, schema.times):
            return names.OP_TRUNCATE
        is_delete = self._deletes is not None and self._deletes(texts, schema.times)
        return names.OP_DELETE if is_delete else names.OP_UPDATE

    def _tie(self, op: str) -> tuple[str, ...]:
        """The segment that decides between the changes of a key at one place of the sequence.

        Empty if the order of all changes decides.
        """
        if self._rows.ties == "order":
            return ()
        return ("1" if (op != names.OP_UPDATE) == (self._rows.ties == "delete") else "0",)

    # --- positions and times ----------------------------------------------------------------------------------------

    def _place(self, text: str | None, name: str, kind: SequenceKind, schema: FileSchema) -> Place:
        if text is None:
            return None, None, None
        if name == FILE:
            return text_segment(text), time_in_name(text), None
        if name == LINE:
            return number_segment(text), None, None
        if kind == "bytes" or name in schema.bytes:
            value = self._bytes(text, name, kind, schema)
            if value is not None or kind == "bytes":
                return None if value is None else bytes_segment(value), None, None
        number, digits = plain_number(text), self._digits.get(name)
        nanos = unix_nanos(text, self._zone, digits) if number is None or digits is not None else None
        return _segment(text, kind, number, nanos), nanos, number

    def _bytes(self, text: str, name: str, kind: SequenceKind, schema: FileSchema) -> bytes | None:
        """The bytes of a text, by the file, else by the spec; None if it is not bytes."""
        found = base64_bytes(text) if name in schema.bytes and kind in ("any", "bytes") else None
        return self._binary(text) if found is None and kind == "bytes" else found

    def _commit_us(self, texts: Texts, places: Sequence[Place]) -> int | None:
        """The time of the change: from `time_by`, else the first time in the sequence, else its first number as a time.

        A time outside of the calendar in UTC becomes its end: the position decides the order, the time is only a label.
        """
        if self._rows.time_by is not None:
            text = texts[self._rows.time_by]
            return None if text is None else self._micros(text, self._rows.time_by)
        for _, nanos, _ in places:
            if nanos is not None:
                return bounded(nanos // _PER_MICRO)
        counts = (counted_micros(number, self._places) for _, _, number in places if number is not None)
        return next((micros for micros in counts if micros is not None), None)

    def _micros(self, text: str, name: str) -> int | None:
        nanos = time_in_name(text) if name == FILE else unix_nanos(text, self._zone, self._digits.get(name))
        if nanos is not None:
            return bounded(nanos // _PER_MICRO)
        number = plain_number(text)
        return None if number is None else counted_micros(number, self._places)

    # --- reasons of rejects -----------------------------------------------------------------------------------------

    def _misplaced(self, texts: Texts, places: Sequence[Place]) -> str:
        """Why a row has no place in the sequence."""
        columns = zip(self._rows.sequence_by, places, strict=True)
        name, kind = next(column for column, (segment, _, _) in columns if segment is None)
        if texts[name] is None:
            return f'sequence column "{name}" is null or missing'
        return f'sequence column "{name}": the value is not {_WANTED[kind]}'

    def _untimed(self) -> str:
        time_by = self._rows.time_by
        return UNTIMED if time_by is None else f'time column "{time_by}": the value is not a time'


@lru_cache(maxsize=1_000)
def file_schema(text: str | None) -> FileSchema:
    """The columns in the text of a row's schema (`engine.decode.file_schema`); empty if there is none."""
    if text is None:
        return FileSchema()
    columns = parse(text).get("columns", ())
    times = frozenset(name for name, kind, _ in columns if kind in _TIMES)
    return FileSchema(signed_hash(text.encode()), times, frozenset(name for name, kind, _ in columns if kind == _BYTES))


# --- the columns that settings name ---------------------------------------------------------------------------------


def row_reader(columns: Sequence[str]) -> Callable[[bytes], Texts | None]:
    """A function that reads some columns of a row. It returns None if the text is not a JSON object."""
    decode = _columns_decoder(columns)

    def read(text: bytes) -> Texts | None:
        try:
            values = decode(text)
            if not is_utf8(text):
                return None
        except PARSE_ERRORS:
            return None
        return {
            name: value if value is None or type(value) is str else plain_text(value)
            for name, value in zip(columns, values, strict=True)
        }

    return read


def _columns_decoder(columns: Sequence[str]) -> Callable[[bytes], Sequence[Any]]:
    """A function that returns the values of the columns. It only checks that the other fields are JSON."""
    fields = [(f"column_{at}", Any, msgspec.field(name=name, default=None)) for at, name in enumerate(columns)]
    try:
        kind = msgspec.defstruct("LookedAt", fields, gc=False)
        decoder = msgspec.json.Decoder(kind, float_hook=Number)
    except ValueError:  # msgspec does not support a character of a name
        return lambda text: [*map(parse_object(text).get, columns)]
    return lambda text: msgspec.structs.astuple(decoder.decode(text))


def _condition(predicate: Predicate | None, times: ColumnTimes) -> Condition | None:
    return None if predicate is None else condition(predicate, times)


def _segment(text: str, kind: SequenceKind, number: str | None, nanos: int | None) -> str | None:
    """The value as a segment of the position; None if it is not of the wanted kind."""
    if number is not None and kind in ("number", "any"):
        return number_segment(number)
    if nanos is not None and kind in ("time", "any"):
        return time_segment(nanos)
    return text_segment(text) if kind == "text" or (kind == "any" and not _has_parts(text)) else None


def _has_parts(text: str) -> bool:
    """Whether a text is the JSON of an object or a list: the order of such texts has no meaning."""
    if text[:1] not in ("{", "["):
        return False
    try:
        parse(text)
    except PARSE_ERRORS:
        return False
    return True


# --- positions in readable form -------------------------------------------------------------------------------------


def notation(position: str, _source: str) -> str | None:
    """The values of the sequence, without the segment that decides ties."""
    found = [written(segment) for segment in position.split("-")[1:] if segment not in ("0", "1")]
    return None if None in found or not found else ", ".join(text for text in found if text is not None)
