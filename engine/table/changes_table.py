"""The table `<table>_changes`: all changes as they arrived, append only."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.errors import SchemaEvolutionError
from siltstone.engine.schema.change_row import change_schema, key_schema
from siltstone.engine.schema.comments import comment_on
from siltstone.engine.schema.evolve import promotes, widened
from siltstone.engine.spec.renamed_names import NewNames, renamed
from siltstone.engine.table.catalog import (
    add_columns,
    create,
    exists,
    identifier,
    load,
    properties_of,
    read,
    set_properties,
    widen_column,
)
from siltstone.engine.table.column_renames import type_with_new_names, with_new_names

NO_RENAMES: Final[Mapping[str, str]] = MappingProxyType({})


def known_row(spark: SparkSession, catalog: str, name: str, by_old: NewNames = NO_RENAMES) -> T.StructType | None:
    """The columns of the table's rows; None if it does not exist or has no data yet. `by_old`: see `known_columns`."""
    return known_columns(spark, catalog, name, by_old)[1] if has_begun(spark, catalog, name) else None


def has_begun(spark: SparkSession, catalog: str, name: str) -> bool:
    """Whether the table has ever had data.

    A rejected first batch leaves the table without a snapshot, and an interrupted removal leaves it empty.
    """
    if not exists(spark, catalog, name):
        return False
    newest = load(spark, catalog, name).currentSnapshot()
    return newest is not None and names.SUMMARY_EMPTIED not in newest.summary()


def known_keys(spark: SparkSession, catalog: str, name: str, by_old: NewNames = NO_RENAMES) -> tuple[str, ...]:
    """The key columns of an existing table. `by_old`: see `known_columns`."""
    return known_columns(spark, catalog, name, by_old)[0]


def known_columns(
    spark: SparkSession, catalog: str, name: str, by_old: NewNames = NO_RENAMES
) -> tuple[tuple[str, ...], T.StructType]:
    """The key columns of an existing table, and all its columns. `by_old`: the new names of renamed columns."""
    schema = spark.table(identifier(catalog, name)).schema
    key, row = schema["key"].dataType, schema["row"].dataType
    assert isinstance(key, T.StructType)
    assert isinstance(row, T.StructType)
    return tuple(renamed(name, by_old) for name in key.names), type_with_new_names(row, by_old)


def ensure_changes(
    spark: SparkSession,
    catalog: str,
    name: str,
    keys: Sequence[str],
    row: T.StructType,
    batch: int,
    version: int,
    firsts: Mapping[str, str] = NO_RENAMES,
) -> None:
    """Create the table, or add and widen columns so that `row` fits.

    A table without data is dropped and recreated, because the spec or the events can have been fixed since.

    A table property records the batch of an added column: changes of earlier batches did not carry it. `firsts`: the
    first names of renamed columns, by their present names.
    """
    remembered = {names.PROPERTY_FIRST_NAMES: json.dumps(dict(firsts), sort_keys=True)} if firsts else {}
    known = known_row(spark, catalog, name)
    if known is None:
        spark.sql(f"DROP TABLE IF EXISTS {identifier(catalog, name)}")
        schema = change_schema(key_schema(keys, row), row)
        properties = {"format-version": str(version)} | comment_on("changes") | remembered
        create(spark, catalog, name, schema, properties=properties)
        return
    added, wider = column_changes(known, row)
    refuse_rewrites(name, known, wider)
    dates = {names.SINCE_PREFIX + field.name: str(batch) for field in added}
    set_properties(spark, catalog, name, dates | remembered if added else {})
    # Struct by struct: a run that died in between has changed some of them only.
    schema = spark.table(identifier(catalog, name)).schema
    for struct in ("row", "before", "key", "old_key", "new_key"):
        has = schema[struct].dataType
        assert isinstance(has, T.StructType)
        added, wider = column_changes(has, row)
        if struct in ("row", "before"):
            add_columns(spark, catalog, name, (struct,), added)
        for field in wider:
            widen_column(spark, catalog, name, (struct, field.name), field.dataType)


