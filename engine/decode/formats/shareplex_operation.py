"""Parses operations of SharePlex: `{"meta", "data", "key"}`, bare or in the `value` of a topic's record.

`meta` has text fields. Some writers write counts and SCNs as numbers, others in quotes: a line with unusual types is
read a second time, field by field.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from siltstone.engine.decode.formats.json_fields import (
    NOTHING,
    Fields,
    Int,
    Long,
    content_of,
    int_field,
    long_field,
    text_field,
)
from siltstone.engine.decode.formats.topic_record import TopicRecord
from siltstone.engine.decode.json_value import PARSE_ERRORS, is_utf8, raw_fields
from siltstone.engine.decode.position_text import LONGEST_NUMBER

_NULL: Final = b"null"
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
_PLACE_IN_TRANSACTION: Final = re.compile(r"([0-9]{1,18})/", re.ASCII)
_SIZE_OF_TRANSACTION: Final = re.compile(r"/([0-9]{1,18})\Z", re.ASCII)


class Meta(msgspec.Struct, gc=False):
    """The kind of an operation, and its place in the source's log. `idx` is `seq/size`."""

    time: str | None = None
    op: str | None = None
    scn: str | int | None = None
    trans: str | None = None
    seq: Long | str | None = None
    size: Long | str | None = None
    table: str | None = None
    idx: str | None = None

    def sequence(self) -> int | None:
        """The number of the operation in its transaction."""
        return _number(self.seq) if self.seq is not None else _digits(_PLACE_IN_TRANSACTION.match(self.idx or ""))

    def transaction_size(self) -> int | None:
        """How many operations its transaction has."""
        return _number(self.size) if self.size is not None else _digits(_SIZE_OF_TRANSACTION.search(self.idx or ""))

    def scn_text(self) -> str | None:
        """The SCN as text; None if there is none."""
        text = None if self.scn is None else str(self.scn)
        return text if text is not None and text.strip(" ") else None


class Operation(msgspec.Struct, gc=False):
    """An operation, and its place in its topic. `value` is the operation, if it is inside a topic's record."""

    meta: Meta | None = None
    data: msgspec.Raw = NOTHING
    key: msgspec.Raw = NOTHING
    value: msgspec.Raw = NOTHING
    topic: str | None = None
    partition: Int | None = None
    offset: Long | None = None

    @property
    def place(self) -> TopicRecord:
        """The place of the operation in its topic."""
        return TopicRecord(None, self.topic, self.partition, self.offset)

    def is_null(self) -> bool:
        """Whether a topic's record holds a null message instead of an operation."""
        return self.meta is None and self.value is not NOTHING and bytes(self.value) == _NULL


class BrokenOperationError(Exception):
    """A line that is not JSON, or that has a field with an unexpected type. `table`: the table that it names."""

    def __init__(self, table: str | None = None) -> None:
        super().__init__(table)
        self.table = table


_usual: Final = msgspec.json.Decoder(Operation)


def read_operation(text: bytes) -> Operation:
    """The operation in a line.

    Raises: BrokenOperationError.
    """
    try:
        line = _read(text)
        value = content_of(line.value)
        if value is None:
            return line
        inner = _read(value)
    except PARSE_ERRORS:
        raise BrokenOperationError from None
    inner.topic, inner.partition, inner.offset, inner.value = line.topic, line.partition, line.offset, line.value
    return inner


def value_of(operation: Operation, text: bytes) -> bytes:
    """The operation as text: `value` of a topic's record, or the line."""
    value = content_of(operation.value)
    return text if value is None else value


# --- field by field -------------------------------------------------------------------------------------------------


def _read(text: bytes) -> Operation:
    """Raises: one of PARSE_ERRORS, BrokenOperationError."""
    if not is_utf8(text):
        raise BrokenOperationError
    try:
        found = _usual.decode(text)
    except msgspec.ValidationError:
        found = _unusual(raw_fields(text))
    meta = found.meta
    if meta is not None and not (_is_count(meta.seq) and _is_count(meta.size)):
        raise BrokenOperationError(meta.table)
    return found


def _unusual(fields: Fields) -> Operation:
    meta = fields.get("meta", NOTHING)
    return Operation(
        meta=None if bytes(meta) == _NULL else _meta(raw_fields(meta)),
        **{name: fields[name] for name in ("data", "key", "value") if name in fields},
        topic=text_field(fields, "topic"),
        partition=int_field(fields, "partition"),
        offset=long_field(fields, "offset"),
    )


def _meta(fields: Fields) -> Meta:
    return Meta(**{name: text_field(fields, name) for name in Meta.__struct_fields__})


def _is_count(count: str | int | None) -> bool:
    return not isinstance(count, str) or _number(count) is not None


def _number(count: str | int | None) -> int | None:
    """A whole number of 64 bits."""
    if not isinstance(count, str):
        return count
    number = int(count) if _WHOLE.fullmatch(count) else None
    return number if number is not None and -LONGEST_NUMBER <= number <= LONGEST_NUMBER else None


def _digits(found: re.Match[str] | None) -> int | None:
    return None if found is None else int(found[1])
