"""Tables without a key: the whole row is the key, and equal rows are numbered from 1 to n.

A change to such a table only means that there is one more or one fewer of these rows. A delete removes the row with
the highest number. So the number of rows before a change determines which of them the change is about.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.key_timeline import interleave, interval, is_guarded, never_null, place_reads
from siltstone.engine.ordering.chronology import chronology, look_back, mark_redeliveries, so_far, whole_key
from siltstone.engine.ordering.redeliveries import with_common_values

ALL = 1 << 40  # more rows than a truncate can meet


def number_duplicate_rows(changes: DataFrame, rules: FoldRules) -> DataFrame:
    """Find out which of the equal rows each change is about.

    Needs: the columns of `change_rows`, all changes of each image; key: the image.
    Gives: the same columns, with `_copy` in the key, then is_outnumbered (a READ that a delete in its window removes).
    Rows: 1:1; for a truncate 1:n, one per row that it removes.

        position  op         rows after  is about row
        10        insert     1           1
        20        insert     2           2
        20        insert     2           2      redelivered
        30        READ, READ 2           1, 2   both confirmed
        40        delete     1           2      the highest number is removed first
        50        truncate   0           1
        60        delete     0           1      no row is left: a tombstone
    """
    timeline = interleave(None, changes, rules).transform(with_common_values)
    if rules.guarded:
        timeline = place_reads(timeline, rules)
    counted = look_back(timeline).transform(mark_redeliveries).transform(_evidence, rules).transform(_counted)
    copy = F.when(F.col("op") == names.OP_TRUNCATE, F.sequence(F.lit(1), F.greatest(F.lit(1), "_before")))
    numbered = counted.withColumn("_of", F.explode(F.coalesce(copy, F.array("_about"))))
    image = changes.schema["key"].dataType
    key = F.struct(*[F.col("key")[name].alias(name) for name in image.names], F.col("_of").alias(names.COPY))  # type: ignore[attr-defined]
    return numbered.select(
        *[key.alias(name) if name == "key" else F.col(name) for name in changes.columns], "is_outnumbered"
    )


def _evidence(rows: DataFrame, rules: FoldRules) -> DataFrame:
    """Count equal READs of one read, and the deletes in their window that can have come after them.

    Gives: the same columns, then _nth (the number of a READ among the equal ones), is_outnumbered. Rows: 1:1.
    """
    if not rules.reads:
        return rows.withColumns({"_nth": F.lit(0), "is_outnumbered": F.lit(False)})
    read_at = F.when(F.col("own_position").isNull(), F.col("ts"))
    together = Window.partitionBy("key", "is_read", "position", "own_position", read_at)
    counts = F.when(~F.col("is_redelivery"), 1).otherwise(0)
    nth = F.sum(counts).over(
        together.orderBy("content_hash").rangeBetween(Window.unboundedPreceding, Window.currentRow)
    )
    gone = F.col("op").isin(names.OP_DELETE, names.OP_TRUNCATE)
    left = F.when(
        ~F.col("is_redelivery") & gone, F.struct("ts", "position", (F.col("op") == names.OP_TRUNCATE).alias("whole"))
    )
    seen = rows.withColumns(
        {
            "_nth": nth.cast("int"),
            "_reads": F.sum(counts).over(together),
            "_left": F.collect_list(left).over(whole_key()),
            "_any": F.max(~F.col("is_read")).over(whole_key()),
        }
    )
    taken = F.aggregate(
        F.filter("_left", lambda change: _lies_in_window(change, rules)),
        F.lit(0).cast("bigint"),
        lambda sum_, change: sum_ + F.when(change["whole"], F.lit(ALL)).otherwise(1),
    )
    knows_nothing = F.col("own_position").isNull() & F.col("commit_ts").isNull() & F.col("_any")
    outnumbered = F.col("is_read") & (knows_nothing | (F.col("_nth") > F.col("_reads") - taken))
    return seen.withColumn("is_outnumbered", outnumbered).drop("_reads", "_left", "_any")


def _lies_in_window(change: Column, rules: FoldRules) -> Column:
    """Whether a delete is inside the window of the current row's READ: it can have come after the READ."""
    in_time = never_null(change["ts"] >= F.col("low_ts"))
    opened = never_null(change["position"] >= F.col("low_position"))
    placed = never_null(change["position"] <= F.col("position")) & (in_time | opened)
    return F.when(is_guarded(), in_time & (change["ts"] <= F.col("ts") + interval(rules.skew))).otherwise(placed)


def _counted(rows: DataFrame) -> DataFrame:
    """Count the rows of the image before each change, and find the one that the change is about.

    Each change turns a count n into max(least, n + more), and so does any sequence of changes.

    Gives: the same columns, then _before, _about. Rows: 1:1.
    """
    op = F.col("op")
    changes = {names.OP_INSERT: (0, 1), names.OP_DELETE: (0, -1), names.OP_TRUNCATE: (0, -ALL), names.OP_UPDATE: (1, 0)}
    more, least = F.lit(0).cast("bigint"), F.lit(0).cast("bigint")
    for name, (at_least, added) in changes.items():
        more, least = F.when(op == name, added).otherwise(more), F.when(op == name, at_least).otherwise(least)
    least = F.when(F.col("is_read"), F.when(F.col("is_outnumbered"), 0).otherwise(F.col("_nth"))).otherwise(least)
    is_redelivery = F.col("is_redelivery")
    steps = rows.withColumns(
        {"_more": F.when(is_redelivery, 0).otherwise(more), "_least": F.when(is_redelivery, 0).otherwise(least)}
    )
    summed = steps.withColumn("_sum", F.sum("_more").over(so_far()))
    highest = F.max(F.col("_least") - F.col("_sum")).over(so_far())
    counted = summed.withColumn("_count", (F.col("_sum") + F.greatest(F.lit(0), highest)).cast("int"))
    before = F.coalesce(F.lag("_count").over(chronology()), F.lit(0))
    newest = F.greatest(F.lit(1), before)
    about = F.when(F.col("is_read"), F.col("_nth")).when(op == names.OP_INSERT, F.col("_count")).otherwise(newest)
    located = counted.withColumn("_before", before).withColumn("_about", F.when(~is_redelivery, about))
    return located.withColumn("_about", F.coalesce("_about", F.last("_about", ignorenulls=True).over(so_far())))
