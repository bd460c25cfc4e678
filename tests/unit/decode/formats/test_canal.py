"""Canal's messages: their kinds, rows, key changes, positions and batches."""

import json
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import types as T

from siltstone.engine.decode.event import Event, Message
from siltstone.engine.decode.formats.statements import truncated_table
from siltstone.engine.decode.mysql_types import typed
from siltstone.engine.decode.row_shape import Encoding
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.neighbours.canal_step import sent_batches
from siltstone.engine.spec.model import SourceSpec
from tests.unit.neighbours.canal_rule import resolve

SOURCE = SourceSpec("canal-json", "/data/canal/*")
TYPES = {"id": "int(11)", "a": "varchar(9)"}
MISFIT = "a field of the message has a type that Canal does not write"
ROW = [{"id": "1", "a": "x"}]


def message(kind: str | None = "INSERT", data: Any = None, old: Any = None, **more: Any) -> str:
    fields = {"data": data, "database": "shop", "es": 1_700_000_000_000, "id": 1, "isDdl": False, "mysqlType": TYPES}
    fields |= {"old": old, "pkNames": ["id"], "sql": "", "table": "items", "ts": 1_700_000_000_500, "type": kind}
    return json.dumps(fields | more)


def framed(text: Any, offset: int = 7, **more: Any) -> str:
    return json.dumps({"topic": "t", "partition": 2, "offset": offset, "value": text} | more)


def messages_of(*texts: str | bytes, file: str = "f.jsonl") -> list[Message]:
    lines = [text.encode() if isinstance(text, str) else text for text in texts]
    return [Message(f"file:/data/canal/{file}", number, line) for number, line in enumerate(lines, 1)]


def read(
    *texts: str | bytes, source: SourceSpec = SOURCE, file: str = "f.jsonl", **keys: tuple[str, ...]
) -> list[Event]:
    declared = {f"shop.{table}": columns for table, columns in keys.items()}
    return decode_messages(messages_of(*texts, file=file), source, declared)


def read_together(*texts: str) -> list[Event]:
    """The events, resolved with the messages around them."""
    messages = messages_of(*texts)
    return resolve(messages, decode_messages(messages, SOURCE, {}))


def compared_fields(*texts: str) -> list[dict[str, Any]]:
    """The fields of each message that show whether it was sent before."""
    return [row for batch in sent_batches([messages_of(*texts)]) for row in batch.to_pylist()]


def loaded(text: bytes | None) -> Any:
    return None if text is None else json.loads(text)


