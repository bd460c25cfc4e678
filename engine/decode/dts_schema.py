"""The Avro schema of Alibaba DTS's records: the names of the format's documentation, in the order of the encoding.

There is no registry and no fingerprint: every message is one bare record. Since 2020 a record can end with
`bornTimestamp`, and nothing before that field shows whether it is there.
"""

from __future__ import annotations

from typing import Any, Final

SOURCES: Final = (
    "MySQL", "Oracle", "SQLServer", "PostgreSQL", "MongoDB", "Redis", "DB2", "PPAS", "DRDS", "HBASE", "HDFS", "FILE",
    "OTHER",
)  # fmt: skip
OPERATIONS: Final = (
    "INSERT", "UPDATE", "DELETE", "DDL", "BEGIN", "COMMIT", "ROLLBACK", "ABORT", "HEARTBEAT", "CHECKPOINT", "COMMAND",
    "FILL", "FINISH", "CONTROL", "RDB", "NOOP", "INIT",
)  # fmt: skip
TIMES: Final = ("year", "month", "day", "hour", "minute", "second", "millis")
VALUES: Final[dict[str, dict[str, Any]]] = {
    "Integer": {"precision": "int", "value": "string"},
    "Character": {"charset": "string", "value": "bytes"},
    "Decimal": {"value": "string", "precision": "int", "scale": "int"},
    "Float": {"value": "double", "precision": "int", "scale": "int"},
    "Timestamp": {"timestamp": "long", "millis": "int"},
    "DateTime": {part: ["null", "int"] for part in TIMES},
    "TimestampWithTimeZone": {"value": "DateTime", "timezone": "string"},
    "BinaryGeometry": {"type": "string", "value": "bytes"},
    "TextGeometry": {"type": "string", "value": "string"},
    "BinaryObject": {"type": "string", "value": "bytes"},
    "TextObject": {"type": "string", "value": "string"},
}
"""The record types of values. EmptyObject is the last type of the same union."""
EMPTY: Final = ("NULL", "NONE")


def _record(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": kind} for n, kind in fields.items()]}


def _enum(name: str, symbols: tuple[str, ...]) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols)}


def _images(first: bool) -> list[Any]:
    """The type of an image. Named types are defined at their first use."""
    empty = _enum("EmptyObject", EMPTY)
    values = [_record(name, fields) for name, fields in VALUES.items()] + [empty] if first else [*VALUES, "EmptyObject"]
    return ["null", "string", {"type": "array", "items": ["null", *values]}]


def message_schema(born: bool) -> dict[str, Any]:
    """The schema of one message. `born`: the newer schema, with `bornTimestamp`."""
    field = _record("Field", {"name": "string", "dataTypeNumber": "int"})
    fields = {
        "version": "int",
        "id": "long",
        "sourceTimestamp": "long",
        "sourcePosition": "string",
        "safeSourcePosition": "string",
        "sourceTxid": "string",
        "source": _record("Source", {"sourceType": _enum("SourceType", SOURCES), "version": "string"}),
        "operation": _enum("Operation", OPERATIONS),
        "objectName": ["null", "string"],
        "processTimestamps": ["null", {"type": "array", "items": "long"}],
        "tags": {"type": "map", "values": "string"},
        "fields": ["null", "string", {"type": "array", "items": field}],
        "beforeImages": _images(first=True),
        "afterImages": _images(first=False),
    }
    return _record("Record", fields | ({"bornTimestamp": "long"} if born else {}))
