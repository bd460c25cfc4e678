"""Maintenance of one table: compaction, manifests, expiry of snapshots, orphan files. It does not change rows."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession

from siltstone.engine.iceberg import expire_snapshots, plain, rewrite_manifests, rewrite_small_files
from siltstone.engine.names import literal, quoted
from siltstone.engine.report import TableSize
from siltstone.engine.storage import is_remote
from siltstone.engine.table.catalog import identifier, load
from siltstone.engine.table.commit import one_boundary, own_marker, tag_marker

MOST_SMALL_FILES = 24
"""How many small files a table may have before a run compacts them by itself."""
MOST_MANIFESTS = 24
MOST_DELETED = 0.3
"""The share of rows in a file, or in a table, that can be deleted before a run rewrites the file by itself. Each run
deletes rows in most files of a large table: rewriting all of these files would cost as much as rewriting the table."""
REWRITE = {
    "min-input-files": "5",  # in one partition
    "delete-ratio-threshold": str(MOST_DELETED),
    "remove-dangling-deletes": "true",
}
EVERY_DELETE = {"delete-file-threshold": "1"}
SMALLEST_ORPHAN_AGE = timedelta(days=1)
"""A file that is still being written belongs to no snapshot yet."""


def is_scattered(size: TableSize, target_bytes: int) -> bool:
    """Whether a table has many more files than its bytes need, or many deleted rows that are still in its files."""
    is_split = size.files - size.bytes // target_bytes > MOST_SMALL_FILES
    return is_split or size.deleted_rows > MOST_DELETED * size.rows


def size_of(spark: SparkSession, catalog: str, name: str) -> TableSize:
    """The current size of a table: files, rows, manifests and snapshots."""
    java = load(spark, catalog, name)
    snapshot = java.currentSnapshot()
    snapshots = int(java.snapshots().spliterator().getExactSizeIfKnown())
    if snapshot is None:
        return TableSize(0, 0, 0, 0, snapshots)
    counted = plain(spark, snapshot.summary())
    whats = ("data-files", "delete-files", "files-size", "records", "position-deletes")
    files, delete_files, size, rows, deleted = [int(counted.get(f"total-{what}", "0")) for what in whats]
    manifests = int(snapshot.allManifests(java.io()).size())
    return TableSize(files, delete_files, size, manifests, snapshots, rows, deleted)


def compact(
    spark: SparkSession, catalog: str, name: str, target_bytes: int, every_delete: bool = True
) -> tuple[int, int]:
    """Rewrite small files, and files with deleted rows, into few files.

    `every_delete`: also files with few deleted rows (`MOST_DELETED`).
    Gives: how many files were rewritten, and into how many.
    Raises: CommitConflictError: another writer changed these rows meanwhile; nothing was changed.
    """
    options = {**REWRITE, **(EVERY_DELETE if every_delete else {}), "target-file-size-bytes": str(target_bytes)}
    marker = own_marker(spark, catalog, name)
    with one_boundary(name):
        counted = rewrite_small_files(spark, load(spark, catalog, name), options, marker)
    tag_marker(spark, catalog, name)
    return counted


def merge_manifests(spark: SparkSession, catalog: str, name: str) -> None:
    """Rewrite the manifests of a table into few."""
    marker = own_marker(spark, catalog, name)
    with one_boundary(name):
        rewrite_manifests(spark, load(spark, catalog, name), marker)
    tag_marker(spark, catalog, name)


def expire(spark: SparkSession, catalog: str, name: str, retain: timedelta) -> int:
    """Remove the snapshots older than `retain`, except those of branches and tags, with their files.

    Gives: how many were removed.
    """
    java, cutoff = load(spark, catalog, name), _millis(datetime.now(UTC) - retain)
    found = older_than(java, cutoff)
    if found:
        with one_boundary(name):
            expire_snapshots(java, cutoff)
    return found


def expirable(spark: SparkSession, catalog: str, name: str, retain: timedelta) -> int:
    """How many snapshots `expire` would remove."""
    return older_than(load(spark, catalog, name), _millis(datetime.now(UTC) - retain))


def older_than(java: Any, cutoff: int) -> int:
    """How many snapshots are older than a time (milliseconds since 1970) and needed by no branch and no tag."""
    held = {int(ref.snapshotId()) for ref in java.refs().values()}
    return len({int(one.snapshotId()) for one in java.snapshots() if int(one.timestampMillis()) < cutoff} - held)


def orphans(spark: SparkSession, catalog: str, name: str, age: timedelta, dry_run: bool) -> Sequence[str]:
    """Remove the files in a table's folder that no snapshot has and that are older than `age` and than a day.

    Gives: the files; with `dry_run` they stay.
    """
    older_than = datetime.now(UTC) - max(age, SMALLEST_ORPHAN_AGE)
    is_in_store = is_remote(str(load(spark, catalog, name).location()))  # Hadoop cannot list s3://, the FileIO can
    statement = (
        f"CALL {quoted(catalog)}.system.remove_orphan_files(table => {literal(identifier(catalog, name))},"
        f" older_than => TIMESTAMP '{older_than:%Y-%m-%d %H:%M:%S}', dry_run => {str(dry_run).lower()},"
        f" prefix_listing => {str(is_in_store).lower()})"
    )
    with one_boundary(name):
        return [row[0] for row in spark.sql(statement).collect()]


def _millis(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
