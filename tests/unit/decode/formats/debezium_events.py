"""Events in the form that Debezium writes, and the result of decoding them."""

import json
from collections.abc import Sequence
from typing import Any

from siltstone.engine.decode.event import Event, Message
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.spec.model import SourceSpec

SOURCE = {
    "connector": "postgresql",
    "name": "srv",
    "schema": "shop",
    "table": "items",
    "ts_ms": 1_700_000_000_000,
    "ts_us": 1_700_000_000_000_001,
    "lsn": 32,
    "sequence": '["16","32"]',
}


def event(op: str = "c", before: Any = None, after: Any = None, key: Any = None, **more: Any) -> str:
    """A line. The default key comes from an image. `source`: changes of its source block."""
    source = {**SOURCE, **more.pop("source", {})}
    image = after or before or {}
    found = {"id": image["id"]} if key is None and "id" in image else key
    value = {
        "before": before,
        "after": after,
        "source": source,
        "op": op,
        "ts_ms": 1_700_000_001_000,
        "transaction": None,
    }
    return json.dumps({"topic": "t", "key": found, "value": value, **more})


def wrapped(value: Any, **more: Any) -> str:
    return json.dumps({"topic": "t", "key": None, "value": value, **more})


def with_schema(line: str, fields: list[dict[str, Any]]) -> str:
    """The line with schemas around its key and its value. `fields`: the fields of the row."""
    record = json.loads(line)
    images = [{"type": "struct", "fields": fields, "optional": True, "field": name} for name in ("before", "after")]
    keys = [field for field in fields if field["field"] in record["key"]]
    record["key"] = {"schema": {"type": "struct", "fields": keys}, "payload": record["key"]}
    record["value"] = {"schema": {"type": "struct", "fields": images}, "payload": record["value"]}
    return json.dumps(record)


def decoded(
    texts: Sequence[str | bytes], declared: Sequence[str] = (), kind: str = "debezium-json", **source: Any
) -> list[Event]:
    """The event of each line. `declared`: the tables that specs name."""
    lines = [text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text for text in texts]
    messages = [Message("events.jsonl", number, line) for number, line in enumerate(lines, 1)]
    return decode_messages(messages, SourceSpec(kind, "x", **source), dict.fromkeys(declared))


def outcome(found: Event) -> Any:
    """The result of an event: its op and origin, its kind of control event, or the reason of its reject."""
    return {"change": (found.op, found.origin), "control": found.control_kind, "reject": found.reason}[found.kind]
