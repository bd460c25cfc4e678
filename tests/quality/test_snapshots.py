"""Scans of a table: rows that outlived one, and scans of which too little came."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from engine.table.ledger import ledger_schema
from quality.findings import find
from quality.results import Found
from quality.scope import Tables
from quality.snapshots import Scan, names_table, scans
from tests.quality.stage import NOON, SECOND, Row, Stage, at, change, place
from tests.unit.spec.cases import source, spec

ROW = T.StructType([T.StructField("k", T.IntegerType()), T.StructField("a", T.IntegerType())])
TABLE = "inventory.customers"  # of the smallest spec
BEGINS, ENDS = 100, 110  # seconds


def notice(
    kind: str,
    second: int,
    rows: int | None = None,
    table: str = TABLE,
    of: str = "Incremental Snapshot",
    source: str = "mysql:shop",
) -> Row:
    told = {"scanned_collection": table, "total_rows_scanned": str(rows), "status": "SUCCEEDED"} if rows else {}
    stamp = (NOON + second * SECOND) // 1000
    payload = {"id": "s", "type": kind, "aggregate_type": of, "additional_data": told, "timestamp": stamp}
    return {"kind": "notification", "source": source, "payload": json.dumps(payload)}


def request(second: int, **data: Any) -> Row:
    after = {"id": "s", "type": "execute-snapshot", "data": json.dumps({"data-collections": [TABLE]} | data)}
    moment = at(NOON + second * SECOND)
    return {"kind": "signal", "source": "mysql:shop", "commit_ts": moment, "payload": json.dumps({"after": after})}


def signal(second: int, data: Any) -> Row:
    """A request with whatever somebody wrote into it."""
    after = {"id": "s", "type": "execute-snapshot", "data": data}
    return request(second) | {"payload": json.dumps({"after": after})}


def window(first: int, last: int) -> list[Row]:
    ends = (("open", first), ("close", last))
    common = {"source": "mysql:shop"}
    return [
        common
        | {
            "kind": f"window_{side}",
            "event_id": f"w{first}-{side}",
            "position": place(n),
            "commit_ts": at(NOON + n * SECOND),
        }
        for side, n in ends
    ]


def control(spark: SparkSession, rows: list[Row]) -> DataFrame:
    whole = [{"batch": 1} | row for row in rows]
    schema = ledger_schema("control")
    return spark.createDataFrame([tuple(row.get(name) for name in schema.names) for row in whole], schema)


def live(*keys: int, source: str = "mysql:shop") -> list[Row]:
    return [change(10 + key, "insert", key, {"a": 1}, source=source) for key in keys]


def read(key: int, second: int = 105, position: int = 105, source: str = "mysql:shop") -> Row:
    moment = NOON + second * SECOND
    more = {"commit_ts": moment, "ingest_ts": moment, "source": source}
    return change(position, "read", key, {"a": 1}, **more)


def updated(key: int, number: int) -> Row:
    return change(number, "update", key, {"a": 2}, source="mysql:shop")


def found(spark: SparkSession, changes: list[Row], rows: list[Row], several: str = "disjoint") -> dict[str, Found]:
    tables = Stage(spark, ROW, ("k",)).tables(changes)
    tables = Tables(tables.changes, tables.history, tables.latest, control(spark, rows))
    return find(tables, spec(source=source(several=several)), 0, ["short_snapshot", "ghost_row"])


def test_a_scan_of_which_all_came_leaves_no_ghost(spark: SparkSession) -> None:
    rows = [notice("STARTED", BEGINS), *window(104, 106), notice("TABLE_SCAN_COMPLETED", ENDS, 3)]
    changes = [*live(1, 2, 3, 4), read(1), read(2), updated(3, 105), updated(4, 107)]
    told = found(spark, changes, rows)
    assert {check: (what.observed, what.unavailable) for check, what in told.items()} == {
        "short_snapshot": (0, None), "ghost_row": (0, None),
    }  # fmt: skip


def test_a_live_row_that_a_scan_did_not_see_is_a_ghost_and_missing_rows_make_it_short(spark: SparkSession) -> None:
    rows = [notice("STARTED", BEGINS), *window(104, 106), notice("TABLE_SCAN_COMPLETED", ENDS, 4)]
    changes = [*live(1, 2, 3, 4), read(1), updated(3, 105), updated(4, 107)]
    told = found(spark, changes, rows)
    (ghost,) = told["ghost_row"].sample
    assert (ghost.key, ghost.position_from) == ('{"k":2}', place(12))
    assert [one.message.partition("announced ")[2] for one in told["short_snapshot"].sample] == ["4 rows; 2 came"]


OTHER = "mysql:branch"


def two_connectors() -> tuple[list[Row], list[Row]]:
    """Changes and control rows of two connectors that fill one table; one of them reads its rows anew."""
    rows = [notice("STARTED", BEGINS), *window(104, 106), notice("TABLE_SCAN_COMPLETED", ENDS, 3)]
    rows += [notice("STARTED", 104, source=OTHER), notice("TABLE_SCAN_COMPLETED", 200, 0, "x.others", source=OTHER)]
    changes = [*live(1, 2, 3, 4), read(1, 103), read(2), *live(7, 8, source=OTHER), read(9, source=OTHER)]
    return changes, rows


def test_a_scan_is_of_the_rows_of_its_own_source(spark: SparkSession) -> None:
    told = found(spark, *two_connectors())
    assert [ghost.key for ghost in told["ghost_row"].sample] == ['{"k":3}', '{"k":4}']
    assert [one.message.partition("announced ")[2] for one in told["short_snapshot"].sample] == ["3 rows; 2 came"]


@pytest.mark.slow
def test_a_scan_is_of_all_rows_where_sources_are_names_of_one_log(spark: SparkSession) -> None:
    told = found(spark, *two_connectors(), several="one_log")
    assert [ghost.key for ghost in told["ghost_row"].sample] == ['{"k":3}', '{"k":4}', '{"k":7}', '{"k":8}']
    assert told["short_snapshot"].observed == 0


def test_a_notice_of_another_connector_is_not_believed_of_this_one(spark: SparkSession) -> None:
    """Where only one connector's changes came in a batch, what names no source was taken to be of that one."""
    ended = notice("TABLE_SCAN_COMPLETED", ENDS, 3)
    payload = json.loads(ended["payload"])
    rows = {}
    for name in ("shop", "branch"):
        named = payload | {"additional_data": payload["additional_data"] | {"connector_name": name}}
        rows[name] = control(spark, [notice("STARTED", BEGINS), ended | {"payload": json.dumps(named)}])
    assert [len(scans(rows[name], 0, TABLE, with_reads=False)) for name in ("shop", "branch")] == [1, 0]


