"""Converters: a function for one value, and a faster function for a whole column.

A value is a result of `engine.decode.json_value.parse`: int, Number, str, bool, dict or list, never None. The stored
value is a value that `pyarrow.array` accepts for the column's type. None means that the value does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

Convert = Callable[[Any], Any]
ConvertAll = Callable[[list[Any]], list[Any]]


class Converter(NamedTuple):
    """`one` converts a value. `all` converts a column, whose nulls stay None."""

    one: Convert
    all: ConvertAll


def each(one: Convert) -> Converter:
    """A converter that converts the values of a column one by one."""

    def convert_all(values: list[Any]) -> list[Any]:
        return [None if value is None else one(value) for value in values]

    return Converter(one, convert_all)


def chained(first: Converter, second: Converter) -> Converter:
    """A converter that applies the second to the results of the first. None stays None."""

    def one(value: Any) -> Any:
        found = first.one(value)
        return None if found is None else second.one(found)

    return Converter(one, lambda values: second.all(first.all(values)))


def plain_texts(values: list[Any]) -> str | None:
    """All texts of a column, joined. None if there are other values, or texts with `_` or characters outside of ASCII.

    For such texts, Python and this package accept the same numbers, except the words NaN and Infinity.
    """
    try:
        joined = "".join([value for value in values if value is not None])
    except TypeError:
        return None
    return joined if joined.isascii() and "_" not in joined else None


NOTHING: Final = Converter(lambda _: None, lambda values: [None] * len(values))
"""The converter for encodings whose values never fit the stored type."""
