"""Time zones by their names in timestamps and specs: Z, +09, +9:30, UTC+9, Europe/Berlin, PST."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET: Final = re.compile("([+-])([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{2}))?|([0-9]{2})([0-9]{2})?)?")
_PREFIXES: Final = ("UTC", "GMT", "UT")
_REGION: Final = re.compile("[A-Za-z][A-Za-z0-9~/._+-]+")
_LARGEST: Final = timedelta(hours=18)
_SHORT: Final = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "EST": "-05:00", "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia",
    "MST": "-07:00", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
}  # fmt: skip
"""The names of Java's `ZoneId.SHORT_IDS`, which Spark uses."""


@lru_cache(maxsize=1_000)
def zone_of(name: str) -> tzinfo | None:
    """The zone with this name. None if there is no such zone."""
    known = _SHORT.get(name, name)
    if known == "Z" or known in _PREFIXES:
        return UTC
    prefix = next((prefix for prefix in _PREFIXES if known.startswith((prefix + "+", prefix + "-"))), "")
    if prefix or known[:1] in ("+", "-"):
        return _offset(known[len(prefix) :])
    if not _REGION.fullmatch(known):
        return None
    try:
        return ZoneInfo(known)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _offset(text: str) -> tzinfo | None:
    match = _OFFSET.fullmatch(text)
    if not match:
        return None
    sign, hours, minutes, seconds, other_minutes, other_seconds = match.groups()
    minute, second = int(minutes or other_minutes or 0), int(seconds or other_seconds or 0)
    size = timedelta(hours=int(hours), minutes=minute, seconds=second)
    if minute > 59 or second > 59 or size > _LARGEST:
        return None
    return timezone(-size if sign == "-" else size)


def source_zone(name: str) -> tzinfo | None:
    """The zone of a source. None for UTC, which needs no conversion."""
    zone = zone_of(name)
    return None if zone is UTC else zone


def offset_micros(local: datetime, zone: tzinfo) -> int:
    """The offset of a local time from UTC in microseconds. If a local time occurs twice, the first one counts. A local
    time that a clock change skips has the offset from before the change."""
    offset = zone.utcoffset(local) or timedelta()
    return (offset.days * 86_400 + offset.seconds) * 1_000_000 + offset.microseconds
