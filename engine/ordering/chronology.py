"""THE order of one key's changes. Every step that looks before or after a change uses the window defined here."""

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

PER_KEY = Window.partitionBy("key")

# At one position: streamed changes before the READs that borrowed it; the delete half of a key change before whatever
# takes its key; then the order inside the transaction. The content decides what nothing else does, so that the order
# is a function of the changes alone. `ingest_ts` only picks which copy of a redelivered change survives.
IN_ORDER = (
    F.col("is_base").desc(),
    F.col("position").asc_nulls_first(),
    F.col("is_read").asc(),
    F.col("rank").asc(),
    F.col("tx_order").asc_nulls_last(),
    F.col("content_hash").asc_nulls_first(),
    F.col("ingest_ts").asc_nulls_last(),
)


def chronology() -> WindowSpec:
    """One key's rows in order; aggregates over it run from the key's first row to the current one."""
    return PER_KEY.orderBy(*IN_ORDER)


def so_far() -> WindowSpec:
    """The chronology up to and including the current row."""
    return chronology().rowsBetween(Window.unboundedPreceding, Window.currentRow)


def whole_key() -> WindowSpec:
    """All rows of the key."""
    return PER_KEY.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)


def latest_known(value: Column, when: Column) -> Column:
    """The newest `value` so far among the rows where `when` holds. `value` must not be null there: box it."""
    return F.last(F.when(when, value), ignorenulls=True).over(so_far())


def drop_redeliveries(rows: DataFrame) -> DataFrame:
    """Keep one copy of a change that was delivered more than once.

    Needs: is_base, op, position, content_hash, and the chronology's columns.
    Gives: the same columns.
    Rows: n:1 for equal (key, position, op, content); the copy processed first stays.

        position  op      content   kept
        10        insert  A         yes
        20        update  B         yes
        20        update  B         no    the same change again
        20        delete  B         yes   another op at the same position
        30        update  B         yes   the same content later is another change
    """
    identity = F.struct("is_base", "position", "op", "content_hash", "is_read")
    marked = rows.withColumn("_previous", F.lag(identity).over(chronology()))
    return marked.where(~marked["_previous"].eqNullSafe(identity)).drop("_previous")
