"""Debezium's events in Confluent's frames give what the same events give as JSON; what is broken is told."""

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from engine.decode import TableShape, connect_avro, discover, envelopes
from engine.decode.rows import decode_rows
from engine.decode.schemas import key_columns, row_columns
from engine.session import FOLD_CONF
from engine.spec.model import EpochSpec, SourceSpec
from tests.framed import CONNECT, decimal, envelope, frame, message, named, record, schemas_file
from tests.generating import stages_of
from tests.unit.decode.given import SOURCE, changes_of, lines, spec

ANY_SCALE = record("VariableScaleDecimal", {"scale": "int", "value": "bytes"}, "io.debezium.data")
COLUMNS: dict[str, Any] = {
    "id": "long",
    "name": "string",
    "flag": "boolean",
    "single": "float",
    "double": "double",
    "price": decimal(2, 12),
    "huge": decimal(5, 60),
    "any": ANY_SCALE,
    "day": named("int", "io.debezium.time.Date"),
    "date": {"type": "int", "logicalType": "date", "connect.name": f"{CONNECT}.Date"},
    "at": named("long", "io.debezium.time.MicroTimestamp"),
    "millis": named("long", "io.debezium.time.Timestamp"),
    "zoned": named("string", "io.debezium.time.ZonedTimestamp"),
    "clock": named("long", "io.debezium.time.MicroTime"),
    "blob": "bytes",
    "bits": named("bytes", "io.debezium.data.Bits", **{"connect.parameters": {"length": "12"}}),
    "tags": {"type": "array", "items": ["null", "string"]},
    "doc": named("string", "io.debezium.data.Json"),
    "map": {"type": "map", "values": "string"},
    "short": {"type": "int", "connect.type": "int16"},
}
LATER = COLUMNS | {"added": "string"}
KEY = record("Key", {"id": "long"})
HEARTBEAT = record("Heartbeat", {"ts_ms": "long"}, "io.debezium.connector.common")
SCHEMAS = {1: KEY, 2: envelope(COLUMNS), 3: envelope(LATER), 4: HEARTBEAT, 5: "string", 70_000: KEY}
LONG = "é" * 1_000_000
MAGIC = "__debezium_unavailable_value"
ROWS: list[dict[str, Any]] = [
    {"id": -(2**63), "name": "a\U0001f600\x00\"\\\n", "flag": True, "single": 1.5, "double": math.inf, "price": b"\x80",
     "huge": b"\x7f" + b"\xff" * 20, "any": {"scale": 3, "value": b"\x01\x00"}, "day": -719_162, "date": -141_428,
     "at": -12_219_292_800_000_001, "millis": 253_402_300_799_999, "zoned": "0001-01-03T00:00:00Z", "clock": -1,
     "blob": b"\x00\xff" * 500_000, "bits": b"\x01\x08", "tags": [None, "", "x,\"y"], "doc": '{"a": 1}',
     "map": {"k": "v"}, "short": -32768},
    {"id": 2**63 - 1, "name": LONG, "double": math.nan, "single": -0.0, "blob": b"", "tags": [], "price": b"\x00",
     "day": 2_932_896, "at": 9_223_372_036_825_200_000, "millis": 9_223_372_036_825_200_000, "name2": None},
    {"id": 0, "name": "", "double": -math.inf, "day": 2**31 - 1, "map": {}, "any": {"scale": 0, "value": b"\xff"}},
    {"id": 4, "name": MAGIC, "blob": MAGIC.encode(), "tags": [MAGIC]},
]  # fmt: skip


def value(op: str, before: Any, after: Any, columns: Any = COLUMNS, **source: Any) -> dict[str, Any]:
    def image(row: Any) -> Any:
        return None if row is None else dict.fromkeys(columns) | {k: v for k, v in row.items() if k in columns}

    place = {"version": "3", "db": "main", "txId": None, **SOURCE, **source}
    transaction = {"id": "7:8", "total_order": 3}
    return {
        "before": image(before), "after": image(after), "source": place, "transaction": transaction, "op": op,
        "ts_ms": 1_700_000_001_000,
    }  # fmt: skip


