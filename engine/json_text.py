"""Values as JSON text, to the last digit of their times."""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

KEEP_NULLS: Final = {"ignoreNullFields": "false"}
"""Absent is not null."""
INSTANT: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
LOCAL: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
MICROS: Final = {"timestampFormat": INSTANT, "timestampNTZFormat": LOCAL}
"""Times with all their digits."""


def exact_json(value: Column, kind: T.DataType, options: Mapping[str, str] | None = None) -> Column:
    """A struct, array or map as JSON text; its times have six digits of the second where Spark's three say less.

    Only there: so texts that are stored, and the ids that are made of them, stay what they were.
    """
    usual = F.to_json(value, dict(options or {}))
    if not has_times(kind):
        return usual
    finer = {**(options or {}), **MICROS}
    read_back = F.from_json(usual, kind)  # type: ignore[arg-type]  # of a map, too
    return F.when(F.to_json(read_back, finer) == F.to_json(value, finer), usual).otherwise(F.to_json(value, finer))


def has_times(kind: T.DataType) -> bool:
    """Whether there are times in a type."""
    if isinstance(kind, T.StructType):
        return any(has_times(field.dataType) for field in kind)
    if isinstance(kind, T.ArrayType | T.MapType):
        return has_times(kind.elementType if isinstance(kind, T.ArrayType) else kind.valueType)
    return isinstance(kind, T.TimestampType | T.TimestampNTZType)
