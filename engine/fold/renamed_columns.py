"""Rename columns in the tables that the spec declares as renamed at the source, before a run ingests anything."""

from collections.abc import Iterable

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine.errors import SpecError
from siltstone.engine.spec.model import TableSpec
from siltstone.engine.spec.renamed_names import first_name, first_names, new_names, renamed
from siltstone.engine.table.changes_table import has_begun, known_columns
from siltstone.engine.table.column_renames import old_columns, rename_in_changes, rename_in_table


def apply_renames(spark: SparkSession, catalog: str, spec: TableSpec) -> None:
    """Rename the columns of the existing tables: each table in one commit, history and latest after `changes`.

    The next run completes the renames of an interrupted run.
    """
    by_old, target = new_names(spec), spec.target
    if has_begun(spark, catalog, target.changes) and (wanted := old_columns(spark, catalog, target.changes, by_old)):
        row = known_columns(spark, catalog, target.changes)[1]
        firsts = first_names(spec, (renamed(name, by_old) for name in row.names))
        rename_in_changes(spark, catalog, target.changes, wanted, firsts)
    for table in (target.history, target.latest):
        if wanted := old_columns(spark, catalog, table, by_old):
            rename_in_table(spark, catalog, table, wanted)


def planned_renames(spark: SparkSession, catalog: str, spec: TableSpec) -> Iterable[str]:
    """Descriptions of the renames that the next run makes."""
    by_old, target = new_names(spec), spec.target
    for table in (target.changes, target.history, target.latest):
        for old, new in old_columns(spark, catalog, table, by_old).items():
            yield f"{table}: rename {old} to {new}"


def refuse_unrenamed(spark: SparkSession, catalog: str, spec: TableSpec) -> None:
    """Check that the columns of the tables have their names from the spec.

    Raises: SpecError.
    """
    for text in planned_renames(spark, catalog, spec):
        raise SpecError(
            f"Cannot read {spec.target.history}: the next catch-up changes the tables ({text}).",
            "run `siltstone catch-up` first",
        )


def other_names(spec: TableSpec, row: T.StructType, stored: dict[str, str]) -> Iterable[str]:
    """The columns whose earlier names differ from those in the spec.

    `row`: the columns of `changes`; `stored`: the first names of columns that `changes` records.
    """
    by_old = new_names(spec)
    for name in row.names:
        now = renamed(name, by_old)
        if stored.get(name, name) != first_name(spec, now):
            yield f"the earlier names of column {now} (renamed_from)"
