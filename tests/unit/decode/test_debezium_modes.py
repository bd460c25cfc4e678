"""The connector's handling modes: a value is equal in every mode, with and without a schema."""

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.unit.decode.given import decoded, event, field, spec, with_schema

MOMENT = datetime(2023, 11, 14, 22, 13, 20, 123000)
MILLIS = 1_700_000_000_123
CLOCK = 45_296_123  # 12:34:56.123 in milliseconds
TIME = "io.debezium.time."
CONNECT = "org.apache.kafka.connect.data."
COLUMNS = {"id": "int", "day": "date", "short": "timestamp_ntz(3)", "long": "timestamp_ntz(6)", "clock": "time(3)"}

# mode -> the sent values and the types that a schema names, of day, short, long, clock
TIMES: dict[str, tuple[list[Any], list[tuple[str, str]]]] = {
    "adaptive": (
        [19675, MILLIS, MILLIS * 1000, CLOCK],
        [("int32", TIME + "Date"), ("int64", TIME + "Timestamp"), ("int64", TIME + "MicroTimestamp"),
         ("int32", TIME + "Time")],
    ),
    "adaptive_time_microseconds": (
        [19675, MILLIS, MILLIS * 1000, CLOCK * 1000],
        [("int32", TIME + "Date"), ("int64", TIME + "Timestamp"), ("int64", TIME + "MicroTimestamp"),
         ("int64", TIME + "MicroTime")],
    ),
    "connect": (
        [19675, MILLIS, MILLIS, CLOCK],
        [("int32", CONNECT + "Date"), ("int64", CONNECT + "Timestamp"), ("int64", CONNECT + "Timestamp"),
         ("int32", CONNECT + "Time")],
    ),
    "microseconds": (
        [19675, MILLIS * 1000, MILLIS * 1000, CLOCK * 1000],
        [("int32", TIME + "Date"), ("int64", TIME + "MicroTimestamp"), ("int64", TIME + "MicroTimestamp"),
         ("int64", TIME + "MicroTime")],
    ),
    "nanoseconds": (
        [19675, MILLIS * 10**6, MILLIS * 10**6, CLOCK * 10**6],
        [("int32", TIME + "Date"), ("int64", TIME + "NanoTimestamp"), ("int64", TIME + "NanoTimestamp"),
         ("int64", TIME + "NanoTime")],
    ),
    "isostring": (
        ["2023-11-14Z", "2023-11-14T22:13:20.123Z", "2023-11-14T22:13:20.123Z", "12:34:56.123000"],
        [("string", TIME + "IsoDate"), ("string", TIME + "IsoTimestamp"), ("string", TIME + "IsoTimestamp"),
         ("string", TIME + "IsoTime")],
    ),
}  # fmt: skip


@pytest.mark.slow
def test_all_handling_modes_of_times_give_the_same_times(spark: SparkSession) -> None:
    for mode, (sent, kinds) in TIMES.items():
        image = {"id": 1, **dict(zip(list(COLUMNS)[1:], sent, strict=True))}
        fields = [field("id", "int32"), *(field(n, *k) for n, k in zip(list(COLUMNS)[1:], kinds, strict=True))]
        bare = event("c", after=image)
        for line, columns in ((bare, COLUMNS), (with_schema(bare, fields), None), (with_schema(bare, fields), COLUMNS)):
            (row,) = decoded(spark, [line], spec(dict(columns) if columns else None, times=mode))
            known = (date(2023, 11, 14), MOMENT, MOMENT, "12:34:56.123000")
            assert (row.reason, tuple(row.row)[1:]) == (None, known), mode


@pytest.mark.slow
def test_instants_are_text_in_every_mode(spark: SparkSession) -> None:
    for mode in TIMES:
        line = event("c", after={"id": 1, "at": "2023-11-14T23:13:20.123+01:00"})
        (row,) = decoded(spark, [line], spec({"id": "int", "at": "timestamp(6)"}, times=mode))
        assert (row.reason, row.row.at) == (None, MOMENT), mode