def images(events: list[Event]) -> list[tuple[str | None, Any, Any]]:
    return [(event.op, loaded(event.before), loaded(event.after)) for event in events]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (message("INSERT", ROW), ("change", "insert")),
        (message("insert", ROW), ("change", "insert")),
        (message("INIT", ROW), ("change", "read")),
        (message("DELETE", ROW), ("change", "delete")),
        (message("DELETE", None, ROW), ("change", "delete")),
        (message("UPDATE", ROW), ("change", "update")),
        (message("UPDATE", ROW, [None]), ("change", "update")),
        (message("TRUNCATE", isDdl=True, sql="TRUNCATE TABLE items"), ("change", "truncate")),
        (message("DDL", isDdl=True, sql="/* why */ truncate items"), ("change", "truncate")),
        (message("DDL", isDdl=True, sql="-- clear\n# all\nTRUNCATE TABLE items"), ("change", "truncate")),
        (message("DDL", sql="TRUNCATE TABLE `shop`.items", isDdl=True, database="", table=""), ("change", "truncate")),
        (message("QUERY", isDdl=None, sql="truncate items", table=None), ("change", "truncate")),
        (
            message("DDL", isDdl=True, sql="truncate items", database="", table=""),
            ("reject", "a TRUNCATE that does not name its table"),
        ),
        (message("QUERY", isDdl=False, sql="truncate items"), ("control", "query")),
        (message("QUERY", isDdl=True, sql="alter table items"), ("control", "ddl")),
        (message("ALTER", isDdl=True), ("control", "ddl")),
        (message("DDL", isDdl=True, sql="create table truncate_me (id int)"), ("control", "ddl")),
        (message("QUERY", database="", table="", sql="INSERT INTO items"), ("control", "query")),
        (message("MHEARTBEAT"), ("control", "heartbeat")),
        (message("XACOMMIT"), ("control", "transaction")),
        (framed(None), ("control", "null_message")),
        (" null ", ("control", "null_message")),
        (message(None, ROW), ("reject", "type is missing")),
        (json.dumps({"a": {"value": None}}), ("reject", "type is missing")),
        (message("UPSERT", ROW), ("reject", 'unknown type "UPSERT"')),
        (message("X" * 30, ROW), ("reject", f'unknown type "{"X" * 20}"')),
        (message("INSERT", ROW, table=None), ("reject", "database or table is missing")),
        (message("INSERT", ROW, es=None), ("reject", "es, the time of the change, is missing")),
        (message("INSERT", ROW, es=10**15), ("reject", "es, the time of the change, is not a time in milliseconds")),
        (message("INSERT", []), ("reject", "INSERT without rows in data")),
        (message("UPDATE", None, ROW), ("reject", "UPDATE without rows in data")),
        (message("UPDATE", ROW, ROW * 2), ("reject", "old and data have different numbers of rows")),
        (message("INSERT", ["x"]), ("reject", "a row in data or old is not an object")),
        (message("INSERT", [None]), ("reject", "a row in data or old is not an object")),
        (message("UPDATE", ROW, [1]), ("reject", "a row in data or old is not an object")),
        (message("INSERT", ROW)[:-9], ("reject", "not JSON")),
        (message("INSERT", ROW) * 2, ("reject", "not JSON")),
        (message("INSERT", [{"id": "\ud800"}]), ("reject", "not JSON")),
        (message("INSERT", ROW).encode().replace(b"x", b"\xff"), ("reject", "not UTF-8 text")),
        ("[1]", ("reject", "not a JSON object")),
        (message("INSERT", {"id": 1}), ("reject", MISFIT)),
        (message("INSERT", ROW, es="1.7e12"), ("reject", MISFIT)),
        (message("INSERT", ROW, es=1.0), ("reject", MISFIT)),
        (message("INSERT", ROW, id=2**63), ("reject", MISFIT)),
        (message("INSERT", ROW, ts="now"), ("reject", MISFIT)),
        (message("INSERT", ROW, isDdl="true"), ("reject", MISFIT)),
        (framed(message("INSERT", ROW, id="x")), ("reject", MISFIT)),
        (framed("null"), ("reject", MISFIT)),
        (framed(5), ("reject", MISFIT)),
        (framed(message("INSERT", [{"id": "\ud800"}])), ("reject", MISFIT)),
        (framed(message("INSERT", ROW), partition="2"), ("reject", MISFIT)),
        (message("UPDATE", ROW, id="7", es="1700000000000", ts="+5"), ("change", "update")),
        (message("INSERT", ROW, gtid=5, sql=[1]), ("change", "insert")),
        (framed(message("DELETE", ROW, es="1700000000000")), ("change", "delete")),
        (framed(json.loads(message("DELETE", ROW))), ("change", "delete")),
    ],
)
def test_a_message_is_changes_a_control_event_or_a_reject_with_a_reason(
    text: str | bytes, expected: tuple[str, str]
) -> None:
    (event,) = read(text)
    assert (event.kind, event.op or event.control_kind or event.reason) == expected
    assert (event.position is None) == (event.kind != "change" or event.op == "read")
    if event.kind == "change":
        assert (event.table, event.origin) == ("shop.items", "snapshot" if event.op == "read" else "stream")


def test_an_event_has_its_time_its_position_and_its_columns() -> None:
    (event,) = read(framed(message("INSERT", ROW, gtid="g:1"), topic="topic"))
    assert (event.commit_us, event.ingest_us) == (1_700_000_000_000_000, 1_700_000_000_500_000)
    assert (event.event_id, event.tx_id, event.tx_order, event.connector) == ("1", "g:1", 0, "canal")
    assert (event.channel, event.kafka_partition, event.kafka_offset) == ("topic", 2, 7)
    assert (event.row_schema and json.loads(event.row_schema), event.key_schema) == (
        {"mysqlType": TYPES},
        '{"keys":["id"]}',
    )
    (other, bare) = read(message("INSERT", ROW, id=2), message("INSERT", ROW, mysqlType=None, pkNames=None, gtid=""))
    assert other.schema_hash == event.schema_hash is not None
    assert (bare.row_schema, bare.schema_hash, bare.key_schema, bare.tx_id) == (None, None, None, None)


