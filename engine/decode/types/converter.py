"""What a converter is: a function for one value, and a faster one for a whole column.

A value is JSON as `engine.decode.json_value.parse` gives it: int, Number, str, bool, dict or list, never None. The
stored value is what `pyarrow.array` takes for the column's type; None says that the value does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

Convert = Callable[[Any], Any]
ConvertAll = Callable[[list[Any]], list[Any]]


class Converter(NamedTuple):
    """`one` converts a value; `all` a column, whose nulls stay None."""

    one: Convert
    all: ConvertAll


def each(one: Convert) -> Converter:
    """A converter that takes the values of a column one by one."""

    def convert_all(values: list[Any]) -> list[Any]:
        return [None if value is None else one(value) for value in values]

    return Converter(one, convert_all)


def chained(first: Converter, second: Converter) -> Converter:
    """What the second makes of what the first gives; None stays None."""

    def one(value: Any) -> Any:
        found = first.one(value)
        return None if found is None else second.one(found)

    return Converter(one, lambda values: second.all(first.all(values)))


def plain_texts(values: list[Any]) -> str | None:
    """All texts of a column one after the other, where there are no other values, and no `_` and only ASCII in them.

    What Python reads as a number is then what a number is here, but for the words NaN and Infinity.
    """
    try:
        joined = "".join([value for value in values if value is not None])
    except TypeError:
        return None
    return joined if joined.isascii() and "_" not in joined else None


NOTHING: Final = Converter(lambda _: None, lambda values: [None] * len(values))
"""The converter where no value of the encoding is ever one of the stored type."""
