"""Arrow values become plain values without loss."""

import base64
import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone.engine.plain_values import csv_line, iso_date, json_line, plain, records, rows


def test_a_decimal_keeps_its_digits_and_its_scale() -> None:
    values = [Decimal("12.30"), Decimal("-0.01"), Decimal("99999999999999999999999999999999999.99"), None]
    array = pa.array(values, pa.decimal128(38, 2))
    assert plain(array) == ["12.30", "-0.01", "99999999999999999999999999999999999.99", None]


def test_a_large_decimal_has_no_exponent() -> None:
    assert plain(pa.array([Decimal("1E+3")], pa.decimal128(10, 0))) == ["1000"]


def test_a_timestamp_shows_whether_it_has_a_zone() -> None:
    micros = [1_700_000_000_123_456, 1_700_000_000_000_000, None]
    assert plain(pa.array(micros, pa.timestamp("us", "UTC"))) == [
        "2023-11-14T22:13:20.123456Z",
        "2023-11-14T22:13:20Z",
        None,
    ]
    assert plain(pa.array(micros[:1], pa.timestamp("us"))) == ["2023-11-14T22:13:20.123456"]


def test_a_timestamp_beyond_the_years_of_python_is_still_exact() -> None:
    assert plain(pa.array([9_223_372_036_854_775_807], pa.timestamp("us"))) == ["+294247-01-10T04:00:54.775807"]
    assert plain(pa.array([-62_198_755_200_000_000], pa.timestamp("us"))) == ["-0001-01-01T00:00:00"]


def test_a_date_beyond_the_years_of_python_is_still_exact() -> None:
    assert plain(pa.array([2_932_897], pa.date32())) == ["+10000-01-01"]


@given(st.dates())
def test_a_date_has_the_form_that_python_writes(date: dt.date) -> None:
    assert iso_date((date - dt.date(1970, 1, 1)).days) == date.isoformat()


@given(st.lists(st.none() | st.binary()))
def test_binary_values_come_back_from_base64(values: list[bytes | None]) -> None:
    texts = plain(pa.array(values, pa.binary()))
    assert [None if text is None else base64.b64decode(text) for text in texts] == values


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_text_that_is_not_utf_8_is_escaped_and_other_text_stays(kind: pa.DataType) -> None:
    binary = pa.binary() if kind == pa.string() else pa.large_binary()
    texts = pa.array([b"caf\xe9", None, "é\\".encode()], binary).view(kind)
    assert plain(texts) == plain(pa.StructArray.from_arrays([texts], ["a"]).field(0)) == ["caf\\xe9", None, "é\\"]
    table = pa.table({"n": [1, 2, 3], "text": pa.chunked_array([texts[:1], texts[1:]])})
    assert [tuple(row.values()) for row in records(table)] == [(1, "caf\\xe9"), (2, None), (3, "é\\")]
    assert [row["list"] for row in rows(pa.record_batch({"list": pa.ListArray.from_arrays([0, 1, 3], texts)}))] == [
        ["caf\\xe9"],
        [None, "é\\"],
    ]


def test_floats_that_json_lacks_become_words() -> None:
    values = plain(pa.array([1.5, float("nan"), float("inf"), float("-inf"), None]))
    assert json_line({"v": values}) == '{"v":[1.5,"NaN","Infinity","-Infinity",null]}'


def test_a_null_struct_differs_from_a_struct_of_nulls() -> None:
    array = pa.array([{"a": 1, "b": [True]}, None, {"a": None, "b": None}])
    assert plain(array) == [{"a": 1, "b": [True]}, None, {"a": None, "b": None}]


@pytest.mark.parametrize("start", range(5))
def test_a_slice_of_nested_values_holds_its_own_rows_only(start: int) -> None:
    lists = [[1, 2], None, [], [3]]
    maps = [{"a": 1}, None, {}, {"b": 2, "c": None}]
    kind = pa.map_(pa.string(), pa.int64())
    assert plain(pa.array(lists, pa.list_(pa.int64())).slice(start)) == lists[start:]
    assert plain(pa.array([m and list(m.items()) for m in maps], kind).slice(start)) == [
        {} if m == [] else m for m in maps[start:]
    ]


def test_a_map_without_text_keys_becomes_pairs() -> None:
    array = pa.array([[(1, "a"), (2, None)]], pa.map_(pa.int64(), pa.string()))
    assert plain(array) == [[[1, "a"], [2, None]]]


def test_rows_keep_the_order_of_columns() -> None:
    batch = pa.record_batch({"b": [1, 2], "a": ["x", None]})
    assert [list(row.items()) for row in rows(batch)] == [[("b", 1), ("a", "x")], [("b", 2), ("a", None)]]


def test_csv_distinguishes_null_from_empty_text_and_quotes_what_needs_it() -> None:
    assert csv_line([None, "", 'say "hi"', "a,b", "two\nlines", 7, True, {"k": "v"}]) == (
        ',"","say ""hi""","a,b","two\nlines",7,true,"{""k"":""v""}"'
    )


def test_a_float_of_32_bits_is_the_shortest_number_of_its_own_type() -> None:
    assert plain(pa.array([0.1, 16777216.0, 3.4028235e38, None, float("nan")], pa.float32())) == [
        0.1,
        16777216.0,
        3.4028235e38,
        None,
        "NaN",
    ]
    assert plain(pa.array([0.1, 0.30000000000000004], pa.float64())) == [0.1, 0.30000000000000004]
    assert json_line({"a": plain(pa.array([0.2], pa.float32()))[0]}) == '{"a":0.2}'
