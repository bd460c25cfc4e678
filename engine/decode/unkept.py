"""Values of a source that no stored type can hold: they do not fit, and are rescued."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode import values
from engine.decode.conversion import CALENDAR, DECIMALS
from engine.decode.shape import ColumnShape, Encoding

_COUNTING: Final = frozenset({"days", "millis", "micros", "nanos", "moment", "instant"})


def unkept(text: Column, column: ColumnShape) -> Column:
    """Whether a text that does not fit is a value of the source that no stored type can hold: rescued, not rejected.

    Infinity, years before 1 or after 9999, numbers of more digits than a decimal has. A number that a wider column
    would hold is rejected: the spec can be mended.
    """
    if not isinstance(column.value_type, T.DecimalType):
        return beyond_calendar(text, column)
    widest = T.DecimalType(values.DECIMAL_DIGITS, column.value_type.scale)
    encodings = dict.fromkeys(encoding for _, encoding in column.encodings if encoding.kind in DECIMALS)
    too_long = [F.coalesce(_too_long(text, encoding, widest), F.lit(False)) for encoding in encodings]
    return F.greatest(F.lit(False), F.lit(False), *too_long)


def beyond_calendar(text: Column, column: ColumnShape) -> Column:
    """Whether a text that does not fit is a date or time, but none of the years 1 to 9999."""
    kinds = {encoding.kind for _, encoding in column.encodings} & CALENDAR
    if not kinds:
        return F.lit(False)
    written = text.rlike(values.OUT_OF_CALENDAR)
    return written | text.rlike(values.A_COUNT) if kinds & _COUNTING else written


def _too_long(text: Column, encoding: Encoding, widest: T.DecimalType) -> Column:
    """A number, but not one of the widest decimals, nor of those with more places."""
    scale = F.lit(encoding.size or 0)
    if encoding.kind in ("decimal_text", "decimal_number"):
        exact = F.nullif(F.regexp_extract(text, values.NUMBER, 1), F.lit(""))
    else:
        fixed = values.decimal_digits(F.hex(F.try_to_binary(text, F.lit("base64"))), scale)
        exact = fixed if encoding.kind == "decimal_base64" else values.variable_scale_digits(text)
        if encoding.kind == "decimal_either":
            exact = F.when(text.startswith("{"), exact).otherwise(fixed)

    def is_long(digits: Column) -> Column:
        unfit = digits.isNotNull() & values.decimal_text(digits, widest).isNull()
        return unfit & values.let(values.extent(digits), is_wide)

    def is_wide(extent: Column) -> Column:
        whole, places = extent["before"], extent["behind"]
        too_many = (whole > values.DECIMAL_DIGITS - widest.scale) | (whole + places > values.DECIMAL_DIGITS)
        return F.coalesce(too_many, F.lit(True))

    return values.let(exact, is_long)
