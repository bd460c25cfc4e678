"""Canal's messages: what each is, its rows, its key changes, what was sent again, and its values."""

import json
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from engine.decode import control_rows, discover, envelopes
from engine.decode.rows import decode_rows
from engine.spec.model import SourceSpec
from tests.unit.decode.given import changes_of, lines, spec

SOURCE = SourceSpec("canal-json", "/data/canal")
TYPES = {"id": "int(11)", "a": "varchar(9)"}


UNTOLD = "a TRUNCATE whose table is not told"


def message(kind: str | None = "INSERT", data: Any = None, old: Any = None, **more: Any) -> str:
    fields = {
        "data": data,
        "database": "shop",
        "es": 1_700_000_000_000,
        "id": 1,
        "isDdl": False,
        "mysqlType": TYPES,
        "old": old,
        "pkNames": ["id"],
        "sql": "",
        "table": "items",
        "ts": 1_700_000_000_500,
        "type": kind,
    }
    return json.dumps(fields | more)


def read(spark: SparkSession, texts: list[str], source: SourceSpec = SOURCE, **keys: tuple[str, ...]) -> list[Row]:
    declared = {f"shop.{table}": columns for table, columns in keys.items()}
    return envelopes(lines(spark, texts), source, declared).orderBy("line", "tx_order", "op").collect()


def test_the_text_of_a_message_stands_with_its_first_row_alone(spark: SparkSession) -> None:
    many, moved = message(data=[{"id": str(n), "a": "x"} for n in range(3)]), [{"id": "2", "a": "x"}]
    texts = [many, message("UPDATE", moved, [{"id": "1"}]), message("QUERY"), "{"]
    found = [(row["line"], row["tx_order"], row["op"], row["text"]) for row in read(spark, texts)]
    assert found == [
        (1, 0, "insert", many),
        (1, 1, "insert", None),
        (1, 2, "insert", None),
        (2, 0, "delete", texts[1]),
        (2, 0, "insert", texts[1]),
        (3, None, None, texts[2]),
        (4, None, None, texts[3]),
    ]


def test_every_message_is_changes_a_control_event_or_a_reject_with_its_reason(spark: SparkSession) -> None:
    row, misfit = [{"id": "1", "a": "x"}], "a field of the message has a type that Canal does not give it"
    cases = {
        message("INSERT", row): ("change", "insert"),
        message("INIT", row): ("change", "read"),
        message("DELETE", row): ("change", "delete"),
        message("DELETE", None, row): ("change", "delete"),
        message("UPDATE", row): ("change", "update"),
        message("TRUNCATE", isDdl=True, sql="TRUNCATE TABLE items"): ("change", "truncate"),
        message("DDL", isDdl=True, sql="/* why */ truncate items"): ("change", "truncate"),
        message("DDL", isDdl=True, sql="-- clear\n# all\nTRUNCATE TABLE items"): ("change", "truncate"),
        message("DDL", isDdl=True, sql="TRUNCATE TABLE `shop`.items", database="", table=""): ("change", "truncate"),
        message("QUERY", isDdl=None, sql="truncate items", table=None): ("change", "truncate"),
        message("DDL", isDdl=True, sql="truncate items", database="", table=""): ("reject", UNTOLD),
        message("QUERY", isDdl=False, sql="truncate items"): ("control", "query"),
        message("ALTER", isDdl=True): ("control", "ddl"),
        message("DDL", isDdl=True, sql="create table truncate_me (id int)"): ("control", "ddl"),
        message("QUERY", database="", table="", sql="INSERT INTO items"): ("control", "query"),
        json.dumps({"topic": "t", "value": None}): ("control", "null_message"),
        message(None, row): ("reject", "type is missing"),
        message("UPSERT", row): ("reject", 'unknown type "UPSERT"'),
        message("INSERT", row, table=None): ("reject", "database or table is missing"),
        message("INSERT", row, es=None): ("reject", "es, the time of the change, is missing"),
        message("INSERT", []): ("reject", "INSERT without rows in data"),
        message("UPDATE", None, row): ("reject", "UPDATE without rows in data"),
        message("UPDATE", row, row * 2): ("reject", "old and data have different numbers of rows"),
        message("INSERT", ["x"]): ("reject", "a row in data or old is not an object"),
        message("INSERT", row)[:-9]: ("reject", "not JSON"),
        message("INSERT", row) + message("INSERT", row): ("reject", "not JSON"),
        message("INSERT", {"id": 1}): ("reject", misfit),
        message("UPDATE", row, id="7", es="1700000000000", ts="5"): ("change", "update"),
        json.dumps({"value": message("DELETE", row, es="1700000000000")}): ("change", "delete"),
        message("INSERT", row, es="1.7e12"): ("reject", misfit),
        message("INSERT", row, ts="now"): ("reject", misfit),
        json.dumps({"value": message("INSERT", row, id="x")}): ("reject", misfit),
        "[1]": ("reject", "not a JSON object"),
    }
    numbered = [text.replace('"id": 1,', f'"id": {n},', 1) for n, text in enumerate(cases)]
    found = read(spark, numbered)
    assert [(e.kind, e.op or e.control_kind or e.reason) for e in found] == list(cases.values())
    assert all((e.position is None) == (e.kind != "change" or e.op == "read") for e in found)
    assert {(e.table, e.origin) for e in found if e.kind == "change"} == {
        ("shop.items", "stream"),
        ("shop.items", "snapshot"),
    }


