"""Atomic commits: readers see all of a run's writes to a table or none. The snapshot summary holds the marker.

A run writes to its own branch, with as many commits as it needs, and publishes with one fast-forward. The fast-forward
is the compare-and-set: it fails if another program has committed to the table meanwhile, and then nothing has changed.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from pyspark.sql import Column, DataFrame, DataFrameWriterV2, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.errors import CommitConflictError, CommitStateUnknownError
from siltstone.engine.iceberg import JAVA_ERRORS, plain
from siltstone.engine.schema.commits import Commit, foreign_commits
from siltstone.engine.table.catalog import MAIN, identifier, load, read, snapshot_id
from siltstone.engine.table.history_layout import PLAIN, Layout
from siltstone.engine.table.merge import all_recorded

BRANCH_PREFIX = "siltstone_"
OWN = "siltstone."  # the prefix of a marker's keys in a summary
# Texts in Iceberg's errors after another writer was faster. The last one: another run has dropped the branch.
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
        sole_writer: bool = False,
    ) -> "Branch":
        """Create a branch at the table's newest snapshot; every commit on it carries `summary`.

        `layout`: how the table stores the rows of a history.

        Raises: CommitConflictError: with `sole_writer`, another program has changed the table's rows after the run
            read the table.
        """
        java = load(spark, catalog, table)
        if sole_writer and foreign_commits(commits_of(spark, java)):
            raise commit_conflict(table)
        name = BRANCH_PREFIX + uuid.uuid4().hex[:12]
        snapshot = snapshot_id(java)
        manage = java.manageSnapshots()
        (manage.createBranch(name) if snapshot is None else manage.createBranch(name, snapshot)).commit()
        return cls(spark, catalog, table, name, snapshot, summary, layout)

    @property
    def identifier(self) -> str:
        """The branch as an SQL identifier."""
        return identifier(self.catalog, self.table, self.name)

    def append(self, rows: DataFrame) -> None:
        """Append rows. An append of no rows is a commit too, which carries the marker."""
        with one_boundary(self.table):
            self.writer(rows).append()

    def replace(self, rows: DataFrame, where: Column | None = None) -> None:
        """Replace all rows, or the rows of the partition that `where` selects, in one commit.

        Two commits if the layout keeps replaced rows (`recorded`).
        """
        if self.layout.recorded and where is None:
            self.execute(all_recorded(self.identifier, self.layout))
            self.append(rows)
            return
        with one_boundary(self.table):
            self.writer(rows).overwrite(F.lit(True) if where is None else where)

    def writer(self, rows: DataFrame) -> DataFrameWriterV2:
        """A writer of these rows to the branch, whose commit carries the marker."""
        writer = self.layout.stored(rows).writeTo(self.identifier)
        for key, value in self.summary.items():
            writer = writer.option(SUMMARY_OPTION + key, value)
        return writer

    def execute(self, statement: str) -> None:
        """Run a statement that writes to the branch."""
        with one_boundary(self.table), summarised(self.spark, self.summary):
            self.spark.sql(statement)

    def read(self) -> DataFrame:
        """The current rows of the branch."""
        return read(self.spark, self.catalog, self.table, self.name, self.layout)

    def newest_count(self, key: str) -> int:
        """A count from the summary of the branch's newest commit, such as ``added-records``.

        Raises: CommitConflictError: another run has dropped the branch.
        """
        snapshot = load(self.spark, self.catalog, self.table).snapshot(self.name)
        if snapshot is None:
            raise commit_conflict(self.table)
        return int(plain(self.spark, snapshot.summary()).get(key, "0"))

    def publish(self) -> None:
        """Fast-forward the table to the branch, and remove the branch.

        Raises: CommitConflictError: another commit was made to the table since the branch began, or another run has
            dropped the branch. The branch is dropped.
        """
        java = load(self.spark, self.catalog, self.table)
        try:
            # If another run drops the branch during a write, the write recreates it at the table's newest snapshot.
            # The fast-forward alone would then succeed, on top of the other run's batch.
            if snapshot_id(java) != self.base:
                raise commit_conflict(self.table)
            written = java.snapshot(self.name)
            if written is None:
                raise commit_conflict(self.table)
            with one_boundary(self.table):
                manage = java.manageSnapshots().fastForwardBranch(MAIN, self.name)
                with_marker_tag(manage, java, written.snapshotId()).removeBranch(self.name).commit()
        except CommitConflictError:
            self.drop()
            raise

    def drop(self) -> None:
        """Remove the branch. Maintenance removes its files."""
        java = load(self.spark, self.catalog, self.table)
        if self.name in java.refs():
            remove_branch(java, self.table, self.name)


def with_marker_tag(manage: Any, java: Any, snapshot: int) -> Any:
    """Add the marker tag on a snapshot to a change of the table's references, so that it never expires."""
    tag = manage.replaceTag if names.MARKER_TAG in java.refs() else manage.createTag
    return tag(names.MARKER_TAG, snapshot)


def tag_marker(spark: SparkSession, catalog: str, table: str) -> None:
    """Move the marker tag to the newest commit with a marker, if a run that died has left it on an older one."""
    java = load(spark, catalog, table)
    marked = next((one for one in lineage(java) if names.SUMMARY_BATCH in one.summary()), None)
    tagged = java.snapshot(names.MARKER_TAG)
    if marked is None or (tagged is not None and tagged.snapshotId() == marked.snapshotId()):
        return
    with one_boundary(table):
        with_marker_tag(java.manageSnapshots(), java, marked.snapshotId()).commit()


def remove_branch(java: Any, table: str, name: str) -> None:
    """Remove a branch. It is no error if another run removes it at the same time."""
    with suppress(CommitConflictError), one_boundary(table):
        java.manageSnapshots().removeBranch(name).commit()


