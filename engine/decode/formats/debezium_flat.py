"""Flattened Debezium events as JSON lines: rows, as the transform ExtractNewRecordState writes them.

    {"topic": "srv.shop.items", "key": {"id": 1}, "timestamp": 1578923739801, "value": {
      "id": 1, "name": "a", "__op": "u", "__deleted": "false", "__table": "items", "__lsn": 29274832,
      "__source_ts_ms": 1578923739738, "__ts_ms": 1578923739800}}
    {"topic": "srv.shop.items", "key": {"id": 1}, "timestamp": 1578923739802, "value": null}

    https://debezium.io/documentation/reference/stable/transformations/event-flattening.html

Lines are records or bare values, with or without `{"schema", "payload"}` around keys and values, like those of whole
events. A row is the image after a change, or the image before a delete (`delete.tombstone.handling.mode: rewrite`).
`add.fields` adds fields of the event to the row (`flat_fields`), `add.headers` adds them to the headers. The row before
an update is lost.

order       The source block is built from the fields. If it has the fields that order the connector's log, positions
            are the same as those of whole events (`debezium_positions`). Otherwise coordinates order the changes: times
            are not an order.
operation   `__op`; `__deleted: true` is a delete. A row with neither is an update, possibly of a new row.
table       The table that the fields name. If they name none, or only its last name, it is the table of the specs.
source      The source of whole events, if the log orders the changes and `__op` is there. Otherwise
            `debezium-flat:<name>`, for which fewer checks apply, or `debezium-flat:` if coordinates order the changes.

A null message is a control event. With `order: coordinates` in the spec, it is the delete of its key: the transform
writes nothing else for a delete, unless it rewrites deletes. Events that the transform does not change (heartbeats,
transactions, whole events) are decoded by `debezium`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from siltstone.engine.decode.bounded_cache import keep
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import Change, Event, Message, Reject, copied, rejected
from siltstone.engine.decode.event_batch import signed_hash
from siltstone.engine.decode.formats import debezium_kinds as kinds
from siltstone.engine.decode.formats.coordinates import Coordinates
from siltstone.engine.decode.formats.debezium import DebeziumDecoder
from siltstone.engine.decode.formats.debezium_envelope import WRONG_TYPE, line_of
from siltstone.engine.decode.formats.debezium_event import NO_POSITION, Described, EventBuilder, Record
from siltstone.engine.decode.formats.debezium_oracle import BY_SCN
from siltstone.engine.decode.formats.debezium_positions import ANY, CONNECTORS
from siltstone.engine.decode.formats.flat_fields import FlatFields, flat_fields, place_of
from siltstone.engine.decode.json_value import NOT_JSON, PARSE_ERRORS, broken_reason, parse, parse_object, text_of
from siltstone.engine.spec.model import SourceSpec

SOURCE: Final = "debezium-flat"
BY_COORDINATES: Final = "coordinates"
NO_TABLE: Final = "the row does not name its table (add.fields: table), and the specs name several"
NO_TIME: Final = "no time: neither __source_ts_ms nor __ts_ms (add.fields), nor a timestamp of the message"
NO_KEY: Final = "a null message without a key"
_RECORD: Final = frozenset(
    (
        *("key", "value", "schema", "payload", "topic", "destination", "partition", "offset", "headers"),
        *("timestamp", "ts", "tstype", "timestampType"),
    )
)
_BODIES: Final = ("value", "payload")
_WRAPPED: Final = frozenset(("schema", "payload"))
_PLACES: Final[tuple[tuple[str, frozenset[str]], ...]] = (
    ("vitess", frozenset(("vgtid", "shard"))),
    ("mongodb", frozenset(("ts_ms", "ord"))),
    ("oracle", frozenset(("scn", "commit_scn"))),
    ("mysql", frozenset(("file", "pos"))),
    ("mariadb", frozenset(("file", "pos"))),
    ("sqlserver", frozenset(("commit_lsn", "change_lsn"))),
    ("db2", frozenset(("commit_lsn", "change_lsn"))),
    ("informix", frozenset(("commit_lsn", "change_lsn"))),
    ("postgresql", frozenset(("lsn",))),
    ("yugabytedb", frozenset(("lsn",))),
)
"""The fields that order the log of a connector. If a row names none, the first one with all its fields counts."""
_PLACES_OF: Final = dict(_PLACES)
_BY_SCNS: Final = frozenset(("scn",))
_MOST_CACHED: Final = 1_000


class FlatDecoder:
    """Decodes the lines of one source. `declared`: the tables that specs name."""

    def __init__(self, source: SourceSpec, declared: Declared) -> None:
        self._spec = source
        self._prefix = source.metadata_prefix
        self._declared = declared
        self._builder = EventBuilder(source, declared, self._full_name)
        self._whole_events = DebeziumDecoder(source, declared)
        self._coordinates = Coordinates(source)
        self._schemas: dict[bytes, Described] = {}

    def events(self, message: Message) -> Sequence[Event]:
        """The event of a message."""
        try:
            return self._events(message)
        except RecursionError:  # objects nested too deeply
            return [rejected(message, NOT_JSON)]

    def _events(self, message: Message) -> Sequence[Event]:
        if message.problem is not None:
            return [rejected(message, message.problem)]
        try:
            value = parse(message.text)
        except PARSE_ERRORS:
            return [rejected(message, broken_reason(message.text, WRONG_TYPE))]
        if value is not None and not isinstance(value, dict):
            return [rejected(message, broken_reason(message.text, WRONG_TYPE))]
        record, body, schema = _opened(value)
        if isinstance(body, dict) and _is_whole_event(body, record):
            return self._whole_events.events(message)
        if body is not None and not isinstance(body, dict):
            return [rejected(message, "the row is not a JSON object")]
        return [self._null(message, record) if body is None else self._row(message, record, body, schema)]

    def source_block(self, text: bytes) -> Mapping[str, Any]:
        """The source block, from the fields of a message."""
        try:
            record, body, _ = _opened(parse_object(text))
        except PARSE_ERRORS:
            return {}
        return flat_fields(body, _headers(record), self._prefix).source if isinstance(body, dict) else {}

    # --- rows -------------------------------------------------------------------------------------------------------

    def _row(self, message: Message, record: Mapping[str, Any], body: Mapping[str, Any], schema: Any) -> Event:
        found = flat_fields(body, _headers(record), self._prefix)
        op = _op(found)
        is_in_log = self._add_connector(found.source)
        self._add_table(found.source)
        image = "before" if op == kinds.DELETE else "after"
        value = found.event | {"op": op or kinds.UPDATE, image: found.row or None, "source": found.source}
        value["transaction"] = found.transaction or None
        made = self._record(record, value, body, schema)
        if is_in_log and op is not None:
            return self._builder.event(message, made)
        change = self._builder.change(message, made)
        return self._alone(change, op or kinds.UPDATE, made.misfit, is_in_log)

    def _record(self, record: Mapping[str, Any], value: dict[str, Any], body: Mapping[str, Any], schema: Any) -> Record:
        around = {name: record[name] for name in record.keys() - {*_BODIES, "schema"}}
        if value.get("ts_ms") is None:
            value["ts_ms"] = _timestamp(record)
        line, is_fit = line_of({**around, "value": value})
        return Record(line, lambda: body, None if is_fit else WRONG_TYPE, self._described(schema))

    def _alone(self, change: Change, op: str, misfit: str | None, is_in_log: bool) -> Event:
        """A change about whose source less is known than about the source of a whole event."""
        change.source = f"{SOURCE}:{(change.source or '').partition(':')[2] if is_in_log else ''}"
        if not is_in_log:
            change.position = self._place(change)
        reason = misfit or _reason(change, op)
        return change if reason is None else copied(Reject, change, reason=reason)

    def _place(self, change: Change) -> str:
        return self._coordinates.position(change.file, change.line, change.kafka_partition, change.kafka_offset)

    def _null(self, message: Message, record: Mapping[str, Any]) -> Event:
        """A null message: a control event, or the delete of its key."""
        if self._spec.order != BY_COORDINATES:
            return self._whole_events.events(message)[0]
        source: dict[str, Any] = {}
        self._add_table(source)
        value = {"op": kinds.DELETE, "source": source | {"name": "", "connector": source.get("connector")}}
        made = self._record(record, value, {}, None)
        change = self._builder.change(message, made)
        if change.key is None:
            return copied(Reject, change, reason=NO_KEY)
        return self._alone(change, kinds.DELETE, made.misfit, is_in_log=False)

    def _described(self, schema: Any) -> Described | None:
        """The schema of a row in the form of a whole event's schema, without the fields that the transform added."""
        if not isinstance(schema, dict) or not isinstance(schema.get("fields"), list):
            return None
        text = text_of(schema)
        found = self._schemas.get(text)
        if found is None:
            columns = [each for each in schema["fields"] if not self._is_of_event(each)]
            image = {"type": "struct", "fields": columns, "field": "after"}
            made = text_of({"type": "struct", "fields": [image]})
            return keep(self._schemas, text, Described(made.decode(), signed_hash(made)), _MOST_CACHED)
        return found

    def _is_of_event(self, field: Any) -> bool:
        return isinstance(field, dict) and place_of(str(field.get("field")), self._prefix) is not None

    # --- sources and tables -----------------------------------------------------------------------------------------

    def _add_connector(self, source: dict[str, Any]) -> bool:
        """Add the connector to the source block, if its fields show it. Return whether they order its log."""
        source.setdefault("name", "")
        if self._spec.order == BY_COORDINATES:
            return False
        named = source.get("connector")
        if named is not None:
            wanted = _BY_SCNS if self._spec.order == BY_SCN else _PLACES_OF.get(str(named).lower())
            return wanted is not None and wanted <= source.keys()
        shown = next((name for name, fields in _PLACES if fields <= source.keys()), None)
        if shown is None and self._spec.order == BY_SCN and "scn" in source:
            shown = "oracle"
        source["connector"] = shown
        return shown is not None

    def _add_table(self, source: dict[str, Any]) -> None:
        """Add the table of the specs to the source block, if a row names none and the specs name only one."""
        if source.get("table") or source.get("collection") or len(self._declared) != 1:
            return
        usual = (CONNECTORS.get(str(source.get("connector"))) or ANY).names[0]
        parts = next(iter(self._declared)).split(".", len(usual) - 1)
        source |= dict.fromkeys(usual) | dict(zip(usual[-len(parts) :], parts, strict=True))

    def _full_name(self, table: str) -> str:
        """The name in the specs whose last part is the row's table; the row's own name if none or several match."""
        if table in self._declared:
            return table
        alike = [name for name in self._declared if name.endswith(f".{table}")]
        return alike[0] if len(alike) == 1 else table


