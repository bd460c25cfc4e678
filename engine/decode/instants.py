"""Instants as text: up to nine digits of a second, with an offset or without (UTC); or counted since 1970.

Spanner and SharePlex write them so.

`2023-02-24T17:17:00.678847001-08:00`, `{"seconds": 1, "nanos": 2}`, and whole numbers, which are microseconds.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine.json_text import from_json
from engine.jvm import CATALOG

_PARTS: Final = "struct<seconds: bigint, nanos: bigint>"
_A_SECOND: Final = 1_000_000
_MICROS_AT, _NANOS_AT = 21, 27  # where the digits of a second begin, and those that a microsecond does not hold


def unix_micros(text: Column) -> Column:
    """Microseconds since 1970-01-01T00:00:00Z, nanoseconds cut; null where the text is no timestamp of the calendar."""
    return F.call_function(f"{CATALOG}.instant_micros", text)


def plainly_written(text: Column) -> Column:
    """Microseconds of an instant that is written in the usual way, with Z or without; null for every other text."""
    return F.call_function(f"{CATALOG}.written_micros", text)


def nanos(text: Column, micros: Column) -> Column:
    """The nanoseconds of the second; `micros`: what `unix_micros` made of the text."""
    of_micros = F.pmod(micros, F.lit(_A_SECOND)) * 1_000
    is_full = F.substring(text, _MICROS_AT, 6).rlike("^[0-9]{6}$")  # else it is an offset that stands there
    beyond = F.rpad(F.regexp_extract(F.substring(text, _NANOS_AT, 3), "^[0-9]*", 0), 3, "0").try_cast("int")
    written = F.when((F.length(text) > _NANOS_AT) & is_full, beyond).otherwise(0)
    of_parts = F.pmod(F.coalesce(from_json(text, _PARTS)["nanos"], F.lit(0)), F.lit(1_000))
    return of_micros + F.when(text.startswith("{"), of_parts).otherwise(written)


def seconds(micros: Column) -> Column:
    """Whole seconds since 1970."""
    return F.unix_seconds(F.timestamp_micros(micros))


def micros(text: Column) -> Column:
    """The instant, its nanoseconds cut to microseconds."""
    return F.timestamp_micros(unix_micros(text))
