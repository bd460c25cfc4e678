"""Columns of Parquet files, tables and CSV files as JSON: every type, every value, and nested values."""

import json
import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from siltstone.engine.decode.file_schema import file_columns
from siltstone.engine.decode.record_files import ParquetToRead, parquet_groups
from siltstone.engine.decode.typed_records import ArrowTexts, MessageTexts, message_columns
from siltstone.engine.inputs.listing import list_files

AT = 1_704_067_200_123_456_789  # 2024-01-01T00:00:00.123456789Z
DAY = date(2024, 1, 2)


def column(array: pa.Array) -> tuple[list[Any], str, str]:
    """The JSON values of a column, its stored type and its encoding."""
    made = ArrowTexts({"c": array.type})
    ((kind, encoding),) = file_columns(made.row_schema).values()
    found = [json.loads(text, parse_float=str)["c"] for text in made.texts([array])]
    return found, kind.simpleString(), encoding.kind


def counts(values: list[int | None], kind: pa.DataType) -> pa.Array:
    """Times from their counts."""
    bits = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array(values, bits).view(kind)


FAR = [-62_135_596_800_000_000 - 1, 253_402_300_800_000_000, None, 0]
COLUMNS: list[tuple[pa.Array, list[Any], str, str]] = [
    (pa.array([True, None, False]), [True, None, False], "boolean", "boolean"),
    (pa.array([1, None, -128], pa.int8()), [1, None, -128], "int", "integer"),
    (pa.array([2**15], pa.uint16()), [2**15], "int", "integer"),
    (pa.array([2**32 - 1], pa.uint32()), [2**32 - 1], "bigint", "integer"),
    (pa.array([2**63 - 1, -(2**63)], pa.int64()), [2**63 - 1, -(2**63)], "bigint", "integer"),
    (pa.array([2**64 - 1, None], pa.uint64()), [str(2**64 - 1), None], "decimal(20,0)", "decimal_text"),
    (
        pa.array([1.1, 16777216.0, -0.0, 1e-45, float("nan"), float("-inf")], pa.float32()),
        ["1.1", "16777216.0", "-0.0", "1e-45", "NaN", "-Infinity"],
        "float",
        "floating",
    ),
    (
        pa.array([0.1, 1e7, -0.0, 5e-324, 1e300, None, float("inf")]),
        ["0.1", "10000000.0", "-0.0", "5e-324", "1e+300", None, "Infinity"],
        "double",
        "floating",
    ),
    (pa.array(np.array([1.5], "float16")), ["1.5"], "float", "floating"),
    (
        pa.array([Decimal("0.00000001"), Decimal(0), None, Decimal("-12345.5")], pa.decimal128(20, 8)),
        ["0.00000001", "0.00000000", None, "-12345.50000000"],
        "decimal(20,8)",
        "decimal_text",
    ),
    (pa.array([Decimal("1E+60")], pa.decimal256(70, 2)), [f"1{'0' * 60}.00"], "string", "text"),
    (
        pa.array(["", 'a"b\\c', "\n\t\x01\x7f", "\u00e9\U0001f600", None]),
        ["", 'a"b\\c', "\n\t\x01\x7f", "\u00e9\U0001f600", None],
        "string",
        "text",
    ),
    (pa.array(["x", "y", "x"]).dictionary_encode(), ["x", "y", "x"], "string", "text"),
    (pa.array(["x"], pa.large_string()), ["x"], "string", "text"),
    (pa.array([b"\xff\x00", b"", None]), ["/wA=", "", None], "binary", "base64"),
    (pa.array([b"ab"], pa.binary(2)), ["YWI="], "binary", "base64"),
    (
        counts([19_724, -719_162, 2_932_896, None, 2_932_897, -719_163, -735_160, 72_329_337], pa.date32()),
        [
            "2024-01-02", "0001-01-01", "9999-12-31", None, "+10000-01-01", "0000-12-31", "-0043-03-15",
            "+200000-12-31",
        ],
        "date",
        "date",
    ),
    (pa.array([DAY], pa.date64()), ["2024-01-02"], "date", "date"),
    (
        counts(FAR, pa.timestamp("us", "Europe/Paris")),
        ["0000-12-31 23:59:59.999999Z", "+10000-01-01 00:00:00Z", None, "1970-01-01 00:00:00Z"],
        "timestamp",
        "zoned_text",
    ),
    (counts([1, 500, 2**62], pa.timestamp("ms")),
     ["1970-01-01 00:00:00.001", "1970-01-01 00:00:00.5", "+146140482-04-24 15:36:27.904"],
     "timestamp_ntz", "local_text"),
    (pa.array([datetime(2024, 1, 2, tzinfo=UTC)], pa.timestamp("s", "UTC")),
     ["2024-01-02 00:00:00Z"], "timestamp", "zoned_text"),
    (
        counts([AT, -1, 0, None], pa.timestamp("ns")),
        ["2024-01-01 00:00:00.123456789", "1969-12-31 23:59:59.999999999", "1970-01-01 00:00:00.000000000", None],
        "timestamp_ntz",
        "local_text",
    ),
    (counts([AT], pa.timestamp("ns", "Asia/Seoul")), ["2024-01-01 00:00:00.123456789Z"], "timestamp", "zoned_text"),
    (pa.array([time(12), None], pa.time32("s")), ["12:00:00.000000", None], "string", "text"),
    (counts([1, 86_400_000, -1], pa.time32("ms")),
     ["00:00:00.001000", "24:00:00.000000", "-00:00:00.001000"], "string", "text"),
    (counts([86_399_999_999], pa.time64("us")), ["23:59:59.999999"], "string", "text"),
    (counts([43_200_000_000_001], pa.time64("ns")), ["12:00:00.000000"], "string", "text"),
    (pa.array([5, None], pa.duration("us")), [5, None], "bigint", "integer"),
    (pa.nulls(2), [None, None], "void", "text"),
    (pa.array([[1, None], None, []], pa.list_(pa.int32())), [[1, None], None, []], "array<int>", "array"),
    (pa.array([[1.5, float("nan")]], pa.large_list(pa.float64())), [["1.5", "NaN"]], "array<double>", "array"),
    (pa.array([["a", '"'], None], pa.list_(pa.string(), 2)), [["a", '"'], None], "array<string>", "array"),
    (pa.array([uuid.UUID(int=5).bytes, None], pa.uuid()), [str(uuid.UUID(int=5)), None], "string", "text"),
    (pa.array([pa.MonthDayNano([1, 2, 3])]), ["MonthDayNano(months=1, days=2, nanoseconds=3)"], "string", "text"),
    (pa.array([[None, None]], pa.list_(pa.null())), [[None, None]], "array<int>", "array"),
    (pa.array([[AT, None]], pa.list_(pa.timestamp("ns"))), [[AT, None]], "array<bigint>", "array"),
]  # fmt: skip