def test_each_row_is_a_change_and_an_update_of_the_key_two(spark: SparkSession) -> None:
    data = [{"id": "1", "a": "y"}, {"id": "3", "a": None}, {"id": "4", "a": "é"}]
    old = [{"a": None}, {"id": "2"}, {"id": "4", "a": "è"}]
    update = message("UPDATE", data, old)
    found = read(spark, [update, json.dumps({"topic": "t", "partition": 2, "offset": 7, "value": update})])
    images = [(e.op, loaded(e.before_json), loaded(e.after_json)) for e in found[:4]]
    assert images == [
        ("update", {"id": "1", "a": None}, {"id": "1", "a": "y"}),
        ("delete", {"id": "2", "a": None}, None),
        ("insert", None, {"id": "3", "a": None}),
        ("update", {"id": "4", "a": "è"}, {"id": "4", "a": "é"}),
    ]
    assert [(loaded(e.old_key_json), loaded(e.new_key_json)) for e in found[1:3]] == [
        (None, {"id": "3", "a": None}),
        ({"id": "2", "a": None}, None),
    ]
    assert [e.position for e in found[:4]] == [
        f"0000-{b'events.jsonl'.hex().upper()}-{1:016X}-{n:08X}" for n in (0, 1, 1, 2)
    ]
    assert {e.position for e in found[4:]} == {f"0000-018BCFE56800-{2:08X}-{7:016X}-{n:08X}" for n in range(3)}
    by_name = read(spark, [message("UPDATE", data, old, pkNames=None)], items=("a",))
    assert [e.op for e in by_name] == ["delete", "insert", "update", "delete", "insert"]


def loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def test_swapped_images_are_turned(spark: SparkSession) -> None:
    texts = [
        message("UPDATE", [{"id": "1", "a": "old"}], [{"a": "new"}]),
        message("UPDATE", [{"id": "1", "a": "new"}], [{"id": "2"}]),
        message("DELETE", None, [{"id": "2", "a": "new"}]),
        message("INSERT", [{"id": "3", "a": "new"}], []),
    ]
    found = read(spark, texts, replace(SOURCE, images="swapped"))
    assert [(e.op, loaded(e.before_json), loaded(e.after_json)) for e in found] == [
        ("update", {"id": "1", "a": "old"}, {"id": "1", "a": "new"}),
        ("delete", {"id": "1", "a": "new"}, None),
        ("insert", None, {"id": "2", "a": "new"}),
        ("delete", {"id": "2", "a": "new"}, None),
        ("insert", None, {"id": "3", "a": "new"}),
    ]


def test_a_batch_that_comes_again_at_the_beginning_of_the_next_is_a_redelivery(spark: SparkSession) -> None:
    """As the docstring of the rule tells it; equal messages inside one batch are changes of their own."""
    sent = [
        (1, "A"),
        (1, "A"),
        (2, "C"),
        (2, "D"),
        (3, "C"),
        (3, "D"),
        (3, "E"),
        (4, "E"),
        (4, "F"),
        (5, "G"),
        (5, "G"),
    ]
    sent += [(6, "G"), (6, "G"), (7, "G"), (8, "H"), (9, "H"), (10, "H")]
    texts = [message("INSERT", [{"id": "1", "a": text}], id=batch, ts=batch) for batch, text in sent]
    found = read(spark, texts)
    again = [n for n, e in enumerate(found, 1) if e.control_kind == "redelivery"]
    assert again == [5, 6, 12, 13, 16, 17]
    framed = [json.dumps({"partition": 0, "offset": n, "value": text}) for n, text in enumerate(texts)]
    assert [n for n, e in enumerate(read(spark, framed), 1) if e.control_kind == "redelivery"] == again


