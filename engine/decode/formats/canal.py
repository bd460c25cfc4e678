"""Flat messages of Canal as JSON lines: `{"data", "old", "type", "database", "table", "es", "id", ...}`.

A message is bare, or text or an object in `value` of a topic's record `{"value", "topic", "partition", "offset"}`.

    https://github.com/alibaba/canal/wiki/Canal-Kafka-RocketMQ-QuickStart
    https://www.alibabacloud.com/help/en/dts/user-guide/data-formats-of-a-kafka-cluster

The open-source Canal and Alibaba DTS write these messages for MySQL and MariaDB. A message holds the rows of one
statement; each row becomes a change. `data` is the row; `old` has the columns that an update changed, one entry per
row. If `old` has a different value of a key column, the key of the row changes: the update becomes a delete of the old
key and an insert of the new one. DTS instances created before 2022-03-20 swap the two images (`source.images:
swapped`). INIT is a READ. A TRUNCATE can be a statement (DDL, QUERY), and sometimes only the statement names its table.
Other statements are control events.

Messages have no position in a log: coordinates order the changes. `es`, the time of the change in milliseconds, orders
partitions. A position has the greatest `es` so far in its partition, so that it never decreases there. READs have no
position.

    in a topic   epoch (4) - greatest es so far (12) - partition (8) - offset (16) - row in the message (8)
    in a file    epoch (4) - name of the file below the source's folder, as bytes - line (16) - row in the message (8)

`id` is the number of a batch, which many messages share. Two facts depend on the earlier messages: whether Canal sent a
message a second time after a rollback, and the greatest `es` so far. The decoder uses the message's own `es`, and a
later step that reads the neighbouring messages corrects it (`engine.neighbours.canal_step`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from siltstone.engine import names
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import Change, Control, Event, Message, rejected
from siltstone.engine.decode.formats.canal_message import (
    BrokenMessageError,
    CanalMessage,
    is_null_line,
    millis_to_micros,
    read_message,
)
from siltstone.engine.decode.formats.canal_rows import NO_KEYS, Images, keys_of, row_schema, rows_of
from siltstone.engine.decode.formats.coordinates import Coordinates
from siltstone.engine.decode.formats.json_fields import content_of
from siltstone.engine.decode.formats.statements import is_truncate, truncated_table, with_dots
from siltstone.engine.schema import control_kinds
from siltstone.engine.spec.model import SourceSpec

CONNECTOR: Final = "canal"
OPS: Final = {
    "INSERT": names.OP_INSERT,
    "UPDATE": names.OP_UPDATE,
    "DELETE": names.OP_DELETE,
    "INIT": names.OP_READ,
    "TRUNCATE": names.OP_TRUNCATE,
}
DDL: Final = ("DDL", "CREATE", "ALTER", "ERASE", "RENAME", "CINDEX", "DINDEX")
HEARTBEATS: Final = ("MHEARTBEAT", "TIDB_WATERMARK")
OTHERS: Final = {"QUERY": control_kinds.QUERY} | dict.fromkeys(
    ("GTID", "XACOMMIT", "XAROLLBACK"), control_kinds.TRANSACTION_EVENT
)
OF_TICDC: Final = "a message of TiCDC with the TiDB extension (_tidb): format ticdc-json reads it, in the order of TSOs"
NO_TYPE: Final = "type is missing"
NO_TRUNCATED_TABLE: Final = "a TRUNCATE that does not name its table"
NO_TABLE: Final = "database or table is missing"
NO_TIME: Final = "es, the time of the change, is missing"
OUT_OF_TIME: Final = "es, the time of the change, is not a time in milliseconds"
NO_DATA: Final = "UPDATE without rows in data"
UNEQUAL: Final = "old and data have different numbers of rows"
NO_OBJECT: Final = "a row in data or old is not an object"
_CONTROL_KINDS: Final = (
    dict.fromkeys(HEARTBEATS, control_kinds.HEARTBEAT) | OTHERS | dict.fromkeys(DDL, control_kinds.DDL)
)
_STATEMENTS: Final = ("DDL", "QUERY")
_OBJECT: Final = frozenset({b"{"})
_OBJECT_OR_NULL: Final = frozenset({b"{", b"n"})
_MOST_NAMED: Final = 20


class CanalDecoder:
    """Decodes messages of Canal."""

    def __init__(self, source: SourceSpec, declared: Declared) -> None:
        self._declared = {table: keys_of(keys) for table, keys in declared.items() if keys}
        self._is_swapped = source.images == "swapped"
        self._coordinates = Coordinates(source)

    def events(self, message: Message) -> Sequence[Event]:
        """The changes of a message: one per row, two for a row whose key changes; or one event of another kind."""
        try:
            canal = read_message(message.text)
        except BrokenMessageError as broken:
            return [of_broken(message, broken)]
        if canal.tidb is not None:
            return [rejected(message, OF_TICDC, _table(canal, _op(canal)))]
        return self.events_of(message, canal)

    def events_of(self, message: Message, canal: CanalMessage) -> list[Event]:
        """The events of a parsed message. `TicdcDecoder` calls this, too."""
        op = _op(canal)
        if op is None and (kind := _control_kind(canal)) is not None:
            return [_control(message, canal, kind)]
        table = _table(canal, op)
        data, old = _images(canal.data), _images(canal.old)
        reason = _reject_reason(canal, op, table, data, old)
        if op is None or table is None or reason is not None:
            return [rejected(message, reason or NO_TYPE, table)]
        return self._changes(message, canal, op, table, data, old)

    def _changes(
        self, message: Message, canal: CanalMessage, op: str, table: str, data: Images, old: Images
    ) -> list[Event]:
        schema = row_schema(bytes(canal.mysql_type))
        own_keys = keys_of(tuple(canal.pk_names)) if canal.pk_names else NO_KEYS
        keys = self._declared.get(table, own_keys)
        is_read = op == names.OP_READ
        origin = names.ORIGIN_SNAPSHOT if is_read else names.ORIGIN_STREAM
        event_id = _event_id(canal)
        commit_us, ingest_us = millis_to_micros(canal.es), millis_to_micros(canal.ts)
        events: list[Event] = []
        for at, row_op, before, after, old_key, new_key in rows_of(op, data, old, schema, keys, self._is_swapped):
            event = Change(
                file=message.file, line=message.line, text=None if events else message.text,
                connector=CONNECTOR, source=CONNECTOR, table=table, op=row_op, origin=origin,
                before=before, after=after,
                position=None if is_read else self._position(message, canal, at),
                commit_us=commit_us, ingest_us=ingest_us, event_id=event_id, tx_id=canal.gtid or None,
            )  # fmt: skip
            event.tx_order, event.old_key, event.new_key = at, old_key, new_key
            event.row_schema, event.schema_hash, event.key_schema = schema.text, schema.hash, own_keys.schema
            event.channel, event.kafka_partition, event.kafka_offset = canal.topic, canal.partition, canal.offset
            events.append(event)
        return events

    # --- positions --------------------------------------------------------------------------------------------------

    def _position(self, message: Message, canal: CanalMessage, row: int) -> str:
        place = self._coordinates
        return place.position(message.file, message.line, canal.partition, canal.offset, row, canal.es)


# --- kinds of messages ----------------------------------------------------------------------------------------------


def _op(canal: CanalMessage) -> str | None:
    """The operation on the rows; None for types that are not about rows."""
    if canal.type is None:
        return None
    kind = canal.type.upper()
    if kind in _STATEMENTS and canal.is_ddl is not False and is_truncate(canal.sql):
        return names.OP_TRUNCATE
    return OPS.get(kind)


def _control_kind(canal: CanalMessage) -> str | None:
    """The kind of control event of a message without an operation; None if it is not a control event."""
    if canal.type is None:
        return control_kinds.NULL_MESSAGE if canal.is_null() else None
    kind = canal.type.upper()
    return control_kinds.DDL if kind == "QUERY" and canal.is_ddl else _CONTROL_KINDS.get(kind)


def _table(canal: CanalMessage, op: str | None) -> str | None:
    """`database.table`; of a TRUNCATE, the table that only its statement names."""
    if canal.database and canal.table:
        return f"{canal.database}.{canal.table}"
    if op != names.OP_TRUNCATE or canal.table or canal.sql is None:
        return None
    named = truncated_table(canal.sql, canal.database or None)
    return None if named is None else with_dots(named)


def _images(rows: list[msgspec.Raw] | None) -> Images:
    return [bytes(row) for row in rows] if rows else []


def _reject_reason(canal: CanalMessage, op: str | None, table: str | None, data: Images, old: Images) -> str | None:
    """Why a message is neither a control event nor a change; None if it is a change."""
    if canal.type is None:
        return NO_TYPE
    if op is None:
        return f'unknown type "{canal.type[:_MOST_NAMED]}"'
    if table is None:
        return NO_TRUNCATED_TABLE if op == names.OP_TRUNCATE else NO_TABLE
    if canal.es is None:
        return NO_TIME
    if millis_to_micros(canal.es) is None:
        return OUT_OF_TIME
    return None if op == names.OP_TRUNCATE else _rows_problem(canal, op, data, old)


def _rows_problem(canal: CanalMessage, op: str, data: Images, old: Images) -> str | None:
    rows = old if canal.data is None else data
    if not rows:
        return f"{canal.type} without rows in data"
    if op == names.OP_UPDATE and canal.data is None:
        return NO_DATA
    if op == names.OP_UPDATE and canal.old is not None and len(old) != len(data):
        return UNEQUAL
    are_objects = {row[:1] for row in rows} <= _OBJECT and {row[:1] for row in old} <= _OBJECT_OR_NULL
    return None if are_objects else NO_OBJECT


# --- other events ---------------------------------------------------------------------------------------------------


def _control(message: Message, canal: CanalMessage, kind: str) -> Control:
    return Control(
        file=message.file,
        line=message.line,
        text=message.text,
        connector=CONNECTOR,
        source=CONNECTOR,
        table=_table(canal, None),
        commit_us=millis_to_micros(canal.es),
        ingest_us=millis_to_micros(canal.ts),
        event_id=_event_id(canal),
        tx_id=canal.gtid or None,
        channel=canal.topic,
        kafka_partition=canal.partition,
        kafka_offset=canal.offset,
        control_kind=kind,
        control=content_of(canal.value) or message.text,
    )


def of_broken(message: Message, broken: BrokenMessageError) -> Event:
    """The event of a line that is not a message: a null message or a reject."""
    if is_null_line(message.text):
        return _control(message, CanalMessage(), control_kinds.NULL_MESSAGE)
    canal = broken.message
    if canal is None:
        return rejected(message, broken.reason)
    return rejected(message, broken.reason, _table(canal, _op(canal)))


def _event_id(canal: CanalMessage) -> str | None:
    return None if canal.id is None else str(canal.id)


def shows_no_key(event: Event, _: bytes) -> bool:
    """Whether a change shows that its table has no key: `pkNames` names no column."""
    return event.key_schema is None
