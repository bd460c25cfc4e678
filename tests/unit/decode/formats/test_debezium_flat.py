"""Rows that Debezium's transform ExtractNewRecordState makes from events."""

import json
from typing import Any

import pytest

from siltstone.engine.decode.event import Event
from siltstone.engine.decode.event_schemas import key_columns, row_columns
from siltstone.engine.decode.formats.debezium_flat import FlatDecoder
from siltstone.engine.spec.model import SourceSpec
from tests.unit.decode.formats.debezium_events import decoded, event, outcome, wrapped

FLAT = "debezium-flat-json"
ROW = {"id": 1, "name": "a"}
POSTGRESQL = {"__op": "u", "__table": "items", "__schema": "shop", "__lsn": "32", "__source_ts_ms": 1_578_923_739_738}
MYSQL = {
    "__op": "c", "__deleted": "false", "__source_connector": "mysql", "__source_name": "srv", "__source_db": "shop",
    "__source_table": "items", "__source_file": "bin.000003", "__source_pos": 154, "__source_row": 0, "__ts_ms": 5,
    "__source_ts_ms": 1_578_923_739_000,
}  # fmt: skip
OTHERS = {
    "oracle": {"__source_scn": "21", "__source_commit_scn": "22"},
    "sqlserver": {"__commit_lsn": "1:2:3", "__change_lsn": "1:2:1", "__event_serial_no": 2},
    "mongodb": {"__source_ts_ms": 1000, "__ord": 3, "__collection": "items", "__db": "shop"},
    "vitess": {"__shard": "0", "__vgtid": '[{"shard":"0","gtid":"MySQL56/a:1-68"}]', "__keyspace": "ks"},
}


def line(value: Any, key: Any = None, **more: Any) -> str:
    return json.dumps({"topic": "srv.shop.items", "key": key or {"id": 1}, "value": value, **more})


def one(text: str, declared: Any = ("shop.items",), **source: Any) -> Event:
    (found,) = decoded([text], declared, FLAT, **source)
    return found


def test_a_row_with_log_fields_gives_the_same_change_as_the_whole_event() -> None:
    whole = event("u", after=ROW, source={"name": "", "lsn": 32, "sequence": None, "ts_us": None})
    (wanted,) = decoded([whole], ["shop.items"])
    found = one(line(ROW | POSTGRESQL | {"__source_ts_ms": 1_700_000_000_000, "__ts_ms": 1_700_000_001_000}))
    same = ("op", "origin", "table", "source", "position", "commit_us", "ingest_us", "connector")
    assert {name: getattr(found, name) for name in same} == {name: getattr(wanted, name) for name in same}
    assert json.loads(found.after or b"") == ROW


def test_mysql_rows_have_positions_of_the_binlog() -> None:
    found = one(line(ROW | MYSQL))
    assert (found.source, found.table) == ("mysql:srv", "shop.items")
    assert found.position == "0000-00000003-000000000000009A-00000000"
    assert (found.commit_us, found.ingest_us) == (1_578_923_739_000_000, 5_000)


@pytest.mark.parametrize("connector", OTHERS)
def test_the_fields_show_which_connector_wrote_them(connector: str) -> None:
    found = one(line(ROW | {"__op": "c", "__ts_ms": 5, "__table": "items"} | OTHERS[connector]))
    assert found.reason is None
    assert (found.connector, (found.source or "").partition(":")[0]) == (connector, connector)
    assert found.position is not None


def test_a_rewritten_delete_has_the_row_before_it() -> None:
    found = one(line({"pk": 2, "cola": None, "__deleted": "true", "__lsn": 5, "__ts_ms": 7, "__op": "d"}, {"pk": 2}))
    assert outcome(found) == ("delete", "stream")
    assert (found.before, found.after) == (b'{"pk":2,"cola":null}', None)


def test_snapshot_rows_are_reads() -> None:
    assert outcome(one(line(ROW | POSTGRESQL | {"__op": "r"}))) == ("read", "snapshot")
    assert outcome(one(line(ROW | {"__op": "r", "__ts_ms": 5}))) == ("read", "snapshot")


def test_rows_without_log_fields_have_the_order_of_delivery() -> None:
    found = one(line(ROW | {"__op": "u", "__source_ts_ms": 5, "__ts_ms": 6}, partition=2, offset=7))
    assert outcome(found) == ("update", "stream")
    assert (found.source, found.table) == ("debezium-flat:", "shop.items")
    assert found.position == "0000-000000000000-00000002-0000000000000007-00000000"
    assert (found.commit_us, found.ingest_us) == (5_000, 6_000)
    bare = one(json.dumps(ROW | {"__ts_ms": 6}))
    assert (bare.op, bare.source, bare.key) == ("update", "debezium-flat:", None)
    assert (bare.position or "").endswith("-0000000000000001-00000000")


def test_rows_without_an_operation_are_updates_of_another_source() -> None:
    found = one(line(ROW | {"__lsn": 32, "__name": "srv", "__source_ts_ms": 5}))
    assert (found.op, found.source, found.position) == (
        "update",
        "debezium-flat:srv",
        "0000-0000000000000020-0000000000000020",
    )


def test_oracle_rows_have_log_positions_only_if_the_spec_sets_scn() -> None:
    text = line(ROW | {"__op": "c", "__source_connector": "oracle", "__scn": "21", "__ts_ms": 5, "__table": "ITEMS"})
    assert one(text).source == "debezium-flat:"
    found = one(text, order="scn")
    assert (found.source, (found.position or "")[:39]) == ("oracle:", "0000-0000000000000000-0000000000000015-")