def test_a_change_stands_for_a_read_only_where_its_key_lies_in_the_chunk(spark: SparkSession) -> None:
    rows = [notice("STARTED", BEGINS), *window(102, 104), *window(105, 107), notice("TABLE_SCAN_COMPLETED", ENDS, 6)]
    reads = [read(1, 103, 103), read(2, 103, 103), read(4, 103, 103), read(8, 106, 106)]
    told = found(spark, [*live(3, 9), *reads, updated(3, 103), updated(9, 106)], rows)
    assert told["short_snapshot"].observed == 0
    short = found(spark, [*live(3, 9), *reads, updated(3, 103), updated(9, 103)], rows)
    assert [one.message.partition("announced ")[2] for one in short["short_snapshot"].sample] == ["6 rows; 5 came"]


def test_without_notices_a_scan_covers_the_keys_between_its_reads(spark: SparkSession) -> None:
    changes = [*live(1, 2, 3, 4, 5), read(2), read(4)]
    told = found(spark, changes, [request(BEGINS), *window(104, 106)])
    assert [one.key for one in told["ghost_row"].sample] == ['{"k":3}']
    assert told["short_snapshot"].unavailable == "no notice of a snapshot's end among the control records"
    part = found(spark, changes, [request(BEGINS, **{"additional-conditions": []}), *window(104, 106)])
    assert part["ghost_row"].observed == 0


@pytest.mark.parametrize("wrong", ["another table", "failed", "an earlier batch"])
def test_only_a_scan_of_the_table_that_ended_well_in_these_batches_counts(spark: SparkSession, wrong: str) -> None:
    ended = notice("TABLE_SCAN_COMPLETED", ENDS, 4, table="inventory.orders" if wrong == "another table" else TABLE)
    if wrong == "failed":
        ended["payload"] = ended["payload"].replace("SUCCEEDED", "ABORTED")
    rows = control(spark, [notice("STARTED", BEGINS), ended])
    assert scans(rows, 1 if wrong == "an earlier batch" else 0, TABLE, with_reads=True) == []


