"""What all copies of a change have in common: where they stand, by offset and by time, and the columns they carry."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from siltstone.engine.ordering.chronology import identity
from siltstone.engine.ordering.tie_breaking import end_of, start_of


def with_common_values(rows: DataFrame) -> DataFrame:
    """Let all copies of a READ have the time of the first, since times order the READs of a position; and all copies of
    a change one offset: that of the last which is a change of its own.

    A source that starts again sends what stands at one position once more, or a part of it, and each copy has to stand
    beside its original. But a row can change there and back and there again: then the last is a change like the first,
    as the image before it shows, which is the row as it was.

        offset  change         the row   stands at
        2       update A, B    B         4
        3       update B, A    A         3
        4       update A, B    B         4
        ---
        2       update A, B    B         2
        3       update B, C    C         3
        4       update A, B    C         2          delivered again
        5       update B, C    C         3          as the one right before it

    Of copies right behind each other the first decides for all: what is sent again comes in its old order. Where the
    image before it is not known, they were sent again.

    All copies carry the columns that some of them does: a null says nothing to the content, and files that are written
    again after a column was added tell it where the first ones did not.

    Needs: what `sortable` gives; is_read, position, own_position, op, row, present, before, offset, ts.
    Gives: the same columns.
    Rows: 1:1.
    """
    together = rows.repartition("key_hash", "key")  # as all windows have it, or this one had a shuffle of its own
    of_change = Window.partitionBy("key_hash", "key", identity())
    in_turn = Window.partitionBy("key_hash", "key").orderBy("position", "offset")
    so_far = in_turn.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_copy = F.coalesce(F.col("offset") > F.min("offset").over(of_change), F.lit(False))
    columns = rows.select("row.*").columns
    ends = F.when(F.col("offset").isNotNull(), end_of(F.col("op"), F.col("row"), F.col("present"), columns))
    previous = F.lag(F.struct("position", ends.alias("ends"), "_is_copy")).over(in_turn)
    seen = together.withColumn("_is_copy", is_copy).withColumn("_behind", previous)
    # The original of a copy stands before it: the row before is one at its position.
    begins = F.col("_is_copy") & ~(F.col("_behind._is_copy") & (F.col("_behind.position") == F.col("position")))
    starts = start_of(F.col("op"), F.col("before"), columns)
    is_next = F.coalesce(F.col("_behind.ends") == starts, F.lit(False))
    follows = F.last(F.when(begins, is_next), ignorenulls=True).over(so_far)
    decided = seen.withColumn("_own", F.when(~F.col("_is_copy") | follows, F.col("offset")))
    carried = F.array_sort(F.array_distinct(F.flatten(F.collect_set("present").over(of_change))))
    first = F.when(F.col("is_read"), F.min(F.struct("ts", "ingest_ts", "commit_ts")).over(of_change))
    ts = F.coalesce(first["ts"], "ts")
    settled = {
        "offset": F.max("_own").over(of_change),
        "ts": ts,
        "commit_ts": F.when(F.col("is_read"), first["commit_ts"]).otherwise(F.col("commit_ts")),
        "present": F.when(F.max(F.col("present").isNull()).over(of_change), None).otherwise(carried),
        "read_place": F.when(F.col("is_read"), F.struct("own_position", ts.alias("ts"))),
    }
    return decided.select(*[settled.get(name, F.col(name)).alias(name) for name in rows.columns])
