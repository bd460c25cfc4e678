"""The state of one table's fold: where it starts, how far it goes, and what it counted."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.errors import CommitConflictError, InvariantViolation, SpecError
from siltstone.engine.fold.applied_settings import refuse_other_axis
from siltstone.engine.fold.fold_inputs import Rows, layout_of, stored_rows
from siltstone.engine.fold.markers import marker_of, newest_batch
from siltstone.engine.fold.planning import SMALL_ROWS
from siltstone.engine.fold.target_layout import refuse_unfit_layout, settle_targets
from siltstone.engine.formats import format_of
from siltstone.engine.frames import local_frame
from siltstone.engine.history.fold_settings import Folded
from siltstone.engine.names import quoted
from siltstone.engine.schema.comments import comment_on
from siltstone.engine.schema.history_row import history_schema, latest_schema, numbered
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.spec.renamed_names import new_names
from siltstone.engine.table.catalog import (
    COPY_ON_WRITE,
    MERGE_ON_READ,
    add_columns,
    choose_write_mode,
    create,
    exists,
    identifier,
    properties_of,
    rename_columns,
    uuid_of,
    widen_column,
)
from siltstone.engine.table.changes_table import (
    column_changes,
    column_dates,
    known_columns,
    known_keys,
    known_row,
    read_changes,
)
from siltstone.engine.table.commit import Branch, newest_summary
from siltstone.engine.table.history_layout import Layout
from siltstone.engine.table.ledger import ledger_name, read_ledger
from siltstone.engine.table.retracted import retracted_places, without_retracted

TOTAL_RECORDS = "total-records"  # Iceberg's own count
MOST_REWRITTEN = 100_000
"""The largest `latest`, in rows, whose data files are rewritten whole (copy-on-write)."""


@dataclass
class FoldContext:
    """The inputs and counts of one fold. `folded` is the marker that it found, `target` the marker that it writes.

    `generation` names the rebuild that wrote the tables. If `history` and `latest` have different generations, `latest`
    is replaced. `reread` names the reread of the inputs that wrote the changes. `taken_away`: the open versions that
    the fold removes from `history`; None if it removes none. `superseded_versions` counts the versions opened by READs
    that the fold removes. `keeps_foreign`: rows that another program wrote stay in the tables. `is_trimmed`: old
    changes were removed from the table, see `fold.base_states`.
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
    reread: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    changes: int = 0
    late: int = 0
    superseded_versions: int = 0
    taken_away: DataFrame | None = None
    keeps_foreign: bool = False
    is_trimmed: bool = False

    @property
    def has_disjoint_sources(self) -> bool:
        """Whether changes come from several sources with disjoint keys."""
        return self.spec.source.several == "disjoint" and len(self.target.sources) > 1

    @property
    def layout(self) -> Layout:
        """The layout of history's rows in its table, with the time of this fold."""
        return replace(layout_of(self.spec), at=self.began)

    @property
    def has_null_keys(self) -> bool:
        """Whether a key column can be null: in a keyless table, and if the format allows it."""
        return self.keyless or format_of(self.spec.source.format).has_null_keys

    @property
    def keyless(self) -> bool:
        """Whether the table has no key, so that the whole row identifies a row."""
        return self.spec.keys == ()

    @property
    def stored(self) -> T.StructType:
        """The columns of a row as `history` and `latest` store it."""
        return numbered(self.row) if self.keyless else self.row

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns that identify a row of the tables."""
        return (*self.keys, names.COPY) if self.keyless else self.keys

    @property
    def catalog(self) -> str:
        """The catalog's name."""
        return self.project.catalog.name

    def changes_up_to_target(self) -> DataFrame:
        """All changes that this fold may use, up to its target batch, without retracted ones."""
        return without_retracted(self.all_changes_up_to_target(), self.retracted_places)

    def all_changes_up_to_target(self) -> DataFrame:
        """All changes up to the target batch, retracted ones included."""
        return self.rows.changes.where((F.col("batch") <= self.target.batch) & ~F.col("too_late"))

    @cached_property
    def retracted_places(self) -> DataFrame | None:
        """The coordinates of retracted changes, up to the target control batch. None if there are none."""
        if not format_of(self.spec.source.format).resends:
            return None
        return retracted_places(self.rows.control, self.target.control_batch)

    def is_small(self) -> bool:
        """Whether `changes` and `history` are both small, by the row counts of their newest snapshots."""
        counted = [
            records_in(self.spark, self.catalog, table)
            for table in (self.spec.target.changes, self.spec.target.history)
            if exists(self.spark, self.catalog, table)
        ]
        return max(counted, default=0) <= SMALL_ROWS

    def count(self, outcome: str, number: int) -> None:
        """Add a number of changes to an outcome."""
        if number:
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + number

    def check_sum(self) -> None:
        """Check that every change has exactly one outcome.

        Raises: InvariantViolation: a change was lost or counted twice. Nothing has been written.
        """
        counted = sum(self.outcomes.values())
        if counted != self.changes:
            raise InvariantViolation(
                f"Cannot fold {self.spec.target.history}: {self.changes} changes have {counted} outcomes"
                f" ({self.outcomes}). Nothing was written.",
                "report this with the changes table; a retry will not help",
            )

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time one phase, in seconds."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - began


