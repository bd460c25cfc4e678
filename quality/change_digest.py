"""The judged changes without their images: read and decoded once, looked at by every check."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine.frames import checkpointed, is_from
from siltstone.quality.check_timeline import Columns, change_facts, has_before


def digest_of(changes: DataFrame, columns: Columns) -> DataFrame:
    """The changes as the checks look at them at first sight. `columns`: those that before images are compared on.

    Needs: the change schema.
    Gives: source, key, origin, the columns of `change_facts`, has_before, lane (a hash: what was delivered in the
        order of one log), at (the place in it; null: there is no such order), file (its name only), line, too_late.
    Rows: 1:1. Computed.
    """
    from_kafka = F.col("kafka_partition").isNotNull() & F.col("kafka_offset").isNotNull()
    lane = F.when(from_kafka, F.col("kafka_partition").cast("string")).otherwise(F.col("file"))
    # Partitions have an order each: where none is named, they lie side by side.
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
