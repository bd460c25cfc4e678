"""Checks of the values under `target` that say how tables lie in their files: the value as the engine uses it, or a
violation with a way out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from siltstone.engine import names as reserved
from siltstone.engine.spec.layouts import LayoutError, SortField, Transform, by_table, parse_sort_field, parse_transform
from siltstone.engine.spec.value_checks import each_once, refuse, text
from siltstone.engine.spec.wording import shown

_ICEBERGS_OWN: Final = "Iceberg keeps it itself"
_EACH_RUN: Final = "each run sets it by the size of the table"
_NO_SHUFFLE: Final = "siltstone shuffles nothing before it writes, so that a batch costs what it changes"
OWN_PROPERTIES: Final = {
    "siltstone.": "it is siltstone's own",
    "format-version": "target.format_version says it",
    "comment": "the spec's own key comment says it",
    "write.delete.mode": _EACH_RUN,
    "write.update.mode": _EACH_RUN,
    "write.merge.mode": _EACH_RUN,
    **dict.fromkeys([f"write.{of}distribution-mode" for of in ("", "delete.", "update.", "merge.")], _NO_SHUFFLE),
    "write.spark.fanout.enabled": _NO_SHUFFLE,
    **dict.fromkeys(
        ("uuid", "snapshot-count", "current-", "default-partition-spec", "default-sort-order"), _ICEBERGS_OWN
    ),
}
"""How the names of properties begin that no spec sets, and why."""

Partitions = tuple[tuple[Transform, ...], tuple[Transform, ...]]
SortOrders = tuple[tuple[SortField, ...], tuple[SortField, ...]]


def partition(value: object) -> Partitions:
    """The partition fields of latest and of history."""
    try:
        latest, history = by_table(value)
        found = tuple(map(parse_transform, latest)), tuple(map(parse_transform, history))
    except LayoutError as error:
        refuse(error.message, error.hint)
    for fields in found:
        each_once([str(one) for one in fields])
        _one_part_of_a_time(fields)
    own = [one for one in found[1] if one.column == reserved.VALID_TO]
    if own:
        refuse(f"history is partitioned by months({reserved.VALID_TO}) already", f"leave {shown(str(own[0]))} out.")
    return found


def _one_part_of_a_time(fields: Iterable[Transform]) -> None:
    """Refuses several parts of one time: Iceberg takes the finest one alone."""
    found: dict[str, Transform] = {}
    for one in fields:
        if one.is_of_time and (other := found.setdefault(one.column, one)) != one:
            refuse(f"has {shown(str(other))} and {shown(str(one))}", "one of them is enough: the finer one.")


def sort(value: object) -> SortOrders:
    """The sort orders of latest and of history."""
    try:
        latest, history = by_table(value)
        found = tuple(map(parse_sort_field, latest)), tuple(map(parse_sort_field, history))
    except LayoutError as error:
        refuse(error.message, error.hint)
    for fields in found:
        each_once([one.column for one in fields])
    return found


def table_property(value: object) -> str:
    """The name of a property of a table that a spec may set."""
    name = text(value)
    why = next((why for begins, why in OWN_PROPERTIES.items() if name.startswith(begins)), None)
    if why is not None:
        refuse(f"{shown(name)} cannot be set: {why}", "leave it out.")
    return name
