"""Checks of the values under `target` that set the layout and the properties of tables.

Each returns the value as the engine uses it, or raises a violation with a hint.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from siltstone.engine import names as reserved
from siltstone.engine.spec.layouts import LayoutError, SortField, Transform, by_table, parse_sort_field, parse_transform
from siltstone.engine.spec.value_checks import each_once, refuse, text
from siltstone.engine.spec.wording import shown

_ICEBERGS_OWN: Final = "Iceberg sets it itself"
_EACH_RUN: Final = "each run sets it according to the size of the table"
_NO_SHUFFLE: Final = (
    "siltstone does not shuffle before it writes, so that the cost of a batch depends on its changes only"
)
OWN_PROPERTIES: Final = {
    "siltstone.": "it is siltstone's own",
    "format-version": "target.format_version sets it",
    "comment": "the spec's key comment sets it",
    "write.delete.mode": _EACH_RUN,
    "write.update.mode": _EACH_RUN,
    "write.merge.mode": _EACH_RUN,
    **dict.fromkeys([f"write.{of}distribution-mode" for of in ("", "delete.", "update.", "merge.")], _NO_SHUFFLE),
    "write.spark.fanout.enabled": _NO_SHUFFLE,
    **dict.fromkeys(
        ("uuid", "snapshot-count", "current-", "default-partition-spec", "default-sort-order"), _ICEBERGS_OWN
    ),
}
"""Prefixes of properties that a spec must not set, and why."""

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
        refuse(f"history is already partitioned by months({reserved.VALID_TO})", f"leave {shown(str(own[0]))} out.")
    return found


def _one_part_of_a_time(fields: Iterable[Transform]) -> None:
    """Refuse several parts of the same time: Iceberg accepts the finest one only."""
    found: dict[str, Transform] = {}
    for one in fields:
        if one.is_of_time and (other := found.setdefault(one.column, one)) != one:
            refuse(f"has {shown(str(other))} and {shown(str(one))}", "keep the finer one only.")


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
    """The name of a table property that a spec may set."""
    name = text(value)
    why = next((why for begins, why in OWN_PROPERTIES.items() if name.startswith(begins)), None)
    if why is not None:
        refuse(f"{shown(name)} cannot be set: {why}", "leave it out.")
    return name
