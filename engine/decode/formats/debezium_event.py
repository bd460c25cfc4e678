"""Builds a change, a control event or a reject from the envelope of a Debezium event, for JSON and Avro."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from siltstone.engine.decode.bounded_cache import keep
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import Change, Control, Event, Message, Reject, copied, rejected
from siltstone.engine.decode.event_batch import signed_hash
from siltstone.engine.decode.formats import debezium_kinds as kinds
from siltstone.engine.decode.formats.debezium_documents import updated_fields
from siltstone.engine.decode.formats.debezium_envelope import LONG, Line, Object, Source, Value, json_text
from siltstone.engine.decode.formats.debezium_names import connector_name, source_name
from siltstone.engine.decode.formats.debezium_positions import ANY, CONNECTORS, Connector, table_name
from siltstone.engine.decode.formats.json_fields import whole_number
from siltstone.engine.decode.json_value import NOT_JSON, PARSE_ERRORS, parse, parse_object, text_of
from siltstone.engine.names import OP_DELETE, OP_UPDATE, ORIGIN_SNAPSHOT, ORIGIN_STREAM
from siltstone.engine.schema.control_kinds import WINDOW_CLOSE
from siltstone.engine.spec.model import SourceSpec

NO_POSITION: Final = "a streamed change without a position"
NO_TIME: Final = "neither source.ts_ms, the time of the change, nor ts_ms, when it was read, is a time"
OLD_KEY: Final = "__debezium.oldkey"
NEW_KEY: Final = "__debezium.newkey"
_CHANGED_KEY: Final = re.compile(rb'"__debezium\.(?:old|new)key"')
_ORIGINS: Final = {op: ORIGIN_SNAPSHOT if op == kinds.READ else ORIGIN_STREAM for op in kinds.OPS}
_CALENDAR: Final = range(-62_135_596_800_000_000, 253_402_300_800_000_000)
"""Microseconds of the years 1 to 9999."""
_MOST_CACHED: Final = 1_000
_LOOKS_WRAPPED: Final = re.compile(rb'\{\s*"(?:schema|payload)"\s*:')
_DESCRIBES: Final = b'"fields"'


class Described(NamedTuple):
    """A schema of rows and its hash."""

    schema: str | None = None
    hash: int | None = None


class Record(msgspec.Struct, gc=False):
    """One record with its parsed envelope.

    `fields` returns all fields, None if the record is null. `misfit`: why a part of the envelope could not be read.
    `row`, `key_schema`: the schemas of a registry.
    """

    line: Line[Any]
    fields: Callable[[], Object | None]
    misfit: str | None = None
    row: Described | None = None
    key_schema: str | None = None


class _Origin(NamedTuple):
    """The origin of an event, by its source block."""

    name: str | None = None
    connector: Connector | None = None
    source: str | None = None
    table: str | None = None
    is_declared: bool = False


class _Found(NamedTuple):
    """A control event: its kind, and the id of a row of the signal table."""

    kind: str
    event_id: str | None = None


class _WrappedKey(msgspec.Struct, gc=False):
    schema: msgspec.Raw = msgspec.Raw(b"null")
    payload: msgspec.Raw = msgspec.Raw(b"null")


_E = TypeVar("_E", Control, Reject)
_UNKNOWN: Final = _Origin()
_UNDESCRIBED: Final = Described()
_wrapped_key: Final = msgspec.json.Decoder(_WrappedKey)


class EventBuilder:
    """Builds the events of the records of one source.

    `declared`: the tables that specs name. `full_name`: returns the full name of a table that an event shortens.
    """

    def __init__(self, source: SourceSpec, declared: Declared, full_name: Callable[[str], str] | None = None) -> None:
        self._spec = source
        self._declared = declared
        self._full_name = full_name
        self._origins: dict[tuple[Any, ...], _Origin] = {}
        self._row_schemas: dict[int, Described] = {}
        self._key_schemas: dict[bytes, str] = {}

    def event(self, message: Message, record: Record) -> Event:
        """The event of a record."""
        try:
            return self._event(message, record)
        except RecursionError:  # objects nested too deeply
            return rejected(message, NOT_JSON)

    def change(self, message: Message, record: Record) -> Change:
        """The change of a record, also if it lacks something that a change needs."""
        value, schema = record.line.event()
        origin = _UNKNOWN if value.source is None else self._origin(value.source)
        return self._change(message, record, value, schema, origin)

    def _event(self, message: Message, record: Record) -> Event:
        value, schema = record.line.event()
        value.op = kinds.op_of(value)
        origin = _UNKNOWN if value.source is None else self._origin(value.source)
        change = self._change(message, record, value, schema, origin)
        if record.misfit is not None:
            return copied(Reject, change, reason=record.misfit)
        found, fields = _control(value, record, change, origin.is_declared)
        if found is not None:
            return self._as_control(change, value, origin, found, fields)
        reason = _reason(value, change, origin, self._spec)
        return change if reason is None else copied(Reject, change, reason=reason)

    def _change(self, message: Message, record: Record, value: Value[Any], schema: Any, origin: _Origin) -> Change:
        """The change of a record, if it is a change."""
        line, op, connector = record.line, value.op or "", origin.connector or ANY
        key_schema, key = self._key(line.key)
        change = Change(
            file=message.file,
            line=message.line,
            text=message.text,
            connector=origin.name,
            source=origin.source,
            table=origin.table,
            op=kinds.OPS.get(op),
            origin=_ORIGINS.get(op),
            key=_plain(key, connector.key),
            before=_plain(json_text(value.before), connector.image),
            after=_plain(json_text(value.after), connector.image),
            position=self._position(value, origin),
            commit_us=_commit_us(value),
            ingest_us=_ingest_us(value),
            tx_id=_transaction_id(value, origin.connector),
        )
        change.log_file = None if value.source is None else value.source.file
        change.channel = line.destination if line.topic is None else line.topic
        change.kafka_partition, change.kafka_offset = line.partition, line.offset
        if value.transaction is not None:
            change.tx_order = value.transaction.total_order
        row = self._row_schema(schema) if record.row is None else record.row
        change.row_schema, change.schema_hash = row.schema, row.hash
        change.key_schema = key_schema if record.key_schema is None else record.key_schema
        if op == kinds.INSERT:
            change.old_key = _plain(self._key_in(line.headers, OLD_KEY), connector.key)
        elif op == kinds.DELETE:
            change.new_key = _plain(self._key_in(line.headers, NEW_KEY), connector.key)
        if connector.has_documents:
            _complete_document(change, json_text(value.update_description))
        return change

    def _as_control(
        self, change: Change, value: Value[Any], origin: _Origin, found: _Found, fields: Object | None
    ) -> Control:
        position = change.position
        if found.kind == WINDOW_CLOSE and origin.connector is not None and value.source is not None:
            position = origin.connector.window_close(value.source, self._spec)
        return copied(
            Control,
            change,
            row_schema=None,
            key_schema=None,
            schema_hash=None,
            position=position,
            event_id=found.event_id,
            control_kind=found.kind,
            control=text_of(kinds.stored_payload(found.kind, fields)),
        )

    def _origin(self, source: Source) -> _Origin:
        place = (
            *(source.connector, source.name, source.db, source.schema, source.table, source.keyspace, source.shard),
            *(source.collection, source.scn is None, type(source.lsn)),
        )
        found = self._origins.get(place)
        if found is None:
            name = connector_name(source)
            connector = CONNECTORS.get(name or "")
            table = table_name(source, connector, self._declared)
            if table is not None and self._full_name is not None:
                table = self._full_name(table)
            found = _Origin(name, connector, source_name(source), table, table in self._declared)
            keep(self._origins, place, found, _MOST_CACHED)
        return found

    def _position(self, value: Value[Any], origin: _Origin) -> str | None:
        connector = origin.connector
        if value.source is None or connector is None:
            return None
        if value.op == kinds.READ:
            return connector.read(value.source, self._spec)
        place = connector.deleted if value.op == kinds.DELETE and connector.deleted else connector.streamed
        position, within = place(value.source, self._spec), connector.in_transaction
        if position is None or within is None or value.transaction is None:
            return position
        return within(position, value.transaction)

    def _row_schema(self, schema: Any) -> Described:
        """The schema of rows; a schema without fields counts as none."""
        text = None if schema is None else json_text(schema)
        if text is None or _DESCRIBES not in text:
            return _UNDESCRIBED
        number = signed_hash(text)
        found = self._row_schemas.get(number)
        if found is None:
            return keep(self._row_schemas, number, Described(text.decode(), number), _MOST_CACHED)
        return found

    def _key(self, part: Any) -> tuple[str | None, bytes | None]:
        """The schema of a key, and the key. An object can be around both, or around the key only."""
        text = None if part is None else json_text(part)
        if text is None or not _LOOKS_WRAPPED.match(text):
            return None, text
        around = _wrapped_key.decode(text)
        schema, key = json_text(around.schema), json_text(around.payload)
        is_wrapped = (key or b"").startswith(b"{") if schema is None else schema.startswith(b"{")
        if not is_wrapped:
            return None, text
        return (None if schema is None else self._key_schema(schema)), key

    def _key_schema(self, text: bytes) -> str:
        found = self._key_schemas.get(text)
        if found is None:
            return keep(self._key_schemas, text, text.decode(), _MOST_CACHED)
        return found

    def _key_in(self, headers: Any, name: str) -> bytes | None:
        """The key in a header."""
        text = None if headers is None else json_text(headers)
        if text is None or not _CHANGED_KEY.search(text):
            return None
        return self._key(_opened(_header(parse(text), name)))[1]


def _control(
    value: Value[Any], record: Record, change: Change, is_declared: bool
) -> tuple[_Found | None, Object | None]:
    """The control event of a record, if it is one, and all fields of the record, if this check read them."""
    if change.op is not None:
        row = change.before if change.op == OP_DELETE else change.after
        signal = kinds.signal(value.op or "", row, is_declared)
        return (None, None) if signal is None else (_Found(*signal), record.fields())
    fields = record.fields()
    kind = kinds.control_kind(value, fields, change.key)
    return (None if kind is None else _Found(kind)), fields


def _reason(value: Value[Any], change: Change, origin: _Origin, spec: SourceSpec) -> str | None:
    """Why an event is neither a control event nor a change; None if it is a change."""
    reason = kinds.envelope_reason(value, change) or kinds.image_reason(value.op, change)
    if reason is not None or value.op == kinds.READ or value.source is None or origin.connector is None:
        return reason
    misplaced = origin.connector.misplaced
    if misplaced is not None and (why := misplaced(value.source, spec)) is not None:
        return why
    if change.position is None:
        return NO_POSITION
    return NO_TIME if change.commit_us is None and change.ingest_us is None else None


# --- times and transactions -----------------------------------------------------------------------------------------


def _commit_us(value: Value[Any]) -> int | None:
    """The source's time of the change. The boundary of a transaction has its time outside of a source block.

    Zero is not a time: connectors write it in READs if they know no time (embedded ones, and MySQL's before 1.5).
    Negative numbers are not times either: the first connectors of YugabyteDB wrote them. Oracle's events have the time
    of their statement. If they also have the time of the commit, it is used, unless it is earlier.
    """
    source = value.source
    if source is None:
        return _in_calendar(None if value.status is None else _taken_us(value)) or None
    committed, millis = source.commit_ts_ms, source.ts_ms
    if committed and millis is not None and committed >= millis and (micros := _micros(committed)) is not None:
        return _in_calendar(micros)
    if source.ts_us:
        return _in_calendar(source.ts_us)
    if source.ts_ns and (micros := source.ts_ns // 1_000):
        return _in_calendar(micros)
    micros = _in_calendar(_taken_us(value) if millis is None and value.status is not None else _micros(millis))
    return micros if micros is not None and micros > 0 else None


def _ingest_us(value: Value[Any]) -> int | None:
    """When the connector read the event."""
    return _in_calendar(value.ts_us) if value.ts_us is not None else _in_calendar(_taken_us(value))


def _taken_us(value: Value[Any]) -> int | None:
    return _micros(whole_number(value.ts_ms))


def _micros(millis: int | None) -> int | None:
    return millis * 1_000 if millis is not None and millis * 1_000 in LONG else None


def _in_calendar(micros: int | None) -> int | None:
    return micros if micros is not None and micros in _CALENDAR else None


def _transaction_id(value: Value[Any], connector: Connector | None) -> str | None:
    """The id of a transaction. PostgreSQL's ids are `txId:lsn`; only `txId` is the same for all its changes."""
    transaction, source = value.transaction, value.source
    whole = None if transaction is None else transaction.id
    if whole is None and value.status is not None:
        whole = value.id
    if whole is not None:
        head, colon, tail = whole.partition(":")
        return head if colon and _is_digits(head) and _is_digits(tail) else whole
    if source is None:
        return None
    if source.tx_id is not None:
        return str(source.tx_id)
    return None if connector is None or connector.transaction is None else connector.transaction(source)


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdecimal()


# --- building -------------------------------------------------------------------------------------------------------


def _plain(text: bytes | None, read: Callable[[bytes], bytes] | None) -> bytes | None:
    return text if text is None or read is None else read(text)


def _complete_document(change: Change, description: bytes | None) -> None:
    """Set which columns a change of a document has: all, or those that an update without a document names."""
    change.row_schema = change.key_schema = change.schema_hash = None
    change.is_whole = change.before is not None or change.after is not None
    if change.op == OP_UPDATE and change.after is None and description is not None:
        change.is_whole, change.after = False, updated_fields(description, change.key)


def _header(headers: Any, name: str) -> Any:
    """The value of the first header with a name. Headers are an object, or an array of objects with key and value."""
    if isinstance(headers, dict):
        return headers.get(name)
    listed = headers if isinstance(headers, list) else ()
    return next((one.get("value") for one in listed if isinstance(one, dict) and one.get("key") == name), None)


def _opened(header: Any) -> Any:
    """The JSON object in the bytes of a header, if a dump of a topic has them as base64."""
    if isinstance(header, str):
        try:
            return parse_object(base64.b64decode(header, validate=True))
        except (*PARSE_ERRORS, ValueError):
            pass
    return header
