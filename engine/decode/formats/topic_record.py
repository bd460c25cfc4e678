"""A message of JSON, bare or in the `value` of a topic's record `{"value", "topic", "partition", "offset"}`, there as
text or as an object."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from engine.decode.event import Control, Event, Message, Reject
from engine.decode.formats.json_fields import content_of, int_field, long_field, text_field
from engine.decode.json_value import BLANKS, is_sound, raw_fields
from engine.schema import control_kinds

_NULL: Final = b"null"
_VALUE: Final = b'"value'  # a name can also be written with escapes, which no writer of records does


class TopicRecord(NamedTuple):
    """The text of a message, and where its topic has it. `text` is None for a null message."""

    text: bytes | None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None


def read_record(text: bytes, mark: str) -> TopicRecord:
    """The message in a line. `mark`: a field that every message has, and no record around one.

    Raises: one of MISFIT.
    """
    if text.strip(BLANKS) == _NULL:
        return TopicRecord(None)
    _check_sound(text)
    if _VALUE not in text:
        return TopicRecord(text)
    fields = raw_fields(text)
    if mark in fields or "value" not in fields:
        return TopicRecord(text)
    value = content_of(fields["value"])
    if value is not None:
        _check_sound(value)
    return TopicRecord(value, text_field(fields, "topic"), int_field(fields, "partition"), long_field(fields, "offset"))


def _check_sound(text: bytes) -> None:
    if not is_sound(text):
        raise msgspec.DecodeError("not UTF-8 text")


def null_message(message: Message, record: TopicRecord, source: str) -> Control:
    """A null message: what is left of a deleted key. `source`: what the format calls its sources."""
    return Control(
        file=message.file,
        line=message.line,
        text=message.text,
        connector=source,
        source=source,
        channel=record.topic,
        kafka_partition=record.partition,
        kafka_offset=record.offset,
        control_kind=control_kinds.NULL_MESSAGE,
        control=message.text,
    )


def rejected_change(change: Event, reason: str) -> Reject:
    """The reject of a message that looks like a change, with its table and its place in a topic."""
    return Reject(
        file=change.file,
        line=change.line,
        text=change.text,
        reason=reason,
        table=change.table,
        channel=change.channel,
        kafka_partition=change.kafka_partition,
        kafka_offset=change.kafka_offset,
    )


def object_of(part: msgspec.Raw) -> bytes | None:
    """The JSON text of an object; None for null, and where there is none.

    Raises: one of MISFIT: it is another value.
    """
    text = bytes(part)
    if text == _NULL:
        return None
    if not text.startswith(b"{"):
        raise msgspec.ValidationError("not an object")
    return text
