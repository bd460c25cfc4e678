"""Snapshot windows: the part of the log in which a streamed change supersedes a READ of the same key.

One chunk of a snapshot has this grammar: ``low_watermark ( read | change )* high_watermark``. A streamed change
supersedes every READ of the same key whose window contains it. A READ that is not superseded takes its place at the
window's close. `attach_windows` adds the columns that bound the window of a READ:

- ``close``: the position at which the READ takes its place;
- ``low_position``: where the window opened; null if neither a marker nor the READ itself has it;
- ``low_ts``: streamed changes committed at or after this time, and at or before ``close``, are inside.
"""

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.formats import SOURCES
from siltstone.engine.frames import checkpointed, is_from
from siltstone.engine.schema.control_kinds import WINDOW_CLOSE, WINDOW_OPEN


def seconds(duration: timedelta) -> float:
    """A duration in seconds, for Spark's interval functions."""
    return duration.total_seconds()


def segment(number: int) -> Column:
    """A segment of the position, counted from 1; empty if there are fewer. Needs: position."""
    return F.split_part("position", F.lit("-"), F.lit(number))


def orders_statements() -> Column:
    """Whether the position of a change is that of its statement, which can be committed long after a READ.

    Needs: source, position.
    """
    return is_from(lambda kind: kind.orders_statements) | lacks_commit_position()


def lacks_commit_position() -> Column:
    """Whether the position of a change lacks the commit, which positions of this kind of source usually name.

    Needs: source, position.
    """
    found = F.lit(False)
    for kind in SOURCES:
        if kind.commit_segment is not None:
            is_of_kind = F.col("source").startswith(kind.begins)
            found = found | (is_of_kind & segment(kind.commit_segment).rlike("^0+$"))
    return found


def chunk_windows(control: DataFrame) -> DataFrame:
    """The windows that the markers of the signal table delimit.

    Needs: control rows (source, kind, event_id, position, commit_ts).
    Gives: source, window_id, open_position, open_ts, close_position (null: still open).
    Rows: one per window; a redelivered marker counts once (the earliest open, the earliest close).
    """
    opened = F.col("kind") == WINDOW_OPEN
    closed = F.col("kind") == WINDOW_CLOSE
    markers = control.where((opened | closed) & F.col("position").isNotNull())
    window_id = F.regexp_replace("event_id", "-(open|close)$", "")
    return (
        markers.groupBy("source", window_id.alias("window_id"))
        .agg(
            F.min(F.when(opened, F.col("position"))).alias("open_position"),
            F.min(F.when(opened, F.col("commit_ts"))).alias("open_ts"),
            F.min(F.when(closed, F.col("position"))).alias("close_position"),
        )
        .where(F.col("open_position").isNotNull())
    )


def attach_windows(changes: DataFrame, windows: DataFrame | None, margin: timedelta) -> DataFrame:
    """Add the bounds of its window to every READ.

    Needs: source, origin, position, commit_ts; windows as `chunk_windows` gives them, or None if there are none.
    Gives: the columns of `changes`, then close, low_position, low_ts (all null for streamed changes).
    Rows: 1:1.

    The window starts earlier by the margin, because a commit can be in the log before a query can see its row. It also
    starts no later than the opening marker's commit time: a connector that lags gives READs a time long after the
    query.
    """
    is_read = F.col("origin") == names.ORIGIN_SNAPSHOT
    back = F.make_dt_interval(secs=F.lit(seconds(margin)))
    if windows is None:
        return changes.select(
            "*",
            F.when(is_read, F.col("position")).alias("close"),
            F.when(is_read, streamed_before()).alias("low_position"),
            F.when(is_read, F.col("commit_ts") - back).alias("low_ts"),
        )
    # READs of one chunk share the position they borrowed, so the join is over few distinct positions, not over READs.
    # The lazy checkpoint cuts their lineage. Otherwise `changes` would be planned twice.
    read_positions = changes.where(is_read).select("source", "position").distinct()
    found = F.broadcast(enclosing_windows(read_positions, windows).transform(checkpointed, eager=False))
    joined = changes.join(found, on=["source", "position"], how="left")  # found: one row per (source, position)
    return joined.select(
        *[changes[name] for name in changes.columns if name not in ("source", "position")],
        F.col("source"),
        F.col("position"),
        F.when(is_read, F.greatest("position", "close_position")).alias("close"),
        F.when(is_read, F.least("open_position", streamed_before())).alias("low_position"),
        F.when(is_read, F.least("commit_ts", "open_ts") - back).alias("low_ts"),
    )


def streamed_before() -> Column:
    """The position up to which changes were streamed when the snapshot of a READ began.

    Null if positions of this kind of source do not have it. Changes after it can be in the READ or not.
    """
    found = F.lit(None).cast("string")
    for kind in SOURCES:
        if kind.snapshot_segment is not None:
            reached = segment(kind.snapshot_segment)
            has_segment = F.col("source").startswith(kind.begins) & (reached != "")
            found = F.when(has_segment, F.concat_ws("-", segment(1), reached)).otherwise(found)
    return found


def enclosing_windows(positions: DataFrame, windows: DataFrame) -> DataFrame:
    """The window that contains each position.

    Needs: positions (source, position) without duplicates; windows as `chunk_windows` gives them.
    Gives: source, position, open_position, open_ts, close_position.
    Rows: filters to positions inside a window. Of several windows, the one that closes last.

        windows             position   gives
        [10, 20] [30, 40]    15        [10, 20]
                             20        [10, 20]   a READ can borrow the position of the closing marker
                             25        none
                             40        [30, 40]
        [50, never closed    60        none: the READ's window is known only by its own position
        [70, 90] [75, 80]    77        [70, 90]   two snapshots at once: a change in either can be in the READ
                             85        [70, 90]
    """
    opened = windows.where(F.col("close_position").isNotNull()).select(
        "source",
        F.col("open_position").alias("position"),
        F.lit(0).alias("turn"),
        F.struct("close_position", "open_position", "open_ts").alias("window"),
    )
    wanted = positions.select("source", "position", F.lit(1).alias("turn"), F.lit(None).alias("window"))
    before = Window.partitionBy("source").orderBy("position", "turn").rowsBetween(Window.unboundedPreceding, 0)
    placed = opened.unionByName(wanted).withColumn("window", F.max("window").over(before))
    not_closed_before = F.col("window.close_position") >= F.col("position")
    return placed.where((F.col("turn") == 1) & F.col("window").isNotNull() & not_closed_before).select(
        "source", "position", "window.open_position", "window.open_ts", "window.close_position"
    )
