"""One table's fold while it runs: how far it is, how far it goes, and what it found."""

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
from siltstone.engine.fold.decode_settings import decoded_otherwise
from siltstone.engine.fold.fold_inputs import Rows, layout_of, stored_rows
from siltstone.engine.fold.markers import marker_of, newest_batch, refuse_other_changes
from siltstone.engine.fold.planning import SMALL_ROWS
from siltstone.engine.fold.renamed_columns import refuse_unrenamed
from siltstone.engine.fold.target_layout import refuse_unfit_layout, settle_targets
from siltstone.engine.formats import format_of
from siltstone.engine.frames import local_frame
from siltstone.engine.history.fold_settings import Folded
from siltstone.engine.names import quoted
from siltstone.engine.schema.history_row import history_schema, latest_schema, numbered
from siltstone.engine.spec import fold_fingerprint
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
"""Up to how many rows of `latest` a change rewrites whole data files."""


@dataclass
class FoldContext:
    """What one fold knows and counts. `folded` is the marker it found, `target` the one it writes.

    `generation` names the rebuild that the tables come from; it is the same on `history` and `latest`, or `latest` is
    to be replaced. `reread` names the reading of the inputs that the changes come from. `taken_away`: the open versions
    that the fold removes from `history`; None where it removes none. `keeps_foreign`: rows that another program wrote
    stay in the tables. `is_trimmed`: changes were removed from the table, see `fold.base_states`.
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
    withdrawn: int = 0
    taken_away: DataFrame | None = None
    keeps_foreign: bool = False
    is_trimmed: bool = False

    @property
    def has_disjoint_sources(self) -> bool:
        """Whether changes come from several sources, of which each has keys of its own."""
        return self.spec.source.several == "disjoint" and len(self.target.sources) > 1

    @property
    def layout(self) -> Layout:
        """How history's rows lie in its table, with the moment of this fold."""
        return replace(layout_of(self.spec), at=self.began)

    @property
    def has_null_keys(self) -> bool:
        """Whether a null is a value of a key: of a whole row that is the key, and where the format says so."""
        return self.keyless or format_of(self.spec.source.format).has_null_keys

    @property
    def keyless(self) -> bool:
        """Whether rows are known by all that is in them."""
        return self.spec.keys == ()

    @property
    def stored(self) -> T.StructType:
        """The columns of a row as `history` and `latest` store it."""
        return numbered(self.row) if self.keyless else self.row

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns that a row of the tables is known by."""
        return (*self.keys, names.COPY) if self.keyless else self.keys

    @property
    def catalog(self) -> str:
        """The catalog's name."""
        return self.project.catalog.name

    def changes_up_to_target(self) -> DataFrame:
        """All changes that this fold may use, pinned."""
        return without_retracted(self.all_changes_up_to_target(), self.retracted_places)

    def all_changes_up_to_target(self) -> DataFrame:
        """The same with those that were withdrawn."""
        return self.rows.changes.where((F.col("batch") <= self.target.batch) & ~F.col("too_late"))

    @cached_property
    def retracted_places(self) -> DataFrame | None:
        """Where the changes stand that were withdrawn, as far as this fold may know; None where there are none."""
        if not format_of(self.spec.source.format).resends:
            return None
        return retracted_places(self.rows.control, self.target.control_batch)

    def is_small(self) -> bool:
        """Whether there is little to fold over little: by the rows that the tables' newest snapshots count."""
        counted = [
            records_in(self.spark, self.catalog, table)
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


def open_fold(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> FoldContext | None:
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
    said = newest_summary(spark, catalog, target.changes)
    known = uuid_of(spark, catalog, target.changes)
    aim = replace(folded, batch=int(said.get(names.SUMMARY_BATCH, "0")), control_batch=control, changes=known)
    keys = known_keys(spark, catalog, target.changes)
    rows = stored_rows(spark, project, spec)
    trimmed = is_trimmed(spark, catalog, target.changes)
    reread = said.get(names.SUMMARY_REREAD, "")
    return FoldContext(spark, project, spec, keys, row, rows, folded, aim, generation, reread, is_trimmed=trimmed)


def open_empty_fold(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> FoldContext:
    """A fold from nothing into tables that are to be made anew: what stands in them now is not looked at.

    Needs: a changes table.
    """
    catalog, target = project.catalog.name, spec.target
    (keys, row), said = known_columns(spark, catalog, target.changes), newest_summary(spark, catalog, target.changes)
    refuse_unfit_columns(spec, row)
    control = newest_batch(spark, project, ledger_name(project, names.CONTROL))
    known = uuid_of(spark, catalog, target.changes)
    aim = Folded(batch=int(said[names.SUMMARY_BATCH]), control_batch=control, changes=known)
    nothing = local_frame(spark, [], history_schema(numbered(row) if spec.keys == () else row))
    changes = read_changes(spark, catalog, target.changes, new_names(spec))
    since = column_dates(spark, catalog, target.changes)
    rows = Rows(changes, nothing, read_ledger(spark, project, names.CONTROL), since)
    return FoldContext(spark, project, spec, keys, row, rows, Folded(), aim, reread=said.get(names.SUMMARY_REREAD, ""))


def open_folded(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> FoldContext | None:
    """See what a table is a fold of, and go no further. Writes nothing. None when it was never folded."""
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
    """A branch of a table to which batches are appended, behind the newest one that this run knows. Its name tells this
    attempt at the next batch from others: rows of the ledgers bear it, and the commit that makes the batch.
    `sole_writer`: as `Branch.start` takes it.

    Raises: CommitConflictError: there is a newer one. Where no lock keeps runs apart, as between machines, two of them
        would give the same number to different batches, and the second one's would never be folded.
    """
    branch = Branch.start(spark, catalog, table, marker, sole_writer=sole_writer)
    branch.summary[names.SUMMARY_ATTEMPT] = branch.name
    refuse_moved(branch, newest == int(newest_summary(spark, catalog, table).get(names.SUMMARY_BATCH, "0")))
    return branch


def refuse_moved(branch: Branch, is_as_seen: bool) -> None:
    """See that a branch began at what the run looked at before.

    Raises: CommitConflictError: somebody has committed since; the branch is dropped.
    """
    if not is_as_seen:
        branch.drop()
        raise CommitConflictError(
            f"Cannot commit to {branch.table}: another run has committed to it since this one looked; nothing was"
            " changed.",
            "run again",
        )


def ensure_targets(spark: SparkSession, project: ProjectSpec, spec: TableSpec, row: T.StructType) -> None:
    """Create `history` and `latest`, or let them grow with the columns of `changes`."""
    catalog, version = project.catalog.name, {"format-version": str(spec.target.format_version)}
    stored, layout = numbered(row) if spec.keys == () else row, layout_of(spec)
    refuse_unfit_columns(spec, row)
    refuse_other_axis(spark, catalog, spec)
    history = layout.schema(history_schema(stored))
    if not exists(spark, catalog, spec.target.history):
        create(spark, catalog, spec.target.history, history, layout.partitioning(), version | layout.properties())
    else:
        rename_columns(spark, catalog, spec.target.history, layout.renamed)
        grow(spark, catalog, spec.target.history, history)
    if not exists(spark, catalog, spec.target.latest):
        create(spark, catalog, spec.target.latest, latest_schema(stored), "", version)
    else:
        grow(spark, catalog, spec.target.latest, latest_schema(stored))
    settle_targets(spark, catalog, spec)
    # The rows that a batch can change are the open ones, about as many as `latest` has.
    mode = COPY_ON_WRITE if records_in(spark, catalog, spec.target.latest) <= MOST_REWRITTEN else MERGE_ON_READ
    for table in (spec.target.history, spec.target.latest):
        choose_write_mode(spark, catalog, table, mode)


def records_in(spark: SparkSession, catalog: str, table: str) -> int:
    """How many rows the newest snapshot of a table has, as Iceberg counts them."""
    return int(newest_summary(spark, catalog, table, TOTAL_RECORDS).get(TOTAL_RECORDS, "0"))


def grow(spark: SparkSession, catalog: str, name: str, schema: T.StructType) -> None:
    """Add and widen the columns that a table lacks."""
    added, widened = column_changes(spark.table(identifier(catalog, name)).schema, schema)
    add_columns(spark, catalog, name, (), added)
    for column in widened:
        widen_column(spark, catalog, name, (column.name,), column.dataType)


def refuse_other_axis(spark: SparkSession, catalog: str, spec: TableSpec) -> None:
    """See that a history that tells when it recorded its rows goes on to, and that another does not begin to.

    Raises: SpecError.
    """
    if not exists(spark, catalog, spec.target.history):
        return
    columns = spark.table(identifier(catalog, spec.target.history)).schema.names
    if (names.RECORDED_TO in columns) != spec.history.recorded:
        raise SpecError(
            f"Cannot fold {spec.target.history}: it was made with another history.recorded.",
            "restore the setting, or name another table as target.history and run `siltstone rebuild`",
        )


def refuse_unfit_columns(spec: TableSpec, row: T.StructType) -> None:
    """See that the tables can have these columns of the source: none has a name that the spec gives to one of history,
    and those that the tables are partitioned and sorted by are there.

    Raises: SpecError.
    """
    refuse_unfit_layout(spec, numbered(row) if spec.keys == () else row)
    taken = {name.casefold() for name in row.names}
    for own, name in spec.history.names:
        if name.casefold() in taken:
            raise SpecError(
                f"Cannot fold {spec.target.history}: history.names calls {own} {name}, and the source has a column"
                " of that name.",
                "take another name",
            )


def is_outdated(spark: SparkSession, catalog: str, spec: TableSpec) -> bool:
    """Whether the inputs were read again, and the tables are not folded from that yet."""
    if not exists(spark, catalog, spec.target.changes):
        return False
    told = newest_summary(spark, catalog, spec.target.changes).get(names.SUMMARY_REREAD)
    if told is None:
        return False
    tables = (spec.target.history, spec.target.latest)
    return any(
        not exists(spark, catalog, table) or newest_summary(spark, catalog, table).get(names.SUMMARY_REREAD) != told
        for table in tables
    )


def check_settings(
    spark: SparkSession, project: ProjectSpec, spec: TableSpec, goes_on: bool = False, looks_ahead: bool = False
) -> None:
    """Refuse to go on with settings that the changes taken so far were not decoded with, or the versions written so
    far were not folded with, before anything is taken.

    Tables that are still to be folded from inputs that were read again are nothing to look at; a run that `goes_on`
    folds them, and has seen before it read anything that they are folds of these changes. Nor are tables whose columns
    are still to be renamed, but for one that `looks_ahead`.

    Raises: SpecError.
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
            f"Cannot look at {target.history}: its inputs were read again, and it was not folded from them yet.",
            "run `siltstone catch-up`, which completes that",
        )
    if other_settings(spark, project, spec):
        raise SpecError(
            f"Cannot fold {spec.target.history}: it was folded with other settings (keys, columns, tracked columns,"
            " names, snapshot or lateness changed since). Nothing was taken.",
            "restore the settings, or run `siltstone rebuild`: it folds the tables again from"
            f" {spec.target.changes} with the new ones",
        )


def same_keys(context: FoldContext, table: DataFrame, keys: DataFrame) -> list[Column]:
    """The conditions under which a row of a table is of one of the keys, which are columns."""
    pairs = [(table[quoted(name)], keys[quoted(name)]) for name in context.keys]
    return [one.eqNullSafe(other) if context.has_null_keys else one == other for one, other in pairs]


def check_reading(spark: SparkSession, catalog: str, spec: TableSpec) -> None:
    """Refuse to add to changes that were decoded with other settings.

    Raises: SpecError.
    """
    if wrong := decoded_otherwise(spark, catalog, spec):
        raise SpecError(
            f"Cannot go on with {spec.target.changes}: it was decoded with other settings: {'; '.join(wrong)}. Nothing"
            " was taken.",
            "restore the settings, or run `siltstone rebuild --reread`: it reads the inputs again with the new ones",
        )


def other_settings(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> bool:
    """Whether the versions written so far were folded with other settings than the spec has."""
    if not exists(spark, project.catalog.name, spec.target.history):
        return False
    summary = newest_summary(spark, project.catalog.name, spec.target.history)
    written = summary.get(names.SUMMARY_FINGERPRINT)
    return written is not None and written != fold_fingerprint(spec)
