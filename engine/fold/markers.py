"""Read the newest markers of `history` and `latest`, and check that they belong to the present `changes` table."""

import json
from collections.abc import Mapping

from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.errors import SpecError
from siltstone.engine.history.fold_settings import Folded
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.table.catalog import exists, uuid_of
from siltstone.engine.table.commit import newest_summary

SUMMARY_GENERATION = "siltstone.generation"


def marker_of(spark: SparkSession, catalog: str, table: str) -> tuple[Folded, str]:
    """A table's newest marker: what the table is a fold of, and its generation."""
    summary = newest_summary(spark, catalog, table)
    folded = Folded.from_json(summary[names.SUMMARY_FOLDED]) if names.SUMMARY_FOLDED in summary else Folded()
    return folded, summary.get(SUMMARY_GENERATION, "")


def newest_batch(spark: SparkSession, project: ProjectSpec, table: str) -> int:
    """The newest committed batch: the one in the table's newest marker. 0 before the first."""
    return batch_of(newest_marker(spark, project, table))


def newest_marker(spark: SparkSession, project: ProjectSpec, table: str) -> Mapping[str, str]:
    """The table's newest marker; empty before the first."""
    is_there = exists(spark, project.catalog.name, table)
    return newest_summary(spark, project.catalog.name, table) if is_there else {}


def batch_of(marker: Mapping[str, str]) -> int:
    """The batch that a marker names. 0 if the marker is empty."""
    return int(marker.get(names.SUMMARY_BATCH, "0"))


def scn_sources(marker: Mapping[str, str]) -> set[str]:
    """The sources that are ordered by SCNs alone, according to a marker of `changes`."""
    return set(json.loads(marker.get(names.SUMMARY_BY_SCN, "[]")))


def refuse_other_changes(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> None:
    """Check that the tables are folds of the present `changes` table.

    Otherwise its batches would count as already folded, and their changes would be lost.

    Raises: SpecError.
    """
    found = fold_of_others(spark, project, spec)
    if found is None:
        return
    (table, batches), there = found, newest_batch(spark, project, spec.target.changes)
    rebuild = "run `siltstone rebuild`, which rebuilds both tables from the present changes"
    drop = "drop both tables: the next run ingests all inputs from the start"
    raise SpecError(
        f"Cannot go on with {table}: the changes that it was folded from ({batches} batches) are not those of"
        f" {spec.target.changes} ({there} batches). Nothing was taken.",
        "restore what was there before (namespace in the project file, target.changes in the spec, or the table"
        f" itself, which was dropped or rolled back); or {rebuild if there and not spec.quality.blocks else drop}",
    )


def fold_of_others(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> tuple[str, int] | None:
    """Which of `history` and `latest` was folded from another `changes` table, and from how many batches.

    None if the markers show no such table. A `latest` with another generation than `history` is not checked: it is
    replaced in any case.
    """
    catalog, target = project.catalog.name, spec.target
    kept = [exists(spark, catalog, table) for table in (target.history, target.latest)]
    history, of_history = marker_of(spark, catalog, target.history) if kept[0] else (Folded(), "")
    latest, of_latest = marker_of(spark, catalog, target.latest) if kept[1] else (Folded(), "")
    markers = [(target.history, history)] if history.batch else []
    markers += [(target.latest, latest)] if latest.batch and of_latest == of_history else []
    if not markers:
        return None
    newest = newest_batch(spark, project, target.changes)
    present = uuid_of(spark, catalog, target.changes) if newest else None
    others = (one for one in markers if one[1].batch > newest or one[1].changes not in (None, present))
    return next(((table, folded.batch) for table, folded in others), None)
