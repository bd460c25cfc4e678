"""Older changes whose earlier findings are out of date, because a new change precedes them in the log."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.quality.check_timeline import is_streamed
from siltstone.quality.scope import BROADCAST_KEYS, SLACK, Scope, Tables


def affected_older_changes(tables: Tables, scope: Scope, changes: DataFrame) -> DataFrame | None:
    """The older changes with a later position than a checked change of their key. None if there cannot be any.

    Needs: the digest of the checked changes.
    Gives: the columns of the table's changes.
    Rows: filters the changes of earlier batches.

        before         checked        gives
        k 10, 30, 40   k 20, j 50     k 30, 40
        j 15
    """
    if not scope.has_older or not scope.early or scope.columns.keyless:
        return None
    keys = changes.where(F.col("key").isNotNull()).groupBy("key").agg(F.min("position").alias("_first"))
    first = F.col("_first") if scope.truncate is None else F.least("_first", F.lit(scope.truncate))
    if scope.changes <= BROADCAST_KEYS:
        keys = F.broadcast(keys)
    how = "inner" if scope.truncate is None else "left"  # a truncate precedes the changes of all keys
    found = older_changes(tables, scope).join(keys, on="key", how=how).where(F.col("position") > first)
    return found.select(*tables.changes.columns)


def older_changes(tables: Tables, scope: Scope) -> DataFrame:
    """The streamed changes of earlier batches that were not committed before all checked ones. Rows: filters."""
    is_older = (F.col("batch") <= scope.since) & ~F.coalesce("too_late", F.lit(False))
    older = tables.changes.where(is_older & is_streamed() & F.col("key").isNotNull())
    if scope.earliest is None:
        return older
    return older.where(F.col("commit_ts").isNull() | (F.col("commit_ts") >= F.lit(scope.earliest - SLACK)))
