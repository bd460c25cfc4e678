"""Commits that readers see whole or not at all, each with its marker in the snapshot's summary.

A run writes to a branch of its own, as often as it needs, and publishes with one fast-forward. The fast-forward is the
compare-and-set: it fails when somebody else has moved the table on, and then nothing has happened.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from pyspark.sql import Column, DataFrame, DataFrameWriterV2, SparkSession
from pyspark.sql import functions as F

from engine import names
from engine.errors import CommitConflictError, CommitStateUnknownError
from engine.iceberg import JAVA_ERRORS, plain
from engine.table.catalog import MAIN, identifier, load, read, snapshot_id
from engine.table.layout import PLAIN, Layout
from engine.table.merge import all_recorded

BRANCH_PREFIX = "siltstone_"
# What Iceberg says when another writer was faster; the last one of a branch that another run has dropped.
CONFLICTS = ("CommitFailedException", "ValidationException", "not an ancestor", f"does not exist: {BRANCH_PREFIX}")
SUMMARY_OPTION = "snapshot-property."
SUMMARY_CONF = "spark.sql.iceberg." + SUMMARY_OPTION  # for statements, which take no options


class Branch:
    """One table's branch while a run writes to it.

    Make it with `Branch.start`, write with `append` and `execute`, then `publish` or `drop`.
    """

    def __init__(
        self,
        spark: SparkSession,
        catalog: str,
        table: str,
        name: str,
        base: int | None,
        summary: Mapping[str, str],
        layout: Layout = PLAIN,
    ) -> None:
        self.spark = spark
        self.catalog = catalog
        self.table = table
        self.name = name
        self.base = base
        self.summary = dict(summary)
        self.layout = layout

    @classmethod
    def start(
        cls,
        spark: SparkSession,
        catalog: str,
        table: str,
        summary: Mapping[str, str],
        layout: Layout = PLAIN,
    ) -> "Branch":
        """Open a branch at the table's newest snapshot; every commit on it carries `summary`.

        `layout`: how a history's rows lie in the table.
        """
        java = load(spark, catalog, table)
        name = BRANCH_PREFIX + uuid.uuid4().hex[:12]
        snapshot = snapshot_id(java)
        manage = java.manageSnapshots()
        (manage.createBranch(name) if snapshot is None else manage.createBranch(name, snapshot)).commit()
        return cls(spark, catalog, table, name, snapshot, summary, layout)

    @property
    def identifier(self) -> str:
        """The branch as SQL takes it."""
        return identifier(self.catalog, self.table, self.name)

    def append(self, rows: DataFrame) -> None:
        """Append rows. No rows are a commit too: it carries the marker."""
        with one_boundary(self.table):
            self.writer(rows).append()

    def replace(self, rows: DataFrame, where: Column | None = None) -> None:
        """Put these rows in the place of all there are, or of a partition, which `where` names, in one commit; in two
        where nothing is ever deleted."""
        if self.layout.recorded and where is None:
            self.execute(all_recorded(self.identifier, self.layout))
            self.append(rows)
            return
        with one_boundary(self.table):
            self.writer(rows).overwrite(F.lit(True) if where is None else where)

    def writer(self, rows: DataFrame) -> DataFrameWriterV2:
        """What writes rows to the branch in a commit that carries the marker."""
        writer = self.layout.stored(rows).writeTo(self.identifier)
        for key, value in self.summary.items():
            writer = writer.option(SUMMARY_OPTION + key, value)
        return writer

    def execute(self, statement: str) -> None:
        """Run a statement that writes to the branch."""
        with one_boundary(self.table), summarised(self.spark, self.summary):
            self.spark.sql(statement)

    def read(self) -> DataFrame:
        """The branch as it stands now."""
        return read(self.spark, self.catalog, self.table, self.name, self.layout)

    def newest_count(self, key: str) -> int:
        """A count that Iceberg keeps in the summary of the branch's newest commit (``added-records``).

        Raises: CommitConflictError: another run has dropped the branch.
        """
        snapshot = load(self.spark, self.catalog, self.table).snapshot(self.name)
        if snapshot is None:
            raise overtaken(self.table)
        return int(plain(self.spark, snapshot.summary()).get(key, "0"))

    def publish(self) -> None:
        """Make the branch the table, and the branch go.

        Raises: CommitConflictError: the table has moved on since the branch began, or another run has dropped the
            branch; it is dropped.
        """
        java = load(self.spark, self.catalog, self.table)
        try:
            # A write that was under way when another run dropped the branch makes it again, at the table's newest
            # snapshot: the fast-forward alone would then let it pass behind the batch of that run.
            if snapshot_id(java) != self.base:
                raise overtaken(self.table)
            written = java.snapshot(self.name)
            if written is None:
                raise overtaken(self.table)
            with one_boundary(self.table):
                manage = java.manageSnapshots().fastForwardBranch(MAIN, self.name)
                kept(manage, java, written.snapshotId()).removeBranch(self.name).commit()
        except CommitConflictError:
            self.drop()
            raise

    def drop(self) -> None:
        """Let the branch go; its files are removed by maintenance."""
        java = load(self.spark, self.catalog, self.table)
        if self.name in java.refs():
            remove_branch(java, self.table, self.name)


def kept(manage: Any, java: Any, snapshot: int) -> Any:
    """A change of a table's references that also tags a snapshot: so no expiry takes the marker with it."""
    tag = manage.replaceTag if names.MARKER_TAG in java.refs() else manage.createTag
    return tag(names.MARKER_TAG, snapshot)


