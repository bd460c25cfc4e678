"""Messages that Canal sent again after a rollback, found by the rule of its batches."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

_OF_A_DELIVERY: Final = r'"(?:id|ts)"\s*:\s*[0-9]+'
_FIELDS: Final = "id bigint, es bigint, partition int, offset bigint, value string"


def resent_messages(lines: DataFrame) -> DataFrame:
    """The messages that stand in their lane a second time, and those whose lane has seen a later change.

    Needs: file, line, text.
    Gives: file, line, _resent (whether it repeats an earlier message), _reached (in Kafka: the greatest `es` so far).
    Rows: filters; one a message of which there is something to say.

    Messages of one `id` that follow each other are a batch. After a rollback the whole batch just before comes again,
    message by message and equal in all but `id` and `ts`, as the beginning of the next batch, which may go on longer.
    Inside one batch equal messages are changes of their own.

        id       1  1  2  2  3  3  3  4  4
        message  A  B  C  D  C  D  E  E  F
        resent                x  x         batch 4 begins with E, but batch 3 was C D E
    """
    placed = lines.transform(_batches).transform(_ranked)
    same_rank = Window.partitionBy("lane", "rank").orderBy("batch")
    batch = Window.partitionBy("lane", "batch")
    before = F.lag(F.struct("batch", "content", "size")).over(same_rank)
    compared = placed.select("*", before.alias("before")).select(
        "*", (F.col("before.batch") == F.col("batch") - 1).alias("follows")
    )
    repeats = F.col("follows") & (F.col("before.content") == F.col("content"))
    counted = compared.select(
        "*",
        F.count_if(repeats).over(batch).alias("repeated"),
        F.max(F.when(F.col("follows"), F.col("before.size"))).over(batch).alias("size_before"),
    )
    resent = F.coalesce((F.col("repeated") == F.col("size_before")) & F.col("follows"), F.lit(False))
    return counted.select("file", "line", resent.alias("_resent"), F.col("reached").alias("_reached")).where(
        F.col("_resent") | F.col("_reached").isNotNull()
    )


def _batches(lines: DataFrame) -> DataFrame:
    """Messages in their lane (a file, or a partition in it) with the number of their batch there."""
    outer = lines.select("file", "line", "text", F.from_json("text", _FIELDS).alias("_outer"))
    body = F.coalesce(F.col("_outer.value"), F.col("text"))
    inner = outer.select(
        "file",
        "line",
        "_outer",
        F.when(F.col("_outer.value").isNotNull(), F.from_json("_outer.value", _FIELDS))
        .otherwise(F.col("_outer"))
        .alias("_own"),
        F.xxhash64(F.regexp_replace(body, _OF_A_DELIVERY, "")).alias("content"),
    ).where(F.col("_own.id").isNotNull())
    lane = Window.partitionBy("lane").orderBy("at", "line")
    placed = inner.select(
        "file",
        "line",
        "content",
        F.struct("file", F.col("_outer.partition").alias("partition")).alias("lane"),
        F.coalesce(F.col("_outer.offset"), F.col("line")).alias("at"),
        F.col("_own.id").alias("id"),
        F.col("_own.es").alias("es"),
    )
    begins = ~F.col("id").eqNullSafe(F.lag("id").over(lane))
    so_far = F.max("es").over(lane.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    marked = placed.select(
        "*",
        begins.cast("bigint").alias("begins"),
        F.when(F.col("lane.partition").isNotNull() & (so_far > F.col("es")), so_far).alias("reached"),
    )
    return marked.select(
        "*", F.sum("begins").over(lane.rowsBetween(Window.unboundedPreceding, Window.currentRow)).alias("batch")
    )


def _ranked(placed: DataFrame) -> DataFrame:
    """The place of each message in its batch, and the batch's size."""
    batch = Window.partitionBy("lane", "batch")
    return placed.select(
        "*",
        F.row_number().over(batch.orderBy("at", "line")).alias("rank"),
        F.count("*").over(batch).alias("size"),
    )
