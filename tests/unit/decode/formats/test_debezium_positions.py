"""Positions and tables of each connector, and changes that have no position."""

import json
from typing import Any

import pytest

from siltstone.engine.decode.event import Event
from tests.recordings import DATA
from tests.unit.decode.formats.debezium_events import decoded, event

NEITHER = {"lsn": None, "sequence": None}
ORACLE = {"connector": "oracle", "version": "2.7.0.Final", "schema": "HR", "table": "JOBS", "ts_us": None, **NEITHER}
SQLSERVER = {"connector": "sqlserver", "schema": "dbo", "table": "jobs", **NEITHER}
MYSQL = {"connector": "mysql", "db": "shop", "schema": None, **NEITHER}


def oracle(op: str = "u", **source: Any) -> str:
    return event(op, after={"ID": 1}, source={**ORACLE, **source})


def sqlserver(op: str = "u", commit: str | None = None, change: str | None = None, serial: int | None = None) -> str:
    lsns = {"commit_lsn": commit, "change_lsn": change, "event_serial_no": serial}
    image = {"before": {"id": 1}} if op == "d" else {"after": {"id": 1}}
    return event(op, source=SQLSERVER | lsns, **image)


def postgresql(op: str = "u", lsn: int | None = None, sequence: str | None = None) -> str:
    return event(op, after={"id": 1}, source={"lsn": lsn, "sequence": sequence})


def mysql(op: str = "u", **source: Any) -> str:
    return event(op, after={"id": 1}, source=MYSQL | source)


def places_or_reasons(events: list[Event]) -> list[Any]:
    return [one.position if one.kind == "change" else one.reason for one in events]


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


def test_oracle_orders_changes_by_commit() -> None:
    found = decoded(IN_ORDER)
    places = places_or_reasons(found)
    assert places == sorted(places)
    assert len(set(places)) == len(places)
    assert places[3] == "0000-0000000000000063-0000000000000009-000000D60000000200000010-00000001-0000"
    assert places[0].startswith("0000-0000000000000000-0000000000000384-000000000000000000000000-")
    assert {(one.source, one.table) for one in found} == {("oracle:srv", "HR.JOBS")}


def test_a_spec_can_order_all_oracle_sources_by_scn() -> None:
    lines = [
        oracle(version="1.5.4.Final", scn="20", commit_scn="20"),
        oracle(scn="21", commit_scn=None, lcr_position="0000000002"),
        oracle("r", scn="21"),
        oracle(scn="22", commit_scn="21"),
    ]
    places = places_or_reasons(decoded(lines, order="scn"))
    assert places == sorted(places)
    assert all(place.startswith("0000-0000000000000000-") for place in places)


def test_a_decoder_can_order_one_oracle_source_by_scn() -> None:
    lines = [
        oracle(scn="21", commit_scn="20"),
        oracle("r", scn="21", commit_scn="30"),
        oracle(scn="22", commit_scn=None),
    ]
    others = [oracle(scn="21", commit_scn="20", name="other"), oracle(scn="21", commit_scn="22", name="other")]
    found = decoded([*lines, *others], by_scn=("oracle:srv", "oracle:x"))
    places = places_or_reasons(found)
    assert places[:3] == sorted(places[:3])
    assert all(place.startswith("0000-0000000000000000-") for place in places[:3])
    assert [one.reason is None for one in found[3:]] == [False, True]
    assert places[4].startswith("0000-0000000000000016-")


def test_an_oracle_event_without_a_table_belongs_to_the_only_declared_table() -> None:
    source = dict.fromkeys(("connector", "db", "schema", "table")) | {"scn": "21", "commit_scn": "22", "name": None}
    line = event("c", after={"ID": 1}, source=ORACLE | source)
    assert [one.table for one in decoded([line], ["HR.JOBS"])] == ["HR.JOBS"]
    assert places_or_reasons(decoded([line], ["HR.JOBS", "HR.PEOPLE"])) == ["source.table is missing"]


def test_an_oracle_change_has_its_commit_time_unless_that_is_earlier() -> None:
    stamps = [(5_000, 7_000), (5_000, 700), (5_000, None)]
    lines = [oracle(scn="1", commit_scn="2", ts_ms=ts, commit_ts_ms=committed) for ts, committed in stamps]
    assert [one.commit_us for one in decoded(lines)] == [7_000_000, 5_000_000, 5_000_000]


def test_oracle_positions_have_the_order_of_the_collected_pairs() -> None:
    if not DATA.is_dir():  # one pair of the recordings
        pairs = [({"scn": "9999", "commit_scn": "10000"}, {"scn": "10001", "commit_scn": "10002"})]
    else:
        known = map(json.loads, (DATA / "ordering" / "pairs.jsonl").read_text().splitlines())
        pairs = [(pair["a"], pair["b"]) for pair in known if pair["source"] == "debezium-oracle"]
    places = places_or_reasons(decoded([oracle(**side) for pair in pairs for side in pair]))
    assert pairs
    assert all(one < other for one, other in zip(places[::2], places[1::2], strict=True))


