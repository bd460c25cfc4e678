"""Positions that go back within one channel, in the order of delivery."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from siltstone.quality import catalogue
from siltstone.quality.check_timeline import is_streamed


def backward_positions(changes: DataFrame) -> DataFrame:
    """The places where a channel goes back: the highest position before the step, and the position it continues from.

    Needs: what `digest_of` gives.
    Gives: check, position_from, position_to, key, message.
    Rows: one per step back. Records of one channel are compared within one Kafka partition, or within one file. READs
        are excluded because they carry the position of an earlier event.

        delivered at  10 20 30 20 30 40 35
        steps back             20       35     two findings: from 20 to 30, from 35 to 40
    """
    placed = changes.where(is_streamed() & F.col("position").isNotNull() & F.col("at").isNotNull()).select(
        "lane", "at", "position", "key", "file", "line"
    )
    delivered = Window.partitionBy("lane").orderBy("at", "position")
    reached = F.max("position").over(delivered.rowsBetween(Window.unboundedPreceding, -1))
    stepped = placed.select("*", F.lag("position").over(delivered).alias("previous"), reached.alias("reached")).where(
        F.col("position") < F.col("previous")
    )
    place = F.when(F.col("file").isNull(), F.concat(F.lit("offset "), F.col("at"))).otherwise(
        F.concat(F.lit("line "), F.col("line"), F.lit(" of "), F.col("file"))
    )
    return stepped.select(
        F.lit(catalogue.POSITIONS_BACKWARDS).alias("check"),
        F.col("position").alias("position_from"),
        F.col("reached").alias("position_to"),
        "key",
        F.concat(F.lit("positions go back at "), place).alias("message"),
    )
