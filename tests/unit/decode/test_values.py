"""Conversions against Python's own arithmetic: many values in one DataFrame a property."""

import base64
import json
import random
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode import values
from engine.decode.conversion import Circumstances, convert
from engine.decode.declared import corrected_encoding, schemaless_encoding
from engine.decode.numbers import digits as up_to_18_digits
from engine.decode.numbers import whole_number
from engine.decode.shape import ColumnShape, Encoding, EncodingKind
from engine.decode.written import bits as bits_of_text
from engine.decode.written import set_labels
from engine.spec.columns import parse_column_type
from engine.spec.model import SourceSpec

RANDOM = random.Random(7)
EXACT = Context(prec=200)
EPOCH = datetime(1970, 1, 1)


def applied(spark: SparkSession, kind: str, given: list[Any], function: Callable[[Column], Column]) -> list[Any]:
    rows = spark.createDataFrame([(n, value) for n, value in enumerate(given)], f"n int, value {kind}").coalesce(1)
    return [row[0] for row in rows.select(function(F.col("value")), "n").orderBy("n").collect()]


def as_hex(number: int) -> str:
    """Minimal big-endian two's complement, as Java's BigInteger gives it."""
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True).hex().upper()


def whole_numbers() -> list[int]:
    edges = [
        0,
        1,
        -1,
        127,
        128,
        -128,
        -129,
        255,
        256,
        2**63 - 1,
        2**63,
        -(2**63),
        -(2**63) - 1,
        2**64,
        10**37,
        -(10**37),
    ]
    drawn = [RANDOM.randrange(-(10**digits) + 1, 10**digits) for digits in range(1, 39) for _ in range(4)]
    return edges + drawn + [10**38 - 1, 1 - 10**38]


def test_a_whole_number_is_digits_and_nothing_else(spark: SparkSession) -> None:
    drawn = whole_numbers()
    odd = ["", "-", "+", "+5", "-0", "007", "0" * 40 + "7", "1.0", "1e3", " 1", "1 ", "12\n", "12\r\n", "12\r", "\n",
           "1\n2", "12\n\n", "é", "\u0661", "9" * 18, "9" * 19, "1-", "--1", None]  # fmt: skip
    given = [*map(str, drawn), *odd]

    def by_spark(text: Column) -> Column:
        return F.when(text.rlike(values.A_COUNT), text.try_cast("bigint"))

    def digits_by_spark(text: Column) -> Column:
        return F.when(text.rlike("^[0-9]{1,18}$"), text.try_cast("bigint"))

    found = applied(spark, "string", given, whole_number)
    assert found == applied(spark, "string", given, by_spark)
    assert found[: len(drawn)] == [n if -(2**63) <= n < 2**63 else None for n in drawn]
    assert applied(spark, "string", given, up_to_18_digits) == applied(spark, "string", given, digits_by_spark)


def test_unscaled_digits_become_the_decimal_they_stand_for(spark: SparkSession) -> None:
    numbers = whole_numbers()
    for scale in (0, 2, 10):
        kind = T.DecimalType(38, scale)
        found = applied(
            spark, "string", [as_hex(n) for n in numbers], lambda c, s=scale, k=kind: values.decimal_hex(c, s, k)
        )
        assert found == [EXACT.scaleb(Decimal(n), -scale) for n in numbers]


def test_decimals_that_would_lose_digits_become_null(spark: SparkSession) -> None:
    kind = T.DecimalType(5, 2)
    given = [99999, 100000, -99999, -100000, 10**38, -(10**60)]
    found = applied(spark, "string", [as_hex(n) for n in given], lambda c: values.decimal_hex(c, 2, kind))
    assert found == [Decimal("999.99"), None, Decimal("-999.99"), None, None, None]
    finer = applied(spark, "string", [as_hex(n) for n in (12340, 12345)], lambda c: values.decimal_hex(c, 3, kind))
    assert finer == [Decimal("12.34"), None]


