"""The checked changes without their images: read and decoded once, used by every check."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine.frames import checkpointed, is_from
from siltstone.quality.check_timeline import Columns, change_facts, has_before


def digest_of(changes: DataFrame, columns: Columns) -> DataFrame:
    """The columns of the changes that the first pass of the checks needs. `columns`: those on which before images are
    compared.

    Needs: the change schema.
    Gives: source, key, origin, the columns of `change_facts`, has_before, lane (a hash of the Kafka partition or file
        that delivered the change), at (the offset or line in it; null if the lane has no order), file (its name only),
        line, too_late.
    Rows: 1:1. The result is checkpointed.
    """
    from_kafka = F.col("kafka_partition").isNotNull() & F.col("kafka_offset").isNotNull()
    lane = F.when(from_kafka, F.col("kafka_partition").cast("string")).otherwise(F.col("file"))
    # Each partition has its own order. Without the name of the partition, several of them are mixed in one file.
    is_laned = ~is_from(lambda kind: kind.has_partitions) | F.col("channel").isNotNull()
    return changes.select(
        *("source", "key", "origin"),
        *change_facts(columns),
        has_before(columns).alias("has_before"),
        F.xxhash64("source", "channel", F.col("channel").isNull(), lane, lane.isNull()).alias("lane"),
        F.when(is_laned, F.when(from_kafka, F.col("kafka_offset")).otherwise(F.col("line"))).alias("at"),
        F.substring_index("file", "/", -1).alias("file"),
        "line",
        F.coalesce("too_late", F.lit(False)).alias("too_late"),
    ).transform(checkpointed)
