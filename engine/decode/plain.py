"""Rows as most of them come: each column there and no other, each value of its type. One look gives what is stored.

A reader of siltstone's own (`engine/jvm`, `Stored`) gives the stored row of an image, and which columns it has, or
nothing where it is not sure that the steps of `rows` would give the very same. What it gives is a row of which nothing
is lost or rescued.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode.conversion import MICROS_DIGITS, unit_of
from engine.decode.cut import can_be_cut
from engine.decode.shape import ColumnShape, Encoding, TableShape
from engine.decode.unavailable import PLACEHOLDER, can_be_unavailable, placeholders
from engine.decode.values import A_SECOND
from engine.jvm import BETWEEN_WORDS, CATALOG

READ_ROW: Final = f"{CATALOG}.read_row"
_LOCAL, _ZONED, _CUT = 1, 2, 4  # what a written time may say: `Times` in engine/jvm
_SAME: Final = {
    ("text", T.StringType): "text",
    ("any_text", T.StringType): "any_text",
    ("boolean", T.BooleanType): "boolean",
    ("integer", T.IntegerType): "int",
    ("integer", T.LongType): "long",
    ("unsigned", T.DecimalType): "unsigned",
    ("decimal_text", T.DecimalType): "decimal_text",
    ("decimal_number", T.DecimalType): "decimal_number",
    ("base64", T.BinaryType): "binary",
    ("days", T.DateType): "days",
    ("date", T.DateType): "date",
    ("time_millis", T.StringType): f"clock {A_SECOND['millis']}",
    ("time_micros", T.StringType): f"clock {A_SECOND['micros']}",
    ("time_nanos", T.StringType): f"clock {A_SECOND['nanos']}",
    ("millis", T.DateType): f"day_of {A_SECOND['millis']}",
    ("micros", T.DateType): f"day_of {A_SECOND['micros']}",
    ("nanos", T.DateType): f"day_of {A_SECOND['nanos']}",
    ("written_text", T.StringType): "text",
    ("written_integer", T.IntegerType): "written_int",
    ("written_integer", T.LongType): "written_long",
    ("written_integer", T.DecimalType): "decimal_text",
    ("written_boolean", T.BooleanType): "written_boolean",
    ("written_time", T.StringType): "written_clock",
    ("written_enum", T.StringType): "written_label",
    ("written_set", T.StringType): "written_label",
    ("marked", T.BinaryType): "marked",
    ("marked", T.StringType): "unmarked",
    ("unsure", T.StringType): "unmarked",
}
_OF_SIZES: Final = {
    ("written_bits", T.StringType): "written_bits",
    ("written_bytes", T.BinaryType): "written_bytes",
}
_ASKS: Final = ("text", "any_text", "binary")
"""Ways that ask whether a value is an unavailable one. No number or moment looks like one, but these texts could."""
_COULD_BE: Final = ("text_clock", "written_label", "written_bytes")
_COUNTS: Final = ("millis", "micros", "nanos")


def plain_row(image: Column, schema_hash: Column, shape: TableShape, time_zone: str, may_lack: bool = False) -> Column:
    """Of a plain image `row`, as it is stored, before its masks, and `fields`: the columns that are there, null where
    all are. Null for every other image. `may_lack`: an image is plain, too, of which the source left values out: their
    columns are not there."""
    kind = row_and_fields(shape)
    plans = plans_of(shape, time_zone, may_lack)
    if not any(plans.values()):
        return F.lit(None).cast(kind)
    plan = F.lit(plans.pop(None)).cast("string")
    for number, other in plans.items():
        plan = F.when(schema_hash == F.lit(number), F.lit(other).cast("string")).otherwise(plan)
    return F.call_function(READ_ROW, image, F.lit(None).cast(kind), plan)


def is_ever_plain(shape: TableShape, time_zone: str) -> bool:
    """Whether an image of the table can be a plain one."""
    return any(plans_of(shape, time_zone).values())


def row_and_fields(shape: TableShape) -> T.StructType:
    """The type of what `plain_row` gives."""
    row = T.StructType([T.StructField(column.name, column.value_type) for column in shape.columns])
    return T.StructType([T.StructField("row", row), T.StructField("fields", T.ArrayType(T.StringType()))])


def plans_of(shape: TableShape, time_zone: str, may_lack: bool = False) -> dict[int | None, str | None]:
    """For the reader, by the hash of an event's schema: which fields are left out, and how the values of each column
    are carried, a line each. Those of None are for every other event. None where a way is not known."""
    numbers = dict.fromkeys(number for column in shape.columns for number, _ in column.encodings if number is not None)
    usual = _plan(shape, None, time_zone, may_lack)
    plans = {number: plan for number in numbers if (plan := _plan(shape, number, time_zone, may_lack)) != usual}
    return plans | {None: usual}


def _plan(shape: TableShape, schema_hash: int | None, time_zone: str, may_lack: bool) -> str | None:
    ways = [_way(column, schema_hash, column.name in shape.keys, time_zone, may_lack) for column in shape.columns]
    known = [BETWEEN_WORDS.join(way) for way in ways if way is not None]
    if shape.silent_nulls or not ways or len(known) < len(ways):
        return None
    # A name with a sign of control in it stands in an image with an escape, which the reader is not sure of.
    left_out = [name for name in sorted(shape.dropped) if name and name.isprintable()]
    return "\n".join([BETWEEN_WORDS.join(left_out), *known])


def _way(
    column: ColumnShape, schema_hash: int | None, is_key: bool, time_zone: str, may_lack: bool
) -> list[str] | None:
    encodings = dict(column.encodings)
    encoding = encodings.get(schema_hash, encodings.get(None))
    if encoding is None:
        return None
    way = _way_of(encoding, column.value_type, is_key and can_be_cut(column), time_zone)
    if way is None:
        return None
    words = way.split(" ")
    if not can_be_unavailable(column):
        return words
    if words[0] in _COULD_BE:
        return None
    if words[0] not in _ASKS:
        return words
    left_out = (PLACEHOLDER,) if isinstance(column.value_type, T.BinaryType) else placeholders()
    # A key that is left out is no key that is lacking: the one beside the image does not stand in for it.
    return [*words, "?" if may_lack and not is_key else "!", *left_out]


def _way_of(encoding: Encoding, kind: T.DataType, exact: bool, time_zone: str) -> str | None:
    """`exact`: digits behind the microsecond must be looked for."""
    if encoding.kind == "decimal_base64":
        return f"decimal_base64 {encoding.size or 0}" if isinstance(kind, T.DecimalType) else None
    if encoding.kind in ("floating", "written_floating") and isinstance(kind, T.FloatType | T.DoubleType):
        return _way_of_floating(encoding, kind)
    if encoding.kind == "time" and isinstance(kind, T.StringType):
        unit = unit_of(MICROS_DIGITS if encoding.size is None else encoding.size)
        return None if unit == "millis" else f"text_clock {A_SECOND[unit]}"  # those of MySQL are microseconds
    if isinstance(kind, T.TimestampNTZType | T.TimestampType):
        return _way_of_moment(encoding, kind, exact, time_zone)
    if (encoding.kind, type(kind)) in _OF_SIZES:
        return f"{_OF_SIZES[encoding.kind, type(kind)]} {encoding.size or 0}"
    return None if exact else _SAME.get((encoding.kind, type(kind)))


def _way_of_floating(encoding: Encoding, kind: T.DataType) -> str | None:
    is_single = isinstance(kind, T.FloatType)
    if encoding.is_single and not is_single:
        return None
    written = "written_" if encoding.kind == "written_floating" else ""
    return written + ("float" if is_single else "double")


def _way_of_moment(encoding: Encoding, kind: T.DataType, exact: bool, time_zone: str) -> str | None:
    """A time of no zone that is stored as an instant is one of the source's zone: none but UTC is known here."""
    local, cut = isinstance(kind, T.TimestampNTZType), 0 if exact else _CUT
    if encoding.kind == "zoned_text":
        return None if local else f"moment 0 {_ZONED | cut}"
    if encoding.kind == "written_moment":
        zone = _LOCAL if local else _ZONED | _LOCAL if time_zone == "UTC" else _ZONED
        return f"moment 0 {zone | cut}"
    if not local and time_zone != "UTC":
        return None
    if encoding.kind == "local_text":
        return f"moment 0 {_LOCAL | cut}"
    if encoding.kind in ("moment", "instant"):
        written = (_LOCAL if local else _LOCAL | _ZONED) | cut
        if encoding.size is None:  # what a number counts hangs on the connector
            return f"moment 0 {written}"
        unit = unit_of(encoding.size)
    elif encoding.kind in _COUNTS:
        unit, written = encoding.kind, 0
    else:
        return None
    return None if exact and unit == "nanos" else f"moment {A_SECOND[unit]} {written}"
