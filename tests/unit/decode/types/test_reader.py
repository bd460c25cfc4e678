"""The reader of a column: the encoding that it uses, and why a value is not stored."""

import base64
from typing import Any

import pytest
from pyspark.sql import types as T

from siltstone.engine.decode.json_value import Number
from siltstone.engine.decode.row_shape import ColumnShape, Encoding
from siltstone.engine.decode.types import column_reader
from tests.unit.decode.types.given import LOCAL, ZONED, converted, decimals, micros, reader

STRING, BINARY, DATE = T.StringType(), T.BinaryType(), T.DateType()
PLACEHOLDER = "__debezium_unavailable_value"
DECIMAL = Encoding("decimal_base64", 2)


def test_each_schema_of_a_batch_decodes_its_own_values() -> None:
    column = ColumnShape("a", LOCAL, ((1, Encoding("millis")), (2, Encoding("micros")), (None, Encoding("nanos"))))
    found = [column_reader(column, number, False, "UTC", False).convert(1_000_000) for number in (1, 2, None, 3)]
    assert found == [1_000_000_000, 1_000_000, 1_000, 1_000]
    scales = ColumnShape("d", T.DecimalType(16, 4), ((1, DECIMAL), (2, Encoding("decimal_base64", 4))))
    twelve = base64.b64encode((12345).to_bytes(2, "big")).decode()
    found = [column_reader(scales, number, False, "UTC", False).convert(twelve) for number in (1, 2, None)]
    assert found == decimals("123.4500", "1.2345", "1.2345")


@pytest.mark.parametrize(
    ("encoding", "kind", "value"),
    [
        ("text", STRING, PLACEHOLDER),
        ("any_text", STRING, PLACEHOLDER),
        ("text", STRING, {PLACEHOLDER: PLACEHOLDER}),
        ("base64", BINARY, base64.b64encode(PLACEHOLDER.encode()).decode()),
        ("hex", BINARY, PLACEHOLDER.encode().hex()),
        ("base64_url", BINARY, base64.urlsafe_b64encode(PLACEHOLDER.encode()).decode()),
        ("decimal_any", STRING, PLACEHOLDER),
        (Encoding("array", items=Encoding("text")), T.ArrayType(STRING), [PLACEHOLDER]),
        (Encoding("array", items=Encoding("integer")), T.ArrayType(T.IntegerType()), list(PLACEHOLDER.encode())),
        (Encoding("array", items=Encoding("text")), T.ArrayType(STRING), ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]),
    ],
)  # fmt: skip
def test_placeholders_of_every_form_are_unavailable(encoding: Encoding | str, kind: T.DataType, value: Any) -> None:
    found = reader(encoding, kind)
    assert converted(found, [value]) == [None]
    assert found.loss_reason(value) == "unavailable"


def test_only_values_of_any_length_can_be_unavailable() -> None:
    assert converted(reader("written_text", STRING), [PLACEHOLDER]) == [PLACEHOLDER]
    assert reader("integer", T.IntegerType()).loss_reason(PLACEHOLDER) == "invalid"


UNREPRESENTABLE: list[tuple[Encoding | str, T.DataType, Any]] = [
    ("micros", LOCAL, 9223372036825200000),
    ("micros", LOCAL, -9223372036832400000),
    ("nanos", LOCAL, 9223372036825200000),
    ("micros", LOCAL, 2**63 - 1),
    ("zoned_text", ZONED, "infinity"),
    ("zoned_text", ZONED, "-0044-03-15T00:00:00Z"),
    ("zoned_text", ZONED, "+12345-01-01T00:00:00Z"),
    ("zoned_text", ZONED, "0044-03-15T00:00:00Z BC"),
    ("zoned_text", ZONED, "0001-01-01T00:00:00+14:00"),
    ("date", DATE, "2023-02-30"),
    ("date", DATE, "2023-00-10"),
    ("days", DATE, 2147483647),
    ("days", DATE, 106751991167),
    ("days", DATE, 2932897),
    ("written_moment", LOCAL, "0000-00-00 00:00:00.000000"),
    ("written_moment", LOCAL, "10000-01-01 00:00:00.000000"),
    ("written_moment", ZONED, "-0044-03-14 16:00:00Z"),
    (DECIMAL, T.DecimalType(38, 2), base64.b64encode((10**40).to_bytes(18, "big", signed=True)).decode()),
    ("decimal_text", T.DecimalType(38, 2), "Infinity"),
    ("decimal_text", T.DecimalType(10, 2), "NaN"),
    ("decimal_number", T.DecimalType(12, 2), 10**40),
    (
        Encoding("decimal_either", 2),
        T.DecimalType(12, 2),
        {"scale": 0, "value": base64.b64encode(b"\x7f" * 20).decode()},
    ),
]


@pytest.mark.parametrize(("encoding", "kind", "value"), UNREPRESENTABLE)
def test_values_without_a_stored_type_are_unrepresentable(
    encoding: Encoding | str, kind: T.DataType, value: Any
) -> None:
    found = reader(encoding, kind)
    assert converted(found, [value]) == [None]
    assert found.loss_reason(value) == "unrepresentable"
    assert found.is_unrepresentable_time(value) == (not isinstance(kind, T.DecimalType))