@pytest.mark.parametrize(("array", "values", "kind", "encoding"), COLUMNS, ids=lambda v: str(getattr(v, "type", "")))
def test_a_value_is_converted_without_loss(array: pa.Array, values: list[Any], kind: str, encoding: str) -> None:
    assert column(array) == (values, kind, encoding)


@pytest.mark.parametrize("array", [case[0] for case in COLUMNS], ids=lambda array: str(array.type))
def test_a_slice_of_an_array_has_its_own_values(array: pa.Array) -> None:
    assert column(array.slice(1))[0] == column(array)[0][1:]
    empty, kind, encoding = column(array.slice(0, 0))
    assert (empty, kind, encoding) == ([], *column(array)[1:])


NESTED: list[tuple[Any, pa.DataType, Any]] = [
    ({"a": 1, "b": None}, pa.struct([("a", pa.int64()), ("b", pa.string())]), {"a": 1, "b": None}),
    ({}, pa.struct([]), {}),
    ({'a"b': 'x"y'}, pa.struct([('a"b', pa.string())]), {'a"b': 'x"y'}),
    ([[1], None, []], pa.list_(pa.list_(pa.int64())), [[1], None, []]),
    ([1, 2], pa.list_(pa.int16()), [1, 2]),
    ([1.1], pa.list_(pa.float32()), ["1.1"]),
    ([DAY, None], pa.list_(pa.date32()), ["2024-01-02", None]),
    ([b"\xff"], pa.list_(pa.binary()), ["/w=="]),
    ([Decimal("1.50")], pa.list_(pa.decimal128(5, 2)), ["1.50"]),
    ([datetime(2024, 1, 2, 3, 4, 5)], pa.list_(pa.timestamp("us")), ["2024-01-02T03:04:05.000000"]),
    ([datetime(2024, 1, 2, tzinfo=UTC)], pa.list_(pa.timestamp("ms", "UTC")), ["2024-01-02T00:00:00.000000Z"]),
    ({"t": AT}, pa.struct([("t", pa.timestamp("ns", "UTC"))]), {"t": AT}),
    ({"t": 5}, pa.struct([("t", pa.time32("ms"))]), {"t": 5}),
    ([("k", 1), ('"', None)], pa.map_(pa.string(), pa.int64()), {"k": 1, '"': None}),
    ([(1, {"a": "x"})], pa.map_(pa.int32(), pa.struct([("a", pa.string())])), {"1": {"a": "x"}}),
    ([(True, "x")], pa.map_(pa.bool_(), pa.string()), {"true": "x"}),
    ([(DAY, [1])], pa.map_(pa.date32(), pa.list_(pa.int64())), {"2024-01-02": [1]}),
    ([{"k": [("a", None)]}, None], pa.list_(pa.struct([("k", pa.map_(pa.string(), pa.string()))])),
     [{"k": {"a": None}}, None]),
]  # fmt: skip


