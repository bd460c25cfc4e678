"""The layout of a table's files: Iceberg's partition transforms and sort order, as a spec writes them.

id                identity
bucket(16, id)    one of 16 buckets by a hash
truncate(4, name) the first 4 characters, or a number rounded down
month(created_at) also year, day, hour, and their plurals
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from siltstone.engine.spec.wording import nearest, shown

IDENTITY: Final = "identity"
_NUMBERED: Final = ("bucket", "truncate")
_OF_TIMES: Final = ("year", "month", "day", "hour")
_PLURALS: Final = {f"{name}s": name for name in _OF_TIMES}
TRANSFORMS: Final = (*_NUMBERED, *_OF_TIMES)
_MOST: Final = 2**31 - 1
_CALL: Final = re.compile(r"(\w+)\s*\(\s*(?:(\d+)\s*,\s*)?(.*?)\s*\)", re.DOTALL)
_CUT: Final = re.compile(r"\w+\s*\(\s*\d+")
_SORTED: Final = re.compile(r"(.*?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?", re.IGNORECASE | re.DOTALL)


class LayoutError(ValueError):
    """A text that is not a transform: what is wrong, and what to write instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Transform:
    """One partition field: a transform of a column. `number`: the number of buckets or of characters."""

    column: str
    name: str = IDENTITY
    number: int | None = None

    @property
    def iceberg(self) -> str:
        """The transform as Iceberg's metadata writes it."""
        return self.name if self.number is None else f"{self.name}[{self.number}]"

    @property
    def is_of_time(self) -> bool:
        """Whether it is a part of a time. A table can have only one such field per column."""
        return self.name in _OF_TIMES

    def __str__(self) -> str:
        if self.name == IDENTITY:
            return self.column
        return f"{self.name}({self.column})" if self.number is None else f"{self.name}({self.number}, {self.column})"


@dataclass(frozen=True, slots=True)
class SortField:
    """One column of a sort order."""

    column: str
    descending: bool = False
    nulls_first: bool = True

    def __str__(self) -> str:
        nulls = "first" if self.nulls_first else "last"
        return f"{self.column} {'desc' if self.descending else 'asc'} nulls {nulls}"


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The layout of one table's files. An empty layout is siltstone's default."""

    partition: tuple[Transform, ...] = ()
    sort: tuple[SortField, ...] = ()


def parse_transform(text: str) -> Transform:
    """Parse a partition field.

    Raises: LayoutError.
    """
    if _CUT.fullmatch(text.strip()):
        raise LayoutError(
            f"{shown(text)} is incomplete", 'put it in quotes, "bucket(16, id)": a comma ends it in [...].'
        )
    call = _CALL.fullmatch(text.strip())
    if call is None:
        if "(" in text or ")" in text:
            raise LayoutError(
                f"{shown(text)} is not a transform", 'write it like month(created_at), or "bucket(16, id)".'
            )
        return Transform(text.strip())
    return _called(text, call[1].lower(), None if call[2] is None else int(call[2]), call[3].strip("`"))


def _called(text: str, word: str, number: int | None, column: str) -> Transform:
    name = _PLURALS.get(word, word)
    if name not in TRANSFORMS:
        near = nearest(name, TRANSFORMS)
        raise LayoutError(
            f"{shown(text)}: the transform {shown(name)} is not known",
            f"did you mean '{near}'?" if near else f"the transforms are {', '.join(TRANSFORMS)}.",
        )
    if not column:
        raise LayoutError(f"{shown(text)} names no column")
    if (name in _NUMBERED) != (number is not None) or (number is not None and not 0 < number <= _MOST):
        how = f'write it like "{name}(16, id)".' if name in _NUMBERED else f"write it like {name}(created_at)."
        raise LayoutError(f"{shown(text)} is not a transform", how)
    return Transform(column, name, number)


def parse_sort_field(text: str) -> SortField:
    """Parse a column of a sort order. By default nulls come first in ascending order, and last in descending order.

    Raises: LayoutError.
    """
    found = _SORTED.fullmatch(text.strip())
    column = "" if found is None else found[1].strip()
    if found is None or not column or "(" in column:
        raise LayoutError(f"{shown(text)} is not a column to sort by", "write it like created_at, or created_at desc.")
    descending = (found[2] or "").lower() == "desc"
    nulls_first = found[3].lower() == "first" if found[3] else not descending
    return SortField(column.strip("`"), descending, nulls_first)


def by_table(value: Any) -> tuple[list[Any], list[Any]]:
    """The lists for `latest` and for `history`, from one list for both or one list each.

    Raises: LayoutError.
    """
    if isinstance(value, dict):
        if not value or value.keys() - {"latest", "history"}:
            raise LayoutError("must name latest, history or both", "write it like {latest: [...], history: [...]}.")
        return _listed(value.get("latest", [])), _listed(value.get("history", []))
    return _listed(value), _listed(value)


def _listed(value: Any) -> list[Any]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not all(isinstance(one, str) and one.strip() for one in listed):
        raise LayoutError(f"must be a list, not {shown(value)}", "write it like [month(created_at)].")
    return list(listed)
