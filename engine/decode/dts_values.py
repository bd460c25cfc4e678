"""Values of DTS's records as text, whatever their type: the images of rows as JSON objects of texts.

Bytes are base64 behind a character that no text of a source begins with, so that neither is taken for the other.
Column functions over `fields` (name, dataTypeNumber) and an image: one value of a union for each field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine.decode.charsets import decoded
from engine.decode.conversion import BYTES_MARK
from engine.decode.dts_schema import VALUES
from engine.decode.dts_types import EITHER

JSONB: Final = 3802  # PostgreSQL's number
DECIMALS: Final = (0, 2, 246, 1700)  # of any source
_MEMBERS: Final = {name: f"member{number}" for number, name in enumerate([*VALUES, "EmptyObject"])}
_BYTES_IN: Final = ("BinaryObject", "BinaryGeometry")
_MICROS: Final = 1_000_000
_NO_CHARSET: Final = ("", "binary")


def texts(fields: Column, image: Column, nanos: Column) -> Column:
    """The text of each value; null for NULL, for what is not there, and for what cannot be read.

    `nanos`: whether the fractions of dates and times count nanoseconds, not microseconds.
    """
    return F.zip_with(fields, image, lambda field, value: _text(field, value, nanos))


def unread(image: Column, read: Column) -> Column:
    """For each value whether it is there and its text is not."""
    return F.zip_with(
        image, read, lambda value, text: value.isNotNull() & _of(value, "EmptyObject").isNull() & text.isNull()
    )


def is_partial(image: Column) -> Column:
    """Whether the image lacks columns."""
    return F.coalesce(F.exists(image, _is_absent), F.lit(False))


def with_keys(keys: Column, fields: Column, before: Column, after: Column) -> Column:
    """The image after, with those of its key columns that it lacks as they were before: an update left them alone."""
    zipped = F.arrays_zip(fields["name"].alias("name"), before.alias("old"), after.alias("new"))

    def kept(entry: Column) -> Column:
        lacks = _is_absent(entry["new"]) & F.array_contains(keys, entry["name"])
        return F.when(lacks, F.coalesce(entry["old"], entry["new"])).otherwise(entry["new"])

    return F.transform(zipped, kept)


def image_json(fields: Column, image: Column, read: Column) -> Column:
    """The row as a JSON object of texts: null is there, and absent is not."""
    zipped = F.arrays_zip(fields["name"].alias("key"), read.alias("value"), image.alias("from"))
    there = F.filter(zipped, lambda entry: ~F.coalesce(_is_absent(entry["from"]), F.lit(False)))
    entries = F.transform(there, lambda entry: F.struct(entry["key"].alias("key"), entry["value"].alias("value")))
    whole = F.map_from_arrays(fields["name"], read)
    return F.to_json(F.when(is_partial(image), F.map_from_entries(entries)).otherwise(whole))


def told(fields: Column, before: Column, after: Column) -> Column:
    """What the values of both images say of their columns beside the type's number, one text a column.

    `b`: bytes. In columns of decimals: `12,2`, i for a whole number, t for anything else. `t/12,2`: the one before, the
    other after.
    """

    def fact(field: Column, value: Column) -> Column:
        charset, number = _of(value, "Character")["charset"], field["dataTypeNumber"]
        is_bytes = _of(value, "BinaryObject").isNotNull() & (number != JSONB)
        is_binary = is_bytes | _of(value, "BinaryGeometry").isNotNull() | charset.isin(*_NO_CHARSET)
        is_there = value.isNotNull() & _of(value, "EmptyObject").isNull()
        return F.when(is_binary, "b").when(number.isin(*DECIMALS) & is_there, _digits(value))

    nothing = F.array().cast("array<string>")
    old, new = (F.coalesce(F.zip_with(fields, image, fact), nothing) for image in (before, after))
    return F.array_join(F.zip_with(old, new, _both), ";", "")


def _both(one: Column, other: Column) -> Column:
    """What both facts say: of two decimals the one that has room for each, so that few facts differ."""
    (digits, places), (others, other_places) = [
        [F.split_part(fact, F.lit(","), F.lit(part)).try_cast("bigint") for part in (1, 2)] for fact in (one, other)
    ]
    scale = F.greatest(places, other_places)
    whole = F.greatest(digits - places, others - other_places)
    are_usual = (places >= 0) & (other_places >= 0) & (digits > 0) & (others > 0)
    are_usual = are_usual & (digits >= places) & (others >= other_places)
    return (
        F.when(one.isNull() | (one == other), other)
        .when(other.isNull(), one)
        .when(are_usual, F.concat_ws(",", (whole + scale).cast("string"), scale.cast("string")))
        .otherwise(F.concat(one, F.lit(EITHER), other))
    )


def _digits(value: Column) -> Column:
    decimal = _of(value, "Decimal")
    said = F.concat_ws(",", decimal["precision"].cast("string"), decimal["scale"].cast("string"))
    return F.when(decimal.isNotNull(), said).when(_of(value, "Integer").isNotNull(), "i").otherwise("t")


def _of(value: Column, kind: str) -> Column:
    return value[_MEMBERS[kind]]


def _is_absent(value: Column) -> Column:
    return _of(value, "EmptyObject") == "NONE"


def _text(field: Column, value: Column, nanos: Column) -> Column:
    """The kinds that are met most often first."""
    shown: dict[str, Callable[[Column], Column]] = {
        "Character": _character,
        "Integer": lambda number: number["value"],
        "Decimal": _number,
        "DateTime": lambda parts: _date_time(parts, nanos),
        "Timestamp": _timestamp,
        "TextObject": lambda found: found["value"],
        "Float": lambda number: number["value"].cast("string"),
        "BinaryObject": lambda found: _bytes(found["value"], field["dataTypeNumber"] == JSONB),
        "TimestampWithTimeZone": lambda found: _zoned(found["value"], found["timezone"], nanos),
        "BinaryGeometry": lambda found: _marked(found["value"]),
        "TextGeometry": lambda found: found["value"],
    }
    text = F.lit(None).cast("string")
    for kind, as_text in reversed(shown.items()):
        found = _of(value, kind)
        text = F.when(found.isNotNull(), as_text(found)).otherwise(text)
    return text


def _number(found: Column) -> Column:
    """Digits, NaN or Infinity, which Oracle writes as ~."""
    text = found["value"]
    return F.when(text.isin("~", "-~"), F.replace(text, F.lit("~"), F.lit("Infinity"))).otherwise(text)


def _character(found: Column) -> Column:
    charset, data = F.lower(found["charset"]), found["value"]
    return F.when(charset.isin(*_NO_CHARSET), _marked(data)).otherwise(decoded(data, charset))


def _marked(data: Column) -> Column:
    return F.concat(F.lit(BYTES_MARK), F.base64(data))


def _bytes(data: Column, is_json: Column) -> Column:
    """Bytes; PostgreSQL's jsonb is text, perhaps behind the number of its version."""
    bare = F.when(F.substring(data, 1, 1) == F.lit(bytearray(b"\x01")), F.substring(data, 2, 2**31 - 1)).otherwise(data)
    return F.when(is_json, decoded(bare, F.lit("utf8"))).otherwise(_marked(data))


