"""Scans of a table: ghost rows, and scans with too few rows."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from siltstone.engine.table.ledger import ledger_schema
from siltstone.quality.findings import find
from siltstone.quality.results import Found
from siltstone.quality.scope import Tables
from siltstone.quality.snapshot_scans import Scan, names_table, scans
from siltstone.quality.source_progress import Progress
from tests.quality.stage import NOON, SECOND, Row, Stage, at, change, place
from tests.unit.spec.cases import source, spec

ROW = T.StructType([T.StructField("k", T.IntegerType()), T.StructField("a", T.IntegerType())])
TABLE = "inventory.customers"  # of the smallest spec
BEGINS, ENDS, LATER = 100, 110, 2000  # seconds
GRACE = timedelta(minutes=15)
LAST_MILLISECOND = 253_402_300_799_999  # of the calendar


def notice(
    kind: str,
    second: int,
    rows: int | None = None,
    table: str = TABLE,
    of: str = "Incremental Snapshot",
    source: str = "mysql:shop",
) -> Row:
    results = {"scanned_collection": table, "total_rows_scanned": str(rows), "status": "SUCCEEDED"} if rows else {}
    stamp = (NOON + second * SECOND) // 1000
    payload = {"id": "s", "type": kind, "aggregate_type": of, "additional_data": results, "timestamp": stamp}
    return {"kind": "notification", "source": source, "payload": json.dumps(payload)}


def request(second: int, **data: Any) -> Row:
    after = {"id": "s", "type": "execute-snapshot", "data": json.dumps({"data-collections": [TABLE]} | data)}
    moment = at(NOON + second * SECOND)
    return {"kind": "signal", "source": "mysql:shop", "commit_ts": moment, "payload": json.dumps({"after": after})}


def signal(second: int, data: Any) -> Row:
    """A request with any data."""
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


def heartbeat(second: int, batch: int = 1) -> Row:
    moment = at(NOON + second * SECOND)
    return {"kind": "heartbeat", "source": "mysql:shop", "ingest_ts": moment, "batch": batch}


def control(spark: SparkSession, rows: list[Row], until: int = LATER) -> DataFrame:
    """The control rows of a source that advanced until then."""
    whole = [{"batch": 1} | row for row in (*rows, heartbeat(until))]
    schema = ledger_schema("control")
    return spark.createDataFrame([tuple(row.get(name) for name in schema.names) for row in whole], schema)


def known_scans(rows: DataFrame, since: int = 0, with_reads: bool = False) -> list[Scan]:
    """The scans to check, from control rows alone."""
    return scans(rows, Progress(rows, since, rows.limit(0), since, GRACE), TABLE, with_reads)


def live(*keys: int, source: str = "mysql:shop") -> list[Row]:
    return [change(10 + key, "insert", key, {"a": 1}, source=source) for key in keys]


def read(key: int, second: int = 105, position: int = 105, source: str = "mysql:shop") -> Row:
    moment = NOON + second * SECOND
    more = {"commit_ts": moment, "ingest_ts": moment, "source": source}
    return change(position, "read", key, {"a": 1}, **more)


def updated(key: int, number: int) -> Row:
    return change(number, "update", key, {"a": 2}, source="mysql:shop")


def stamped(results: Row, second: int) -> Row:
    """A change of a long transaction: its time is that of its statement."""
    return results | {"commit_ts": NOON + second * SECOND}


def found(spark: SparkSession, changes: list[Row], rows: list[Row], several: str = "disjoint") -> dict[str, Found]:
    tables = Stage(spark, ROW, ("k",)).tables(changes)
    tables = Tables(tables.changes, tables.history, tables.latest, control(spark, rows))
    return find(tables, spec(source=source(several=several)), 0, ["short_snapshot", "ghost_row"])


def test_a_scan_whose_rows_all_arrived_has_no_ghost(spark: SparkSession) -> None:
    rows = [notice("STARTED", BEGINS), *window(104, 106), notice("TABLE_SCAN_COMPLETED", ENDS, 3)]
    changes = [*live(1, 2, 3, 4), read(1), read(2), updated(3, 105), updated(4, 107)]
    results = found(spark, changes, rows)
    assert {check: (what.observed, what.unavailable) for check, what in results.items()} == {
        "short_snapshot": (0, None), "ghost_row": (0, None),
    }  # fmt: skip


def test_a_live_row_that_a_scan_does_not_contain_is_a_ghost_and_missing_rows_make_it_short(spark: SparkSession) -> None:
    rows = [notice("STARTED", BEGINS), *window(104, 106), notice("TABLE_SCAN_COMPLETED", ENDS, 4)]
    late = stamped(change(108, "insert", 5, {"a": 1}, source="mysql:shop"), 10)
    results = found(spark, [*live(1, 2, 3, 4), read(1), updated(3, 105), updated(4, 107), late], rows)
    (ghost,) = results["ghost_row"].sample
    assert (ghost.key, ghost.position_from) == ('{"k":2}', place(12))
    assert [one.message.partition("announced ")[2] for one in results["short_snapshot"].sample] == ["4 rows; 2 arrived"]


OTHER = "mysql:branch"


def two_connectors() -> tuple[list[Row], list[Row]]:
    """Changes and control rows of two connectors that fill one table; one of them re-reads its rows."""
    rows = [notice("STARTED", BEGINS), *window(104, 106), notice("TABLE_SCAN_COMPLETED", ENDS, 3)]
    rows += [notice("STARTED", 104, source=OTHER), notice("TABLE_SCAN_COMPLETED", 200, 0, "x.others", source=OTHER)]
    changes = [*live(1, 2, 3, 4), read(1, 103), read(2), *live(7, 8, source=OTHER), read(9, source=OTHER)]
    return changes, rows


def test_a_scan_is_of_the_rows_of_its_own_source(spark: SparkSession) -> None:
    results = found(spark, *two_connectors())
    assert [ghost.key for ghost in results["ghost_row"].sample] == ['{"k":3}', '{"k":4}']
    assert [one.message.partition("announced ")[2] for one in results["short_snapshot"].sample] == ["3 rows; 2 arrived"]


@pytest.mark.slow
def test_a_scan_is_of_all_rows_if_sources_are_names_of_one_log(spark: SparkSession) -> None:
    results = found(spark, *two_connectors(), several="one_log")
    assert [ghost.key for ghost in results["ghost_row"].sample] == ['{"k":3}', '{"k":4}', '{"k":7}', '{"k":8}']
    assert results["short_snapshot"].observed == 0


def test_a_notice_of_another_connector_is_ignored(spark: SparkSession) -> None:
    """In a batch with changes of one connector only, a notice without a source was assigned to that connector."""
    ended = notice("TABLE_SCAN_COMPLETED", ENDS, 3)
    payload = json.loads(ended["payload"])
    rows = {}
    for name in ("shop", "branch"):
        named = payload | {"additional_data": payload["additional_data"] | {"connector_name": name}}
        rows[name] = control(spark, [notice("STARTED", BEGINS), ended | {"payload": json.dumps(named)}])
    assert [len(known_scans(rows[name])) for name in ("shop", "branch")] == [1, 0]


def test_a_change_replaces_a_read_only_if_its_key_is_in_the_chunk(spark: SparkSession) -> None:
    rows = [notice("STARTED", BEGINS), *window(102, 104), *window(105, 107), notice("TABLE_SCAN_COMPLETED", ENDS, 6)]
    reads = [read(1, 103, 103), read(2, 103, 103), read(4, 103, 103), read(8, 106, 106)]
    results = found(spark, [*live(3, 9), *reads, updated(3, 103), updated(9, 106)], rows)
    assert results["short_snapshot"].observed == 0
    short = found(spark, [*live(3, 9), *reads, updated(3, 103), updated(9, 103)], rows)
    assert [one.message.partition("announced ")[2] for one in short["short_snapshot"].sample] == ["6 rows; 5 arrived"]


@pytest.mark.slow
def test_without_markers_of_windows_every_change_during_the_scan_can_replace_a_read(spark: SparkSession) -> None:
    """A read-only snapshot writes no markers; a row that changed after it was counted sends no READ."""
    rows = [notice("STARTED", BEGINS), notice("TABLE_SCAN_COMPLETED", ENDS, 4)]
    before = [*live(1, 2, 3, 4), read(1), read(2)]
    assert found(spark, [*before, updated(3, 105), updated(4, 107)], rows)["short_snapshot"].observed == 0
    short = found(spark, [*before, updated(3, 105)], rows)
    assert [one.message.partition("announced ")[2] for one in short["short_snapshot"].sample] == ["4 rows; 3 arrived"]


def test_without_notices_a_scan_covers_the_keys_between_its_reads(spark: SparkSession) -> None:
    changes = [*live(1, 2, 3, 4, 5), read(2), read(4)]
    results = found(spark, changes, [request(BEGINS), *window(104, 106)])
    assert [one.key for one in results["ghost_row"].sample] == ['{"k":3}']
    assert results["short_snapshot"].unavailable == "no notice of a snapshot's end among the control records"
    part = found(spark, changes, [request(BEGINS, **{"additional-conditions": []}), *window(104, 106)])
    assert part["ghost_row"].observed == 0


def test_an_empty_table_has_no_row_but_those_of_transactions_that_may_not_have_been_committed(
    spark: SparkSession,
) -> None:
    """The scan has no position in the log: the guard decides how long a transaction can be."""
    ended = notice("TABLE_SCAN_COMPLETED", 5010, 7)  # the number of the previous table
    ended["payload"] = ended["payload"].replace("SUCCEEDED", "EMPTY")
    open_long = change(4500, "insert", 2, {"a": 1}, source="mysql:shop")
    results = found(spark, [*live(1), open_long], [notice("STARTED", 5000), ended, heartbeat(7000)])
    assert [ghost.key for ghost in results["ghost_row"].sample] == ['{"k":1}']
    assert results["short_snapshot"].observed == 0


@pytest.mark.parametrize("wrong", ["another table", "failed", "an earlier batch"])
def test_only_a_scan_of_the_table_that_ended_well_in_these_batches_counts(spark: SparkSession, wrong: str) -> None:
    ended = notice("TABLE_SCAN_COMPLETED", ENDS, 4, table="inventory.orders" if wrong == "another table" else TABLE)
    if wrong == "failed":
        ended["payload"] = ended["payload"].replace("SUCCEEDED", "ABORTED")
    rows = control(spark, [notice("STARTED", BEGINS), ended])
    assert known_scans(rows, 1 if wrong == "an earlier batch" else 0, with_reads=True) == []


def test_a_scan_begins_with_its_snapshot_or_at_the_end_of_the_scan_before(spark: SparkSession) -> None:
    """Several threads of one snapshot read several tables at once: the end of another table's scan is not a begin."""
    noon = datetime.fromtimestamp(NOON / SECOND, UTC)
    ended = notice("TABLE_SCAN_COMPLETED", ENDS, 4)
    other = notice("TABLE_SCAN_COMPLETED", 103, 7, table="inventory.orders")
    initial = [one | {"payload": one["payload"].replace("Incremental", "Initial")} for one in (other, ended)]
    first_notice = notice("STARTED", BEGINS, of="Initial Snapshot")
    own = first_notice | {
        "payload": first_notice["payload"].replace('"s"', '"another"')
    }  # each of its notices has an id
    restarted = notice("SKIPPED", 104, of="Initial Snapshot")
    for rows, second, windowed, number in (
        ([notice("STARTED", BEGINS), other, ended], BEGINS, True, 4),
        ([notice("STARTED", BEGINS), restarted, other, ended], BEGINS, True, None),
        ([other, ended], 103, True, 4),
        ([own, *initial], BEGINS, False, 4),
    ):
        begins, ends = (noon + timedelta(seconds=each) for each in (second, ENDS))
        scan = Scan("mysql:shop", begins, ends, number, whole=True, windowed=windowed)
        assert known_scans(control(spark, rows)) == [scan]
    assert known_scans(control(spark, [restarted, other, ended])) == []


