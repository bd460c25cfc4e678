"""Positions of Oracle and SQL Server as Debezium tells them, and what cannot be placed."""

import json
from typing import Any

from pyspark.sql import Row, SparkSession

from engine.decode import envelopes
from engine.spec.model import SourceSpec
from tests.recordings import DATA
from tests.unit.decode.given import enveloped, event, lines

ORACLE = {
    "connector": "oracle",
    "version": "2.7.0.Final",
    "schema": "HR",
    "table": "JOBS",
    "lsn": None,
    "sequence": None,
    "ts_us": None,
}
SQLSERVER = {"connector": "sqlserver", "schema": "dbo", "table": "jobs", "lsn": None, "sequence": None}


def oracle(op: str = "u", **source: Any) -> str:
    return event(op, after={"ID": 1}, source={**ORACLE, **source})


def sqlserver(op: str = "u", commit: str | None = None, change: str | None = None, serial: int | None = None) -> str:
    lsns = {"commit_lsn": commit, "change_lsn": change, "event_serial_no": serial}
    image = {"before": {"id": 1}} if op == "d" else {"after": {"id": 1}}
    return event(op, source=SQLSERVER | lsns, **image)


def told(rows: list[Row]) -> list[Any]:
    return [row.position if row.kind == "change" else row.reason for row in rows]


IN_ORDER = [
    oracle(version="1.5.4.Final", scn="900", commit_scn="20", rs_id=None),
    oracle(version="1.9.7.Final", scn="1000", commit_scn="20"),
    oracle(scn="9", commit_scn="10", rs_id="0x0000d7.00000001.0010", ssn=5),
    oracle(scn="9", commit_scn="99", rs_id=" 0x0000d6.00000002.0010 ", ssn=1),
    oracle(scn="9", commit_scn="99", rs_id="0000d6.00000002.0010", ssn=2),
    oracle(scn="9", commit_scn="99", rs_id="0x0000d6.00000002.0010", ssn=2, redo_thread=2),
    oracle(scn="9", commit_scn="99", rs_id="0x0000d6.0000000a.0010", ssn=0),
    oracle(scn="10", commit_scn="99", rs_id="0x000001.00000001.0010", ssn=0),
    oracle("r", scn="99", commit_scn=None),
    oracle(scn="11", commit_scn="100"),
    oracle("r", scn="90", commit_scn="100"),
    oracle(scn="281474976710656", commit_scn="281474976710657"),
]


def test_oracle_is_in_the_order_of_its_commits(spark: SparkSession) -> None:
    rows = enveloped(spark, IN_ORDER)
    places = told(rows)
    assert places == sorted(places)
    assert len(set(places)) == len(places)
    assert places[3] == "0000-0000000000000063-0000000000000009-000000D60000000200000010-00000001-0000"
    assert places[0].startswith("0000-0000000000000000-0000000000000384-000000000000000000000000-")
    assert {(row.source, row.table) for row in rows} == {("oracle:srv", "HR.JOBS")}


def test_a_spec_can_put_all_of_oracle_in_the_order_of_its_scns(spark: SparkSession) -> None:
    lines = [
        oracle(version="1.5.4.Final", scn="20", commit_scn="20"),
        oracle(scn="21", commit_scn=None, lcr_position="0000000002"),
        oracle("r", scn="21"),
        oracle(scn="22", commit_scn="21"),
    ]
    rows = enveloped(spark, lines, order="scn")
    assert told(rows) == sorted(told(rows))
    assert all(row.position.startswith("0000-0000000000000000-") for row in rows)


def test_one_source_of_oracle_can_be_known_to_be_in_the_order_of_its_scns(spark: SparkSession) -> None:
    lines = [
        oracle(scn="21", commit_scn="20"),
        oracle("r", scn="21", commit_scn="30"),
        oracle(scn="22", commit_scn=None),
    ]
    others = [oracle(scn="21", commit_scn="20", name="other"), oracle(scn="21", commit_scn="22", name="other")]
    rows = enveloped(spark, [*lines, *others], by_scn=("oracle:srv", "oracle:x"))
    assert told(rows[:3]) == sorted(told(rows[:3]))
    assert all(row.position.startswith("0000-0000000000000000-") for row in rows[:3])
    assert [row.reason is None for row in rows[3:]] == [False, True]
    assert rows[4].position.startswith("0000-0000000000000016-")