def as_json(found: Any) -> Any:
    """What Debezium's JSON converter makes of a value: bytes as base64, NaN and infinities as text."""
    if isinstance(found, bytes):
        return base64.b64encode(found).decode()
    if isinstance(found, dict):
        return {name: as_json(inside) for name, inside in found.items()}
    if isinstance(found, list):
        return [as_json(inside) for inside in found]
    if isinstance(found, float) and not math.isfinite(found):
        return "NaN" if math.isnan(found) else "Infinity" if found > 0 else "-Infinity"
    return found


def events() -> list[tuple[int, dict[str, Any]]]:
    """Events of a table before and after a column was added, with the numbers of their schemas."""
    first, *others = ROWS
    listed = [(2, value("c", None, row)) for row in ROWS]
    listed += [(2, value("u", first, first | {"name": "b"}, lsn=40)), (2, value("d", others[0], None, lsn=48))]
    listed += [(3, value("c", None, {"id": 9, "added": "x"}, LATER, lsn=56)), (3, value("r", None, others[1], LATER))]
    return listed


def pair(number: int, event: dict[str, Any]) -> tuple[str, str]:
    """One event as a framed message and as a line of JSON with its schema."""
    key = {"id": (event["after"] or event["before"])["id"]}
    headers: Any = {"__debezium.oldkey": {"id": 5}} if event["op"] == "c" else None
    data = headers
    if key["id"] == 0:  # as a dump of a topic has them: a list, and bytes
        headers = [{"key": "__debezium.oldkey", "value": {"id": 6}}]
        data = [{"key": "__debezium.oldkey", "value": base64.b64encode(b'{"id":6}').decode()}]
    framed = message(frame(number, SCHEMAS[number], event), frame(1, KEY, key), partition=1, offset=7, headers=data)
    told = json.loads(connect_avro.row_schema(SCHEMAS[number]) or "")
    text = {
        "topic": "srv.shop.items", "partition": 1, "offset": 7, "headers": headers,
        "key": {"schema": json.loads(connect_avro.key_schema(KEY)), "payload": key},
        "value": {"schema": told, "payload": as_json(event)},
    }  # fmt: skip
    return framed, json.dumps(text, ensure_ascii=False, separators=(",", ":"))


def decoded(
    spark: SparkSession, texts: Sequence[str], source: SourceSpec, columns: Any = None
) -> tuple[Any, list[Row]]:
    table_spec = replace(spec(columns, keys=None), source=source)
    found = changes_of(envelopes(lines(spark, texts), source).localCheckpoint())
    shape = discover(found, table_spec)
    return shape, decode_rows(found, shape, table_spec).orderBy("line").collect()


def described(shape: TableShape) -> list[Any]:
    """Keys, columns and their encodings; the hashes of schemas apart, which are those of their text."""
    return [shape.keys, *[(c.name, c.type, {encoding for _, encoding in c.encodings}) for c in shape.columns]]


def test_the_changes_are_those_of_the_same_events_as_json(spark: SparkSession, tmp_path: Path) -> None:
    source = SourceSpec("debezium-avro", "x", schemas=schemas_file(tmp_path, SCHEMAS))
    framed, texts = zip(*[pair(*event) for event in events()], strict=True)
    for columns in (None, {"id": "bigint", "huge": "string", "doc": "json", "at": "timestamp(6)", "blob": "binary"}):
        shape, rows = decoded(spark, framed, source, columns)
        wanted_shape, wanted = decoded(spark, texts, SourceSpec("debezium-json", "x"), columns)
        assert described(shape) == described(wanted_shape)
        assert [row.reason for row in rows] == [None] * len(rows)
        assert [repr(row) for row in rows] == [repr(row) for row in wanted]  # in text NaN is equal to NaN
    assert (rows[0].key.id, rows[0].row.id, rows[0].old_key.id) == (-(2**63), -(2**63), 5)
    assert rows[2].old_key.id == 6
    assert rows[3].present is not None
    assert {"name", "blob", "tags"}.isdisjoint(rows[3].present)


