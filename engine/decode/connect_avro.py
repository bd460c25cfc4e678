"""Converts the Avro schema of Kafka Connect's Avro converter to the form of Connect's JSON schemas.

The result has only what the decoding of rows needs: names, types, Connect's semantic type names, and their parameters.
If the converter is configured to omit these (`connect.meta.data=false`), Avro's logical types replace some of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from siltstone.engine.decode.avro_names import Named, with_full_names

_TYPES: Final = {
    "boolean": "boolean", "int": "int32", "long": "int64", "float": "float32", "double": "float64",
    "string": "string", "bytes": "bytes", "fixed": "bytes", "enum": "string", "map": "map",
}  # fmt: skip
_LOGICAL: Final = {
    "decimal": "org.apache.kafka.connect.data.Decimal",
    "date": "org.apache.kafka.connect.data.Date",
    "time-millis": "org.apache.kafka.connect.data.Time",
    "time-micros": "io.debezium.time.MicroTime",
    "timestamp-millis": "org.apache.kafka.connect.data.Timestamp",
    "timestamp-micros": "io.debezium.time.MicroTimestamp",
    "local-timestamp-millis": "io.debezium.time.Timestamp",
    "local-timestamp-micros": "io.debezium.time.MicroTimestamp",
}
_IMAGES: Final = ("before", "after")


def row_schema(schema: Any) -> str | None:
    """The schema of the row images of an envelope. None if it has none."""
    schema, named = with_full_names(schema)
    fields = {field["name"]: field["type"] for field in schema["fields"]} if is_record(schema) else {}
    images = [_field(name, fields[name], named) for name in _IMAGES if name in fields]
    structs = [image for image in images if "fields" in image]
    return _text({"type": "struct", "fields": structs[-1:]}) if structs else None


def key_schema(schema: Any) -> str:
    """The schema of a key."""
    schema, named = with_full_names(schema)
    return _text(_described(schema, named))


def is_record(schema: Any) -> bool:
    """Whether a schema is one of a record."""
    return isinstance(schema, Mapping) and schema.get("type") == "record"


def _text(described: Mapping[str, Any]) -> str:
    return json.dumps(described, separators=(",", ":"), ensure_ascii=False)


def _field(name: str, written: Any, named: Named) -> dict[str, Any]:
    return {"field": name} | _described(written, named)


def _described(written: Any, named: Named) -> dict[str, Any]:
    """One type. A type without a counterpart becomes a map, whose values are stored as JSON text."""
    parts = [part for part in written if part != "null"] if isinstance(written, list) else [written]
    kind = parts[0] if len(parts) == 1 else "map"
    if isinstance(kind, str):
        return _described(named[kind], named) if kind in named else {"type": _TYPES.get(kind, "map")}
    inside = kind.get("type")
    if isinstance(inside, list | Mapping):
        return _described(inside, named)
    if inside == "record":
        fields = [_field(field["name"], field["type"], named) for field in kind["fields"]]
        return {"type": "struct", "fields": fields} | _semantic_type(
            kind, kind["name"] if kind.get("namespace") else None
        )
    if inside == "array":
        return {"type": "array", "items": _described(kind["items"], named)} | _semantic_type(kind, None)
    return {"type": kind.get("connect.type") or _TYPES.get(str(inside), "map")} | _semantic_type(kind, None)


def _semantic_type(kind: Mapping[str, Any], usual: str | None) -> dict[str, Any]:
    """Connect's semantic type name, and its parameters."""
    logical = str(kind.get("logicalType", ""))
    if logical == "decimal" and "precision" not in kind:
        logical = ""  # Avro's specification ignores invalid logical types
    name = kind.get("connect.name") or _LOGICAL.get(logical) or usual
    parameters = dict(kind.get("connect.parameters") or {})
    if logical == "decimal":
        parameters.setdefault("scale", str(kind.get("scale", 0)))
        parameters.setdefault("connect.decimal.precision", str(kind["precision"]))
    return ({"name": name} if name else {}) | ({"parameters": parameters} if parameters else {})
