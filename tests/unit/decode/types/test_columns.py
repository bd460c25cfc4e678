"""Columns of any values: converted at once, they equal the values converted one by one."""

import json
import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T

from siltstone.engine.decode.json_value import Number, parse
from siltstone.engine.decode.row_shape import SINGLE, Encoding
from siltstone.engine.decode.types import ColumnReader
from siltstone.engine.decode.types.unrepresentable import PLACEHOLDERS
from tests.unit.decode.types.given import LOCAL, ZONED, days, decimals, micros, reader
from tests.unit.decode.types.test_times import INSTANTS

INT, LONG, DOUBLE, FLOAT, FLAG = T.IntegerType(), T.LongType(), T.DoubleType(), T.FloatType(), T.BooleanType()
STRING, BINARY, DATE = T.StringType(), T.BinaryType(), T.DateType()
LEAP = micros(2024, 2, 29, 12, 30, 45)
(PRICE, CENTS) = decimals("12.50", "249.30")
KINDS: tuple[tuple[str, int | None, T.DataType, str, Any], ...] = (  # a usual value, and its stored value
    ("integer", None, LONG, "1", 1),
    ("integer", None, INT, "-7", -7),
    ("text", None, STRING, '"caf\\u00e9"', "café"),
    ("any_text", None, STRING, '"x"', "x"),
    ("boolean", None, FLAG, "true", True),
    ("floating", None, DOUBLE, "1.25", 1.25),
    ("floating", SINGLE, FLOAT, "0.1", 0.10000000149011612),
    ("unsigned", None, T.DecimalType(20, 0), "-1", 2**64 - 1),
    ("decimal_base64", 2, T.DecimalType(12, 2), '"YWI="', CENTS),
    ("decimal_base64", 4, T.DecimalType(9, 2), '"ZA=="', decimals("0.01")[0]),
    ("decimal_base64", 0, T.DecimalType(38, 9), '"AP//"', 65535),
    ("decimal_text", None, T.DecimalType(10, 2), '"12.5"', PRICE),
    ("decimal_number", None, T.DecimalType(10, 2), "12.5", PRICE),
    ("base64", None, BINARY, '"YWI="', b"ab"),
    ("days", None, DATE, "19000", 19000),
    ("date", None, DATE, '"2024-02-29"', days(2024, 2, 29)),
    ("millis", None, LOCAL, "1700000000123", 1_700_000_000_123_000),
    ("micros", None, LOCAL, "1700000000123456", 1_700_000_000_123_456),
    ("nanos", None, LOCAL, "-1700000000123456789", -1_700_000_000_123_457),
    ("micros", None, ZONED, "-1", -1),
    ("moment", None, LOCAL, '"2024-02-29T12:30:45.5"', LEAP + 500_000),
    ("moment", 3, LOCAL, "1700000000123", 1_700_000_000_123_000),
    ("moment", 6, ZONED, '"2024-02-29 12:30:45.123456Z"', LEAP + 123_456),
    ("moment", 9, ZONED, "1700000000123456789", 1_700_000_000_123_456),
    ("zoned_text", None, ZONED, '"2024-02-29T12:30:45Z"', LEAP),
    ("local_text", None, LOCAL, '"2024-02-29T12:30:45.000001"', LEAP + 1),
    ("local_text", None, ZONED, '"2024-02-29T12:30:45"', LEAP),
    ("instant", None, ZONED, '"2024-02-29T12:30:45Z"', LEAP),
    ("instant", 6, LOCAL, "1700000000123456", 1_700_000_000_123_456),
    ("time_millis", None, STRING, "3600001", "01:00:00.001000"),
    ("time_micros", None, STRING, "-3600000001", "-01:00:00.000001"),
    ("time_nanos", None, STRING, "360000000000999", "100:00:00.000000"),
    ("time", 6, STRING, '"12:30:45"', "12:30:45"),
    ("micros", None, DATE, "-1", -1),
    ("nanos", None, DATE, "1700000000123456789", 19_675),
    ("written_text", None, STRING, '"x"', "x"),
    ("written_integer", None, LONG, '"-12"', -12),
    ("written_integer", None, INT, "12", 12),
    ("written_integer", None, T.DecimalType(20, 0), '"18446744073709551615"', 2**64 - 1),
    ("written_floating", None, DOUBLE, '"1.5e3"', 1500.0),
    ("written_floating", SINGLE, FLOAT, '"0.1"', 0.10000000149011612),
    ("written_floating", None, FLOAT, "0.1", 0.10000000149011612),
    ("written_boolean", None, FLAG, '"1"', True),
    ("written_moment", None, LOCAL, '"2024-02-29 12:30:45"', LEAP),
    ("written_moment", None, ZONED, '"2024-02-29T12:30:45.123456789Z"', LEAP + 123_456),
    ("written_time", None, STRING, '"-38:30:45.5"', "-38:30:45.500000"),
    ("written_enum", None, STRING, '"a"', "a"),
    ("written_set", None, STRING, '"a,b"', "a,b"),
    ("written_bits", 6, STRING, '"5"', "000101"),
    ("written_bits", None, STRING, "5", "101"),
    ("written_bytes", 4, BINARY, '"ab"', b"ab\0\0"),
    ("written_bytes", None, BINARY, '"\\u0000"', b"\0"),
    ("marked", None, BINARY, '"\\u0000bytes:YQ=="', b"a"),
    ("unsure", None, STRING, '"x"', "x"),
)
NUMBERS = (
    '"1.234"', '"1.230"', '"-0.00"', '"1e2"', '"+5"', '".5"', '"5."', '"1234567890.12"', '"99999999.99"', '"-"',
    '"1-2"', "-5",
    '"100000000.00"', '"00012.50"', '"1.2.3"', '"NaN"', '"Infinity"', '"12,5"', '"1_000"', '"' + "9" * 40 + '"',
    "99999999.99", "100000000", "0.001", "12.50", "18446744073709551615", "18446744073709551616", '"f////w=="',
    '"AA=="',
    '"' + "f" * 20 + '"', '"' + "/" * 24 + '"', "-719163", "2932897", "253402300800000", "-62135596800000001", "1e999",
    "-9223372036854775808", "1.5", "-0.0", "3.4028236e38", "-1.5e-016", "true", "false", '"true"', '""', '" "', "[1]",
    "{}", '{"scale":1,"value":"AQ=="}', '"\\u0661"', '"é"', '"-5"', '"7"', '"1970-01-01"', "1e99999", '"1e99999"',
    "[null]",
)  # fmt: skip
CLOCKS = ("12:30", ":", "25:61:61", "5:00:00", "12:3:00", "12:30:45.1234567", "-:30:45")
ODD: list[Any] = [parse(text) for text in NUMBERS] + [*INSTANTS, *CLOCKS, *sorted(PLACEHOLDERS)]
IDS = [f"{kind}{size or ''}-{stored.simpleString()}" for kind, size, stored, *_ in KINDS]


