"""A spec's conditions over the columns of a row, on values that are text."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine.decode.numbers import plain_number
from engine.decode.position import number_segment
from engine.decode.values import flag
from engine.spec.predicates import All, Compare, IsNull, Literal, Not, OneOf, Predicate

TIME: Final = r"^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:.*)?$"
_SIGNS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class Looked:
    """A row that a condition looks at: a struct of `texts`. `is_time`: whether a column, by its name, is known to be
    one of dates or times; `time`: a text as a time of that column, in a form that orders; null where it is none."""

    texts: Column
    is_time: Callable[[str], Column]
    time: Callable[[str, Column], Column]


def holds(predicate: Predicate, row: Looked) -> Column:
    """Whether the condition holds for a row. What SQL calls unknown does not hold."""
    return F.coalesce(_condition(predicate, row), F.lit(False))


def _condition(predicate: Predicate, row: Looked) -> Column:
    if isinstance(predicate, Not):
        return ~_condition(predicate.part, row)
    if isinstance(predicate, IsNull):
        return row.texts[predicate.column].isNull()
    if isinstance(predicate, Compare):
        return _compared(row, predicate.column, predicate.sign, predicate.value)
    if isinstance(predicate, OneOf):
        parts = [_compared(row, predicate.column, "=", value) for value in predicate.values]
        return reduce(operator.or_, parts)
    parts = [_condition(part, row) for part in predicate.parts]
    return reduce(operator.and_ if isinstance(predicate, All) else operator.or_, parts)


def _compared(row: Looked, name: str, sign: str, value: Literal) -> Column:
    """As the literal is: numbers and flags by their value, true being 1 and 0 false, texts as texts; but a time as a
    time where the column is known to be of times, for each kind of file writes them in its own way."""
    compare, text = _SIGNS[sign], row.texts[name]
    found: Column
    if isinstance(value, bool):
        found = compare(flag(text), F.lit(value))
    elif isinstance(value, Decimal):
        # No decimal of Spark's holds every number that a text can be, and doubles make different ones equal.
        number = F.coalesce(plain_number(text), F.when(text == "true", "1").when(text == "false", "0"))
        found = compare(number_segment(number), number_segment(F.lit(f"{value:f}")))
    else:
        found = compare(text, F.lit(value))
        if re.match(TIME, value):
            as_times = compare(row.time(name, text), row.time(name, F.lit(value)))
            found = F.when(row.is_time(name), as_times).otherwise(found)
    return found
