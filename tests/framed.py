"""Debezium's events as Avro in Confluent's frames, and as JSON with Kafka Connect's schemas."""

import base64
import io
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import fastavro

CONNECT = "org.apache.kafka.connect.data"
SOURCE_FIELDS = {
    "version": "string", "connector": "string", "name": "string", "ts_ms": "long", "db": "string",
    "sequence": ["null", "string"], "ts_us": ["null", "long"], "schema": "string", "table": "string",
    "txId": ["null", "long"], "lsn": ["null", "long"],
}  # fmt: skip


def named(kind: str, name: str, **more: Any) -> dict[str, Any]:
    """An Avro type with Connect's name of its logical type."""
    return {"type": kind, "connect.name": name, "connect.version": 1, **more}


def decimal(scale: int, precision: int) -> dict[str, Any]:
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    logical = {"logicalType": "decimal", "scale": scale, "precision": precision}
    return named("bytes", f"{CONNECT}.Decimal", **{"connect.parameters": parameters}, **logical)


def record(name: str, fields: Mapping[str, Any], space: str = "srv.shop.items") -> dict[str, Any]:
    listed = [{"name": n, "type": kind} for n, kind in fields.items()]
    return {"type": "record", "name": name, "namespace": space, "fields": listed, "connect.name": f"{space}.{name}"}


def envelope(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the events of a table with these columns. All columns can be null."""
    row = record("Value", {name: ["null", kind] for name, kind in columns.items()})
    source = record("Source", SOURCE_FIELDS, "io.debezium.connector.postgresql")
    transaction = record("block", {"id": "string", "total_order": "long"}, "event")
    fields = {
        "before": ["null", row], "after": ["null", "Value"], "source": source, "transaction": ["null", transaction],
        "op": "string", "ts_ms": ["null", "long"],
    }  # fmt: skip
    return record("Envelope", fields)


@cache
def _parsed(text: str) -> Any:
    return fastavro.parse_schema(json.loads(text))


def frame(number: int, schema: Any, value: Any) -> bytes:
    found = io.BytesIO()
    fastavro.schemaless_writer(found, _parsed(json.dumps(schema)), value)
    return b"\x00" + number.to_bytes(4, "big") + found.getvalue()


def body(schema: Any, data: bytes) -> Any:
    """The value of a frame after its schema id."""
    return fastavro.schemaless_reader(io.BytesIO(data), _parsed(json.dumps(schema)), None)


def message(value: bytes | None, key: bytes | None = None, **more: Any) -> str:
    """A line of a topic, with its bytes in base64."""
    texts = {name: data and base64.b64encode(data).decode() for name, data in (("key", key), ("value", value))}
    return json.dumps({"topic": "srv.shop.items", **texts, **more})


def schemas_file(folder: Path, schemas: Mapping[int, Any]) -> str:
    file = folder / "schemas.json"
    file.write_text(json.dumps(schemas), encoding="utf-8")
    return str(file)
