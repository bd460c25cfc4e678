"""What the newest markers of `history` and `latest` say, and whether they speak of the `changes` that there are."""

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
    """What a table's newest marker says: what it is a fold of, and its generation."""
    summary = newest_summary(spark, catalog, table)
    folded = Folded.from_json(summary[names.SUMMARY_FOLDED]) if names.SUMMARY_FOLDED in summary else Folded()
    return folded, summary.get(SUMMARY_GENERATION, "")


def newest_batch(spark: SparkSession, project: ProjectSpec, table: str) -> int:
    """The newest batch that is real: the one in the table's newest marker. 0 before the first."""
    return batch_of(newest_marker(spark, project, table))


def newest_marker(spark: SparkSession, project: ProjectSpec, table: str) -> Mapping[str, str]:
    """The table's newest marker; empty before the first."""
    is_there = exists(spark, project.catalog.name, table)
    return newest_summary(spark, project.catalog.name, table) if is_there else {}


def batch_of(marker: Mapping[str, str]) -> int:
    """The batch that a marker names; 0 where it is none."""
    return int(marker.get(names.SUMMARY_BATCH, "0"))


def scn_sources(marker: Mapping[str, str]) -> set[str]:
    """The sources that a marker of `changes` says were seen to be ordered by SCNs alone."""
    return set(json.loads(marker.get(names.SUMMARY_BY_SCN, "[]")))


def refuse_other_changes(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> None:
    """See that the tables are folds of the `changes` that there are: the batches of these would be taken for folded,
    and what they bring be lost.

    Raises: SpecError.
    """
    found = fold_of_others(spark, project, spec)
    if found is None:
        return
    (table, batches), there = found, newest_batch(spark, project, spec.target.changes)
    anew = "run `siltstone rebuild`, which makes both tables anew from the changes that there are now"
    nothing = "drop both tables: the next run takes all inputs again"
    raise SpecError(
        f"Cannot go on with {table}: the changes that it was folded from ({batches} batches) are not those of"
        f" {spec.target.changes} ({there} batches). Nothing was taken.",
        "put back what was there before (namespace in the project file, target.changes in the spec, or the table"
        f" itself, which was dropped or set back); or {anew if there and not spec.quality.blocks else nothing}",
    )


def fold_of_others(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> tuple[str, int] | None:
    """The one of `history` and `latest` that was folded from other changes than there are now, and from how many
    batches. None when none was, as far as the markers tell.

    A `latest` of another generation than `history` is replaced anyhow.
    """
    catalog, target, told = project.catalog.name, spec.target, []
    kept = [exists(spark, catalog, table) for table in (target.history, target.latest)]
    history, of_history = marker_of(spark, catalog, target.history) if kept[0] else (Folded(), "")
    latest, of_latest = marker_of(spark, catalog, target.latest) if kept[1] else (Folded(), "")
    told = [(target.history, history)] if history.batch else []
    told += [(target.latest, latest)] if latest.batch and of_latest == of_history else []
    if not told:
        return None
    newest = newest_batch(spark, project, target.changes)
    present = uuid_of(spark, catalog, target.changes) if newest else None
    others = (one for one in told if one[1].batch > newest or one[1].changes not in (None, present))
    return next(((table, folded.batch) for table, folded in others), None)
