"""Dates and moments of the years 1 to 9999, from counts.

A date is days since 1970-01-01. A moment is microseconds since 1970-01-01T00:00:00: in UTC for a stored `timestamp`,
without a zone for a `timestamp_ntz`. Digits after the microsecond are cut. `time_texts` reads moments from text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from typing import Any, Final

from pyspark.sql import types as T

from siltstone.engine.decode.bounded_cache import keep
from siltstone.engine.decode.json_value import plain_text
from siltstone.engine.decode.types.converter import NOTHING, Converter, chained, each
from siltstone.engine.decode.types.numbers import bigint, count_of
from siltstone.engine.decode.types.zones import offset_micros

FIRST_DAY: Final = -719_162  # 0001-01-01
LAST_DAY: Final = 2_932_896  # 9999-12-31
A_DAY: Final = 86_400 * 1_000_000
AN_HOUR: Final = 3_600 * 1_000_000
FIRST: Final = FIRST_DAY * A_DAY
LAST: Final = (LAST_DAY + 1) * A_DAY - 1
PER_MILLI: Final = 1_000
MILLIS_DIGITS, MICROS_DIGITS = 3, 6
INFINITIES: Final = (9_223_372_036_825_200_000, -9_223_372_036_832_400_000)
"""The counts that PostgreSQL's driver uses for infinite times. As nanoseconds they would be times of 2262 and 1677."""
ORDINAL_OF_1970: Final = date(1970, 1, 1).toordinal()
_AFTER_DATE: Final = re.compile(r"(?:[T :][0-9]{2}:[0-9]{2}.*|Z|[+-][0-9]{1,2}(?::?[0-9]{2})?)")
_MOST_CACHED: Final = 20_000


@dataclass(frozen=True, slots=True)
class Clock:
    """The settings for a source's times: the zone of times without a zone (None: UTC), and whether the source is MySQL
    or MariaDB, whose counts have their own units."""

    zone: tzinfo | None = None
    is_mysql: bool = False


# --- dates ----------------------------------------------------------------------------------------------------------


def iso_date(text: str) -> int | None:
    """The day of 2020-12-31. A time or a zone after it is ignored."""
    if len(text) != 10 and (not _AFTER_DATE.fullmatch(text, 10) or text.endswith(" BC")):
        return None
    if text[4:5] != "-" or text[7:8] != "-":
        return None
    try:
        return date.fromisoformat(text[:10]).toordinal() - ORDINAL_OF_1970
    except ValueError:
        return None


def _day(number: int | None) -> int | None:
    return number if number is not None and FIRST_DAY <= number <= LAST_DAY else None


def counted_day(value: Any) -> int | None:
    """Days since 1970-01-01, or a date as text."""
    if type(value) is int:
        return _day(value)
    day = _day(count_of(value))
    return iso_date(plain_text(value)) if day is None else day


def any_day(value: Any) -> int | None:
    """A date as text, or days since 1970-01-01."""
    if type(value) is int:
        return _day(value)
    text = plain_text(value)
    day = iso_date(text)
    return _day(bigint(text)) if day is None else day


def days(convert_day: Callable[[Any], int | None]) -> Converter:
    """Dates. They are cached, because a table has few different dates."""
    known: dict[Any, int | None] = {}

    def one(value: Any) -> int | None:
        if type(value) is not str:
            return convert_day(value)
        if value not in known:
            return keep(known, value, convert_day(value), _MOST_CACHED)
        return known[value]

    def convert_all(values: list[Any]) -> list[Any]:
        return [known[value] if type(value) is str and value in known else None if value is None else one(value)
                for value in values]  # fmt: skip

    return Converter(one, convert_all)


# --- moments: from counts -------------------------------------------------------------------------------------------


def unit_of(digits: int) -> str:
    """The unit in which Debezium counts a time with this number of digits of a second."""
    return "millis" if digits <= MILLIS_DIGITS else "micros" if digits <= MICROS_DIGITS else "nanos"


def moment_of(count: int, unit: str) -> int | None:
    """The moment of milli-, micro- or nanoseconds since 1970. None outside of the calendar."""
    if unit == "nanos":
        if count in INFINITIES:
            return None
        count //= PER_MILLI
    elif unit == "millis":
        count *= PER_MILLI
    return in_calendar(count)


def in_calendar(micros: int) -> int | None:
    return micros if FIRST <= micros <= LAST else None


def counted(unit: str) -> Converter:
    """Moments from counts since 1970."""

    def one(value: Any) -> int | None:
        count = count_of(value)
        return None if count is None else moment_of(count, unit)

    if unit == "nanos":
        return each(one)
    factor = PER_MILLI if unit == "millis" else 1
    low, high = -(-FIRST // factor), LAST // factor

    def convert_all(values: list[Any]) -> list[Any]:
        return [
            value * factor if type(value) is int and low <= value <= high else None if value is None else one(value)
            for value in values
        ]

    return Converter(one, convert_all)


# --- zones and stored types ---------------------------------------------------------------------------------------


def in_zone(zone: tzinfo) -> Callable[[int], int | None]:
    """A function that converts a moment without a zone to an instant. The offsets of whole hours are cached."""
    known: dict[int, int | None] = {}

    def instant_of(micros: int) -> int | None:
        hour = micros // AN_HOUR
        if hour not in known:
            first, last = (_offset(at, zone) for at in (hour * AN_HOUR, (hour + 1) * AN_HOUR - 1))
            keep(known, hour, first if first == last else None, _MOST_CACHED)  # None: the clocks change in it
        offset = known[hour]
        return in_calendar(micros - (_offset(micros, zone) if offset is None else offset))

    return instant_of


def _offset(micros: int, zone: tzinfo) -> int:
    day, of_day = divmod(micros, A_DAY)
    second, fraction = divmod(of_day, 1_000_000)
    at = date.fromordinal(day + ORDINAL_OF_1970)
    moment = datetime(at.year, at.month, at.day, second // 3_600, second // 60 % 60, second % 60, fraction)
    return offset_micros(moment, zone)


def as_stored(converter: Converter, kind: T.DataType, zone: tzinfo | None = None) -> Converter:
    """Moments as the stored type. `zone`: the zone of moments without a zone that are stored as instants."""
    if isinstance(kind, T.DateType):
        return then(converter, lambda micros: micros // A_DAY)
    if not isinstance(kind, T.TimestampType | T.TimestampNTZType):
        return NOTHING
    if zone is not None and isinstance(kind, T.TimestampType):
        return then(converter, in_zone(zone))
    return converter


def midnights(converter: Converter, kind: T.DataType, zone: tzinfo | None) -> Converter:
    """Dates as the stored type. Where times are stored, a date becomes its midnight, which has no zone."""
    if isinstance(kind, T.DateType):
        return converter
    return as_stored(then(converter, lambda day: day * A_DAY), kind, zone)


def then(converter: Converter, further: Callable[[Any], Any]) -> Converter:
    """A converter that applies `further` to the results of another one. None stays None."""
    return chained(converter, each(further))
