"""Spanner's timestamps: up to nine digits of a second, with an offset or without (UTC); or counted since 1970.

`2023-02-24T17:17:00.678847001-08:00`, `{"seconds": 1, "nanos": 2}`, and whole numbers, which are microseconds.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

_WRITTEN: Final = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?$"
)
_COUNTED: Final = "^[0-9]{1,18}$"
_PARTS: Final = "seconds bigint, nanos bigint"


def seconds(text: Column) -> Column:
    """Whole seconds since 1970-01-01T00:00:00Z; null where the text is no timestamp."""
    zone = F.regexp_extract(text, _WRITTEN, 4)
    spaced = F.concat_ws(" ", F.regexp_extract(text, _WRITTEN, 1), F.regexp_extract(text, _WRITTEN, 2))
    instant = F.concat(spaced, F.when(zone == "", "Z").otherwise(zone)).try_cast("timestamp")
    return (
        F.when(text.rlike(_WRITTEN), F.unix_seconds(instant))
        .when(text.rlike(_COUNTED), F.floor(text.try_cast("bigint") / 1_000_000))
        .when(text.startswith("{"), F.from_json(text, _PARTS)["seconds"])
    )


def nanos(text: Column) -> Column:
    """The nanoseconds of the second."""
    return (
        F.when(text.rlike(_WRITTEN), F.rpad(F.regexp_extract(text, _WRITTEN, 3), 9, "0").try_cast("bigint"))
        .when(text.rlike(_COUNTED), F.pmod(text.try_cast("bigint"), F.lit(1_000_000)) * 1_000)
        .when(text.startswith("{"), F.coalesce(F.from_json(text, _PARTS)["nanos"], F.lit(0)))
    )


def micros(text: Column) -> Column:
    """The instant, its nanoseconds cut to microseconds."""
    return F.timestamp_micros(seconds(text) * 1_000_000 + F.floor(nanos(text) / 1_000))
