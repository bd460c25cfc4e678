"""Columns of Avro files: what each value is, wherever the writer's schema says so."""

import json
from pathlib import Path
from typing import Any

import fastavro
from pyspark.sql import SparkSession

from engine.decode.records import datastream_records, row_records
from engine.decode.schemas import row_columns
from engine.inputs.avro import without_logical_types
from engine.inputs.containers import Part, file_rows
from engine.inputs.listing import InputFile
from engine.inputs.pending import PendingFile
from engine.recognise.columns import avro_types
from engine.run.records import read_told, told_texts
from engine.spec.model import SourceSpec
from engine.spec.rows import RowsSpec

MONEY = {
    "type": "fixed", "name": "Money", "namespace": "acme.types", "size": 4,
    "logicalType": "decimal", "precision": 8, "scale": 2,
}  # fmt: skip
CENTS = (199).to_bytes(4, "big")
MICROS = 1_704_164_645_123_456  # 2024-01-02T03:04:05.123456Z


def record(name: str, fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()], **more}


def read(
    spark: SparkSession, folder: Path, schema: dict[str, Any], row: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The row of an Avro file as JSON, and the types that its columns are stored in."""
    path = folder / "a.avro"
    with path.open("wb") as file:
        fastavro.writer(file, without_logical_types(schema), [row])
    text = json.dumps(schema)
    is_event = any(field["name"] == "payload" for field in schema["fields"])
    of_rows = SourceSpec("rows", "x", rows=RowsSpec("r", (("seq", "number"),)))
    source = SourceSpec("datastream-avro", "x") if is_event else of_rows
    rows = file_rows(spark, "avro", text, [str(path)], source)
    found = datastream_records(rows, text) if is_event else row_records(rows, text, avro=True, malformed="_malformed")
    (told,) = found.collect()
    part = Part("avro", text, [f"file:{path}"], lambda: rows)
    known = told_texts(spark, part, source)
    if known is not None:
        pending = [PendingFile(InputFile(f"file:{path}", 0, 0, whole=True), "", 0, False)]
        sooner, _ = read_told(spark, [(part, known)], pending, source)
        assert sooner.select("line", "text", "row_schema").collect() == [(1, told.text, told.row_schema)]
    types = {name: kind for name, (kind, _) in row_columns(told.row_schema).items()}
    assert avro_types(schema, lambda full: full["fields"][-1]["type"] if is_event else full) == types  # so says `init`
    return json.loads(told.text), {name: kind.simpleString() for name, kind in types.items()}


def test_a_type_is_the_same_wherever_its_name_stands_for_it(spark: SparkSession, tmp_path: Path) -> None:
    inner = record("Inner", {"a": "Money", "b": "int"})  # in the namespace of the type around
    outer = record("Outer", {"first": MONEY, "again": ["null", "Money"], "inner": inner}, namespace="acme.types")
    nanos = {"type": "long", "logicalType": "local-timestamp-nanos"}
    schema = record("R", {"outer": outer, "tax": "acme.types.Money", "at": nanos})
    row = {"outer": {"first": CENTS, "again": CENTS, "inner": {"a": CENTS, "b": 1}}, "tax": CENTS, "at": 1}
    values, types = read(spark, tmp_path, schema, row)
    assert types == {"outer": "string", "tax": "decimal(8,2)", "at": "timestamp_ntz"}
    assert values["tax"] == "1.99"


def test_a_decimal_is_told_by_its_digits_however_many_it_has(spark: SparkSession, tmp_path: Path) -> None:
    long = {"type": "bytes", "logicalType": "decimal", "precision": 65, "scale": 30}
    columns = {"a": MONEY | {"precision": 4}, "b": ["null", MONEY | {"name": "Cost"}], "c": long}
    row = {"a": (10**9).to_bytes(4, "big"), "b": None, "c": (-(10**64)).to_bytes(40, "big", signed=True)}
    values, types = read(spark, tmp_path, record("R", columns), row)
    assert types == {"a": "decimal(4,2)", "b": "decimal(8,2)", "c": "string"}
    assert values == {"a": "10000000.00", "b": None, "c": f"-1{'0' * 34}.{'0' * 30}"}


def test_a_type_can_be_called_as_kinds_of_types_are(spark: SparkSession, tmp_path: Path) -> None:
    plain = {"type": "fixed", "name": "fixed", "namespace": "top.a", "size": 2}
    spark_writes = MONEY | {"name": "fixed", "namespace": "top.price"}
    columns = {"a": plain, "price": spark_writes, "b": "top.a.fixed", "c": "top.price.fixed"}
    _, types = read(spark, tmp_path, record("R", columns), {"a": b"12", "price": CENTS, "b": b"12", "c": CENTS})
    assert types == {"a": "binary", "price": "decimal(8,2)", "b": "binary", "c": "decimal(8,2)"}


def test_a_type_that_is_defined_around_a_payload_counts_inside_it(spark: SparkSession, tmp_path: Path) -> None:
    micros = {"type": "long", "logicalType": "timestamp-micros"}
    zoned = record("timestampTz", {"timestamp": micros, "offset": "int"}, namespace="ds.types")
    columns = {"one": zoned, "two": ["null", "ds.types.timestampTz"], "three": ["null", "ds.around.Clock"]}
    clock = record("Clock", {"timestamp": micros, "offset": "int"})
    schema = record(
        "event", {"uuid": "string", "clock": clock, "payload": record("row", columns)}, namespace="ds.around"
    )
    at = {"timestamp": MICROS, "offset": 0}
    values, types = read(spark, tmp_path, schema, {"uuid": "u", "clock": at, "payload": dict.fromkeys(columns, at)})
    assert types == dict.fromkeys(columns, "timestamp")
    assert values["payload"] == dict.fromkeys(columns, MICROS)


def test_what_is_inside_a_value_is_told_as_what_it_means(spark: SparkSession, tmp_path: Path) -> None:
    day, clock = {"type": "int", "logicalType": "date"}, {"type": "int", "logicalType": "time-millis"}
    zoned = {"type": "long", "logicalType": "timestamp-micros"}
    local = {"type": "long", "logicalType": "local-timestamp-millis"}
    dates = {"type": "array", "items": ["null", day]}
    parts = {"day": day, "clock": clock, "none": ["null", "long"], "data": "bytes", "price": MONEY}
    columns: dict[str, tuple[Any, Any, Any]] = {
        "days": (dates, [19_724, None, 2**31 - 1], ["2024-01-02", None, f"{2**31 - 1}"]),
        "times": ({"type": "map", "values": zoned}, {"a": MICROS}, {"a": "2024-01-02T03:04:05.123456Z"}),
        "local": ({"type": "array", "items": local}, [0], ["1970-01-01T00:00:00.000000"]),
        "nested": (
            {"type": "array", "items": record("Part", parts)},
            [{"day": -1, "clock": 1, "none": None, "data": b"\xff", "price": CENTS}],
            [{"day": "1969-12-31", "clock": "00:00:00.001000", "none": None, "data": "/w==", "price": 1.99}],
        ),
        "either": (["null", "string", "long"], 5, 5),
        "other": (["string", {"type": "array", "items": day}], [0], ["1970-01-01"]),
    }  # fmt: skip
    schema = record("R", {name: kind for name, (kind, _, _) in columns.items()})
    values, types = read(spark, tmp_path, schema, {name: value for name, (_, value, _) in columns.items()})
    assert types == dict.fromkeys(columns, "string")
    assert {name: json.loads(text) for name, text in values.items()} == {n: told for n, (_, _, told) in columns.items()}


def test_arrays_of_postgresql_are_told_as_what_they_mean(spark: SparkSession, tmp_path: Path) -> None:
    kinds = {
        "n": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        "t": {"type": "long", "logicalType": "timestamp-micros"},
    }

    def array(name: str) -> dict[str, Any]:
        nested = ["null", {"type": "array", "items": f"multidimensionalArray_{name}"}]
        return record(f"multidimensionalArray_{name}", {"nestedArray": nested, "elementValue": ["null", kinds[name]]})

    def of(*elements: Any) -> dict[str, Any]:
        parts = [e if isinstance(e, dict) else {"nestedArray": None, "elementValue": e} for e in elements]
        return {"nestedArray": parts, "elementValue": None}

    payload = record("payload", {name: array(name) for name in kinds}, namespace="ds")
    row = {"n": of(b"\x00\x96", None, of(b"\xff\x1f")), "t": of(MICROS)}
    values, types = read(spark, tmp_path, record("event", {"payload": payload}), {"payload": row})
    assert types == {"n": "string", "t": "string"}
    assert values["payload"] == {"n": "[1.50,null,[-2.25]]", "t": '["2024-01-02T03:04:05.123456Z"]'}
