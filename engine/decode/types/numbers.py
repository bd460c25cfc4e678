"""Whole numbers, floats and flags, from JSON numbers and from texts. Whole numbers never go through a float."""

from __future__ import annotations

import re
import struct
from array import array
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from pyspark.sql import types as T

from siltstone.engine.decode.json_value import Number, plain_text
from siltstone.engine.decode.types.converter import Converter, plain_texts
from siltstone.engine.decode.types.decimals import BLANKS, exact_number

INT: Final = (-(2**31), 2**31 - 1)
LONG: Final = (-(2**63), 2**63 - 1)
_WHOLE: Final = re.compile(rf"{BLANKS}([+-]?[0-9]{{1,100}}){BLANKS}")
_WHOLE_FRACTION: Final = re.compile(rf"{BLANKS}([+-]?[0-9]{{1,100}})\.0+")
"""In a column of whole numbers with nulls, pandas writes 10 as 10.0."""
_MOST_DIGITS: Final = 20  # of 64 bits
_WORDS: Final = {"true": 1, "false": 0}
_FLOAT: Final = re.compile(rf"{BLANKS}([+-]?(?=\.?[0-9])[0-9]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?){BLANKS}")
EXACT_DIGITS: Final = 15  # a double keeps every number of so many digits, if it has no exponent
_ENDLESS: Final = float("inf")
_FLOAT_WORDS: Final = {
    sign + word: float(sign + word) for sign in ("", "+", "-") for word in ("inf", "infinity")
} | {"nan": float("nan")}  # fmt: skip
_TRUE, _FALSE = frozenset({"true", "t"}), frozenset({"false", "f"})
_USUAL_FLAGS: Final = {"true": True, "false": False, "1": True, "0": False}
_YES, _NO = _TRUE | {"y", "yes", "1"}, _FALSE | {"n", "no", "0"}
_single = struct.Struct("<f")


# --- whole numbers --------------------------------------------------------------------------------------------------


def bigint(text: str) -> int | None:
    """Digits, with an optional sign and blanks around them, as a 64-bit number."""
    match = _WHOLE.fullmatch(text)
    return _bounded(int(match[1])) if match else None


def long_of(value: Any) -> int | None:
    """A 64-bit whole number, or its digits as in `bigint`."""
    return _bounded(value) if type(value) is int else bigint(plain_text(value))


def whole_number(text: str) -> int | None:
    """A 64-bit whole number, also written as a fraction (10.0) or with a power of ten (1e3)."""
    match = _WHOLE.fullmatch(text) or _WHOLE_FRACTION.fullmatch(text)
    if match:
        return _bounded(int(match[1]))
    number = exact_number(text) if "e" in text or "E" in text else None
    if number is None or number.adjusted() >= _MOST_DIGITS or number != number.to_integral_value():
        return None
    return _bounded(int(number))


def _bounded(number: int) -> int | None:
    return number if LONG[0] <= number <= LONG[1] else None


def count_of(value: Any) -> int | None:
    """A number that counts days or fractions of a second. true and false are not counts."""
    return value if type(value) is int and LONG[0] <= value <= LONG[1] else whole_number(plain_text(value))


def whole(low: int, high: int, has_flags: bool) -> Converter:
    """Whole numbers between two bounds. `has_flags`: true is 1 and false is 0."""
    words = _WORDS if has_flags else {}

    def loose(value: Any) -> int | None:
        text = plain_text(value)
        number = words[text] if text in words else whole_number(text)
        return number if number is not None and low <= number <= high else None

    def one(value: Any) -> int | None:
        if type(value) is int:
            return value if low <= value <= high else None
        return loose(value)

    def convert_all(values: list[Any]) -> list[Any]:
        found = _all_integers(values)
        if found is not None:
            return [number if number is None or low <= number <= high else None for number in found]
        return [
            value if value is None or (type(value) is int and low <= value <= high) else one(value) for value in values
        ]

    return Converter(one, convert_all)


def _all_integers(values: list[Any]) -> list[int | None] | None:
    """The whole numbers of a column of texts. None if it has other values."""
    if type(next((value for value in values if value is not None), None)) is not str or plain_texts(values) is None:
        return None
    try:
        return [None if value is None else int(value) for value in values]
    except ValueError:
        return None


# --- floats ---------------------------------------------------------------------------------------------------------


def floating(is_single: bool) -> Converter:
    """Floats. A single float becomes the double of the same value. None for a value that is not a number, and for a
    number that is too large."""

    def one(value: Any) -> float | None:
        number = _float(value)
        return _as_single(number) if is_single and number is not None else number

    def convert_all(values: list[Any]) -> list[Any]:
        found = _all_floats(values, is_single)
        return [None if value is None else one(value) for value in values] if found is None else found

    return Converter(one, convert_all)


