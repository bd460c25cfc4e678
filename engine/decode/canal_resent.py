"""Messages that Canal sent again after a rollback, found by the rule of its batches.

A lane can be as long as a night, so it is judged in pieces, all beside each other: `ResentMessages` in engine/jvm. The
batches at the ends of a piece may go on behind its border, or come again there: the borders of all pieces together,
a few messages of each, tell.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from engine.frames import checkpointed
from engine.jvm import CATALOG

RESENT_OF_PIECE: Final = f"{CATALOG}.resent_of_piece"
RESENT_OF_LANE: Final = f"{CATALOG}.resent_of_lane"
WHOLE: Final = 3
PIECE: Final = 16
"""A piece is two to the power of this many places of a lane: as much as a task judges at once, 45 bytes each."""
_OF_FILES: Final = Row(channel="", partition=-1, folder="")
_IS_BATCHED: Final = "id is not null"
_MESSAGE: Final = ("offset", "in_file", "file", "line", "after_gap", "id", "es", "content", "beginning")


def resent_messages(messages: DataFrame, piece: int = PIECE) -> DataFrame:
    """The messages that stand in their lane a second time, and those whose lane has seen a later change.

    Needs: file, line, channel, kafka_partition, kafka_offset, after_gap, id, es, content (a hash of all of it
        but `id` and `ts`).
    Gives: file, line, _resent (whether it repeats an earlier message), _reached (in Kafka: the greatest `es` so far).
    Rows: filters; one a message of which there is something to say.

    A lane is a partition of a topic (of a folder, where no topic is told), or where there is none, all files in the
    order of their names. A message of a partition stands there once, however often it was delivered: its offset says
    so. Messages of one `id` that follow each other are a batch; those without are of none. After a rollback the whole
    batch just before comes again, message by message and equal in all but `id` and `ts`, as the beginning of the next
    batch, which may go on longer. Inside one batch equal messages are changes of their own. Of a batch that follows
    files that were not read, and of what is before it, nobody knows all.

        id       1  1  2  2  3  3  3  4  4
        message  A  B  C  D  C  D  E  E  F
        resent                x  x         batch 4 begins with E, but batch 3 was C D E
    """
    told_of = messages.where(f"{_IS_BATCHED} or (es is not null and kafka_partition is not null)")
    placed = told_of.transform(_placed, piece)
    # Computed here, in one pass over all messages; what comes after it is small, and one task does it in no time.
    pieces = placed.transform(_pieces).transform(checkpointed)
    together = pieces.coalesce(1)
    inside, at_borders = (found.select(F.inline("found.told")) for found in (together, together.transform(_lanes)))
    told = inside.unionByName(at_borders).coalesce(1)
    late = together.transform(_late_pieces).transform(checkpointed)
    if not late.isEmpty():
        told = told.unionByName(placed.transform(_behind_later_ones, late))
    return told.groupBy("file", "line").agg(F.bool_or("resent").alias("_resent"), F.max("reached").alias("_reached"))


def holds_batches(messages: DataFrame, new: DataFrame) -> bool:
    """Whether three batches of each lane of the `new` messages begin among these, which stand beside them: one that can
    go on from before or behind them, and two that stand beside each other, of which the second can be the first once
    more.

    Needs: messages, new: as `resent_messages`.
    """
    # The batches of borders are all there are, or more than three.
    lanes = messages.where(_IS_BATCHED).transform(_placed, PIECE).transform(_pieces).transform(_lanes)
    found = {row["lane"]: row["batches"] for row in lanes.select("lane", "found.batches").collect()}
    if found.keys() <= {_OF_FILES}:
        return bool(found.get(_OF_FILES, 0) >= WHOLE)
    folders = {"", *(lane["folder"] for lane in found)}
    asked = new.where(_IS_BATCHED).transform(_placed, PIECE).select("lane").distinct().collect()
    lanes_asked = [row["lane"] for row in asked if row["lane"]["folder"] in folders]  # no lane goes over folders
    return all(found.get(lane, 0) >= WHOLE for lane in lanes_asked)


def _placed(messages: DataFrame, piece: int) -> DataFrame:
    """Where each message stands in its lane.

    Gives: lane, piece, and the columns of `_MESSAGE`.
    """
    partition = F.col("kafka_partition")
    folder = F.when(F.col("channel").isNull(), F.regexp_replace("file", "[^/]*$", ""))
    in_file = F.col("kafka_offset").isNull() | partition.isNull()
    offset = F.when(in_file, F.lit(0)).otherwise(F.col("kafka_offset"))
    # A lane can have both: what stands by its file and line is between offset 0 and 1. No piece holds some of one side
    # of it and some of the other.
    by_offset = F.when(offset == 0, -1).otherwise(F.shiftright(offset, piece) * 2 + 1)
    number = F.struct(
        F.when(in_file, F.lit(0)).otherwise(by_offset).alias("number"),
        F.when(in_file, F.col("file")).otherwise("").alias("file"),
        F.when(in_file, F.shiftright("line", piece)).otherwise(0).alias("lines"),
    )
    return messages.select(
        F.struct(
            F.coalesce("channel", F.lit("")).alias("channel"),
            F.coalesce(partition, F.lit(-1)).alias("partition"),
            F.coalesce(F.when(partition.isNotNull(), folder), F.lit("")).alias("folder"),
        ).alias("lane"),
        number.alias("piece"),
        offset.alias("offset"),
        in_file.alias("in_file"),
        "file",
        "line",
        "after_gap",
        "id",
        F.when(partition.isNotNull(), F.col("es")).alias("es"),
        "content",
        F.lit(None).cast("int").alias("beginning"),
    )


def _pieces(placed: DataFrame) -> DataFrame:
    """What is told of the messages of each piece, and its border: `ResentMessages`.

    Gives: lane, piece, found.
    """
    return placed.groupBy("lane", "piece").agg(_found(RESENT_OF_PIECE))


def _lanes(pieces: DataFrame) -> DataFrame:
    """What is told of the messages at the borders of the pieces of each lane.

    Gives: lane, found.
    """
    return pieces.select("lane", F.inline("found.border")).groupBy("lane").agg(_found(RESENT_OF_LANE))


def _found(function: str) -> Column:
    return F.call_function(function, *[F.col(name) for name in _MESSAGE]).alias("found")


def _late_pieces(pieces: DataFrame) -> DataFrame:
    """The pieces with messages whose lane has seen a later change in a piece before them.

    Gives: lane, piece, reached.
    """
    so_far = Window.partitionBy("lane").orderBy("piece").rowsBetween(Window.unboundedPreceding, -1)
    spans = pieces.select("lane", "piece", "found.least", "found.greatest").where(F.col("greatest").isNotNull())
    reached = spans.select("lane", "piece", "least", F.max("greatest").over(so_far).alias("reached"))
    return reached.where(F.col("reached") > F.col("least")).select("lane", "piece", "reached")


def _behind_later_ones(placed: DataFrame, late: DataFrame) -> DataFrame:
    """The messages of these pieces that they are about.

    Gives: file, line, resent, reached.
    """
    found = placed.join(F.broadcast(late), on=["lane", "piece"], how="inner").where(F.col("reached") > F.col("es"))
    return found.select("file", "line", F.lit(False).alias("resent"), "reached")
