"""The schema of an event in Kafka Connect's JSON form: its columns, their stored types and encodings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql import types as T

from siltstone.engine.decode.row_shape import Encoding, EncodingKind

Field = Mapping[str, Any]
Typed = tuple[T.DataType, Encoding]

DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
BITS: Final = "io.debezium.data.Bits"
VARIABLE_SCALE_DECIMAL: Final = "io.debezium.data.VariableScaleDecimal"
MAX_DIGITS: Final = 38

_NAMED: Final[dict[str, tuple[T.DataType, EncodingKind]]] = {
    VARIABLE_SCALE_DECIMAL: (T.StringType(), "decimal_any"),
    "io.debezium.time.Date": (T.DateType(), "days"),
    "org.apache.kafka.connect.data.Date": (T.DateType(), "days"),
    "io.debezium.time.IsoDate": (T.DateType(), "date"),
    "io.debezium.time.Timestamp": (T.TimestampNTZType(), "millis"),
    "org.apache.kafka.connect.data.Timestamp": (T.TimestampNTZType(), "millis"),
    "io.debezium.time.MicroTimestamp": (T.TimestampNTZType(), "micros"),
    "io.debezium.time.NanoTimestamp": (T.TimestampNTZType(), "nanos"),
    "io.debezium.time.IsoTimestamp": (T.TimestampNTZType(), "local_text"),
    "io.debezium.time.ZonedTimestamp": (T.TimestampType(), "zoned_text"),
    "io.debezium.time.Time": (T.StringType(), "time_millis"),
    "org.apache.kafka.connect.data.Time": (T.StringType(), "time_millis"),
    "io.debezium.time.MicroTime": (T.StringType(), "time_micros"),
    "io.debezium.time.NanoTime": (T.StringType(), "time_nanos"),
}
_PLAIN: Final[dict[str, tuple[T.DataType, EncodingKind]]] = {
    "boolean": (T.BooleanType(), "boolean"),
    "int8": (T.IntegerType(), "integer"),
    "int16": (T.IntegerType(), "integer"),
    "int32": (T.IntegerType(), "integer"),
    "int64": (T.LongType(), "integer"),
    "float": (T.FloatType(), "floating"),
    "float32": (T.FloatType(), "floating"),
    "double": (T.DoubleType(), "floating"),
    "float64": (T.DoubleType(), "floating"),
    "string": (T.StringType(), "text"),
    "bytes": (T.BinaryType(), "base64"),
    "struct": (T.StringType(), "text"),
    "map": (T.StringType(), "text"),
}
_CELL: Final = (["value"], ["value", "set"])
"""The fields of the structs in which YugabyteDB's connectors wrap values."""


def row_columns(schema_json: str) -> dict[str, Typed]:
    """The columns of the row images in an envelope's schema, in their order."""
    images = {field["field"]: field for field in json.loads(schema_json)["fields"]}
    image = images.get("after") or images["before"]
    return {str(field["field"]): typed(field) for field in image["fields"]}


def key_columns(schema_json: str) -> dict[str, Typed]:
    """The columns of a key's schema, in their order. Empty if the key is not a struct."""
    return {field["field"]: typed(field) for field in json.loads(schema_json).get("fields") or ()}


def typed(field: Field) -> Typed:
    """The stored type of a field and the encoding of its values."""
    parts: Sequence[Field] = field.get("fields") or ()
    if [part["field"] for part in parts] in _CELL:
        return typed(parts[0])
    name, parameters = field.get("name"), field.get("parameters") or {}
    if name == DECIMAL:
        return decimal(int(parameters["scale"]), int(parameters.get("connect.decimal.precision", MAX_DIGITS)))
    if name == BITS:
        return T.StringType(), Encoding("bits", int(parameters["length"]))
    if field["type"] == "array":
        items, encoding = typed(field["items"])
        return T.ArrayType(items), Encoding("array", items=encoding)
    kind, encoding_kind = _NAMED.get(str(name)) or _PLAIN[field["type"]]
    return kind, Encoding.of(kind, encoding_kind)


def decimal(scale: int, precision: int) -> Typed:
    """The stored type of decimals. Numbers with more digits than a decimal type allows are stored as text."""
    whole = max(precision - scale, 0)  # NUMBER(2,5) of Oracle has five places and no whole digit
    places = max(scale, 0)
    if whole + places > MAX_DIGITS:
        return T.StringType(), Encoding("decimal_base64", scale)
    return T.DecimalType(max(whole + places, 1), places), Encoding("decimal_base64", scale)
