"""Debezium's events in Confluent's frames give the same result as in JSON. Invalid frames are rejected."""

import base64
import json
import math
import pickle
from pathlib import Path
from typing import Any

import pytest
import requests

from siltstone.engine.decode import connect_avro
from siltstone.engine.decode.event import Event, Message
from siltstone.engine.decode.event_schemas import row_columns
from siltstone.engine.decode.formats import debezium_avro
from siltstone.engine.decode.formats.avro_values import BodyReader
from siltstone.engine.decode.formats.debezium import WRONG_TYPE
from siltstone.engine.decode.formats.debezium_avro import DebeziumAvroDecoder
from siltstone.engine.decode.json_value import text_of
from siltstone.engine.spec.model import RegistrySpec, SourceSpec
from tests.framed import CONNECT, decimal, envelope, frame, message, named, record, schemas_file
from tests.unit.decode.formats.debezium_events import SOURCE, decoded, outcome

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
    "blob": "bytes",
    "tags": {"type": "array", "items": ["null", "string"]},
    "doc": named("string", "io.debezium.data.Json"),
    "map": {"type": "map", "values": "string"},
    "short": {"type": "int", "connect.type": "int16"},
}
LATER = COLUMNS | {"added": "string"}
KEY = record("Key", {"id": "long"})
HEARTBEAT = record("Heartbeat", {"ts_ms": "long"}, "io.debezium.connector.common")
SCHEMAS = {1: KEY, 2: envelope(COLUMNS), 3: envelope(LATER), 4: HEARTBEAT, 5: "string", 70_000: KEY}
MAGIC = "__debezium_unavailable_value"
ROWS: list[dict[str, Any]] = [
    {"id": -(2**63), "name": "a\U0001f600\x00\"\\\n", "flag": True, "single": 1.5, "double": math.inf, "price": b"\x80",
     "huge": b"\x7f" + b"\xff" * 20, "any": {"scale": 3, "value": b"\x01\x00"}, "day": -719_162, "date": -141_428,
     "at": -12_219_292_800_000_001, "blob": b"\x00\xff" * 5_000, "tags": [None, "", "x,\"y"], "doc": '{"a": 1}',
     "map": {"k": "v"}, "short": -32768},
    {"id": 2**63 - 1, "name": "é" * 10_000, "double": math.nan, "single": -0.0, "blob": b"", "tags": [],
     "price": b"\x00", "day": 2_932_896, "at": 9_223_372_036_825_200_000, "name2": None},
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
    """A value as Debezium's JSON converter writes it: bytes as base64, NaN and infinities as text."""
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
    """Events of a table before and after a column was added, with the ids of their schemas."""
    first, *others = ROWS
    listed = [(2, value("c", None, row)) for row in ROWS]
    listed += [(2, value("u", first, first | {"name": "b"}, lsn=40)), (2, value("d", others[0], None, lsn=48))]
    listed += [(3, value("c", None, {"id": 9, "added": "x"}, LATER, lsn=56)), (3, value("r", None, others[1], LATER))]
    return listed


def pair(number: int, event: dict[str, Any]) -> tuple[str, str]:
    """One event as a framed message and as a line of JSON."""
    key = {"id": (event["after"] or event["before"])["id"]}
    headers: Any = {"__debezium.oldkey": {"id": 5}} if event["op"] == "c" else None
    data = headers
    if key["id"] == 0:  # headers in a dump of a topic: a list, with values in bytes
        headers = [{"key": "__debezium.oldkey", "value": {"id": 6}}]
        data = [{"key": "__debezium.oldkey", "value": base64.b64encode(b'{"id":6}').decode()}]
    framed = message(frame(number, SCHEMAS[number], event), frame(1, KEY, key), partition=1, offset=7, headers=data)
    text = {"topic": "srv.shop.items", "partition": 1, "offset": 7, "headers": headers, "key": key}
    return framed, json.dumps(text | {"value": as_json(event)}, ensure_ascii=False)


def by_value(event: Event) -> dict[str, Any]:
    """The fields of an event, without those of the format. JSON is parsed."""
    of_format = ("text", "row_schema", "key_schema", "schema_hash")
    fields = {name: getattr(event, name) for name in event.__struct_fields__ if name not in of_format}
    return {name: json.loads(text) if isinstance(text, bytes) else text for name, text in fields.items()}


def test_frames_give_the_same_events_as_json(tmp_path: Path) -> None:
    framed, texts = zip(*[pair(*event) for event in events()], strict=True)
    found = decoded(framed, kind="debezium-avro", schemas=schemas_file(tmp_path, SCHEMAS))
    assert [by_value(one) for one in found] == [by_value(one) for one in decoded(texts)]
    assert [outcome(one)[0] for one in found] == ["insert"] * 4 + ["update", "delete", "insert", "read"]
    assert [one.old_key for one in found[:3]] == [b'{"id":5}', b'{"id":5}', b'{"id":6}']


def test_row_and_key_schemas_are_reduced_to_columns_and_types(tmp_path: Path) -> None:
    framed = [pair(*event)[0] for event in events()]
    found = decoded(framed, kind="debezium-avro", schemas=schemas_file(tmp_path, SCHEMAS))
    assert {one.key_schema for one in found} == {'{"keys":["id"]}'}
    assert len({(one.row_schema, one.schema_hash) for one in found}) == 2
    columns = row_columns(found[0].row_schema or "")
    assert {name: (kind.simpleString(), encoding.kind) for name, (kind, encoding) in columns.items()} == {
        "id": ("bigint", "integer"), "name": ("string", "text"), "flag": ("boolean", "boolean"),
        "single": ("float", "floating"), "double": ("double", "floating"), "price": ("decimal(12,2)", "decimal_base64"),
        "huge": ("string", "decimal_base64"), "any": ("string", "decimal_any"), "day": ("date", "days"),
        "date": ("date", "days"), "at": ("timestamp_ntz", "micros"), "blob": ("binary", "base64"),
        "tags": ("array<string>", "array"), "doc": ("string", "text"), "map": ("string", "text"),
        "short": ("int", "integer"),
    }  # fmt: skip


def cell(name: str, kind: str) -> Any:
    return record(name, {"value": ["null", kind], "set": "boolean"}, "cells")


def test_cells_and_documents_are_the_same_as_in_json(tmp_path: Path) -> None:
    """YugabyteDB's values in cells, and MongoDB's documents as text."""
    image = record("Value", {"id": ["null", cell("id", "long")], "name": ["null", cell("name", "string")]})
    places = {"connector": "string", "name": "string", "ts_ms": "long", "db": "string"}
    tablet = record("Source", places | {"schema": "string", "table": "string", "lsn": "string"}, "yb")
    cells = record("Envelope", {"after": ["null", image], "source": tablet, "op": "string", "ts_ms": "long"})
    collection = record("Source", places | {"collection": "string", "ord": "int"}, "mongo")
    texts = {"type": "array", "items": "string"}
    change = record("Change", {"removedFields": ["null", texts], "updatedFields": ["null", "string"]}, "mongo")
    images = {"after": ["null", "string"], "updateDescription": ["null", change]}
    documents = record("Envelope", images | {"source": collection, "op": "string", "ts_ms": "long"}, "mongo")
    schemas = {1: record("Key", {"id": cell("id", "long")}), 2: cells, 3: record("Key", {"id": "string"}), 4: documents}
    source = {"name": "srv", "ts_ms": 1_700_000_000_000, "db": "shop"}
    of_yugabytedb = source | {"connector": "yugabytedb", "schema": "shop", "table": "t", "lsn": "1:4::0:0"}
    of_mongodb = source | {"connector": "mongodb", "collection": "t", "ord": 1}
    row = {"id": {"value": 1, "set": True}, "name": None}
    update = {"removedFields": ["b"], "updatedFields": '{"a": 1}'}
    pairs = [
        (1, {"id": row["id"]}, 2, {"after": row, "source": of_yugabytedb, "op": "u", "ts_ms": 5}),
        (
            3,
            {"id": "7"},
            4,
            {"after": '{"_id": 7}', "updateDescription": None, "source": of_mongodb, "op": "c", "ts_ms": 5},
        ),
        (3, {"id": "7"}, 4, {"after": None, "updateDescription": update, "source": of_mongodb, "op": "u", "ts_ms": 5}),
    ]
    framed = [message(frame(n, schemas[n], v), frame(k, schemas[k], key)) for k, key, n, v in pairs]
    lines = [json.dumps({"topic": "srv.shop.items", "key": key, "value": v}) for _, key, _, v in pairs]
    found = decoded(framed, kind="debezium-avro", schemas=schemas_file(tmp_path, schemas))
    assert [by_value(one) for one in found] == [by_value(one) for one in decoded(lines)]
    assert [one.after for one in found] == [b'{"id":1}', b'{"_id": 7}', b'{"_id":7,"a":1,"b":null}']
    assert list(row_columns(found[0].row_schema or "")) == ["id", "name"]
    assert {one.key_schema for one in found[1:]} == {None}


GOOD = frame(2, SCHEMAS[2], value("c", None, {"id": 1}))
GOOD_KEY = frame(1, KEY, {"id": 1})
INSERT = ("insert", "stream")
OTHERS = {
    6: {"schemaType": "JSON", "schema": "{}"},
    7: record("Key", {"id": "nothing"}),
    10: {"type": "record"},
    11: record("Key", {"id": "long", "more": ["null", "Key"]}),
}
CASES: list[tuple[str, Any]] = [
    (message(GOOD, GOOD_KEY), INSERT),
    (base64.b64encode(GOOD).decode(), INSERT),
    (f'\t"{base64.b64encode(GOOD).decode()}"\r', INSERT),
    (json.dumps({"value_avro": base64.b64encode(GOOD).decode(), "value": {"op": "d"}}), INSERT),
    (message(GOOD, frame(70_000, KEY, {"id": 1})), INSERT),
    (message(GOOD, frame(5, "string", "one")), INSERT),
    (message(frame(4, HEARTBEAT, {"ts_ms": 1}), None), "heartbeat"),
    (message(None, GOOD_KEY), "null_message"),
    ("null", "null_message"),
    (message(frame(9, HEARTBEAT, {"ts_ms": 1}), None), "the value: schema 9 is not known"),
    (message(GOOD, frame(8, KEY, {"id": 1})), "the key: schema 8 is not known"),
    (message(frame(5, "string", "one"), None), "the value: schema 5 does not describe a record"),
    (message(frame(6, "string", "{}"), None), "the value: schema 6 is of type JSON"),
    (message(GOOD, frame(7, KEY, {"id": 1})), "the key: schema 7 is no Avro schema"),
    (message(frame(10, KEY, {"id": 1}), None), "the value: schema 10 is no Avro schema"),
    (message(frame(11, KEY, {"id": 1}), None), "the value: schema 11 is no Avro schema"),
    (message(GOOD[:-1], GOOD_KEY), "the value: schema 2 does not fit the body"),
    (message(GOOD + b"\x00", GOOD_KEY), "the value: schema 2 does not fit the body"),
    (message(GOOD_KEY[:5] + GOOD[5:], GOOD_KEY), "the value: schema 1 does not fit the body"),
    (message(GOOD.replace(b"postgresql", b"postgres\xff\xff"), GOOD_KEY), "the value: schema 2 does not fit the body"),
    (message(GOOD, GOOD_KEY + b"\x00"), "the key: schema 1 does not fit the body"),
    ('{"value": ""}', "the value: empty instead of a Confluent frame"),
    (message(b"\x00\x00\x00", None), "the value: a truncated Confluent frame"),
    (message(b"{}", None), "the value: not a Confluent frame: its first byte is 0x7B"),
    ("{", "not JSON"),
    ("not base64", "the value is not base64"),
    (pair(*events()[0])[1], "a JSON object without a value in base64"),
    (json.dumps(as_json(value("c", None, {"id": 1}))), "a JSON object without a value in base64"),
    (message(frame(2, SCHEMAS[2], value("x", None, {"id": 1})), GOOD_KEY), 'unknown op "x"'),
    (
        message(frame(2, SCHEMAS[2], value("c", None, {"id": 1}, lsn=None, sequence=None)), GOOD_KEY),
        "a streamed change without a position",
    ),
]


def test_every_message_is_a_change_a_control_event_or_a_reject_with_a_reason(tmp_path: Path) -> None:
    texts = [text for text, _ in CASES]
    found = decoded(texts, kind="debezium-avro", schemas=schemas_file(tmp_path, SCHEMAS | OTHERS))
    assert [(text, outcome(one)) for text, one in zip(texts, found, strict=True)] == CASES
    assert [one.text for one in found] == [text.encode() for text in texts]
    assert (found[0].table, found[0].channel, found[0].tx_id, found[0].tx_order) == (
        "shop.items",
        "srv.shop.items",
        "7",
        3,
    )
    assert json.loads(found[6].control or b"") == {"ts_ms": 1}


def test_a_field_with_a_wrong_type_rejects_the_message_and_names_its_table(tmp_path: Path) -> None:
    place = record(
        "Source", {"connector": "string", "name": "string", "db": "string", "table": "string", "pos": "string"}
    )
    schema = record("Envelope", {"op": "string", "source": place, "ts_ms": "long"})
    source = {"connector": "mysql", "name": "srv", "db": "shop", "table": "items", "pos": "four"}
    line = message(frame(1, schema, {"op": "c", "source": source, "ts_ms": 1}))
    (one,) = decoded([line], kind="debezium-avro", schemas=schemas_file(tmp_path, {1: schema}))
    assert (outcome(one), one.table) == (WRONG_TYPE, "shop.items")


def test_epochs_get_the_source_block_of_a_message(tmp_path: Path) -> None:
    decoder = DebeziumAvroDecoder(SourceSpec("debezium-avro", "x", schemas=schemas_file(tmp_path, SCHEMAS)), {})
    assert decoder.source_block(message(GOOD, GOOD_KEY).encode())["lsn"] == SOURCE["lsn"]
    assert [decoder.source_block(text) for text in (b"null", b"AAAA", message(GOOD_KEY).encode())] == [{}, {}, {}]


def test_a_decoder_can_be_pickled_before_and_after_its_first_message(tmp_path: Path) -> None:
    decoder = DebeziumAvroDecoder(SourceSpec("debezium-avro", "x", schemas=schemas_file(tmp_path, SCHEMAS)), {})
    one = Message("f", 1, message(GOOD, GOOD_KEY).encode())
    new, used = pickle.dumps(decoder), (decoder.events(one), pickle.dumps(decoder))
    assert pickle.loads(new).events(one) == pickle.loads(used[1]).events(one) == used[0]


def test_each_schema_of_a_registry_is_fetched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[int] = []

    def fetch(session: requests.Session, registry: RegistrySpec, number: int) -> Any:
        fetched.append(number)
        return SCHEMAS.get(number)

    monkeypatch.setattr(debezium_avro, "fetch", fetch)
    decoder = DebeziumAvroDecoder(SourceSpec("debezium-avro", "x", registry=RegistrySpec("http://registry")), {})
    unknown = message(frame(9, HEARTBEAT, {"ts_ms": 1}))
    texts = [message(GOOD, GOOD_KEY), unknown, message(GOOD, GOOD_KEY), unknown]
    found = [event for line, text in enumerate(texts, 1) for event in decoder.events(Message("f", line, text.encode()))]
    assert [one.kind for one in found] == ["change", "reject"] * 2
    assert sorted(fetched) == [1, 2, 9]


@pytest.mark.parametrize("name", ["before", "after"])
def test_a_reference_to_a_named_row_type_is_resolved(name: str) -> None:
    row = record("Value", {"id": "int"})
    schema = record("Envelope", {"op": "string", "first": ["null", row], name: ["null", "srv.shop.items.Value"]})
    assert list(row_columns(connect_avro.row_schema(schema) or "")) == ["id"]


def test_a_decimal_without_precision_is_read_as_bytes() -> None:
    odd = {"type": "bytes", "logicalType": "decimal"}
    schema = record("Envelope", {"op": "string", "after": record("Value", {"odd": odd})})
    kind, encoding = row_columns(connect_avro.row_schema(schema) or "")["odd"]
    assert (kind.simpleString(), encoding.kind) == ("binary", "base64")


INNER = record("Inner", {"x": ["null", "float"]})
VALUES: list[tuple[Any, Any, str]] = [
    ("float", 0.1, "0.1"),
    ("float", 16777216.0, "16777216.0"),
    ("double", 0.1, "0.1"),
    ({"type": "fixed", "name": "two", "size": 2}, b"\x01\x02", '"AQI="'),
    ({"type": "enum", "name": "size", "symbols": ["S", "L"]}, "L", '"L"'),
    ({"type": "int", "logicalType": "date"}, 1, "1"),
    ({"type": "array", "items": ["null", "double"]}, [None, math.nan, 1.5], '[null,"NaN",1.5]'),
    ({"type": "map", "values": "float"}, {"a": math.inf, "b": 0.1}, '{"a":"Infinity","b":0.1}'),
    ({"type": "array", "items": INNER}, [{"x": 0.1}, {"x": None}], '[{"x":0.1},{"x":null}]'),
    (["null", "int", "long"], 5, "5"),
    (["null", "float", "double"], math.inf, '"Infinity"'),
    (["null", "int", "string"], "a", '{"member0":null,"member1":"a"}'),
    (["null", "int", "string"], None, "null"),
    (["string", INNER, record("Other", {"y": "int"})], {"y": 1}, '{"member0":null,"member1":null,"member2":{"y":1}}'),
    (["bytes", INNER], {"x": -math.inf}, '{"member0":null,"member1":{"x":"-Infinity"}}'),
]


@pytest.mark.parametrize(("schema", "sent", "text"), VALUES)
def test_values_have_the_same_form_as_in_json(schema: Any, sent: Any, text: str) -> None:
    holder = record("Holder", {"v": schema})
    body = frame(1, holder, {"v": sent})[5:]
    assert json.loads(text_of(BodyReader(holder).read(body)["v"])) == json.loads(text)
