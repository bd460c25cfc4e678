"""Details of unusual rows: the columns of partial rows, and the values that no column stores."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any, Final

from siltstone.engine import names
from siltstone.engine.decode.bounded_cache import keep
from siltstone.engine.decode.image_columns import Object
from siltstone.engine.decode.json_value import plain_text, text_of
from siltstone.engine.decode.row_shape import ColumnShape, TableShape
from siltstone.engine.decode.types.column_reader import UNAVAILABLE, UNREPRESENTABLE, LossReason

_MOST_KNOWN: Final = 500
LossReasons = Mapping[str, LossReason]
"""The reasons why values are not stored, by the names of their columns."""


class RowDetails:
    """Details of the rows of one table. `others`: the columns outside of the key; the key columns if there are no
    others; empty for a table without a key."""

    def __init__(self, shape: TableShape) -> None:
        self._shape = shape
        self._names = tuple(column.name for column in shape.columns)
        self._columns = frozenset(self._names)
        self._keys = frozenset(shape.keys)
        others = tuple(name for name in self._names if name not in self._keys) or shape.keys
        self.others = others if shape.keys else ()
        self._dropped = frozenset(name.casefold() for name in shape.dropped)
        masked = [column for column in shape.columns if column.mask is not None]
        self._masks = {name.casefold(): column for column in masked for name in (column.name, *column.spellings)}
        self._columns_by_name = shape.other_spellings
        self._known: dict[tuple[str, ...], list[str]] = {}  # most images have one of a few sets of fields

    def is_full(self, image: Object | None) -> bool:
        """Whether an image has more than keys. This is always true in a table without a key."""
        if image is None or not self.others:
            return image is not None
        return any(image.get(name) is not None for name in self.others)

    def present(
        self, op: str, image: Object | None, losses: LossReasons, is_only_key: bool, is_whole: bool
    ) -> list[str] | None:
        """The columns that a row has. None if it has all. Absent and unavailable values are not null.

        `is_only_key`: a delete whose image has only the key; all other columns are null or omitted. `is_whole`: omitted
        columns are null.
        """
        if op == names.OP_TRUNCATE or (image is None and not is_only_key):
            return None
        if image is None or is_only_key:
            present: tuple[str, ...] = ()
        else:
            present = self._names if is_whole else self._present_fields(image)
        found = self._columns_in(present)
        if UNAVAILABLE in losses.values():
            found = [name for name in found if losses.get(name) != UNAVAILABLE]
        return found if len(found) < len(self._names) else None

    def _present_fields(self, image: Object) -> tuple[str, ...]:
        """The fields of an image, without nulls in columns of `silent_nulls`."""
        silent = self._shape.silent_nulls
        if not silent:
            return tuple(image)
        return tuple(name for name, value in image.items() if value is not None or name not in silent)

    def _columns_in(self, present: tuple[str, ...]) -> list[str]:
        """The columns among these fields, and the keys, in the order of the columns."""
        if present not in self._known:
            wanted = self._keys.union(present)
            return keep(self._known, present, [name for name in self._names if name in wanted], _MOST_KNOWN)
        return self._known[present]

    def rescued(self, image: Object | None, losses: LossReasons, fields: Collection[str] = ()) -> str | None:
        """JSON text of the values that no column stores: unrepresentable values, and fields that are not columns.

        `fields`: the original field names, where the event can have old names of columns. Rescued values keep them.
        """
        others = {} if image is None or self._shape.is_closed else self._other_fields(image)
        if image is None or not (losses or others):
            return None
        original_names = {self._columns_by_name[name]: name for name in fields if name in self._columns_by_name}
        original_names = {name: old for name, old in original_names.items() if name not in fields}
        unstored = [name for name, reason in losses.items() if reason == UNREPRESENTABLE]
        rescued = {original_names.get(name, name): self._rescued_text(name, image[name]) for name in unstored} | others
        return text_of(rescued).decode() if rescued else None

    def _other_fields(self, image: Object) -> dict[str, str | None]:
        """The fields that are not columns. Masks apply in any case of a name's letters: a mask of `ssn` also masks the
        source's SSN."""
        if image.keys() <= self._columns:
            return {}
        others = (name for name in image if name not in self._columns and name.casefold() not in self._dropped)
        return {name: self._rescued_text(name, image[name]) for name in others}

    def _rescued_text(self, name: str, value: Any) -> str | None:
        column, text = self._masks.get(name.casefold()), None if value is None else plain_text(value)
        return text if column is None else masked_text(text, column)


def masked_text(text: str | None, column: ColumnShape) -> str | None:
    """A text that the column does not store, masked like the column."""
    if text is None or column.mask is None:
        return text
    if column.mask == "sha256":
        return hashlib.sha256((column.salt + text).encode()).hexdigest()
    return names.REDACTED
