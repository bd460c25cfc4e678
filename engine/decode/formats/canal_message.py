"""Parses messages of Canal: bare, or in the `value` of a topic's record.

Canal writes each field with one type. Some writers put numbers into quotes, and a text field can hold another JSON
value: a line with unusual types is read a second time, field by field.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from siltstone.engine.decode.event_batch import signed_hash
from siltstone.engine.decode.formats.json_fields import NOTHING, Int, Long
from siltstone.engine.decode.json_value import (
    BLANKS,
    PARSE_ERRORS,
    broken_reason,
    is_utf8,
    parse,
    plain_text,
    raw_fields,
    text_of,
)

MISFIT_REASON: Final = "a field of the message has a type that Canal does not write"
_LONG: Final = 2**63
_WHOLE: Final = re.compile(r"[+-]?[0-9]+\r?\n?", re.ASCII)
_MOST_DIGITS: Final = 40
_NULL: Final = b"null"
_FIRST_MILLI: Final = -62_135_596_800_000  # 0001-01-01
_LAST_MILLI: Final = 253_402_300_799_999  # 9999-12-31


class Tidb(msgspec.Struct, gc=False, rename="camel"):
    """What TiCDC adds to a message: the TSO of its commit or of a watermark, and whether it holds only the key."""

    commit_ts: Long | None = None
    watermark_ts: Long | None = None
    only_handle_key: bool | None = None
    claim_check_location: str | None = None


class CanalMessage(msgspec.Struct, gc=False, rename="camel"):
    """A message and its place in its topic. `value` is the message, if it is inside a topic's record."""

    data: list[msgspec.Raw] | None = None
    database: str | None = None
    es: Long | None = None
    gtid: str | None = None
    id: Long | None = None
    is_ddl: bool | None = None
    mysql_type: msgspec.Raw = NOTHING
    old: list[msgspec.Raw] | None = None
    pk_names: list[str | None] | None = None
    sql: str | None = None
    table: str | None = None
    ts: Long | None = None
    type: str | None = None
    tidb: Tidb | None = msgspec.field(default=None, name="_tidb")
    value: msgspec.Raw = NOTHING
    topic: str | None = None
    partition: Int | None = None
    offset: Long | None = None

    def content(self) -> int:
        """A hash of everything that stays the same if the message is sent a second time: all but `id` and `ts`."""
        same = (
            self.type, self.database, self.table, self.es, self.gtid, self.is_ddl, self.sql,
            self.data, self.old, self.mysql_type, self.pk_names,
        )  # fmt: skip
        return signed_hash(text_of(same))

    def is_null(self) -> bool:
        """Whether a topic's record holds a null message, which marks a deleted key."""
        return self.type is None and self.value is not NOTHING and bytes(self.value) == _NULL


