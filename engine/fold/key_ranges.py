"""A part of a table: the keys with these values, or with values in these ranges."""

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
    """Values and ranges by key column, as text. A value of None is null; both ends of a range belong to it, and None
    leaves it open there."""

    values: Mapping[str, str | None] = field(default_factory=dict)
    ranges: Mapping[str, Bounds] = field(default_factory=dict)

    def condition(self, spark: SparkSession, key: T.StructType) -> Callable[[Callable[[str], Column]], Column]:
        """The test for a key, made for where its columns are found.

        Raises: SpecError: a column is no key column, or a text no value of its type.
        """
        asked: list[tuple[str, str, Any]] = []
        for name, text in self.values.items():
            asked.append((name, "eqNullSafe", key_value(spark, key, name, text)))
        for name, (low, high) in self.ranges.items():
            asked += [(name, "__ge__", key_value(spark, key, name, low))] if low is not None else []
            asked += [(name, "__le__", key_value(spark, key, name, high))] if high is not None else []

        def test(column: Callable[[str], Column]) -> Column:
            tests = [getattr(column(name), how)(F.lit(value)) for name, how, value in asked]
            return reduce(lambda one, other: one & other, tests, F.lit(True))

        return test

    def whole_key(self, keys: tuple[str, ...], table: str) -> None:
        """See that the part is one key.

        Raises: SpecError: a key column has no value.
        """
        missing = [name for name in keys if name not in self.values]
        if missing:
            raise SpecError(
                f"Cannot look at one key of {table}: no value is given for {', '.join(missing)}.",
                f"name every key column: {' '.join(f'--key {name}=VALUE' for name in keys)}",
            )


def key_value(spark: SparkSession, key: T.StructType, name: str, text: str | None) -> Any:
    """A key column's value given as text; binary as base64; None: null.

    Raises: SpecError: there is no such key column, or the text is no value of its type.
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
    elif isinstance(kind, T.DatetimeType) and not _WITH_YEAR.match(text):
        value = None  # to Spark 10:00 is one of today, and yesterday a day
    else:
        # What the type takes is asked of Spark, and stays an expression: Python's values know other bounds.
        typed = F.lit(text).try_cast(kind)
        known = spark.range(1).select(typed.isNotNull().alias("known")).first()
        value = typed if known is not None and known["known"] else None
    if value is None:
        raise SpecError(f"Cannot look up {name}: the value given is not of type {kind.simpleString()}.")
    return value
