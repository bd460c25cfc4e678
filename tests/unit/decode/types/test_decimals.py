"""Decimals: every form of a number keeps all digits."""

import base64
import json
import random
from decimal import Context, Decimal

from pyspark.sql import types as T

from siltstone.engine.decode.row_shape import Encoding
from siltstone.engine.decode.types import decimals
from siltstone.engine.decode.types.decimals import fixed_scale_digits, is_too_long, variable_scale_digits
from tests.unit.decode.types.given import converted, json_values, reader
from tests.unit.decode.types.given import decimals as digits

RANDOM = random.Random(7)
EXACT = Context(prec=200)
STRING = T.StringType()


def as_base64(number: int) -> str:
    """The shortest big-endian two's complement, as of Java's BigInteger."""
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(size, "big", signed=True)).decode()


def whole_numbers() -> list[int]:
    powers = [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**37, -(10**37), 10**38 - 1, 1 - 10**38]
    drawn = [RANDOM.randrange(-(10**size) + 1, 10**size) for size in range(1, 39) for _ in range(4)]
    return [0, 1, -1, 127, 128, -128, -129, 255, 256, *powers, *drawn]


def plain(number: int, scale: int) -> str:
    if scale <= 0:
        return str(number * 10**-scale)
    text = str(abs(number)).rjust(scale + 1, "0")
    return f"{'-' if number < 0 else ''}{text[:-scale]}.{text[-scale:]}"


def test_unscaled_digits_become_their_decimal() -> None:
    numbers = whole_numbers()
    for scale in (0, 2, 10):
        found = reader(Encoding("decimal_base64", scale), T.DecimalType(38, scale))
        made = converted(found, [as_base64(number) for number in numbers])
        assert made == [EXACT.scaleb(Decimal(number), -scale) for number in numbers]
        assert {-number.as_tuple().exponent for number in made} == {scale}


def test_decimals_that_would_lose_digits_do_not_fit() -> None:
    given = [as_base64(number) for number in (99999, 100000, -99999, -100000, 10**38, -(10**60), 9999900)]
    found = converted(reader(Encoding("decimal_base64", 2), T.DecimalType(5, 2)), given)
    assert found == digits("999.99", None, "-999.99", None, None, None, None)
    finer = converted(reader(Encoding("decimal_base64", 3), T.DecimalType(5, 2)), list(map(as_base64, (12340, 12345))))
    assert finer == digits("12.34", None)


def test_digits_of_any_length_and_scale_are_exact() -> None:
    powers = [10**38, -(10**38), 2**127, -(2**127), 10**77 + 1, -(7**300), 3**500, 2**1000, -(2**1024)]
    for number in [*whole_numbers(), *powers]:
        for scale in (0, 3, 40, -2):
            assert fixed_scale_digits(scale)(as_base64(number)) == plain(number, scale)
    assert fixed_scale_digits(0)("") is None


def test_numbers_with_their_own_scale_become_their_digits() -> None:
    cases = {
        '{"scale":2,"value":"MDk="}': "123.45", '{"scale":0,"value":"AA=="}': "0", '{"scale":1}': None, "{}": None,
        '{"scale":-1,"value":"/w=="}': "-10", '"no"': None, '{"scale":"2","value":"MDk="}': None, "5": None,
    }  # fmt: skip
    values = json_values(list(cases))
    assert [variable_scale_digits(value) for value in values] == list(cases.values())
    assert converted(reader("decimal_any", STRING), [*values, *cases]) == [*cases.values()] * 2
    texts = converted(reader("any_text", STRING), [*values[:2], "no", '{"scale":2,"value":"MDk="}', {"scale": 1}])
    assert texts == ["123.45", "0", "no", "123.45", '{"scale":1}']


def test_the_form_of_a_number_shows_its_encoding() -> None:
    values = ["BNI=", {"scale": 1, "value": "Cg=="}, '{"scale":3,"value":"MDk="}', 5]
    assert converted(reader(Encoding("decimal_either", 2), T.DecimalType(12, 2)), values) == digits(
        "12.34", "1.00", None, "5.00"
    )
    assert converted(reader(Encoding("decimal_either", 2), STRING), values[:3]) == ["12.34", "1.0", "12.345"]


