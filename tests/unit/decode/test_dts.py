"""DTS's Avro records: what each is, both generations of them, every kind of value, keys that change, bad bytes."""

import base64
import json
import math
import random
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from engine.decode import envelopes
from engine.decode.discover import discover
from engine.decode.rows import decode_rows
from engine.decode.schemas import key_columns
from engine.spec.model import SourceSpec
from tests.dts_records import (
    MYSQL,
    blob,
    decimal,
    encoded,
    integer,
    line,
    moment,
    number,
    of_type,
    record,
    shape,
    text,
    timestamp,
    zoned,
)
from tests.unit.decode.given import changes_of, lines, spec

SOURCE = SourceSpec("dts-avro", "/data/dts")
ONE = [integer(1), text("a")]
BLOB = b"x" * 100  # more than a line of MIME's base64 holds


def read(spark: SparkSession, texts: list[str], **keys: tuple[str, ...]) -> list[Row]:
    declared = {f"shop.{table}": columns for table, columns in keys.items()}
    return envelopes(lines(spark, texts), SOURCE, declared).orderBy("line", "op").collect()


def decoded(spark: SparkSession, texts: list[str], columns: Any = None, **more: Any) -> list[Row]:
    table_spec = replace(spec(columns, **more), source=SOURCE)
    changes = changes_of(envelopes(lines(spark, texts), SOURCE).localCheckpoint(), table_spec.table)
    return decode_rows(changes, discover(changes, table_spec), table_spec).orderBy("line", "op").collect()


def ddl(statement: str, name: str = "shop") -> str:
    return line(record("DDL", after=statement, objectName=name))


CASES: list[tuple[str, tuple[str, str | None, str | None]]] = [
    (line(record("INSERT", MYSQL, None, ONE)), ("change", "insert", "shop.items")),
    (line(record("INSERT", MYSQL, None, ONE), born=False), ("change", "insert", "shop.items")),
    (line(record("UPDATE", MYSQL, ONE, ONE)), ("change", "update", "shop.items")),
    (line(record("DELETE", MYSQL, ONE, None)), ("change", "delete", "shop.items")),
    (line(record("INIT", MYSQL, None, ONE, position="0@0")), ("change", "read", "shop.items")),
    (ddl("/* now */ truncate table `items` ;"), ("change", "truncate", "shop.items")),
    (ddl('TRUNCATE "other"."items" CASCADE'), ("change", "truncate", "other.items")),
    (ddl("TRUNCATE TABLE `my.tab`"), ("change", "truncate", "shop.my.tab")),
    (ddl('truncate "my.db" . `my.tab`', "public"), ("change", "truncate", "my.db.my.tab")),
    (ddl("-- clear\n#all\r\nTRUNCATE/**/TABLE--x\nitems"), ("change", "truncate", "shop.items")),
    (ddl("truncate table items/* app */ cascade; -- done"), ("change", "truncate", "shop.items")),
    (ddl("/* a */" * 3000 + "truncate table items, others"), ("reject", "a TRUNCATE whose table is not told", None)),
    (ddl("truncate table [dbo].[my items];"), ("change", "truncate", "dbo.my items")),
    (ddl("truncate items, others"), ("reject", "a TRUNCATE whose table is not told", None)),
    (ddl("create table truncated (id int)"), ("control", "ddl", None)),
    (line(record("BEGIN", position="0@0", objectName=None)), ("control", "transaction_begin", None)),
    (line(record("COMMIT")), ("control", "transaction_end", "shop.items")),
    (line(record("HEARTBEAT", objectName=None)), ("control", "heartbeat", None)),
    (line(record("NOOP")), ("control", "filler", "shop.items")),
    (base64.b64encode(bytes(48)).decode(), ("control", "filler", None)),
    ('{"topic": "t", "value": null}', ("control", "null_message", None)),
    ("null", ("control", "null_message", None)),
    (line(record("INSERT", MYSQL, None, ONE, objectName=r"my\u002Edb.a\u002eb")), ("change", "insert", "my.db.a.b")),
    (line(record("INSERT", MYSQL, None, ONE, objectName="db.public.items")), ("change", "insert", "public.items")),
    (
        line(record("INSERT", MYSQL, None, ONE, tags={"l_db_name": "logical", "l_tb_name": "things"})),
        ("change", "insert", "logical.things"),
    ),
    (json.dumps({"value": line(record("INSERT", MYSQL, None, ONE)), "offset": 7}), ("change", "insert", "shop.items")),
    (line(record("INSERT", MYSQL, None, ONE[:1])), ("reject", "not as many values as fields", "shop.items")),
    (line(record("INSERT", MYSQL, ONE, None)), ("reject", "INSERT without afterImages", "shop.items")),
    (line(record("DELETE", MYSQL, None, ONE)), ("reject", "DELETE without beforeImages", "shop.items")),
    (line(record("UPDATE", None, ONE, ONE)), ("reject", "UPDATE without fields", "shop.items")),
    (
        line(record("INSERT", MYSQL, None, ONE, objectName="items")),
        ("reject", "objectName does not name a table", None),
    ),
    (
        line(record("INSERT", MYSQL, None, ONE, position="0@0")),
        ("reject", 'a streamed change without a position (sourcePosition "0@0")', "shop.items"),
    ),
    (
        line(record("INSERT", MYSQL, None, ONE, sourceTimestamp=10**15)),
        ("reject", "sourceTimestamp is no time in seconds", "shop.items"),
    ),
    (
        line(record("INSERT", MYSQL, None, [integer(1), text(b"\xff\xfe")])),
        ("reject", 'a value cannot be read: column "name"', "shop.items"),
    ),
    (
        line(record("INSERT", MYSQL, None, [integer(1), text("a", "klingon")])),
        ("reject", 'a value cannot be read: column "name"', "shop.items"),
    ),
    (line(record("INSERT", MYSQL, None, ONE))[:-16], ("reject", "the bytes are no record of DTS", None)),
    (
        base64.b64encode(encoded(record("COMMIT")) + b"more").decode(),
        ("reject", "the bytes are no record of DTS", None),
    ),
    ("no base64!", ("reject", "the value is not base64", None)),
    (
        json.dumps({"key": "no base64!", "value": line(record("INSERT", MYSQL, None, ONE))}),
        ("reject", "the key is not base64", "shop.items"),
    ),
    ('{"value": ', ("reject", "not JSON", None)),
    (
        '{"op": "c", "source": {}, "after": {}}',
        ("reject", "a JSON object without a value in base64", None),
    ),
    (
        base64.b64encode(b"Obj\x01" + bytes(60)).decode(),
        ("reject", "a whole Avro file, where one record should be", None),
    ),
]