def test_only_the_first_event_of_a_message_has_its_text() -> None:
    events = read(
        message(data=[{"id": str(n), "a": "x"} for n in range(3)]),
        message("UPDATE", ROW, [{"id": "2"}]),
        message("QUERY"),
    )
    assert [(event.line, event.op) for event in events] == [
        *[(1, "insert")] * 3,
        *[(2, "delete"), (2, "insert")],
        (3, None),
    ]
    assert [event.text is not None for event in events] == [True, False, False, True, False, True]


def test_each_row_is_one_change_and_a_key_update_is_two() -> None:
    data = [{"id": "1", "a": "y"}, {"id": "3", "a": None}, {"id": "4", "a": "é"}]
    update = message("UPDATE", data, [{"a": None}, {"id": "2"}, {"id": "4", "a": "è"}])
    events = read(update, framed(update))
    assert images(events[:4]) == [
        ("update", {"id": "1", "a": None}, {"id": "1", "a": "y"}),
        ("delete", {"id": "2", "a": None}, None),
        ("insert", None, {"id": "3", "a": None}),
        ("update", {"id": "4", "a": "è"}, {"id": "4", "a": "é"}),
    ]
    assert [(loaded(event.old_key), loaded(event.new_key)) for event in events[1:3]] == [
        (None, {"id": "3", "a": None}),
        ({"id": "2", "a": None}, None),
    ]
    name = b"f.jsonl".hex().upper()
    assert [event.position for event in events[:4]] == [f"0000-{name}-{1:016X}-{n:08X}" for n in (0, 1, 1, 2)]
    assert {event.position for event in events[4:]} == {f"0000-018BCFE56800-{2:08X}-{7:016X}-{n:08X}" for n in range(3)}
    by_name = read(update.replace('["id"]', "null"), items=("a",))
    assert [event.op for event in by_name] == ["delete", "insert", "update", "delete", "insert"]


@pytest.mark.parametrize(
    ("data", "old", "moves"),
    [
        ({"id": "1"}, {"id": "2"}, True),
        ({"id": 1}, {"id": "1"}, False),
        ({"id": None}, {"id": "2"}, True),
        ({"id": None}, {"id": None}, False),
        ({"a": "x"}, {"id": None}, False),
        ({"id": "1"}, {"a": "id"}, False),
        ({"id": "1"}, {"a": '"id"'}, False),
    ],
)
def test_an_update_changes_the_key_if_old_has_another_key_value(data: Any, old: Any, moves: bool) -> None:
    assert len(read(message("UPDATE", [data], [old], mysqlType=None))) == (2 if moves else 1)
    escaped = message("UPDATE", [data], [old], mysqlType=None).replace('"old": [{"id"', '"old": [{"\\u0069d"')
    assert len(read(escaped)) == (2 if moves else 1)


def test_swapped_images_are_swapped_back() -> None:
    events = read(
        message("UPDATE", [{"id": "1", "a": "old"}], [{"a": "new"}]),
        message("UPDATE", [{"id": "1", "a": "new"}], [{"id": "2"}]),
        message("DELETE", None, [{"id": "2", "a": "new"}]),
        message("INSERT", [{"id": "3", "a": "new"}], []),
        source=replace(SOURCE, images="swapped"),
    )
    assert images(events) == [
        ("update", {"id": "1", "a": "old"}, {"id": "1", "a": "new"}),
        ("delete", {"id": "1", "a": "new"}, None),
        ("insert", None, {"id": "2", "a": "new"}),
        ("delete", {"id": "2", "a": "new"}, None),
        ("insert", None, {"id": "3", "a": "new"}),
    ]