@pytest.mark.parametrize(("value", "kind", "inside"), NESTED, ids=lambda value: str(value)[:40])
def test_nested_values_are_json_text(value: Any, kind: pa.DataType, inside: Any) -> None:
    for array in (pa.array([value, None, value], kind), pa.array([None, value, None, value], kind).slice(1)):
        found, stored, encoding = column(array)
        assert (stored, encoding) == ("string", "text")
        assert [text and json.loads(text, parse_float=str) for text in found] == [inside, None, inside]


def test_times_outside_the_calendar_are_kept_inside_nested_values_too() -> None:
    array = pa.ListArray.from_arrays([0, 2], counts(FAR[:2], pa.timestamp("us")))
    ((text,), _, _) = column(array)
    assert json.loads(text) == ["0000-12-31T23:59:59.999999", "+10000-01-01T00:00:00.000000"]


def test_nested_decimals_are_numbers_with_all_digits() -> None:
    made = ArrowTexts({"c": pa.list_(pa.decimal128(38, 18))})
    array = pa.array(
        [[Decimal("0.000000000000000001"), Decimal("12345678901234567890.5")]], pa.list_(pa.decimal128(38, 18))
    )
    assert made.texts([array]) == [b'{"c":"[0.000000000000000001,12345678901234567890.500000000000000000]"}']


def test_text_that_is_not_utf_8_keeps_its_bytes() -> None:
    broken = pa.array([b"\xff", b'"\xff\n', b"x"]).view(pa.string())
    made = ArrowTexts({"c": pa.string()})
    assert made.texts([broken]) == [b'{"c":"\xff"}', b'{"c":"\\"\xff\\n"}', b'{"c":"x"}']


def test_columns_are_in_the_order_of_the_file() -> None:
    made = ArrowTexts({"b": pa.int64(), 'a"': pa.string()})
    assert made.texts([pa.array([1, None]), pa.array(["x", None])]) == [
        b'{"b":1,"a\\"":"x"}',
        b'{"b":null,"a\\"":null}',
    ]
    assert list(file_columns(made.row_schema)) == ["b", 'a"']


