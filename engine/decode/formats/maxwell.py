"""Rows of Maxwell's daemon as JSON lines: `{"database", "table", "type", "ts", "data", "old"}`.

A row is bare, or text or an object in `value` of a topic's record.

    https://maxwells-daemon.io/dataformat/    https://maxwells-daemon.io/bootstrapping/    https://maxwells-daemon.io/config/

    insert, delete                          `data` is the row
    update                                  `data` is the row, `old` has the old values of the columns that changed
    bootstrap-insert                        `data` is a row that a bootstrap read: a READ
    bootstrap-start, bootstrap-complete     control events
    table-create, table-alter, table-drop, database-create, database-alter, database-drop   DDL, with `output_ddl`

Maxwell reads MySQL and MariaDB. If `old` has a key column, the key of the row changes: the update becomes a delete of
the old key and an insert of the new one. Keys come from the spec, else from `primary_key_columns` (with
`output_primary_key_columns`). Rows name no types. Maxwell does not report TRUNCATE, not even as DDL: rows that a
TRUNCATE removes stay.

    position     epoch (4) - number of the binlog file (8) - position in it (16) - row in the transaction (8)
                 second epoch (4) - coordinates (`coordinates` has their layout)

`position` (with `output_binlog_position`) is the place of the binlog's event, which can hold several rows: `xoffset`
(with `output_xoffset`) is the number of the row in the transaction. The last row has `commit` instead and comes after
all others. Without `position`, coordinates order the source. `xid` is not an order: a transaction gets it when it
begins, and a restarted server counts from the start. `ts` has only seconds. In that case, a row that Maxwell sends a
second time after a restart is a second change.

A READ has no position. Its `ts` is the time at which the row was sent, but the row has the state of the beginning of
the bootstrap. Therefore `snapshot.guard` must be longer than the longest bootstrap. `ts` of a row is in seconds, `ts`
of DDL in milliseconds.

A column that an image lacks is unknown: with `binlog_row_image=MINIMAL`, `data` has the key and the changed columns,
and there is no `old`. A column that `old` has and `data` lacks is null: with `output_nulls=false`, Maxwell omits nulls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from siltstone.engine import names
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import Change, Control, Event, Message, rejected
from siltstone.engine.decode.formats.canal_rows import NO_KEYS, Keys, changes_key, keys_of
from siltstone.engine.decode.formats.coordinates import LogOrCoordinates
from siltstone.engine.decode.formats.coordinates import notation as by_coordinates
from siltstone.engine.decode.formats.json_fields import NOTHING, Long
from siltstone.engine.decode.formats.row_images import halves, is_empty, joined
from siltstone.engine.decode.formats.topic_record import TopicRecord, null_message, object_of, read_record
from siltstone.engine.decode.json_value import PARSE_ERRORS, broken_reason, raw_fields, text_of
from siltstone.engine.decode.position_text import binlog_place, hex_digits, is_second_epoch, number_at_end, segments
from siltstone.engine.decode.position_text import joined as joined_segments
from siltstone.engine.schema import control_kinds
from siltstone.engine.spec.model import SourceSpec

CONNECTOR: Final = "maxwell"
OPS: Final = {
    "insert": names.OP_INSERT,
    "update": names.OP_UPDATE,
    "delete": names.OP_DELETE,
    "bootstrap-insert": names.OP_READ,
}
DDL: Final = ("table-create", "table-alter", "table-drop", "database-create", "database-alter", "database-drop")
WRONG_TYPE: Final = "a field of the row has a type that Maxwell does not write"
NO_TYPE: Final = "type is missing"
NO_TABLE: Final = "database or table is missing"
NO_TIME: Final = "ts is missing"
WRONG_TIME: Final = "ts is not a time in seconds"
NO_DATA: Final = "data is missing"
NO_OBJECT: Final = "data or old is not an object"
WRONG_PLACE: Final = "position is not a place in a binlog such as mysql-bin.000123:4567"
_CONTROLS: Final = dict.fromkeys(DDL, control_kinds.DDL) | dict.fromkeys(
    ("bootstrap-start", "bootstrap-complete"), control_kinds.NOTIFICATION
)
_PLACE: Final = re.compile(r"(.+):([0-9]{1,18})", re.ASCII)
_LAST_ROW: Final = 0xFFFFFFFF
_SECOND: Final = 1_000_000
_MILLISECOND: Final = 1_000
_FIRST_TIME: Final = -62_135_596_800 * _SECOND  # 0001-01-01
_LAST_TIME: Final = 253_402_300_800 * _SECOND - 1  # 9999-12-31
_MOST_NAMED: Final = 20
_E = TypeVar("_E", Change, Control)


class Row(msgspec.Struct, gc=False):
    """A message: a row, or another event."""

    database: str | None = None
    table: str | None = None
    type: str | None = None
    ts: Long | None = None
    xid: Long | None = None
    xoffset: Long | None = None
    commit: bool | None = None
    position: str | None = None
    gtid: str | None = None
    push_ts: float | None = None
    primary_key_columns: list[str] | None = None
    data: msgspec.Raw = NOTHING
    old: msgspec.Raw = NOTHING


_row: Final = msgspec.json.Decoder(Row)


class MaxwellDecoder:
    """Decodes rows of Maxwell."""

    def __init__(self, source: SourceSpec, declared: Declared) -> None:
        self._keys = {table: keys_of(keys) for table, keys in declared.items() if keys}
        self._places = LogOrCoordinates(source, declared)

    def events(self, message: Message) -> Sequence[Event]:
        """The events of a message: one, or two for an update that changes the key."""
        try:
            record = read_record(message.text, "type")
            if record.text is None:
                return [null_message(message, record, CONNECTOR)]
            row = _row.decode(record.text)
        except PARSE_ERRORS:
            return [rejected(message, broken_reason(message.text, WRONG_TYPE))]
        kind = (row.type or "").lower()
        if kind in _CONTROLS:
            return [_control(message, record, row, _CONTROLS[kind])]
        return self._changes(message, record, row, OPS.get(kind))

    def _changes(self, message: Message, record: TopicRecord, row: Row, op: str | None) -> list[Event]:
        change = _event(Change, message, record, row)
        change.commit_us = _micros(row.ts, _SECOND)
        place = None if op == names.OP_READ else _place(row)
        reason = _reject_reason(change, row, op, place)
        if reason is not None:
            return [rejected(message, reason, change.table)]
        try:
            data, old = object_of(row.data), object_of(row.old)
        except PARSE_ERRORS:
            return [rejected(message, NO_OBJECT, change.table)]
        if data is None:
            return [rejected(message, NO_DATA, change.table)]
        own_keys = keys_of(tuple(row.primary_key_columns)) if row.primary_key_columns else NO_KEYS
        change.op, change.key_schema = op, own_keys.schema
        if op == names.OP_READ:
            change.origin, change.after = names.ORIGIN_SNAPSHOT, data
            return [change]
        change.origin = names.ORIGIN_STREAM
        change.position = self._places.position(place, change.table, message, record.partition, record.offset)
        if op == names.OP_UPDATE:
            return _updated(change, data, old, self._keys.get(change.table or "", own_keys))
        change.before, change.after = (data, None) if op == names.OP_DELETE else (None, data)
        return [change]


# --- kinds of rows ----------------------------------------------------------------------------------------------------


def _updated(change: Change, data: bytes, old: bytes | None, keys: Keys) -> list[Event]:
    """An update; a delete and an insert, if it changes the key."""
    if old is None or is_empty(old):
        change.after = data
        return [change]
    after = joined(data, _nulls(data, old))
    before = joined(after, old)
    if changes_key(keys, after, old):
        return halves(change, before, after)
    change.before, change.after = before, after
    return [change]


def _nulls(data: bytes, old: bytes) -> bytes:
    """The columns that are null after an update, if Maxwell omits nulls."""
    lacking = raw_fields(old).keys() - raw_fields(data).keys()
    return text_of(dict.fromkeys(sorted(lacking)))


def _place(row: Row) -> str | None:
    """The place of a row in the binlog; None if `position` is missing or invalid."""
    found = None if row.position is None else _PLACE.fullmatch(row.position)
    if found is None:
        return None
    at = row.xoffset if row.xoffset is not None else _LAST_ROW if row.commit else 0
    return joined_segments(hex_digits(number_at_end(found[1]), 8), hex_digits(int(found[2]), 16), hex_digits(at, 8))


def notation(position: str, source: str) -> str | None:
    """File, position in it and row in the transaction, or coordinates."""
    if is_second_epoch(position):
        return by_coordinates(position, source)
    file, at, row = [*segments(position, 8, 16, 8), "", "", ""][:3]
    is_last = bool(row) and int(row, 16) == _LAST_ROW
    return binlog_place(file, [at] if is_last else [at, row]) if at else None


def _table(row: Row) -> str | None:
    return f"{row.database}.{row.table}" if row.database and row.table else None


def _micros(count: float | None, unit: int) -> int | None:
    """Microseconds since 1970 of a time in units of `unit` microseconds; None outside of the years 1 to 9999."""
    micros = None if count is None else count * unit
    return round(micros) if micros is not None and _FIRST_TIME <= micros <= _LAST_TIME else None


def _reject_reason(change: Change, row: Row, op: str | None, place: str | None) -> str | None:
    """Why a message is neither a control event nor a change, without a check of its images; None if it is a change."""
    if not row.type:
        return NO_TYPE
    if op is None:
        return f'unknown type "{row.type[:_MOST_NAMED]}"'
    if change.table is None:
        return NO_TABLE
    if row.ts is None:
        return NO_TIME
    if change.commit_us is None:
        return WRONG_TIME
    return WRONG_PLACE if row.position and place is None and op != names.OP_READ else None


def shows_no_key(event: Event, text: bytes) -> bool | None:
    """Whether a change shows that its table has no key: `primary_key_columns` is there and names no column."""
    if event.key_schema is not None:
        return False
    record = read_record(text, "type")
    listed = None if record.text is None else _row.decode(record.text).primary_key_columns
    return None if listed is None else not listed


# --- events -----------------------------------------------------------------------------------------------------------


def _event(kind: type[_E], message: Message, record: TopicRecord, row: Row) -> _E:
    return kind(
        file=message.file,
        line=message.line,
        text=message.text,
        connector=CONNECTOR,
        source=CONNECTOR,
        table=_table(row),
        ingest_us=_micros(row.push_ts, _SECOND),
        tx_id=row.gtid or (None if row.xid is None else str(row.xid)),
        tx_order=row.xoffset,
        channel=record.topic,
        kafka_partition=record.partition,
        kafka_offset=record.offset,
    )


def _control(message: Message, record: TopicRecord, row: Row, kind: str) -> Control:
    control = _event(Control, message, record, row)
    control.commit_us = _micros(row.ts, _MILLISECOND if kind == control_kinds.DDL else _SECOND)
    control.control_kind, control.control = kind, record.text
    return control
