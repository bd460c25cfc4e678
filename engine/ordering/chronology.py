"""The order of one key's changes. Every step that looks before or after a change uses the window defined here."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F


def sortable(rows: DataFrame) -> DataFrame:
    """Add the sort columns that the chronology needs and the rows lack, so that all windows share one sort.

    Needs: key, is_read, own_position, ts.
    Gives: the same columns, then key_hash (numbers sort faster than structs), read_place (of READs only).
    Rows: 1:1.
    """
    place = F.when(F.col("is_read"), F.struct("own_position", "ts"))
    return rows.withColumns({"key_hash": F.xxhash64("key"), "read_place": place})


def per_key() -> WindowSpec:
    """One key's rows. (Functions, not constants: a window needs a session.)"""
    return Window.partitionBy("key_hash", "key")


def chronology() -> WindowSpec:
    """One key's rows in order; aggregates over it run from the key's first row to the current one.

    The order is, from the first criterion to the last:

    1. the open version that the fold starts from;
    2. `place`: puts READs without a position between the others; null on all rows if there are no such READs;
    3. the position;
    4. at one position, streamed changes before the READs that borrowed it;
    5. the delete half of a key change before the change that takes its key (`rank`);
    6. READs by the position they carry, then by time (`read_place`);
    7. the order inside the transaction, else the offset in the partition, else the order by ops and images
       (`tie_breaking`);
    8. the content hash, so that the order depends on the changes alone and not on the files that they came in;
    9. `ingest_ts` and `batch`, which only decide which copy of a change is first.
    """
    return per_key().orderBy(*chronology_columns())


def chronology_columns() -> list[Column]:
    """The sort columns of one key's rows. Spark would repeat the sort if they were expressions."""
    return [
        F.col("is_base").desc(),
        F.col("place").asc_nulls_first(),
        F.col("position").asc_nulls_first(),
        F.col("is_read").asc(),
        F.col("rank").asc(),
        F.col("read_place").asc_nulls_first(),
        F.col("tx_order").asc_nulls_last(),
        F.col("offset").asc_nulls_last(),
        F.col("turn").asc_nulls_last(),
        F.col("content_hash").asc_nulls_first(),
        F.col("ingest_ts").asc_nulls_last(),
        F.col("batch").asc_nulls_last(),
    ]


def so_far() -> WindowSpec:
    """The chronology up to and including the current row."""
    return chronology().rowsBetween(Window.unboundedPreceding, Window.currentRow)


def until_before() -> WindowSpec:
    """The chronology up to the row before the current one."""
    return chronology().rowsBetween(Window.unboundedPreceding, -1)


def whole_key() -> WindowSpec:
    """All rows of the key. It has the same order as the other windows, so that Spark computes them together."""
    return chronology().rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)


def latest_known(value: Column, when: Column, window: WindowSpec | None = None) -> Column:
    """The newest `value` so far (or in `window`) among the rows where `when` holds.

    `value` must not be null there: wrap a value that can be null in a struct.
    """
    return F.last(F.when(when, value), ignorenulls=True).over(window or so_far())


def look_back(rows: DataFrame, first: Sequence[str] = (), before: Sequence[str] = ()) -> DataFrame:
    """Show each row the first row of its key and the row right before it.

    Steps that need no more than that use these columns and no window of their own: each window costs another copy of
    every row.

    Needs: what `mark_redeliveries` needs; the columns `first` and `before`.
    Gives: the same columns, then _first (struct of `first`), and _previous (struct of identity and `before`, null for
        the first row of a key).
    Rows: 1:1.
    """
    previous = F.struct(identity().alias("identity"), *before)
    beginning = {"_first": F.first(F.struct(*first)).over(so_far())} if first else {}
    return rows.withColumns({**beginning, "_previous": F.lag(previous).over(chronology())})


TIED: Final = ("tx_order", "offset", "rank", "present")
"""The columns that `has_tie` and `carries_other_columns` read from the row before."""


def identity() -> Column:
    """The columns that identify a change of a key. Two rows with the same identity are copies of one change.

    All READs of one window have the place of its close, so their own positions distinguish them. Time identifies a
    READ without a position.
    """
    read_at = F.when(F.col("position").isNull(), F.col("commit_ts")).alias("read_at")
    return F.struct("is_base", "is_read", "position", "own_position", "op", "content_hash", read_at)


def has_tie(previous: Column) -> Column:
    """Whether the change before is another one at the same place, and only offsets, or ops and images, order the two.

    Needs: previous: the change before, as `look_back` gives it with TIED.
    """
    other = ~previous["identity"].eqNullSafe(identity())
    same = (previous["identity"]["position"] == F.col("position")) & ~F.col("is_base")
    by_offset = F.col("offset").isNotNull() & previous["offset"].isNotNull()
    is_streamed = ~F.col("is_read") & ~previous["identity"]["is_read"] & (F.col("rank") == previous["rank"])
    has_none = F.coalesce("tx_order", "offset.number", previous["tx_order"], previous["offset"]["number"]).isNull()
    return F.coalesce(same & other & (by_offset | (is_streamed & has_none)), F.lit(False))


def carries_other_columns(previous: Column) -> Column:
    """Whether the change before is a copy of this one that carries other columns.

    Needs: previous: the change before, as `look_back` gives it with TIED.
    """
    return previous["identity"].eqNullSafe(identity()) & ~previous["present"].eqNullSafe(F.col("present"))


def mark_redeliveries(rows: DataFrame) -> DataFrame:
    """Mark the copies of a change that were delivered after the first one.

    Needs: is_base, is_read, op, position, own_position, content_hash, commit_ts, and _previous as `look_back` gives it.
    Gives: the same columns, then is_redelivery.
    Rows: 1:1. A copy comes directly after its original and has the same state, so it can stay in the timeline.

        position  op      content   is_redelivery
        10        insert  A         no
        20        update  B         no
        20        update  B         yes   a second copy of the same change
        20        delete  B         no    another op at the same position
        30        update  B         no    the same content at a later position is another change
        (none)    read    A         no    time identifies a READ without a position
    """
    return rows.withColumn("is_redelivery", F.col("_previous.identity").eqNullSafe(identity()))
