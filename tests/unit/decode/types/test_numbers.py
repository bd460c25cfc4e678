"""Whole numbers, floats and flags."""

import math
import struct
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import types as T

from siltstone.engine.decode.row_shape import SINGLE, ColumnShape, Encoding
from siltstone.engine.decode.types.column_reader import INVALID, column_reader
from siltstone.engine.decode.types.numbers import bigint
from tests.unit.decode.types.given import converted, json_values, reader

INT, LONG, DOUBLE, FLOAT, FLAG = T.IntegerType(), T.LongType(), T.DoubleType(), T.FloatType(), T.BooleanType()


def single(number: float) -> float:
    return struct.unpack("<f", struct.pack("<f", number))[0]  # type: ignore[no-any-return]


def test_a_whole_number_has_only_digits() -> None:
    odd = ["", "-", "+", "1.0", "1e3", "1\n2", "é", "\u0661", "1-", "--1", "1_0", "9" * 19, "9" * 500, "9" * 5_000]
    assert [bigint(text) for text in odd] == [None] * len(odd)
    expected = {"+5": 5, "-0": 0, "007": 7, "0" * 40 + "7": 7, " 1": 1, "1 ": 1, "12\r\n": 12, "9" * 18: 10**18 - 1,
            str(2**63 - 1): 2**63 - 1, str(-(2**63)): -(2**63), str(2**63): None}  # fmt: skip
    assert [bigint(text) for text in expected] == list(expected.values())


@pytest.mark.parametrize("kind", ["integer", "written_integer", "text"])
def test_whole_numbers_can_be_numbers_texts_or_fractions(kind: str) -> None:
    cases: dict[Any, Any] = {
        "7": 7, '"7"': 7, '"-7.00"': -7, "10.0": 10, "1e3": 1000, '"1E3"': 1000, "10.5": None, '"x"': None, '""': None,
        "3000000000": None, '"3000000000"': None, "1.5": None, "[]": None, "{}": None, "1e-1": None, "1e99999": None,
        "2147483647": 2147483647, "-2147483648": -2147483648, '" 5 "': 5, '"1_0"': None, '"secret"': None,
    }  # fmt: skip
    assert converted(reader(kind, INT), json_values(list(cases))) == list(cases.values())
    wide = {"9223372036854775807": 2**63 - 1, "9223372036854775808": None, '"-9223372036854775808"': -(2**63)}
    assert converted(reader(kind, LONG), json_values(list(wide))) == list(wide.values())


def test_true_is_one_except_for_numbers_in_text() -> None:
    for kind, one in (("integer", 1), ("text", 1), ("written_integer", None)):
        assert converted(reader(kind, INT), [True, "true", "false"]) == [one, one, one and 0]


def test_a_number_is_never_rounded_by_a_float() -> None:
    long = json_values(["12345678901234567", "1.1", "12345678901234567.25"])
    for kind in ("floating", "integer", "written_floating"):
        assert converted(reader(kind, T.DecimalType(20, 2)), long)[:2] == [Decimal(12345678901234567), Decimal("1.10")]
        assert converted(reader(kind, T.DecimalType(20, 2)), long)[2] == Decimal("12345678901234567.25")
        assert converted(reader(kind, LONG), long) == [12345678901234567, None, None]


@pytest.mark.parametrize("kind", ["floating", "written_floating", "text"])
def test_floats_are_numbers_or_the_words_for_nan_and_infinity(kind: str) -> None:
    cases: dict[str, float | None] = {
        "1.25": 1.25, "1": 1.0, "1e300": 1e300, '"1.5e3"': 1500.0, '"-Infinity"': -math.inf, '"Infinity"': math.inf,
        '"+INF"': math.inf, "1e999": None, '"1e999"': None, '"-3.5e400"': None, "true": None, '"x"': None, "[1]": None,
        '" 1.5 "': 1.5, '"5."': 5.0, '"1_0"': None, '"0x1"': None, "5e-324": 5e-324, "-0.0": -0.0, '""': None,
        "1" + "0" * 400: None,
    }  # fmt: skip
    assert converted(reader(kind, DOUBLE), json_values(list(cases))) == list(cases.values())
    (none,) = converted(reader(kind, DOUBLE), ["NaN"])
    assert math.isnan(none)


def test_control_characters_around_a_float_have_no_meaning() -> None:
    texts = ["\0001.5", "1.5\x01", " \x1c1.5\n"]
    for is_guessed in (True, False):
        assert converted(reader("floating", DOUBLE, is_guessed=is_guessed), texts) == [1.5] * 3
    assert converted(reader("boolean", FLAG, is_guessed=True), ["\0001", "0\x01", "\x1c2"]) == [True, False, None]