def test_a_partial_request_is_recognised_although_its_notices_have_the_id_of_a_later_one(spark: SparkSession) -> None:
    """While a snapshot runs, its notices have the id of the newest request."""
    requested = request(BEGINS - 1, **{"additional-conditions": [{"data-collection": TABLE, "filter": "id > 5"}]})
    later = request(BEGINS + 1, **{"data-collections": ["inventory.orders"]})
    ended = notice("TABLE_SCAN_COMPLETED", ENDS, 4)
    of_later = [one | {"payload": one["payload"].replace('"s"', '"t"')} for one in (later, ended)]
    (scan,) = known_scans(control(spark, [requested, notice("STARTED", BEGINS), *of_later]))
    assert scan.partial
    (whole,) = known_scans(control(spark, [notice("STARTED", BEGINS), *of_later]))
    assert not whole.partial


def test_a_scan_is_checked_once_its_source_advanced_by_more_than_the_grace_time(spark: SparkSession) -> None:
    rows = [notice("STARTED", BEGINS), notice("TABLE_SCAN_COMPLETED", ENDS, 4)]
    early, late = ENDS + 60, ENDS + 901
    for beats, since, expected in (
        ([early], 0, 0),
        ([early, late], 0, 1),
        ([early, late], 1, 1),  # the notice arrived in an earlier run, which could not check the scan yet
        ([early, late, late + 60], 2, 0),  # that run checked it
    ):
        sent = [heartbeat(second, batch) for batch, second in enumerate(beats, 1)]
        assert len(known_scans(control(spark, [*rows, *sent], until=BEGINS), since)) == expected, (beats, since)


