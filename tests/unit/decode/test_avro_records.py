"""Records of Avro files as JSON: every type, in every place of the writer's schema."""

import io
import json
from typing import Any

import fastavro
import pytest

from siltstone.engine.decode.avro_files import read_header, read_records, without_logical_types
from siltstone.engine.decode.avro_records import RecordTexts
from siltstone.engine.decode.file_schema import file_columns
from siltstone.engine.decode.row_shape import ColumnShape
from siltstone.engine.decode.types import column_reader

MONEY = {
    "type": "fixed", "name": "Money", "namespace": "acme.types", "size": 4,
    "logicalType": "decimal", "precision": 8, "scale": 2,
}  # fmt: skip
CENTS = (199).to_bytes(4, "big")
MICROS = 1_704_164_645_123_456  # 2024-01-02T03:04:05.123456Z
DAY, CLOCK = {"type": "int", "logicalType": "date"}, {"type": "int", "logicalType": "time-millis"}
ZONED = {"type": "long", "logicalType": "timestamp-micros"}
NANOS = {"type": "long", "logicalType": "local-timestamp-nanos"}
INFINITE = 9_223_372_036_825_200_000


def record(name: str, fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()], **more}


def read(schema: dict[str, Any], row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The row as JSON, and the stored types of its columns."""
    file = io.BytesIO()
    fastavro.writer(file, without_logical_types(schema), [row])
    ((found,),) = read_records(file, read_header(file))
    made = RecordTexts(schema, is_event="payload" in row)
    types = {name: kind.simpleString() for name, (kind, _) in file_columns(made.row_schema).items()}
    return json.loads(made.text(found)), types


def test_a_named_type_is_equal_at_every_reference() -> None:
    inner = record("Inner", {"a": "Money", "b": "int"})  # in the namespace of the enclosing type
    outer = record("Outer", {"first": MONEY, "second": ["null", "Money"], "inner": inner}, namespace="acme.types")
    schema = record("R", {"outer": outer, "tax": "acme.types.Money", "at": NANOS})
    row = {"outer": {"first": CENTS, "second": CENTS, "inner": {"a": CENTS, "b": 1}}, "tax": CENTS, "at": 1}
    values, types = read(schema, row)
    assert types == {"outer": "string", "tax": "decimal(8,2)", "at": "timestamp_ntz"}
    assert values["tax"] == "1.99"
    assert values["outer"] == '{"first":1.99,"second":1.99,"inner":{"a":1.99,"b":1}}'


def test_a_decimal_keeps_all_its_digits() -> None:
    long = {"type": "bytes", "logicalType": "decimal", "precision": 65, "scale": 30}
    columns = {"a": MONEY | {"precision": 4}, "b": ["null", MONEY | {"name": "Cost"}], "c": long, "d": long}
    wide = (-(10**64)).to_bytes(40, "big", signed=True)
    values, types = read(record("R", columns), {"a": (10**9).to_bytes(4, "big"), "b": None, "c": wide, "d": b""})
    assert types == {"a": "decimal(4,2)", "b": "decimal(8,2)", "c": "string", "d": "string"}
    assert values == {"a": "10000000.00", "b": None, "c": f"-1{'0' * 34}.{'0' * 30}", "d": ""}


def test_a_type_can_have_the_name_of_a_kind_of_type() -> None:
    plain = {"type": "fixed", "name": "fixed", "namespace": "top.a", "size": 2}
    spark_writes = MONEY | {"name": "fixed", "namespace": "top.price"}
    columns = {"a": plain, "price": spark_writes, "b": "top.a.fixed", "c": "top.price.fixed"}
    _, types = read(record("R", columns), {"a": b"12", "price": CENTS, "b": b"12", "c": CENTS})
    assert types == {"a": "binary", "price": "decimal(8,2)", "b": "binary", "c": "decimal(8,2)"}


def test_a_type_that_is_defined_outside_of_the_payload_is_valid_inside_it() -> None:
    zoned = record("timestampTz", {"timestamp": ZONED, "offset": "int"}, namespace="ds.types")
    columns = {"one": zoned, "two": ["null", "ds.types.timestampTz"], "three": ["null", "ds.around.Clock"]}
    clock = record("Clock", {"timestamp": ZONED, "offset": "int"})
    schema = record(
        "event", {"uuid": "string", "clock": clock, "payload": record("row", columns)}, namespace="ds.around"
    )
    at = {"timestamp": MICROS, "offset": 0}
    values, types = read(schema, {"uuid": "u", "clock": at, "payload": dict.fromkeys(columns, at)})
    assert types == dict.fromkeys(columns, "timestamp")
    assert values["payload"] == dict.fromkeys(columns, MICROS)


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
EITHER = ["null", DAY, DECIMAL, {"type": "map", "values": ZONED}, "boolean", "double", "string"]
INSIDE: list[tuple[Any, Any, Any]] = [
    ({"type": "array", "items": ["null", DAY]}, [19_724, None, 2**31 - 1], ["2024-01-02", None, f"{2**31 - 1}"]),
    ({"type": "map", "values": ZONED}, {"a": MICROS}, {"a": "2024-01-02T03:04:05.123456Z"}),
    (
        {"type": "array", "items": {"type": "long", "logicalType": "local-timestamp-millis"}},
        [0],
        ["1970-01-01T00:00:00.000000"],
    ),
    (
        {"type": "array", "items": record("Part", {"day": DAY, "clock": CLOCK, "none": ["null", "long"], "m": MONEY})},
        [{"day": -1, "clock": 1, "none": None, "m": CENTS}],
        [{"day": "1969-12-31", "clock": "00:00:00.001000", "none": None, "m": 1.99}],
    ),
    ({"type": "array", "items": ["int", "long"]}, [1, 2**40], [1, 2**40]),
    ({"type": "array", "items": ["null", "int", "string"]}, [5, "x", None], ["5", "x", None]),
    (["string", {"type": "array", "items": DAY}], [0], ["1970-01-01"]),
    (record("Empty", {"nothing": "null"}), {"nothing": None}, {"nothing": None}),
]


@pytest.mark.parametrize(("kind", "value", "expected"), INSIDE)
def test_nested_values_are_converted_by_their_logical_types(kind: Any, value: Any, expected: Any) -> None:
    values, types = read(record("R", {"c": kind}), {"c": value})
    assert types == {"c": "string"}
    assert json.loads(values["c"]) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None), (5, "1970-01-06"), (b"\x00\xc7", "1.99"), ({"k": MICROS}, '{"k":"2024-01-02T03:04:05.123456Z"}'),
        (True, "true"), (1.5, "1.5"), ("5", "5"),
    ],
)  # fmt: skip
def test_a_value_of_a_union_becomes_text_by_its_logical_type(value: Any, text: str | None) -> None:
    assert read(record("R", {"c": EITHER}), {"c": value}) == ({"c": text}, {"c": "string"})


def test_numbers_of_two_sizes_are_numbers() -> None:
    kinds = {"a": ["int", "long"], "b": ["null", {"type": "float"}, "double"], "c": ["bytes", "string"]}
    values, types = read(record("R", kinds), {"a": 2**40, "b": 1.5, "c": b"\xff"})
    assert types == {"a": "bigint", "b": "double", "c": "string"}
    assert values == {"a": 2**40, "b": 1.5, "c": "/w=="}


def test_a_field_whose_only_type_is_null_is_not_a_column() -> None:
    kinds = {"a": "null", "b": ["null"], "c": ["null", "int"]}
    assert read(record("R", kinds), dict.fromkeys(kinds)) == ({"c": None}, {"c": "int"})


def test_times_beyond_the_calendar_stay_counts() -> None:
    kinds = {"day": DAY, "at": ZONED, "local": NANOS, "single": "float"}
    values, _ = read(record("R", kinds), {"day": 2**31 - 1, "at": -(2**62), "local": INFINITE, "single": 1e-45})
    assert values == {"day": f"{2**31 - 1}", "at": f"{-(2**62)}", "local": f"{INFINITE}", "single": 1e-45}


def test_an_event_has_its_times_as_text_and_its_other_fields_unchanged() -> None:
    kinds = {"object": ["null", "string", "int"], "read_timestamp": ZONED, "source_timestamp": "long"}
    schema = record("event", kinds | {"payload": record("P", {"x": ZONED})})
    values, types = read(
        schema, {"object": 5, "read_timestamp": 2**62, "source_timestamp": 1, "payload": {"x": MICROS}}
    )
    assert values == {
        "read_timestamp": None, "source_timestamp": "1970-01-01 00:00:00.001Z", "object": 5, "payload": {"x": MICROS}
    }  # fmt: skip
    assert types == {"x": "timestamp"}


def test_nested_arrays_of_postgresql_become_json_arrays() -> None:
    kinds = {"n": DECIMAL | {"precision": 10}, "t": ZONED}

    def array(name: str) -> dict[str, Any]:
        nested = ["null", {"type": "array", "items": f"multidimensionalArray_{name}"}]
        return record(f"multidimensionalArray_{name}", {"nestedArray": nested, "elementValue": ["null", kinds[name]]})

    def of(*elements: Any) -> dict[str, Any]:
        parts = [e if isinstance(e, dict) else {"nestedArray": None, "elementValue": e} for e in elements]
        return {"nestedArray": parts, "elementValue": None}

    payload = record("payload", {name: array(name) for name in kinds}, namespace="ds")
    row = {"n": of(b"\x00\x96", None, of(b"\xff\x1f")), "t": of(MICROS)}
    values, types = read(record("event", {"payload": payload}), {"payload": row})
    assert types == {"n": "string", "t": "string"}
    assert values["payload"] == {"n": "[1.50,null,[-2.25]]", "t": '["2024-01-02T03:04:05.123456Z"]'}


def test_a_record_can_contain_itself() -> None:
    node = record("Node", {"v": "int", "next": ["null", "Node"], "parts": {"type": "array", "items": "Node"}})
    value = {"v": 1, "next": {"v": 2, "next": None, "parts": []}, "parts": [{"v": 3, "next": None, "parts": []}]}
    values, _ = read(record("R", {"n": node}), {"n": value})
    assert json.loads(values["n"]) == value


def test_nanoseconds_keep_all_nine_digits() -> None:
    zoned = {"type": "long", "logicalType": "timestamp-nanos"}
    inside = record("Inside", {"at": zoned, "local": NANOS})
    schema = record("R", {"at": zoned, "local": NANOS, "round": NANOS, "micros": NANOS, "old": zoned, "inside": inside})
    count = MICROS * 1_000 + 789
    row = {"at": count, "local": count, "round": MICROS // 1_000_000 * 10**9, "micros": MICROS * 1_000, "old": -1}
    values, _ = read(schema, row | {"inside": {"at": count, "local": MICROS * 1_000}})
    assert values == {
        "at": "2024-01-02 03:04:05.123456789Z",
        "local": "2024-01-02 03:04:05.123456789",
        "round": "2024-01-02 03:04:05",
        "micros": "2024-01-02 03:04:05.123456",
        "old": "1969-12-31 23:59:59.999999999Z",
        "inside": '{"at":"2024-01-02T03:04:05.123456789Z","local":"2024-01-02T03:04:05.123456000"}',
    }


def test_a_key_in_nanoseconds_does_not_lose_digits() -> None:
    schema = record("R", {"at": NANOS})
    values, _ = read(schema, {"at": MICROS * 1_000 + 1})
    ((kind, encoding),) = file_columns(RecordTexts(schema, is_event=False).row_schema).values()
    made = column_reader(ColumnShape("at", kind, ((None, encoding),)), None, False, "UTC", is_key=True)
    assert made.convert(values["at"]) is None
    assert made.is_too_fine(values["at"])
