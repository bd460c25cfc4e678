"""Instants that order events. Spanner and SharePlex write them with up to nine digits of a second, or as a number.

2023-02-24T17:17:00.678847001-08:00        without an offset: in UTC
{"seconds": 1677287820, "nanos": 678847001}
1677287820678847                           microseconds since 1970
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from siltstone.engine.decode.json_value import PARSE_ERRORS, parse_object

NANOS: Final = 1_000_000_000
"""Nanoseconds per second."""
_USUAL: Final = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z?", re.ASCII)
_WRITTEN: Final = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d*))?(Z|[+-].*)?", re.ASCII)
_OFFSET: Final = re.compile(r"([+-])(\d{1,2})(?::(\d{1,2})|(?<=\d\d)(\d\d))?", re.ASCII)
_COUNTED: Final = re.compile(r"\d{1,18}", re.ASCII)
_START: Final = datetime(1970, 1, 1)
_FIRST: Final = -719_162 * 86_400 * NANOS  # 0001-01-01
_AFTER_LAST: Final = 2_932_897 * 86_400 * NANOS  # 10000-01-01
_LONGEST_OFFSET: Final = 18 * 3_600


def unix_nanos(text: str) -> int | None:
    """Nanoseconds since 1970-01-01T00:00:00Z; None if the text is not an instant of the years 1 to 9999."""
    usual = _USUAL.fullmatch(text)
    if usual is None:
        return _unusual(text)
    seconds = seconds_of(usual[1])
    return None if seconds is None else seconds * NANOS + int((usual[2] or "").ljust(9, "0"))


@lru_cache(maxsize=4_000)
def seconds_of(moment: str) -> int | None:
    """Seconds since 1970-01-01T00:00:00 of an ISO 8601 time with whole seconds; None if the text is not one."""
    try:
        since = datetime.fromisoformat(moment) - _START
    except ValueError:
        return None
    return since.days * 86_400 + since.seconds


def written_seconds(seconds: int) -> str:
    """An ISO 8601 time with whole seconds; outside of the years 1 to 9999, the number of seconds."""
    try:
        return (_START + timedelta(seconds=seconds)).isoformat()
    except OverflowError:
        return str(seconds)


def _unusual(text: str) -> int | None:
    if text.startswith("{"):
        nanos = _of_parts(text)
    elif _COUNTED.fullmatch(text):
        nanos = int(text) * 1_000
    else:
        nanos = _with_offset(text)
    return nanos if nanos is not None and _FIRST <= nanos < _AFTER_LAST else None


def _with_offset(text: str) -> int | None:
    written = _WRITTEN.fullmatch(text.rstrip(" "))
    seconds = None if written is None else seconds_of(written[1])
    if written is None or seconds is None:
        return None
    offset = _offset(written[3] or "Z")
    return None if offset is None else (seconds - offset) * NANOS + int((written[2] or "")[:9].ljust(9, "0"))


def _offset(zone: str) -> int | None:
    """The offset of a zone from UTC in seconds."""
    if zone == "Z":
        return 0
    found = _OFFSET.fullmatch(zone)
    if found is None:
        return None
    minutes = int(found[3] or found[4] or 0)
    size = int(found[2]) * 3_600 + minutes * 60
    if minutes > 59 or size > _LONGEST_OFFSET:
        return None
    return -size if found[1] == "-" else size


def _of_parts(text: str) -> int | None:
    try:
        parts = parse_object(text)
    except PARSE_ERRORS:
        return None
    seconds, nanos = parts.get("seconds"), parts.get("nanos") or 0
    return seconds * NANOS + nanos if type(seconds) is int and type(nanos) is int else None
