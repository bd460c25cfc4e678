"""Times of day as HH:MM:SS.ffffff, from counts and from texts. They can be negative, or longer than a day."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from siltstone.engine.decode.json_value import plain_text
from siltstone.engine.decode.types.converter import Converter, each
from siltstone.engine.decode.types.dates_and_times import MICROS_DIGITS, unit_of
from siltstone.engine.decode.types.numbers import LONG, count_of, long_of

_CLOCK: Final = re.compile(r"(-?)([0-9]+):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?")
_PLAIN_CLOCK: Final = re.compile(r"-?[0-9]{1,3}:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?")


def written_clock(text: str) -> str | None:
    """A text such as -838:59:59 or 12:00:00.5 with all digits. None for another text."""
    match = _CLOCK.fullmatch(text)
    if not match:
        return None
    sign, hours, minutes, seconds, fraction = match.groups()
    return f"{sign}{hours.rjust(2, '0')}:{minutes}:{seconds}.{(fraction or '').ljust(6, '0')}"


def clock_or_text(text: str) -> str | None:
    """The same, also for 5:00. The unchanged text if it is not a plain time of day, or has a zone or more digits."""
    if not _PLAIN_CLOCK.fullmatch(text):
        return text
    return written_clock(text if text.count(":") > 1 else text + ":00")


def clock_of(count: int, unit: str) -> str | None:
    """A count of milli-, micro- or nanoseconds as text. None if its microseconds need more than 64 bits."""
    size = abs(count)
    micros = size // 1_000 if unit == "nanos" else size * 1_000 if unit == "millis" else size
    if micros > LONG[1]:
        return None
    seconds, fraction = divmod(micros, 1_000_000)
    return f"{'-' if count < 0 else ''}{_clock_of_seconds(seconds)}.{fraction:06d}"


@lru_cache(maxsize=100_000)  # more than a day has
def _clock_of_seconds(seconds: int) -> str:
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02d}:{minute:02d}:{second:02d}"


def counted_clock(unit: str) -> Converter:
    """Counts of one unit."""

    def one(value: Any) -> str | None:
        count = count_of(value)
        return None if count is None else clock_of(count, unit)

    return each(one)


def clock(kind: str, digits: int | None, is_mysql: bool) -> Converter:
    """Counts in the unit of the declared digits, and texts.

    A text with a colon stays unchanged if a connector wrote it (`time`); otherwise it gets all digits. Other text has a
    value only in a column of texts (`time_text`).
    """
    unit = unit_of(MICROS_DIGITS if digits is None else digits)
    if unit == "millis" and is_mysql:  # MySQL's TIME counts microseconds whatever its digits
        unit = "micros"

    def one(value: Any) -> str | None:
        if type(value) is not int and ":" in (text := plain_text(value)):
            return text if kind == "time" else clock_or_text(text)
        count = long_of(value)
        found = None if count is None else clock_of(count, unit)
        return plain_text(value) if found is None and kind == "time_text" else found

    return each(one)


def _written(value: Any) -> str | None:
    return written_clock(plain_text(value))


WRITTEN_CLOCK: Final = each(_written)