def test_decimal_text_keeps_every_digit_or_nothing() -> None:
    cases = {
        "123.45": "123.45", "-0.10": "-0.10", "+7": "7.00", "1.50000": "1.50", "1.23456789E7": "12345678.90",
        "1e2": "100.00", "1.005": None, "12345678901.00": None, "NaN": None, "Infinity": None, "": None, "x": None,
        "1.2.3": None, "0x10": None, "0.1e-5": None, ".50": "0.50", "-.5": "-0.50", "+.05000": "0.05", "5.": "5.00",
        ".5e1": "5.00", " 1": "1.00", "\t1.5 \n": "1.50", ".005": None, ".": None, "-.": None, "1 .5": None, " ": None,
        "12,5": None, "1_000": None, "\u0661": None, "1e99999999999999999999": None, "nan12": None, "sNaN": None,
        "1e-99999": None, "9" * 40: None, "0" * 60 + "12.50": "12.50",
    }  # fmt: skip
    for kind in ("decimal_text", "decimal_number", "written_integer"):
        assert converted(reader(kind, T.DecimalType(12, 2)), list(cases)) == digits(*cases.values())


def test_numbers_of_json_keep_every_digit() -> None:
    values = json_values(
        ["12345678901234567.89", "1e2", "0.10", "7", "-12345678901234567890.1", "0.001", "true", "[1]"]
    )
    assert converted(reader("decimal_number", T.DecimalType(22, 2)), values) == digits(
        "12345678901234567.89", "100.00", "0.10", "7.00", "-12345678901234567890.10", None, None, None
    )
    texts = ["12345678901234567.89", "1e2", "0.10", "7", "-12345678901234567890.1", "0.001", "true", "[1]"]
    assert converted(reader("text", STRING), values) == texts
    long = "123456789012345678901234567890123456789.1"
    assert converted(reader("decimal_text", STRING), json_values([long])) == [long]


def test_a_number_is_not_base64_even_if_its_digits_could_be() -> None:
    price = reader(Encoding("decimal_base64", 2), T.DecimalType(12, 2))
    values = json_values(['"BNI="', "1234", "-1234.5", '"1234"', "1.005", "true", '{"scale":2}', '""', '"x"'])
    assert converted(price, values) == digits("12.34", "1234.00", "-1234.50", "-26588.24", None, None, None, None, None)
    wide = reader(Encoding("decimal_base64", 0), T.DecimalType(38, 0))
    assert converted(wide, [2**63, 2**127]) == [Decimal(2**63), None]


def test_unsigned_numbers_become_the_value_in_the_source() -> None:
    given = [0, 1, 2**63 - 1, -(2**63), -1, -2]
    found = reader("unsigned", T.DecimalType(20, 0))
    assert converted(found, given) == [Decimal(number % 2**64) for number in given]
    values = json_values(
        ["2.5", '"5.50"', "12.0", '"7"', str(2**64 - 1), "-1", "1e3", "1767225600123.5", str(2**64), "true"]
    )
    assert converted(found, values) == [None, None, 12, 7, 2**64 - 1, 2**64 - 1, 1000, None, None, None]
    assert converted(reader("unsigned", T.LongType()), [5, -1]) == [5, None]


def test_numbers_of_more_digits_than_a_decimal_has_are_too_long() -> None:
    long = ["Infinity", "-Infinity", "NaN", "9" * 39, "1e99999", "1" * 37 + ".11", "1e99999999999999999999", "1" * 37]
    assert [is_too_long(text, 2) for text in long] == [True] * len(long)
    assert [is_too_long(text, 2) for text in ("1.005", "9" * 36, "x", "", "0e99", "1" * 36 + ".1", "infinity")] == [
        False
    ] * 7


def test_numbers_that_take_too_long_to_convert_are_not_numbers() -> None:
    scales = [2**31 - 1, -(2**31), 40_000, -40_000, 32_767]
    written = [variable_scale_digits(json.dumps({"scale": scale, "value": "AQ=="})) for scale in scales]
    assert [text and len(text) for text in written] == [None, None, None, None, 32_769]
    sizes = [base64.b64encode(b"\x7f" * size).decode() for size in (100_000, decimals.MOST_BYTES)]
    assert [text and len(text) for text in map(fixed_scale_digits(0), sizes)] == [None, 4_932]