def test_every_record_is_a_change_a_control_event_or_a_reject_with_its_reason(spark: SparkSession) -> None:
    rows = read(spark, [given for given, _ in CASES])
    told = [(r.kind, {"change": r.op, "control": r.control_kind, "reject": r.reason}[r.kind], r.table) for r in rows]
    assert [(n, got) for n, (got, (_, expected)) in enumerate(zip(told, CASES, strict=True)) if got != expected] == []
    insert, short = rows[0], rows[1]
    assert (insert.position, insert.commit_ts.timestamp()) == (f"0000-{7:016X}-{100:016X}", 1_700_000_000)
    assert insert.ingest_ts.timestamp() == 1_700_000_000.5
    assert (insert.after_json, insert.row_schema_json) == (short.after_json, short.row_schema_json)
    assert (rows[4].position, rows[4].origin) == (None, "snapshot")


# In pairs: the first one stands before the second.
ORDERED = [("999@9", "4@10"), ("9@78", "10@78"), ("7", "10"), ("0/9<->1", "0/A<->0"), ("16/0<->5", "16/1<->4")]


def test_positions_are_numbers_file_first(spark: SparkSession) -> None:
    texts = [line(record("INSERT", MYSQL, None, ONE, position=place)) for pair in ORDERED for place in pair]
    places = [row.position for row in read(spark, texts)]
    assert [
        pair for pair, n in zip(ORDERED, range(0, len(places), 2), strict=True) if not places[n] < places[n + 1]
    ] == []


def test_an_update_of_the_key_is_a_delete_and_an_insert(spark: SparkSession) -> None:
    two, gone = [integer(2), text("a")], "NONE"
    texts = [
        line(record("UPDATE", MYSQL, ONE, two)),
        line(record("UPDATE", MYSQL, ONE, [integer(1), text("b")])),
        line(record("UPDATE", MYSQL, ONE, two, keys='{"a":["name"],"b":["id"]}')),  # no one key is told
        line(record("UPDATE", MYSQL, ONE, [gone, text("b")])),
        line(record("UPDATE", MYSQL, ONE, two, keys='{"Primary":["id"],"a":["name"]}')),
        line(record("UPDATE", MYSQL, ONE, two, keys='{"PRIMARY":[],"a":["id"]}')),
    ]
    rows = read(spark, texts)
    assert [(row.line, row.op) for row in rows] == [
        (1, "delete"),
        (1, "insert"),
        (2, "update"),
        (3, "update"),
        (4, "update"),
        *[(n, half) for n in (5, 6) for half in ("delete", "insert")],
    ]
    assert {key_columns(row.key_schema_json) for row in rows if row.line != 3} == {("id",)}
    delete, insert = rows[0], rows[1]
    assert (json.loads(delete.before_json)["id"], json.loads(delete.new_key_json)["id"]) == ("1", "2")
    assert (json.loads(insert.after_json)["id"], json.loads(insert.old_key_json)["id"]) == ("2", "1")
    assert json.loads(rows[4].after_json) == {"id": "1", "name": "b"}
    assert [row.op for row in read(spark, texts[2:3], items=("id",))] == ["delete", "insert"]


