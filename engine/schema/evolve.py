"""Find the type that holds the values of two types. It only decides: it uses no session and no table."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import types as T

MAX_DIGITS = 38
_DIGITS: dict[type[T.DataType], int] = {T.IntegerType: 10, T.LongType: 19}


def widened(one: T.DataType, other: T.DataType) -> T.DataType | None:
    """The narrowest type that holds every value of both, or None if a value would be lost or changed.

    int -> bigint, float -> double, greater decimal precision (Iceberg's promotions); whole numbers to a decimal with
    enough digits; arrays by their elements.
    """
    if one == other:
        return one
    if isinstance(one, T.ArrayType) and isinstance(other, T.ArrayType):
        element = widened(one.elementType, other.elementType)
        return None if element is None else T.ArrayType(element)
    kinds = {type(one), type(other)}
    if kinds == {T.IntegerType, T.LongType}:
        return T.LongType()
    if kinds == {T.FloatType, T.DoubleType}:
        return T.DoubleType()
    return _decimal(one, other)


def widest(kinds: Iterable[T.DataType]) -> T.DataType | None:
    """The narrowest type that holds every value of these types; None if there is none."""
    wide: T.DataType | None = None
    for number, kind in enumerate(kinds):
        wide = kind if number == 0 else None if wide is None else widened(wide, kind)
    return wide


def promotes(stored: T.DataType, wanted: T.DataType) -> bool:
    """Whether a stored column of the first type can become one of the second without rewriting data."""
    if stored == wanted:
        return True
    if isinstance(stored, T.ArrayType) and isinstance(wanted, T.ArrayType):
        return promotes(stored.elementType, wanted.elementType)
    if isinstance(stored, T.DecimalType) and isinstance(wanted, T.DecimalType):
        return stored.scale == wanted.scale and stored.precision <= wanted.precision
    return (type(stored), type(wanted)) in ((T.IntegerType, T.LongType), (T.FloatType, T.DoubleType))


def _decimal(one: T.DataType, other: T.DataType) -> T.DataType | None:
    shapes = [_whole_and_scale(kind) for kind in (one, other)]
    if None in shapes or not any(isinstance(kind, T.DecimalType) for kind in (one, other)):
        return None
    whole = max(shape[0] for shape in shapes if shape)
    scale = max(shape[1] for shape in shapes if shape)
    return T.DecimalType(whole + scale, scale) if whole + scale <= MAX_DIGITS else None


def _whole_and_scale(kind: T.DataType) -> tuple[int, int] | None:
    if isinstance(kind, T.DecimalType):
        return kind.precision - kind.scale, kind.scale
    digits = _DIGITS.get(type(kind))
    return None if digits is None else (digits, 0)
