"""One table's fold while it runs: how far it is, how far it goes, and what it found."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine import names
from engine.errors import InvariantViolation, SpecError
from engine.history.rules import Folded
from engine.run.effort import SMALL_ROWS
from engine.run.rows import Rows, stored_rows
from engine.schema.history import history_schema, latest_schema
from engine.spec import fold_fingerprint
from engine.spec.model import ProjectSpec, TableSpec
from engine.table.catalog import add_columns, create, exists, identifier, widen_column
from engine.table.changes import column_changes, known_keys, known_row
from engine.table.commit import newest_summary
from engine.table.ledger import ledger_name

SUMMARY_FOLDED = "siltstone.folded"
SUMMARY_GENERATION = "siltstone.generation"
TOTAL_RECORDS = "total-records"  # Iceberg's own count


@dataclass
class Folding:
    """What one fold knows and counts. `folded` is the marker it found, `target` the one it writes.

    `generation` names the rebuild that the tables come from; it is the same on `history` and `latest`, or `latest` is
    to be replaced.
    """

    spark: SparkSession
    project: ProjectSpec
    spec: TableSpec
    keys: tuple[str, ...]
    row: T.StructType
    rows: Rows
    folded: Folded
    target: Folded
    generation: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    changes: int = 0
    late: int = 0
    withdrawn: int = 0

    @property
    def catalog(self) -> str:
        """The catalog's name."""
        return self.project.catalog.name

    def changes_up_to_target(self) -> DataFrame:
        """All changes that this fold may use, pinned."""
        return self.rows.changes.where((F.col("batch") <= self.target.batch) & ~F.col("too_late"))

    def is_small(self) -> bool:
        """Whether there is little to fold over little: by the rows that the tables' newest snapshots count."""
        counted = [
            int(newest_summary(self.spark, self.catalog, table, TOTAL_RECORDS).get(TOTAL_RECORDS, "0"))
            for table in (self.spec.target.changes, self.spec.target.history)
            if exists(self.spark, self.catalog, table)
        ]
        return max(counted, default=0) <= SMALL_ROWS

    def count(self, outcome: str, number: int) -> None:
        """Add to the changes with this outcome."""
        if number:
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + number

    def check_sum(self) -> None:
        """Every change has exactly one outcome.

        Raises: InvariantViolation: a change was lost or counted twice; nothing has been written.
        """
        counted = sum(self.outcomes.values())
        if counted != self.changes:
            raise InvariantViolation(
                f"Cannot fold {self.spec.target.history}: {self.changes} changes have {counted} outcomes"
                f" ({self.outcomes}). Nothing was written.",
                "report this with the changes table; running again will not help",
            )

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time one phase, in seconds."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - began


def newest_batch(spark: SparkSession, project: ProjectSpec, table: str) -> int:
    """The newest batch that is real: the one in the table's newest marker. 0 before the first."""
    if not exists(spark, project.catalog.name, table):
        return 0
    return int(newest_summary(spark, project.catalog.name, table).get(names.SUMMARY_BATCH, "0"))


def open_folding(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> Folding | None:
    """See how far a table is folded, and how far it is to be; None when it has no changes table yet.

    `history` and `latest` are created, or grow with the columns of `changes`.
    """
    catalog, target = project.catalog.name, spec.target
    row = known_row(spark, catalog, target.changes)
    if row is None:
        return None
    ensure_targets(spark, project, spec, row)
    folded, generation = marker_of(spark, catalog, target.history)
    control = newest_batch(spark, project, ledger_name(project, names.CONTROL))
    aim = replace(folded, batch=newest_batch(spark, project, target.changes), control_batch=control)
    keys = known_keys(spark, catalog, target.changes)
    rows = stored_rows(spark, project, spec)
    return Folding(spark, project, spec, keys, row, rows, folded, aim, generation)


def open_folded(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> Folding | None:
    """See what a table is a fold of, and go no further. Writes nothing. None when it was never folded."""
    catalog, target = project.catalog.name, spec.target
    row = known_row(spark, catalog, target.changes)
    if row is None or not exists(spark, catalog, target.history):
        return None
    folded, generation = marker_of(spark, catalog, target.history)
    if folded == Folded():
        return None
    keys = known_keys(spark, catalog, target.changes)
    rows = stored_rows(spark, project, spec)
    return Folding(spark, project, spec, keys, row, rows, folded, folded, generation)


def marker_of(spark: SparkSession, catalog: str, table: str) -> tuple[Folded, str]:
    """What a table's newest marker says: what it is a fold of, and its generation."""
    summary = newest_summary(spark, catalog, table)
    folded = Folded.from_json(summary[SUMMARY_FOLDED]) if SUMMARY_FOLDED in summary else Folded()
    return folded, summary.get(SUMMARY_GENERATION, "")


def ensure_targets(spark: SparkSession, project: ProjectSpec, spec: TableSpec, row: T.StructType) -> None:
    """Create `history` and `latest`, or let them grow with the columns of `changes`."""
    catalog, version = project.catalog.name, {"format-version": str(spec.target.format_version)}
    wanted = {spec.target.history: history_schema(row), spec.target.latest: latest_schema(row)}
    for name, schema in wanted.items():
        if not exists(spark, catalog, name):
            partitioning = f"months({names.VALID_TO})" if name == spec.target.history else ""
            create(spark, catalog, name, schema, partitioning, version)
            continue
        added, widened = column_changes(spark.table(identifier(catalog, name)).schema, schema)
        add_columns(spark, catalog, name, (), added)
        for column in widened:
            widen_column(spark, catalog, name, (column.name,), column.dataType)


def check_settings(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> None:
    """Refuse to go on with settings that the versions written so far were not folded with, before anything is taken.

    Raises: SpecError.
    """
    if other_settings(spark, project, spec):
        raise SpecError(
            f"Cannot fold {spec.target.history}: it was folded with other settings (keys, columns, tracked columns,"
            " snapshot or lateness changed since). Nothing was taken.",
            "restore the settings, or run `siltstone rebuild`: it folds the tables again from"
            f" {spec.target.changes} with the new ones",
        )


def other_settings(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> bool:
    """Whether the versions written so far were folded with other settings than the spec has."""
    if not exists(spark, project.catalog.name, spec.target.history):
        return False
    summary = newest_summary(spark, project.catalog.name, spec.target.history)
    written = summary.get(names.SUMMARY_FINGERPRINT)
    return written is not None and written != fold_fingerprint(spec)
