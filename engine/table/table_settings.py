"""The settings of a table in its spec: partition fields, sort order, properties, comments.

A property of the table remembers the settings that were applied last. Only differences from these are applied. So a
setting of another program stays, unless the spec sets it too.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.iceberg import layout_of, null_order, plain, transformed
from siltstone.engine.spec.layouts import IDENTITY, SortField, TableLayout, Transform
from siltstone.engine.table.catalog import TABLE_SETTINGS, load, put_properties
from siltstone.engine.table.commit import one_boundary

NO_SETTINGS = "{}"


@dataclass(frozen=True)
class Settings:
    """The settings of a spec.

    `own`: the partition fields that siltstone adds before those of the spec. `own_properties`: the properties that
    come back if the spec no longer overrides them. `comments`: by column.
    """

    own: tuple[Transform, ...] = ()
    own_properties: Mapping[str, str] = field(default_factory=dict)
    layout: TableLayout = field(default_factory=TableLayout)
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    comments: Mapping[str, str] = field(default_factory=dict)

    @property
    def partition(self) -> tuple[Transform, ...]:
        """All partition fields."""
        return tuple(dict.fromkeys((*self.own, *self.layout.partition)))

    def recorded(self) -> dict[str, Any]:
        """The settings as the table property records them; empty if the spec has none."""
        found = {
            "partition": [str(one) for one in self.layout.partition],
            "sort": [str(one) for one in self.layout.sort],
            "properties": dict(self.properties),
            "comment": self.comment,
            "comments": dict(self.comments),
        }
        return {name: value for name, value in found.items() if value}


@dataclass(frozen=True)
class Differences:
    """The changes to apply to a table. `properties`, `comments`: None removes one. `remembered`: the new settings."""

    remembered: Mapping[str, Any]
    added: tuple[Transform, ...] = ()
    removed: tuple[str, ...] = ()
    sort: tuple[SortField, ...] | None = None
    properties: Mapping[str, str | None] = field(default_factory=dict)
    comments: Mapping[str, str | None] = field(default_factory=dict)

    def in_words(self) -> Iterator[str]:
        """One text per change."""
        yield from (f"partition by {one}, too" for one in self.added)
        yield from (f"no longer partition by {one}" for one in self.removed)
        if self.sort is not None:
            yield f"sort by {', '.join(map(str, self.sort)) or 'nothing'}"
        for name, value in self.properties.items():
            yield f"remove property {name}" if value is None else f"set property {name} to {value}"
        for name, value in self.comments.items():
            yield f"remove the comment on {name}" if value is None else f"comment on {name}"


def differences(spark: SparkSession, catalog: str, name: str, wanted: Settings) -> Differences | None:
    """The changes to a table that its spec requires; None if the settings are those that were applied last."""
    java = load(spark, catalog, name)
    present = plain(spark, java.properties())
    before = json.loads(present.get(names.PROPERTY_SETTINGS, NO_SETTINGS))
    now = wanted.recorded()
    if before == now:
        return None
    partition, order, columns = layout_of(spark, java)
    known = [column["name"] for column in columns.values()]
    # A comment on a column that does not exist yet waits for the column.
    now["comments"] = {column: text for column, text in wanted.comments.items() if column in known}
    now = {part: value for part, value in now.items() if value}
    if before == now:
        return None
    added: tuple[Transform, ...] = ()
    removed: tuple[str, ...] = ()
    sort = None
    if before.get("partition") != now.get("partition"):
        added, removed = partition_changes(partition, columns, wanted.partition)
    if before.get("sort") != now.get("sort"):
        sort = None if sort_of(order, columns) == wanted.layout.sort else wanted.layout.sort
    properties = changed(before.get("properties", {}), wanted.properties, present)
    properties |= changed(as_property(before.get("comment")), as_property(wanted.comment), present)
    docs = {column["name"]: column["doc"] for column in columns.values() if "doc" in column}
    comments = changed(before.get("comments", {}), now.get("comments", {}), docs)
    own = TABLE_SETTINGS | dict(wanted.own_properties)
    defaults = {key: own.get(key) if value is None else value for key, value in properties.items()}
    return Differences(now, added, removed, sort, defaults, comments)


def as_property(comment: str | None) -> dict[str, str]:
    """The comment on a table as a table property."""
    return {} if comment is None else {names.PROPERTY_COMMENT: comment}


def changed(before: Mapping[str, str], wanted: Mapping[str, str], present: Mapping[str, str]) -> dict[str, str | None]:
    """The values to set, and those to remove (None): an earlier version of the spec had set them."""
    gone = {name: None for name in before if name not in wanted and name in present}
    return gone | {name: value for name, value in wanted.items() if present.get(name) != value}


def partition_changes(
    partition: Sequence[Mapping[str, Any]], columns: Mapping[int, Mapping[str, Any]], wanted: Iterable[Transform]
) -> tuple[tuple[Transform, ...], tuple[str, ...]]:
    """The partition fields to add, and the names of those to remove."""
    there = {(columns[one["source-id"]]["name"], one["transform"]): one["name"] for one in partition}
    kept = {(one.column, one.iceberg): one for one in wanted}
    added = tuple(one for place, one in kept.items() if place not in there)
    return added, tuple(name for place, name in there.items() if place not in kept)


def sort_of(order: Sequence[Mapping[str, Any]], columns: Mapping[int, Mapping[str, Any]]) -> tuple[SortField, ...]:
    """The present sort order."""
    return tuple(
        SortField(columns[one["source-id"]]["name"], one["direction"] == "desc", one["null-order"] == "nulls-first")
        for one in order
        if one["transform"] == IDENTITY
    )


def apply_settings(spark: SparkSession, catalog: str, name: str, wanted: Settings) -> None:
    """Apply the settings of a spec to a table in one commit. Existing files keep their layout until compaction."""
    found = differences(spark, catalog, name, wanted)
    if found is None:
        return
    both = load(spark, catalog, name).newTransaction()
    if found.added or found.removed:
        spec = both.updateSpec()
        for gone in found.removed:
            spec.removeField(gone)
        for one in found.added:
            spec.addField(transformed(spark, one.column, one.name, one.number))
        spec.commit()
    if found.sort is not None:
        order = both.replaceSortOrder()
        for by in found.sort:
            add = order.desc if by.descending else order.asc
            add(transformed(spark, by.column, IDENTITY, None), null_order(spark, first=by.nulls_first))
        order.commit()
    if found.comments:
        schema = both.updateSchema()
        for column, text in found.comments.items():
            schema.updateColumnDoc(column, text)
        schema.commit()
    remembered = json.dumps(found.remembered, sort_keys=True) if found.remembered else None
    put_properties(both, {**found.properties, names.PROPERTY_SETTINGS: remembered})
    with one_boundary(name):
        both.commitTransaction()