def test_changes_alone_show_when_a_scan_can_be_checked(spark: SparkSession) -> None:
    rows = control(spark, [notice("STARTED", BEGINS), notice("TABLE_SCAN_COMPLETED", ENDS, 4)], until=BEGINS)
    sent = control(spark, [heartbeat(ENDS + 60), heartbeat(LATER, batch=2)], until=BEGINS)
    other = sent.replace("mysql:shop", OTHER, "source")
    # Control rows are numbered by the batches of their source, changes by those of their table.
    for changes, since, expected in ((sent, 0, 1), (sent, 1, 1), (sent, 2, 0), (other, 0, 0)):
        assert len(scans(rows, Progress(rows, 7, changes, since, GRACE), TABLE, with_reads=True)) == expected
    as_names = Progress(rows, 7, other, 0, GRACE, of_one_log=True)
    assert len(scans(rows, as_names, TABLE, with_reads=True)) == 1


def test_an_incremental_scan_during_a_change_of_columns_has_no_usable_number(spark: SparkSession) -> None:
    """It re-reads the chunk and counts its rows twice."""
    ddl = {"kind": "ddl", "source": "mysql:shop", "table": TABLE, "ingest_ts": at(NOON + 105 * SECOND)}
    rows = [notice("STARTED", BEGINS), notice("TABLE_SCAN_COMPLETED", ENDS, 4)]
    elsewhere = ddl | {"table": "inventory.orders"}
    before = ddl | {"ingest_ts": at(NOON + 99 * SECOND)}
    assert [scan.rows for scan in known_scans(control(spark, [*rows, elsewhere, before]))] == [4]
    assert [scan.rows for scan in known_scans(control(spark, [*rows, ddl]))] == [None]