def test_a_single_float_keeps_its_precision_in_a_wider_column() -> None:
    values = json_values(["0.1", "3.4028234663852886e38", "1e300", '"-3.5e38"', '"0.1"'])
    stored = [single(0.1), 3.4028234663852886e38, None, None, single(0.1)]
    for kind in ("floating", "written_floating"):
        assert converted(reader(Encoding(kind, SINGLE), DOUBLE), values) == stored  # type: ignore[arg-type]
        assert converted(reader(kind, FLOAT), values) == stored
        assert converted(reader(kind, DOUBLE), values)[0] == 0.1
    assert converted(reader("floating", FLOAT), ["-Infinity"]) == [-math.inf]


FLAGS = {"true": True, "F": False, "1": True, "2": True, "1.0": True, "0.0": False, "-0": False, "0e9": False,
         "9" * 40: True, " 1. ": True, ".": None, "x": None, "": None, "T": True}  # fmt: skip


@pytest.mark.parametrize("kind", ["boolean", "written_boolean", "text"])
def test_a_flag_can_be_a_number_in_any_spelling(kind: str) -> None:
    assert converted(reader(kind, FLAG), list(FLAGS)) == list(FLAGS.values())
    assert converted(reader(kind, FLAG), json_values(["true", "false", "1", "0", "1.0", "0.00", "[1]", "{}"])) == [
        True, False, True, False, True, False, None, None
    ]  # fmt: skip


def test_yes_is_a_flag_only_in_a_column_of_texts() -> None:
    assert converted(reader("text", FLAG), ["yes", " N ", "y"]) == [True, False, True]
    assert converted(reader("boolean", FLAG), ["yes", "N"]) == [None, None]


def test_only_0_and_1_are_flags_if_the_type_is_guessed() -> None:
    guessed = reader("boolean", FLAG, is_guessed=True)
    assert converted(guessed, [True, 1, 0, 2, "1", "0.0", "2.5", "true"]) == [
        True,
        True,
        False,
        None,
        True,
        False,
        None,
        True,
    ]


EXACT = {
    "1.5": 1.5, "-0.30000000000000004": -0.30000000000000004, "9007199254740992": 2.0**53, "1e23": 1e23, "100": 100.0,
    '"1.50"': 1.5, '" 7 "': 7.0, '"-Infinity"': -math.inf, "0.1000000000000000000": 0.1, "5e-324": 5e-324, "-0.0": -0.0,
    "0e5": 0.0, "1" + "0" * 20: 1e20, '"9007199254740.992"': 9007199254740.992,
}  # fmt: skip
ROUNDED = [
    "12345678901234567.89", "9007199254740993", "123456789012345678901234567890", "9007199254740.993", "1e-400",
    "1.2345e-320", "9.007199254740993e15", "1e999", "1" + "0" * 400, "true", "[1]", '"x"',
]  # fmt: skip


def test_a_double_does_not_round_a_number_if_the_type_is_guessed() -> None:
    guessed = reader("floating", DOUBLE, is_guessed=True)
    assert converted(guessed, json_values(list(EXACT))) == list(EXACT.values())
    assert converted(guessed, json_values(ROUNDED)) == [None] * len(ROUNDED)
    as_text = [f'"{text}"' for text in ROUNDED[:9]]
    assert converted(guessed, json_values(as_text)) == [None] * len(as_text)
    (none,) = converted(guessed, ["NaN"])
    assert math.isnan(none)
    assert guessed.loss_reason("9007199254740993") == INVALID


def test_a_declared_double_rounds_a_number() -> None:
    values = json_values(["9007199254740993", '"9007199254740.993"'])
    assert converted(reader("floating", DOUBLE), values) == [2.0**53, 9007199254740.992]


def test_a_double_rounds_a_number_in_events_whose_schema_declares_it() -> None:
    encodings = ((1, Encoding("floating")), (None, Encoding("floating")))
    mixed = ColumnShape("a", DOUBLE, encodings, is_guessed=True)
    stored = {number: column_reader(mixed, number, False, "UTC", False).convert(2**53 + 1) for number in (1, 2, None)}
    assert stored == {1: 2.0**53, 2: None, None: None}


def test_flags_become_numbers_in_a_column_of_numbers() -> None:
    assert converted(reader("boolean", INT), [True, False, 5]) == [1, 0, 5]
    assert converted(reader("integer", FLAG), [1, 0, 5]) == [True, False, True]
