"""The keys that init finds, also for tables whose events show that they have no key."""

import json
from pathlib import Path
from typing import Any

import pytest

from siltstone.engine.init import find_tables, written_specs
from tests import dts_records as dts

TYPES = {"a": 3, "b": 253}
ROW, OTHER = [dts.integer(1), dts.text("x")], [dts.integer(1), dts.text("y")]
PARTLY = [dts.integer(1), "NONE"]


def datastream(change: str | None, keys: Any = (), method: str = "cdc", **meta: Any) -> str:
    listed = {} if keys is None else {"primary_keys": keys}
    metadata = {"schema": "s", "table": "t", "change_type": change} | listed | meta
    return json.dumps(
        {
            "uuid": "u",
            "read_method": method,
            "source_timestamp": "2024-01-01T00:00:00Z",
            "source_metadata": metadata,
            "payload": {"a": 1, "b": "x"},
        }
    )


def record(operation: str, before: Any = None, after: Any = None, keys: str | None = "{}") -> str:
    return dts.line(dts.record(operation, TYPES, before, after, keys=keys))


POSTGRESQL: dict[str, Any] = {"lsn": "16/2", "tx_id": 4}
MYSQL: dict[str, Any] = {"schema": None, "database": "s", "binlog_file": "b.1", "binlog_position": 4}
INSERTED = datastream("INSERT", **POSTGRESQL)
PAIR = [datastream("UPDATE-DELETE", **POSTGRESQL), datastream("UPDATE-INSERT", **POSTGRESQL)]
BACKFILLED = datastream("INSERT", None, method="postgresql-backfill")
MADE = record("INSERT", after=ROW)
CASES: dict[str, tuple[list[str], str]] = {
    "PostgreSQL": ([INSERTED, datastream("DELETE", "[]", **POSTGRESQL)], "[]"),
    "both halves": ([INSERTED, *PAIR], "[]"),
    "a backfill that shows nothing": ([BACKFILLED, INSERTED], "[]"),
    "a backfill alone": ([BACKFILLED], "?"),
    "an update without the row before": ([INSERTED, datastream("UPDATE", **POSTGRESQL)], "?"),
    "a key that came later": ([INSERTED, datastream("INSERT", ["a"], **POSTGRESQL)], "[a]"),
    "MySQL": ([datastream("INSERT", **MYSQL)], "?"),
    "SQL Server": ([datastream("INSERT", database="d", lsn="25:728:3")], "?"),
    "DTS": ([MADE, record("UPDATE", ROW, OTHER), record("DELETE", OTHER), record("INIT", after=ROW)], "[]"),
    "unique keys without columns": ([record("INSERT", after=ROW, keys='{"PRIMARY":[]}')], "[]"),
    "two unique keys": ([record("INSERT", after=ROW, keys='{"u":["a"],"v":["b"]}')], "?"),
    "DTS names no key": ([record("INSERT", after=ROW, keys=None)], "?"),
    "DTS writes invalid JSON": ([record("INSERT", after=ROW, keys="PRIMARY")], "?"),
    "a row before in part": ([MADE, record("UPDATE", PARTLY, ROW)], "?"),
    "no row before": ([MADE, record("UPDATE", None, ROW)], "?"),
}


@pytest.mark.parametrize("what", CASES)
def test_a_table_has_no_key_if_events_show_it_and_rows_are_complete(tmp_path: Path, what: str) -> None:
    lines, keys = CASES[what]
    events = tmp_path / "events" / "a.jsonl"
    events.parent.mkdir()
    events.write_text("\n".join(lines) + "\n")
    (spec,) = written_specs(find_tables([events]), tmp_path / "specs", tmp_path, [events])
    (line,) = [line for line in spec.text.splitlines() if line.startswith("keys:")]
    assert line.startswith("keys: # decide" if keys == "?" else f"keys: {keys} #")
    assert spec.open_questions == (("keys",) if keys == "?" else ())
