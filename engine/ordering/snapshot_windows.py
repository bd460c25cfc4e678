"""Snapshot windows: which READs still count once the streamed changes of their key are known.

One chunk of a snapshot reads, as a grammar: ``low_watermark ( read | change )* high_watermark``. A streamed change
supersedes every READ of the same key whose window contains it; a READ that nothing supersedes takes its place at the
window's close. Where the window of a READ lies is told by columns that `attach_windows` adds:

- ``close``: the position at which the READ takes its place;
- ``low_position``: where the window opened, null when neither a marker nor the READ itself says so;
- ``low_ts``: streamed changes committed at or after this instant, and at or before ``close``, lie inside.
"""

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.formats import SOURCES
from siltstone.engine.frames import checkpointed, is_from
from siltstone.engine.schema.control_kinds import WINDOW_CLOSE, WINDOW_OPEN


def seconds(duration: timedelta) -> float:
    """A duration in seconds, as Spark's interval functions take it."""
    return duration.total_seconds()


def segment(number: int) -> Column:
    """A segment of the position, counted from 1; empty where it has fewer. Needs: position."""
    return F.split_part("position", F.lit("-"), F.lit(number))


def orders_statements() -> Column:
    """Whether the position of a change is the place of its statement, which can be committed long after a READ.

    Needs: source, position.
    """
    return is_from(lambda kind: kind.orders_statements) | says_no_commit()


def says_no_commit() -> Column:
    """Whether the position of a change is that of its statement alone, although others of its source name the commit.

    Needs: source, position.
    """
    found = F.lit(False)
    for kind in SOURCES:
        if kind.commit_segment is not None:
            is_of_kind = F.col("source").startswith(kind.begins)
            found = found | (is_of_kind & segment(kind.commit_segment).rlike("^0+$"))
    return found


def chunk_windows(control: DataFrame) -> DataFrame:
    """The windows that markers of the signal table delimit.

    Needs: control rows (source, kind, event_id, position, commit_ts).
    Gives: source, window_id, open_position, open_ts, close_position (null: still open).
    Rows: one a window; a redelivered marker counts once (the earliest open, the earliest close).
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
    """Say for every READ where its window lies.

    Needs: source, origin, position, commit_ts; windows as `chunk_windows` gives them, or None when there are none.
    Gives: the columns of `changes`, then close, low_position, low_ts (all null for streamed changes).
    Rows: 1:1.

    The margin reaches back before the window because a commit can stand in the log before a query can see its row.
    The markers' own commit time bounds the window too: a connector that lags stamps its READs long after the query.
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
    # They are cut from their lineage (nothing is computed here): joined as they are, `changes` would be planned twice.
    asked = changes.where(is_read).select("source", "position").distinct()
    found = F.broadcast(enclosing_windows(asked, windows).transform(checkpointed, eager=False))
    joined = changes.join(found, on=["source", "position"], how="left")  # found: one row a (source, position)
    return joined.select(
        *[changes[name] for name in changes.columns if name not in ("source", "position")],
        F.col("source"),
        F.col("position"),
        F.when(is_read, F.greatest("position", "close_position")).alias("close"),
        F.when(is_read, F.least("open_position", streamed_before())).alias("low_position"),
        F.when(is_read, F.least("commit_ts", "open_ts") - back).alias("low_ts"),
    )


def streamed_before() -> Column:
    """What had been streamed when the snapshot of a READ began, where READs of its kind of source say it in their
    position; null otherwise.

    From there on the stream shows which changes the READ has seen, and which it has not.
    """
    found = F.lit(None).cast("string")
    for kind in SOURCES:
        if kind.snapshot_segment is not None:
            reached = segment(kind.snapshot_segment)
            says = F.col("source").startswith(kind.begins) & (reached != "")
            found = F.when(says, F.concat_ws("-", segment(1), reached)).otherwise(found)
    return found


def enclosing_windows(positions: DataFrame, windows: DataFrame) -> DataFrame:
    """The window each position lies in.

    Needs: positions (source, position) without duplicates; windows as `chunk_windows` gives them.
    Gives: source, position, open_position, open_ts, close_position.
    Rows: filters to positions inside a window: of several, the one that closes last.

        windows             position   gives
        [10, 20] [30, 40]    15        [10, 20]
                             20        [10, 20]   a READ can borrow the closing marker's own position
                             25        nothing
                             40        [30, 40]
        [50, never closed    60        nothing: its own position is all that is known of the READ's window
        [70, 90] [75, 80]    77        [70, 90]   two snapshots at once: each change of either may be in the READ
                             85        [70, 90]
    """
    opened = windows.where(F.col("close_position").isNotNull()).select(
        "source",
        F.col("open_position").alias("position"),
        F.lit(0).alias("turn"),
        F.struct("close_position", "open_position", "open_ts").alias("window"),
    )
    asked = positions.select("source", "position", F.lit(1).alias("turn"), F.lit(None).alias("window"))
    before = Window.partitionBy("source").orderBy("position", "turn").rowsBetween(Window.unboundedPreceding, 0)
    placed = opened.unionByName(asked).withColumn("window", F.max("window").over(before))
    not_closed_before = F.col("window.close_position") >= F.col("position")
    return placed.where((F.col("turn") == 1) & F.col("window").isNotNull() & not_closed_before).select(
        "source", "position", "window.open_position", "window.open_ts", "window.close_position"
    )
