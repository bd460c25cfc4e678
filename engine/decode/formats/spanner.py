"""Change records of Spanner change streams: as JSON lines of queries and connectors, or in Dataflow's Avro files.

The Dataflow template "Spanner change streams to Cloud Storage" writes the Avro files. Their records arrive as the same
JSON.

    https://cloud.google.com/spanner/docs/change-streams/details
    https://cloud.google.com/dataflow/docs/guides/templates/provided/cloud-spanner-change-streams-to-cloud-storage

GoogleSQL returns arrays of change records, each with arrays of data, heartbeat and partition records. PostgreSQL
returns an object with one record. Tools write single data records with names of their own. `spanner_records` has the
shapes. Both dialects write the types of the columns in `column_types`; PostgreSQL's numerics have `PG_NUMERIC` there.

A data record holds the changes of one statement to one table, its mods: each mod is a change. The value capture type
defines which images the mods have:

    NEW_ROW, NEW_ROW_AND_OLD_VALUES        keys and new_values are the whole row of an insert or update
    NEW_VALUES, OLD_AND_NEW_VALUES         keys and new_values are the columns that an update changed: a partial row
    NEW_ROW_AND_OLD_VALUES                 the row before an update is the new row with old_values in it

The key of a change is in its images: `column_types` names its columns. Without these types, `key` is the mod's key.

    position     epoch (4) - second of the commit (16) - nanosecond in it (8) - transaction, as bytes -
                 record_sequence (16) - mod in the record (8)

Commits can differ by one nanosecond. Transactions of one instant change different rows.

The Avro files hold only data records, in no order. Their times are microseconds: if several commits to one row fall
into one microsecond, their order is unknown. NEW_ROW_AND_OLD_VALUES is called NEW_VALUES there, and types that their
schema does not know (FLOAT32, ENUM, PROTO, UUID) have no name: declare their columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import ClassVar, Final, NamedTuple

import msgspec

from siltstone.engine import names
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import Announced, Change, Control, Event, Message, rejected
from siltstone.engine.decode.event_batch import signed_hash
from siltstone.engine.decode.formats.instants import NANOS, unix_nanos, written_seconds
from siltstone.engine.decode.formats.json_fields import content_of, whole_number
from siltstone.engine.decode.formats.row_images import is_empty, joined
from siltstone.engine.decode.formats.spanner_records import (
    DATA_CHANGE,
    BrokenLineError,
    Found,
    Mod,
    Record,
    SpannerLine,
    read_line,
)
from siltstone.engine.decode.json_value import BLANKS, PARSE_ERRORS, broken_reason, parse_object, raw_fields
from siltstone.engine.decode.position_text import ANY_WIDTH, EPOCH, LONGEST_NUMBER, segments, text_segment
from siltstone.engine.spec.model import SourceSpec

CONNECTOR: Final = "spanner"
IN_FILES: Final = "dataflow-spanner"
OPS: Final = {"INSERT": names.OP_INSERT, "UPDATE": names.OP_UPDATE, "DELETE": names.OP_DELETE}
WRONG_TYPE: Final = "a field of the line has a type that Spanner does not write"
NO_LINE: Final = "neither a JSON object nor an array of them"
NO_RECORD: Final = "neither a data change, a heartbeat nor a partition record of Spanner"
OF_MESSAGE: Final = "a data record of the message ChangeStreamRecord (columnMetadata): this shape is not supported"
NO_TABLE: Final = "table_name is missing"
NO_COMMIT: Final = "commit_timestamp is missing"
NO_TIMESTAMP: Final = "commit_timestamp is not a timestamp"
NO_TRANSACTION: Final = "server_transaction_id is missing"
NO_SEQUENCE: Final = "record_sequence is missing or not a number"
NO_TYPE: Final = "mod_type is missing"
NO_MODS: Final = "a data change record without mods"
NO_OBJECT: Final = "keys, new_values or old_values in mods is not an object"
_BEFORE_IS_WHOLE: Final = "NEW_ROW_AND_OLD_VALUES"
_INDEX_OF_MESSAGE: Final = re.compile(rb'"column(?:_m|M)etadata(?:_i|I)ndex"')
_FLAGS: Final = dict.fromkeys(("t", "true", "y", "yes", "1"), True) | dict.fromkeys(
    ("f", "false", "n", "no", "0"), False
)
_NO_COLUMNS: Final = b"{}"
_UNSIGNED: Final = 2**64 - 1
_MOST_NAMED: Final = 20


class RowSchema(NamedTuple):
    """`column_types` as the row schema of a change."""

    text: str | None = None
    hash: int | None = None


class _NotAnObjectError(Exception):
    """A part of a mod is not an object."""


class SpannerDecoder:
    """Decodes records of Spanner change streams."""

    connector: ClassVar[str] = CONNECTOR

    def __init__(self, source: SourceSpec, declared: Declared) -> None:  # every decoder gets them
        """The decoder keeps nothing between messages."""

    def events(self, message: Message) -> Sequence[Event]:
        """The events of a message: a change per mod of a data record, and one event per other record."""
        try:
            line = read_line(message.text)
        except BrokenLineError:
            return [rejected(message, broken_reason(message.text, WRONG_TYPE, b"[{", NO_LINE))]
        if not line.records:
            return [rejected(message, NO_RECORD)]
        if len(line.records) == 1:
            return self._of_record(message, line, line.records[0])
        events = [event for found in line.records for event in self._of_record(message, line, found)]
        _keep_first_texts(events)
        return events

    def _of_record(self, message: Message, line: SpannerLine, found: Found) -> Sequence[Event]:
        record = found.record
        if found.kind != DATA_CHANGE:
            return [_control(message, line, found)]
        nanos = None if record.commit_timestamp is None else unix_nanos(record.commit_timestamp)
        sequence = whole_number(record.record_sequence)
        reason = _reject_reason(record, nanos, sequence)
        if reason is None and nanos is not None and sequence is not None:  # without a reason, both are known
            try:
                return self._changes(message, line, record, nanos, sequence)
            except _NotAnObjectError:
                reason = NO_OBJECT
        return [rejected(message, reason or NO_RECORD, record.table_name)]

    def _changes(self, message: Message, line: SpannerLine, record: Record, nanos: int, sequence: int) -> list[Event]:
        op = OPS[record.mod_type or ""]
        schema = _row_schema(bytes(record.column_types))
        token = line.token if record.partition_token is None else record.partition_token
        place = _place(nanos, record.server_transaction_id or "", sequence)
        announced = _announced(record, token)
        text: bytes | None = message.text
        events: list[Event] = []
        for at, mod in enumerate(record.mods or ()):
            keys, before, after = _rows(op, mod, record.value_capture_type)
            event = Change(
                file=message.file,
                line=message.line,
                text=text,
                connector=self.connector,
                source=self.connector,
                table=record.table_name,
                op=op,
                origin=names.ORIGIN_STREAM,
                key=keys if schema.text is None else None,
                before=before,
                after=after,
                position=f"{place}-{at:08X}",
                commit_us=nanos // 1_000,
                tx_id=record.server_transaction_id,
                tx_order=sequence,
            )
            event.row_schema, event.schema_hash, event.key_schema = schema.text, schema.hash, schema.text
            event.channel = token or line.topic or token
            event.kafka_partition, event.kafka_offset, event.announced = line.partition, line.offset, announced
            events.append(event)
            text = None
        return events


class SpannerAvroDecoder(SpannerDecoder):
    """Decodes data records of Dataflow's Avro files. They are a source of their own: other checks apply to it."""

    connector: ClassVar[str] = IN_FILES


