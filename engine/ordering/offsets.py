"""The offset at which a change stands, where offsets tell the order at one position and there are copies of it."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from engine import names
from engine.ordering.chronology import identity

_STATE: Final = (
    "struct<is_live: boolean, row: bigint, is_copy: boolean, stand: array<struct<id: bigint, offset: {offset}>>>"
)


def with_offsets_settled(rows: DataFrame) -> DataFrame:
    """Let all copies of a change have one offset: that of the last which is a change of its own.

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

    A copy whose image before is not known is what the one right before it is.

    Needs: what `sortable` gives; position, op, row, present, before, offset.
    Gives: the same columns.
    Rows: 1:1.
    """
    together = rows.repartition("key_hash", "key")  # as all windows have it, or this one had a shuffle of its own
    change = F.struct(
        "offset",
        F.xxhash64(identity()).alias("id"),
        "op",
        F.when(F.col("present").isNull(), F.xxhash64("row")).alias("row"),
        F.when(F.col("before").isNotNull(), F.xxhash64("before")).alias("before"),
    )
    of_position = Window.partitionBy("key_hash", "key", "position")
    told = F.sort_array(F.collect_list(F.when(F.col("offset").isNotNull(), change)).over(of_position))
    nothing = F.from_json(F.lit('{"stand":[]}'), _STATE.format(offset=rows.schema["offset"].dataType.simpleString()))
    stand = F.aggregate("_told", nothing, _stepped, lambda state: state["stand"])
    own = F.filter("_stand", lambda change: change["id"] == F.xxhash64(identity()))
    settled = F.try_element_at(own, F.lit(-1))["offset"]
    return (
        together.withColumn("_told", told)
        .withColumn("_stand", stand)
        .select(*[settled.alias(name) if name == "offset" else F.col(name) for name in rows.columns])
    )


def _stepped(state: Column, change: Column) -> Column:
    """What is known behind a change: whether there is a row, and which; and the offsets of what are changes so far."""
    is_copy = F.exists(state["stand"], lambda stood: stood["id"] == change["id"])
    is_same = F.coalesce(state["row"] == change["before"], state["is_copy"])
    follows = F.when(change["op"] == names.OP_INSERT, ~state["is_live"]).otherwise(state["is_live"] & is_same)
    counts = ~is_copy | F.coalesce(follows, F.lit(False))
    is_live = ~change["op"].isin(names.OP_DELETE, names.OP_TRUNCATE)
    stood = F.struct(change["id"].alias("id"), change["offset"].alias("offset"))
    return F.struct(
        F.when(counts, is_live).otherwise(state["is_live"]).alias("is_live"),
        F.when(counts, F.when(is_live, change["row"])).otherwise(state["row"]).alias("row"),
        (is_copy & counts).alias("is_copy"),
        F.when(counts, F.array_append(state["stand"], stood)).otherwise(state["stand"]).alias("stand"),
    )