def test_the_schema_of_rows_is_connects(tmp_path: Path) -> None:
    columns = row_columns(connect_avro.row_schema(envelope(COLUMNS)) or "")
    assert {name: (kind.simpleString(), encoding.kind) for name, (kind, encoding) in columns.items()} == {
        "id": ("bigint", "integer"), "name": ("string", "text"), "flag": ("boolean", "boolean"),
        "single": ("float", "floating"), "double": ("double", "floating"), "price": ("decimal(12,2)", "decimal_base64"),
        "huge": ("string", "decimal_base64"), "any": ("string", "decimal_any"), "day": ("date", "days"),
        "date": ("date", "days"), "at": ("timestamp_ntz", "micros"), "millis": ("timestamp_ntz", "millis"),
        "zoned": ("timestamp", "zoned_text"), "clock": ("string", "time_micros"), "blob": ("binary", "base64"),
        "bits": ("string", "bits"), "tags": ("array<string>", "array"), "doc": ("string", "text"),
        "map": ("string", "text"), "short": ("int", "integer"),
    }  # fmt: skip


def test_control_events_and_what_is_broken_are_told(spark: SparkSession, tmp_path: Path) -> None:
    good = frame(2, SCHEMAS[2], value("c", None, {"id": 1}))
    key = frame(1, KEY, {"id": 1})
    cases: list[tuple[str, tuple[str, str | None]]] = [
        (message(good, key), ("change", "insert")),
        (base64.b64encode(good).decode(), ("change", "insert")),
        (json.dumps({"value_avro": base64.b64encode(good).decode(), "value": {"op": "d"}}), ("change", "insert")),
        (message(good, frame(70_000, KEY, {"id": 1})), ("change", "insert")),
        (message(good, frame(5, "string", "one")), ("change", "insert")),
        (message(frame(4, HEARTBEAT, {"ts_ms": 1}), None), ("control", "heartbeat")),
        (message(None, key), ("control", "null_message")),
        (message(frame(9, HEARTBEAT, {"ts_ms": 1}), None), ("reject", "the value: schema 9 is not known")),
        (message(good, frame(8, KEY, {"id": 1})), ("reject", "the key: schema 8 is not known")),
        (message(frame(5, "string", "one"), None), ("reject", "the value: schema 5 describes no record")),
        (message(frame(6, "string", "{}"), None), ("reject", "the value: schema 6 is of type JSON")),
        (message(good, frame(7, KEY, {"id": 1})), ("reject", "the key: schema 7 is none that Spark can read")),
        (message(frame(10, KEY, {"id": 1}), None), ("reject", "the value: schema 10 is no Avro schema")),
        (message(good[:-1], key), ("reject", "the value: schema 2 does not fit the body")),
        (message(good + b"\x00", key), ("reject", "the value: schema 2 does not fit the body")),
        (message(key[:5] + good[5:], key), ("reject", "the value: schema 1 does not fit the body")),
        (message(good, key + b"\x00"), ("reject", "the key: schema 1 does not fit the body")),
        (message(b"\x00\x00\x00", None), ("reject", "the value: a Confluent frame cut short")),
        (message(b"{}", None), ("reject", "the value: no Confluent frame, its first byte is 0x7B")),
        (f'\t"{base64.b64encode(good).decode()}"\r', ("change", "insert")),
        ("{", ("reject", "not JSON")),
        ("not base64", ("reject", "the value is not base64")),
        (pair(*events()[0])[1], ("reject", "a JSON object without a value in base64")),
        (json.dumps(as_json(value("c", None, {"id": 1}))), (
            "reject", "a JSON object without a value in base64"
        )),
        (message(frame(2, SCHEMAS[2], value("x", None, {"id": 1})), key), ("reject", 'unknown op "x"')),
        (message(frame(2, SCHEMAS[2], value("c", None, {"id": 1}, lsn=None, sequence=None)), key), (
            "reject", "a streamed change without a position"
        )),
    ]  # fmt: skip
    others = {6: {"schemaType": "JSON", "schema": "{}"}, 7: record("Key", {"id": "nothing"}), 10: {"type": "record"}}
    source = SourceSpec("debezium-avro", "x", schemas=schemas_file(tmp_path, SCHEMAS | others))
    rows = envelopes(lines(spark, [text for text, _ in cases]), source).orderBy("line").collect()
    told = [(r.kind, {"change": r.op, "control": r.control_kind, "reject": r.reason}[r.kind]) for r in rows]
    assert [(n, got) for n, (got, (_, expected)) in enumerate(zip(told, cases, strict=True)) if got != expected] == []
    assert [row.text for row in rows] == [text for text, _ in cases]
    assert (rows[0].table, rows[0].channel, rows[0].tx_id, rows[0].tx_order) == ("shop.items", "srv.shop.items", "7", 3)
    assert json.loads(rows[5].control_json) == {"ts_ms": 1}


