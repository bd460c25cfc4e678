"""A spec's conditions over the columns of a row, on values that are text."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine.spec.predicates import All, Compare, IsNull, Literal, Not, OneOf, Predicate

NUMBER: Final = "decimal(38,10)"
_SIGNS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def holds(predicate: Predicate, row: Column) -> Column:
    """Whether the condition holds for a struct of texts. What SQL calls unknown does not hold."""
    return F.coalesce(_condition(predicate, row), F.lit(False))


def _condition(predicate: Predicate, row: Column) -> Column:
    if isinstance(predicate, Not):
        return ~_condition(predicate.part, row)
    if isinstance(predicate, IsNull):
        return row[predicate.column].isNull()
    if isinstance(predicate, Compare):
        return _compared(row[predicate.column], predicate.sign, predicate.value)
    if isinstance(predicate, OneOf):
        parts = [_compared(row[predicate.column], "=", value) for value in predicate.values]
        return reduce(operator.or_, parts)
    parts = [_condition(part, row) for part in predicate.parts]
    return reduce(operator.and_ if isinstance(predicate, All) else operator.or_, parts)


def _compared(text: Column, sign: str, value: Literal) -> Column:
    """As the literal is: texts with texts, numbers by their value, flags as true or false, 1 or 0."""
    compare = _SIGNS[sign]
    found: Column
    if isinstance(value, bool):
        found = compare(text.try_cast("boolean"), F.lit(value))
    elif isinstance(value, Decimal):
        found = compare(text.try_cast(NUMBER), F.lit(str(value)).cast(NUMBER))
    else:
        found = compare(text, F.lit(value))
    return found
