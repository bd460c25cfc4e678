"""Does a column's default fit its type?"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from engine.spec.columns import ColumnType
from engine.spec.model import ColumnDefault
from engine.spec.wording import shown


def default_problem(value: ColumnDefault, column: ColumnType) -> str | None:
    """What is wrong with the default, or None."""
    if value is None:
        return None
    kind = column.source_encoding.kind
    if kind in ("array", "map", "struct", "binary"):
        return f"a column of type {column.spark_type} takes no default"
    if kind == "boolean":
        fits = isinstance(value, bool)
    elif kind == "integer":
        fits = isinstance(value, int) and not isinstance(value, bool)
    elif kind in ("floating", "decimal", "unsigned"):
        fits = _is_number(value)
    else:
        fits = isinstance(value, str)
    return None if fits else f"the default {shown(value)} does not fit the type {column.spark_type}"


def _is_number(value: ColumnDefault) -> bool:
    if isinstance(value, bool):
        return False
    try:
        return Decimal(str(value)).is_finite()
    except InvalidOperation:
        return False