def _keep_first_texts(events: Sequence[Event]) -> None:
    """Keep the text of a message only in its first change of each table."""
    tables: set[str | None] = set()
    for event in events:
        if isinstance(event, Change) and event.text is not None:
            if event.table in tables:
                event.text = None
            tables.add(event.table)


# --- changes --------------------------------------------------------------------------------------------------------


def _image(part: msgspec.Raw) -> bytes | None:
    """A part of a mod; None if it is null or an empty text.

    Raises: _NotAnObjectError.
    """
    text = bytes(part)
    if text.startswith(b"{"):
        return text
    content = (content_of(part) or b"").strip(BLANKS)
    if not content:
        return None
    try:
        parse_object(content)
    except PARSE_ERRORS:
        raise _NotAnObjectError from None
    return content


def _rows(op: str, mod: Mod, capture_type: str | None) -> tuple[bytes | None, bytes | None, bytes | None]:
    """The keys of a mod, the row before, and the row after.

    Raises: _NotAnObjectError.
    """
    keys, new, old = _image(mod.keys), _image(mod.new_values), _image(mod.old_values)
    key = _NO_COLUMNS if keys is None else keys
    if op == names.OP_DELETE:
        return keys, (key if old is None else joined(key, old)), None
    after = key if new is None else joined(key, new)
    if op != names.OP_UPDATE or capture_type != _BEFORE_IS_WHOLE or old is None or is_empty(old):
        return keys, None, after
    return keys, joined(after, old), after


