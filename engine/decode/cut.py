"""Times of which less is stored than the source says: no harm to a value, but two keys would become one."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode.conversion import MICROS_DIGITS, read_type
from engine.decode.shape import ColumnShape

BEYOND_MICROS: Final = r":[0-9]{2}\.[0-9]{6}[0-9]*[1-9]"
"""Digits of a second that no time stores."""


def can_be_cut(column: ColumnShape) -> bool:
    """Whether the column's values are times of which digits behind the microsecond are not stored."""
    is_moment = isinstance(column.value_type, T.TimestampType | T.TimestampNTZType)
    return is_moment or any(encoding.kind == "nanos" for _, encoding in column.encodings)


def is_cut(value: Column, column: ColumnShape) -> Column:
    """Whether a time, as the reader gave it, says more than is stored of it."""
    kind, encodings = read_type(column), [encoding for _, encoding in column.encodings]
    counted = all(encoding.kind == "nanos" or (encoding.size or 0) > MICROS_DIGITS for encoding in encodings)
    count = value.try_cast("bigint") if isinstance(kind, T.StringType) else value
    beyond = F.coalesce(count % 1_000 != 0, F.lit(False)) if counted else F.lit(False)
    return (beyond | value.rlike(BEYOND_MICROS)) if isinstance(kind, T.StringType) else beyond
