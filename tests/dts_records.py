"""Records of Alibaba DTS as its writer encodes them, made from plain values, in both generations of the format."""

import base64
import io
from collections.abc import Sequence
from typing import Any

import fastavro

from siltstone.engine.decode.dts_schema import message_schema

Value = Any
SCHEMAS = {born: fastavro.parse_schema(message_schema(born)) for born in (False, True)}
SECOND = 1_700_000_000
MYSQL = {"id": 3, "name": 253}


def integer(number: int | str) -> Value:
    return "Integer", {"precision": 8, "value": str(number)}


def text(value: str | bytes, charset: str = "utf8mb4") -> Value:
    return "Character", {"charset": charset, "value": value if isinstance(value, bytes) else value.encode()}


def decimal(value: str, precision: int = 12, scale: int = 2) -> Value:
    return "Decimal", {"value": value, "precision": precision, "scale": scale}


def number(value: float) -> Value:
    return "Float", {"value": value, "precision": 0, "scale": 0}


def timestamp(seconds: int, micros: int = 0) -> Value:
    return "Timestamp", {"timestamp": seconds, "millis": micros}


def moment(*parts: int | None) -> Value:
    """Year, month, day, hour, minute, second, fraction. Missing parts are null."""
    names = ("year", "month", "day", "hour", "minute", "second", "millis")
    return "DateTime", dict.fromkeys(names) | dict(zip(names, parts, strict=False))


def zoned(zone: str, *parts: int | None) -> Value:
    return "TimestampWithTimeZone", {"value": moment(*parts)[1], "timezone": zone}


def blob(value: bytes, kind: str = "BLOB") -> Value:
    return "BinaryObject", {"type": kind, "value": value}


def of_type(value: str, kind: str = "JSON") -> Value:
    return "TextObject", {"type": kind, "value": value}


def shape(value: str | bytes) -> Value:
    return ("BinaryGeometry" if isinstance(value, bytes) else "TextGeometry"), {"type": "POINT", "value": value}


def record(
    operation: str,
    types: dict[str, int] | None = None,
    before: Sequence[Value] | None = None,
    after: Sequence[Value] | str | None = None,
    position: str = "100@7",
    keys: dict[str, list[str]] | str | None = '{"PRIMARY":["id"]}',
    **more: Any,
) -> dict[str, Any]:
    """One record. `more`: its other fields. `source`: the name of the source."""
    tags = {"readerThroughoutTime": f"{SECOND}500"} | ({"pk_uk_info": keys} if isinstance(keys, str) else {})
    listed = None if types is None else [{"name": name, "dataTypeNumber": kind} for name, kind in types.items()]
    made = {
        "version": 0,
        "id": 1,
        "sourceTimestamp": SECOND,
        "sourcePosition": position,
        "safeSourcePosition": position,
        "sourceTxid": "0",
        "operation": operation,
        "objectName": "shop.items",
        "processTimestamps": None,
        "tags": tags | more.pop("tags", {}),
        "fields": listed,
        "beforeImages": before,
        "afterImages": after,
        "bornTimestamp": SECOND * 1000,
    }
    return made | {"source": {"sourceType": more.pop("source", "MySQL"), "version": "8"}} | more


def encoded(made: dict[str, Any], born: bool = True) -> bytes:
    """The bytes of a message."""
    found = io.BytesIO()
    fastavro.schemaless_writer(found, SCHEMAS[born], {k: v for k, v in made.items() if born or k != "bornTimestamp"})
    return found.getvalue()


def line(made: dict[str, Any], born: bool = True) -> str:
    """The message as a line of base64."""
    return base64.b64encode(encoded(made, born)).decode()