def _opened(value: Mapping[str, Any] | None) -> tuple[Mapping[str, Any], Any, Any]:
    """The record around a row, the row, and its schema. A `value` of None is a null message."""
    if value is None:
        return {}, None, None
    is_record = value.keys() <= _RECORD and any(name in value for name in _BODIES)
    record: Mapping[str, Any] = value if is_record else {}
    body = value["value"] if is_record and "value" in value else value
    if isinstance(body, dict) and "payload" in body and body.keys() <= (_RECORD if body is value else _WRAPPED):
        return record, body["payload"], body.get("schema")
    return record, body, None


def _headers(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The headers of a record, without schemas around their values. They are an object or a list of objects."""
    headers = record.get("headers")
    listed = headers.items() if isinstance(headers, dict) else _pairs(headers if isinstance(headers, list) else ())
    for name, value in listed:
        is_wrapped = isinstance(value, dict) and "payload" in value
        yield str(name), value["payload"] if is_wrapped else value


def _pairs(headers: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    return ((str(one.get("key")), one.get("value")) for one in headers if isinstance(one, dict))


def _op(found: FlatFields) -> str | None:
    """The operation; None if no field shows it."""
    is_deleted = found.event.get("deleted")
    if is_deleted is True or is_deleted == "true":
        return kinds.DELETE
    op = found.event.get("op")
    return None if op is None else str(op)


def _reason(change: Change, op: str) -> str | None:
    """Why a row cannot be a change; None if it can."""
    if op not in kinds.OPS:
        return kinds.unknown_op(op)
    if change.table is None:
        return NO_TABLE
    if change.position is None:
        return NO_POSITION
    is_untimed = change.commit_us is None and change.ingest_us is None
    return kinds.image_reason(op, change) or (NO_TIME if is_untimed else None)


def _timestamp(record: Mapping[str, Any]) -> Any:
    """The time of a message, in milliseconds."""
    return next((record[name] for name in ("timestamp", "ts") if record.get(name) is not None), None)


def _is_whole_event(body: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    """Whether the transform left an event unchanged."""
    if isinstance(body.get("source"), dict):
        return "op" in body or "ddl" in body or "tableChanges" in body
    if body.get("status") in ("BEGIN", "END") and "event_count" in body:
        return True
    if "aggregate_type" in body and "additional_data" in body:
        return True
    key = record.get("key")
    inner = key.get("payload", key) if isinstance(key, dict) else None
    return "ts_ms" in body and isinstance(inner, dict) and list(inner) == ["serverName"]
