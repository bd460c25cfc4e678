"""Why a change cannot be stored. Reasons name columns and types, never values."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, Final

from siltstone.engine.decode.image_columns import Object, Readers
from siltstone.engine.decode.row_details import Fates
from siltstone.engine.decode.row_shape import ColumnShape, TableShape
from siltstone.engine.decode.types.column_reader import UNFIT, ColumnReader

BROKEN: Final = "the row is not a JSON object"
TOO_FINE_HINT: Final = " (of a key no digit may be lost: columns of the spec can declare it as string)"
GUESSED_HINT: Final = " (no type is declared for it, and its first values were of this one: columns can say another)"
WRITTEN_OUT_HINT: Final = " (its digits are written out: source.decimals: string in the spec reads them)"
OTHER_HALF: Final = " (in the other half of the key change)"
_NO_FIELDS: Final[Object] = {}


class RowReasons:
    """What is wrong with the rows of one table. `has_null_keys`: a null in a key column is a value of it."""

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
        fates: Fates,
        readers: Readers,
    ) -> str | None:
        """All that is wrong with a row; None where nothing is.

        `key`: the key that the event carries apart from its row; `lacking`: the key columns without a stored value.
        """
        image, key = image or _NO_FIELDS, key or _NO_FIELDS
        of_keys = [
            problem
            for c in self._key_columns
            if c.name in lacking and not _is_unfit(c, fates)
            if (problem := self._key_problem(c, image, key, readers)) is not None
        ]
        of_values = [self._misfit(c, image[c.name], readers) for c in self._columns if _is_unfit(c, fates)]
        return "; ".join([*of_keys, *of_values]) or None

    def _key_problem(self, column: ColumnShape, image: Object, key: Object, readers: Readers) -> str | None:
        """Why a key column has no stored value; None where a null is one."""
        name = column.name
        value = key.get(name) if image.get(name) is None else image[name]
        if value is not None:
            return f'key column "{name}": {unlike(column, value, readers[name])}'
        if name not in image and name not in key:
            return f'key column "{name}" is missing'
        return None if self._has_null_keys else f'key column "{name}" is null'

    def of_other_half(self, image: Object | None, readers: Readers) -> str | None:
        """What is wrong with the other half of a key change: neither half is stored then, or the row would be gone."""
        problems = "; ".join(self._problems(image or _NO_FIELDS, readers))
        return problems + OTHER_HALF if problems else None

    def _problems(self, image: Object, readers: Readers) -> Iterable[str]:
        for column in self._columns:
            value, reader = image.get(column.name), readers[column.name]
            if value is None:
                if column.name in self._keys:
                    yield f'key column "{column.name}" is null'
            elif reader.convert(value) is None and (column.name in self._keys or reader.fate(value) == UNFIT):
                yield f'column "{column.name}": {unlike(column, value, reader)}'

    def _misfit(self, column: ColumnShape, value: Any, readers: Readers) -> str:
        """That a value is not one of the column's type, and which setting would read it, where one would."""
        reader = readers[column.name]
        problem = f'column "{column.name}": {unlike(column, value, reader)}'
        if column.name in self._keys and reader.is_too_fine(value):
            return problem + TOO_FINE_HINT
        return problem + WRITTEN_OUT_HINT if reader.is_written_out(value) else problem


def unlike(column: ColumnShape, value: Any, reader: ColumnReader) -> str:
    """That a value is not one of the column's type, and of a number what it needs."""
    problem, need = f"the value does not fit {column.value_type.simpleString()}", reader.need(value)
    problem += f" ({need})" if need else ""
    return problem + GUESSED_HINT if column.guessed else problem


def _is_unfit(column: ColumnShape, fates: Fates) -> bool:
    return fates.get(column.name) == UNFIT
