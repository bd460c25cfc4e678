"""Dates and times of DTS's records as text.

Times in UTC have the form `2020-12-31 23:59:59.5Z`; years before 1 and after 9999 have a sign.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

A_SECOND: Final = 1_000_000
A_DAY: Final = 86_400 * A_SECOND
_LONGEST: Final = 2**63 - 1
_LARGEST_OFFSET: Final = timedelta(hours=18)
_EPOCH_START: Final = datetime(1970, 1, 1)
_FIRST: Final = -719_162 * A_DAY  # 0001-01-01
_LAST: Final = 2_932_897 * A_DAY - 1  # 9999-12-31
_YEARS: Final = 400  # the calendar repeats after these
_DAYS_OF_YEARS: Final = 146_097


def timestamp(found: dict[str, Any], in_nanos: bool) -> str:  # noqa: ARG001  # all kinds have this parameter
    """A time of seconds and microseconds (the field is called `millis`); the number, if it is too large for a time."""
    micros = found["timestamp"] * A_SECOND + found["millis"]
    return f"{_instant(micros)}Z" if abs(micros) <= _LONGEST else str(found["timestamp"])


def date_time(parts: dict[str, int | None], in_nanos: bool) -> str | None:
    """A date, a time of day, both, or only a year, by the parts that are there. None for other combinations."""
    year, month, day, hour = parts["year"], parts["month"], parts["day"], parts["hour"]
    if year is None:
        return _clock(parts, in_nanos)
    if month is None and hour is None:
        return str(year)
    if month is None or day is None or not (0 <= month < 100 and 0 <= day < 100):
        return None
    date = f"{year:05d}" if year < 0 else f"{year:04d}"
    date = f"{date}-{month:02d}-{day:02d}"
    if hour is None:
        return date
    clock = _clock(parts, in_nanos)
    return None if clock is None or clock.startswith("-") else f"{date} {clock}"


def _clock(parts: dict[str, int | None], in_nanos: bool) -> str | None:
    """HH:MM:SS.ffffff, also below zero or over 24 hours; None if a part is missing or out of its range."""
    hour, minute, second, fraction = parts["hour"], parts["minute"], parts["second"], parts["millis"] or 0
    if hour is None or minute is None or second is None:
        return None
    micros = _towards_zero(fraction) if in_nanos else fraction
    if not (-60 < minute < 60 and -62 < second < 62 and -A_SECOND < micros < A_SECOND):
        return None
    if hour >= 0 and minute >= 0 and second >= 0 and micros >= 0:
        return f"{hour:02d}:{minute:02d}:{second:02d}.{micros:06d}"
    return f"-{abs(hour):02d}:{abs(minute):02d}:{abs(second):02d}.{abs(micros):06d}"


def _towards_zero(nanos: int) -> int:
    return nanos // 1_000 if nanos >= 0 else -(-nanos // 1_000)


def zoned(found: dict[str, Any], in_nanos: bool) -> str | None:
    """An instant in UTC. It stays as written if it has no date, or if its zone or its time is unknown."""
    parts, zone = found["value"], found["timezone"]
    written = date_time(parts, in_nanos)
    if written is None:
        return None
    micros = _local_micros(parts, in_nanos)
    offset = None if micros is None else _offset(zone, micros)
    if micros is None or offset is None or abs(micros - offset) > _LONGEST:
        return written + zone if zone.startswith(("+", "-")) else f"{written} {zone}"
    return f"{_instant(micros - offset)}Z"


def _local_micros(parts: dict[str, Any], in_nanos: bool) -> int | None:
    """Microseconds since 1970-01-01 of a date and a time of day; None if a part is missing or invalid."""
    year, month, day, hour, minute, second, fraction = parts.values()
    if None in (year, month, day, hour, minute, second) or not (0 <= hour < 24):
        return None
    turns, year_of_turn = divmod(year, _YEARS)
    micros = (fraction or 0) // 1_000 if in_nanos else fraction or 0
    try:
        moment = datetime(year_of_turn + _YEARS, month, day, hour, minute, second, micros)
    except ValueError:
        return None
    since = moment - _EPOCH_START
    days: int = since.days + (turns - 1) * _DAYS_OF_YEARS
    return days * A_DAY + since.seconds * A_SECOND + since.microseconds


def _offset(zone: str, micros: int) -> int | None:
    """Microseconds from UTC to a local time; None if the zone is unknown, or the time is outside of the calendar."""
    fixed = _fixed_offset(zone)
    if fixed is not None:
        return fixed
    from siltstone.engine.decode.types.zones import offset_micros, zone_of

    known = zone_of(zone)
    if known is None or not _FIRST <= micros <= _LAST:
        return None
    return offset_micros(_EPOCH_START + timedelta(microseconds=micros), known)


@lru_cache(maxsize=1_000)
def _fixed_offset(zone: str) -> int | None:
    if zone in ("UTC", "Z"):
        return 0
    try:
        offset = datetime.strptime(zone, "%z").utcoffset() if len(zone) == 6 and zone[3] == ":" else None
    except ValueError:
        return None
    return None if offset is None or abs(offset) > _LARGEST_OFFSET else offset // timedelta(microseconds=1)


def _instant(micros: int) -> str:
    """A date and a time of day, without trailing zeros in the fraction of the second."""
    if _FIRST <= micros <= _LAST:
        text = (_EPOCH_START + timedelta(microseconds=micros)).isoformat(" ")
    else:
        turns, rest = divmod(micros, _DAYS_OF_YEARS * A_DAY)
        moment = _EPOCH_START + timedelta(microseconds=rest)
        year = moment.year + turns * _YEARS
        sign = "+" if year > 9_999 else "-" if year < 0 else ""
        text = f"{sign}{abs(year):04d}{moment.isoformat(' ')[4:]}"
    return text.rstrip("0") if "." in text else text