def _all_floats(values: list[Any], is_single: bool) -> list[float | None] | None:
    """The floats of a column of numbers or texts. None if it may have other values, or one is too large."""
    texts = [value.text if type(value) is Number else value for value in values]
    joined = plain_texts(texts)
    if joined is None or "n" in joined or "N" in joined:
        return None
    try:
        doubles = [None if text is None else float(text) for text in texts]
    except ValueError:
        return None
    if is_single:
        singles = array("f", [0.0 if number is None else number for number in doubles]).tolist()
        doubles = [old and new for old, new in zip(doubles, singles, strict=True)]
    return None if _ENDLESS in doubles or -_ENDLESS in doubles else doubles


def _float(value: Any) -> float | None:
    if type(value) is Number:
        return _finite(float(value.text))
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return None
    return float_of_text(value) if type(value) is str else None


def float_of_text(text: str) -> float | None:
    """The float of digits, NaN, or infinity in one of its spellings."""
    if match := _FLOAT.fullmatch(text):
        return _finite(float(match[1]))
    return _FLOAT_WORDS.get(text.strip().lower())


def _finite(number: float) -> float | None:
    return number if -_ENDLESS < number < _ENDLESS else None


def _as_single(number: float) -> float | None:
    try:
        return _single.unpack(_single.pack(number))[0]  # type: ignore[no-any-return]
    except OverflowError:
        return None


# --- doubles that keep all digits ------------------------------------------------------------------------------------


def is_exact_double(text: str) -> bool:
    """Whether a double keeps all digits of a JSON number: the fewest digits that identify it are the same number."""
    return _is_exact(text, float(text))


def _is_exact(text: str, number: float) -> bool:
    digits = repr(number)
    return digits == text or exact_number(text) == Decimal(digits)


def _keeps_digits(text: str, number: float) -> bool:
    is_short = len(text) <= EXACT_DIGITS and "e" not in text and "E" not in text
    return is_short or _is_exact(text, number)


def guessed_double(value: Any) -> float | None:
    """A double in a column whose type is inferred from its first values. Only numbers that keep all digits fit."""
    number = _float(value)
    is_kept = number is None or not isfinite(number) or _keeps_digits(plain_text(value), number)
    return number if is_kept else None


def _all_guessed_doubles(values: list[Any]) -> list[float | None]:
    found = _all_floats(values, is_single=False)
    if found is None:
        return [None if value is None else guessed_double(value) for value in values]
    return [
        number if number is None or _keeps_digits(plain_text(value), number) else None
        for value, number in zip(values, found, strict=True)
    ]


GUESSED_DOUBLE: Final = Converter(guessed_double, _all_guessed_doubles)


# --- flags ----------------------------------------------------------------------------------------------------------


def boolean(value: Any) -> bool | None:
    """The flag of true, false, t, f, or a number: 0 is false. yes and no are not flags."""
    if type(value) is bool:
        return value
    text = plain_text(value)
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else is_not_zero(text)


def flag(value: Any) -> bool | None:
    """The same, also for yes, no, y and n, with optional blanks around them."""
    if type(value) is bool:
        return value
    text = plain_text(value)
    word = text.strip().lower()
    return True if word in _YES else False if word in _NO else is_not_zero(text)


def is_not_zero(text: str) -> bool | None:
    """Whether a number is not 0, in any spelling: pandas writes flags with nulls as 1.0. None if it is not a number."""
    match = _FLOAT.fullmatch(text)
    return bool(match[1].lower().partition("e")[0].strip("+-.0")) if match else None


def guessed_boolean(value: Any) -> bool | None:
    """A flag in a column whose type is inferred from its first values. Only the numbers 0 and 1 are flags."""
    text = plain_text(value)
    if (match := _FLOAT.fullmatch(text)) and float(match[1]) not in (0.0, 1.0):
        return None
    return boolean(value)


def _all_booleans(values: list[Any]) -> list[Any]:
    return [
        value
        if value is None or type(value) is bool
        else _USUAL_FLAGS[value]
        if type(value) is str and value in _USUAL_FLAGS
        else boolean(value)
        for value in values
    ]


BOOLEAN: Final = Converter(boolean, _all_booleans)


def is_number(kind: T.DataType) -> bool:
    """Whether a stored type has numbers or flags."""
    return isinstance(kind, T.NumericType | T.BooleanType)
