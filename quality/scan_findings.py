"""Snapshots that stopped short, and rows that outlived one: the scans of a table beside its changes."""

from collections.abc import Sequence
from datetime import timedelta
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.formats import kind_of
from siltstone.engine.ordering.snapshot_windows import chunk_windows, enclosing_windows
from siltstone.engine.spec.model import Several, SnapshotSpec, TableSpec
from siltstone.quality import catalogue
from siltstone.quality.check_timeline import Columns, is_streamed, key_struct
from siltstone.quality.snapshot_scans import Scan
from siltstone.quality.source_clocks import ONE_LOG

EMISSION: Final = timedelta(seconds=1)  # the READs of the last chunk can leave the connector just after its notice
# Keys whose order here is their order at the source: a text's depends on its collation.
ORDERED: Final = (T.NumericType, T.DateType, T.TimestampType, T.TimestampNTZType)


def own(changes: DataFrame, scan: Scan, several: Several) -> DataFrame:
    """The changes of the scan's source; of names of one log, those of all. Rows: filters."""
    return changes if several == ONE_LOG else changes.where(F.col("source") == scan.source)


def keys_of_others(changes: DataFrame, scan: Scan, several: Several) -> DataFrame:
    """The keys that only other sources have changes of: no scan of this one sees their rows.

    Gives: key. Rows: filters; sources of one table have keys of their own, or the source is part of the key.
    """
    is_other = F.lit(False) if several == ONE_LOG else F.col("source") != scan.source
    return changes.where(is_other & F.col("key").isNotNull()).select("key")


def reads_of(changes: DataFrame, scan: Scan) -> DataFrame:
    """The scan's READs. Rows: filters."""
    from_scan = F.col("ingest_ts").between(F.lit(scan.begins), F.lit(scan.ends + EMISSION))
    return changes.where(~is_streamed() & F.col("key").isNotNull() & from_scan)


def windows_of(control: DataFrame, scan: Scan, margin: timedelta) -> DataFrame:
    """The windows of the scan's source that were opened meanwhile, as `chunk_windows` gives them."""
    near = F.col("open_ts").between(F.lit(scan.begins - margin), F.lit(scan.ends + margin))
    return chunk_windows(control.where(F.col("source") == scan.source)).where(near)


def first_place(reads: DataFrame, windows: DataFrame, scan: Scan) -> str | None:
    """The first position that is known of a scan, where that of a change is the place of its commit."""
    if not kind_of(scan.source).commits_in_order:
        return None
    told = reads.select("position").unionByName(windows.select(F.col("open_position").alias("position")))
    found = told.agg(F.min("position")).first()
    return None if found is None else found[0]


def is_since(scan: Scan, place: str | None, snapshot: SnapshotSpec, moment: Column, position: Column) -> Column:
    """True for what may not have been committed when the scan began: the scan need not have seen it.

    Where the source stamps a change with the time of its statement, that tells no more than that it was not committed
    before; then its position decides, and where none is known of the scan (`place`), the longest transaction.
    """
    is_later = moment >= F.lit(scan.begins - snapshot.margin)
    if kind_of(scan.source).stamps_commits:
        return is_later
    if place is None:
        return moment >= F.lit(scan.begins - max(snapshot.margin, snapshot.guard))
    return is_later | F.coalesce(position >= F.lit(place), F.lit(False))


def changed_since(changes: DataFrame, scan: Scan, place: str | None, snapshot: SnapshotSpec) -> DataFrame:
    """The streamed changes of single keys from the scan's begin on. Rows: filters."""
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
    """Live rows of a scan's source that the scan did not see, and that nothing changed since: a delete was missed.

    Needs: all changes, latest rows, control rows, `scans`.
    Gives: check, position_from, position_to (null), key, message.
    Rows: one a key and scan.
    """
    parts = [ghosts_of(changes, latest, control, scan, columns, spec) for scan in found]
    return reduce(DataFrame.unionByName, parts)


