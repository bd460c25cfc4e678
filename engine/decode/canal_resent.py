"""Messages that Canal sent again after a rollback, found by the rule of its batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

WHOLE: Final = 3
_OF_FILES: Final = Row(channel="", partition=-1, folder="")
_OF_A_DELIVERY: Final = ("id", "ts")


def resent_messages(messages: DataFrame, fields: Sequence[str]) -> DataFrame:
    """The messages that stand in their lane a second time, and those whose lane has seen a later change.

    Needs: file, line, channel, kafka_partition, kafka_offset, after_gap, _message with `fields`.
    Gives: file, line, _resent (whether it repeats an earlier message), _reached (in Kafka: the greatest `es` so far).
    Rows: filters; one a message of which there is something to say.

    A lane is a partition of a topic (of a folder, where no topic is told), or where there is none, all files in the
    order of their names. A message of a partition stands there once, however often it was delivered: its offset says
    so. Messages of one `id` that follow each other are a batch. After a rollback the whole batch just before comes
    again, message by message and equal in all but `id` and `ts`, as the beginning of the next batch, which may go on
    longer. Inside one batch equal messages are changes of their own.

        id       1  1  2  2  3  3  3  4  4
        message  A  B  C  D  C  D  E  E  F
        resent                x  x         batch 4 begins with E, but batch 3 was C D E
    """
    placed = messages.transform(_placed, fields)
    told = placed.transform(_standing).transform(_batches).transform(_told)
    delivered_again = (F.col("d.lane") == F.col("t.lane")) & (F.col("d.at") == F.col("t.at"))
    found = placed.alias("d").join(F.broadcast(told.alias("t")), on=delivered_again, how="inner")  # one a place
    return found.select("d.file", "d.line", "t._resent", "t._reached")


def holds_batches(messages: DataFrame, fields: Sequence[str], new: DataFrame) -> bool:
    """Whether three batches of each lane of the `new` messages begin among these, which stand beside them: one that can
    go on from before or behind them, and two that stand beside each other, of which the second can be the first once
    more.

    Needs: messages, new: as `resent_messages`.
    """
    batches = messages.transform(_placed, fields).transform(_standing).transform(_batches)
    found = {
        row["lane"]: row["batches"] for row in batches.groupBy("lane").agg(F.max("batch").alias("batches")).collect()
    }
    if found.keys() <= {_OF_FILES}:
        return bool(found.get(_OF_FILES, 0) >= WHOLE)
    folders = {"", *(lane["folder"] for lane in found)}
    asked = new.transform(_placed, fields).select("lane").distinct().collect()
    lanes = [row["lane"] for row in asked if row["lane"]["folder"] in folders]  # no lane goes over folders
    return all(found.get(lane, 0) >= WHOLE for lane in lanes)


def _placed(messages: DataFrame, fields: Sequence[str]) -> DataFrame:
    """Where each message stands in its lane, and a hash of what is the same when it is sent again.

    Gives: file, line, lane, at (where in the lane), after_gap, id, es, content.
    """
    message, partition = F.col("_message"), F.col("kafka_partition")
    told = [name for name in fields if name not in _OF_A_DELIVERY]
    folder = F.when(F.col("channel").isNull(), F.regexp_replace("file", "[^/]*$", ""))
    in_file = F.col("kafka_offset").isNull() | partition.isNull()
    at = F.struct(
        F.when(in_file, F.lit(0)).otherwise(F.col("kafka_offset")).alias("offset"),
        F.when(in_file, F.col("file")).otherwise("").alias("file"),
        F.when(in_file, F.col("line")).otherwise(0).alias("line"),
    )
    return messages.where(message["id"].isNotNull()).select(
        "file",
        "line",
        F.struct(
            F.coalesce("channel", F.lit("")).alias("channel"),
            F.coalesce(partition, F.lit(-1)).alias("partition"),
            F.coalesce(F.when(partition.isNotNull(), folder), F.lit("")).alias("folder"),
        ).alias("lane"),
        at.alias("at"),
        "after_gap",
        message["id"].alias("id"),
        message["es"].alias("es"),
        F.xxhash64(*[message[name] for name in told], *[message[name].isNull() for name in told]).alias("content"),
    )


def _standing(placed: DataFrame) -> DataFrame:
    """Every place of a lane once: the least of what was delivered for it.

    Gives: lane, at, one (after_gap, file, id, es, content).
    Rows: filters.
    """
    told = placed.select("lane", "at", F.struct("after_gap", "file", "id", "es", "content").alias("one"))
    return (
        told.select("*", F.lag("at").over(_in_lane()).alias("before"))
        .where("at is distinct from before")
        .drop("before")
    )


def _in_lane() -> WindowSpec:
    """The messages of a lane in their order. One order for all that is asked of it: Spark sorts once."""
    return Window.partitionBy("lane").orderBy("at", "one")


def _batches(standing: DataFrame) -> DataFrame:
    """Messages with the number of their batch in the lane. `is_cut`: what is before the first of a file is not known;
    `reached`: in Kafka, a later time that the lane has seen.

    Rows: 1:1.
    """
    one, before, lane = F.col("one"), F.col("before"), _in_lane()
    so_far = lane.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    beside = standing.select("*", F.lag("one").over(lane).alias("before"))
    cut = one["after_gap"] & ~one["file"].eqNullSafe(before["file"])
    begins = (cut | ~one["id"].eqNullSafe(before["id"])).cast("bigint")
    began = beside.select("lane", "at", "one", cut.alias("is_cut"), begins.alias("begins"), one["es"].alias("es"))
    numbered = began.select("*", F.sum("begins").over(so_far).alias("batch"), F.max("es").over(so_far).alias("last"))
    in_kafka = (F.col("lane.partition") >= 0) & (F.col("last") > F.col("es"))
    reached = F.when(in_kafka, F.col("last")).alias("reached")
    return numbered.select("lane", "at", one["content"].alias("content"), "is_cut", "batch", reached)


def _told(batched: DataFrame) -> DataFrame:
    """The messages of beginnings that are the whole batch before, and those whose lane has seen a later time.

    Gives: lane, at, _resent, _reached.
    Rows: filters.
    """
    parts = F.sort_array(F.collect_list(F.struct("at", "content", "reached")))
    batches = batched.groupBy("lane", "batch").agg(parts.alias("parts"), F.bool_or("is_cut").alias("is_cut"))
    contents = batches.select("*", F.transform("parts", lambda part: part["content"]).alias("contents"))
    # Batches are numbered without holes, so that the one before is the row before. Of one that is cut, and of what is
    # before it, nobody knows all.
    before = F.lag(F.when(~F.col("is_cut"), F.col("contents"))).over(Window.partitionBy("lane").orderBy("batch"))
    compared = contents.select("lane", "parts", "contents", F.when(~F.col("is_cut"), before).alias("before"))
    many = F.greatest(F.size("before"), F.lit(0))
    again = F.coalesce(F.slice("contents", F.lit(1), many) == F.col("before"), F.lit(False))
    counted = compared.select("lane", "parts", F.when(again, many).otherwise(0).alias("many"))

    def told(part: Column, number: Column) -> Column:
        resent = (number < F.col("many")).alias("resent")
        return F.struct(part["at"].alias("at"), resent, part["reached"].alias("reached"))

    def is_news(part: Column) -> Column:
        return part["resent"] | part["reached"].isNotNull()

    found = counted.select("lane", F.explode(F.filter(F.transform("parts", told), is_news)).alias("part"))
    return found.select("lane", "part.at", "part.resent", "part.reached").toDF("lane", "at", "_resent", "_reached")
