"""The envelope of a Debezium event: the fields that siltstone reads, in every form of a record.

    {"key", "topic", "partition", "offset", "headers", "value": {"schema", "payload": {event}}}
    {"key", ..., "value": {event}}    {"schema", "payload": {event}}    {event}

Parts of the event that this module does not read (row images, keys, schemas) keep the type of their reader:
`msgspec.Raw` for JSON, a Python value for Avro. msgspec reads `Line` with the types that connectors write. `line_of`
reads everything else: a text field accepts any JSON value as text, and a number must be whole.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar, get_args

import msgspec

from siltstone.engine.decode.formats.json_fields import Int, Long
from siltstone.engine.decode.json_value import PARSE_ERRORS, parse, plain_text, text_of

Object = Mapping[str, Any]
Part = TypeVar("Part")

WRONG_TYPE: Final = "a field of the envelope has a type that Debezium does not write"
LONG: Final = range(-(2**63), 2**63)
"""Numbers of 64 bits."""
_JSON_STRING: Final = b'"'


class Source(msgspec.Struct, gc=False, rename={"tx_id": "txId", "txn_number": "txnNumber"}):
    """The source block: the origin of a change, and its position."""

    version: str | None = None
    connector: str | None = None
    name: str | None = None
    db: str | None = None
    schema: str | None = None
    table: str | None = None
    ts_ms: Long | None = None
    ts_us: Long | None = None
    ts_ns: Long | None = None
    tx_id: str | Long | None = None
    lsn: str | Long | None = None
    sequence: str | None = None
    file: str | None = None
    pos: Long | None = None
    row: Long | None = None
    scn: str | None = None
    commit_scn: str | None = None
    rs_id: str | None = None
    ssn: Long | None = None
    redo_thread: Long | None = None
    commit_ts_ms: Long | None = None
    commit_lsn: str | None = None
    change_lsn: str | None = None
    event_serial_no: Long | None = None
    commit_ts: Long | None = None
    keyspace: str | None = None
    shard: str | None = None
    vgtid: str | None = None
    commit_time: Long | None = None
    collection: str | None = None
    ord: Long | None = None
    lsid: str | None = None
    txn_number: Long | None = None


class Transaction(msgspec.Struct, gc=False, rename={"epoch": "transaction_epoch", "rank": "transaction_rank"}):
    """The transaction of a change, if the connector provides its metadata.

    `epoch`, `rank`: the order of Vitess's transactions.
    """

    id: str | None = None
    total_order: Long | None = None
    epoch: Long | None = None
    rank: str | Long | None = None


class Value(
    msgspec.Struct,
    Generic[Part],
    rename={"table_changes": "tableChanges", "update_description": "updateDescription"},
):
    """An event. `status` and `id` belong to the boundary of a transaction, `aggregate_type` to a notification."""

    before: Part = None  # type: ignore[assignment]
    after: Part = None  # type: ignore[assignment]
    op: str | None = None
    source: Source | None = None
    transaction: Transaction | None = None
    ts_ms: Long | str | None = None
    ts_us: Long | None = None
    status: str | None = None
    id: str | None = None
    aggregate_type: str | None = None
    ddl: str | None = None
    table_changes: Part = None  # type: ignore[assignment]
    update_description: Part = None  # type: ignore[assignment]


class Wrapped(Value[Part], Generic[Part]):
    """An event, or a schema with the event as its payload."""

    schema: Part = None  # type: ignore[assignment]
    payload: Value[Part] | None = None


class Line(Wrapped[Part], Generic[Part]):
    """A record of a topic, or the value of one."""

    key: Part = None  # type: ignore[assignment]
    value: Wrapped[Part] | None = None
    topic: str | None = None
    destination: str | None = None
    partition: Int | None = None
    offset: Long | None = None
    headers: Part = None  # type: ignore[assignment]

    def event(self) -> tuple[Value[Part], Part]:
        """The event of the record, and the schema that it carries."""
        around = self if self.value is None else self.value
        return (around if around.payload is None else around.payload), around.schema


# --- parts of an envelope -------------------------------------------------------------------------------------------


def json_text(part: Any) -> bytes | None:
    """The JSON text of a part; None for null. A string that holds a JSON object or array becomes that."""
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
    except PARSE_ERRORS:
        return text


# --- any JSON object ------------------------------------------------------------------------------------------------

_Kind = str | range | Mapping[str, Any]
"""The kind of a field: text, a number in a range, or an object with fields."""
_Kinds = Mapping[str, _Kind]
_TEXT: Final = "text"
_INT: Final = range(-(2**31), 2**31)
_SOURCE: Final[_Kinds] = {
    field.encode_name: _TEXT if str in get_args(field.type) else LONG for field in msgspec.structs.fields(Source)
}
_VALUE: Final[_Kinds] = {
    **dict.fromkeys(("op", "ts_ms", "status", "id", "aggregate_type", "ddl"), _TEXT),
    "ts_us": LONG,
    "source": _SOURCE,
    "transaction": {"id": _TEXT, "total_order": LONG, "transaction_epoch": LONG, "transaction_rank": _TEXT},
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
    """The envelope of a record whose fields have unusual types, and whether all fields are readable.

    An unreadable field becomes null: a number that is not whole, or a value that is not an object.
    """
    reader = _Reader()
    return msgspec.convert(reader.object(record, _LINE), Line[Any]), not reader.has_misfit


class _Reader:
    """Reads fields by their kinds."""

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
    return base64.b64encode(value).decode() if isinstance(value, bytes) else plain_text(value)
