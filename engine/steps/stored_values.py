"""Decoded values as they are stored: masked, with the hash that identifies the content of a change."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.decode.row_shape import ColumnShape, TableShape
from siltstone.engine.names import REDACTED
from siltstone.engine.schema.change_row import change_fields
from siltstone.engine.schema.evolve import MAX_DIGITS


def with_stored_values(decoded: DataFrame, shape: TableShape) -> DataFrame:
    """Decoded changes with masked values and their content hash.

    Needs: the rows of `decode_rows` of a table: the columns of `change_fields` without content_hash, values not masked;
        reason, schema_hash, is_half (one half of a key change that the message did not split).
    Gives: the columns of `change_fields`, then reason.
    Rows: 1:1.
    """
    columns = {
        "key": _masked_struct(F.col("key"), shape.key_columns),
        "row": _masked_struct(F.col("row"), shape.columns),
        "before": _masked_struct(F.col("before"), shape.columns),
        "old_key": _masked_struct(F.col("old_key"), shape.key_columns),
        "new_key": _masked_struct(F.col("new_key"), shape.key_columns),
    }
    masked = decoded.select(*[columns.get(name, F.col(name)).alias(name) for name in decoded.columns])
    hashed = content_hash(shape)
    fields = change_fields(shape.key_type, shape.row_type)
    return masked.select(
        *[
            (hashed if field.name == "content_hash" else F.col(field.name)).cast(field.dataType).alias(field.name)
            for field in fields
        ],
        "reason",
    )


def masked(value: Column, column: ColumnShape) -> Column:
    """The stored value. sha256: salted, in hexadecimal. redact: text becomes asterisks, any other value null."""
    if column.mask == "sha256":
        return F.sha2(F.concat(F.lit(column.salt), _as_text(value, column.value_type)), 256)
    if column.mask == "redact":
        kind = column.value_type
        return F.when(value.isNotNull(), F.lit(REDACTED if isinstance(kind, T.StringType) else None).cast(kind))
    return value


def _as_text(value: Column, kind: T.DataType) -> Column:
    if isinstance(kind, T.BinaryType):
        return F.hex(value)
    return F.to_json(value) if isinstance(kind, T.ArrayType) else value.cast("string")


def _masked_struct(values: Column, columns: Sequence[ColumnShape]) -> Column:
    """The struct with masked values; a null struct stays null. `columns`: all of its columns, in order."""
    if all(column.mask is None for column in columns):
        return values
    return F.when(values.isNotNull(), F.struct(*[masked(values[c.name], c).alias(c.name) for c in columns]))


def content_hash(shape: TableShape) -> Column:
    """A hash of the op and of the row's values with their names. A null does not change the hash.

    So the hash stays the same if the table gets a new or a wider column before a change is redelivered.
    """
    parts = []
    for column in sorted(shape.columns, key=lambda column: column.hash_name):
        value = _widest(F.col("row")[column.name], column.type, _carries_floats(column))
        parts += [F.when(value.isNotNull(), F.lit(crc32(column.hash_name.encode()))), value]
    return F.xxhash64(F.col("op"), *parts)


def _carries_floats(column: ColumnShape) -> Column | None:
    """Whether the event carries a float for a column that stores a double; None if no event does."""
    singles = {number: encoding.is_single for number, encoding in column.encodings}
    if not any(singles.values()):
        return None
    usual = singles.get(None, False)
    others = [number for number, single in singles.items() if number is not None and single != usual]
    listed = F.coalesce(F.col("schema_hash").isin(others), F.lit(False))
    return (~listed if usual else listed) & ~F.col("is_half")


def _widest(value: Column, kind: T.DataType, as_float: Column | None = None) -> Column:
    """The value as the widest type that the column can become without rewriting data.

    A float keeps its digits: it is hashed as 0.1, and not as the double nearest to the float.
    """
    if isinstance(kind, T.DecimalType):
        return value.cast(T.DecimalType(MAX_DIGITS, kind.scale))
    if isinstance(kind, T.ArrayType) and not isinstance(kind.elementType, T.StringType):
        return F.transform(value, lambda element: _widest(element, kind.elementType, as_float))
    if isinstance(kind, T.FloatType):
        return value.cast("string").cast("double")
    if isinstance(kind, T.DoubleType) and as_float is not None:
        return F.when(as_float, value.cast("float").cast("string").cast("double")).otherwise(value)
    return value.cast("bigint") if isinstance(kind, T.IntegerType) else value