UNREADABLE: dict[str, Any] = {
    "no JSON": "oops",
    "a list": f'["{TABLE}"]',
    "nothing": None,
    "no list of tables": json.dumps({"data-collections": TABLE}),
    "tables that are no text": json.dumps({"data-collections": [7, None, {}]}),
    "another table": json.dumps({"data-collections": ["inventory.orders"]}),
}


def test_an_unreadable_signal_requests_nothing(spark: SparkSession) -> None:
    bad = [signal(BEGINS + 3, data) for data in UNREADABLE.values()]
    bad += [request(BEGINS + 3) | {"payload": text} for text in ("execute-snapshot", '["execute-snapshot"]')]
    assert known_scans(control(spark, bad), with_reads=True) == []
    (scan,) = known_scans(control(spark, [request(BEGINS), *bad]), with_reads=True)
    assert scan.begins == datetime.fromtimestamp(NOON / SECOND + BEGINS, UTC)
    loud = {name.upper(): value for name, value in json.loads(request(BEGINS)["payload"])["after"].items()}
    in_upper_case = control(spark, [request(BEGINS) | {"payload": json.dumps({"after": loud})}])
    assert known_scans(in_upper_case, with_reads=True) == [scan]
    changes = [*live(1, 2, 3, 4, 5), read(2), read(4)]
    results = found(spark, changes, [signal(BEGINS, UNREADABLE["no JSON"]), *window(104, 106)])
    missing = "no notice of a snapshot's end and no snapshot request among the control records"
    assert results["ghost_row"].unavailable == missing
    results = found(spark, changes, [*bad, request(BEGINS), *window(104, 106)])
    assert [one.key for one in results["ghost_row"].sample] == ['{"k":3}']


@pytest.mark.parametrize(
    ("name", "is_named"),
    [("inventory.*", True), ("*.customers", False), (f"*{TABLE}", False), ("(", False), (f"shop.{TABLE}", True)],
)
def test_a_name_that_is_no_pattern_is_compared_as_it_is(name: str, is_named: bool) -> None:
    assert names_table([name], TABLE) == is_named
    assert names_table([name, TABLE], TABLE)
    assert names_table([name], name)


def test_an_unreadable_notice_is_ignored(spark: SparkSession) -> None:
    good = [notice("STARTED", BEGINS), notice("TABLE_SCAN_COMPLETED", ENDS, 3)]
    results = json.loads(good[1]["payload"])
    bad = [
        *[results | {"timestamp": time} for time in ("soon", 10**30, LAST_MILLISECOND, {})],
        results | {"additional_data": "TABLE_SCAN_COMPLETED"}, [results], "TABLE_SCAN_COMPLETED",
        results | {"additional_data": results["additional_data"] | {"scanned_collection": 7}},
    ]  # fmt: skip
    rows = [good[1] | {"payload": json.dumps(payload)} for payload in bad]
    rows.append(good[1] | {"payload": "TABLE_SCAN_COMPLETED, it says"})
    (scan,) = known_scans(control(spark, [*good, *rows, request(BEGINS)]), with_reads=True)
    assert scan.rows == 3
    unnumbered = results | {"additional_data": results["additional_data"] | {"total_rows_scanned": "many"}}
    (scan,) = known_scans(control(spark, [good[0], good[1] | {"payload": json.dumps(unnumbered)}]))
    assert scan.rows is None
