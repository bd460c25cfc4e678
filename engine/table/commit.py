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

from siltstone.engine import names
from siltstone.engine.errors import CommitConflictError, CommitStateUnknownError
from siltstone.engine.iceberg import JAVA_ERRORS, plain
from siltstone.engine.schema.commits import Commit, foreign_commits
from siltstone.engine.table.catalog import MAIN, identifier, load, read, snapshot_id
from siltstone.engine.table.history_layout import PLAIN, Layout
from siltstone.engine.table.merge import all_recorded

BRANCH_PREFIX = "siltstone_"
OWN = "siltstone."  # how the keys of a marker begin in a summary
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
        sole_writer: bool = False,
    ) -> "Branch":
        """Open a branch at the table's newest snapshot; every commit on it carries `summary`.

        `layout`: how a history's rows lie in the table.

        Raises: CommitConflictError: with `sole_writer`, another program has changed the table's rows since siltstone
            last wrote them: the run saw the table before that.
        """
        java = load(spark, catalog, table)
        if sole_writer and foreign_commits(commits_of(spark, java)):
            raise overtaken(table)
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


def tag_marker(spark: SparkSession, catalog: str, table: str) -> None:
    """Put the tag on the newest commit that carries a marker, where a run that died has left it on an older one."""
    java = load(spark, catalog, table)
    marked = next((one for one in lineage(java) if names.SUMMARY_BATCH in one.summary()), None)
    tagged = java.snapshot(names.MARKER_TAG)
    if marked is None or (tagged is not None and tagged.snapshotId() == marked.snapshotId()):
        return
    with one_boundary(table):
        kept(java.manageSnapshots(), java, marked.snapshotId()).commit()


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


def newest_summary(spark: SparkSession, catalog: str, table: str, key: str = names.SUMMARY_BATCH) -> Mapping[str, str]:
    """The summary of the newest snapshot of main that carries `key`; empty when none does.

    A commit by another engine carries no marker: the one before it still holds.
    """
    return next((summary for summary in summaries(spark, catalog, table) if key in summary), {})


def own_marker(spark: SparkSession, catalog: str, table: str) -> dict[str, str]:
    """What the newest marker of main says, to be carried by a commit that changes no row; empty for a ledger, which has
    no tag: its snapshots are not searched."""
    if names.MARKER_TAG not in load(spark, catalog, table).refs():
        return {}
    return {key: value for key, value in newest_summary(spark, catalog, table).items() if key.startswith(OWN)}


def marker_on(spark: SparkSession, catalog: str, table: str, branch: str | None) -> Mapping[str, str]:
    """The newest marker of a branch that a run writes, or of main (None)."""
    if branch is None:
        return newest_summary(spark, catalog, table)
    return dict(plain(spark, load(spark, catalog, table).snapshot(branch).summary()))


def summary_of_batch(spark: SparkSession, catalog: str, table: str, batch: int, key: str) -> Mapping[str, str]:
    """The summary of the newest snapshot of main that carries `key` and a batch up to `batch`; empty when none does."""
    told = (summary for summary in summaries(spark, catalog, table) if key in summary)
    return next((summary for summary in told if int(summary.get(names.SUMMARY_BATCH, "0")) <= batch), {})


def attempt_of(spark: SparkSession, catalog: str, table: str, batch: int) -> str | None:
    """The attempt that made a batch of a table; empty where its commit names none, None where no snapshot tells."""
    told = (summary for summary in summaries(spark, catalog, table) if names.SUMMARY_BATCH in summary)
    made = next((summary for summary in told if int(summary[names.SUMMARY_BATCH]) == batch), None)
    return None if made is None else made.get(names.SUMMARY_ATTEMPT, "")


def summaries(spark: SparkSession, catalog: str, table: str) -> Iterator[Mapping[str, str]]:
    """The summaries of main's snapshots, as far as they are not expired, the newest first."""
    return (commit.summary for commit in commits_of(spark, load(spark, catalog, table)))


def commits_of(spark: SparkSession, java: Any) -> Iterator[Commit]:
    """The commits of main, the newest first."""
    for one in lineage(java):
        yield Commit.of(one.snapshotId(), one.timestampMillis(), one.operation(), dict(plain(spark, one.summary())))


def lineage(java: Any) -> Iterator[Any]:
    """Main's snapshots (Java), as far as they are not expired, the newest first.

    Where what is left of main was all written by others, the tag still holds what siltstone wrote last.
    """
    snapshot, tagged = java.currentSnapshot(), java.snapshot(names.MARKER_TAG)
    while snapshot is not None:
        yield snapshot
        parent, last = snapshot.parentId(), snapshot
        snapshot = None if parent is None else java.snapshot(parent)
        if snapshot is None and tagged is not None:
            snapshot = tagged if tagged.sequenceNumber() < last.sequenceNumber() else None


def lost_commits(spark: SparkSession, catalog: str, table: str) -> str | None:
    """What expired commits of other programs did to the rows, in words. None where they did nothing.

    Only the number of rows is left to compare: where it is the same, what has expired is taken for maintenance.
    """
    since = []
    for commit in commits_of(spark, java := load(spark, catalog, table)):
        if commit.vouches:
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