DECIMALS: dict[str, tuple[Any, dict[str, Any]]] = {
    "precise": ("/tI=", field("n", "bytes", CONNECT + "Decimal", **{"scale": "2", "connect.decimal.precision": "12"})),
    "string": ("-3.02", field("n", "string")),
    "double": (-3.02, field("n", "double")),
}


def test_all_handling_modes_of_decimals_give_the_declared_number(spark: SparkSession) -> None:
    for mode, (sent, kind) in DECIMALS.items():
        bare = event("c", after={"id": 1, "n": sent})
        lines = [bare, with_schema(bare, [field("id", "int32"), kind])]
        rows = decoded(spark, lines, spec({"id": "int", "n": "decimal(12,2)"}, decimals=mode))
        assert [(row.reason, row.row.n) for row in rows] == [(None, Decimal("-3.02"))] * 2, mode


BYTES = bytes([0xFB, 0xEF, 0xFF, 0x00, 0x10])
BINARIES: dict[str, tuple[str, str]] = {
    "bytes": ("++//ABA=", "bytes"),
    "base64": ("++//ABA=", "string"),
    "base64-url-safe": ("--__ABA=", "string"),
    "hex": ("fbefff0010", "string"),
}


def test_all_handling_modes_of_binaries_give_the_bytes(spark: SparkSession) -> None:
    for mode, (sent, kind) in BINARIES.items():
        bare = event("c", after={"id": 1, "b": sent})
        lines = [bare, with_schema(bare, [field("id", "int32"), field("b", kind)])]
        rows = decoded(spark, lines, spec({"id": "int", "b": "binary"}, binaries=mode))
        assert [(row.reason, bytes(row.row.b)) for row in rows] == [(None, BYTES)] * 2, mode


@pytest.mark.parametrize("mode", ["base64-url-safe", "hex"])
def test_invalid_bytes_are_refused_and_unavailable_bytes_are_absent(spark: SparkSession, mode: str) -> None:
    placeholder = {"hex": b"__debezium_unavailable_value".hex()}.get(mode, "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==")
    lines = [event("c", after={"id": 1, "b": "no!"}), event("c", after={"id": 1, "b": placeholder})]
    wrong, absent = decoded(spark, lines, spec({"id": "int", "b": "binary"}, binaries=mode))
    assert wrong.reason == 'column "b": the value does not fit binary'
    assert (absent.reason, absent.present, absent.row.b) == (None, ["id"], None)


def test_digits_in_place_of_bytes_are_rejected_with_the_setting(spark: SparkSession) -> None:
    lines = [event("c", after={"id": 1, "b": "12.50"}), event("c", after={"id": 1, "b": "no!"})]
    written, wrong = decoded(spark, lines, spec({"id": "int", "b": "decimal(12,2)"}, decimals="precise"))
    assert written.reason.startswith('column "b": the value does not fit decimal(12,2)')
    assert "source.decimals: string" in written.reason
    assert wrong.reason == 'column "b": the value does not fit decimal(12,2)'


def test_values_without_keys_and_fields_next_to_the_event_change_nothing(spark: SparkSession) -> None:
    whole = event("u", before={"id": 1, "n": 1}, after={"id": 1, "n": 2}, rec={"at": 3, "by": "a recorder"}, seen=[1])
    value = json.loads(whole)["value"]
    forms = [value, {"schema": {}, "payload": value}, {"value": value}, {"rec": 7, **value}, {"payload": value, "x": 1}]
    rows = decoded(spark, [whole, *map(json.dumps, forms)], spec({"id": "int", "n": "int"}))
    found = {(row.reason, row.op, row.key.id, row.row.n, row.before.n, row.position) for row in rows}
    assert found == {(None, "update", 1, 2, 1, "0000-0000000000000010-0000000000000020")}
