"""The envelope of a Debezium event: the fields that siltstone reads, wherever a record has them.

    {"key", "topic", "partition", "offset", "headers", "value": {"schema", "payload": {event}}}
    {"key", ..., "value": {event}}    {"schema", "payload": {event}}    {event}

A part of the event that is not read here (a row image, a key, a schema) stays what its reader gives: `msgspec.Raw` for
JSON, a Python value for Avro. `Line` is read by msgspec, with the types that connectors write. `line_of` reads
everything else: a field of text takes any JSON value as its text, a number must be whole.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Generic, TypeVar

import msgspec

from engine.decode.json_value import MISFIT, Number, parse, text_of

Object = Mapping[str, Any]
Part = TypeVar("Part")
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

_WHOLE: Final = re.compile(r"\s*[+-]?[0-9]{1,40}\s*", re.ASCII)
LONG: Final = range(-(2**63), 2**63)
"""Numbers of 64 bits."""
_SHORTEST_LONG: Final = 18
_JSON_STRING: Final = b'"'


class Source(msgspec.Struct, gc=False, rename={"tx_id": "txId"}):
    """The source block: where a change comes from, and its position."""

    version: str | None = None
    connector: str | None = None
    name: str | None = None
    db: str | None = None
    schema: str | None = None
    table: str | None = None
    ts_ms: Int64 | None = None
    ts_us: Int64 | None = None
    ts_ns: Int64 | None = None
    tx_id: str | Int64 | None = None
    lsn: Int64 | None = None
    sequence: str | None = None
    file: str | None = None
    pos: Int64 | None = None
    row: Int64 | None = None
    scn: str | None = None
    commit_scn: str | None = None
    rs_id: str | None = None
    ssn: Int64 | None = None
    redo_thread: Int64 | None = None
    commit_ts_ms: Int64 | None = None
    commit_lsn: str | None = None
    change_lsn: str | None = None
    event_serial_no: Int64 | None = None


class Transaction(msgspec.Struct, gc=False):
    """The transaction of a change, where the connector provides its metadata."""

    id: str | None = None
    total_order: Int64 | None = None


class Value(msgspec.Struct, Generic[Part], rename={"table_changes": "tableChanges"}):
    """An event. `status` and `id` are those of a transaction's boundary; `aggregate_type` is a notification's."""

    before: Part = None  # type: ignore[assignment]
    after: Part = None  # type: ignore[assignment]
    op: str | None = None
    source: Source | None = None
    transaction: Transaction | None = None
    ts_ms: Int64 | str | None = None
    ts_us: Int64 | None = None
    status: str | None = None
    id: str | None = None
    aggregate_type: str | None = None
    ddl: str | None = None
    table_changes: Part = None  # type: ignore[assignment]


class Wrapped(Value[Part], Generic[Part]):
    """An event, or its schema and the event."""

    schema: Part = None  # type: ignore[assignment]
    payload: Value[Part] | None = None


class Line(Wrapped[Part], Generic[Part]):
    """A record of a topic, or the value of one."""

    key: Part = None  # type: ignore[assignment]
    value: Wrapped[Part] | None = None
    topic: str | None = None
    destination: str | None = None
    partition: Int32 | None = None
    offset: Int64 | None = None
    headers: Part = None  # type: ignore[assignment]

    def event(self) -> tuple[Value[Part], Part]:
        """The event of the record, and the schema that it carries."""
        around = self if self.value is None else self.value
        return (around if around.payload is None else around.payload), around.schema


# --- parts of an envelope -------------------------------------------------------------------------------------------


def json_text(part: Any) -> bytes | None:
    """The JSON text of a part; None for null. A string that holds a JSON object, or an array, is that."""
    if part is None:
        return None
    text = bytes(part) if type(part) is msgspec.Raw else text_of(part)
    if text[:1] == _JSON_STRING:
        return _inside(text)
    return None if text == b"null" else text


def _inside(text: bytes) -> bytes:
    content: str = parse(text)
    try:
        return content.encode() if isinstance(parse(content), dict | list) else text
    except MISFIT:
        return text


def whole_number(text: str | int | None) -> int | None:
    """The number of 64 bits that a text is; None where it is none."""
    if text is None or isinstance(text, int):
        return text
    if text.isdecimal() and text.isascii() and len(text) <= _SHORTEST_LONG:
        return int(text)
    number = int(text) if _WHOLE.fullmatch(text) else LONG.stop
    return number if number in LONG else None


# --- any JSON object ------------------------------------------------------------------------------------------------

_Kind = str | range | Mapping[str, Any]
"""What a field is: text, a number in a range, or an object with fields."""
_Kinds = Mapping[str, _Kind]
_TEXT: Final = "text"
_INT: Final = range(-(2**31), 2**31)
_NUMBERS: Final = (
    *("ts_ms", "ts_us", "ts_ns", "lsn", "pos", "row", "ssn", "redo_thread", "commit_ts_ms", "event_serial_no"),
)
_SOURCE: Final[_Kinds] = {
    field.encode_name: LONG if field.name in _NUMBERS else _TEXT for field in msgspec.structs.fields(Source)
}
_VALUE: Final[_Kinds] = {
    **dict.fromkeys(("op", "ts_ms", "status", "id", "aggregate_type", "ddl"), _TEXT),
    "ts_us": LONG,
    "source": _SOURCE,
    "transaction": {"id": _TEXT, "total_order": LONG},
}
_WRAPPED: Final[_Kinds] = {**_VALUE, "payload": _VALUE}
_LINE: Final[_Kinds] = {
    **_WRAPPED,
    "value": _WRAPPED,
    "topic": _TEXT,
    "destination": _TEXT,
    "partition": _INT,
    "offset": LONG,
}


def line_of(record: Object) -> tuple[Line[Any], bool]:
    """The envelope in a record of which some fields have other types than connectors give them, and whether all of them
    can be read. A field that cannot be read is null: a number that is not whole, or another value than an object."""
    reader = _Reader()
    return msgspec.convert(reader.object(record, _LINE), Line[Any]), not reader.has_misfit


class _Reader:
    """Reads fields as their kinds ask."""

    def __init__(self) -> None:
        self.has_misfit = False

    def object(self, fields: Object, kinds: _Kinds) -> dict[str, Any]:
        return {
            name: self._value(value, kinds[name]) if value is not None and name in kinds else value
            for name, value in fields.items()
        }

    def _value(self, value: Any, kind: _Kind) -> Any:
        if isinstance(kind, str):
            return _text(value)
        if isinstance(kind, range):
            return value if type(value) is int and value in kind else self._misfit()
        return self.object(value, kind) if isinstance(value, dict) else self._misfit()

    def _misfit(self) -> None:
        self.has_misfit = True


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.text if isinstance(value, Number) else text_of(value).decode()
