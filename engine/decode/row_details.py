"""What is unusual in a row: which columns it carries where not all, and what of it no column keeps."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

from siltstone.engine import names
from siltstone.engine.decode.image_columns import Object
from siltstone.engine.decode.json_value import plain_text, text_of
from siltstone.engine.decode.row_shape import ColumnShape, TableShape
from siltstone.engine.decode.types.column_reader import UNAVAILABLE, UNKEPT, Fate

Fates = Mapping[str, Fate]
"""Why the value of a column is not stored, by the name of each such column."""


class RowDetails:
    """What rows of one table say beyond their values. `others`: the columns that are not of the key; all, where all are
    of the key; none of a table without a key."""

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

    def is_full(self, image: Object | None) -> bool:
        """Whether an image carries more than keys. That of a table without a key always does."""
        if image is None or not self.others:
            return image is not None
        return any(image.get(name) is not None for name in self.others)

    def present(
        self, op: str, image: Object | None, fates: Fates, is_only_key: bool, is_whole: bool
    ) -> list[str] | None:
        """The columns that a row carries; None where it carries all. Absent is not null, and neither is unavailable.

        `is_only_key`: a delete whose image carries no more than the key: the rest is null or left out. `is_whole`: what
        the image leaves out is null.
        """
        if op == names.OP_TRUNCATE or (image is None and not is_only_key):
            return None
        if image is None or is_only_key:
            carried: Collection[str] = ()
        else:
            carried = self._names if is_whole else self._carried(image)
        found = [name for name in self._names if name in carried or name in self._keys]
        if UNAVAILABLE in fates.values():
            found = [name for name in found if fates.get(name) != UNAVAILABLE]
        return found if len(found) < len(self._names) else None

    def _carried(self, image: Object) -> Collection[str]:
        """The fields of an image that say something."""
        silent = self._shape.silent_nulls
        return {name for name, value in image.items() if value is not None or name not in silent} if silent else image

    def rescued(self, image: Object | None, fates: Fates, fields: Collection[str] = ()) -> str | None:
        """JSON text of what no column keeps: values that no stored type holds, and fields that are no columns.

        `fields`: as the event calls them, where it can have old names of columns: what is rescued keeps these.
        """
        if image is None:
            return None
        called = {self._columns_by_name[name]: name for name in fields if name in self._columns_by_name}
        called = {name: old for name, old in called.items() if name not in fields}
        unkept = [name for name, fate in fates.items() if fate == UNKEPT]
        kept = {called.get(name, name): self._kept_text(name, image[name]) for name in unkept}
        if not self._shape.closed and not image.keys() <= self._columns:
            kept |= self._other_fields(image)
        return text_of(kept).decode() if kept else None

    def _other_fields(self, image: Object) -> dict[str, str | None]:
        """The fields that are no columns. Whoever writes `ssn` for the source's SSN does not want it in clear, so masks
        apply whatever the case of a name's letters."""
        others = (name for name in image if name not in self._columns and name.casefold() not in self._dropped)
        return {name: self._kept_text(name, image[name]) for name in others}

    def _kept_text(self, name: str, value: Any) -> str | None:
        column, text = self._masks.get(name.casefold()), None if value is None else plain_text(value)
        return text if column is None else masked_text(text, column)


def masked_text(text: str | None, column: ColumnShape) -> str | None:
    """A text that the column does not keep, masked as the column is."""
    if text is None or column.mask is None:
        return text
    if column.mask == "sha256":
        return hashlib.sha256((column.salt + text).encode()).hexdigest()
    return names.REDACTED
