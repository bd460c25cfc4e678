"""Row images as JSON text: put together from parts, and compared by their keys."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine import names
from engine.decode.values import in_struct
from engine.json_text import from_json
from engine.jvm import CATALOG

Declared = Mapping[str, tuple[str, ...] | None]
"""The tables that specs name, and their key columns (None: the events say them)."""


def declared_keys(table: Column, declared: Declared) -> Column:
    """The key columns of the table as an array; null where no spec names them."""
    keys = F.lit(None).cast("array<string>")
    for name, columns in declared.items():
        if columns:
            keys = F.when(table == name, F.array(*[F.lit(column) for column in columns])).otherwise(keys)
    return keys


def changes_key(keys: Column, under: Column, over: Column) -> Column:
    """Whether `over` has another value in one of the key columns than the JSON object it is laid over."""
    plainly = F.call_function(f"{CATALOG}.changes_key", keys, under, over)
    return F.coalesce(plainly, _changes_key(keys, under, over))


def _changes_key(keys: Column, under: Column, over: Column) -> Column:
    below, above = (from_json(image, "map<string,string>") for image in (under, over))
    named = F.arrays_overlap(keys, F.json_object_keys(over))

    def differs(key: Column) -> Column:
        other = ~F.try_element_at(above, key).eqNullSafe(F.try_element_at(below, key))
        return F.array_contains(F.map_keys(above), key) & other

    return F.coalesce(named & F.exists(keys, differs), F.lit(False))


def in_halves(moves: Column, op: Column) -> Column:
    """The operations that a change becomes: where it gives the row another key, a delete of the old one and an insert
    of the new one."""
    both = F.array(F.lit(names.OP_DELETE), F.lit(names.OP_INSERT))
    return F.when(moves, both).otherwise(F.array(op))


def laid_over(keys: Column, under: Column, over: Column) -> Column:
    """Of two JSON objects `image`, what `overlaid` gives, `changes_key`, and `covers`: whether the one under has every
    field of the other. Null where one of them is null."""
    plainly = F.call_function(f"{CATALOG}.laid_over", keys, under, over)
    return F.coalesce(plainly, F.when(under.isNotNull() & over.isNotNull(), _laid_over(keys, under, over)))


def _laid_over(keys: Column, under: Column, over: Column) -> Column:
    covers = F.size(F.array_except(F.json_object_keys(over), F.json_object_keys(under))) == 0
    parts = {"image": _overlaid(under, over), "changes_key": _changes_key(keys, under, over), "covers": covers}
    return in_struct(parts)


def overlaid(under: Column, over: Column) -> Column:
    """The fields of two JSON objects, `over`'s where both have one; values become strings of the text they had."""
    return F.coalesce(F.call_function(f"{CATALOG}.overlaid", under, over), _overlaid(under, over))


def _overlaid(under: Column, over: Column) -> Column:
    return F.to_json(F.map_concat(*[from_json(image, "map<string,string>") for image in (under, over)]))


def joined(under: Column, over: Column) -> Column:
    """The same where no field is in both; else such a field stands twice, and readers into a type take the second."""
    return F.coalesce(F.call_function(f"{CATALOG}.joined", under, over), _joined(under, over))


def _joined(under: Column, over: Column) -> Column:
    first = F.rtrim(F.substring(under, F.lit(1), F.length(under) - 1))
    both = F.concat(first, F.lit(","), F.substring(over, 2, 2**31 - 1))
    return F.when(_is_empty(over), under).when(_is_empty(under), over).otherwise(both)


def _is_empty(json: Column) -> Column:
    return json.rlike(r"^\{\s*\}$")
