"""Steps from the frame of a source's events to the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial, reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.formats.debezium_positions import LOWER_COMMIT
from siltstone.engine.decode.row_shape import TableShape
from siltstone.engine.decode.spark import columns_seen, decoded_rows
from siltstone.engine.decode.table_shape import shape_of
from siltstone.engine.formats import format_of
from siltstone.engine.inputs.task_errors import task_errors
from siltstone.engine.spec.model import TableSpec
from siltstone.engine.steps import key_change_pairs
from siltstone.engine.steps.key_changes import changes_declared_key
from siltstone.engine.steps.stored_values import with_stored_values


def some(conditions: Iterable[Column]) -> Column:
    """True if one of the conditions holds."""
    return reduce(or_, conditions, F.lit(False))


def has_own_types() -> Column:
    """True for a change that declares types of its columns, and does not only show them by its values."""
    image = F.coalesce(F.col("after_json"), F.col("before_json"))
    return F.col("schema_hash").isNotNull() | F.coalesce(image.contains('"scale"'), F.lit(False))


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


def discover(
    events: DataFrame, spec: TableSpec, known: T.StructType | None = None, has_types: bool = True
) -> TableShape:
    """The shape of one table's rows, discovered from its changes.

    Needs: events of one table, kind change. `known`: the columns stored so far. `has_types`: false if it is known that
        no event declares types; then a spec that declares everything needed is enough, and the changes are not read.
    Raises: SchemaEvolutionError: the policy does not allow what the events bring. SpecError: a key is not a column.
    """
    declared = frozenset(spec.columns or ())
    with task_errors():
        return shape_of(spec, known, partial(columns_seen, events, declared), has_types)


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
    "decode_rows",
    "discover",
    "has_own_types",
    "is_shown_by_scn",
    "some",
]
