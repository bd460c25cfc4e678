"""Values as JSON text, with all digits of their times."""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

KEEP_NULLS: Final = {"ignoreNullFields": "false"}
"""Keeps null fields: an absent field is not the same as null."""
INSTANT: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
LOCAL: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
MICROS: Final = {"timestampFormat": INSTANT, "timestampNTZFormat": LOCAL}
"""Times with all their digits."""


def exact_json(value: Column, kind: T.DataType, options: Mapping[str, str] | None = None) -> Column:
    """A struct, array or map as JSON text. Its times have six digits of the second if Spark's three would lose some.

    In all other cases the text stays as Spark writes it, so that stored texts, and ids made from them, do not change.
    """
    usual = F.to_json(value, dict(options or {}))
    if not has_times(kind):
        return usual
    finer = {**(options or {}), **MICROS}
    read_back = F.from_json(usual, kind)  # type: ignore[arg-type]  # also for a map
    return F.when(F.to_json(read_back, finer) == F.to_json(value, finer), usual).otherwise(F.to_json(value, finer))


def has_times(kind: T.DataType) -> bool:
    """Whether a type contains times."""
    if isinstance(kind, T.StructType):
        return any(has_times(field.dataType) for field in kind)
    if isinstance(kind, T.ArrayType | T.MapType):
        return has_times(kind.elementType if isinstance(kind, T.ArrayType) else kind.valueType)
    return isinstance(kind, T.TimestampType | T.TimestampNTZType)
