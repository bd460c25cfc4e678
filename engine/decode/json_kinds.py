"""The kinds of JSON values in fields without a schema, and the stored type that holds all values of some kinds.

values                  kinds                       type
1, null                 BIGINT, VOID                bigint
1, 1.5                  BIGINT, DECIMAL(2,1)        double: all digits fit
9007199254740993, 1.5   LONG, DECIMAL(2,1)          decimal(38,1): a double would lose digits
9007199254740.993       DECIMAL(18,3)               decimal(38,3): the same
1, "a"                  BIGINT, STRING              string
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

from pyspark.sql import types as T

from siltstone.engine.decode.connect import MAX_DIGITS, Typed
from siltstone.engine.decode.json_value import Number
from siltstone.engine.decode.row_shape import Encoding
from siltstone.engine.decode.types.numbers import EXACT_DIGITS, is_exact_double

VOID: Final = "VOID"
WHOLE: Final = "BIGINT"
LONG: Final = "LONG"
"""Whole numbers that fit a bigint but lose digits in a double."""
DOUBLE: Final = "DOUBLE"
UNBOUNDED: Final = "UNBOUNDED"
"""Numbers with more digits, or greater values, than any numeric type allows."""
_KINDS: Final[dict[type, str]] = {
    type(None): VOID, bool: "BOOLEAN", str: "STRING", dict: "OBJECT", list: "ARRAY",
}  # fmt: skip
_EXACT_IN_DOUBLES: Final = 2**53
_LONGEST: Final = 2**63
_LONG_DIGITS: Final = 18
_DOUBLE_DIGITS: Final = 17  # the most digits of a printed double; a number with more digits is a decimal


def kind_of(value: Any) -> str:
    """The kind of a JSON value from `json_value.parse`."""
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind
    return _kind_of_number(value.text) if isinstance(value, Number) else _kind_of_whole(value)


def _kind_of_whole(value: int) -> str:
    if -_EXACT_IN_DOUBLES <= value <= _EXACT_IN_DOUBLES:
        return WHOLE
    return LONG if -_LONGEST <= value < _LONGEST else _decimal(len(str(abs(value))), 0)


def _kind_of_number(text: str) -> str:
    digits, exponent, _ = text.lower().lstrip("-").partition("e")
    whole, _, fraction = digits.partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    count = len(whole) + len(fraction)
    if exponent:
        return DOUBLE if count <= _DOUBLE_DIGITS and is_exact_double(text) else UNBOUNDED
    if EXACT_DIGITS < count <= _DOUBLE_DIGITS and not is_exact_double(text):
        count = _DOUBLE_DIGITS + 1  # a decimal, as all numbers with so many digits
    return _decimal(count, len(fraction))


def _decimal(digits: int, scale: int) -> str:
    return f"DECIMAL({max(digits, 1)},{scale})" if digits <= MAX_DIGITS else UNBOUNDED


def type_of_kinds(kinds: Collection[str]) -> Typed:
    """The stored type for values of these kinds. It keeps all digits. Objects, arrays and mixtures become text."""
    found = set(kinds) - {VOID}
    if found == {"BOOLEAN"}:
        return T.BooleanType(), Encoding("boolean")
    if found and found <= {WHOLE, LONG}:
        return T.LongType(), Encoding("integer")
    if LONG in found:
        found = found - {LONG} | {_decimal(_LONG_DIGITS + 1, 0)}
    decimals = [(int(digits), int(scale)) for kind in found for digits, scale in re.findall(r"\((\d+),(\d+)\)", kind)]
    if not found or len(decimals) != len(found - {WHOLE, DOUBLE}):
        return T.StringType(), Encoding("text")
    return _type_of_numbers(decimals, WHOLE in found, DOUBLE in found)


def _type_of_numbers(decimals: Collection[tuple[int, int]], has_whole: bool, has_double: bool) -> Typed:
    if not has_double and all(scale == 0 and digits > _LONG_DIGITS for digits, scale in decimals):
        return T.DecimalType(MAX_DIGITS, 0), Encoding("decimal_text")
    if all(digits <= _DOUBLE_DIGITS for digits, _ in decimals):
        return T.DoubleType(), Encoding("floating")
    places = max(scale for _, scale in decimals)
    whole = max(_LONG_DIGITS if has_whole else 0, *[digits - scale for digits, scale in decimals], 0)
    if has_double or whole + places > MAX_DIGITS:
        return T.StringType(), Encoding("text")
    return T.DecimalType(MAX_DIGITS, places), Encoding("decimal_number")