def test_a_scan_begins_where_the_one_before_it_ended(spark: SparkSession) -> None:
    rows = [notice("STARTED", BEGINS), notice("TABLE_SCAN_COMPLETED", 103, 7, table="inventory.orders")]
    rows += [notice("STARTED", 104, of="Initial Snapshot"), notice("TABLE_SCAN_COMPLETED", ENDS, 4)]
    noon = datetime.fromtimestamp(NOON / SECOND, UTC)
    begins, ends = (noon + timedelta(seconds=second) for second in (103, ENDS))
    scan = Scan("mysql:shop", begins, ends, 4, whole=True, windowed=True)
    assert scans(control(spark, rows), 0, TABLE, with_reads=False) == [scan]


UNREADABLE: dict[str, Any] = {
    "no JSON": "oops",
    "a list": f'["{TABLE}"]',
    "nothing": None,
    "no list of tables": json.dumps({"data-collections": TABLE}),
    "tables that are no text": json.dumps({"data-collections": [7, None, {}]}),
    "another table": json.dumps({"data-collections": ["inventory.orders"]}),
}


def test_a_signal_that_cannot_be_read_asks_for_nothing(spark: SparkSession) -> None:
    bad = [signal(BEGINS + 3, data) for data in UNREADABLE.values()]
    bad += [request(BEGINS + 3) | {"payload": text} for text in ("execute-snapshot", '["execute-snapshot"]')]
    assert scans(control(spark, bad), 0, TABLE, with_reads=True) == []
    (scan,) = scans(control(spark, [request(BEGINS), *bad]), 0, TABLE, with_reads=True)
    assert scan.begins == datetime.fromtimestamp(NOON / SECOND + BEGINS, UTC)
    changes = [*live(1, 2, 3, 4, 5), read(2), read(4)]
    told = found(spark, changes, [signal(BEGINS, UNREADABLE["no JSON"]), *window(104, 106)])
    missing = "no notice of a snapshot's end, nor a request for one, in the control records"
    assert told["ghost_row"].unavailable == missing
    told = found(spark, changes, [*bad, request(BEGINS), *window(104, 106)])
    assert [one.key for one in told["ghost_row"].sample] == ['{"k":3}']


@pytest.mark.parametrize(
    ("name", "is_named"),
    [("inventory.*", True), ("*.customers", False), (f"*{TABLE}", False), ("(", False), (f"shop.{TABLE}", True)],
)
def test_a_name_that_is_no_pattern_is_compared_as_it_is(name: str, is_named: bool) -> None:
    assert names_table([name], TABLE) == is_named
    assert names_table([name, TABLE], TABLE)
    assert names_table([name], name)


def test_a_notice_that_cannot_be_read_says_nothing(spark: SparkSession) -> None:
    good = [notice("STARTED", BEGINS), notice("TABLE_SCAN_COMPLETED", ENDS, 3)]
    told = json.loads(good[1]["payload"])
    bad = [
        told | {"timestamp": "soon"}, told | {"timestamp": 10**30}, told | {"timestamp": {}},
        told | {"additional_data": "TABLE_SCAN_COMPLETED"}, [told], "TABLE_SCAN_COMPLETED",
        told | {"additional_data": told["additional_data"] | {"scanned_collection": 7}},
    ]  # fmt: skip
    rows = [good[1] | {"payload": json.dumps(payload)} for payload in bad]
    rows.append(good[1] | {"payload": "TABLE_SCAN_COMPLETED, it says"})
    (scan,) = scans(control(spark, [*good, *rows, request(BEGINS)]), 0, TABLE, with_reads=True)
    assert scan.rows == 3
    unnumbered = told | {"additional_data": told["additional_data"] | {"total_rows_scanned": "many"}}
    (scan,) = scans(control(spark, [good[0], good[1] | {"payload": json.dumps(unnumbered)}]), 0, TABLE, with_reads=True)
    assert scan.rows is None