@pytest.mark.parametrize("value", ["x", '{"k": "v"}', '":', "\\", {"k": 1}, [{"a": 1}]])
def test_a_column_that_only_the_types_name_is_null(value: Any) -> None:
    types = TYPES | {"b": "json"}
    whole, lacking, updated = read(
        message("INSERT", [{"id": "1", "a": value, "b": "1"}], mysqlType=types),
        message("DELETE", [{"id": "1", "b": value}], mysqlType=types),
        message("UPDATE", [{"id": "1", "b": value}], [{"a": "y"}], mysqlType=types),
    )
    assert loaded(whole.after) == {"id": "1", "a": value, "b": "1"}
    assert loaded(lacking.before) == {"id": "1", "b": value, "a": None}
    assert images([updated]) == [("update", {"id": "1", "a": "y", "b": value}, {"id": "1", "a": None, "b": value})]


def test_a_missing_key_column_stays_missing() -> None:
    (event, empty) = read(message("INSERT", [{"a": "x"}]), message("INSERT", [{}]))
    assert (loaded(event.after), loaded(empty.after)) == ({"a": "x"}, {"a": None})


def test_numbers_keep_all_digits() -> None:
    (event,) = read(message("INSERT", [{"id": 1}], mysqlType=None).replace('"id": 1}', '"id": 1.10000000000000000001}'))
    assert event.after == b'{"id": 1.10000000000000000001}'


def test_the_statement_of_a_truncate_names_its_table() -> None:
    texts = [message("DDL", isDdl=True, sql="TRUNCATE `a.b`", table=""), message("TRUNCATE", table="a.b")]
    assert [event.table for event in read(*texts)] == ["shop.a.b"] * 2
    assert truncated_table("truncate only a . b cascade; -- x", None) == "a.b"
    assert truncated_table("truncate a, b", "shop") is None
    assert truncated_table("truncate " + "/* x */" * 5_000 + "a b", "shop") is None


def test_a_position_has_the_path_of_the_file_below_the_folder_of_the_source() -> None:
    (event,) = read(message("INSERT", ROW), file="2024/f.jsonl")
    assert (event.position or "").split("-")[1] == b"2024/f.jsonl".hex().upper()
    (other,) = read(message("INSERT", ROW), source=replace(SOURCE, path="s3://bucket/x/*"))
    assert (other.position or "").split("-")[1] == b"file:/data/canal/f.jsonl".hex().upper()


def test_a_message_without_a_complete_topic_position_gets_its_position_in_the_file() -> None:
    texts = [framed(message(data=ROW), partition=None), framed(message(data=ROW, es=-1)), framed(message(data=ROW), -1)]
    assert {(event.position or "").split("-")[1] for event in read(*texts)} == {b"f.jsonl".hex().upper()}


def test_the_content_of_a_message_excludes_its_batch_and_its_sending_time() -> None:
    rows = compared_fields(
        message(data=ROW),
        message(data=ROW, id=2, ts=5),
        message(data=ROW, es=1_700_000_000_001),
        message(data=[{"id": "1", "a": "y"}]),
        message(data="x"),
        message(data="x", id=3, ts=9),
    )
    assert [(row["id"], row["es"]) for row in rows] == [(number, None) for number in "121113"]
    contents = [row["content"] for row in rows]
    assert contents[0] == contents[1]
    assert contents[4] == contents[5]
    assert len(set(contents)) == 4
    assert compared_fields(message(data=ROW, id=None), "{", " null") == []
    (timed,) = compared_fields(framed(message(data=ROW, id=None)))
    assert (timed["id"], timed["es"]) == (None, 1_700_000_000_000)


SENT = [
    *[(1, "A"), (1, "B"), (2, "C"), (2, "D"), (3, "C"), (3, "D"), (3, "E"), (4, "E"), (4, "F"), (5, "G"), (5, "G")],
    *[(6, "G"), (6, "G"), (7, "G"), (8, "H"), (9, "H"), (10, "H")],
]


def sent(batch: int, value: str, **more: Any) -> str:
    return message("INSERT", [{"id": "1", "a": value}], id=batch, ts=batch, **more)


@pytest.mark.parametrize("is_framed", [True, False])
def test_a_batch_repeated_at_the_start_of_the_next_one_is_a_redelivery(is_framed: bool) -> None:
    texts = [sent(*one) for one in SENT]
    events = read_together(*[framed(text, n) for n, text in enumerate(texts)] if is_framed else texts)
    assert [event.line for event in events if event.control_kind == "redelivery"] == [5, 6, 12, 13, 16, 17]
    assert len(events) == len(SENT)


