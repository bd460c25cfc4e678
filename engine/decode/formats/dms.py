"""Messages of AWS DMS to Kafka or Kinesis as JSON lines: `{"data", "before-image", "control", "metadata"}`, bare or in
`value` of a topic's record `{"value", "topic", "partition", "offset"}`, there as text or as an object.

    https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Target.Kafka.html
    https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Target.Kinesis.html

    load                     a row that the full load read: a READ of which only the time is known (`timestamp`)
    insert, update, delete   `data` is the row after the change; of a delete the last known row, or its key and nulls
    record-type control      DDL (create-table, drop-table, add-column, ...); truncate-table is a truncate

`before-image` (BeforeImageSettings with this FieldName) has what the source's log says of the row before an update:
Oracle the columns that changed, PostgreSQL the key, MySQL all columns. It is the row before where it has every column
of `data`; otherwise only its key columns count, with those of `data` where it lacks them. An update whose key differs
there becomes a delete and an insert when its rows are decoded. Messages name no key, except that the partition key of a
`load` is its value.

    position     epoch (4) - 0 - microseconds of the commit (16) - position in the log - number in the transaction (16)
                 epoch (4) - 1 - coordinates (`coordinates` has their layout)

The first one is of messages with `commit-timestamp` and `stream-position` (IncludeTransactionDetails). The latter is a
text of which only the source knows the meaning: `00000002/7C0073F8.2.00000002/7C0073F8` of PostgreSQL,
`mysql-bin-changelog.000024:373` of MySQL. Each run of letters and digits is written as its length (2) and its text,
without zeros in front, which orders decimal and hexadecimal numbers. Messages without both are ordered by coordinates,
after all others; `source.order: coordinates` orders all messages so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from engine import names
from engine.decode.carried import carried_keys
from engine.decode.decoder import Declared
from engine.decode.event import Change, Control, Event, Message, rejected
from engine.decode.formats.coordinates import Coordinates
from engine.decode.formats.instants import unix_nanos
from engine.decode.formats.json_fields import (
    NOTHING,
    Fields,
    content_of,
    int_field,
    long_field,
    text_field,
    text_of_field,
    whole_number,
)
from engine.decode.formats.row_images import image_of
from engine.decode.json_value import BLANKS, MISFIT, NOT_TEXT, broken_reason, is_sound, raw_fields, text_of
from engine.decode.position_text import EPOCH, hex_digits, joined
from engine.schema import control_kinds
from engine.spec.model import SourceSpec

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
WRONG_TYPE: Final = "a field of the message has a type that DMS does not give it"
NO_METADATA: Final = "metadata is missing"
NO_OPERATION: Final = "metadata.operation is missing"
NO_TABLE: Final = "metadata.schema-name or metadata.table-name is missing"
NO_TIME: Final = "metadata.timestamp is missing"
WRONG_TIME: Final = "metadata.timestamp is no time"
WRONG_COMMIT_TIME: Final = "metadata.commit-timestamp is no time"
_BY_LOG, _BY_DELIVERY = "0", "1"
_NULL: Final = b"null"
_PART: Final = re.compile(r"[0-9A-Za-z]+")
_LONGEST: Final = 0xFF
_MOST_OF_OPERATION: Final = 20
_UNSIGNED: Final = 2**64 - 1


class Record(NamedTuple):
    """A message, and where its topic has it. `text`: the message alone; None of a null message."""

    text: bytes | None
    fields: Fields
    meta: Fields | None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None

    def metadata_text(self, name: str) -> str | None:
        """A field of the metadata, as text."""
        return None if self.meta is None else text_field(self.meta, name)

    def micros(self, name: str) -> int | None:
        """A time in the metadata."""
        text = self.metadata_text(name)
        nanos = None if text is None else unix_nanos(text)
        return None if nanos is None else nanos // 1_000

    @property
    def table(self) -> str | None:
        """The table that the message names."""
        schema, table = self.metadata_text("schema-name"), self.metadata_text("table-name")
        return f"{schema}.{table}" if schema and table else None


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
            record = read_record(message.text)
        except MISFIT:
            return [rejected(message, broken_reason(message.text, WRONG_TYPE))]
        if record.text is None:
            return [_control(message, record, control_kinds.NULL_MESSAGE)]
        operation = record.metadata_text("operation")
        op = None if operation is None else OPS.get(operation.lower())
        if op is None and operation is not None and (record.metadata_text("record-type") or "").lower() == CONTROL:
            return [_control(message, record, control_kinds.DDL)]
        data = image_of(record.fields.get("data", NOTHING))
        reason = _reject_reason(record, operation, op, data)
        if op is None or reason is not None:
            return [rejected(message, reason or NO_OPERATION, record.table)]
        return [self._change(message, record, op, data)]

    def _change(self, message: Message, record: Record, op: str, data: bytes | None) -> Change:
        is_read, is_delete, sent = op == names.OP_READ, op == names.OP_DELETE, record.micros("timestamp")
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
            commit_us=sent if record.metadata_text("commit-timestamp") is None else record.micros("commit-timestamp"),
            ingest_us=sent,
            tx_id=record.metadata_text("transaction-id"),
            tx_order=whole_number(record.metadata_text("transaction-record-id")),
            channel=record.topic,
            kafka_partition=record.partition,
            kafka_offset=record.offset,
        )
        change.is_whole = self._omits_nulls
        return change

    def _before(self, record: Record, data: bytes) -> bytes | None:
        """What is known of the row before an update: all of it, or its key. None where the key is the same."""
        image = image_of(record.fields.get(BEFORE_IMAGE, NOTHING))
        if image is None:
            return None
        old, new = raw_fields(image), raw_fields(data)
        if new.keys() <= old.keys():
            return image
        keys = self._keys.get(record.table or "", ())
        key = {name: old.get(name, new.get(name, NOTHING)) for name in keys}
        return text_of(key) if any(name in old for name in keys) else None

    def _position(self, message: Message, record: Record) -> str | None:
        micros, place = record.micros("commit-timestamp"), record.metadata_text("stream-position")
        if self._has_log_order and micros is not None and place is not None:
            number = whole_number(record.metadata_text("transaction-record-id")) or 0
            return joined(
                _BY_LOG, hex_digits(micros & _UNSIGNED, 16), log_segment(place), hex_digits(number & _UNSIGNED, 16)
            )
        return self._coordinates.position(message.file, message.line, record.partition, record.offset)


# --- what a message is ----------------------------------------------------------------------------------------------


def read_record(text: bytes) -> Record:
    """The message in a line.

    Raises: one of MISFIT.
    """
    if text.strip(BLANKS) == _NULL:
        return Record(None, {}, None)
    if not is_sound(text):
        raise msgspec.DecodeError(NOT_TEXT)
    line = raw_fields(text)
    if "value" not in line or "metadata" in line:
        return Record(text, line, _metadata(line))
    place = text_field(line, "topic"), int_field(line, "partition"), long_field(line, "offset")
    inner = content_of(line["value"])
    if inner is None:
        return Record(None, {}, None, *place)
    fields = raw_fields(inner)
    return Record(inner, fields, _metadata(fields), *place)


def _metadata(fields: Fields) -> Fields | None:
    text = content_of(fields.get("metadata"))
    return None if text is None else raw_fields(text)


def _reject_reason(record: Record, operation: str | None, op: str | None, data: bytes | None) -> str | None:
    """Why a message that is no control event is no change; None where it is one."""
    if record.meta is None:
        return NO_METADATA
    if operation is None:
        return NO_OPERATION
    if op is None:
        return f'unknown operation "{operation[:_MOST_OF_OPERATION]}"'
    if record.table is None:
        return NO_TABLE
    if record.metadata_text("timestamp") is None:
        return NO_TIME
    if record.micros("timestamp") is None:
        return WRONG_TIME
    if record.metadata_text("commit-timestamp") is not None and record.micros("commit-timestamp") is None:
        return WRONG_COMMIT_TIME
    return f'operation "{operation}" without data' if data is None and op != names.OP_TRUNCATE else None


def log_segment(place: str) -> str:
    """A position in a source's log, so that greater numbers in it sort later."""
    parts = (part.lstrip("0").upper() for part in _PART.findall(place))
    return "".join(f"{min(len(part), _LONGEST):02X}{part}" for part in parts)


def _key_schema(record: Record, data: bytes) -> str | None:
    """The key column of a row whose partition key is its primary key, where one column alone has that value."""
    value = record.metadata_text("partition-key-value")
    if value is None or record.metadata_text("partition-key-type") != PRIMARY_KEY:
        return None
    key = value.removeprefix(f"{record.table}.")
    found = [name for name, field in raw_fields(data).items() if text_of_field(field) == key]
    return carried_keys(found) if len(found) == 1 else None


def _control(message: Message, record: Record, kind: str) -> Control:
    sent = record.micros("timestamp")
    return Control(
        file=message.file,
        line=message.line,
        text=message.text,
        connector=CONNECTOR,
        source=CONNECTOR,
        table=record.table,
        commit_us=sent,
        ingest_us=sent,
        channel=record.topic,
        kafka_partition=record.partition,
        kafka_offset=record.offset,
        control_kind=kind,
        control=record.text or message.text,
    )
