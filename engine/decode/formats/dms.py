"""Messages of AWS DMS to Kafka or Kinesis as JSON lines: `{"data", "before-image", "control", "metadata"}`.

A message is bare, or text or an object in `value` of a topic's record `{"value", "topic", "partition", "offset"}`.

    https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Target.Kafka.html
    https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Target.Kinesis.html

    load                     a row that the full load read: a READ with a time only (`timestamp`)
    insert, update, delete   `data` is the row after the change; for a delete, the last known row, or its key and nulls
    record-type control      DDL (create-table, drop-table, add-column, ...); truncate-table is a truncate

`before-image` (BeforeImageSettings with this FieldName) has the columns that the source's log has of the row before an
update: the changed columns for Oracle, the key for PostgreSQL, all columns for MySQL. If it has every column of `data`,
it is the row before. Otherwise only its key columns count, and `data` gives those that it lacks. An update whose key
differs there becomes a delete and an insert when its rows are decoded. Messages do not name the key columns, but the
partition key of a `load` is the value of its key.

    position     epoch (4) - 0 - microseconds of the commit (16) - position in the log - number in the transaction (16)
                 epoch (4) - 1 - coordinates (`coordinates` has their layout)

The first layout is for messages with `commit-timestamp` and `stream-position` (IncludeTransactionDetails). The latter
is text in a notation of the source: `00000002/7C0073F8.2.00000002/7C0073F8` for PostgreSQL,
`mysql-bin-changelog.000024:373` for MySQL. Each run of letters and digits is written as its length (2) and its text
without leading zeros, which orders decimal and hexadecimal numbers. Messages that lack one of the two fields are
ordered by coordinates, after all others. `source.order: coordinates` orders all messages by coordinates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from siltstone.engine import names
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import Change, Control, Event, Message, rejected
from siltstone.engine.decode.file_schema import file_keys
from siltstone.engine.decode.formats.coordinates import Coordinates
from siltstone.engine.decode.formats.coordinates import notation as by_coordinates
from siltstone.engine.decode.formats.instants import unix_nanos
from siltstone.engine.decode.formats.json_fields import (
    NOTHING,
    Fields,
    content_of,
    text_field,
    text_of_field,
    whole_number,
)
from siltstone.engine.decode.formats.row_images import image_of
from siltstone.engine.decode.formats.topic_record import TopicRecord, null_message, read_record
from siltstone.engine.decode.json_value import PARSE_ERRORS, broken_reason, raw_fields, text_of
from siltstone.engine.decode.position_text import ANY_WIDTH, EPOCH, hex_digits, joined, segments
from siltstone.engine.schema import control_kinds
from siltstone.engine.spec.model import SourceSpec

CONNECTOR: Final = "dms"
OPS: Final = {
    "load": names.OP_READ,
    "insert": names.OP_INSERT,
    "update": names.OP_UPDATE,
    "delete": names.OP_DELETE,
    "truncate-table": names.OP_TRUNCATE,
}
CONTROL: Final = "control"
BEFORE_IMAGE: Final = "before-image"
PRIMARY_KEY: Final = "primary-key"
WRONG_TYPE: Final = "a field of the message has a type that DMS does not write"
NO_METADATA: Final = "metadata is missing"
NO_OPERATION: Final = "metadata.operation is missing"
NO_TABLE: Final = "metadata.schema-name or metadata.table-name is missing"
NO_TIME: Final = "metadata.timestamp is missing"
WRONG_TIME: Final = "metadata.timestamp is not a time"
WRONG_COMMIT_TIME: Final = "metadata.commit-timestamp is not a time"
_BY_LOG, _BY_DELIVERY = "0", "1"
_PART: Final = re.compile(r"[0-9A-Za-z]+")
_LONGEST: Final = 0xFF
_PARTS_OF_LSNS: Final = 5
_MOST_OF_OPERATION: Final = 20
_UNSIGNED: Final = 2**64 - 1


class Record(NamedTuple):
    """A message: its fields, its metadata, and its place in its topic."""

    fields: Fields
    meta: Fields | None
    table: str | None
    sent: int | None
    committed: int | None
    place: TopicRecord

    def metadata_text(self, name: str) -> str | None:
        """A field of the metadata, as text."""
        return None if self.meta is None else text_field(self.meta, name)


class DmsDecoder:
    """Decodes messages of DMS."""

    def __init__(self, source: SourceSpec, declared: Declared) -> None:
        self._keys = {table: keys for table, keys in declared.items() if keys}
        self._omits_nulls = source.nulls == "omitted"
        self._has_log_order = source.order != "coordinates"
        self._coordinates = Coordinates(source, f"{EPOCH}-{_BY_DELIVERY}")

    def events(self, message: Message) -> Sequence[Event]:
        """The event of a message."""
        try:
            place = read_record(message.text, "metadata")
            if place.text is None:
                return [null_message(message, place, CONNECTOR)]
            record = _record(place, raw_fields(place.text))
        except PARSE_ERRORS:
            return [rejected(message, broken_reason(message.text, WRONG_TYPE))]
        operation = record.metadata_text("operation")
        op = None if operation is None else OPS.get(operation.lower())
        if op is None and operation is not None and (record.metadata_text("record-type") or "").lower() == CONTROL:
            return [_ddl(message, record)]
        data = image_of(record.fields.get("data", NOTHING))
        reason = _reject_reason(record, operation, op, data)
        if op is None or reason is not None:
            return [rejected(message, reason or NO_OPERATION, record.table)]
        return [self._change(message, record, op, data)]

    def _change(self, message: Message, record: Record, op: str, data: bytes | None) -> Change:
        is_read, is_delete = op == names.OP_READ, op == names.OP_DELETE
        before = data if is_delete else self._before(record, data) if op == names.OP_UPDATE and data else None
        change = Change(
            file=message.file,
            line=message.line,
            text=message.text,
            connector=CONNECTOR,
            source=CONNECTOR,
            table=record.table,
            op=op,
            origin=names.ORIGIN_SNAPSHOT if is_read else names.ORIGIN_STREAM,
            before=before,
            after=None if is_delete or op == names.OP_TRUNCATE else data,
            key_schema=_key_schema(record, data) if is_read and data else None,
            position=None if is_read else self._position(message, record),
            commit_us=record.sent if record.committed is None else record.committed,
            ingest_us=record.sent,
            tx_id=record.metadata_text("transaction-id"),
            tx_order=whole_number(record.metadata_text("transaction-record-id")),
            channel=record.place.topic,
            kafka_partition=record.place.partition,
            kafka_offset=record.place.offset,
        )
        change.is_whole = self._omits_nulls
        return change

    def _before(self, record: Record, data: bytes) -> bytes | None:
        """The row before an update, or only its key; None if neither is known."""
        image = image_of(record.fields.get(BEFORE_IMAGE, NOTHING))
        if image is None:
            return None
        old, new = raw_fields(image), raw_fields(data)
        if new.keys() <= old.keys():
            return image
        keys = self._keys.get(record.table or "", ())
        key = {name: old.get(name, new.get(name, NOTHING)) for name in keys if name in old or name in new}
        return text_of(key) if any(name in old for name in keys) else None

    def _position(self, message: Message, record: Record) -> str | None:
        micros, place = record.committed, record.metadata_text("stream-position")
        if self._has_log_order and micros is not None and place is not None:
            number = whole_number(record.metadata_text("transaction-record-id")) or 0
            return joined(
                _BY_LOG, hex_digits(micros & _UNSIGNED, 16), log_segment(place), hex_digits(number & _UNSIGNED, 16)
            )
        return self._coordinates.position(message.file, message.line, record.place.partition, record.place.offset)


# --- kinds of messages ----------------------------------------------------------------------------------------------


def _record(place: TopicRecord, fields: Fields) -> Record:
    """Raises: one of PARSE_ERRORS."""
    text = content_of(fields.get("metadata"))
    if text is None:
        return Record(fields, None, None, None, None, place)
    meta = raw_fields(text)
    schema, table = text_field(meta, "schema-name"), text_field(meta, "table-name")
    name = f"{schema}.{table}" if schema and table else None
    return Record(fields, meta, name, _micros(meta, "timestamp"), _micros(meta, "commit-timestamp"), place)


def _micros(meta: Fields, name: str) -> int | None:
    text = text_field(meta, name)
    nanos = None if text is None else unix_nanos(text)
    return None if nanos is None else nanos // 1_000


def _reject_reason(record: Record, operation: str | None, op: str | None, data: bytes | None) -> str | None:
    """Why a message is neither a control event nor a change; None if it is a change."""
    if record.meta is None:
        return NO_METADATA
    if operation is None:
        return NO_OPERATION
    if op is None:
        return f'unknown operation "{operation[:_MOST_OF_OPERATION]}"'
    if record.table is None:
        return NO_TABLE
    if record.sent is None:
        return NO_TIME if record.metadata_text("timestamp") is None else WRONG_TIME
    if record.committed is None and record.metadata_text("commit-timestamp") is not None:
        return WRONG_COMMIT_TIME
    return f'operation "{operation}" without data' if data is None and op != names.OP_TRUNCATE else None


def log_segment(place: str) -> str:
    """A position in a source's log as text in which greater numbers sort later."""
    parts = (part.lstrip("0").upper() for part in _PART.findall(place))
    return "".join(f"{min(len(part), _LONGEST):02X}{part}" for part in parts)


