"""Debezium's placeholder for a value that the source did not log because it did not change."""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode.shape import ColumnShape

PLACEHOLDER: Final = "__debezium_unavailable_value"
_BYTES: Final = PLACEHOLDER.encode()
_BASE64: Final = base64.b64encode(_BYTES).decode()
_UUID: Final = str(uuid.UUID(bytes=hashlib.md5(_BYTES, usedforsecurity=False).digest(), version=3))


def _listed(item: object) -> str:
    return json.dumps([item], separators=(",", ":"))


_TEXTS: Final = (PLACEHOLDER, _BASE64, base64.urlsafe_b64encode(_BYTES).decode(), _BYTES.hex())
_ARRAYS: Final = (
    _listed(PLACEHOLDER),
    _listed(_BASE64),
    _listed(_UUID),
    json.dumps(list(_BYTES), separators=(",", ":")),
)
_MAP: Final = json.dumps({PLACEHOLDER: PLACEHOLDER}, separators=(",", ":"))
_OF_ANY_LENGTH: Final = frozenset({"text", "any_text", "base64", "base64_url", "hex", "decimal_any", "array"})


def can_be_unavailable(column: ColumnShape) -> bool:
    """Only values of any length are left out: PostgreSQL keeps them outside of the row."""
    return any(encoding.kind in _OF_ANY_LENGTH for _, encoding in column.encodings)


def placeholders() -> tuple[str, ...]:
    """The texts that stand for an unavailable value."""
    return tuple(dict.fromkeys([*_TEXTS, *_ARRAYS, _MAP]))


def is_unavailable(value: Column, kind: T.DataType | None = None) -> Column:
    """Whether the value stands for an unavailable one: as text, as bytes, in an array, in a map. `kind`: its type."""
    if isinstance(kind, T.BinaryType):
        return value == F.lit(bytearray(_BYTES))
    return value.isin(*placeholders())