def test_what_cannot_be_placed_says_why(spark: SparkSession) -> None:
    hint = " (source.order: scn in the spec orders without it)"
    known = {
        oracle(scn="21", commit_scn=None): "source.commit_scn is missing" + hint,
        oracle(scn="21", commit_scn="20"): "source.commit_scn is lower than source.scn" + hint,
        oracle(scn="0", commit_scn="0"): "a streamed change without a position",
        oracle(scn="21", commit_scn="22", rs_id="somewhere"): "a streamed change without a position",
        sqlserver(commit="00000027:00000758:0005"): "a streamed change without a position",
        sqlserver(commit="NULL", change="NULL"): "a streamed change without a position",
        oracle("r", scn="0", commit_scn=None): None,
        sqlserver("r", "NULL"): None,
    }
    assert told(enveloped(spark, known)) == list(known.values())


def test_sql_server_compares_numbers_and_keeps_the_halves_of_a_key_change(spark: SparkSession) -> None:
    lines = [
        sqlserver("c", "00000027:00000758:0005", "00000027:00000758:0003", 1),
        sqlserver("u", "00000027:00000a58:0005", "00000027:00000758:0003", 2),
        sqlserver("d", "00000027:00000A58:0005", "00000027:00000A58:0003", 1),
        sqlserver("c", "00000027:00000A58:0005", "00000027:00000A58:0003", 2),
        sqlserver("r", "00000027:00000a58:0005", "NULL"),
        sqlserver("u", "100000000"[:8] + ":00000001:0001", "00000028:00000001:0002", 2),
    ]
    rows = enveloped(spark, lines)
    assert told(rows) == sorted(told(rows))
    assert rows[2].position == "0000-000000270000" + "0A580005-000000270000" + "0A580003-00000001"
    assert {(row.source, row.table) for row in rows} == {("sqlserver:srv", "dbo.jobs")}


def test_a_change_of_oracle_has_the_time_of_its_commit_unless_that_is_before_it(spark: SparkSession) -> None:
    stamps = [(5_000, 7_000), (5_000, 700), (5_000, None)]
    lines = [oracle(scn="1", commit_scn="2", ts_ms=ts, commit_ts_ms=committed) for ts, committed in stamps]
    assert [row.commit_ts.second for row in enveloped(spark, lines)] == [7, 5, 5]


def test_the_pairs_of_oracle_hold(spark: SparkSession) -> None:
    if not DATA.is_dir():  # the same pair as in the recordings' folder
        pairs = [({"scn": "9999", "commit_scn": "10000"}, {"scn": "10001", "commit_scn": "10002"})]
    else:
        known = map(json.loads, (DATA / "ordering" / "pairs.jsonl").read_text().splitlines())
        pairs = [(pair["a"], pair["b"]) for pair in known if pair["source"] == "debezium-oracle"]
    rows = told(enveloped(spark, [oracle(**side) for pair in pairs for side in pair]))
    assert pairs
    assert all(one < other for one, other in zip(rows[::2], rows[1::2], strict=True))


def test_a_spec_can_name_the_database_of_a_table_of_sql_server(spark: SparkSession) -> None:
    told = [event("c", after={"id": 1}, source=SQLSERVER | {"db": db, "commit_lsn": "1:1:1"}) for db in ("a", "b", "c")]
    declared = {"a.dbo.jobs": None, "b.dbo.jobs": None, "dbo.jobs": None}
    found = envelopes(lines(spark, told), SourceSpec("debezium-json", "x"), declared).orderBy("line").collect()
    assert [row.table for row in found] == ["a.dbo.jobs", "b.dbo.jobs", "dbo.jobs"]
    assert {row.table for row in enveloped(spark, told)} == {"dbo.jobs"}
