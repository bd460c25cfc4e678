"""Arrow's types for the types of a table's columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
from pyspark.sql import types as T

_SIMPLE: Final[dict[type[T.DataType], pa.DataType]] = {
    T.StringType: pa.string(),
    T.BinaryType: pa.binary(),
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.DateType: pa.date32(),
    T.TimestampType: pa.timestamp("us", tz="UTC"),
    T.TimestampNTZType: pa.timestamp("us"),
}


def arrow_type(kind: T.DataType) -> pa.DataType:
    """The Arrow type that holds the values of a column's type."""
    if isinstance(kind, T.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, T.ArrayType):
        return pa.list_(pa.field("element", arrow_type(kind.elementType), nullable=kind.containsNull))
    if isinstance(kind, T.StructType):
        return pa.struct(arrow_fields(kind))
    return _SIMPLE[type(kind)]


def arrow_fields(fields: Iterable[T.StructField]) -> list[pa.Field]:
    """The Arrow fields of a struct's fields."""
    return [pa.field(field.name, arrow_type(field.dataType), nullable=field.nullable) for field in fields]


def arrow_schema(fields: Iterable[T.StructField]) -> pa.Schema:
    """The Arrow schema of a frame's columns."""
    return pa.schema(arrow_fields(fields))
