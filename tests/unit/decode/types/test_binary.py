"""Bytes and bits."""

import base64
import random

import pytest
from pyspark.sql import types as T

from siltstone.engine.decode.row_shape import Encoding
from siltstone.engine.decode.types.text import BYTES_MARK
from tests.unit.decode.types.given import converted, json_values, reader

RANDOM = random.Random(7)
BINARY, STRING = T.BinaryType(), T.StringType()


def test_base64_needs_no_padding_and_may_have_blanks() -> None:
    cases = {"YWI=": b"ab", "YWI": b"ab", "": b"", "Y W\nI=": b"ab", "1234": b"\xd7m\xf8", "YQ==": b"a", "Y": None,
             "YWI=YWI=": None, "YW=I": None, "Y===": None, "a_b-": None, "é": None, "YWI==": None}  # fmt: skip
    assert converted(reader("base64", BINARY), list(cases)) == list(cases.values())
    assert converted(reader("base64", BINARY), json_values(["1234", "true", "[]", "1.5"])) == [None] * 4
    assert converted(reader("base64_url", BINARY), ["_-8=", "_-8", "+/8="]) == [b"\xff\xef", b"\xff\xef", b"\xfb\xff"]
    assert converted(reader("base64", STRING), ["YWI=", "?"]) == ["YWI=", "?"]
    assert converted(reader("base64", T.DecimalType(12, 2)), ["YWI="]) == [None]


def test_hexadecimal_digits_are_bytes() -> None:
    cases = {"00ff": b"\x00\xff", "ABC": b"\x0a\xbc", "": b"", "0xFF": b"\xff", "0 0f": None, "gg": None}
    assert converted(reader("hex", BINARY), list(cases)) == list(cases.values())


def test_bytes_written_as_characters_get_their_zeros_back() -> None:
    assert converted(reader(Encoding("written_bytes", 4), BINARY), ["ab", "\x00\xff", "abcde"]) == [
        b"ab\0\0", b"\x00\xff\0\0", b"abcde"
    ]  # fmt: skip
    assert converted(reader("written_bytes", BINARY), ["a\0", "", "\u0100", 12]) == [b"a\0", b"", None, b"12"]


def test_marked_base64_is_bytes_and_other_text_stays_text() -> None:
    data = bytes(range(256))
    marked = BYTES_MARK + base64.b64encode(data).decode()
    assert converted(reader("marked", BINARY), [marked, BYTES_MARK, "text", BYTES_MARK + "?"]) == [
        data,
        b"",
        None,
        None,
    ]
    for kind in ("marked", "unsure"):
        assert converted(reader(kind, STRING), [marked, "text", "\x00", 5]) == [
            base64.b64encode(data).decode(), "text", "\x00", "5"
        ]  # fmt: skip
    assert converted(reader("unsure", T.DecimalType(12, 2)), ["1.50", BYTES_MARK + "MQ=="])[0] == 1.5


@pytest.mark.parametrize("size", [1, 8, 10, 16, 64, 100])
def test_bits_come_highest_first_from_little_endian_bytes(size: int) -> None:
    numbers = [0, 1, 2**size - 1, 2 ** (size - 1), *(RANDOM.randrange(2**size) for _ in range(20))]
    given = [base64.b64encode(n.to_bytes((n.bit_length() + 7) // 8, "little")).decode() for n in numbers]
    assert converted(reader(Encoding("bits", size), STRING), given) == [f"{n:0{size}b}" for n in numbers]


def test_bits_without_a_width_have_as_many_digits_as_needed() -> None:
    found = converted(reader(Encoding("bits", 2**31 - 1), STRING), ["BQ==", "AAE=", "AA==", True, None])
    assert found == ["101", "100000000", "0", "1", None]
    assert converted(reader(Encoding("bits", 1), STRING), [True, "false", None, "AAE=", "x"]) == [
        "1", "0", None, None, None
    ]  # fmt: skip
    assert converted(reader(Encoding("bits", 3), T.IntegerType()), ["BQ=="]) == [5]


def test_bits_written_as_a_number_have_no_sign_and_at_most_64_digits() -> None:
    words = [str(2**64), str(2**64 - 1), "9" * 400, "1" * 19, "-1", "1.0"]
    assert converted(reader(Encoding("written_bits", 64), STRING), words) == [
        None, "1" * 64, None, f"{int('1' * 19):064b}", None, None
    ]  # fmt: skip
    assert converted(reader(Encoding("written_bits", 6), STRING), ["5", 5, "64"]) == ["000101", "000101", None]
    assert converted(reader("written_bits", STRING), ["5", 0]) == ["101", "0"]
    any_bits = reader(Encoding("written_any_bits", 4), STRING)
    assert converted(any_bits, ["0101", "5", True, "16", "101"]) == ["0101", "0101", "0001", None, None]
