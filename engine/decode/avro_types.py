"""Avro types: the stored type and the encoding of their values.

Logical types come from the writer's schema. A logical type counts only inside the type. On the field it is ignored, and
values stay numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import types as T

from siltstone.engine.decode.avro_names import Named
from siltstone.engine.decode.connect import Typed, decimal
from siltstone.engine.decode.row_shape import Encoding, EncodingKind

_PLAIN: Final[dict[str, tuple[T.DataType, EncodingKind]]] = {
    "boolean": (T.BooleanType(), "boolean"),
    "int": (T.IntegerType(), "integer"),
    "long": (T.LongType(), "integer"),
    "float": (T.FloatType(), "floating"),
    "double": (T.DoubleType(), "floating"),
    "string": (T.StringType(), "text"),
    "enum": (T.StringType(), "text"),
    "bytes": (T.BinaryType(), "base64"),
    "fixed": (T.BinaryType(), "base64"),
}
_LOGICAL: Final[dict[tuple[str, str], tuple[T.DataType, EncodingKind]]] = {
    ("int", "date"): (T.DateType(), "days"),
    ("int", "time-millis"): (T.StringType(), "time_millis"),
    ("long", "time-micros"): (T.StringType(), "time_micros"),
    ("long", "time-interval-micros"): (T.StringType(), "time_micros"),
    ("long", "timestamp-millis"): (T.TimestampType(), "millis"),
    ("long", "timestamp-micros"): (T.TimestampType(), "micros"),
    ("long", "timestamp-nanos"): (T.TimestampType(), "nanos"),
    ("long", "local-timestamp-millis"): (T.TimestampNTZType(), "millis"),
    ("long", "local-timestamp-micros"): (T.TimestampNTZType(), "micros"),
    ("long", "local-timestamp-nanos"): (T.TimestampNTZType(), "nanos"),
}
_IN_ARRAYS: Final = ("boolean", "int", "long", "double", "string")
_ONE_VALUE: Final = (("value", "length"), ("timestamp", "offset"))
"""The fields of records that are one value: the value of the first field."""
EVENT_TIMES: Final = ("read_timestamp", "source_timestamp")


def clock_unit(kind: Any) -> str:
    """The unit in which a time of an event is counted."""
    logical = kind.get("logicalType") if isinstance(kind, Mapping) else None
    return "micros" if logical == "timestamp-micros" else "millis"


def only_type(kind: Any) -> Any:
    """The type of a union of one type and null. A union of several types stays a list."""
    parts = [part for part in kind if part != "null"] if isinstance(kind, list) else [kind]
    return parts[0] if len(parts) == 1 else parts


def type_of(written: Any, named: Named) -> Any:
    """The same, with references to named types and nested type declarations resolved."""
    kind = only_type(written)
    inside = kind.get("type") if isinstance(kind, Mapping) else None
    if isinstance(inside, list | Mapping):
        return type_of(inside, named)
    return named[kind] if isinstance(kind, str) and kind in named else kind


def name_of(kind: Any) -> Any:
    """The name of a type. A union stays a list."""
    return kind["type"] if isinstance(kind, Mapping) else kind


def scalar(kind: Any) -> Typed | None:
    """The stored type and encoding of a type without parts. None for another type. `kind`: a result of `type_of`."""
    name = name_of(kind)
    logical = str(kind.get("logicalType")) if isinstance(kind, Mapping) else ""
    if not isinstance(name, str):
        return None
    if logical == "decimal" and name in ("bytes", "fixed") and "precision" in kind:  # without it, Avro reads bytes
        return decimal(int(kind.get("scale", 0)), int(kind["precision"]))
    found = _LOGICAL.get((name, logical)) or _PLAIN.get(name)
    return None if found is None else (found[0], Encoding.of(*found))


def array_of_scalars(kind: Any) -> Typed | None:
    """The same for an array of plain items. None for another type."""
    if not (isinstance(kind, Mapping) and kind["type"] == "array" and only_type(kind["items"]) in _IN_ARRAYS):
        return None
    stored, encoding = _PLAIN[only_type(kind["items"])]
    return T.ArrayType(stored), Encoding("array", items=Encoding.of(stored, encoding))


def value_field(kind: Any) -> str | None:
    """The field whose value a record of one value has. None for another type."""
    if not (isinstance(kind, Mapping) and kind["type"] == "record"):
        return None
    names = {field["name"] for field in kind["fields"]}
    return next((fields[0] for fields in _ONE_VALUE if names == set(fields)), None)
