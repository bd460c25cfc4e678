"""Read the recorded streams, and the true rows that belong to them, in plain Python. The oracle takes these changes."""

import base64
import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.recorded_tables import POSTGRESQL, Row, Table

DATA = Path(os.environ.get("SILTSTONE_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data"
PLACEHOLDER = "__debezium_unavailable_value"
PLACEHOLDERS = (PLACEHOLDER, base64.b64encode(PLACEHOLDER.encode()).decode())
SNAPSHOTS = {  # the position in the log at which the first READs of the tables were made
    "postgresql/events.noschema.jsonl.gz": 396_452_864,
    "postgresql/events.schema.jsonl.gz": 396_098_312,
    "mariadb/debezium.noschema.jsonl.gz": ("mbin.000001", 113_978, 0),
    "mariadb/debezium.schema.jsonl.gz": ("mbin.000001", 113_978, 0),
}


def lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from file


def payload(part: Any) -> Any:
    return part["payload"] if isinstance(part, dict) and "payload" in part and "schema" in part else part


def position(source: Row) -> str:
    if source["connector"] == "postgresql":
        sequence = json.loads(source["sequence"])
        lsn = source["lsn"] if source["lsn"] is not None else int(sequence[1])
        return f"0000-{int(sequence[0] or lsn):016X}-{lsn:016X}"
    return f"0000-{int(source['file'].rpartition('.')[2]):08X}-{source['pos']:016X}-{source['row']:08X}"


def table_of(source: Row) -> str:
    return f"{source.get('schema', source['db'])}.{source['table']}"


def headers_of(event: Row) -> Row:
    headers = event.get("headers") or {}
    pairs = headers.items() if isinstance(headers, dict) else ((h["key"], h["value"]) for h in headers)
    return {name: payload(value) for name, value in pairs}


def change(event: Row, value: Row, table: Table) -> Row:
    """An event as a change of the oracle, with canonical values."""
    op = {"r": "read", "c": "insert", "u": "update", "d": "delete", "t": "truncate"}[value["op"]]
    source, headers, transaction = value["source"], headers_of(event), value["transaction"] or {}
    raw = value["before"] if op == "delete" else value["after"]
    missing = {c for c, v in (raw or {}).items() if v in PLACEHOLDERS or v == [PLACEHOLDER]}
    row = table.canonical({c: v for c, v in (raw or {}).items() if c not in missing}, "event")
    before = value["before"] or {}
    full = any(before.get(c) is not None for c in table.columns if c not in table.keys) and not missing

    def key(values: Row | None) -> tuple[Any, ...] | None:
        return tuple(table.canonical(values, "event")[k] for k in table.keys) if values else None

    return {
        "key": None if op == "truncate" else key(payload(event["key"])),
        "op": op,
        "row": row,
        "present": set(row) if missing else None,
        "before": table.canonical(before, "event") if full else None,
        "position": position(source),
        "commit_ts": source["ts_us"],
        "ingest_ts": value["ts_us"],
        "tx_id": (transaction.get("id") or "").partition(":")[0] or None,
        "tx_order": transaction.get("total_order"),
        "old_key": key(headers.get("__debezium.oldkey")),
        "new_key": key(headers.get("__debezium.newkey")),
        "content": repr(sorted(row.items(), key=lambda item: item[0])),
    }


@dataclass
class Recording:
    changes: dict[str, list[Row]]
    windows: list[tuple[str, int, str | None, int | None]]


def read(path: Path, tables: dict[str, Table]) -> Recording:
    """Every change of the tables and every window of the signal table, in file order."""
    changes: dict[str, list[Row]] = {name: [] for name in tables}
    opened: dict[str, tuple[str, int]] = {}
    closed: dict[str, tuple[str, int]] = {}
    for line in lines(path):
        event = json.loads(line)
        value = payload(event["value"])
        source = (value or {}).get("source")
        if not source or "op" not in value:
            continue
        if table_of(source) in tables:
            changes[table_of(source)].append(change(event, value, tables[table_of(source)]))
        elif "snapshot-window" in ((value.get("after") or {}).get("type") or ""):
            chunk, _, side = value["after"]["id"].rpartition("-")
            (opened if side == "open" else closed)[chunk] = position(source), source["ts_us"]
    return Recording(changes, [(*opened[chunk], *closed.get(chunk, (None, None))) for chunk in opened])


def truth_final(table: Table) -> dict[tuple[Any, ...], Row]:
    postgresql = table.name in POSTGRESQL
    name = table.name.partition(".")[2]
    path = (
        DATA
        / ("postgresql/truth" if postgresql else "mariadb/truth")
        / (f"{name}.final.jsonl.gz" if postgresql else f"final.{name}.jsonl")
    )
    rows = [table.canonical(json.loads(line, parse_float=Decimal), "truth") for line in lines(path)]
    return {tuple(row[k] for k in table.keys): row for row in rows}


def truth_changes(table: Table) -> Iterator[tuple[Any, Row | None, Row | None]]:
    """(commit position, old row, new row) of every committed change, in commit order. A truncate has neither row."""
    name = table.name.partition(".")[2]
    if table.name in POSTGRESQL:
        for line in lines(DATA / f"postgresql/truth/{name}.history.jsonl.gz"):
            entry = json.loads(line, parse_float=Decimal)
            yield entry["commit_lsn"], *(r and table.canonical(r, "truth") for r in (entry["old"], entry["new"]))
        return
    for line in lines(DATA / "mariadb/truth/history.jsonl.gz"):
        entry = json.loads(line, parse_float=Decimal)
        place = entry["file"], entry["pos"], entry.get("row", 0)
        if entry["table"] == name:
            yield place, *(r and table.canonical(r, "truth") for r in (entry["before"], entry["after"]))
        elif entry["op"] == "ddl" and entry["sql"].upper().startswith("TRUNCATE") and name in entry["sql"]:
            yield place, None, None


def truth_images(table: Table, since: Any) -> dict[tuple[Any, ...], list[Row | None]]:
    """The sequence of images of each key, from the state at `since` on. None: no row. No two in a row are equal."""
    now: dict[tuple[Any, ...], Row | None] = {}
    images: dict[tuple[Any, ...], list[Row | None]] = {}

    def put(key: tuple[Any, ...], image: Row | None) -> None:
        now[key] = image
        if started:
            sequence = images.setdefault(key, [])
            if not sequence or sequence[-1] != image:
                sequence.append(image)

    started = False
    for place, old, new in truth_changes(table):
        if not started and place > since:
            started = True
            images = {key: [image] for key, image in now.items() if image is not None}
        old_key, new_key = (r and tuple(r[k] for k in table.keys) for r in (old, new))
        for key in [key for key, image in now.items() if image is not None] if not old and not new else []:
            put(key, None)
        if old_key and old_key != new_key:
            put(old_key, None)
        if new_key:
            put(new_key, dict.fromkeys(table.columns) | table.defaults | new)
    return images
