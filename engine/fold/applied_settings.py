"""The settings with which the tables were folded, compared with those of the spec."""

from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.errors import SpecError
from siltstone.engine.fold.decode_settings import decoded_otherwise
from siltstone.engine.fold.markers import refuse_other_changes
from siltstone.engine.fold.renamed_columns import refuse_unrenamed
from siltstone.engine.spec import fold_fingerprint
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.table.catalog import (
    exists,
    identifier,
)
from siltstone.engine.table.commit import newest_summary


def is_outdated(spark: SparkSession, catalog: str, spec: TableSpec) -> bool:
    """Whether the inputs were reread, and the tables are not folded from the result yet."""
    if not exists(spark, catalog, spec.target.changes):
        return False
    reread = newest_summary(spark, catalog, spec.target.changes).get(names.SUMMARY_REREAD)
    if reread is None:
        return False
    tables = (spec.target.history, spec.target.latest)
    return any(
        not exists(spark, catalog, table) or newest_summary(spark, catalog, table).get(names.SUMMARY_REREAD) != reread
        for table in tables
    )


def check_settings(
    spark: SparkSession, project: ProjectSpec, spec: TableSpec, goes_on: bool = False, looks_ahead: bool = False
) -> None:
    """Check that the settings are those with which the stored changes were decoded and the stored versions folded.

    A command that reads the tables also fails while they are not folded from reread inputs, and while a column rename
    is pending. `goes_on`: the caller is a run that folds and renames; it has already checked that the tables are folds
    of these changes. `looks_ahead`: the caller accepts pending renames.

    Raises: SpecError. Nothing has been ingested.
    """
    catalog, target = project.catalog.name, spec.target
    if not goes_on:
        refuse_other_changes(spark, project, spec)
    refuse_other_axis(spark, catalog, spec)
    check_reading(spark, catalog, spec)
    if not goes_on and not looks_ahead:
        refuse_unrenamed(spark, catalog, spec)
    if is_outdated(spark, catalog, spec):
        if goes_on:
            return
        raise SpecError(
            f"Cannot read {target.history}: its inputs were reread, and it is not folded from them yet.",
            "run `siltstone catch-up`, which completes the fold",
        )
    if other_settings(spark, project, spec):
        raise SpecError(
            f"Cannot fold {spec.target.history}: it was folded with other settings (keys, columns, tracked columns,"
            " names, snapshot or lateness changed since). Nothing was taken.",
            f"restore the settings, or run `siltstone rebuild`: it recomputes the tables from {spec.target.changes}"
            " with the new settings",
        )


def check_reading(spark: SparkSession, catalog: str, spec: TableSpec) -> None:
    """Check that the stored changes were decoded with the settings of the spec.

    Raises: SpecError.
    """
    if wrong := decoded_otherwise(spark, catalog, spec):
        raise SpecError(
            f"Cannot go on with {spec.target.changes}: it was decoded with other settings: {'; '.join(wrong)}. Nothing"
            " was taken.",
            "restore the settings, or run `siltstone rebuild --reread`: it rereads the inputs with the new settings",
        )


def other_settings(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> bool:
    """Whether `history` was folded with other settings than those of the spec."""
    if not exists(spark, project.catalog.name, spec.target.history):
        return False
    summary = newest_summary(spark, project.catalog.name, spec.target.history)
    written = summary.get(names.SUMMARY_FINGERPRINT)
    return written is not None and written != fold_fingerprint(spec)


def refuse_other_axis(spark: SparkSession, catalog: str, spec: TableSpec) -> None:
    """Check that history.recorded has not changed since `history` was created.

    Raises: SpecError.
    """
    if not exists(spark, catalog, spec.target.history):
        return
    columns = spark.table(identifier(catalog, spec.target.history)).schema.names
    if (names.RECORDED_TO in columns) != spec.history.recorded:
        raise SpecError(
            f"Cannot fold {spec.target.history}: it was created with another value of history.recorded.",
            "restore the setting, or name another table as target.history and run `siltstone rebuild`",
        )