class BrokenMessageError(Exception):
    """A line that is not a message of Canal: the reason and the known fields. It still belongs to its batch."""

    def __init__(self, reason: str, message: CanalMessage | None = None, content: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = message
        self.content = content


_usual: Final = msgspec.json.Decoder(CanalMessage)
_COUNTS: Final = ("es", "id", "ts")
_TEXTS: Final = ("database", "gtid", "sql", "table", "type")
_ARRAYS: Final = ("data", "old")
_PLACE: Final = ("topic", "partition", "offset")
_RAW: Final = ("mysql_type", "value")


def read_message(text: bytes) -> CanalMessage:
    """The message in a line.

    Raises: BrokenMessageError.
    """
    message = _read(text)
    if message.value is NOTHING or bytes(message.value) == _NULL:
        return message
    return _inner(message)


def _read(text: bytes) -> CanalMessage:
    try:
        message = _usual.decode(text)
    except PARSE_ERRORS:
        message = _unusual(text)
    if not is_utf8(text):
        raise BrokenMessageError(broken_reason(text, MISFIT_REASON))
    return message


def is_null_line(text: bytes) -> bool:
    """Whether a line is null."""
    return text.strip(BLANKS) == _NULL


def millis_to_micros(millis: int | None) -> int | None:
    """Milliseconds as microseconds; None outside of the years 1 to 9999."""
    return millis * 1000 if millis is not None and _FIRST_MILLI <= millis <= _LAST_MILLI else None


def value_of(text: bytes) -> bytes:
    """The message in a line, as text: `value` of a topic's record, or the line."""
    try:
        value = bytes(raw_fields(text).get("value", NOTHING))
    except PARSE_ERRORS:
        return text
    if value == _NULL:
        return text
    return parse(value).encode() if value.startswith(b'"') else value


# --- the record around the message ----------------------------------------------------------------------------------


def _inner(record: CanalMessage) -> CanalMessage:
    """The message in the `value` of a topic's record, which is text or an object."""
    text = bytes(record.value)
    try:
        message = _read(parse(text).encode() if text.startswith(b'"') else text)
    except BrokenMessageError as broken:
        broken.reason = MISFIT_REASON  # the record itself is JSON
        if broken.message is not None:
            _place(broken.message, record)
        raise
    _place(message, record)
    return message


def _place(message: CanalMessage, record: CanalMessage) -> None:
    message.topic, message.partition, message.offset, message.value = (
        record.topic, record.partition, record.offset, record.value
    )  # fmt: skip


# --- field by field -------------------------------------------------------------------------------------------------


def _unusual(text: bytes) -> CanalMessage:
    """The message of a line that has a field with an unusual type."""
    try:
        fields = raw_fields(text)
    except PARSE_ERRORS:
        raise BrokenMessageError(broken_reason(text, MISFIT_REASON)) from None
    message, is_misfit = CanalMessage(), False
    for name, encoded, read in _FIELDS:
        if encoded in fields:
            try:
                setattr(message, name, read(bytes(fields[encoded])))
            except (*PARSE_ERRORS, ValueError):
                is_misfit = True
    if is_misfit:
        raise BrokenMessageError(broken_reason(text, MISFIT_REASON), message, _content_of(fields))
    return message


def _content_of(fields: dict[str, msgspec.Raw]) -> int:
    left_out = {"id", "ts", *_PLACE}
    return signed_hash(text_of([[name, fields[name]] for name in sorted(fields) if name not in left_out]))


def _text(raw: bytes) -> str | None:
    value = parse(raw)
    return None if value is None else plain_text(value)


def _count(raw: bytes) -> int | None:
    """A whole number of 64 bits, possibly in quotes."""
    text = _text(raw)
    if text is None:
        return None
    if not _WHOLE.fullmatch(text) or len(text) > _MOST_DIGITS or not -_LONG <= int(text) < _LONG:
        raise ValueError("not a whole number")
    return int(text)


def _array(raw: bytes) -> list[msgspec.Raw] | None:
    items: list[msgspec.Raw] | None = _raw_items.decode(raw)
    return items


def _texts(raw: bytes) -> list[str | None] | None:
    found = _array(raw)
    return None if found is None else [_text(bytes(item)) for item in found]


_raw_items: Final = msgspec.json.Decoder(list[msgspec.Raw] | None)
_READERS: Final[dict[str, Any]] = {
    **dict.fromkeys(_TEXTS, _text),
    **dict.fromkeys(_COUNTS, _count),
    **dict.fromkeys(_ARRAYS, _array),
    **dict.fromkeys(_RAW, msgspec.Raw),
    "is_ddl": msgspec.json.Decoder(bool | None).decode,
    "pk_names": _texts,
    "tidb": msgspec.json.Decoder(Tidb | None).decode,
    "topic": _text,
    "partition": msgspec.json.Decoder(Int | None).decode,
    "offset": msgspec.json.Decoder(Long | None).decode,
}
_FIELDS: Final = [
    (field.name, field.encode_name, _READERS[field.name]) for field in msgspec.structs.fields(CanalMessage)
]
