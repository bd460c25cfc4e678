"""Durations as text: `15m`, `5s`, `1h30m`, `2d`, `500ms`."""

from __future__ import annotations

import re
from datetime import timedelta

DURATION_PATTERN = r"(?=\d)(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?"

_DURATION = re.compile(r"(?=\d)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?", re.ASCII)
_LONGEST = timedelta(days=36_500)


def parse_duration(text: str) -> timedelta:
    """Parse a duration.

    Raises: ValueError if the text is not a duration, or is longer than 100 years.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("is not a duration")
    amounts = [int(amount or 0) for amount in match.groups()]
    if max(amounts) > 10**15:
        raise ValueError("is longer than 100 years")
    days, hours, minutes, seconds, millis = amounts
    try:
        duration = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=millis)
    except OverflowError:
        raise ValueError("is longer than 100 years") from None
    if duration > _LONGEST:
        raise ValueError("is longer than 100 years")
    return duration