HINT = " (source.order: scn in the spec orders without it)"
UNPLACED = {
    oracle(scn="21", commit_scn=None): "source.commit_scn is missing" + HINT,
    oracle(scn="21", commit_scn="20"): "source.commit_scn is lower than source.scn" + HINT,
    oracle(scn="0", commit_scn="0"): "a streamed change without a position",
    oracle(scn="21", commit_scn="22", rs_id="somewhere"): "a streamed change without a position",
    sqlserver(commit="00000027:00000758:0005"): "a streamed change without a position",
    sqlserver(commit="NULL", change="NULL"): "a streamed change without a position",
    mysql(file="", pos=0): "a streamed change without a position",
    mysql(file="bin.000001", pos=-1): "a streamed change without a position",
    mysql(file="bin.000001", pos=4, row=2**32): "a streamed change without a position",
    mysql(file="bin.4294967296", pos=4): "a streamed change without a position",
    mysql("r", file="", pos=0): None,
    postgresql("r", -(2**63)): None,
    oracle("r", scn="0", commit_scn=None): None,
    sqlserver("r", "NULL"): None,
}


@pytest.mark.parametrize(("line", "reason"), UNPLACED.items())
def test_a_streamed_change_without_a_position_is_rejected(line: str, reason: str | None) -> None:
    (one,) = decoded([line])
    assert (one.reason, one.position) == (reason, None if reason is None else one.position)


def test_sql_server_compares_numbers_and_orders_the_halves_of_a_key_change() -> None:
    lines = [
        sqlserver("c", "00000027:00000758:0005", "00000027:00000758:0003", 1),
        sqlserver("u", "00000027:00000a58:0005", "00000027:00000758:0003", 2),
        sqlserver("d", "00000027:00000A58:0005", "00000027:00000A58:0003", 1),
        sqlserver("c", "00000027:00000A58:0005", "00000027:00000A58:0003", 2),
        sqlserver("r", "00000027:00000a58:0005", "NULL"),
        sqlserver("u", "10000000:00000001:0001", "00000028:00000001:0002", 2),
    ]
    found = decoded(lines)
    assert places_or_reasons(found) == sorted(places_or_reasons(found))
    assert found[2].position == "0000-000000270000" + "0A580005-000000270000" + "0A580003-00000001"
    assert {(one.source, one.table) for one in found} == {("sqlserver:srv", "dbo.jobs")}
    assert found[0].tx_id == "00000027:00000758:0005"


def test_a_spec_can_name_the_database_of_a_sql_server_table() -> None:
    lines = [event("r", after={"id": 1}, source=SQLSERVER | {"db": db}) for db in ("a", "b", "c")]
    declared = ["a.dbo.jobs", "b.dbo.jobs", "dbo.jobs"]
    assert [one.table for one in decoded(lines, declared)] == declared
    assert {one.table for one in decoded(lines)} == {"dbo.jobs"}


def test_binlog_events_name_the_database_and_are_ordered_by_file_number() -> None:
    place: dict[str, Any] = {
        "file": "mysql-bin.999999",
        "pos": 255,
        "row": 1,
        "ts_us": None,
        "ts_ms": 1_700_000_000_123,
    }
    one, other = decoded([mysql(**place), mysql(**place | {"file": "mysql-bin.1000000", "row": None})])
    assert (one.table, one.commit_us) == ("shop.items", 1_700_000_000_123_000)
    assert one.position == "0000-000F423F-00000000000000FF-00000001"
    assert other.position == "0000-000F4240-00000000000000FF-00000000"


POSTGRESQL = {
    postgresql(lsn=32, sequence='["16","32"]'): "0000-0000000000000010-0000000000000020",
    postgresql(lsn=32, sequence='[null,"32"]'): "0000-0000000000000020-0000000000000020",
    postgresql(lsn=32): "0000-0000000000000020-0000000000000020",
    postgresql(lsn=-1, sequence='["16", "32"]'): "0000-0000000000000010-0000000000000020",
    postgresql(sequence='["16",null]'): "a streamed change without a position",
    postgresql("r", 32): "0000-0000000000000020-0000000000000020",
    postgresql("r", 32, '["16",null]'): "0000-0000000000000020-0000000000000020-0000000000000010",
    postgresql("r", None, '["48","32"]'): "0000-0000000000000030-0000000000000020",
}


@pytest.mark.parametrize(("line", "place"), POSTGRESQL.items())
def test_postgresql_orders_changes_by_the_previous_commit_and_the_lsn(line: str, place: str) -> None:
    assert places_or_reasons(decoded([line])) == [place]


def test_a_window_closes_after_all_changes_of_its_commit() -> None:
    row = {"id": "0b6f1c3e-7d42-4f7b-9a55-2f0e4f0c9d11-close", "type": "snapshot-window-close", "data": None}
    source = SQLSERVER | {"commit_lsn": "1:2:3", "change_lsn": "1:2:1", "event_serial_no": 1}
    (closed,) = decoded([event("c", after=row, source=source)])
    assert (closed.control_kind, closed.position) == (
        "window_close",
        "0000-00000001000000020003-" + "F" * 20 + "-" + "F" * 8,
    )
