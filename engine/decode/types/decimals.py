"""Decimals of up to 38 digits, and exact digits as text, from digits and from big-endian bytes. No digit is lost."""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, DecimalException, Inexact, InvalidOperation, Rounded
from typing import Any, Final

from siltstone.engine.decode import json_value
from siltstone.engine.decode.json_value import Number
from siltstone.engine.decode.types.binary import base64_bytes
from siltstone.engine.decode.types.converter import Convert, Converter, plain_texts

BLANKS: Final = r"[\x00-\x20]*"
"""Blanks around a number have no meaning."""
MOST_DIGITS: Final = 38
MOST_PLACES: Final = 32_767
"""The most digits after a decimal point, or zeros before it. PostgreSQL allows 16,383. More are not a number."""
MOST_BYTES: Final = 2_048
"""The most bytes of an unscaled number: some 4,900 digits. The time to convert digits grows with their square."""
_NUMBER: Final = re.compile(rf"{BLANKS}([+-]?(?=\.?[0-9])[0-9]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?){BLANKS}")
_BEYOND: Final = {"NaN", "Infinity", "+NaN", "+Infinity", "-NaN", "-Infinity"}
_EXACT: Final = Context(prec=MOST_PLACES + 3 * MOST_BYTES, Emax=MAX_EMAX, Emin=MIN_EMIN)
_WORD: Final = 2**64


def exact_number(text: str) -> Decimal | None:
    """The exact number of a text, plain or with a power of ten, with optional blanks around it."""
    match = _NUMBER.fullmatch(text)
    try:
        return Decimal(match[1]) if match else None
    except DecimalException:  # an exponent of some twenty digits
        return None


def _number_text(value: Any) -> str:
    """The digits of a number, with or without quotes. Any other value gives a text that is not a number."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    return value.text if kind is Number else str(value) if kind is int else ""


def _exactly(precision: int, *traps: type[DecimalException]) -> Context:
    """Arithmetic with this precision, which raises an exception if it would lose a digit."""
    return Context(prec=precision, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[InvalidOperation, Inexact, *traps])


def _unit(scale: int) -> Decimal:
    return Decimal((0, (1,), -scale))


def fitting(precision: int, scale: int) -> Callable[[Decimal], Decimal | None]:
    """A function that gives a number at this scale. None if it would lose a digit, or needs more digits."""
    unit, quantize = _unit(scale), _exactly(precision).quantize

    def fit(number: Decimal) -> Decimal | None:
        try:
            return quantize(number, unit)
        except DecimalException:
            return None

    return fit


def decimal(precision: int, scale: int) -> Converter:
    """Decimals from digits, with or without quotes."""
    fit, unit, quantize = fitting(precision, scale), _unit(scale), _exactly(precision).quantize

    def one(value: Any) -> Decimal | None:
        number = Decimal(value) if type(value) is int else exact_number(_number_text(value))
        return None if number is None else fit(number)

    def convert_all(values: list[Any]) -> list[Any]:
        texts = [value if value is None or type(value) is str else _number_text(value) for value in values]
        joined = plain_texts(texts)
        if joined is not None and "n" not in joined and "N" not in joined:
            try:
                return [None if text is None else quantize(Decimal(text), unit) for text in texts]
            except DecimalException:
                pass
        return [None if value is None else one(value) for value in values]

    return Converter(one, convert_all)


def unsigned(value: Any) -> int | None:
    """A value of BIGINT UNSIGNED. From 2^63 on, the source sends its 64 bits as a negative number."""
    number = value if type(value) is int else _whole(_number_text(value))
    if number is None or not -(2**63) <= number < _WORD:
        return None
    return number if number >= 0 else number + _WORD


def _whole(text: str) -> int | None:
    number = exact_number(text)
    if number is None or number.adjusted() > MOST_DIGITS or number != number.to_integral_value():
        return None
    return int(number)


# --- bytes ----------------------------------------------------------------------------------------------------------


def unscaled(text: str) -> int | None:
    """The number from base64 of its big-endian two's complement."""
    data = base64_bytes(text)
    if not data or len(data) > MOST_BYTES:
        return None
    return int.from_bytes(data, "big", signed=True)


def fixed_scale(scale: int, precision: int, stored_scale: int) -> Converter:
    """Decimals from base64 of the unscaled number. A number without quotes is the value itself."""
    fit, bare = fitting(precision, stored_scale), decimal(precision, stored_scale).one
    shift, times, unit = _EXACT.scaleb, _exactly(precision, Rounded).multiply, _unit(scale)

    def number_of(text: str) -> Decimal:
        return Decimal(int.from_bytes(a2b_base64(text, strict_mode=True), "big", signed=True))

    def one(value: Any) -> Decimal | None:
        if type(value) is not str:
            return bare(value)  # type: ignore[no-any-return]
        number = unscaled(value)
        return None if number is None else fit(shift(Decimal(number), -scale))

    def convert_all(values: list[Any]) -> list[Any]:
        if scale == stored_scale and "" not in values:
            try:
                return [None if value is None else times(number_of(value), unit) for value in values]
            except (ValueError, TypeError, DecimalException):
                pass
        return [None if value is None else one(value) for value in values]

    return Converter(one, convert_all)


def written_out(number: int, scale: int) -> str:
    """An unscaled number as digits, with `scale` digits after the point. A negative scale appends zeros."""
    return format(_EXACT.scaleb(Decimal(number), -scale), "f")


def fixed_scale_digits(scale: int) -> Convert:
    """The digits of base64 of the unscaled number, as text."""

    def one(value: Any) -> str | None:
        if type(value) is not str:
            return None
        number = unscaled(value)
        return None if number is None else written_out(number, scale)

    return one


def variable_scale_digits(value: Any) -> str | None:
    """The exact digits of `{"scale":2,"value":"MDk="}`, as an object or as its text."""
    parts = _parsed(value) if type(value) is str else value
    if type(parts) is not dict:
        return None
    scale, text = parts.get("scale"), parts.get("value")
    if type(scale) is not int or type(text) is not str or not -MOST_PLACES <= scale <= MOST_PLACES:
        return None
    number = unscaled(text)
    return None if number is None else written_out(number, scale)


def _parsed(text: str) -> Any:
    try:
        return json_value.parse(text) if text.startswith("{") else None
    except json_value.PARSE_ERRORS:
        return None


def either_digits(scale: int) -> Convert:
    """The digits of a number with a fixed scale, or with its own scale."""
    fixed = fixed_scale_digits(scale)

    def one(value: Any) -> str | None:
        return variable_scale_digits(value) if is_object(value) else fixed(value)

    return one


def is_object(value: Any) -> bool:
    """Whether a value is a JSON object, or the text of one."""
    return type(value) is dict or (type(value) is str and value.startswith("{"))


# --- numbers that no decimal holds ----------------------------------------------------------------------------------


def is_too_long(text: str, scale: int) -> bool:
    """Whether a number needs more digits than the widest decimal of this scale. Infinity and NaN do, too."""
    if text.strip("\0\t\n\r ") in _BEYOND:
        return True
    number = exact_number(text)
    if number is None:
        return _NUMBER.fullmatch(text) is not None
    if fitting(MOST_DIGITS, scale)(number) is not None or not number:
        return False
    before, after = digits_of(number)
    return before > MOST_DIGITS - scale or before + after > MOST_DIGITS


def digits_of(number: Decimal) -> tuple[int, int]:
    """How many digits a number other than 0 has before its point, and after it."""
    digits = number.normalize(_EXACT)
    return max(digits.adjusted() + 1, 0), max(-digits.as_tuple().exponent, 0)  # type: ignore[operator]
