"""Incomplete snapshots and ghost rows: the scans of a table compared with its changes."""

from collections.abc import Sequence
from datetime import timedelta
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.counts import counted
from siltstone.engine.formats import kind_of
from siltstone.engine.ordering.snapshot_windows import chunk_windows, enclosing_windows
from siltstone.engine.spec.model import Several, SnapshotSpec, TableSpec
from siltstone.quality import catalogue
from siltstone.quality.check_timeline import Columns, is_streamed, key_struct
from siltstone.quality.snapshot_scans import Scan
from siltstone.quality.source_clocks import ONE_LOG

EMISSION: Final = timedelta(seconds=1)  # the READs of the last chunk can leave the connector just after its notice
# Types that sort here as at the source. The order of text depends on the source's collation.
ORDERED: Final = (T.NumericType, T.DateType, T.TimestampType, T.TimestampNTZType)


def own(changes: DataFrame, scan: Scan, several: Several) -> DataFrame:
    """The changes of the scan's source; with `several: one_log`, those of all sources. Rows: filters."""
    return changes if several == ONE_LOG else changes.where(F.col("source") == scan.source)


def keys_of_others(changes: DataFrame, scan: Scan, several: Several) -> DataFrame:
    """The keys that have changes of other sources: the scan does not contain their rows.

    Gives: key. Rows: filters. The sources of one table have separate keys, or the source is part of the key.
    """
    is_other = F.lit(False) if several == ONE_LOG else F.col("source") != scan.source
    return changes.where(is_other & F.col("key").isNotNull()).select("key")


def reads_of(changes: DataFrame, scan: Scan) -> DataFrame:
    """The scan's READs. Rows: filters."""
    from_scan = F.col("ingest_ts").between(F.lit(scan.begins), F.lit(scan.ends + EMISSION))
    return changes.where(~is_streamed() & F.col("key").isNotNull() & from_scan)


def windows_of(control: DataFrame, scan: Scan, margin: timedelta) -> DataFrame:
    """The windows of the scan's source that were opened during the scan, as `chunk_windows` gives them."""
    near = F.col("open_ts").between(F.lit(scan.begins - margin), F.lit(scan.ends + margin))
    return chunk_windows(control.where(F.col("source") == scan.source)).where(near)


def first_place(reads: DataFrame, windows: DataFrame, scan: Scan) -> str | None:
    """The first known position of a scan; None if the positions of the source's changes are not in commit order."""
    if not kind_of(scan.source).commits_in_order:
        return None
    known = reads.select("position").unionByName(windows.select(F.col("open_position").alias("position")))
    found = known.agg(F.min("position")).first()
    return None if found is None else found[0]


def is_since(scan: Scan, place: str | None, snapshot: SnapshotSpec, moment: Column, position: Column) -> Column:
    """True for changes that may have been committed after the scan began: the scan may not contain them.

    Some sources give a change the time of its statement, which can be long before its commit. Then the position
    decides. If the scan has no known position (`place`), `snapshot.guard` decides: it is the longest transaction.
    """
    is_later = moment >= F.lit(scan.begins - snapshot.margin)
    if kind_of(scan.source).stamps_commits:
        return is_later
    if place is None:
        return moment >= F.lit(scan.begins - max(snapshot.margin, snapshot.guard))
    return is_later | F.coalesce(position >= F.lit(place), F.lit(False))


def changed_since(changes: DataFrame, scan: Scan, place: str | None, snapshot: SnapshotSpec) -> DataFrame:
    """The streamed changes of single keys since the scan began. Rows: filters."""
    since = is_since(scan, place, snapshot, F.col("commit_ts"), F.col("position"))
    return changes.where(is_streamed() & F.col("key").isNotNull() & since)


def ghost_rows(
    changes: DataFrame,
    latest: DataFrame,
    control: DataFrame,
    found: Sequence[Scan],
    columns: Columns,
    spec: TableSpec,
) -> DataFrame:
    """Live rows that a scan of their source does not contain and that have no later change: a delete was missed.

    Needs: all changes, latest rows, control rows, `scans`.
    Gives: check, position_from, position_to (null), key, message.
    Rows: one per key and scan.
    """
    parts = [ghosts_of(changes, latest, control, scan, columns, spec) for scan in found]
    return reduce(DataFrame.unionByName, parts)


def ghosts_of(
    changes: DataFrame, latest: DataFrame, control: DataFrame, scan: Scan, columns: Columns, spec: TableSpec
) -> DataFrame:
    """The ghost rows of one scan. Needs, Gives and Rows: as `ghost_rows`."""
    several, snapshot = spec.source.several, spec.snapshot
    mine = own(changes, scan, several)
    reads = reads_of(mine, scan)
    place = first_place(reads, windows_of(control, scan, snapshot.margin), scan)
    older = ~is_since(scan, place, snapshot, F.col(names.VALID_FROM), F.col(names.POSITION))
    live = latest.where(older).select(key_struct(columns), F.col(names.POSITION).alias("position_from"))
    if not scan.whole:
        covered = F.broadcast(reads.agg(F.min("key").alias("first"), F.max("key").alias("last")))  # one row
        live = live.crossJoin(covered).where(F.col("key").between(F.col("first"), F.col("last")))
    known = reads.select("key").unionByName(changed_since(mine, scan, place, snapshot).select("key"))
    explained = known.unionByName(keys_of_others(changes, scan, several))
    began = scan.begins.isoformat(timespec="seconds")
    text = f"the snapshot that began at {began} does not contain the row, and no later change of the row arrived"
    return live.join(explained, "key", "left_anti").select(
        F.lit(catalogue.GHOST_ROW).alias("check"),
        "position_from",
        F.lit(None).cast("string").alias("position_to"),
        "key",
        F.lit(text).alias("message"),
    )