LONG = "é" * 1_000_000
EMOJI = "a\U0001f600\x00\"\\\n'"
TYPES = {
    "id": 8, "tiny": 1, "u": 3, "single": 4, "double": 5, "price": 246, "day": 10, "clock": 11, "at": 12, "year": 13,
    "stamp": 7, "bits": 16, "doc": 245, "kind": 247, "note": 252, "data": 252, "bytes": 254, "point": 255,
}  # fmt: skip
EXTREME: dict[str, list[tuple[Any, Any]]] = {
    "id": [(integer(-(2**63)), -(2**63)), (integer(2**63 - 1), 2**63 - 1), (integer(0), 0), (integer(3), 3)],
    "tiny": [(integer(-128), -128), (integer(127), 127), (None, None), ("NULL", None)],
    "u": [(integer(4294967295), 4294967295), (integer(-1), -1), (None, None), (None, None)],
    "single": [
        (number(3.4028234663852886e38), 3.4028234663852886e38),
        (number(1.5), 1.5),
        (None, None),
        (number(-0.0), -0.0),
    ],
    "double": [
        (number(5e-324), 5e-324),
        (number(math.inf), math.inf),
        (number(-math.inf), -math.inf),
        (number(math.nan), None),
    ],
    "price": [
        (decimal("-99999999999999999999999999999999999.99", 38, 2), Decimal("-99999999999999999999999999999999999.99")),
        (decimal("0.01", 38, 2), Decimal("0.01")),
        (decimal("1E+3", 38, 2), Decimal(1000)),
        (None, None),
    ],
    "day": [
        (moment(1, 1, 1), date(1, 1, 1)),
        (moment(1500, 3, 1), date(1500, 3, 1)),
        (moment(9999, 12, 31), date(9999, 12, 31)),
        (moment(0, 0, 0), None),
    ],
    "clock": [
        (moment(None, None, None, -838, -59, -59), "-838:59:59.000000"),
        (moment(None, None, None, 12, 0, 0, 5), "12:00:00.000005"),
        (moment(None, None, None, 0, 0, 0, -1), "-00:00:00.000001"),
        (None, None),
    ],
    "at": [
        (moment(1582, 10, 10, 23, 59, 59, 999999), datetime(1582, 10, 10, 23, 59, 59, 999999)),
        (moment(9999, 12, 31, 0, 0, 0), datetime(9999, 12, 31)),
        (moment(0, 0, 0, 0, 0, 0), None),
        (moment(10000, 1, 1, 0, 0, 0), None),
    ],
    "year": [(moment(1901), 1901), (moment(2155), 2155), (integer(1999), 1999), (None, None)],
    "stamp": [
        (timestamp(0, 999999), datetime(1970, 1, 1, 0, 0, 0, 999999, UTC)),
        (timestamp(-1), datetime(1969, 12, 31, 23, 59, 59, 0, UTC)),
        (zoned("+08:00", 2020, 1, 1, 8, 0, 0), datetime(2020, 1, 1, tzinfo=UTC)),
        (zoned("Asia/Shanghai", 2020, 1, 1, 8, 0, 0), datetime(2020, 1, 1, tzinfo=UTC)),
    ],
    "bits": [(integer(2**64 - 1), Decimal(2**64 - 1)), (integer(0), Decimal(0)), (None, None), (None, None)],
    "doc": [(of_type('{"a": [1, null]}'), '{"a": [1, null]}'), (of_type(""), ""), (None, None), (None, None)],
    "kind": [(of_type("größer", "ENUM"), "größer"), (text("x"), "x"), (None, None), (None, None)],
    "note": [(text(LONG), LONG), (text(EMOJI), EMOJI), (text(""), ""), (text("日本".encode("gbk"), "gbk"), "日本")],
    "data": [
        (blob(b"\x00\xff" * 500_000), b"\x00\xff" * 500_000),
        (blob(b""), b""),
        (None, None),
        (blob(bytes(range(256))), bytes(range(256))),
    ],
    "bytes": [(text(b"\xff\x00", ""), b"\xff\x00"), (text(b"", "binary"), b""), (None, None), (None, None)],
    "point": [(shape(b"\x01\x02"), b"\x01\x02"), (None, None), (None, None), (None, None)],
}


