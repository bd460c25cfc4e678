"""Pair the two events of a key change at one place in the log, such as Datastream's UPDATE-DELETE and UPDATE-INSERT."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.frames import is_from

_FIRST: Final = "-0"  # the end of the first half's position; the second half's position ends in another digit
_UNKNOWN_KEY: Final = "{}"


def is_first() -> Column:
    """Whether an event is the first half of a key change. Needs: position."""
    return F.coalesce(F.col("position").endswith(_FIRST), F.lit(False))


def with_pairs(envelopes: DataFrame) -> DataFrame:
    """Give each half of a key change the row of the other half.

    Needs: envelopes of one table, kind change, checkpointed: this step reads them more than once.
    Gives: the same columns; old_key_json and new_key_json hold the whole row of the other half. An UPDATE-DELETE
        without its other half gets an empty row: it gives up its key to an unknown key.
    Rows: 1:1.

        place  event            old_key_json   new_key_json
        40     UPDATE-DELETE 1                 {id: 2}
        40     UPDATE-INSERT 2  {id: 1}
        50     UPDATE-INSERT 3                                 an ordinary update in MySQL
        60     UPDATE-DELETE 3                 {}              the other half is in another file, or has not arrived

    If a statement moves several rows, they are paired in their order. If one place has more first halves than second
    halves, or fewer, nothing is paired. A delete that gives up its key also shows that the row which took this key
    earlier in the same transaction is another row.
    """
    halves = envelopes.where(F.col("position").isNotNull()).select(
        "file",
        "line",
        _place().alias("place"),
        F.col("position").endswith(_FIRST).alias("is_first"),
        F.coalesce("before_json", "after_json").alias("row"),
        (F.col("position").endswith(_FIRST) | (F.col("op") != names.OP_DELETE)).alias("is_half"),
    )
    places = halves.where("is_first").select("place").distinct()  # a set of places, few of them
    paired = halves.where("is_half").join(F.broadcast(places), on="place", how="left_semi").transform(_paired)
    joined = envelopes.drop("old_key_json", "new_key_json").join(F.broadcast(paired), on=["file", "line"], how="left")
    gives_up = F.col("position").endswith(_FIRST) & (F.col("op") == names.OP_DELETE)
    new_key = F.when(gives_up, F.coalesce("new_key_json", F.lit(_UNKNOWN_KEY)))
    return joined.withColumn("new_key_json", new_key).select(*envelopes.columns)


def _paired(halves: DataFrame) -> DataFrame:
    """Each half with the row of the other.

    Gives: file, line, old_key_json, new_key_json.
    Rows: filters.
    """
    side = Window.partitionBy("place", "is_first")
    copies = F.collect_list(F.struct("file", "line"))  # redeliveries have the same place
    ranked = (
        halves.groupBy("place", "is_first", "row")
        .agg(copies.alias("copies"), F.min(F.struct("file", "line")).alias("at"))
        .select("*", F.row_number().over(side.orderBy("at")).alias("rank"), F.count("*").over(side).alias("many"))
    )
    first, second = ranked.where("is_first"), ranked.where("NOT is_first")
    nothing = F.lit(None).cast("string")
    met = ["place", "rank", "many"]  # each rank occurs once on each side
    gives = first.join(second.select(*met, F.col("row").alias("other")), on=met, how="inner")
    takes = second.join(first.select(*met, F.col("row").alias("other")), on=met, how="inner")
    deletes = gives.select(
        F.explode("copies").alias("half"), nothing.alias("old_key_json"), F.col("other").alias("new_key_json")
    )
    inserts = takes.select(
        F.explode("copies").alias("half"), F.col("other").alias("old_key_json"), nothing.alias("new_key_json")
    )
    return deletes.unionByName(inserts).select("half.file", "half.line", "old_key_json", "new_key_json")


def _place() -> Column:
    """The position without the mark of its half. Also without the time, if the source stamps the two halves
    differently."""
    bare = F.substring("position", F.lit(1), F.length("position") - len(_FIRST))
    return F.when(is_from(lambda kind: kind.stamps_pairs), F.regexp_replace(bare, "-[^-]*$", "")).otherwise(bare)
