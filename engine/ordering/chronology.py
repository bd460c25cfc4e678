"""THE order of one key's changes. Every step that looks before or after a change uses the window defined here."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F


def sortable(rows: DataFrame) -> DataFrame:
    """Spell out what the chronology sorts by and no column says: all its windows then share one sort.

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

    `place` says where a READ without a position stands among the others; it is null for all where there is none. At one
    position: streamed changes before the READs that borrowed it; the delete half of a key change before
    whatever takes its key; READs by the position they carry, then by time; then the order inside the transaction; where
    that is not told, the offset in the partition; where there is none, either, the turn that ops and images give
    (`ties`). The content decides what nothing else does, so that the order is a function of the changes alone, whatever
    files they came in; `ingest_ts` and `batch` only pick which copy of a change stands first.
    """
    return per_key().orderBy(*chronology_columns())


def chronology_columns() -> list[Column]:
    """What orders the rows of one key: columns, because Spark sorts again for an expression that it has sorted by."""
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
    """All rows of the key. Ordered like the others, so that Spark computes it together with them."""
    return chronology().rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)


def latest_known(value: Column, when: Column, window: WindowSpec | None = None) -> Column:
    """The newest `value` so far (or in `window`) among the rows where `when` holds. `value` must not be null there:
    box it."""
    return F.last(F.when(when, value), ignorenulls=True).over(window or so_far())


def look_back(rows: DataFrame, first: Sequence[str] = (), before: Sequence[str] = ()) -> DataFrame:
    """Show each row the first one of its key and the one right before it. What asks for no more than that needs no
    window of its own: each costs another copy of every row.

    Needs: what `mark_redeliveries` needs; the columns `first` and `before`.
    Gives: the same columns, then _first (struct of `first`), and _previous (struct of identity and `before`, null for
        the first row of a key).
    Rows: 1:1.
    """
    previous = F.struct(identity().alias("identity"), *before)
    beginning = {"_first": F.first(F.struct(*first)).over(so_far())} if first else {}
    return rows.withColumns({**beginning, "_previous": F.lag(previous).over(chronology())})


TIED: Final = ("tx_order", "offset", "rank", "present")
"""What `has_tie` and `carries_otherwise` ask of the row before."""


def identity() -> Column:
    """What tells one change of a key from another. A READ without a position is known by its time.

    READs of one window stand at its close, all of them: their own positions tell them apart.
    """
    read_at = F.when(F.col("position").isNull(), F.col("commit_ts")).alias("read_at")
    return F.struct("is_base", "is_read", "position", "own_position", "op", "content_hash", read_at)


def has_tie(previous: Column) -> Column:
    """Whether the change before, as `look_back` gives it with TIED, is another one at the same place, and only offsets,
    or ops and images, say which is which."""
    other = ~previous["identity"].eqNullSafe(identity())
    same = (previous["identity"]["position"] == F.col("position")) & ~F.col("is_base")
    by_offset = F.col("offset").isNotNull() & previous["offset"].isNotNull()
    is_streamed = ~F.col("is_read") & ~previous["identity"]["is_read"] & (F.col("rank") == previous["rank"])
    has_none = F.coalesce("tx_order", "offset.number", previous["tx_order"], previous["offset"]["number"]).isNull()
    return F.coalesce(same & other & (by_offset | (is_streamed & has_none)), F.lit(False))


def carries_otherwise(previous: Column) -> Column:
    """Whether the change before, as `look_back` gives it with TIED, is the same one, with other columns."""
    return previous["identity"].eqNullSafe(identity()) & ~previous["present"].eqNullSafe(F.col("present"))


def mark_redeliveries(rows: DataFrame) -> DataFrame:
    """Tell the first copy of a change from those that were delivered again.

    Needs: is_base, is_read, op, position, own_position, content_hash, commit_ts, and _previous as `look_back` gives it.
    Gives: the same columns, then is_again.
    Rows: 1:1. A copy follows its original directly and repeats its state, so it can stay in the timeline.

        position  op      content   is_again
        10        insert  A         no
        20        update  B         no
        20        update  B         yes   the same change again
        20        delete  B         no    another op at the same position
        30        update  B         no    the same content later is another change
        (none)    read    A         no    a READ without a position is known by its time
    """
    return rows.withColumn("is_again", F.col("_previous.identity").eqNullSafe(identity()))