def plain(value: Any) -> Any:
    """A stored value to compare by: bytes as such, instants in UTC, NaN as nothing."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, datetime) and value.tzinfo is None:
        return value
    return None if isinstance(value, float) and math.isnan(value) else value


def test_values_of_every_kind_come_back_at_their_extremes(spark: SparkSession) -> None:
    count = len(EXTREME["id"])
    assert list(EXTREME) == list(TYPES)
    texts = [
        line(record("INSERT", TYPES, None, [EXTREME[name][n][0] for name in TYPES]), born=n % 2 > 0)
        for n in range(count)
    ]
    rows = decoded(spark, texts, keys=None)
    assert [row.reason for row in rows] == [None] * count
    stored = {name: [plain(row.row[name]) for row in rows] for name in TYPES}
    stored["stamp"] = [moment_.astimezone(UTC) for moment_ in stored["stamp"]]
    wanted = {name: [expected for _, expected in EXTREME[name]] for name in TYPES}
    assert [name for name in TYPES if stored[name] != wanted[name]] == []
    assert math.isnan(rows[3].row.double)
    assert [json.loads(row.rescued or "{}") for row in rows] == [
        {}, {}, {"at": "0000-00-00 00:00:00.000000"}, {"at": "10000-01-01 00:00:00.000000", "day": "0000-00-00"},
    ]  # fmt: skip
    assert rows[0].key.id == -(2**63)


def test_other_sources_count_nanoseconds_and_number_types_their_own_way(spark: SparkSession) -> None:
    oracle = {"ID": 2, "AT": 180, "RAW": 23, "N": 2, "TEXT": 112}
    values = [
        decimal("12", 10, 0),
        moment(2020, 1, 1, 0, 0, 0, 123456789),
        blob(b"\x01"),
        decimal("~", 10, 2),
        text("c"),
    ]
    postgresql = {"id": 23, "at": 1184, "j": 3802, "flag": 16, "n": 1700, "clock": 1266, "town": 1266, "old": 1184}
    others = [
        integer(1),
        moment(2020, 1, 1, 0, 0, 0, 5000),
        blob(b'\x01{"a": 1}', "JSONB"),
        of_type("t", "BOOL"),
        integer(7),
        zoned("+08:00", None, None, None, 12, 0, 0, 0),
        zoned("Asia/Shanghai", None, None, None, 12, 0, 0, 0),
        zoned("+08:00", -44, 3, 15, 0, 0, 0, 0),
    ]
    (row,) = decoded(
        spark, [line(record("INSERT", oracle, None, values, source="Oracle", keys='{"PK":["ID"]}'))], keys=None
    )
    assert (row.reason, row.row.ID, row.row.AT) == (None, Decimal(12), datetime(2020, 1, 1, 0, 0, 0, 123456))
    assert (bytes(row.row.RAW), row.row.N, json.loads(row.rescued)) == (b"\x01", None, {"N": "Infinity"})
    texts = [
        line(record("INSERT", postgresql, None, others, source="PostgreSQL", position=place, keys='{"p":["id"]}'))
        for place in ("5", "5<->6")
    ]
    micros, nanos = decoded(spark, texts, keys=None)
    assert (micros.reason, micros.row.j, micros.row.flag, micros.row.n) == (None, '{"a": 1}', True, Decimal(7))
    assert [row.row.at.microsecond for row in (micros, nanos)] == [5000, 5]
    assert (nanos.row.clock, nanos.row.town) == ("12:00:00.000000+08:00", "12:00:00.000000 Asia/Shanghai")
    assert json.loads(nanos.rescued) == {"old": "-0044-03-14 16:00:00Z"}


@pytest.mark.slow
def test_a_column_that_held_nulls_only_takes_the_type_that_its_values_bring(spark: SparkSession) -> None:
    types = {"id": 8, "blob": 252, "price": 246, "n": 246}
    nulls = line(record("INSERT", types, None, [integer(1), None, None, None]))
    values = line(record("INSERT", types, None, [integer(2), blob(BLOB), decimal("1.50", 5, 2), None]))
    (alone,) = decoded(spark, [nulls], keys=None)
    assert alone.row.asDict() == {"id": 1, "blob": None}
    old = [integer(3), None, decimal("1234.5", 5, 1), decimal("0.5", 1, 1)]
    new = [integer(4), None, decimal("7.25", 3, 2), integer(7)]
    # The type is told by what an update replaces, too: a delete of the old key carries it.
    every = decoded(spark, [nulls, values, line(record("UPDATE", types, old, new))], keys=None)
    assert [row.reason for row in every] == [None] * 4
    assert [row.row.price for row in every] == [None, Decimal("1.50"), Decimal("1234.50"), Decimal("7.25")]
    assert [row.row.n for row in every] == [None, None, Decimal("0.5"), Decimal(7)]
    assert [plain(row.row.blob) for row in every] == [None, BLOB, None, None]
    declared = decoded(spark, [values], {"id": "bigint", "blob": "string", "price": "decimal(12,4)"})
    assert (declared[0].row.blob, declared[0].row.price) == (base64.b64encode(BLOB).decode(), Decimal("1.5000"))
    mistaken = decoded(spark, [line(record("INSERT", MYSQL, None, ONE))], {"id": "int", "name": "binary"})
    assert mistaken[0].reason == 'column "name": the value does not fit binary'


def test_absent_is_not_null(spark: SparkSession) -> None:
    none = "NONE"
    texts = [
        line(record("UPDATE", MYSQL, [integer(1), none], [integer(1), text("b")])),
        line(record("UPDATE", MYSQL | {"n": 3}, [integer(1), text("b"), None], [integer(1), none, None])),
    ]
    whole, partial = decoded(spark, texts, keys=None)
    assert (whole.before, whole.present) == (None, ["id", "name"])
    assert (partial.present, partial.before.name) == (["id", "n"], "b")


def test_keys_that_the_image_after_lacks_are_those_of_the_image_before(spark: SparkSession) -> None:
    two, none = {"a": 3, "b": 3, "v": 253, "w": 253}, "NONE"
    old = [integer(1), integer(2), text("x"), none]
    moved = {"gives": [none, integer(3), none, none], "stays": [none, none, text("y"), none]}
    texts = [
        *[line(record("UPDATE", two, old, after, keys='{"PRIMARY":["a","b"]}')) for after in moved.values()],
        line(record("UPDATE", two, [none, integer(2), none, none], moved["stays"], keys='{"PRIMARY":["a","b"]}')),
        line(record("UPDATE", two, None, moved["stays"], keys='{"PRIMARY":["a","b"]}')),
        line(record("UPDATE", two, old, [None, integer(2), none, none], keys='{"PRIMARY":["a","b"]}')),
    ]
    delete, insert, update, *bad = decoded(spark, texts, keys=None)
    assert [row.reason for row in (delete, insert, update)] == [None] * 3
    assert (delete.op, delete.key, delete.new_key, delete.row.v) == ("delete", (1, 2), (1, 3), "x")
    assert (insert.op, insert.key, insert.old_key, insert.present) == ("insert", (1, 3), (1, 2), ["a", "b"])
    assert (update.op, update.key, update.row.v, update.present) == ("update", (1, 2), "y", ["a", "b", "v"])
    missing = ['key column "a" is missing', 'key column "a" is missing; key column "b" is missing']
    assert [row.reason for row in bad] == [*missing, 'key column "a" is null']


def test_no_damage_to_bytes_ends_a_batch_or_passes_for_a_record(spark: SparkSession) -> None:
    draw = random.Random(5)
    good = encoded(record("UPDATE", MYSQL, ONE, [integer(1), text("b" * 40)]))
    texts, kinds = [], []
    for _ in range(400):
        data = bytearray(good)
        at = draw.randrange(len(data))
        kinds.append(draw.choice(["cut", "more", "long"]))
        match kinds[-1]:
            case "cut":
                data = data[: 49 + at % (len(data) - 60)]
            case "more":
                data += bytes([draw.randrange(1, 256) for _ in range(11)])
            case "long":
                data[at : at + 5] = b"\xfe\xff\xff\xff\x0f"
        texts.append(base64.b64encode(data).decode())
    rows = read(spark, texts)
    assert [row.line for row in rows] == list(range(1, len(texts) + 1))
    # A length inside a text is text; everywhere else it makes the reader ask for more than there is.
    assert {row.reason for row, kind in zip(rows, kinds, strict=True) if kind != "long"} == {
        "the bytes are no record of DTS"
    }
    assert sum(row.kind == "reject" for row, kind in zip(rows, kinds, strict=True) if kind == "long") > 20