def remove_branch(java: Any, table: str, name: str) -> None:
    """Remove a branch. Another run that removes it at the same moment does what is wanted."""
    with suppress(CommitConflictError), one_boundary(table):
        java.manageSnapshots().removeBranch(name).commit()


def drop_stale_branches(spark: SparkSession, catalog: str, table: str) -> None:
    """Remove what runs that died have left: nobody else writes while this run holds the lock."""
    java = load(spark, catalog, table)
    for name in plain(spark, java.refs().keySet()):
        if name.startswith(BRANCH_PREFIX):
            remove_branch(java, table, name)


def newest_summary(spark: SparkSession, catalog: str, table: str, key: str = names.SUMMARY_BATCH) -> dict[str, str]:
    """The summary of the newest snapshot of main that carries `key`; empty when none does.

    A commit by another engine carries no marker: the one before it still holds.
    """
    return next((summary for summary in summaries(spark, catalog, table) if key in summary), {})


def summary_of_batch(spark: SparkSession, catalog: str, table: str, batch: int, key: str) -> dict[str, str]:
    """The summary of the newest snapshot of main that carries `key` and a batch up to `batch`; empty when none does."""
    told = (summary for summary in summaries(spark, catalog, table) if key in summary)
    return next((summary for summary in told if int(summary.get(names.SUMMARY_BATCH, "0")) <= batch), {})


def attempt_of(spark: SparkSession, catalog: str, table: str, batch: int) -> str | None:
    """The attempt that made a batch of a table; empty where its commit names none, None where no snapshot tells."""
    told = (summary for summary in summaries(spark, catalog, table) if names.SUMMARY_BATCH in summary)
    made = next((summary for summary in told if int(summary[names.SUMMARY_BATCH]) == batch), None)
    return None if made is None else made.get(names.SUMMARY_ATTEMPT, "")


def summaries(spark: SparkSession, catalog: str, table: str) -> Iterator[dict[str, str]]:
    """The summaries of main's snapshots, as far as they are not expired, the newest first.

    Where what is left of main was all written by others, the tag still holds what siltstone wrote last.
    """
    java = load(spark, catalog, table)
    snapshot, tagged = java.currentSnapshot(), java.snapshot(names.MARKER_TAG)
    while snapshot is not None:
        yield dict(plain(spark, snapshot.summary()))
        parent, last = snapshot.parentId(), snapshot
        snapshot = None if parent is None else java.snapshot(parent)
        if snapshot is None and parent is not None and tagged is not None:
            snapshot = tagged if tagged.sequenceNumber() < last.sequenceNumber() else None


@contextmanager
def summarised(spark: SparkSession, summary: Mapping[str, str]) -> Iterator[None]:
    """Every Iceberg commit of the session inside the block carries these summary properties."""
    for key, value in summary.items():
        spark.conf.set(SUMMARY_CONF + key, value)
    try:
        yield
    finally:
        for key in summary:
            spark.conf.unset(SUMMARY_CONF + key)


@contextmanager
def one_boundary(table: str) -> Iterator[None]:
    """Iceberg's exceptions become siltstone's here, and nowhere else."""
    try:
        yield
    except JAVA_ERRORS as error:
        text = str(error)
        if "CommitStateUnknownException" in text:
            raise CommitStateUnknownError(
                f"Cannot tell whether the commit to {table} stands: the catalog did not answer.",
                "look at the table's newest snapshot before running again",
            ) from error
        if any(sign in text for sign in CONFLICTS):
            raise overtaken(table) from error
        raise


def overtaken(table: str) -> CommitConflictError:
    """The error of a run that lost a race."""
    return CommitConflictError(
        f"Cannot commit to {table}: another writer was faster; nothing was changed.", "run again"
    )
