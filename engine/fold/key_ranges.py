"""A part of a table: the keys with given values, or with values in given ranges."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.errors import SpecError

Bounds = tuple[str | None, str | None]
_WITH_YEAR: Final = re.compile(r"\s*[+-]?[0-9]{4}")


@dataclass(frozen=True)
class Part:
    """Values and ranges by key column, as text.

    A value of None is null. A range includes both bounds, and a bound of None leaves that side open.
    """

    values: Mapping[str, str | None] = field(default_factory=dict)
    ranges: Mapping[str, Bounds] = field(default_factory=dict)

    def condition(self, spark: SparkSession, key: T.StructType) -> Callable[[Callable[[str], Column]], Column]:
        """A function that returns the condition on a key, given a function from a key column's name to its column.

        Raises: SpecError: a column is not a key column, or a text is not a value of the column's type.
        """
        requested: list[tuple[str, str, Any]] = []
        for name, text in self.values.items():
            requested.append((name, "eqNullSafe", key_value(spark, key, name, text)))
        for name, (low, high) in self.ranges.items():
            requested += [(name, "__ge__", key_value(spark, key, name, low))] if low is not None else []
            requested += [(name, "__le__", key_value(spark, key, name, high))] if high is not None else []

        def test(column: Callable[[str], Column]) -> Column:
            tests = [getattr(column(name), how)(F.lit(value)) for name, how, value in requested]
            return reduce(lambda one, other: one & other, tests, F.lit(True))

        return test

    def whole_key(self, keys: tuple[str, ...], table: str) -> None:
        """Check that the part is one key.

        Raises: SpecError: a key column has no value.
        """
        missing = [name for name in keys if name not in self.values]
        if missing:
            raise SpecError(
                f"Cannot read one key of {table}: no value is given for {', '.join(missing)}.",
                f"name every key column: {' '.join(f'--key {name}=VALUE' for name in keys)}",
            )


def key_value(spark: SparkSession, key: T.StructType, name: str, text: str | None) -> Any:
    """A key column's value, given as text: base64 for a binary column. None is null.

    Raises: SpecError: there is no such key column, or the text is not a value of its type.
    """
    if name not in key.names:
        near = get_close_matches(name, key.names, 1)
        hint = f"did you mean {near[0]}?" if near else f"the key has: {', '.join(key.names)}"
        raise SpecError(f"Cannot look up {name}: it is no key column.", hint)
    kind = key[name].dataType
    if text is None:
        return F.lit(None).cast(kind)
    value: Any
    if isinstance(kind, T.BinaryType):
        try:
            value = base64.b64decode(text, validate=True)
        except binascii.Error:
            value = None
    elif isinstance(kind, (T.DateType, T.TimestampType, T.TimestampNTZType)) and not _WITH_YEAR.match(text):
        value = None  # Spark reads "10:00" as a time of today, and "yesterday" as a date
    else:
        # Spark decides whether the text is valid. The value stays an expression: Python's types have other bounds.
        typed = F.lit(text).try_cast(kind)
        known = spark.range(1).select(typed.isNotNull().alias("known")).first()
        value = typed if known is not None and known["known"] else None
    if value is None:
        raise SpecError(f"Cannot look up {name}: the value given is not of type {kind.simpleString()}.")
    return value