def ghosts_of(
    changes: DataFrame, latest: DataFrame, control: DataFrame, scan: Scan, columns: Columns, spec: TableSpec
) -> DataFrame:
    """The same of one scan."""
    several, snapshot = spec.source.several, spec.snapshot
    mine = own(changes, scan, several)
    reads = reads_of(mine, scan)
    place = first_place(reads, windows_of(control, scan, snapshot.margin), scan)
    older = ~is_since(scan, place, snapshot, F.col(names.VALID_FROM), F.col(names.POSITION))
    live = latest.where(older).select(key_struct(columns), F.col(names.POSITION).alias("position_from"))
    if not scan.whole:
        covered = F.broadcast(reads.agg(F.min("key").alias("first"), F.max("key").alias("last")))  # one row
        live = live.crossJoin(covered).where(F.col("key").between(F.col("first"), F.col("last")))
    touched = reads.select("key").unionByName(changed_since(mine, scan, place, snapshot).select("key"))
    explained = touched.unionByName(keys_of_others(changes, scan, several))
    began = scan.begins.isoformat(timespec="seconds")
    text = f"the snapshot that began at {began} did not see the row, and nothing changed it since"
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
    """Scans of which fewer rows came than they announced.

    Needs: all changes, control rows, `scans` that announce a number.
    Gives: check, position_from, position_to, key (null), message.
    Rows: one a scan. In windows a change supersedes a READ: then the change counts for it. A read-only snapshot leaves
        no markers of its windows: there every change meanwhile can have done so.
    """
    return reduce(DataFrame.unionByName, [shortness_of(changes, control, scan, key, spec) for scan in found])


def shortness_of(changes: DataFrame, control: DataFrame, scan: Scan, key: T.StructType, spec: TableSpec) -> DataFrame:
    """The same of one scan."""
    mine = own(changes, scan, spec.source.several)
    came = reads_of(mine, scan)
    told = came.select("key", "position")
    if scan.windowed:
        windows = windows_of(control, scan, spec.snapshot.margin).where(F.col("close_position").isNotNull())
        place = first_place(came, windows, scan)
        changed = changed_since(mine, scan, place, spec.snapshot).where(
            F.col("commit_ts") <= F.lit(scan.ends + EMISSION)
        )
        if not windows.isEmpty():
            changed = standing_for_reads(came, changed, windows, is_ordered(key))
        told = told.unionByName(changed.select("key", "position"))
    counted = told.agg(
        F.count_distinct("key").alias("rows"), F.min("position").alias("low"), F.max("position").alias("high")
    )
    text = F.concat(
        F.lit(f"the snapshot that ended at {scan.ends.isoformat(timespec='seconds')} announced {scan.rows} rows; "),
        F.col("rows").cast("string"),
        F.lit(" came"),
    )
    return counted.where(F.col("rows") < F.lit(scan.rows)).select(
        F.lit(catalogue.SHORT_SNAPSHOT).alias("check"),
        F.col("low").alias("position_from"),
        F.col("high").alias("position_to"),
        F.lit(None).cast(key).alias("key"),
        text.alias("message"),
    )


def standing_for_reads(reads: DataFrame, changed: DataFrame, windows: DataFrame, ordered: bool) -> DataFrame:
    """The changes inside of windows that can have superseded a READ of that window.

    Needs: READs and streamed changes of one scan; its closed windows as `chunk_windows` gives them.
    Gives: key, position.
    Rows: filters. A chunk reads its keys in their order, so (where that order is known here) a change of a window
        stands for a READ only if its key lies between those of the windows around it.

        window   READs     changes      stands for a READ
        first    1 2 4     3, 9         3
        second   5 8       6, 9         6, 9: it may have been the last one
    """
    placed = in_windows(changed, windows)
    if not ordered:
        return placed.select("key", "position")
    chunk = in_windows(reads, windows).groupBy("source", "open_position").agg(F.min("key"), F.max("key"))
    known = windows.select("source", "open_position").join(
        chunk.toDF("source", "open_position", "first", "last"), ["source", "open_position"], "left"
    )
    in_order = Window.partitionBy("source").orderBy("open_position")
    before, behind = (
        in_order.rowsBetween(Window.unboundedPreceding, -1),
        in_order.rowsBetween(1, Window.unboundedFollowing),
    )
    around = known.select(
        "source",
        "open_position",
        F.last("last", ignorenulls=True).over(before).alias("above"),
        F.first("first", ignorenulls=True).over(behind).alias("below"),
    )
    between = F.coalesce(F.col("key") > F.col("above"), F.lit(True)) & F.coalesce(
        F.col("key") < F.col("below"), F.lit(True)
    )
    beside = placed.join(F.broadcast(around), ["source", "open_position"], "inner")  # one row a window
    return beside.where(between).select("key", "position")


def in_windows(rows: DataFrame, windows: DataFrame) -> DataFrame:
    """Rows that stand inside of a window, and which.

    Gives: key, position, source, open_position.
    Rows: filters; the windows of one source do not overlap.
    """
    found = enclosing_windows(rows.select("source", "position").distinct(), windows)
    return rows.join(found, ["source", "position"], "inner").select("key", "position", "source", "open_position")


def is_ordered(key: T.StructType) -> bool:
    """Whether keys have the same order here as at the source."""
    return all(isinstance(field.dataType, ORDERED) for field in key)