def reader_of(kind: str, size: int | None, stored: T.DataType, **more: Any) -> ColumnReader:
    labels = ("a", "b", "12") if kind in ("written_enum", "written_set") else ()
    return reader(Encoding(kind, size, labels=labels), stored, **more)  # type: ignore[arg-type]


def arrow_type(kind: T.DataType) -> pa.DataType:
    if isinstance(kind, T.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    plain: dict[type[T.DataType], pa.DataType] = {
        T.LongType: pa.int64(), T.IntegerType: pa.int32(), T.StringType: pa.string(), T.BinaryType: pa.binary(),
        T.DoubleType: pa.float64(), T.FloatType: pa.float32(), T.BooleanType: pa.bool_(), T.DateType: pa.date32(),
        T.TimestampType: pa.timestamp("us", "UTC"), T.TimestampNTZType: pa.timestamp("us"),
    }  # fmt: skip
    return plain[type(kind)]


@pytest.mark.parametrize(("kind", "size", "stored", "text", "wanted"), KINDS, ids=IDS)
def test_a_usual_value_of_every_kind_is_stored(
    kind: str, size: int | None, stored: T.DataType, text: str, wanted: Any
) -> None:
    found = reader_of(kind, size, stored)
    assert found.convert(parse(text)) == wanted
    assert found.convert_all([parse(text), None]) == [wanted, None]


@pytest.mark.parametrize(("kind", "size", "stored", "text", "wanted"), KINDS, ids=IDS)
@pytest.mark.parametrize(("zone", "is_key"), [("UTC", False), ("Europe/Berlin", False), ("UTC", True)])
def test_a_column_converts_like_its_single_values(
    kind: str, size: int | None, stored: T.DataType, text: str, wanted: Any, zone: str, is_key: bool
) -> None:
    """Columns of one value, of usual and other values, of equal values, and of any values."""
    found = reader_of(kind, size, stored, time_zone=zone, is_key=is_key)
    usual, draw = parse(text), random.Random(json.dumps([kind, size, text, zone]))
    columns = [[odd, usual, None] for odd in ODD] + [ODD, [usual] * 3, [None], []]
    columns += [[value for value in ODD if type(value) is form] for form in (str, int, Number, bool)]
    columns += [draw.sample(ODD, 12) for _ in range(20)]
    for values in columns:
        made = found.convert_all(values)
        assert repr(made) == repr([None if value is None else found.convert(value) for value in values]), values
        pa.array(made, arrow_type(stored))
    for value in ODD:
        if found.convert(value) is None:
            assert found.loss_reason(value) in ("unavailable", "unrepresentable", "invalid")


def test_any_encoding_has_a_converter_to_any_type() -> None:
    others = {"hex", "base64_url", "bits", "decimal_any", "decimal_either", "array", "time_either", "time_text"}
    for kind in sorted({kind for kind, *_ in KINDS} | others | {"written_any_bits"}):
        for stored in (LONG, INT, DOUBLE, FLOAT, FLAG, STRING, BINARY, DATE, LOCAL, ZONED, T.DecimalType(12, 2)):
            found = reader_of(kind, None, stored)
            made = found.convert_all(ODD)
            assert repr(made) == repr([found.convert(value) for value in ODD]), (kind, stored)
            pa.array(made, arrow_type(stored))