def _place(nanos: int, transaction: str, sequence: int) -> str:
    """The position without the mod."""
    second, nanosecond = divmod(nanos, NANOS)
    return f"{EPOCH}-{second & _UNSIGNED:016X}-{nanosecond:08X}-{text_segment(transaction)}-{sequence & _UNSIGNED:016X}"


def notation(position: str, _source: str) -> str | None:
    """The commit timestamp."""
    second, nanosecond = [*segments(position, 16, 8, ANY_WIDTH, 16, 8), "", ""][:2]
    if not nanosecond:
        return None
    seconds = int(second, 16) - (_UNSIGNED + 1 if int(second, 16) > LONGEST_NUMBER else 0)
    return f"{written_seconds(seconds)}.{int(nanosecond, 16):09d}Z"


def _announced(record: Record, token: str | None) -> Announced:
    is_last = record.is_last_record_in_transaction_in_partition
    return Announced(
        whole_number(record.number_of_records_in_transaction),
        whole_number(record.number_of_partitions_in_transaction),
        token,
        _FLAGS.get(is_last.strip().lower()) if isinstance(is_last, str) else is_last,
    )


@lru_cache(maxsize=1_000)
def _row_schema(types: bytes) -> RowSchema:
    """The row schema; without text if `column_types` is neither a list nor the text of one."""
    listed = (content_of(msgspec.Raw(types)) or b"").lstrip(BLANKS)
    text = b'{"column_types":%b}' % listed
    if not listed.startswith(b"["):
        return RowSchema()
    try:
        raw_fields(text)
    except PARSE_ERRORS:
        return RowSchema()
    return RowSchema(text.decode(), signed_hash(text))


# --- other events ---------------------------------------------------------------------------------------------------


def _reject_reason(record: Record, nanos: int | None, sequence: int | None) -> str | None:
    """Why a data record cannot be changes; None if it can."""
    if not record.table_name:
        return OF_MESSAGE if any(map(_is_of_message, record.mods or ())) else NO_TABLE
    if record.commit_timestamp is None:
        return NO_COMMIT
    if nanos is None:
        return NO_TIMESTAMP
    if record.server_transaction_id is None:
        return NO_TRANSACTION
    if sequence is None:
        return NO_SEQUENCE
    if record.mod_type is None:
        return NO_TYPE
    if record.mod_type not in OPS:
        return f'unknown mod_type "{record.mod_type[:_MOST_NAMED]}"'
    return None if record.mods else NO_MODS


def _is_of_message(mod: Mod) -> bool:
    """Whether a mod has the form of the protobuf message: its values are lists that name columns by number."""
    parts = (mod.keys, mod.new_values, mod.old_values)
    return any(_INDEX_OF_MESSAGE.search(content_of(part) or b"") for part in parts)


def _control(message: Message, line: SpannerLine, found: Found) -> Control:
    record = found.record
    token = line.token if record.partition_token is None else record.partition_token
    return Control(
        file=message.file,
        line=message.line,
        text=message.text,
        connector=CONNECTOR,
        source=CONNECTOR,
        table=record.table_name,
        commit_us=_moment(record),
        tx_id=record.server_transaction_id,
        channel=token or line.topic or token,
        kafka_partition=line.partition,
        kafka_offset=line.offset,
        control_kind=found.kind,
        control=found.json,
        announced=_announced(record, token),
    )


def _moment(record: Record) -> int | None:
    """The time of a record that is not a data record."""
    stamps: Iterator[str] = (
        stamp
        for stamp in (record.commit_timestamp, record.timestamp, record.start_timestamp, record.end_timestamp)
        if stamp is not None
    )
    nanos = unix_nanos(next(stamps, ""))
    return None if nanos is None else nanos // 1_000