def test_events_of_another_server_are_of_another_epoch(spark: SparkSession, tmp_path: Path) -> None:
    place = {"connector": "string", "name": "string", "db": "string", "table": "string", "ts_ms": "long"}
    place |= {"server_id": "long", "gtid": ["null", "string"], "file": "string", "pos": "long", "row": "int"}
    source = record("Source", place, "io.debezium.connector.mysql")
    row = ["null", record("Value", {"id": "int"})]
    schema = record("Envelope", {"op": "string", "after": row, "source": source, "ts_ms": "long"})
    where = {"connector": "mysql", "name": "srv", "db": "shop", "table": "items", "ts_ms": 1_700_000_000_000}
    told = [where | {"server_id": n, "gtid": None, "file": "bin.000001", "pos": 4, "row": 0} for n in (1, 2)]
    texts = [message(frame(1, schema, {"op": "c", "after": {"id": 1}, "source": s, "ts_ms": s["ts_ms"]})) for s in told]
    spec = SourceSpec(
        "debezium-avro", "x", schemas=schemas_file(tmp_path, {1: schema}), epochs=(EpochSpec(server_id=1),)
    )
    rows = envelopes(lines(spark, texts), spec).orderBy("line").collect()
    assert [row.position[:4] for row in rows] == ["0000", "0002"]


@pytest.mark.parametrize("name", ["before", "after"])
def test_a_row_that_is_named_elsewhere_is_found(name: str) -> None:
    row = record("Value", {"id": "int"})
    schema = record("Envelope", {"op": "string", "first": ["null", row], name: ["null", "srv.shop.items.Value"]})
    assert list(row_columns(connect_avro.row_schema(schema) or "")) == ["id"]


def test_a_decimal_without_precision_is_the_bytes_that_it_stands_for() -> None:
    odd = {"type": "bytes", "logicalType": "decimal"}
    schema = record("Envelope", {"op": "string", "after": record("Value", {"odd": odd})})
    kind, encoding = row_columns(connect_avro.row_schema(schema) or "")["odd"]
    assert (kind.simpleString(), encoding.kind) == ("binary", "base64")


def test_a_source_of_many_schemas_is_read_in_one_stage(spark: SparkSession, tmp_path: Path) -> None:
    """Each fourth table has a column that Spark's reader is asked for: a map of more than one key."""
    tables = range(48)
    kinds = [{"type": "map", "values": "int"} if table % 4 == 0 else "string" for table in tables]
    schemas = {2 * t: record("Key", {"id": "long"}, f"t{t}") for t in tables}
    schemas |= {2 * t + 1: envelope({"id": "long", "x": kinds[t]}) for t in tables}
    told = []
    for table in tables:
        row = {"id": table, "x": {"a": 1, "b": table} if table % 4 == 0 else f"of {table}"}
        event = value("c", None, row, ("id", "x"), table=f"t{table}")
        framed = frame(2 * table + 1, schemas[2 * table + 1], event)
        told.append(message(framed, frame(2 * table, schemas[2 * table], {"id": table})))
    source = SourceSpec("debezium-avro", "x", schemas=str(schemas_file(tmp_path, schemas)))
    found = envelopes(lines(spark, told), source, {"shop.t1": ("id",)})
    assert stages_of(spark, found)[0] <= int(FOLD_CONF["spark.sql.codegen.hugeMethodLimit"])
    wanted = ("kind", "table", "after_json", "key_json", "row_schema_json", "key_schema_json")
    rows = found.orderBy("line").select(*wanted).collect()
    assert [(row.kind, row.table, json.loads(row.key_json)) for row in rows] == [
        ("change", f"shop.t{table}", {"id": table}) for table in tables
    ]
    assert [json.loads(row.after_json)["x"] for row in rows] == [
        {"a": 1, "b": table} if table % 4 == 0 else f"of {table}" for table in tables
    ]
    said = [row_columns(connect_avro.row_schema(schemas[2 * t + 1]) or "") for t in tables]
    assert [row_columns(row.row_schema_json) for row in rows] == said
    assert {names for row in rows for names in key_columns(row.key_schema_json)} == {"id"}
