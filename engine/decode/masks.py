"""Masks, applied before anything is stored or reported."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode.shape import ColumnShape
from engine.names import REDACTED


def masked(value: Column, column: ColumnShape) -> Column:
    """The stored value. sha256: salted, in hexadecimal. redact: text becomes asterisks, everything else null."""
    if column.mask == "sha256":
        return hashed(_as_text(value, column.value_type), column.salt)
    if column.mask == "redact":
        kind = column.value_type
        return F.when(value.isNotNull(), F.lit(REDACTED if isinstance(kind, T.StringType) else None).cast(kind))
    return value


def masked_text(text: Column, column: ColumnShape) -> Column:
    """A text that could not be kept as the column's type, masked as the column is."""
    if column.mask == "sha256":
        return hashed(text, column.salt)
    return F.when(text.isNotNull(), REDACTED) if column.mask == "redact" else text


def hashed(text: Column, salt: str) -> Column:
    """SHA-256 of the salt and the text."""
    return F.sha2(F.concat(F.lit(salt), text), 256)


def _as_text(value: Column, kind: T.DataType) -> Column:
    if isinstance(kind, T.BinaryType):
        return F.hex(value)
    return F.to_json(value) if isinstance(kind, T.ArrayType) else value.cast("string")
