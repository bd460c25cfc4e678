"""The gaps table, with Spark: one row per gap, one partition per table, changed by compare-and-set."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from threading import Lock

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.errors import CommitConflictError
from siltstone.engine.frames import local_frame
from siltstone.engine.schema.comments import ledger_properties
from siltstone.engine.schema.gap_record import HEALED, Gap, gap_of
from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.table.catalog import create
from siltstone.engine.table.commit import Branch
from siltstone.engine.table.ledger import ledger_name, ledger_schema, read_ledger

ATTEMPTS = 20
ONE_WRITES = Lock()  # the tables of one run are checked in parallel and share this table

Update = Callable[[Sequence[Gap]], Sequence[Gap]]


def read_gaps(spark: SparkSession, project: ProjectSpec, table: str, healed: bool = False) -> list[Gap]:
    """The gaps of one table that are not healed; with `healed`, all of its gaps."""
    gaps = read_ledger(spark, project, names.GAPS)
    if gaps is None:
        return []
    mine = gaps.where(F.col("table") == table)
    rows = (mine if healed else mine.where(F.col("status") != HEALED)).collect()
    return sorted((gap_of(row.asDict()) for row in rows), key=lambda gap: (gap.opened_at, gap.gap_id))


def update_gaps(spark: SparkSession, project: ProjectSpec, table: str, update: Update) -> list[Gap]:
    """Change the gaps of one table: `update` gets all of its gaps, healed ones too, and returns all of them.

    `update` is called with the new state if another program has written meanwhile, so that no acknowledgement is lost.
    If it changes nothing, nothing is written. Gives the gaps after the update.

    Raises: CommitConflictError: other programs wrote at each attempt.
    """
    catalog, name = project.catalog.name, ledger_name(project, names.GAPS)
    for attempt in range(1, ATTEMPTS + 1):
        with ONE_WRITES:
            if attempt == 1:
                create(spark, catalog, name, ledger_schema(names.GAPS), "`table`", ledger_properties(names.GAPS))
            branch = Branch.start(spark, catalog, name, {})
            try:
                before = [gap_of(row.asDict()) for row in branch.read().where(F.col("table") == table).collect()]
                after = list(update(before))
                if {gap.gap_id: gap for gap in after} == {gap.gap_id: gap for gap in before}:
                    return after
                rows = local_frame(spark, [asdict(gap) for gap in after], ledger_schema(names.GAPS))
                branch.replace(rows.coalesce(1), F.col("table") == table)
                branch.publish()
            except CommitConflictError:
                if attempt == ATTEMPTS:
                    raise
            else:
                return after
            finally:
                branch.drop()
    raise AssertionError("unreachable")