def test_a_message_of_a_partition_stands_there_once_however_often_it_is_delivered(spark: SparkSession) -> None:
    sent = [(1, "A"), (1, "B"), (2, "A"), (2, "B"), (2, "C")]
    framed = [
        json.dumps(
            {"partition": 0, "offset": n, "value": message("INSERT", [{"id": "1", "a": text}], id=batch, ts=batch)}
        )
        for n, (batch, text) in enumerate(sent)
    ]
    delivered = [framed[n] for n in (0, 1, 0, 2, 1, 4, 2, 3, 3)]
    found = read(spark, delivered)
    assert [e.kafka_offset for e in found if e.control_kind == "redelivery"] == [2, 2, 3, 3]
    assert {e.kafka_offset for e in found if e.kind == "change"} == {0, 1, 4}


def test_what_follows_files_that_were_not_read_is_not_judged_by_what_is_left_of_a_batch(spark: SparkSession) -> None:
    """The first file begins inside batch 1, of which more was sent before: batch 2 is not that batch once more."""
    sent = [("b", 1, "A"), ("b", 2, "A"), ("b", 2, "C"), ("c", 3, "A"), ("c", 3, "C"), ("c", 4, "D")]
    texts = [message("INSERT", [{"id": "1", "a": text}], id=batch, ts=batch) for _, batch, text in sent]
    rows = lines(spark, texts).withColumn(
        "file", F.element_at(F.array(*[F.lit(name) for name, _, _ in sent]), F.col("line").cast("int"))
    )
    again = {}
    for name, gaps in (("whole", []), ("cut", ["b"]), ("apart", ["b", "c"])):
        found = envelopes(rows.withColumn("after_gap", F.col("file").isin(gaps)), SOURCE, {}).collect()
        again[name] = sorted(e.line for e in found if e.control_kind == "redelivery")
    assert again == {"whole": [2, 4, 5], "cut": [4, 5], "apart": []}


def test_control_events_do_not_hold_values_of_rows(spark: SparkSession) -> None:
    """A spec can mask them; a statement that changes the schema holds none."""
    row = [{"id": "1", "a": "secret"}]
    texts = [message("QUERY", sql="INSERT INTO items VALUES (1, 'secret')"), message("ALTER", isDdl=True, sql="told")]
    texts += [message("INSERT", row, id=7), message("INSERT", row, id=8)]
    found = control_rows(envelopes(lines(spark, texts), SOURCE, {})).orderBy("line").collect()
    assert [(row.kind, row.payload and json.loads(row.payload)["sql"]) for row in found] == [
        ("query", None),
        ("ddl", "told"),
        ("redelivery", None),
    ]


def test_partitions_are_ordered_by_time_and_one_partition_by_offset(spark: SparkSession) -> None:
    placed = [(0, 1, 5), (0, 2, 3), (1, 1, 4), (0, 3, 6)]
    for is_numbered in (True, False):
        texts = [
            json.dumps(
                {"partition": p, "offset": o, "value": message("INSERT", [{"id": "1", "a": str(n)}], es=es, id=batch)}
            )
            for n, (p, o, es) in enumerate(placed)
            for batch in [n if is_numbered else None]
        ]
        in_order = sorted(read(spark, texts), key=lambda e: e.position)
        assert [(e.kafka_partition, e.kafka_offset) for e in in_order] == [(1, 1), (0, 1), (0, 2), (0, 3)]


def test_a_dot_in_a_name_that_only_a_statement_tells_is_one(spark: SparkSession) -> None:
    texts = [message("DDL", isDdl=True, sql="TRUNCATE `a.b`", table=""), message("TRUNCATE", table="a.b")]
    assert [e.table for e in read(spark, texts)] == ["shop.a.b"] * 2