def test_a_message_of_a_partition_counts_once_however_often_it_is_delivered() -> None:
    texts = [framed(sent(*one), n) for n, one in enumerate([(1, "A"), (1, "B"), (2, "A"), (2, "B"), (2, "C")])]
    events = read_together(*[texts[n] for n in (0, 1, 0, 2, 1, 4, 2, 3, 3)])
    assert [event.kafka_offset for event in events if event.control_kind == "redelivery"] == [2, 2, 3, 3]
    assert {event.kafka_offset for event in events if event.kind == "change"} == {0, 1, 4}


@pytest.mark.parametrize(("gaps", "lines"), [("", [2, 4, 5]), ("b", [4, 5]), ("bc", [])])
def test_a_batch_after_a_gap_is_not_compared_with_an_incomplete_batch(gaps: str, lines: list[int]) -> None:
    """The first file begins inside batch 1, so batch 1 is incomplete, and batch 2 does not repeat it."""
    delivered = [("b", 1, "A"), ("b", 2, "A"), ("b", 2, "C"), ("c", 3, "A"), ("c", 3, "C"), ("c", 4, "D")]
    messages = [
        Message(file, line, sent(batch, value).encode(), after_gap=file in gaps)
        for line, (file, batch, value) in enumerate(delivered, 1)
    ]
    events = resolve(messages, decode_messages(messages, SOURCE, {}))
    assert [event.line for event in events if event.control_kind == "redelivery"] == lines


@pytest.mark.parametrize("is_numbered", [True, False])
def test_partitions_are_ordered_by_time_and_one_partition_by_offset(is_numbered: bool) -> None:
    placed = [(0, 1, 5), (0, 2, 3), (1, 1, 4), (0, 3, 6)]
    texts = [
        framed(
            message(data=[{"id": "1", "a": str(n)}], es=es, id=n if is_numbered else None), offset, partition=partition
        )
        for n, (partition, offset, es) in enumerate(placed)
    ]
    events = sorted(read_together(*texts), key=lambda event: event.position or "")
    assert [(event.kafka_partition, event.kafka_offset) for event in events] == [(1, 1), (0, 1), (0, 2), (0, 3)]


def test_a_message_that_was_sent_before_becomes_one_control_event() -> None:
    rows = [[{"id": "1", "a": "x"}, {"id": "2", "a": "y"}], [{"id": "3", "a": "z"}]]
    texts = [framed(message(data=data, id=n), n) for n, data in enumerate((rows[0], rows[0], rows[1]), 1)]
    first, second, resent = read_together(*texts)[:3]
    assert [first.kind, second.kind, resent.kind] == ["change", "change", "control"]
    assert (resent.control_kind, resent.event_id, resent.line) == ("redelivery", "2", 2)
    assert loaded(resent.control) == loaded(message(data=rows[0], id=2).encode())
    assert (resent.op, resent.after, resent.position, resent.tx_order) == (None, None, None, None)


def test_a_position_has_the_greatest_time_so_far() -> None:
    two = [{"id": "1", "a": "x"}, {"id": "2", "a": "y"}]
    sent_at = [(9, "INSERT", ROW), (2, "INSERT", two), (11, "INSERT", ROW), (1, "INIT", ROW)]
    texts = [framed(message(kind, data, es=es, id=n), n) for n, (es, kind, data) in enumerate(sent_at)]
    positions = [event.position for event in read_together(*texts)]
    assert [place and place.split("-")[1] for place in positions] == [f"{es:012X}" for es in (9, 9, 9, 11)] + [None]
    assert [place and place[-8:] for place in positions[1:3]] == ["00000000", "00000001"]


@pytest.mark.parametrize("text", ["serial", "SERIAL", "bigint(20) unsigned"])
def test_a_serial_is_an_unsigned_bigint(text: str) -> None:
    assert typed(text) == (T.DecimalType(20, 0), Encoding("written_integer"))


@pytest.mark.parametrize("text", ["point", "GEOMETRY", "multipolygon", "geomcollection", "blob"])
def test_a_spatial_value_is_bytes(text: str) -> None:
    assert typed(text) == (T.BinaryType(), Encoding("written_bytes"))
