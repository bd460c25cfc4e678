"""Changes as lines of Debezium events (PostgreSQL, no schemas): the oracle's changes in the form of their delivery."""

import json
from typing import Any

from tests.property.histories import COLUMNS, KEYS, Row
from tests.recordings import PLACEHOLDER

OPS = {"read": "r", "insert": "c", "update": "u", "delete": "d", "truncate": "t"}
TYPES = {"case": "bigint", "k": "bigint", "a": "bigint", "b": "string", "c": "string"}


def event_line(change: Row) -> str:
    """A change of the table `drawn.rows` as one line. A column that it does not have gets Debezium's placeholder."""
    row = image(change["row"], change["present"])
    is_read, is_delete = change["op"] == "read", change["op"] == "delete"
    value = {
        "before": change["before"] or (dict.fromkeys(COLUMNS) | (key_of(change["key"]) or {}) if is_delete else None),
        "after": None if is_delete else row,
        "source": source(change["position"], change["commit_ts"], "drawn", "rows") | {"snapshot": str(is_read).lower()},
        "transaction": {"id": f"{change['tx_id']}:1", "total_order": change["tx_order"]} if change["tx_id"] else None,
        "op": OPS[change["op"]],
        "ts_ms": change["ingest_ts"] // 1000,
        "ts_us": change["ingest_ts"],
    }
    if is_read:
        value["source"]["lsn"] = None
    links = {"__debezium.oldkey": change["old_key"], "__debezium.newkey": change["new_key"]}
    headers = [{"key": name, "value": key_of(key)} for name, key in links.items() if key]
    place = {name: change[f"kafka_{name}"] for name in ("partition", "offset") if f"kafka_{name}" in change}
    return json.dumps({"key": key_of(change["key"]), "value": value, "headers": headers} | place) + "\n"


def window_lines(window: tuple[str, int, str | None, int | None]) -> list[str]:
    """The rows of the signal table that open and close a window."""
    opened, opened_at, closed, closed_at = window
    marks = [("open", opened, opened_at)] + ([("close", closed, closed_at)] if closed and closed_at else [])
    return [mark_line(opened, *mark) for mark in marks]


def mark_line(window: str, side: str, position: str, at: int) -> str:
    name = f"{window}-{side}"
    value = {
        "before": None,
        "after": {"id": name, "type": f"snapshot-window-{side}", "data": "{}"},
        "source": source(position, at, "debezium", "signal") | {"snapshot": "false"},
        "op": "c",
        "ts_ms": at // 1000,
        "ts_us": at,
    }
    return json.dumps({"key": {"id": name}, "value": value}) + "\n"


def source(position: str | None, at: int, schema: str, table: str) -> dict[str, Any]:
    place = position and int(position[-16:], 16)
    return {
        "version": "3.4.0.Final",
        "connector": "postgresql",
        "name": "srv",
        "ts_ms": at // 1000,
        "ts_us": at,
        "db": "main",
        "sequence": json.dumps([str(place), str(place)]) if place else None,
        "schema": schema,
        "table": table,
        "txId": 1,
        "lsn": place,
    }


def image(row: Row | None, present: set[str] | None) -> Row | None:
    return row and {c: row[c] if present is None or c in present else PLACEHOLDER for c in COLUMNS}


def key_of(key: tuple[int, int] | None) -> dict[str, int] | None:
    return None if key is None else dict(zip(KEYS, key, strict=True))
