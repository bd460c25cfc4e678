"""Why a change cannot be stored. Reasons name columns and types, never values."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, Final

from siltstone.engine.decode.image_columns import Object, Readers
from siltstone.engine.decode.row_details import LossReasons
from siltstone.engine.decode.row_shape import ColumnShape, TableShape
from siltstone.engine.decode.types.column_reader import INVALID, ColumnReader

BROKEN: Final = "the row is not a JSON object"
TOO_FINE_HINT: Final = " (a key must keep all digits: declare it as string under columns in the spec)"
GUESSED_HINT: Final = " (the type is inferred from the first values: declare another type under columns in the spec)"
WRITTEN_OUT_HINT: Final = " (its digits are text: set source.decimals: string in the spec)"
OTHER_HALF: Final = " (in the other half of the key change)"
_NO_FIELDS: Final[Object] = {}


class RowReasons:
    """The reject reasons of the rows of one table. `has_null_keys`: null is a value of a key column."""

    def __init__(self, shape: TableShape, has_null_keys: bool = False) -> None:
        self._has_null_keys = has_null_keys
        self._columns = shape.columns
        self._keys = frozenset(shape.keys)
        self._key_columns = shape.key_columns if shape.keys else ()

    def of_row(
        self,
        image: Object | None,
        key: Object | None,
        lacking: Container[str],
        losses: LossReasons,
        readers: Readers,
    ) -> str | None:
        """All reject reasons of a row. None if the row is valid.

        `key`: the separate key of the event. `lacking`: the key columns without a stored value.
        """
        image, key = image or _NO_FIELDS, key or _NO_FIELDS
        of_keys = [
            problem
            for c in self._key_columns
            if c.name in lacking and not _is_invalid(c, losses)
            if (problem := self._key_problem(c, image, key, readers)) is not None
        ]
        of_values = [self._value_problem(c, image[c.name], readers) for c in self._columns if _is_invalid(c, losses)]
        return "; ".join([*of_keys, *of_values]) or None

    def _key_problem(self, column: ColumnShape, image: Object, key: Object, readers: Readers) -> str | None:
        """Why a key column has no stored value. None if null is a value of it."""
        name = column.name
        value = key.get(name) if image.get(name) is None else image[name]
        if value is not None:
            return f'key column "{name}": {type_problem(column, value, readers[name])}'
        if name not in image and name not in key:
            return f'key column "{name}" is missing'
        return None if self._has_null_keys else f'key column "{name}" is null'

    def of_other_half(self, image: Object | None, readers: Readers) -> str | None:
        """The reject reason from the other half of a key change. Neither half is stored then, so that no row is
        lost."""
        problems = "; ".join(self._problems(image or _NO_FIELDS, readers))
        return problems + OTHER_HALF if problems else None

    def _problems(self, image: Object, readers: Readers) -> Iterable[str]:
        for column in self._columns:
            value, reader = image.get(column.name), readers[column.name]
            if value is None:
                if column.name in self._keys:
                    yield f'key column "{column.name}" is null'
            elif reader.convert(value) is None and (column.name in self._keys or reader.loss_reason(value) == INVALID):
                yield f'column "{column.name}": {type_problem(column, value, reader)}'

    def _value_problem(self, column: ColumnShape, value: Any, readers: Readers) -> str:
        """The reason for a value that does not fit the column's type, with the setting that would read it, if any."""
        reader = readers[column.name]
        problem = f'column "{column.name}": {type_problem(column, value, reader)}'
        if column.name in self._keys and reader.is_too_fine(value):
            return problem + TOO_FINE_HINT
        return problem + WRITTEN_OUT_HINT if reader.is_written_out(value) else problem


def type_problem(column: ColumnShape, value: Any, reader: ColumnReader) -> str:
    """The reason for a value that does not fit the column's type, with the type that a number needs."""
    problem, need = f"the value does not fit {column.value_type.simpleString()}", reader.need(value)
    problem += f" ({need})" if need else ""
    return problem + GUESSED_HINT if column.is_guessed else problem


def _is_invalid(column: ColumnShape, losses: LossReasons) -> bool:
    return losses.get(column.name) == INVALID
