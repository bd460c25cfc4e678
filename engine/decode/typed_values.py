"""Converts values of typed records to JSON without loss, for every kind of file.

Times become text with all their digits, and bytes become base64. Numbers without a JSON form (NaN and the infinities)
become their names. Nested values become JSON text inside of the record's text.
"""

from __future__ import annotations

import base64
import math
import struct
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from siltstone.engine.decode.json_value import text_of
from siltstone.engine.decode.types.clocks import clock_of
from siltstone.engine.decode.types.dates_and_times import INFINITIES

DAYS: Final = range(-719_162, 2_932_897)
"""Days since 1970-01-01 of the years 1 to 9999."""
A_SECOND: Final = {"millis": 1_000, "micros": 1_000_000, "nanos": 1_000_000_000}
_SMALLEST_NORMAL: Final = 2.0**-126
_START: Final = datetime(1970, 1, 1)
_FIRST_DAY: Final = date(1970, 1, 1)
_SECONDS: Final = range(-719_162 * 86_400, 2_932_897 * 86_400)


def floating(value: float | None) -> Any:
    """A double, or the name of NaN or infinity."""
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def single(value: float | None) -> Any:
    """A 32-bit float, with the fewest digits that identify it."""
    if value is None or not math.isfinite(value):
        return floating(value)
    if value == 0.0:
        return value
    for digits in range(6 if abs(value) >= _SMALLEST_NORMAL else 1, 10):
        text = f"{value:.{digits}g}"
        if struct.unpack("f", struct.pack("f", float(text)))[0] == value:
            return float(text)
    return value


def in_base64(value: bytes | None) -> str | None:
    """Bytes as base64 in one line."""
    return None if value is None else base64.b64encode(value).decode()


def unscaled_digits(value: bytes | None, scale: int) -> str | None:
    """A decimal from the big-endian bytes of its unscaled value. No bytes give an empty text, which is not a number."""
    if not value:
        return None if value is None else ""
    number = int.from_bytes(value, "big", signed=True)
    if scale <= 0:
        return str(number * 10**-scale)
    text = str(abs(number)).rjust(scale + 1, "0")
    return f"{'-' if number < 0 else ''}{text[:-scale]}.{text[-scale:]}"


def day(count: int | None) -> str | None:
    """Days since 1970-01-01 as a date. A count outside of the calendar stays a number."""
    if count is None:
        return None
    return _date(count) if count in DAYS else str(count)


@lru_cache(maxsize=20_000)
def _date(count: int) -> str:
    return (_FIRST_DAY + timedelta(days=count)).isoformat()


@lru_cache(maxsize=20_000)
def _second(count: int) -> str:
    return (_START + timedelta(seconds=count)).isoformat(" ")


def local_moment(count: int | None, unit: str) -> str | None:
    """A count since 1970-01-01T00:00:00 as a time without a zone. A count outside of the calendar stays a number."""
    if count is None:
        return None
    seconds, fraction = divmod(count, A_SECOND[unit])
    if seconds not in _SECONDS or (unit == "nanos" and count in INFINITIES):
        return str(count)
    return f"{_second(seconds)}.{_digits(fraction, unit).rstrip('0')}" if fraction else _second(seconds)


def instant(count: int | None, unit: str) -> str | None:
    """A count since 1970-01-01T00:00:00 as an instant in UTC, with a Z."""
    text = local_moment(count, unit)
    return text if text is None or " " not in text else f"{text}Z"


def iso_moment(count: int, unit: str, zone: str) -> str:
    """A time inside of JSON text, with six or nine digits of the second. A count outside of the calendar stays a
    number."""
    seconds, fraction = divmod(count, A_SECOND[unit])
    if seconds not in _SECONDS:
        return str(count)
    text = (_START + timedelta(seconds=seconds)).isoformat()
    return f"{text}.{_digits(fraction, unit)}{zone}"


def _digits(fraction: int, unit: str) -> str:
    """A fraction of a second: nine digits of nanoseconds, else six."""
    return f"{fraction:09d}" if unit == "nanos" else f"{fraction * 1_000_000 // A_SECOND[unit]:06d}"


def clock(count: int | None, unit: str) -> str | None:
    """A count of time of day as HH:MM:SS.ffffff."""
    return None if count is None else clock_of(count, unit)


def json_text(value: Any) -> str | None:
    """A nested value as JSON text."""
    return None if value is None else text_of(value).decode()


def as_text(value: Any) -> str | None:
    """A value of any plain type as text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