def test_fields_can_be_in_headers() -> None:
    headers = [{"key": "__op", "value": "d"}, {"key": "__lsn", "value": {"schema": {"type": "int64"}, "payload": 9}}]
    found = one(line(ROW | {"__ts_ms": 5}, headers=headers))
    assert (found.op, found.source, found.position) == (
        "delete",
        "postgresql:",
        "0000-0000000000000009-0000000000000009",
    )
    assert one(line(ROW | {"__ts_ms": 5}, headers={"__op": "d"})).op == "delete"


def test_a_null_message_is_a_control_event_or_a_delete_if_the_spec_sets_coordinates() -> None:
    null = line(None, offset=7, partition=0, timestamp=1_578_923_739_802)
    assert outcome(one(null)) == "null_message"
    found = one(null, order="coordinates")
    assert outcome(found) == ("delete", "stream")
    assert (found.key, found.table, found.ingest_us) == (b'{"id":1}', "shop.items", 1_578_923_739_802_000)
    row = one(line(ROW | POSTGRESQL | {"__name": "srv"}, offset=6, partition=0), order="coordinates")
    assert row.source == found.source == "debezium-flat:"
    assert str(row.position) < str(found.position)


def test_the_row_or_the_only_spec_names_the_table() -> None:
    text = line(ROW | {"__op": "c", "__ts_ms": 5})
    assert one(text).table == "shop.items"
    assert (
        one(line(ROW | {"__op": "c", "__ts_ms": 5, "__table": "items"}), ["shop.items", "shop.other"]).table
        == "shop.items"
    )
    assert outcome(one(text, ["shop.items", "shop.other"])) == (
        "the row does not name its table (add.fields: table), and the specs name several"
    )
    assert one(line(ROW | MYSQL), ["shop.items", "a.items"]).table == "shop.items"


def test_row_schemas_exclude_the_fields_of_events() -> None:
    fields = [
        {"field": "id", "type": "int32"},
        {"field": "__op", "type": "string"},
        {"field": "__more", "type": "string"},
    ]
    key = {"schema": {"type": "struct", "fields": fields[:1]}, "payload": {"id": 1}}
    value = {"schema": {"type": "struct", "fields": fields}, "payload": ROW | POSTGRESQL}
    found = one(line(value, key))
    assert list(row_columns(found.row_schema or "")) == ["id", "__more"]
    assert key_columns(found.key_schema or "") == ("id",)
    assert found.key == b'{"id":1}'


PASSED = {
    wrapped(
        {"status": "END", "id": "0-7001-30", "event_count": 2, "data_collections": [], "ts_ms": 5}
    ): "transaction_end",
    wrapped({"ts_ms": 5}, key={"serverName": "srv"}): "heartbeat",
    wrapped({"ts_ms": 5}, key={"schema": {"type": "struct"}, "payload": {"serverName": "srv"}}): "heartbeat",
    wrapped({"source": {"name": "s"}, "ts_ms": 5, "ddl": "CREATE TABLE t", "tableChanges": []}): "ddl",
    event("c", after={"id": 1}): ("insert", "stream"),
    "null": "null_message",
}


@pytest.mark.parametrize(("text", "wanted"), PASSED.items())
def test_events_that_the_transform_leaves_unchanged_are_decoded(text: str, wanted: Any) -> None:
    assert outcome(one(text)) == wanted


NO_TIME = "no time: neither __source_ts_ms nor __ts_ms (add.fields), nor a timestamp of the message"
BROKEN = {
    line(ROW | {"__op": "x", "__ts_ms": 5}): 'unknown op "x"',
    line(ROW | POSTGRESQL | {"__op": "x"}): 'unknown op "x"',
    line(ROW): NO_TIME,
    line(ROW | POSTGRESQL | {"__lsn": None}): "a streamed change without a position",
    line(ROW | {"__op": "c", "__ts_ms": "soon"}): NO_TIME,
    line({"__op": "c", "__ts_ms": 5}): 'op "c" without an after image',
    line(5): "the row is not a JSON object",
    "[1, 2]": "not a JSON object",
    '{"id": 1': "not JSON",
    "": "empty line",
    line(ROW | MYSQL | {"__source_pos": "far"}): "a field of the envelope has a type that Debezium does not write",
}  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), BROKEN.items())
def test_records_that_are_not_rows_are_rejected_with_a_reason(text: str, reason: str) -> None:
    assert outcome(one(text)) == reason


def test_numbers_keep_all_digits() -> None:
    text = '{"id":1,"n":12345678901234567890.10,"__op":"c","__ts_ms":5}'
    assert one(text).after == b'{"id":1,"n":12345678901234567890.10}'


def test_a_spec_can_set_the_prefix_of_metadata_fields() -> None:
    row = ROW | {"_dbz_op": "d", "_dbz_lsn": 9, "_dbz_ts_ms": 5, "__op": "c"}
    found = one(line(row), metadata_prefix="_dbz_")
    assert (found.op, found.source, found.before) == ("delete", "postgresql:", b'{"id":1,"name":"a","__op":"c"}')


def test_epochs_get_the_server_from_the_metadata_fields() -> None:
    decoder = FlatDecoder(SourceSpec(FLAT, "x"), {})
    text = line(ROW | {"__source_server_id": 7, "__gtid": "a:1"}).encode()
    assert {name: decoder.source_block(text)[name] for name in ("server_id", "gtid")} == {"server_id": 7, "gtid": "a:1"}


def test_a_row_of_a_declared_table_is_a_change_even_if_it_looks_like_a_signal() -> None:
    row = {
        "id": "a",
        "type": "log",
        "data": "x",
        "__op": "c",
        "__lsn": 5,
        "__table": "events",
        "__source_connector": "postgresql",
        "__source_name": "srv",
        "__source_ts_ms": 1578923739738,
    }
    found = one(json.dumps(row), ["public.events"])
    assert (found.kind, found.table) == ("change", "public.events")
