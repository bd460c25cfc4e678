"""Row images as JSON text: put together from parts, and compared by their keys."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine import names
from engine.jvm import CATALOG

LAID_OVER: Final = f"{CATALOG}.laid_over"
JOINED: Final = f"{CATALOG}.joined"
Declared = Mapping[str, tuple[str, ...] | None]
"""The tables that specs name, and their key columns (None: the events say them)."""


def declared_keys(table: Column, declared: Declared) -> Column:
    """The key columns of the table as an array; null where no spec names them."""
    named = {name: columns for name, columns in declared.items() if columns}
    if not named:
        return F.lit(None).cast("array<string>")
    # A map, for the code of a choice would grow with the tables.
    pairs = [(F.lit(name), F.array(*[F.lit(column) for column in columns])) for name, columns in named.items()]
    return F.try_element_at(F.create_map(*itertools.chain(*pairs)), table)


def in_halves(moves: Column, op: Column) -> Column:
    """The operations that a change becomes: where it gives the row another key, a delete of the old one and an insert
    of the new one."""
    both = F.array(F.lit(names.OP_DELETE), F.lit(names.OP_INSERT))
    return F.when(moves, both).otherwise(F.array(op))


def laid_over(keys: Column, under: Column, over: Column) -> Column:
    """Of two JSON objects `image`, the fields of both in one, `over`'s where both have one, their values strings of the
    text they had; `changes_key`, whether `over` has another value in one of the key columns; and `covers`, whether the
    one under has every field of the other. Null where one of them is null."""
    return F.call_function(LAID_OVER, keys, under, over)


def joined(under: Column, over: Column) -> Column:
    """The fields of two JSON objects, as they stand; a field that is in both stands twice, and readers into a type take
    the second."""
    return F.call_function(JOINED, under, over)
