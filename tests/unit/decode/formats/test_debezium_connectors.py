"""Events of Db2, Informix, Vitess and YugabyteDB, in the form that the documentation of their connectors shows."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from siltstone.engine.decode.event import Event
from siltstone.engine.decode.event_schemas import key_columns, row_columns
from siltstone.engine.decode.formats.debezium_positions import CONNECTORS
from tests.unit.decode.formats.debezium_events import decoded, outcome

CUSTOMER = {"id": 1, "first_name": "Anne", "last_name": "Kretchmar", "email": "annek@noanswer.org"}
TIMES = {"ts_ms": 1_559_033_904_863, "ts_us": 1_559_033_904_863_497, "ts_ns": 1_559_033_904_863_497_147}
DB2 = {
    "version": "3.4.0.Final", "connector": "db2", "name": "myconnector", "ts_ms": 1_559_729_468_470, "snapshot": False,
    "db": "mydatabase", "schema": "MYSCHEMA", "table": "CUSTOMERS", "change_lsn": "00000027:00000758:0003",
    "commit_lsn": "00000027:00000758:0005",
}  # fmt: skip
INFORMIX = DB2 | {
    "connector": "informix", "commit_lsn": "627404540760620", "change_lsn": "627404540485812", "txId": "157",
    "begin_lsn": "627404540372400",
}  # fmt: skip
VITESS = {
    "version": "3.4.0.Final", "connector": "vitess", "name": "my_sharded_connector", "ts_ms": 1_559_033_904_000,
    "ts_us": 1_559_033_904_000_000, "ts_ns": 1_559_033_904_000_000_000, "snapshot": "false", "db": "", "sequence": None,
    "keyspace": "commerce", "table": "customers", "shard": "-80",
    "vgtid": '[{"keyspace":"commerce","shard":"80-","gtid":"MariaDB/0-54610504-47"},'
    '{"keyspace":"commerce","shard":"-80","gtid":"MariaDB/0-1592148-45"}]',
}  # fmt: skip
YUGABYTEDB = {
    "version": "1.9.5.y.11", "connector": "yugabytedb", "name": "dbserver1", "ts_ms": -8_898_156_066_356,
    "snapshot": "false", "db": "yugabyte", "sequence": '[null,"1:4::0:0"]', "schema": "public", "table": "customers",
    "txId": "", "lsn": "1:4::0:0", "xmin": None,
}  # fmt: skip
LOGICAL = {
    "version": "2.5.2.Final", "connector": "YugabyteDB", "name": "YugabyteDB_server", "ts_ms": 1_559_033_904_863,
    "snapshot": True, "db": "postgres", "sequence": '["24023119","24023128"]', "schema": "public", "table": "customers",
    "txId": 555, "lsn": 24_023_128, "xmin": None,
}  # fmt: skip


def line(source: Mapping[str, Any], op: str = "c", key: Any = None, transaction: Any = None, **images: Any) -> str:
    """A record. The default row is the customer of the documentation."""
    rows = images or ({"before": CUSTOMER} if op == "d" else {"after": CUSTOMER})
    value = {"before": None, "after": None, "source": source, "op": op, "transaction": transaction, **TIMES, **rows}
    return json.dumps({"topic": "t", "key": key or {"id": 1}, "value": value})


def one(text: str, **more: Any) -> Event:
    (found,) = decoded([text], **more)
    return found


def gtids(**shards: str) -> str:
    return json.dumps([{"keyspace": "ks", "shard": shard, "gtid": gtid} for shard, gtid in shards.items()])


def mysql56(gtid: str, **transaction: Any) -> str:
    return line(VITESS | {"shard": "0", "vgtid": gtids(**{"0": f"MySQL56/{gtid}"})}, transaction=transaction or None)


SAMPLES = {
    line(DB2): (
        "db2:myconnector",
        "MYSCHEMA.CUSTOMERS",
        f"0000-{'0' * 12}00000027000007580005-{'0' * 12}00000027000007580003",
    ),
    line(INFORMIX): ("informix:myconnector", "MYSCHEMA.CUSTOMERS", "0000-00023A9F00C8522C-00023A9F00C420B4"),
    line(VITESS): ("vitess:my_sharded_connector:-80", "commerce.customers", "0000-00000000-000000000000002D-00000000"),
    line(YUGABYTEDB): (
        "yugabytedb:dbserver1",
        "public.customers",
        "0000-0000000000000000-0000000000000001-0000000000000004-00000000",
    ),
    line(LOGICAL): ("postgresql:YugabyteDB_server", "public.customers", "0000-00000000016E904F-00000000016E9058"),
}


@pytest.mark.parametrize(("text", "wanted"), SAMPLES.items())
def test_documented_events_have_a_source_a_table_and_a_position(text: str, wanted: Any) -> None:
    found = one(text)
    assert outcome(found) == ("insert", "stream")
    assert (found.source, found.table, found.position) == wanted


def test_db2_orders_changes_by_commit_and_compares_numbers() -> None:
    lines = [
        line(DB2),
        line(DB2, "u"),
        line(DB2 | {"change_lsn": "00000027:00000758:0004"}, "u"),
        line(DB2 | {"change_lsn": None}, "r"),
        line(DB2 | {"commit_lsn": "00000027:00000ac0:0007", "change_lsn": "00000027:00000100:0002"}),
        line(DB2 | {"commit_lsn": "00000000:00000028:0000000000000001", "change_lsn": "00000000:00000000:0001"}),
    ]
    places = [one(text).position for text in lines]
    assert places[0] == places[1]
    assert places == sorted(places, key=str)
    assert one(lines[0]).tx_id == "00000027:00000758:0005"


def test_informix_orders_changes_before_a_read_of_the_same_commit() -> None:
    later = INFORMIX | {"commit_lsn": "627404540760621", "change_lsn": "1"}
    lines = [line(INFORMIX), line(INFORMIX | {"change_lsn": "0"}, "r"), line(later)]
    places = [one(text).position for text in lines]
    assert places == sorted(places, key=str)
    assert one(lines[0]).tx_id == "157"


UNPLACED = {
    line(DB2 | {"change_lsn": None}): "a streamed change without a position",
    line(DB2 | {"commit_lsn": "NULL"}): "a streamed change without a position",
    line(INFORMIX | {"commit_lsn": "0"}): "a streamed change without a position",
    line(VITESS | {"shard": "80-c0"}): "a streamed change without a position",
    line(VITESS | {"vgtid": gtids(**{"-80": "current"})}): "a streamed change without a position",
    line(VITESS | {"vgtid": '{"shard": 1}'}): "a streamed change without a position",
    line(YUGABYTEDB | {"lsn": None, "sequence": None}): "a streamed change without a position",
    line(YUGABYTEDB | {"lsn": "abc"}): "a field of the envelope has a type that Debezium does not write",
    line(DB2 | {"connector": "cockroachdb"}): (
        f'connector "cockroachdb" is not supported; supported: {", ".join(sorted(CONNECTORS, key=str.lower))}'
    ),
}


@pytest.mark.parametrize(("text", "reason"), UNPLACED.items())
def test_a_streamed_change_without_a_position_is_rejected(text: str, reason: str) -> None:
    assert outcome(one(text)) == reason


def test_vitess_counts_transactions_in_the_gtid_set_of_a_shard() -> None:
    lines = [
        mysql56("e03ece6c-4c04-11ec-8e20-0242ac110004:1-68"),
        mysql56("e03ece6c-4c04-11ec-8e20-0242ac110004:1-68,ff3ece6c-4c04-11ec-8e20-0242ac110004:1"),
        mysql56("e03ece6c-4c04-11ec-8e20-0242ac110004:1-68:70-71,ff3ece6c-4c04-11ec-8e20-0242ac110004:1-3:5"),
    ]
    ranks = [str(one(text).position).split("-")[2] for text in lines]
    assert [int(rank, 16) for rank in ranks] == [68, 69, 74]


def test_vitess_metadata_orders_changes_in_a_transaction_and_after_a_new_epoch() -> None:
    lines = [
        mysql56("a:1-68", id="x", total_order=1, transaction_rank=68, transaction_epoch=0),
        mysql56("a:1-68", id="x", total_order=2, transaction_rank="RA==", transaction_epoch=0),
        mysql56("a:1-67", id="y", total_order=1, transaction_rank="AIA=", transaction_epoch=0),
        mysql56("a:1-5", id="z", total_order=1, transaction_rank=5, transaction_epoch=1),
    ]
    assert [one(text).position for text in lines] == [
        "0000-00000000-0000000000000044-00000001",
        "0000-00000000-0000000000000044-00000002",
        "0000-00000000-0000000000000080-00000001",
        "0000-00000001-0000000000000005-00000001",
    ]


CELLS = {"id": {"value": 10, "set": True}, "name": {"value": None, "set": True}, "aura": None}


def test_yugabytedb_omits_unchanged_columns_and_marks_nulls_that_are_values() -> None:
    found = one(line(YUGABYTEDB, "u", {"id": {"value": 10, "set": True}}, before=None, after=CELLS))
    assert (found.key, found.after) == (b'{"id":10}', b'{"id":10,"name":null}')
    assert found.commit_us is None
    assert found.ingest_us == TIMES["ts_us"]
    deleted = one(line(LOGICAL, "d", before=CELLS, after=None))
    assert (deleted.before, deleted.after) == (b'{"id":10,"name":null}', None)
    assert json.loads(one(line(YUGABYTEDB, after={"id": {"value": 1}, "name": {"value": "Vaibhav"}})).after or b"") == {
        "id": 1,
        "name": "Vaibhav",
    }


def test_yugabytedb_rows_without_cells_stay_unchanged() -> None:
    row = {"id": 1, "value": {"value": 1, "set": True}}
    assert json.loads(one(line(YUGABYTEDB, after=row)).after or b"") == row


def test_a_schema_of_cells_gives_the_types_of_their_values() -> None:
    flag = {"type": "boolean", "optional": False, "field": "set"}
    cells = [
        {"type": "struct", "name": name, "field": name, "fields": [{"type": kind, "field": "value"}, flag]}
        for name, kind in (("id", "int32"), ("name", "string"))
    ]
    schema = json.dumps({"type": "struct", "fields": [{"type": "struct", "fields": cells, "field": "after"}]})
    found = row_columns(schema)
    assert [(name, kind.simpleString(), encoding.kind) for name, (kind, encoding) in found.items()] == [
        ("id", "int", "integer"),
        ("name", "string", "text"),
    ]
    assert key_columns(json.dumps({"type": "struct", "fields": cells[:1]})) == ("id",)


def test_yugabytedb_orders_tablets_by_commit_time() -> None:
    timed = YUGABYTEDB | {"version": "dz.1.9.5.yb.grpc.2025.2", "tablet_id": "t", "record_time": 1}
    lines = [
        line(YUGABYTEDB | {"lsn": "2:900::0:0"}),
        line(timed | {"lsn": "1:90:AAA=:0:0", "commit_time": 6_900_000_000_000_000_000}),
        line(timed | {"lsn": "1:90:AAA=:1:0", "commit_time": 6_900_000_000_000_000_000}),
        line(timed | {"lsn": "1:90::-1:5", "commit_time": 6_900_000_000_000_000_000}, "r"),
        line(timed | {"lsn": "1:4::0:0", "commit_time": 6_900_000_000_000_000_001}),
    ]
    places = [one(text).position for text in lines]
    assert places == sorted(places, key=str)
    assert len(set(places)) == len(places)