def drop_stale_branches(spark: SparkSession, catalog: str, table: str) -> None:
    """Remove the branches of runs that died. No other run writes while this run holds the lock."""
    java = load(spark, catalog, table)
    for name in plain(spark, java.refs().keySet()):
        if name.startswith(BRANCH_PREFIX):
            remove_branch(java, table, name)


def newest_summary(spark: SparkSession, catalog: str, table: str, key: str = names.SUMMARY_BATCH) -> Mapping[str, str]:
    """The summary of the newest snapshot of main that has `key`; empty if none has it.

    A commit by another engine has no marker. The marker before it is still valid.
    """
    return next((summary for summary in summaries(spark, catalog, table) if key in summary), {})


def own_marker(spark: SparkSession, catalog: str, table: str) -> dict[str, str]:
    """The newest marker of main, for a commit that changes no row.

    Empty for a ledger: it has no marker tag, and its snapshots are not searched.
    """
    if names.MARKER_TAG not in load(spark, catalog, table).refs():
        return {}
    return {key: value for key, value in newest_summary(spark, catalog, table).items() if key.startswith(OWN)}


def marker_on(spark: SparkSession, catalog: str, table: str, branch: str | None) -> Mapping[str, str]:
    """The newest marker of the branch of a run, or of main (None)."""
    if branch is None:
        return newest_summary(spark, catalog, table)
    return dict(plain(spark, load(spark, catalog, table).snapshot(branch).summary()))


def summary_of_batch(spark: SparkSession, catalog: str, table: str, batch: int, key: str) -> Mapping[str, str]:
    """The summary of the newest snapshot of main that has `key` and a batch up to `batch`; empty if none has."""
    found = (summary for summary in summaries(spark, catalog, table) if key in summary)
    return next((summary for summary in found if int(summary.get(names.SUMMARY_BATCH, "0")) <= batch), {})


def attempt_of(spark: SparkSession, catalog: str, table: str, batch: int) -> str | None:
    """The attempt that committed a batch of a table; empty if its commit names none, None if no snapshot has it."""
    marked = (summary for summary in summaries(spark, catalog, table) if names.SUMMARY_BATCH in summary)
    made = next((summary for summary in marked if int(summary[names.SUMMARY_BATCH]) == batch), None)
    return None if made is None else made.get(names.SUMMARY_ATTEMPT, "")


def summaries(spark: SparkSession, catalog: str, table: str) -> Iterator[Mapping[str, str]]:
    """The summaries of main's snapshots that are not expired, newest first."""
    return (commit.summary for commit in commits_of(spark, load(spark, catalog, table)))


def commits_of(spark: SparkSession, java: Any) -> Iterator[Commit]:
    """The commits of main, newest first."""
    for one in lineage(java):
        yield Commit.of(one.snapshotId(), one.timestampMillis(), one.operation(), dict(plain(spark, one.summary())))


def lineage(java: Any) -> Iterator[Any]:
    """Main's snapshots (Java) that are not expired, newest first.

    If all snapshots left on main are from other programs, the marker tag still has siltstone's last one.
    """
    snapshot, tagged = java.currentSnapshot(), java.snapshot(names.MARKER_TAG)
    while snapshot is not None:
        yield snapshot
        parent, last = snapshot.parentId(), snapshot
        snapshot = None if parent is None else java.snapshot(parent)
        if snapshot is None and tagged is not None:
            snapshot = tagged if tagged.sequenceNumber() < last.sequenceNumber() else None


def lost_commits(spark: SparkSession, catalog: str, table: str) -> str | None:
    """How expired commits of other programs changed the rows, in words. None if they changed nothing.

    Only the number of rows is left to compare. If it is the same, the expired commits count as maintenance.
    """
    since = []
    for commit in commits_of(spark, java := load(spark, catalog, table)):
        if commit.is_trusted:
            break
        since.append(commit.snapshot_id)
    else:
        commit = None
    if not since or java.snapshot(since[-1]).parentId() == (None if commit is None else commit.snapshot_id):
        return None
    if commit is None:
        return "the commit that carries siltstone's marker has expired"
    before, now = (rows_of(spark, catalog, table, one) for one in (commit.snapshot_id, since[-1]))
    return None if before == now else f"commits that have expired since: {before} rows then, {now} rows now"


def rows_of(spark: SparkSession, catalog: str, table: str, snapshot: int) -> int:
    """How many rows a snapshot holds."""
    found = spark.sql(f"SELECT count(*) FROM {identifier(catalog, table)} VERSION AS OF {snapshot}").first()
    assert found is not None
    return int(found[0])


@contextmanager
def summarised(spark: SparkSession, summary: Mapping[str, str]) -> Iterator[None]:
    """Let every Iceberg commit of the session inside the block carry these summary properties."""
    for key, value in summary.items():
        spark.conf.set(SUMMARY_CONF + key, value)
    try:
        yield
    finally:
        for key in summary:
            spark.conf.unset(SUMMARY_CONF + key)


@contextmanager
def one_boundary(table: str) -> Iterator[None]:
    """Raise Iceberg's exceptions as siltstone's. Only this function maps them."""
    try:
        yield
    except JAVA_ERRORS as error:
        text = str(error)
        if "CommitStateUnknownException" in text:
            raise CommitStateUnknownError(
                f"Cannot find out whether the commit to {table} succeeded: the catalog did not answer.",
                "look at the table's newest snapshot before you retry",
            ) from error
        if any(sign in text for sign in CONFLICTS):
            raise commit_conflict(table) from error
        raise


def commit_conflict(table: str) -> CommitConflictError:
    """The error of a run that lost a race."""
    return CommitConflictError(f"Cannot commit to {table}: another writer was faster; nothing was changed.", "retry")
