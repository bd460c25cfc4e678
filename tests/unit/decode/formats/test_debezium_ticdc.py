"""Debezium's events as TiCDC writes them. The TSO of the commit is their position.

https://docs.pingcap.com/tidb/stable/ticdc-debezium/
"""

import json
from typing import Any

from siltstone.engine.decode.event import Event
from tests.unit.decode.formats.debezium_events import decoded, outcome

TSO = 447_984_084_414_103_554
PLACE = f"0000-{TSO:016X}"
MILLIS = 1_708_923_661_858  # of the TSO
SOURCE = {
    "version": "2.4.0.Final", "connector": "TiCDC", "name": "test_cluster", "ts_ms": MILLIS, "snapshot": "false",
    "db": "test", "table": "table1", "server_id": 0, "gtid": None, "file": "", "pos": 0, "row": 0, "thread": 0,
    "query": None, "commit_ts": TSO, "cluster_id": "test_cluster",
}  # fmt: skip
ROWS = [{"type": "int16", "optional": True, "field": "tiny"}]
IMAGES = [{"type": "struct", "optional": True, "field": name, "fields": ROWS} for name in ("before", "after")]


def line(key: Any = None, source: Any = None, **event: Any) -> str:
    """A record of a topic with schemas around its key and its value."""
    payload = {"source": SOURCE | (source or {}), "ts_ms": 1_701_326_309_000, "transaction": None} | event
    schema = {"type": "struct", "fields": IMAGES, "name": "test_cluster.test.table1.Envelope"}
    fields = ROWS if key else []
    return json.dumps(
        {
            "key": {"payload": key or {}, "schema": {"type": "struct", "fields": fields, "optional": False}},
            "value": {"payload": payload, "schema": schema},
        }
    )


def read(*lines: str) -> list[Event]:
    return decoded(lines, ["test.table1"])


def test_a_change_is_at_the_tso_of_its_commit() -> None:
    (update,) = read(line({"tiny": 1}, op="u", before={"tiny": 2}, after={"tiny": 1}))
    assert (update.op, update.table, update.position) == ("update", "test.table1", f"{PLACE}-1")
    assert (update.connector, update.source, update.tx_id) == ("TiCDC", "TiCDC:test_cluster", str(TSO))
    assert (update.commit_us, update.ingest_us) == (MILLIS * 1_000, 1_701_326_309_000_000)
    assert (update.before, update.after, update.key) == (b'{"tiny": 2}', b'{"tiny": 1}', b'{"tiny": 1}')


def test_a_delete_comes_before_an_insert_at_the_same_tso() -> None:
    (insert, delete) = read(
        line({"tiny": 1}, op="c", before=None, after={"tiny": 1}), line({"tiny": 1}, op="d", before={"tiny": 1})
    )
    assert (delete.position, insert.position) == (f"{PLACE}-0", f"{PLACE}-1")


def test_a_change_without_a_tso_is_rejected() -> None:
    for tso in (None, 0, -1):
        (event,) = read(line({"tiny": 1}, {"commit_ts": tso}, op="c", before=None, after={"tiny": 1}))
        assert (event.kind, event.reason) == ("reject", "a streamed change without a position")


def test_a_watermark_and_a_schema_change_are_control_events() -> None:
    ddl = {"databaseName": "test", "schemaName": None, "tableChanges": []}
    (mark, renamed) = read(
        line(None, {"db": "", "table": ""}, op="m"),
        line(None, ddl="RENAME TABLE test.table1 to test.table2", **ddl),
    )
    assert [outcome(event) for event in (mark, renamed)] == ["checkpoint", "ddl"]
    assert (mark.commit_us, mark.table) == (MILLIS * 1_000, None)


def test_a_truncate_is_detected_by_its_statement() -> None:
    (event,) = read(line(ddl="TRUNCATE TABLE `test`.`table1`", databaseName="test", schemaName=None, tableChanges=[]))
    assert outcome(event) == ("truncate", "stream")
    assert (event.table, event.position, event.commit_us) == ("test.table1", f"{PLACE}-1", MILLIS * 1_000)
    (of_mysql,) = decoded([line(None, {"connector": "mysql"}, ddl="TRUNCATE TABLE table1", tableChanges=[])])
    assert outcome(of_mysql) == "ddl"
