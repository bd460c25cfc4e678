"""Steps from the frame of a source's events to the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine.decode.columns_seen import Seen, merged
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.formats.debezium_oracle import LOWER_COMMIT
from siltstone.engine.decode.row_shape import TableShape
from siltstone.engine.decode.spark import decoded_rows
from siltstone.engine.formats import format_of
from siltstone.engine.spec.model import TableSpec
from siltstone.engine.steps import key_change_pairs
from siltstone.engine.steps.key_changes import changes_declared_key
from siltstone.engine.steps.stored_values import with_stored_values


def some(conditions: Iterable[Column]) -> Column:
    """True if one of the conditions holds."""
    return reduce(or_, conditions, F.lit(False))


def is_shown_by_scn() -> Column:
    """The source of a record whose commit SCN shows that SCNs alone order it. Null for every other record.

    Needs: reason, source.
    """
    return F.when(F.col("reason").startswith(LOWER_COMMIT), F.col("source"))


def changes_key(name: str, declared: Declared) -> Column:
    """True for a record that changes a row's key, alone or together with another record.

    Needs: the frame of events. `declared`: the tables that specs name, and their keys.
    """
    form = format_of(name)
    if form.pairs_key_changes:
        return key_change_pairs.is_first()
    return changes_declared_key(declared) if form.splits_declared_keys else F.lit(False)


def columns_of(events: DataFrame) -> dict[str, Seen]:
    """The columns that the changes of each table have.

    Needs: the frame of events, computed.
    """
    rows = events.where(F.col("columns_json").isNotNull()).select("columns_json").collect()
    return {table: seen.seen() for table, seen in merged(row["columns_json"] for row in rows).items()}


def decode_rows(
    events: DataFrame, shape: TableShape, spec: TableSpec, has_key_changes: bool = True, splits_keys: bool = False
) -> DataFrame:
    """The changes of one table, decoded, in their stored form.

    Needs: events of one table, kind change. `has_key_changes`: false if it is known that no record changes a key
        (`changes_key`); `splits_keys`: an update that changes a key which only the spec names becomes two changes.
    Gives: the columns of `change_fields`, then reason: why a change cannot be stored; null if it can.
    Rows: 1:1; 1:2 for an update that is split.
    """
    has_pairs = has_key_changes and format_of(spec.source.format).pairs_key_changes
    paired = key_change_pairs.with_pairs(events) if has_pairs else events
    return decoded_rows(paired, shape, spec, splits_keys).transform(with_stored_values, shape)


__all__ = [
    "changes_key",
    "columns_of",
    "decode_rows",
    "is_shown_by_scn",
    "some",
]