def open_fold(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> FoldContext | None:
    """Open the fold of a table from its marker up to its newest batch. None if it has no changes table yet.

    Creates `history` and `latest`, or adds the new columns of `changes` to them.
    """
    catalog, target = project.catalog.name, spec.target
    row = known_row(spark, catalog, target.changes)
    if row is None:
        return None
    ensure_targets(spark, project, spec, row)
    folded, generation = marker_of(spark, catalog, target.history)
    control = newest_batch(spark, project, ledger_name(project, names.CONTROL))
    summary = newest_summary(spark, catalog, target.changes)
    known = uuid_of(spark, catalog, target.changes)
    aim = replace(folded, batch=int(summary.get(names.SUMMARY_BATCH, "0")), control_batch=control, changes=known)
    keys = known_keys(spark, catalog, target.changes)
    rows = stored_rows(spark, project, spec)
    trimmed = is_trimmed(spark, catalog, target.changes)
    reread = summary.get(names.SUMMARY_REREAD, "")
    return FoldContext(spark, project, spec, keys, row, rows, folded, aim, generation, reread, is_trimmed=trimmed)


def open_empty_fold(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> FoldContext:
    """Open a fold that starts from nothing, for tables that are replaced: their present rows are not read.

    Needs: a changes table.
    """
    catalog, target = project.catalog.name, spec.target
    keys, row = known_columns(spark, catalog, target.changes)
    summary = newest_summary(spark, catalog, target.changes)
    refuse_unfit_columns(spec, row)
    control = newest_batch(spark, project, ledger_name(project, names.CONTROL))
    known = uuid_of(spark, catalog, target.changes)
    aim = Folded(batch=int(summary[names.SUMMARY_BATCH]), control_batch=control, changes=known)
    nothing = local_frame(spark, [], history_schema(numbered(row) if spec.keys == () else row))
    changes = read_changes(spark, catalog, target.changes, new_names(spec))
    since = column_dates(spark, catalog, target.changes)
    rows = Rows(changes, nothing, read_ledger(spark, project, names.CONTROL), since)
    return FoldContext(
        spark, project, spec, keys, row, rows, Folded(), aim, reread=summary.get(names.SUMMARY_REREAD, "")
    )


def open_folded(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> FoldContext | None:
    """Open a fold that ends at the present marker. Writes nothing. None if the table was never folded."""
    catalog, target = project.catalog.name, spec.target
    row = known_row(spark, catalog, target.changes)
    if row is None or not exists(spark, catalog, target.history):
        return None
    folded, generation = marker_of(spark, catalog, target.history)
    if folded == Folded():
        return None
    keys = known_keys(spark, catalog, target.changes)
    rows, trimmed = stored_rows(spark, project, spec), is_trimmed(spark, catalog, target.changes)
    return FoldContext(spark, project, spec, keys, row, rows, folded, folded, generation, is_trimmed=trimmed)


def is_trimmed(spark: SparkSession, catalog: str, changes: str) -> bool:
    """Whether old changes were removed from the table (`run.trim_changes`)."""
    return names.PROPERTY_TRIMMED in properties_of(spark, catalog, changes)


def begin(
    spark: SparkSession, catalog: str, table: str, marker: Mapping[str, str], newest: int, sole_writer: bool = False
) -> Branch:
    """Start a branch for the batch after `newest`, the newest batch that this run knows.

    The branch name identifies this attempt at the batch. The attempt's rows in the ledgers and its commit carry the
    name. `sole_writer`: as in `Branch.start`.

    Raises: CommitConflictError: there is a newer batch. Without a common lock, as between machines, two runs would give
        the same number to different batches, and the second batch would never be folded.
    """
    branch = Branch.start(spark, catalog, table, marker, sole_writer=sole_writer)
    branch.summary[names.SUMMARY_ATTEMPT] = branch.name
    refuse_moved(branch, newest == int(newest_summary(spark, catalog, table).get(names.SUMMARY_BATCH, "0")))
    return branch


def refuse_moved(branch: Branch, is_as_seen: bool) -> None:
    """Check that a branch starts from the state that the run has read.

    Raises: CommitConflictError: another run has committed since. The branch is dropped.
    """
    if not is_as_seen:
        branch.drop()
        raise CommitConflictError(
            f"Cannot commit to {branch.table}: another run has committed to it since this run read it. Nothing was"
            " changed.",
            "retry the run",
        )


def ensure_targets(spark: SparkSession, project: ProjectSpec, spec: TableSpec, row: T.StructType) -> None:
    """Create `history` and `latest`, or add the new columns of `changes` to them."""
    catalog, version = project.catalog.name, {"format-version": str(spec.target.format_version)}
    stored, layout = numbered(row) if spec.keys == () else row, layout_of(spec)
    refuse_unfit_columns(spec, row)
    refuse_other_axis(spark, catalog, spec)
    history = layout.schema(history_schema(stored))
    if not exists(spark, catalog, spec.target.history):
        properties = version | comment_on("history") | layout.properties()
        create(spark, catalog, spec.target.history, history, layout.partitioning(), properties)
    else:
        rename_columns(spark, catalog, spec.target.history, layout.renamed)
        grow(spark, catalog, spec.target.history, history)
    if not exists(spark, catalog, spec.target.latest):
        create(spark, catalog, spec.target.latest, latest_schema(stored), "", version | comment_on("latest"))
    else:
        grow(spark, catalog, spec.target.latest, latest_schema(stored))
    settle_targets(spark, catalog, spec)
    # A batch can change the open rows only, and `latest` has about as many rows.
    mode = COPY_ON_WRITE if records_in(spark, catalog, spec.target.latest) <= MOST_REWRITTEN else MERGE_ON_READ
    for table in (spec.target.history, spec.target.latest):
        choose_write_mode(spark, catalog, table, mode)


def records_in(spark: SparkSession, catalog: str, table: str) -> int:
    """The number of rows in the newest snapshot of a table, as Iceberg counts them."""
    return int(newest_summary(spark, catalog, table, TOTAL_RECORDS).get(TOTAL_RECORDS, "0"))


def grow(spark: SparkSession, catalog: str, name: str, schema: T.StructType) -> None:
    """Add and widen the columns that a table lacks."""
    added, widened = column_changes(spark.table(identifier(catalog, name)).schema, schema)
    add_columns(spark, catalog, name, (), added)
    for column in widened:
        widen_column(spark, catalog, name, (column.name,), column.dataType)


def refuse_unfit_columns(spec: TableSpec, row: T.StructType) -> None:
    """Check that the tables can have these columns of the source.

    No source column may have a name that history.names gives to a column of history. The columns of the partitioning
    and the sort order must exist.

    Raises: SpecError.
    """
    refuse_unfit_layout(spec, numbered(row) if spec.keys == () else row)
    taken = {name.casefold() for name in row.names}
    for own, name in spec.history.names:
        if name.casefold() in taken:
            raise SpecError(
                f"Cannot fold {spec.target.history}: history.names calls {own} {name}, and the source has a column"
                " of that name.",
                "choose another name",
            )


def same_keys(context: FoldContext, table: DataFrame, keys: DataFrame) -> list[Column]:
    """The join conditions between a table and a frame of keys with one column per key column."""
    pairs = [(table[quoted(name)], keys[quoted(name)]) for name in context.keys]
    return [one.eqNullSafe(other) if context.has_null_keys else one == other for one, other in pairs]