def test_messages_of_a_topic_are_lines_with_their_bytes_in_base64() -> None:
    headers = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    made = MessageTexts({"value": pa.binary(), "key": pa.string(), "partition": pa.int32(), "headers": headers})
    arrays = [pa.array([b"\x00\x01", None]), pa.array(["k", None]), pa.array([3, 4], pa.int32()),
              pa.array([[{"key": "h", "value": b"x"}], None], headers)]  # fmt: skip
    assert [json.loads(text) for text in made.texts(arrays)] == [
        {"value": "AAE=", "key": "k", "partition": 3, "headers": [{"key": "h", "value": "eA=="}]},
        {"value": None, "key": None, "partition": 4, "headers": None},
    ]


@pytest.mark.parametrize(
    ("binary", "texts", "others", "found"),
    [
        (["x"], [], [], {"value": "x"}),
        (["value", "key"], [], ["offset", "more"], {"value": "value", "key": "key", "offset": "offset"}),
        (["value_avro", "value"], ["key_avro"], [], {"value": "value_avro", "key": "key_avro"}),
        ([], ["value"], ["headers"], {"value": "value", "headers": "headers"}),
        (["a", "b"], [], [], {}),
        ([], ["a"], ["topic"], {}),
    ],
)
def test_the_message_column_is_found_by_its_name_or_as_the_only_bytes(
    binary: list[str], texts: list[str], others: list[str], found: dict[str, str]
) -> None:
    assert message_columns([*binary, *texts, *others], binary, texts) == found


def test_uuids_and_json_of_a_parquet_file_are_text_without_further_quotes(tmp_path: Path) -> None:
    one = pa.array([uuid.UUID(int=5).bytes], pa.uuid())
    document = pa.array(['{"a":1}'], pa.json_())
    table = pa.table({
        "u": one,
        "j": document,
        "us": pa.ListArray.from_arrays([0, 1], one),
        "js": pa.ListArray.from_arrays([0, 1], document),
        "both": pa.StructArray.from_arrays([one, document], ["u", "j"]),
    })  # fmt: skip
    file = tmp_path / "rows.parquet"
    pq.write_table(table, file)
    (listed,) = list_files(str(file), None)
    read = ParquetToRead(parquet_groups(listed, 0, False), False)
    ((message,),) = read.messages(0)
    assert json.loads(message.text) == {
        "u": "00000000-0000-0000-0000-000000000005",
        "j": '{"a":1}',
        "us": '["00000000-0000-0000-0000-000000000005"]',
        "js": ['{"a":1}'],
        "both": '{"u":"00000000-0000-0000-0000-000000000005","j":"{\\"a\\":1}"}',
    }
    kinds = {name: kind.simpleString() for name, (kind, _) in file_columns(message.row_schema).items()}
    assert kinds == dict.fromkeys(kinds, "string") | {"js": "array<string>"}


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.json_()])
def test_the_texts_of_messages_can_have_any_text_type_of_parquet(tmp_path: Path, kind: pa.DataType) -> None:
    file = tmp_path / "topic.parquet"
    table = pa.table({"value": pa.array(['{"op":"c"}'], kind), "key": pa.array(['{"id":1}'], kind), "offset": [7]})
    pq.write_table(table, file)
    (listed,) = list_files(str(file), None)
    read = ParquetToRead(parquet_groups(listed, 0, True), True)
    ((message,),) = read.messages(0)
    assert json.loads(message.text) == {"value": '{"op":"c"}', "key": '{"id":1}', "offset": 7}


def test_times_of_96_bits_hold_every_year_of_the_calendar(tmp_path: Path) -> None:
    times = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)]
    file = tmp_path / "rows.parquet"
    table = pa.table({"at": pa.array(times, pa.timestamp("us", "UTC"))})
    pq.write_table(table, file, use_deprecated_int96_timestamps=True)
    (listed,) = list_files(str(file), None)
    read = ParquetToRead(parquet_groups(listed, 0, False), False)
    texts = [message.text for some in read.messages(0) for message in some]
    assert texts == [b'{"at":"0001-01-01 00:00:00Z"}', b'{"at":"9999-12-31 23:59:59.999999Z"}']