INVALID: list[tuple[Encoding | str, T.DataType, Any]] = [
    ("date", DATE, "2026-13-01"),
    ("date", DATE, "2026-01-32"),
    ("date", DATE, "2026-01-31 garbage"),
    ("days", DATE, True),
    ("days", DATE, "yes"),
    ("zoned_text", ZONED, "2026-01-01T25:00:00Z"),
    ("zoned_text", ZONED, "9223372036825200000"),
    ("moment", LOCAL, "2026-01-01T00:61:00"),
    ("micros", LOCAL, True),
    ("decimal_text", T.DecimalType(7, 2), "1.005"),
    ("decimal_text", T.DecimalType(7, 2), "123456.78"),
    ("decimal_text", T.DecimalType(7, 2), " -123456.7 "),
    (DECIMAL, T.DecimalType(5, 2), "AYag"),
    (DECIMAL, T.DecimalType(38, 2), 2**127),
    ("unsigned", T.DecimalType(20, 0), 2**64),
    ("integer", T.IntegerType(), "y"),
    ("floating", T.DoubleType(), "1e999"),
    ("base64", BINARY, 1234),
    ("marked", BINARY, "text"),
]


@pytest.mark.parametrize(("encoding", "kind", "value"), INVALID)
def test_values_of_another_type_are_invalid(encoding: Encoding | str, kind: T.DataType, value: Any) -> None:
    found = reader(encoding, kind)
    assert converted(found, [value]) == [None]
    assert found.loss_reason(value) == "invalid"
    assert not found.is_unrepresentable_time(value) or value == "9223372036825200000"


def test_a_key_never_loses_the_digits_of_a_time() -> None:
    text = "2024-01-01T00:00:00.000001001Z"
    fine = micros(2024, 1, 1, 0, 0, 0, 1)
    assert converted(reader("zoned_text", ZONED), [text]) == [fine]
    key = reader("zoned_text", ZONED, is_key=True)
    assert converted(key, ["2024-01-01T00:00:00.000001000Z", text]) == [fine, None]
    assert [key.is_too_fine(value) for value in (text, text.replace("001Z", "000Z"), 5)] == [True, False, False]
    counted = reader("nanos", LOCAL, is_key=True)
    assert converted(counted, [1_700_000_000_000_001_000, 1_700_000_000_000_001_001]) == [1_700_000_000_000_001, None]
    for kind in (Encoding("moment", 9), Encoding("instant", 9)):
        assert converted(reader(kind, LOCAL, is_key=True), [1_000, 1_001]) == [1, None]
    assert converted(reader(Encoding("moment", 6), LOCAL, is_key=True), [1_001]) == [1_001]
    assert converted(reader("text", STRING, is_key=True), [text]) == [text]


def test_written_out_digits_are_detected_in_place_of_bytes() -> None:
    price = reader(DECIMAL, T.DecimalType(12, 2))
    assert [price.is_written_out(value) for value in ("12.34", "-1.5", "1234", "BNI=", "x1.5")] == [
        True, True, False, False, False
    ]  # fmt: skip
    assert not reader("decimal_text", T.DecimalType(12, 2)).is_written_out("12.34")
    assert not price.is_written_out("12345678901.34")  # as text it would not fit either


def test_no_setting_is_suggested_if_schemas_define_decimals_as_bytes() -> None:
    schemas = ((7, Encoding("decimal_base64", 2)), (None, Encoding("decimal_base64", 2)))
    price = ColumnShape("price", T.DecimalType(12, 2), schemas)
    with_schema, without = (column_reader(price, number, False, "UTC", is_key=False) for number in (7, None))
    assert [each.is_written_out("12.34") for each in (with_schema, without)] == [False, True]


PRICE = T.DecimalType(12, 2)
NEEDS: list[tuple[Encoding | str, T.DataType, Any, str | None]] = [
    ("decimal_text", PRICE, "1234567890123456.7", "it needs 16 digits before the point; decimal(12,2) holds 10"),
    ("decimal_text", PRICE, "1.005", "it needs 3 digits after the point; decimal(12,2) holds 2"),
    ("decimal_text", PRICE, "1.500", None),
    ("decimal_text", PRICE, "12345678901.005",
     "it needs 11 digits before the point; decimal(12,2) holds 10; it needs 3 digits after the point; decimal(12,2)"
     " holds 2"),
    ("decimal_text", PRICE, "x", None),
    ("decimal_number", PRICE, -(10**11), "it needs 12 digits before the point; decimal(12,2) holds 10"),
    (DECIMAL, PRICE, base64.b64encode((10**13).to_bytes(6, "big")).decode(),
     "it needs 12 digits before the point; decimal(12,2) holds 10"),
    (DECIMAL, PRICE, 10**11, "it needs 12 digits before the point; decimal(12,2) holds 10"),
    (DECIMAL, PRICE, "12345678901.5", "it needs 11 digits before the point; decimal(12,2) holds 10"),
    (DECIMAL, PRICE, "no!", None),
    ("integer", T.IntegerType(), 2**31, "it needs bigint"),
    ("integer", T.IntegerType(), "3000000000", "it needs bigint"),
    ("integer", T.LongType(), 2**63, "it needs decimal(19,0)"),
    ("integer", T.LongType(), 10**38, "it needs string"),
    ("integer", T.IntegerType(), Number("1.25"), "it needs 2 digits after the point"),
    ("integer", T.IntegerType(), "y", None),
    ("integer", T.IntegerType(), True, None),
    ("date", DATE, "2026-13-01", None),
    (Encoding("bits", 40), T.IntegerType(), "AAAAAAE=", None),
]  # fmt: skip


@pytest.mark.parametrize(("encoding", "kind", "value", "need"), NEEDS)
def test_the_reader_reports_the_type_that_a_number_needs(
    encoding: Encoding | str, kind: T.DataType, value: Any, need: str | None
) -> None:
    assert reader(encoding, kind).need(value) == need