def notation(position: str, source: str) -> str | None:
    """The position in the source's log, or coordinates."""
    kind, _, rest = position.partition("-")[2].partition("-")
    if kind == _BY_DELIVERY:
        return by_coordinates(f"{EPOCH}-{rest}", source)
    found = segments(position, 1, 16, ANY_WIDTH, 16)
    return _written_place(list(_parts(found[2]))) if len(found) > 2 else None


def _parts(segment: str) -> Iterator[str]:
    """The parts of a place, without leading zeros."""
    while segment:
        size = 2 + int(segment[:2], 16)
        yield segment[2:size]
        segment = segment[size:]


def _written_place(parts: Sequence[str]) -> str:
    """A place in the notation of MySQL or PostgreSQL, if its parts look like one; else the parts joined by dots."""
    *name, file, at = ["", "", *parts][-max(len(parts), 2) :]
    if name and not name[0].isdigit() and file.isdigit() and at.isdigit():
        return f"{'-'.join(name).lower()}.{file:0>6}:{at}"
    if len(parts) == _PARTS_OF_LSNS:
        halves = [part.rjust(8, "0") for part in parts]
        return f"{halves[0]}/{halves[1]}.{parts[2] or 0}.{halves[3]}/{halves[4]}"
    return ".".join(part or "0" for part in parts)


def _key_schema(record: Record, data: bytes) -> str | None:
    """The key column of a row whose partition key is its primary key, if exactly one column has that value."""
    value = record.metadata_text("partition-key-value")
    if value is None or record.metadata_text("partition-key-type") != PRIMARY_KEY:
        return None
    key = value.removeprefix(f"{record.table}.")
    found = [name for name, field in raw_fields(data).items() if text_of_field(field) == key]
    return file_keys(found) if len(found) == 1 else None


def _ddl(message: Message, record: Record) -> Control:
    place = record.place
    return Control(
        file=message.file,
        line=message.line,
        text=message.text,
        connector=CONNECTOR,
        source=CONNECTOR,
        table=record.table,
        commit_us=record.sent,
        ingest_us=record.sent,
        channel=place.topic,
        kafka_partition=place.partition,
        kafka_offset=place.offset,
        control_kind=control_kinds.DDL,
        control=place.text,
    )
