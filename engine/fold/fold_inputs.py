"""What a fold reads: the tables as they stand, or rows that are held in their place."""

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
    """All that a fold of one table can look at. None of it is computed before it is asked for.

    `changes` tell the truth in `present`; `control` is None where there is no control event; `since` says in which
    batch a column that was added later appeared, for history rows that were written before.
    """

    changes: DataFrame
    history: DataFrame
    control: DataFrame | None
    since: Mapping[str, int] = field(default_factory=dict)


def layout_of(spec: TableSpec) -> Layout:
    """How the spec wants history's rows to lie in the table."""
    return Layout(spec.history.renamed, spec.history.recorded)


def stored_rows(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> Rows:
    """The tables of a spec, which are there, as they stand on main."""
    catalog, target = project.catalog.name, spec.target
    return Rows(
        read_changes(spark, catalog, target.changes, new_names(spec)),
        read(spark, catalog, target.history, layout=layout_of(spec)),
        read_ledger(spark, project, names.CONTROL),
        column_dates(spark, catalog, target.changes),
    )
