"""Values that are not stored exactly: unavailable values, unrepresentable values, and times that lose digits."""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final

from pyspark.sql import types as T

from siltstone.engine.counts import plural
from siltstone.engine.decode.json_value import plain_text
from siltstone.engine.decode.row_shape import ColumnShape, Encoding
from siltstone.engine.decode.types import decimals
from siltstone.engine.decode.types.dates_and_times import MICROS_DIGITS
from siltstone.engine.decode.types.encodings import CALENDAR, COUNTS, DECIMALS
from siltstone.engine.decode.types.numbers import LONG, bigint

PLACEHOLDER: Final = "__debezium_unavailable_value"
"""The placeholder of Debezium for a value that the source did not log, because it did not change."""
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
"""The texts of an unavailable value."""

OUT_OF_CALENDAR: Final = re.compile(
    r"[+-]?[Ii]nfinity"
    r"|(?:[+-][0-9]{4,}|[0-9]{5,}|0000)-[0-9]{2}-[0-9]{2}.*|[0-9]{4,}-[0-9]{2}-[0-9]{2}.* BC"
    r"|[0-9]{4}-(?:00-[0-9]{2}|[0-9]{2}-00|02-(?:29|30)|(?:02|04|06|09|11)-31)(?:[T :].*)?"
    r"|(?:0001-01-0[12]|9999-12-3[01])(?:[T :].*)?"
)
"""Times of a source that no date type can store: infinity, years before 1 and after 9999 (also after the conversion to
UTC), and invalid days that MySQL allows: months and days of zero, the 31st of a short month."""
_COUNT: Final = re.compile("[+-]?[0-9]+")
_COUNTING: Final = frozenset({"days", "moment", "instant", *COUNTS})
BEYOND_MICROS: Final = re.compile(r":[0-9]{2}\.[0-9]{6}[0-9]*[1-9]")
"""Digits of a second that no stored type keeps."""
_WRITTEN_OUT: Final = re.compile(r"[+-]?[0-9]+\.[0-9]+")
_NUMBERS_AS_DIGITS: Final = frozenset(
    {"integer", "unsigned", "floating", "text", "any_text", "decimal_text", "decimal_number"}
    | {"written_text", "written_integer", "written_floating"}
)
"""Encodings in which a number is its digits."""


# --- unavailable values ---------------------------------------------------------------------------------------------


def can_be_unavailable(column: ColumnShape) -> bool:
    """Whether the source can omit values of a column. This affects only types of any length, which PostgreSQL stores
    outside of the row."""
    return any(encoding.kind in _OF_ANY_LENGTH for _, encoding in column.encodings)


def is_unavailable(value: Any) -> bool:
    """Whether a value is the placeholder of an unavailable value: as text, as bytes, in an array, in a map."""
    if type(value) is str:
        return value in PLACEHOLDERS
    return value in _ARRAYS if type(value) is list else value == _MAP


# --- unrepresentable values -----------------------------------------------------------------------------------------


def is_unrepresentable(value: Any, column: ColumnShape) -> bool:
    """Whether a value that does not fit is valid in the source, but has no stored type.

    These are infinity, years before 1 or after 9999, and numbers with more digits than a decimal allows. A number that
    fits a wider type is not unrepresentable, because the spec can declare that type.
    """
    kind = column.value_type
    if not isinstance(kind, T.DecimalType):
        return is_unrepresentable_time(value, column)
    encodings = {encoding for _, encoding in column.encodings if encoding.kind in DECIMALS}
    return any(decimals.is_too_long(digits, kind.scale) for digits in _digits(value, encodings))


def _digits(value: Any, encodings: Iterable[Encoding]) -> Iterable[str]:
    """The digits of a number in each encoding that can read it."""
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
    """Whether a value that does not fit is a date or time outside of the years 1 to 9999."""
    kinds = {encoding.kind for _, encoding in column.encodings} & CALENDAR
    if not kinds:
        return False
    text = plain_text(value)
    return bool(OUT_OF_CALENDAR.fullmatch(text) or (kinds & _COUNTING and _COUNT.fullmatch(text)))


# --- numbers that a wider column would hold --------------------------------------------------------------------------


def is_written_out(value: Any) -> bool:
    """Whether a value is the text of a number with a point, which is not base64."""
    return isinstance(value, str) and _WRITTEN_OUT.fullmatch(value) is not None


def need(value: Any, kind: T.DataType, encoding: Encoding) -> str | None:
    """The type or digits that a number needs to fit a column of this type. None for other values and types."""
    text = _number_text(value, encoding)
    number = None if text is None else decimals.exact_number(text)
    if not number:
        return None
    if isinstance(kind, T.DecimalType):
        return _more_digits(number, kind)
    return _wider_type(number) if isinstance(kind, T.IntegerType | T.LongType) else None


def _number_text(value: Any, encoding: Encoding) -> str | None:
    """The digits of a number in any encoding of numbers. None for another encoding."""
    if encoding.kind in _NUMBERS_AS_DIGITS or not isinstance(value, str | dict) or is_written_out(value):
        return plain_text(value)
    return _reader_of_digits(encoding)(value) if encoding.kind in DECIMALS else None


def _more_digits(number: Decimal, kind: T.DecimalType) -> str | None:
    before, after = decimals.digits_of(number)
    parts = (("before", before, kind.precision - kind.scale), ("after", after, kind.scale))
    lacking = [
        f"it needs {needed} {plural('digit', needed)} {side} the point; {kind.simpleString()} holds {held}"
        for side, needed, held in parts
        if needed > held
    ]
    return "; ".join(lacking) or None


def _wider_type(number: Decimal) -> str:
    before, after = decimals.digits_of(number)
    if after:
        return f"it needs {after} {plural('digit', after)} after the point"
    if LONG[0] <= number <= LONG[1]:
        return "it needs bigint"
    return f"it needs decimal({before},0)" if before <= decimals.MOST_DIGITS else "it needs string"


# --- times that lose digits -----------------------------------------------------------------------------------------


def can_lose_digits(column: ColumnShape) -> bool:
    """Whether the column's values are times, whose digits after the microsecond are not stored."""
    is_moment = isinstance(column.value_type, T.TimestampType | T.TimestampNTZType)
    return is_moment or any(encoding.kind == "nanos" for _, encoding in column.encodings)


def loses_digits(encoding: Encoding) -> Callable[[Any], bool]:
    """A check whether a time has digits that are not stored. Without them, two keys could become equal."""
    is_counted = encoding.kind == "nanos" or (encoding.size or 0) > MICROS_DIGITS

    def loses(value: Any) -> bool:
        text = plain_text(value)
        count = bigint(text) if is_counted else None
        return (count or 0) % 1_000 != 0 or BEYOND_MICROS.search(text) is not None

    return loses