def short_snapshots(
    changes: DataFrame, control: DataFrame, found: Sequence[Scan], key: T.StructType, spec: TableSpec
) -> DataFrame:
    """Scans of which fewer rows arrived than they announced.

    Needs: all changes, control rows, `scans` that announce a number.
    Gives: check, position_from, position_to, key (null), message.
    Rows: one per scan. Inside a window a change supersedes a READ: then the change counts as the row. A read-only
        snapshot has no markers of its windows: then every change during the scan counts.
    """
    return reduce(DataFrame.unionByName, [shortness_of(changes, control, scan, key, spec) for scan in found])


def shortness_of(changes: DataFrame, control: DataFrame, scan: Scan, key: T.StructType, spec: TableSpec) -> DataFrame:
    """The finding of one scan. Needs, Gives and Rows: as `short_snapshots`."""
    mine = own(changes, scan, spec.source.several)
    reads = reads_of(mine, scan)
    rows = reads.select("key", "position")
    if scan.windowed:
        windows = windows_of(control, scan, spec.snapshot.margin).where(F.col("close_position").isNotNull())
        place = first_place(reads, windows, scan)
        changed = changed_since(mine, scan, place, spec.snapshot).where(
            F.col("commit_ts") <= F.lit(scan.ends + EMISSION)
        )
        if not windows.isEmpty():
            changed = standing_for_reads(reads, changed, windows, is_ordered(key))
        rows = rows.unionByName(changed.select("key", "position"))
    totals = rows.agg(
        F.count_distinct("key").alias("rows"), F.min("position").alias("low"), F.max("position").alias("high")
    )
    ended, announced = scan.ends.isoformat(timespec="seconds"), counted(scan.rows or 0, "row")
    text = F.concat(
        F.lit(f"the snapshot that ended at {ended} announced {announced}; "),
        F.col("rows").cast("string"),
        F.lit(" arrived"),
    )
    return totals.where(F.col("rows") < F.lit(scan.rows)).select(
        F.lit(catalogue.SHORT_SNAPSHOT).alias("check"),
        F.col("low").alias("position_from"),
        F.col("high").alias("position_to"),
        F.lit(None).cast(key).alias("key"),
        text.alias("message"),
    )


def standing_for_reads(reads: DataFrame, changed: DataFrame, windows: DataFrame, ordered: bool) -> DataFrame:
    """The changes inside windows that can have superseded a READ of their window.

    Needs: READs and streamed changes of one scan; its closed windows as `chunk_windows` gives them.
    Gives: key, position.
    Rows: filters. A snapshot reads the keys in order. If that order is known here (`ordered`), a change replaces a
        READ only if its key is between the keys of the windows before and after.

        window   READs     changes      replaces a READ
        first    1 2 4     3, 9         3
        second   5 8       6, 9         6, 9: key 9 may have been the last one
    """
    placed = in_windows(changed, windows)
    if not ordered:
        return placed.select("key", "position")
    chunk = in_windows(reads, windows).groupBy("source", "open_position").agg(F.min("key"), F.max("key"))
    known = windows.select("source", "open_position").join(
        chunk.toDF("source", "open_position", "first", "last"), ["source", "open_position"], "left"
    )
    in_order = Window.partitionBy("source").orderBy("open_position")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    after = in_order.rowsBetween(1, Window.unboundedFollowing)
    around = known.select(
        "source",
        "open_position",
        F.last("last", ignorenulls=True).over(before).alias("above"),
        F.first("first", ignorenulls=True).over(after).alias("below"),
    )
    between = F.coalesce(F.col("key") > F.col("above"), F.lit(True)) & F.coalesce(
        F.col("key") < F.col("below"), F.lit(True)
    )
    bounded = placed.join(F.broadcast(around), ["source", "open_position"], "inner")  # one row per window
    return bounded.where(between).select("key", "position")


def in_windows(rows: DataFrame, windows: DataFrame) -> DataFrame:
    """Rows inside a window, with their window.

    Gives: key, position, source, open_position.
    Rows: filters; the windows of one source do not overlap.
    """
    found = enclosing_windows(rows.select("source", "position").distinct(), windows)
    return rows.join(found, ["source", "position"], "inner").select("key", "position", "source", "open_position")


def is_ordered(key: T.StructType) -> bool:
    """Whether keys sort here as at the source."""
    return all(isinstance(field.dataType, ORDERED) for field in key)