def refuse_rewrites(name: str, known: T.StructType, wanted: Sequence[T.StructField]) -> None:
    """Check that every column can be promoted to the type that the spec or the events require.

    Raises: SchemaEvolutionError: one cannot; nothing was changed.
    """
    for field in wanted:
        kept, to = known[field.name].dataType, field.dataType
        if not promotes(kept, to):
            raise SchemaEvolutionError(
                f"Cannot append to {name}: column {field.name} is {kept.simpleString()} and cannot become"
                f" {to.simpleString()} without rewriting the table.",
                _way_out(field.name, kept, to),
            )


def _way_out(column: str, kept: T.DataType, to: T.DataType) -> str:
    reread = "run `siltstone rebuild --reread`, which re-reads the inputs"
    both = widened(kept, to)
    if both is not None and both not in (kept, to):
        return f"declare {column} as {both.simpleString()} under columns, which holds both, and {reread}"
    return f"declare {column} as {kept.simpleString()} under columns; or declare the other type and {reread}"


def column_changes(known: T.StructType, wanted: T.StructType) -> tuple[list[T.StructField], list[T.StructField]]:
    """The columns to add, and the columns to widen."""
    types = {field.name: field.dataType for field in known}
    added = [field for field in wanted if field.name not in types]
    wider = [field for field in wanted if field.name in types and types[field.name] != field.dataType]
    return added, wider


def read_changes(spark: SparkSession, catalog: str, name: str, by_old: NewNames = NO_RENAMES) -> DataFrame:
    """All changes on main, with the present names of columns. `present` leaves out columns that were added later.

    `by_old`: the present names of renamed columns, by their old names.

    Gives: the change schema.
    Rows: 1:1 with the table.
    """
    changes = with_new_names(read(spark, catalog, name), by_old)
    return report_added(changes, column_dates(spark, catalog, name, by_old))


def report_added(changes: DataFrame, since: Mapping[str, int]) -> DataFrame:
    """Remove columns that were added later from `present` of older changes. `since`: the first batch of each column.

    Rows: 1:1.
    """
    if not since:
        return changes
    row = changes.schema["row"].dataType
    assert isinstance(row, T.StructType)
    all_columns = F.array(*[F.lit(column) for column in row.names])
    later = F.array_compact(F.array(*[F.when(F.col("batch") < batch, column) for column, batch in since.items()]))
    present = F.when(
        F.col("row").isNotNull() & (F.col("batch") < max(since.values())),
        F.array_except(F.coalesce("present", all_columns), later),
    ).otherwise(F.col("present"))
    return changes.withColumn("present", present)


def column_dates(spark: SparkSession, catalog: str, name: str, by_old: NewNames = NO_RENAMES) -> dict[str, int]:
    """The batch in which each column that was added later appeared.

    A property can name a column that does not exist: a run died before it added the column, or the column is dropped by
    a mask now. Replacing a table keeps its properties.
    """
    recorded = {
        renamed(key.removeprefix(names.SINCE_PREFIX), by_old): int(value)
        for key, value in properties_of(spark, catalog, name).items()
        if key.startswith(names.SINCE_PREFIX)
    }
    row = known_row(spark, catalog, name, by_old) if recorded else None
    return {column: batch for column, batch in recorded.items() if row is not None and column in row.names}


def since_always(dates: Mapping[str, int]) -> dict[str, str]:
    """The table properties by which columns that were added later count as present since the first batch."""
    return {names.SINCE_PREFIX + column: "1" for column in dates}


def with_unknown(history: DataFrame, since: Mapping[str, int]) -> DataFrame:
    """Add the columns that were added after a history row was written to its `_unknown`.

    Rows: 1:1.
    """
    if not since:
        return history
    later = F.array_compact(F.array(*[F.when(F.col(names.BATCH) < batch, column) for column, batch in since.items()]))
    empty = F.array().cast("array<string>")
    union = F.array_union(F.coalesce(names.UNKNOWN, empty), later)
    live = F.col(names.OP) != names.OP_DELETE
    return history.withColumn(names.UNKNOWN, F.when(live & (F.size(union) > 0), union).otherwise(F.col(names.UNKNOWN)))
