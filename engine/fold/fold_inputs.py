"""The inputs of a fold: the stored tables, or frames in their place."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from siltstone.engine import names
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.spec.renamed_names import new_names
from siltstone.engine.table.catalog import read
from siltstone.engine.table.changes_table import column_dates, read_changes
from siltstone.engine.table.history_layout import Layout
from siltstone.engine.table.ledger import read_ledger


@dataclass(frozen=True)
class Rows:
    """The frames that a fold of one table reads. All of them are lazy.

    `present` of `changes` is correct for columns that were added later. `control` is None if there are no control
    events. `since` maps each column that was added later to the batch in which it appeared, for history rows that were
    written before.
    """

    changes: DataFrame
    history: DataFrame
    control: DataFrame | None
    since: Mapping[str, int] = field(default_factory=dict)


def layout_of(spec: TableSpec) -> Layout:
    """The layout that the spec declares for history's rows."""
    return Layout(spec.history.renamed, spec.history.recorded)


def stored_rows(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> Rows:
    """The present rows of a spec's tables, which exist, on their main branch."""
    catalog, target = project.catalog.name, spec.target
    return Rows(
        read_changes(spark, catalog, target.changes, new_names(spec)),
        read(spark, catalog, target.history, layout=layout_of(spec)),
        read_ledger(spark, project, names.CONTROL),
        column_dates(spark, catalog, target.changes),
    )