def _timestamp(found: Column) -> Column:
    """Seconds and, for all that it is called, microseconds; what no clock reaches stays a number."""
    seconds = found["timestamp"]
    micros = F.try_add(F.try_multiply(seconds, F.lit(_MICROS)), found["millis"].cast("bigint"))
    return F.coalesce(F.concat(F.timestamp_micros(micros).cast("string"), F.lit("Z")), seconds.cast("string"))


def _date_time(parts: Column, nanos: Column) -> Column:
    """A date, a time of day, both, or a year alone: by the parts that are there. Null where they are none of these."""
    year, month, day, hour, minute, second = (
        parts[name] for name in ("year", "month", "day", "hour", "minute", "second")
    )
    fraction = parts["millis"].cast("bigint")
    micros = F.when(nanos, F.try_divide(fraction, F.lit(1_000)).cast("bigint")).otherwise(fraction)
    date = F.concat(_year(year), F.lit("-"), _two(month), F.lit("-"), _two(day))
    clock = _clock(hour, minute, second, micros)
    fits = (F.least(month, day) >= 0) & (F.greatest(month, day) < 100)
    return (
        F.when(year.isNull(), clock)
        .when(month.isNull() & hour.isNull(), year.cast("string"))
        .when(fits, F.when(hour.isNull(), date).when(~clock.startswith("-"), F.concat(date, F.lit(" "), clock)))
    )


def _clock(hour: Column, minute: Column, second: Column, micros: Column) -> Column:
    """HH:MM:SS.ffffff, perhaps below zero or over 24 hours; null where a part is out of its range."""
    rest = F.coalesce(micros, F.lit(0).cast("bigint"))
    negative = F.least(hour, minute, second, rest) < 0
    hours = F.abs(hour.cast("bigint")).cast("string")
    text = F.concat(
        F.when(negative, "-").otherwise(""),
        F.lpad(hours, F.greatest(F.length(hours), F.lit(2)), F.lit("0")),
        F.lit(":"),
        _two(F.abs(minute.cast("bigint"))),
        F.lit(":"),
        _two(F.abs(second.cast("bigint"))),
        F.lit("."),
        F.lpad(F.abs(rest).cast("string"), 6, "0"),
    )
    fits = minute.between(-59, 59) & second.between(-61, 61) & rest.between(1 - _MICROS, _MICROS - 1)
    return F.when(fits, text)


def _year(year: Column) -> Column:
    digits = F.abs(year.cast("bigint")).cast("string")
    return F.concat(
        F.when(year < 0, "-").otherwise(""), F.lpad(digits, F.greatest(F.length(digits), F.lit(4)), F.lit("0"))
    )


def _two(number: Column) -> Column:
    return F.lpad(number.cast("string"), 2, "0")


def _zoned(parts: Column, zone: Column, nanos: Column) -> Column:
    """An instant in UTC; as it came, where there is no date, or zone or time is none that is known."""
    gap = F.when(zone.rlike("^[+-]"), "").otherwise(" ")
    written = F.concat(_date_time(parts, nanos), gap, zone)
    # To a time of day alone the cast would give the day on which it is read.
    has_date = parts["year"].isNotNull() & parts["month"].isNotNull()
    instant = F.when(has_date, written.try_cast("timestamp"))
    return F.coalesce(F.concat(instant.cast("string"), F.lit("Z")), written)
