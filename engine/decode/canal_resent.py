"""Messages that Canal sent again after a rollback, found by the rule of its batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

_OF_A_DELIVERY: Final = ("id", "ts")


def resent_messages(messages: DataFrame, fields: Sequence[str]) -> DataFrame:
    """The messages that stand in their lane a second time, and those whose lane has seen a later change.

    Needs: file, line, kafka_partition, kafka_offset, _message with `fields`.
    Gives: file, line, _resent (whether it repeats an earlier message), _reached (in Kafka: the greatest `es` so far).
    Rows: filters; one a message of which there is something to say.

    A lane is a partition, or where there is none, all files in the order of their names. Messages of one `id` that
    follow each other are a batch. After a rollback the whole batch just before comes again, message by message and
    equal in all but `id` and `ts`, as the beginning of the next batch, which may go on longer. Inside one batch equal
    messages are changes of their own.

        id       1  1  2  2  3  3  3  4  4
        message  A  B  C  D  C  D  E  E  F
        resent                x  x         batch 4 begins with E, but batch 3 was C D E
    """
    placed = messages.transform(_placed, fields).transform(_batches)
    late = placed.where("reached IS NOT NULL").select("file", "line", F.lit(False).alias("_resent"), "reached")
    sent = placed.transform(_repeated).select("file", "line", F.lit(True).alias("_resent"), "reached")
    told = sent.unionByName(late).groupBy("file", "line")  # a message can be both
    return told.agg(F.max("_resent").alias("_resent"), F.max("reached").alias("_reached"))


def _placed(messages: DataFrame, fields: Sequence[str]) -> DataFrame:
    """Where each message stands in its lane, and a hash of what is the same when it is sent again."""
    message = F.col("_message")
    return messages.where(message["id"].isNotNull()).select(
        "file",
        "line",
        F.col("kafka_partition").alias("lane"),
        F.coalesce("kafka_offset", F.lit(0)).alias("offset"),
        message["id"].alias("id"),
        message["es"].alias("es"),
        F.xxhash64(*[message[name] for name in fields if name not in _OF_A_DELIVERY]).alias("content"),
    )


def _batches(placed: DataFrame) -> DataFrame:
    """Messages with the number of their batch in the lane. `reached`: in Kafka, a later time that the lane has seen.

    Rows: 1:1.
    """
    lane = Window.partitionBy("lane").orderBy("offset", "file", "line")
    so_far = lane.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    began = placed.select("*", (~F.col("id").eqNullSafe(F.lag("id").over(lane))).cast("bigint").alias("begins"))
    numbered = began.select("*", F.sum("begins").over(so_far).alias("batch"), F.max("es").over(so_far).alias("last"))
    in_kafka = F.col("lane").isNotNull() & (F.col("last") > F.col("es"))
    return numbered.select(*placed.columns, "batch", F.when(in_kafka, F.col("last")).alias("reached"))


def _repeated(placed: DataFrame) -> DataFrame:
    """The messages of batches' beginnings that are the whole batch before.

    Gives: file, line, reached.
    Rows: filters.
    """
    parts = F.array_sort(F.collect_list(F.struct("offset", "file", "line", "content", "reached")))
    batches = placed.groupBy("lane", "batch").agg(parts.alias("parts"))
    contents = batches.select("*", F.transform("parts", lambda part: part["content"]).alias("contents"))
    # Batches are numbered without holes, so that the one before is the row before.
    before = F.lag("contents").over(Window.partitionBy("lane").orderBy("batch"))
    compared = contents.select("parts", "contents", before.alias("before"))
    again = F.slice("contents", F.lit(1), F.size("before")) == F.col("before")
    beginning = F.explode(F.slice("parts", F.lit(1), F.size("before"))).alias("part")
    return compared.where(F.col("before").isNotNull() & again).select(beginning).select("part.*")
