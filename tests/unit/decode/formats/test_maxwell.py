"""Maxwell's rows: their kinds, updates and their old values, key changes, bootstraps, and positions."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from siltstone.engine.decode.event import Event, Message
from siltstone.engine.decode.formats.maxwell import (
    NO_DATA,
    NO_OBJECT,
    NO_TABLE,
    NO_TIME,
    NO_TYPE,
    WRONG_PLACE,
    WRONG_TIME,
    WRONG_TYPE,
    shows_no_key,
)
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.spec.model import SourceSpec

SOURCE = SourceSpec("maxwell-json", "/data/maxwell/*.jsonl")
DECLARED = {"test.e": ("id",)}
# Rows of the documentation, https://maxwells-daemon.io/dataformat/.
INSERT = (
    '{"database":"test","table":"e","type":"insert","ts":1477053217,"xid":23396,"commit":true,'
    '"position":"master.000006:800911","server_id":23042,"thread_id":108,'
    '"primary_key":[1,"2016-10-21 05:33:37.523000"],"primary_key_columns":["id","c"],'
    '"data":{"id":1,"m":4.2341,"c":"2016-10-21 05:33:37.523000","comment":"I am a creature of light."}}'
)
TABLE_CREATE = (
    '{"type":"table-create","database":"test","table":"e","def":{"database":"test","charset":"utf8mb4","table":"e",'
    '"columns":[{"type":"int","name":"id","signed":true}],"primary-key":["id"]},"ts":1477053126000,'
    '"sql":"create table test.e ( id int(10) not null primary key )","position":"master.000006:800050"}'
)
ROW = {"id": 1, "a": "x"}


def row(kind: str | None = "insert", data: Any = ROW, **fields: Any) -> str:
    whole = {"database": "test", "table": "e", "type": kind, "ts": 1477053217, "xid": 7, "data": data}
    return json.dumps({name: value for name, value in (whole | fields).items() if value is not None})


def decoded(*texts: str | bytes, source: SourceSpec = SOURCE, declared: Any = DECLARED) -> list[Event]:
    lines = [text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass") for text in texts]
    messages = [Message("/data/maxwell/a.jsonl", line, text) for line, text in enumerate(lines, 1)]
    return decode_messages(messages, source, declared)


def loaded(text: bytes | None) -> Any:
    return None if text is None else json.loads(text)


def test_a_documented_insert_is_decoded() -> None:
    (event,) = decoded(INSERT, declared={})
    assert (event.table, event.op, event.origin, event.connector, event.source) == (
        "test.e", "insert", "stream", "maxwell", "maxwell",
    )  # fmt: skip
    assert loaded(event.after)["m"] == 4.2341
    assert (event.commit_us, event.ingest_us, event.tx_id, event.tx_order) == (1477053217_000000, None, "23396", None)
    assert event.position == "0000-00000006-00000000000C388F-FFFFFFFF"
    assert event.key_schema == '{"keys":["id","c"]}'


KINDS = [
    (row(), "insert"),
    (row("delete"), "delete"),
    (row("update"), "update"),
    (row("bootstrap-insert", xid=None), "read"),
    (row("bootstrap-start", {}, xid=None), "notification"),
    (row("bootstrap-complete", {}, xid=None, comment="some text"), "notification"),
    (TABLE_CREATE, "ddl"),
    (row("table-alter", None, old={}), "ddl"),
    (row("table-drop", None), "ddl"),
    (row(None), NO_TYPE),
    (row("merge"), 'unknown type "merge"'),
    (row(ts=None), NO_TIME),
    (row(ts=1477053217000), WRONG_TIME),
    (row(data=None), NO_DATA),
    (row(data=[ROW]), NO_OBJECT),
    (row("update", old="x"), NO_OBJECT),
    (row(position="mysql-bin.000004"), WRONG_PLACE),
    (row(position="mysql-bin:4"), WRONG_PLACE),
    (row(position="mysql-bin.99999999999:4"), WRONG_PLACE),
    (row(xid="x"), WRONG_TYPE),
    (row(primary_key_columns="id"), WRONG_TYPE),
    (json.dumps({"value": "x"}), WRONG_TYPE),
    (json.dumps({"value": row(), "offset": "x"}), WRONG_TYPE),
    (json.dumps({"value": None, "topic": "maxwell"}), "null_message"),
    ("null", "null_message"),
    ("[]", "not a JSON object"),
    ("{", "not JSON"),
    (" ", "empty line"),
    (b'{"type": "\xff"}', "not UTF-8 text"),
    (row(data={"id": "\ud800"}), "not JSON"),
]


@pytest.mark.parametrize(("text", "what"), KINDS)
def test_every_message_is_a_change_a_control_event_or_a_reject_with_a_reason(text: str, what: str) -> None:
    (event,) = decoded(text)
    assert (event.op or event.control_kind or event.reason) == what
    assert event.table == ("test.e" if '"e"' in str(text) and what not in (WRONG_TYPE, "not JSON") else None)


def test_a_row_without_a_database_is_rejected_and_a_database_statement_is_not() -> None:
    found = decoded(row(database=""), row("database-create", None, table=None))
    assert [event.reason or event.control_kind for event in found] == [NO_TABLE, "ddl"]


def test_the_time_of_a_statement_is_in_milliseconds() -> None:
    (event,) = decoded(TABLE_CREATE)
    assert (event.commit_us, loaded(event.control)["sql"][:12]) == (1477053126_000000, "create table")


NO_ROW: Any = None
UPDATES = [
    ({"id": 1, "a": "y"}, {"a": "x"}, [("update", {"id": 1, "a": "x"}, {"id": 1, "a": "y"})]),
    ({"id": 1, "a": None}, {"a": "x"}, [("update", {"id": 1, "a": "x"}, {"id": 1, "a": None})]),
    ({"id": 1}, {"a": "x"}, [("update", {"id": 1, "a": "x"}, {"id": 1, "a": None})]),  # output_nulls=false
    ({"id": 1, "a": "y"}, {}, [("update", NO_ROW, {"id": 1, "a": "y"})]),
    ({"id": 1, "a": "y"}, None, [("update", NO_ROW, {"id": 1, "a": "y"})]),  # binlog_row_image=MINIMAL
    (
        {"id": 2, "a": "x"},
        {"id": 1},
        [("delete", {"id": 1, "a": "x"}, NO_ROW), ("insert", NO_ROW, {"id": 2, "a": "x"})],
    ),
]


@pytest.mark.parametrize(("data", "old", "changes"), UPDATES)
def test_old_has_the_columns_that_an_update_changed(data: Any, old: Any, changes: list[Any]) -> None:
    found = decoded(row("update", data, old=old))
    assert [(e.op, loaded(e.before), loaded(e.after)) for e in found] == changes
    assert len({e.position for e in found}) == 1
    if len(found) == 2:
        assert loaded(found[0].new_key) == loaded(found[1].after)
        assert loaded(found[1].old_key) == loaded(found[0].before)
        assert [e.text is not None for e in found] == [True, False]


def test_declared_keys_override_the_keys_of_a_row() -> None:
    text = row("update", {"id": 1, "a": "y"}, old={"a": "x"}, primary_key_columns=["a"])
    assert [len(decoded(text, declared=tables)) for tables in (DECLARED, {"test.e": None}, {})] == [1, 2, 2]


def test_a_read_of_a_bootstrap_has_a_time_and_no_position() -> None:
    (event,) = decoded(row("bootstrap-insert", xid=None, position="mysql-bin.000001:4"))
    assert (event.op, event.origin, event.position, event.commit_us) == ("read", "snapshot", None, 1477053217_000000)


def test_numbers_keep_all_digits() -> None:
    text = row().replace('"x"', '18446744073709551615, "b": 12345678901234567890.10')
    assert decoded(text)[0].after == b'{"id": 1, "a": 18446744073709551615, "b": 12345678901234567890.10}'


def test_positions_have_the_order_of_the_binlog_and_of_the_transaction() -> None:
    placed = [
        row(position="mysql-bin.999999:9", xoffset=0),
        row(position="mysql-bin.999999:9", xoffset=9),
        row(position="mysql-bin.999999:9", xoffset=10),
        row(position="mysql-bin.999999:9", commit=True),
        row(position="mysql-bin.999999:10"),
        row(position="mysql-bin.1000000:4", xoffset=0),
    ]
    shuffled = random.Random(1).sample(range(len(placed)), len(placed))
    found = sorted(zip([str(e.position) for e in decoded(*[placed[n] for n in shuffled])], shuffled, strict=True))
    assert [number for _, number in found] == list(range(len(placed)))
    assert [e.tx_order for e in decoded(*placed)] == [0, 9, 10, None, None, 0]


def test_rows_without_a_position_get_the_place_of_delivery() -> None:
    (event,) = decoded(row())
    assert event.position == f"0001-{b'a.jsonl'.hex().upper()}-0000000000000001-00000000"
    record = {"value": row(), "topic": "maxwell", "partition": 1, "offset": 2}
    for value in (row(), json.loads(row())):
        (in_topic,) = decoded(json.dumps(record | {"value": value}))
        assert in_topic.position == "0001-000000000000-00000001-0000000000000002-00000000"
        assert (in_topic.channel, in_topic.kafka_partition, in_topic.kafka_offset) == ("maxwell", 1, 2)
    (other,) = decoded(row(table="f"))
    assert (other.op, other.position) == ("insert", None)  # no spec declares the table
    (found,) = decoded(row(position="mysql-bin.000001:4"), source=replace(SOURCE, order="coordinates"))
    assert str(found.position).startswith("0001-")


def test_a_gtid_names_the_transaction_and_push_ts_is_the_sending_time() -> None:
    gtid = "3e11fa47-71ca-11e1-9e33-c80aa9429562:23"
    (event,) = decoded(row(gtid=gtid, push_ts=1659003342.123456))
    assert (event.tx_id, event.ingest_us) == (gtid, 1659003342_123456)
    assert [one.ingest_us for one in decoded(row(push_ts=1e308), row(push_ts=-1e300))] == [None, None]


@pytest.mark.parametrize(("columns", "shown"), [(["id"], False), ([], True), (None, None)])
def test_a_row_shows_that_its_table_has_no_key(columns: list[str] | None, shown: bool | None) -> None:
    text = row(primary_key_columns=columns)
    assert shows_no_key(decoded(text)[0], text.encode()) is shown
