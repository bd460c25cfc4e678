"""Give all copies of a redelivered change the same place, by offset and by time, and the same columns."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from siltstone.engine.ordering.chronology import identity
from siltstone.engine.ordering.tie_breaking import end_of, start_of


def with_common_values(rows: DataFrame) -> DataFrame:
    """Give all copies of a change one offset, one time (READs) and the same present columns.

    Time: READs at one position are ordered by time. All copies of a READ take the time of the first copy.

    Offset: after a restart, a source sends the changes at one position a second time, or a part of them. Each copy
    takes the offset of its original. But equal changes are not always copies: a row can change from A to B, back to A,
    and to B. The before image decides: if it is the row as the change before it left it, the change is a new one.
    All copies then take the offset of the last new one.

        offset  change           row after   takes offset
        2       update A to B    B           4
        3       update B to A    A           3
        4       update A to B    B           4          its before image A is the row: a new change
        ---
        2       update A to B    B           2
        3       update B to C    C           3
        4       update A to B    C           2          its before image A is not the row C: redelivered
        5       update B to C    C           3          redelivered, like the copy before it

    Redelivered changes keep their order. So the first of several consecutive copies decides for all of them. If its
    before image is unknown, they are redelivered.

    Columns: all copies carry every column that one of them carries. The content hash ignores nulls, and a copy that
    was written after a column was added has that column.

    Needs: the columns of `sortable`; is_read, position, own_position, op, row, present, before, offset, ts.
    Gives: the same columns.
    Rows: 1:1.
    """
    together = rows.repartition("key_hash", "key")  # the partitioning of all windows, which saves a shuffle
    of_change = Window.partitionBy("key_hash", "key", identity())
    in_turn = Window.partitionBy("key_hash", "key").orderBy("position", "offset")
    so_far = in_turn.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_copy = F.coalesce(F.col("offset") > F.min("offset").over(of_change), F.lit(False))
    columns = rows.select("row.*").columns
    ends = F.when(F.col("offset").isNotNull(), end_of(F.col("op"), F.col("row"), F.col("present"), columns))
    previous = F.lag(F.struct("position", ends.alias("ends"), "_is_copy")).over(in_turn)
    seen = together.withColumn("_is_copy", is_copy).withColumn("_row_before", previous)
    # The original of a copy comes before it, so the row before a copy has the same position.
    begins = F.col("_is_copy") & ~(F.col("_row_before._is_copy") & (F.col("_row_before.position") == F.col("position")))
    starts = start_of(F.col("op"), F.col("before"), columns)
    is_next = F.coalesce(F.col("_row_before.ends") == starts, F.lit(False))
    follows = F.last(F.when(begins, is_next), ignorenulls=True).over(so_far)
    decided = seen.withColumn("_own", F.when(~F.col("_is_copy") | follows, F.col("offset")))
    carried = F.array_sort(F.array_distinct(F.flatten(F.collect_set("present").over(of_change))))
    first = F.when(F.col("is_read"), F.min(F.struct("ts", "ingest_ts", "commit_ts")).over(of_change))
    ts = F.coalesce(first["ts"], "ts")
    common = {
        "offset": F.max("_own").over(of_change),
        "ts": ts,
        "commit_ts": F.when(F.col("is_read"), first["commit_ts"]).otherwise(F.col("commit_ts")),
        "present": F.when(F.max(F.col("present").isNull()).over(of_change), None).otherwise(carried),
        "read_place": F.when(F.col("is_read"), F.struct("own_position", ts.alias("ts"))),
    }
    return decided.select(*[common.get(name, F.col(name)).alias(name) for name in rows.columns])
