"""The column types in Spanner's change records: stored types and encodings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pyspark.sql import types as T

from siltstone.engine.decode.connect import Typed
from siltstone.engine.decode.row_shape import Encoding

_TEXT: Final[Typed] = (T.StringType(), Encoding("written_text"))
_CODES: Final[dict[str, Typed]] = {
    "BOOL": (T.BooleanType(), Encoding("written_boolean")),
    "INT64": (T.LongType(), Encoding("written_integer")),
    "INT": (T.LongType(), Encoding("written_integer")),  # as Google's own examples write INT64
    "ENUM": (T.LongType(), Encoding("written_integer")),
    "FLOAT32": (T.FloatType(), Encoding.of(T.FloatType(), "written_floating")),
    "FLOAT64": (T.DoubleType(), Encoding("written_floating")),
    "NUMERIC": (T.DecimalType(38, 9), Encoding("decimal_text")),
    "BYTES": (T.BinaryType(), Encoding("base64")),
    "PROTO": (T.BinaryType(), Encoding("base64")),
    "DATE": (T.DateType(), Encoding("date")),
    "TIMESTAMP": (T.TimestampType(), Encoding("zoned_text")),
}


def row_columns(columns: Iterable[Any]) -> dict[str, Typed]:
    """The columns of a row image, in their order. Each is an object, or JSON text of an object."""
    parsed = [_parsed(column) for column in columns]
    return {str(column["name"]): typed(_type_of(column)) for column in parsed if column.get("name")}


def _type_of(column: Mapping[str, Any]) -> Any:
    """The type of a column. In Avro files the type of an array's elements is a separate field."""
    declared, items = _any(column, "type", "Type"), _any(column, "array_element_type", "arrayElementType")
    return declared if items is None else {"code": declared, "array_element_type": items}


def key_columns(columns: Iterable[Any]) -> tuple[str, ...]:
    """The columns of the primary key, in their order in the table."""
    keys = [column for column in map(_parsed, columns) if _any(column, "is_primary_key", "isPrimaryKey")]
    ordered = sorted(keys, key=lambda column: int(_any(column, "ordinal_position", "ordinalPosition") or 0))
    return tuple(str(column["name"]) for column in ordered)


def _parsed(column: Any) -> Any:
    return json.loads(column) if isinstance(column, str) else column


def _any(column: Mapping[str, Any], *spelled: str) -> Any:
    return next((column[name] for name in spelled if column.get(name) is not None), None)


def typed(declared: Any) -> Typed:
    """The stored type of a column. An unknown type becomes text. A type is an object, or JSON text of an object."""
    if isinstance(declared, str):
        declared = json.loads(declared) if declared.lstrip().startswith("{") else {"code": declared}
    if not isinstance(declared, Mapping):
        return _TEXT
    code = str(declared.get("code"))
    if code == "ARRAY":
        items, encoding = typed(_any(declared, "array_element_type", "arrayElementType"))
        return T.ArrayType(items), Encoding("array", items=encoding)
    if code.startswith("{"):  # JSON text in JSON
        return typed(code)
    if _any(declared, "type_annotation", "typeAnnotation") == "PG_NUMERIC":  # too many digits for a decimal, or NaN
        return _TEXT
    return _CODES.get(code, _TEXT)
