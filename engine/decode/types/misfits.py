"""Values that are not stored as they are: what the source left out, what no type holds, and times that lose digits."""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
from collections.abc import Callable, Iterable
from typing import Any, Final

from pyspark.sql import types as T

from engine.decode.json_value import plain_text
from engine.decode.shape import ColumnShape, Encoding
from engine.decode.types import decimals
from engine.decode.types.encodings import CALENDAR, COUNTS, DECIMALS
from engine.decode.types.numbers import bigint
from engine.decode.types.times import MICROS_DIGITS

PLACEHOLDER: Final = "__debezium_unavailable_value"
"""What Debezium writes for a value that the source did not log because it did not change."""
_BYTES: Final = PLACEHOLDER.encode()
_BASE64: Final = base64.b64encode(_BYTES).decode()
_UUID: Final = str(uuid.UUID(bytes=hashlib.md5(_BYTES, usedforsecurity=False).digest(), version=3))
_OF_ANY_LENGTH: Final = frozenset({"text", "any_text", "base64", "base64_url", "hex", "decimal_any", "array"})
_ARRAYS: Final = ([PLACEHOLDER], [_BASE64], [_UUID], list(_BYTES))
_MAP: Final = {PLACEHOLDER: PLACEHOLDER}
PLACEHOLDERS: Final = frozenset(
    {PLACEHOLDER, _BASE64, base64.urlsafe_b64encode(_BYTES).decode(), _BYTES.hex(), plain_text(_MAP)}
    | {plain_text(value) for value in _ARRAYS}
)
"""The texts that stand for an unavailable value."""

OUT_OF_CALENDAR: Final = re.compile(
    r"[+-]?[Ii]nfinity"
    r"|(?:[+-][0-9]{4,}|[0-9]{5,}|0000)-[0-9]{2}-[0-9]{2}.*|[0-9]{4,}-[0-9]{2}-[0-9]{2}.* BC"
    r"|[0-9]{4}-(?:00-[0-9]{2}|[0-9]{2}-00|02-(?:29|30)|(?:02|04|06|09|11)-31)(?:[T :].*)?"
    r"|(?:0001-01-0[12]|9999-12-3[01])(?:[T :].*)?"
)
"""Times of a source that no date holds: infinity, years before 1 and after 9999 (in UTC, too), and what MySQL keeps of
days that are none: months and days of zero, the 31st of a short month."""
_COUNT: Final = re.compile("[+-]?[0-9]+")
_COUNTING: Final = frozenset({"days", "moment", "instant", *COUNTS})
BEYOND_MICROS: Final = re.compile(r":[0-9]{2}\.[0-9]{6}[0-9]*[1-9]")
"""Digits of a second that no time stores."""
WRITTEN_OUT: Final = re.compile(r"[+-]?[0-9]+\.[0-9]+")


# --- values that the source left out --------------------------------------------------------------------------------


def can_be_unavailable(column: ColumnShape) -> bool:
    """Only values of any length are left out: PostgreSQL keeps them outside of the row."""
    return any(encoding.kind in _OF_ANY_LENGTH for _, encoding in column.encodings)


def is_unavailable(value: Any) -> bool:
    """Whether a value stands for an unavailable one: as text, as bytes, in an array, in a map."""
    if type(value) is str:
        return value in PLACEHOLDERS
    return value in _ARRAYS if type(value) is list else value == _MAP


# --- values that no type holds --------------------------------------------------------------------------------------


def is_unrepresentable(value: Any, column: ColumnShape) -> bool:
    """Whether a value that does not fit is one of the source that no stored type can hold.

    Infinity, years before 1 or after 9999, numbers of more digits than a decimal has. A number that a wider column
    would hold is not: the spec can declare that column.
    """
    kind = column.value_type
    if not isinstance(kind, T.DecimalType):
        return is_unrepresentable_time(value, column)
    encodings = {encoding for _, encoding in column.encodings if encoding.kind in DECIMALS}
    return any(decimals.is_too_long(digits, kind.scale) for digits in _digits(value, encodings))


def _digits(value: Any, encodings: Iterable[Encoding]) -> Iterable[str]:
    """The digits of a number in each of the encodings in which it has some."""
    for encoding in encodings:
        found = _reader_of_digits(encoding)(value)
        if found is not None:
            yield found


def _reader_of_digits(encoding: Encoding) -> Callable[[Any], str | None]:
    if encoding.kind in ("decimal_text", "decimal_number"):
        return plain_text
    if encoding.kind == "decimal_any":
        return decimals.variable_scale_digits
    if encoding.kind == "decimal_either":
        return decimals.either_digits(encoding.size or 0)
    return decimals.fixed_scale_digits(encoding.size or 0)


def is_unrepresentable_time(value: Any, column: ColumnShape) -> bool:
    """Whether a value that does not fit is a date or time, but none of the years 1 to 9999."""
    kinds = {encoding.kind for _, encoding in column.encodings} & CALENDAR
    if not kinds:
        return False
    text = plain_text(value)
    return bool(OUT_OF_CALENDAR.fullmatch(text) or (kinds & _COUNTING and _COUNT.fullmatch(text)))


# --- times that lose digits -----------------------------------------------------------------------------------------


def can_lose_digits(column: ColumnShape) -> bool:
    """Whether the column's values are times of which the digits after the microsecond are not stored."""
    is_moment = isinstance(column.value_type, T.TimestampType | T.TimestampNTZType)
    return is_moment or any(encoding.kind == "nanos" for _, encoding in column.encodings)


def loses_digits(encoding: Encoding) -> Callable[[Any], bool]:
    """Whether a time says more than is stored of it: no harm to a value, but two keys would become one."""
    is_counted = encoding.kind == "nanos" or (encoding.size or 0) > MICROS_DIGITS

    def loses(value: Any) -> bool:
        text = plain_text(value)
        count = bigint(text) if is_counted else None
        return (count or 0) % 1_000 != 0 or BEYOND_MICROS.search(text) is not None

    return loses