def test_values_are_what_mysql_type_says(spark: SparkSession) -> None:
    types = {
        "id": "bigint(20) unsigned",
        "e": "enum('a','it''s','c,d')",
        "s": "set('x','y','z')",
        "bit": "bit(10)",
        "flag": "bit(1)",
        "bits": "bit",
        "label": "enum",
        "labels": "set",
        "bin": "binary(4)",
        "blob": "blob",
        "d": "decimal(12,2)",
        "bare": "decimal",
        "big": "decimal(65,30)",
        "f": "FLOAT",
        "t": "time(3)",
        "dt": "datetime(6)",
        "ts": "timestamp",
        "day": "date",
        "j": "json",
        "y": "year(4)",
        "n": "int",
        "m": "bigint",
    }
    long_number = "1" * 35 + "." + "2" * 30
    full = {
        "id": "18446744073709551615", "e": "2", "s": "5", "bit": "513", "flag": "1", "bits": "129",
        "label": "2", "labels": "3", "bin": "\u0001", "blob": "\u00ff\n\u0000",
        "d": "75306.0", "bare": "1.50", "big": long_number, "f": "1.0E10",
        "t": "-838:59:59.5", "dt": "9999-12-31 23:59:59.999999", "ts": "2020-07-01 12:00:00", "day": "2000-02-29",
        "j": '{"é": 1}', "y": "1901", "n": "21.0", "m": "-1.2e3",
    }  # fmt: skip
    odd = dict.fromkeys(full) | {"id": "1", "e": "0", "s": "0", "dt": "0000-00-00 00:00:00", "day": "0000-00-00"}
    bad = {**full, "id": "2", "blob": "Ж", "e": "4"}
    texts = [message("INSERT", [row], mysqlType=types, id=n) for n, row in enumerate((full, odd, bad))]
    table = replace(spec(keys=None), table="shop.items", source=replace(SOURCE, time_zone="Asia/Shanghai"))
    changes = changes_of(envelopes(lines(spark, texts), table.source).localCheckpoint(), table.table)
    shape = discover(changes, table)
    assert shape.keys == ("id",)
    whole, nulls, wrong = decode_rows(changes, shape, table).orderBy("line").collect()
    stored = {name: bytes(v) if isinstance(v, bytearray) else v for name, v in whole.row.asDict().items()}
    instant = stored.pop("ts").astimezone().timestamp()
    assert instant == datetime.fromisoformat("2020-07-01T12:00:00+08:00").timestamp()
    assert stored == {
        "id": Decimal(2**64 - 1), "e": "it's", "s": "x,z", "bit": "1000000001", "flag": True,
        "bits": "10000001", "label": "2", "labels": "3", "bin": b"\x01\0\0\0", "blob": b"\xff\n\0",
        "d": Decimal("75306.00"), "bare": "1.50", "big": long_number, "f": 1e10,
        "t": "-838:59:59.500000", "dt": datetime(9999, 12, 31, 23, 59, 59, 999999), "day": date(2000, 2, 29),
        "j": '{"é": 1}', "y": 1901, "n": 21, "m": -1200,
    }  # fmt: skip
    assert whole.reason is None
    assert nulls.reason is None
    assert (nulls.row.e, nulls.row.s, nulls.row.dt, nulls.row.day) == ("", "", None, None)
    assert json.loads(nulls.rescued) == {"dt": "0000-00-00 00:00:00", "day": "0000-00-00"}
    assert wrong.reason == 'column "e": the value does not fit string; column "blob": the value does not fit binary'


def test_of_a_key_change_both_halves_are_rejected_or_none(spark: SparkSession) -> None:
    moves = [
        ({"id": None, "n": "1"}, {"id": "2"}),
        ({"id": "3", "n": "x"}, {"id": "2", "n": "1"}),
        ({"id": "3", "n": "1"}, {"id": "x", "n": "y"}),
        ({"id": "4", "n": "1"}, {"id": "2", "n": None}),
    ]
    texts = [message("UPDATE", [data], [old], mysqlType=None, id=n) for n, (data, old) in enumerate(moves)]
    table = replace(spec(columns={"id": "int", "n": "int"}), table="shop.items", source=SOURCE)
    changes = changes_of(envelopes(lines(spark, texts), SOURCE, {table.table: ("id",)}).localCheckpoint(), table.table)
    found = decode_rows(changes, discover(changes, table), table).orderBy("line", "op").collect()
    assert [change.op for change in found] == ["delete", "insert"] * 4
    told, elsewhere = [change.reason for change in found], " (in the other half of the key change)"
    null, unfit = 'key column "id" is null', 'column "n": the value does not fit int'
    both = f'column "id": the value does not fit int; {unfit}'
    assert told == [null + elsewhere, null, unfit + elsewhere, unfit, both, both + elsewhere, None, None]


def test_of_a_field_that_stands_twice_the_second_counts(spark: SparkSession) -> None:
    text = message("UPDATE", [{"id": "1"}], [{"id": "2", "w": None}], mysqlType=None)
    twice = text.replace('{"id": "1"}', '{"id": "0", "x": "1", "id": "1", "x": "2"}')
    table = replace(spec(columns={"id": "int"}), table="shop.items", source=SOURCE)
    changes = changes_of(
        envelopes(lines(spark, [twice]), SOURCE, {table.table: ("id",)}).localCheckpoint(), table.table
    )
    deleted, inserted = decode_rows(changes, discover(changes, table), table).orderBy("op").collect()
    assert (deleted.key.id, deleted.new_key.id, json.loads(deleted.rescued)) == (2, 1, {"x": "2", "w": None})
    assert (inserted.key.id, inserted.old_key.id, json.loads(inserted.rescued)) == (1, 2, {"x": "2"})
