"""Missing files of a numbered log: no event arrived from them, but events arrived from earlier and later files."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.schema.control_kinds import LOG_FILE
from siltstone.quality import catalogue

HEX, DECIMAL = 16, 10


def skipped_logs(control: DataFrame, since: int, key: T.DataType) -> DataFrame:
    """The missing files between two known files, of which at least one is in these batches.

    Needs: control rows of one source.
    Gives: check, position_from, position_to (the first segments of positions in the two known files), key (null),
        message.
    Rows: one per gap.

        files 4, 5, 8, 9     one finding: 6 to 7
    """
    segments = F.split("position", "-")
    epoch, number = F.get(segments, F.lit(0)), F.conv(F.get(segments, F.lit(1)), HEX, DECIMAL).cast("bigint")
    files = (
        control.where(F.col("kind") == LOG_FILE)
        .coalesce(1)  # a few rows per batch: not worth a shuffle
        .groupBy("source", "position")
        .agg(F.min("batch").alias("batch"))
        .select("*", epoch.alias("epoch"), number.alias("number"))
    )
    in_order = Window.partitionBy("source", "epoch").orderBy("number")
    neighbours = files.select("*", F.lag(F.struct("position", "number", "batch")).over(in_order).alias("before"))
    is_new = F.greatest("batch", "before.batch") > since
    first, last = F.col("before.number") + 1, F.col("number") - 1
    text = F.when(first == last, F.concat(F.lit("no event arrived from log file "), first)).otherwise(
        F.concat(F.lit("no event arrived from log files "), first, F.lit(" to "), last)
    )
    return neighbours.where((first <= last) & is_new).select(
        F.lit(catalogue.LOG_GAP).alias("check"),
        F.col("before.position").alias("position_from"),
        F.col("position").alias("position_to"),
        F.lit(None).cast(key).alias("key"),
        text.alias("message"),
    )