def test_digits_of_any_length_and_scale_are_exact(spark: SparkSession) -> None:
    numbers = [
        *whole_numbers(),
        10**38,
        -(10**38),
        2**127,
        -(2**127),
        10**77 + 1,
        -(7**300),
        3**500,
        2**1000,
        -(2**1024),
    ]
    for scale in (0, 3, 40, -2):
        given = [as_hex(n) for n in numbers]
        found = applied(spark, "string", given, lambda c, s=scale: values.decimal_digits(c, F.lit(s)))
        assert found == [plain(n, scale) for n in numbers]


def plain(number: int, scale: int) -> str:
    if scale <= 0:
        return str(number * 10**-scale)
    digits = str(abs(number)).rjust(scale + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def test_numbers_that_say_their_scale_become_their_digits(spark: SparkSession) -> None:
    given = [
        '{"scale":2,"value":"MDk="}',
        '{"scale":0,"value":"AA=="}',
        '{"scale":1}',
        "{}",
        "no",
        '{"scale":-1,"value":"/w=="}',
    ]
    assert applied(spark, "string", given, values.variable_scale_digits) == ["123.45", "0", None, None, None, "-10"]


def test_decimal_text_keeps_every_digit_or_nothing(spark: SparkSession) -> None:
    cases = {
        "123.45": "123.45", "-0.10": "-0.10", "+7": "7.00", "1.50000": "1.50", "1.23456789E7": "12345678.90",
        "1e2": "100.00", "1.005": None, "12345678901.00": None, "NaN": None, "Infinity": None, "": None, "x": None,
        "1.2.3": None, "0x10": None, "0.1e-5": None, ".50": "0.50", "-.5": "-0.50", "+.05000": "0.05", "5.": "5.00",
        ".5e1": "5.00", " 1": "1.00", "\t1.5 \n": "1.50", ".005": None, ".": None, "-.": None, "1 .5": None, " ": None,
    }  # fmt: skip
    kind = T.DecimalType(12, 2)
    found = applied(spark, "string", list(cases), lambda c: values.decimal_text(c, kind))
    assert found == [None if text is None else Decimal(text) for text in cases.values()]


def test_unsigned_numbers_turn_back_to_what_the_source_had(spark: SparkSession) -> None:
    given = [0, 1, 2**63 - 1, -(2**63), -1, -2]
    found = applied(spark, "decimal(20,0)", [Decimal(n) for n in given], values.unsigned)
    assert found == [Decimal(n % 2**64) for n in given]


def test_bits_come_highest_first_from_little_endian_bytes(spark: SparkSession) -> None:
    for size in (1, 8, 10, 16, 64, 100):
        numbers = [0, 1, 2**size - 1, 2 ** (size - 1), *(RANDOM.randrange(2**size) for _ in range(20))]
        given = [base64.b64encode(n.to_bytes((n.bit_length() + 7) // 8, "little")).decode() for n in numbers]
        found = applied(spark, "string", given, lambda c, s=size: values.bits(c, s))
        assert found == [f"{n:0{size}b}" for n in numbers]
    of_any_length = applied(
        spark, "string", ["BQ==", "AAE=", "AA==", "true", None], lambda c: values.bits(c, 2**31 - 1)
    )
    assert of_any_length == ["101", "100000000", "0", "1", None]
    assert applied(spark, "string", ["true", "false", None, "AAE="], lambda c: values.bits(c, 1)) == [
        "1",
        "0",
        None,
        None,
    ]


def test_a_mask_of_a_set_chooses_among_64_labels(spark: SparkSession) -> None:
    labels = [f"l{at}" for at in range(64)]
    masks = [0, 1, 2**60 + 1, 2**63, 2**64 - 1, 2**64]
    found = applied(spark, "string", [*map(str, masks), "l0,l63", None], lambda c: set_labels(c, labels))
    assert found == ["", "l0", "l0,l60", "l63", ",".join(labels), None, "l0,l63", None]
    assert applied(spark, "string", ["3", "4"], lambda c: set_labels(c, labels[:2])) == ["l0,l1", None]


def test_days_are_dates_of_the_years_1_to_9999_before_1582_too(spark: SparkSession) -> None:
    given = [
        0,
        -1,
        1,
        -141_428,
        -141_427,
        -141_438,
        -719_162,
        2_932_896,
        *(RANDOM.randrange(-719_162, 2_932_897) for _ in range(300)),
    ]
    assert applied(spark, "int", given, values.days) == [date(1970, 1, 1) + timedelta(days=n) for n in given]
    assert applied(spark, "int", [-719_163, 2_932_897, 2**31 - 1, -(2**31), None], values.days) == [None] * 5


def test_counted_moments_are_exact_and_out_of_the_calendar_null(spark: SparkSession) -> None:
    first, last = -62_135_596_800_000_000, 253_402_300_799_999_999
    micros = [0, -1, 1, first, last, *(RANDOM.randrange(first, last) for _ in range(300))]
    as_ntz: Callable[[str], Callable[[Column], Column]] = lambda unit: (  # noqa: E731
        lambda c: values.moment(c, unit).cast("timestamp_ntz")
    )
    assert applied(spark, "bigint", micros, as_ntz("micros")) == [EPOCH + timedelta(microseconds=n) for n in micros]
    millis = [n // 1000 for n in micros]
    assert applied(spark, "bigint", millis, as_ntz("millis")) == [EPOCH + timedelta(milliseconds=n) for n in millis]
    nanos = [0, -1, 999, 1_000, -1_001, 2**63 - 1, -(2**63)]
    assert applied(spark, "bigint", nanos, as_ntz("nanos")) == [
        EPOCH + timedelta(microseconds=n // 1000) for n in nanos
    ]
    beyond = [first - 1, last + 1, 9_223_372_036_825_200_000, -9_223_372_036_832_400_000, 2**63 - 1, -(2**63)]
    assert applied(spark, "bigint", beyond, as_ntz("micros")) == [None] * 6
    assert applied(spark, "bigint", [n // 1000 for n in beyond[2:]] + [2**63 - 1], as_ntz("millis")) == [None] * 5


def test_texts_of_moments_keep_their_instant_and_nothing_else_becomes_one(spark: SparkSession) -> None:
    cases: dict[str, datetime | None] = {
        "2084-04-24T11:41:51.000001Z": datetime(2084, 4, 24, 11, 41, 51, 1),
        "2020-01-01T00:00:00+05:30": datetime(2019, 12, 31, 18, 30),
        "2020-01-01 00:00:00": datetime(2020, 1, 1),
        "0001-01-01T00:00:00Z": datetime(1, 1, 1),
        "9999-12-31T23:59:59.999999Z": datetime(9999, 12, 31, 23, 59, 59, 999999),
        "1500-02-28T12:00:00Z": datetime(1500, 2, 28, 12),
        **dict.fromkeys(
            ["infinity", "-infinity", "0000-12-31T00:00:00Z",
             "+10000-01-01T00:00:00Z", "-0044-03-15T00:00:00Z", "12:30:00",
             "10000-01-01T00:00:00Z", "2020-02-30T00:00:00Z", "0001-01-01T00:00:00+14:00", "2020", "", "now", "epoch",
             "0044-03-15T00:00:00Z BC"]
        ),
    }  # fmt: skip
    found = applied(spark, "string", list(cases), lambda c: values.zoned_moment(c).cast("timestamp_ntz"))
    assert dict(zip(cases, found, strict=True)) == cases
    local = {
        "2020-01-01T10:00:00.5Z": datetime(2020, 1, 1, 10, 0, 0, 500000),
        "2020-01-01T10:00:00+05:30": datetime(2020, 1, 1, 10),
    }
    assert applied(spark, "string", list(local), values.local_moment) == list(local.values())
    clocks = ["12:30:00", "12:30:00+08:00", "T12:30", "2020"]
    assert converted(spark, clocks, "time", T.TimestampType(), "UTC") == [None] * len(clocks)


@pytest.mark.parametrize("kind", ["moment", "written_moment"])
@pytest.mark.parametrize("time_zone", ["UTC", "Asia/Seoul"])
def test_a_time_of_a_zone_is_never_shifted_by_the_zone_of_the_source(
    spark: SparkSession, kind: EncodingKind, time_zone: str
) -> None:
    zones = [
        "Z",
        "+09",
        "+9",
        "-9:30",
        "+0530",
        ".5+00",
        ".5 +05:30:15",
        " UTC",
        "UTC+9",
        " Europe/Berlin",
        ".5EST5EDT",
    ]
    texts = [f"2024-01-01 10:00:00{zone}" for zone in zones]
    assert converted(spark, texts, kind, T.TimestampNTZType(), time_zone) == [
        datetime(2024, 1, 1, 10, 0, 0, 500_000 if ".5" in text else 0) for text in texts
    ]
    assert None not in applied(spark, "string", texts, lambda c: values.zoned_moment(c).cast("string"))
    assert converted(spark, texts, kind, T.TimestampType(), time_zone) == applied(
        spark, "string", texts, lambda c: values.zoned_moment(c).cast("timestamp_ntz")
    )
    unknown = [f"2024-01-01 10:00:00{zone}" for zone in (" Foo/Bar", "utc", "+19:00", " BC", "?", "+09[Asia/Seoul]")]
    assert converted(spark, unknown, kind, T.TimestampType(), time_zone) == [None] * len(unknown)
    hour = 10 if time_zone == "UTC" else 1
    local = ["2024-01-01 10:00:00", "2024-01-01T10:00:00.0", "2024-01-01T10:00"]
    assert converted(spark, local, kind, T.TimestampType(), time_zone) == [datetime(2024, 1, 1, hour)] * len(local)
    edge = ["0001-01-01 00:00:00", "0001-01-01", "9999-12-31 23:59:59"]
    first, last = (datetime(1, 1, 1), 23) if time_zone == "UTC" else (None, 14)
    assert converted(spark, edge, kind, T.TimestampType(), time_zone) == [
        first, first, datetime(9999, 12, 31, last, 59, 59)
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["date", "days"])
def test_a_date_that_is_stored_as_an_instant_is_midnight_in_the_zone_of_the_source(
    spark: SparkSession, kind: EncodingKind
) -> None:
    given = ["2024-01-01", "0001-01-01", "9999-12-31"] if kind == "date" else [19_723, -719_162, 2_932_896]
    type_name = "string" if kind == "date" else "int"
    column = ColumnShape("a", T.TimestampType(), ((None, Encoding(kind)),))

    def told(time_zone: str) -> list[Any]:
        around = Circumstances(time_zone, F.lit(None).cast("bigint"), F.lit(False))
        return applied(spark, type_name, given, lambda c: convert(c, column, around).cast("timestamp_ntz"))

    assert told("UTC") == [datetime(2024, 1, 1), datetime(1, 1, 1), datetime(9999, 12, 31)]
    assert told("Asia/Seoul") == [datetime(2023, 12, 31, 15), None, datetime(9999, 12, 30, 15)]
    assert told("America/New_York") == [datetime(2024, 1, 1, 5), datetime(1, 1, 1, 4, 56, 2), datetime(9999, 12, 31, 5)]


def converted(
    spark: SparkSession, texts: list[str], kind: EncodingKind, value_type: T.DataType, time_zone: str
) -> list[Any]:
    column = ColumnShape("a", value_type, ((None, Encoding(kind, 6)),))
    given = Circumstances(time_zone, F.lit(None).cast("bigint"), F.lit(False))
    return applied(spark, "string", texts, lambda c: convert(c, column, given).cast("timestamp_ntz"))


def test_times_of_day_may_be_negative_or_longer_than_a_day(spark: SparkSession) -> None:
    given = [0, 1, -1, 86_399_999_999, 86_400_000_000, 3_020_399_000_000, -3_020_399_000_000, None]
    expected = ["00:00:00.000000", "00:00:00.000001", "-00:00:00.000001", "23:59:59.999999", "24:00:00.000000",
                "838:59:59.000000", "-838:59:59.000000", None]  # fmt: skip
    assert applied(spark, "bigint", given, lambda c: values.time_of_day(c, "micros")) == expected
    assert applied(spark, "bigint", [86_399_999], lambda c: values.time_of_day(c, "millis")) == ["23:59:59.999000"]
    assert applied(spark, "bigint", [1_999], lambda c: values.time_of_day(c, "nanos")) == ["00:00:00.000001"]


def test_a_written_time_of_day_is_stored_like_a_counted_one_and_other_text_as_it_stands(spark: SparkSession) -> None:
    clocks = {
        "18000000000": "05:00:00.000000", "05:00:00": "05:00:00.000000", "5:00": "05:00:00.000000",
        "05:00:00.5": "05:00:00.500000", "-838:59:59": "-838:59:59.000000", "24:00:00.000000": "24:00:00.000000",
    }  # fmt: skip
    others = ["12:00:00Z", "12:00:00.5+02", "12:00 PM", "05:00:00.1234567", "05:60", "05:00:00 BC", "::", " 05:00"]
    words = ["", "noon", "0.5"]
    texts = [*clocks, *others, *words]
    given = Circumstances("UTC", F.lit(None).cast("bigint"), F.lit(False))

    def told(kind: EncodingKind) -> list[Any]:
        column = ColumnShape("a", T.StringType(), ((None, Encoding(kind, 6)),))
        return applied(spark, "string", texts, lambda c: convert(c, column, given))

    assert told("time_either") == [*clocks.values(), *others, *[None] * len(words)]
    assert told("time_text") == [*clocks.values(), *others, *words]
    of_connector = ["05:00:00.000000", *list(clocks)[1:], *others, *[None] * len(words)]
    assert told("time") == of_connector
    said = parse_column_type("time(6)").source_encoding
    rows, debezium = SourceSpec("rows", "x"), SourceSpec("debezium-json", "x")
    assert schemaless_encoding(parse_column_type("time(6)"), rows) == Encoding("time_either", 6)
    assert corrected_encoding(Encoding("text"), said, rows) == Encoding("time_text", 6)
    assert corrected_encoding(Encoding("integer"), said, rows) == Encoding("time_either", 6)
    assert corrected_encoding(Encoding("text"), said, debezium) == Encoding("text")


def test_a_flag_can_be_a_number_however_it_is_written(spark: SparkSession) -> None:
    told = {"true": True, "F": False, "1": True, "2": True, "1.0": True, "0.0": False, "-0": False, "0e9": False,
            "9" * 40: True, " 1. ": True, ".": None, "x": None, "": None}  # fmt: skip
    for function in (values.boolean, lambda text: values.of_text(text, T.BooleanType())):
        assert applied(spark, "string", list(told), function) == list(told.values())


def test_what_would_take_forever_or_overflow_is_no_value(spark: SparkSession) -> None:
    """Each would end the run otherwise: in an error of arithmetic, without memory, or not at all."""
    longest, scales = 2**63 - 1, [2**31 - 1, -(2**31), 40_000, -40_000, 32_767]
    for unit in ("millis", "micros", "nanos"):
        found = applied(spark, "bigint", [longest, -longest], lambda c, u=unit: values.time_of_day(c, u))
        assert (found == [None, None]) == (unit == "millis")
    parts = [json.dumps({"scale": scale, "value": "AQ=="}) for scale in scales]
    written = applied(spark, "string", parts, values.variable_scale_digits)
    assert [text and len(text) for text in written] == [None, None, None, None, 32_769]
    digits = applied(spark, "string", ["7F" * 100_000, "7F" * 2_048], lambda c: values.decimal_digits(c, F.lit(0)))
    assert [text and len(text) for text in digits] == [None, 4_932]
    words = [str(2**64), str(2**64 - 1), "9" * 400, "1" * 19]
    bits = applied(spark, "string", words, lambda c: bits_of_text(c, 64))
    assert bits == [None, "1" * 64, None, f"{int('1' * 19):064b}"]
