"""A JSON message: bare, or text or an object in `value` of a topic's record.

{"value", "topic", "partition", "offset"}
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from siltstone.engine.decode.event import Control, Message
from siltstone.engine.decode.formats.json_fields import content_of, int_field, long_field, text_field
from siltstone.engine.decode.json_value import BLANKS, NOT_TEXT, is_utf8, raw_fields
from siltstone.engine.schema import control_kinds

_NULL: Final = b"null"
_VALUE: Final = b'"value'  # a name can also be written with escapes, which no writer of records does


class TopicRecord(NamedTuple):
    """The text of a message, and its place in its topic. `text` is None for a null message."""

    text: bytes | None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None


def read_record(text: bytes, mark: str) -> TopicRecord:
    """The message in a line. `mark`: a field that every message has, and that no record around a message has.

    Raises: one of PARSE_ERRORS.
    """
    if text.strip(BLANKS) == _NULL:
        return TopicRecord(None)
    if not is_utf8(text):
        raise msgspec.DecodeError(NOT_TEXT)
    if _VALUE not in text:
        return TopicRecord(text)
    fields = raw_fields(text)
    if mark in fields or "value" not in fields:
        return TopicRecord(text)
    place = text_field(fields, "topic"), int_field(fields, "partition"), long_field(fields, "offset")
    return TopicRecord(content_of(fields["value"]), *place)


def null_message(message: Message, record: TopicRecord, source: str, table: str | None = None) -> Control:
    """The control event of a null message, which marks a deleted key. `source`: the format's name of its sources."""
    return Control(
        file=message.file,
        line=message.line,
        text=message.text,
        connector=source,
        source=source,
        table=table,
        channel=record.topic,
        kafka_partition=record.partition,
        kafka_offset=record.offset,
        control_kind=control_kinds.NULL_MESSAGE,
        control=message.text,
    )


def object_of(part: msgspec.Raw) -> bytes | None:
    """The JSON text of an object; None if it is null or missing.

    Raises: one of PARSE_ERRORS: it is a different value.
    """
    text = bytes(part)
    if text == _NULL:
        return None
    if not text.startswith(b"{"):
        raise msgspec.ValidationError("not an object")
    return text
