"""Conditions of a spec over the columns of a row (`delete_when` and similar settings). The values are text.

A condition is compiled once, to a function of a row that returns True, False or None (SQL's unknown).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from typing import Any, Final

from siltstone.engine.decode.formats.row_values import TIME, number_segment, plain_number, unix_nanos
from siltstone.engine.decode.types.numbers import flag
from siltstone.engine.spec.predicates import All, Compare, IsNull, Literal, Not, OneOf, Predicate

_SIGNS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_FLAGS: Final = {"true": "1", "false": "0"}


Texts = Mapping[str, str | None]
"""The columns of a row as text; None if a column is null or absent."""
Condition = Callable[[Texts, Collection[str]], bool | None]
"""A function of a row, and of the columns that its file declares as times."""


@dataclass(frozen=True, slots=True)
class ColumnTimes:
    """How the times in columns are read: `zone`: of times without one; `digits` of a second and `kinds` of columns by
    the types that the spec declares."""

    zone: tzinfo | None
    digits: Mapping[str, int]
    kinds: Mapping[str, str]

    def nanos(self, column: str, text: str) -> int | None:
        """Nanoseconds since 1970 of a text, read as a time of the column."""
        return unix_nanos(text, self.zone, self.digits.get(column))


def condition(predicate: Predicate, times: ColumnTimes) -> Condition:
    """The function of a condition."""
    if isinstance(predicate, Not):
        return _negated(condition(predicate.part, times))
    if isinstance(predicate, IsNull):
        column = predicate.column
        return lambda texts, _: texts[column] is None
    if isinstance(predicate, Compare):
        return _compared(predicate.column, predicate.sign, predicate.value, times)
    if isinstance(predicate, OneOf):
        return _joined([_compared(predicate.column, "=", value, times) for value in predicate.values], ends_at=True)
    parts = [condition(part, times) for part in predicate.parts]
    return _joined(parts, ends_at=not isinstance(predicate, All))


def _negated(part: Condition) -> Condition:
    def holds(texts: Texts, times: Collection[str]) -> bool | None:
        found = part(texts, times)
        return None if found is None else not found

    return holds


def _joined(parts: Sequence[Condition], ends_at: bool) -> Condition:
    """OR (`ends_at` is True) or AND (False): one part with this value decides the whole."""

    def holds(texts: Texts, times: Collection[str]) -> bool | None:
        is_known = True
        for part in parts:
            found = part(texts, times)
            if found is ends_at:
                return ends_at
            is_known = is_known and found is not None
        return not ends_at if is_known else None

    return holds


# --- comparisons, by the type of the literal ------------------------------------------------------------------------


def _compared(column: str, sign: str, value: Literal, times: ColumnTimes) -> Condition:
    """A comparison. Numbers and flags are compared by value: true is 1 and false is 0. Texts are compared as texts.

    In a column with times, a literal that is a time is compared as a time, because each type of file writes times in
    its own way.
    """
    compare = _SIGNS[sign]
    if isinstance(value, bool):
        return _by_value(column, flag, compare, value)
    if isinstance(value, Decimal):
        return _by_value(column, _number_place, compare, number_segment(f"{value:f}"))
    as_text = _by_value(column, str, compare, value)
    if not TIME.match(value):
        return as_text
    as_time = _by_value(column, lambda text: times.nanos(column, text), compare, times.nanos(column, value))
    if column in times.kinds:
        return as_time if times.kinds[column] == "time" else as_text
    return lambda texts, in_file: as_time(texts, in_file) if column in in_file else as_text(texts, in_file)


def _by_value(column: str, read: Callable[[str], Any], compare: Callable[[Any, Any], bool], value: Any) -> Condition:
    """`read`: converts a text to a value that can be compared with `value`; None if it cannot."""

    def holds(texts: Texts, _: Collection[str]) -> bool | None:
        text = texts[column]
        found = None if text is None else read(text)
        return None if found is None or value is None else compare(found, value)

    return holds


def _number_place(text: str) -> str | None:
    """The segment that orders a number, with all its digits; None if the text is not a number."""
    number = plain_number(_FLAGS.get(text, text))
    return None if number is None else number_segment(number)
