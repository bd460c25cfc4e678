"""Sources that fell silent: heartbeats that stopped, partitions that stayed behind or were read too early."""

from datetime import datetime, timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode.ledgers import WATERMARK
from quality import catalogue

HEARTBEAT: Final = "heartbeat"
CHILDREN: Final = "child_partitions"
ENDS: Final = (CHILDREN, "partition_end")
_CHILD: Final = (
    "array<struct<token string, parent_partition_tokens array<string>, parentPartitionTokens array<string>>>"
)
PAYLOAD: Final = f"child_partitions {_CHILD}, childPartitions {_CHILD}"


def silent_heartbeats(
    control: DataFrame, since: int, before: datetime | None, newest: datetime | None, grace: timedelta, key: T.DataType
) -> DataFrame:
    """Where no heartbeat came for longer than `grace` although the source went on.

    Needs: control rows of one source. `before`, `newest`: the greatest processing time before these batches and now.
    Gives: check, position_from, position_to, key (all null), message.
    Rows: one a silence: between two heartbeats of one channel, or after its last one. A look at all batches passes over
        those that have ended: what the source held back has come since.
    """
    recent = F.col("batch") > since
    if before is not None:
        recent = recent | (F.col("ingest_ts") >= F.lit(before - grace))
    beats = control.where((F.col("kind") == HEARTBEAT) & F.col("ingest_ts").isNotNull() & recent).coalesce(1)
    following = F.lead("ingest_ts").over(Window.partitionBy("source", "channel").orderBy("ingest_ts"))
    until = F.coalesce(following, F.lit(newest))
    is_told = following.isNull() | F.lit(since >= 0)
    silences = beats.select("channel", "ingest_ts", until.alias("until"), is_told.alias("is_told"))
    silences = silences.where(F.col("is_told") & longer_than(grace))
    # Without its end: a silence that goes on is the same finding in the next run.
    text = F.concat(F.lit("no heartbeat came"), of_channel(), F.lit(" for long after "), moment("ingest_ts"))
    return silences.select(*told(text, key))


def of_channel() -> Column:
    """Which channel, where that is known."""
    return F.coalesce(F.concat(F.lit(" on "), F.col("channel")), F.lit(""))


def longer_than(grace: timedelta) -> Column:
    """True when the silence lasted longer."""
    return F.col("until") > F.col("ingest_ts") + F.make_dt_interval(secs=F.lit(grace.total_seconds()))


def moment(name: str) -> Column:
    """A time as a person reads it."""
    return F.date_format(name, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")


def told(text: Column, key: T.DataType) -> list[Column]:
    """The columns of a finding that has no place in the log."""
    nowhere = F.lit(None).cast("string")
    return [
        F.lit(catalogue.STALLED_SOURCE).alias("check"),
        nowhere.alias("position_from"),
        nowhere.alias("position_to"),
        F.lit(None).cast(key).alias("key"),
        text.alias("message"),
    ]


def stalled_partitions(control: DataFrame, before: datetime | None, grace: timedelta, key: T.DataType) -> DataFrame:
    """Partitions that are behind the others by more than `grace`, and those that were read before their parents ended.

    Needs: control rows of one source. `before`: the greatest watermark before these batches.
    Gives: check, position_from, position_to, key (all null), message.
    Rows: one a partition and fault.

    A partition lives until it names its children; what was behind already when these batches came is not told again.
    """
    is_recent = F.lit(True) if before is None else F.coalesce("commit_ts", "ingest_ts") >= F.lit(before - grace)
    rows = control.where(F.col("kind").isin(WATERMARK, *ENDS) & is_recent).coalesce(1)
    is_mark = F.col("kind") == WATERMARK
    children = F.from_json(F.when(F.col("kind") == CHILDREN, F.col("payload")), PAYLOAD)
    lived = rows.where(F.coalesce("channel", F.lit("")) != "").select(
        F.col("channel").alias("token"),
        F.when(is_mark, F.col("commit_ts")).alias("mark"),
        F.col("kind").isin(*ENDS).alias("ends"),
        F.lit(None).cast("timestamp").alias("starts"),
        F.lit(None).cast("array<string>").alias("parents"),
        F.lit(None).cast("string").alias("told_by"),
    )
    named = (
        rows.select("channel", "commit_ts", children.alias("told"))
        .select(
            "channel", "commit_ts", F.explode(F.coalesce("told.child_partitions", "told.childPartitions")).alias("one")
        )
        .select(
            F.col("one.token").alias("token"),
            F.lit(None).cast("timestamp").alias("mark"),
            F.lit(False).alias("ends"),
            F.col("commit_ts").alias("starts"),
            F.coalesce("one.parent_partition_tokens", "one.parentPartitionTokens").alias("parents"),
            F.col("channel").alias("told_by"),
        )
    )
    partitions = (
        lived.unionByName(named)
        .groupBy("token")
        .agg(
            F.max("mark").alias("mark"),
            F.bool_or("ends").alias("ended"),
            F.max("starts").alias("starts"),
            F.array_distinct(F.flatten(F.collect_list("parents"))).alias("parents"),
            F.collect_set("told_by").alias("told_by"),
        )
    )
    whole = Window.partitionBy(F.lit(1))
    is_followed = F.bool_or(F.col("mark").isNotNull() & F.col("starts").isNotNull()).over(whole)
    until = partitions.select(
        "*",
        F.coalesce("mark", "starts").alias("ingest_ts"),
        F.max("mark").over(whole).alias("until"),
        (F.col("mark").isNotNull() | is_followed).alias("is_known"),  # or records do not carry their partition
    )
    behind = ~F.col("ended") & F.col("is_known") & longer_than(grace)
    early = F.when(F.col("mark").isNotNull(), F.array_except("parents", "told_by"))
    short = F.concat(F.lit("partition ..."), F.substring("token", -8, 8))  # tokens are long, and end differently
    texts = F.array_compact(
        F.array(
            F.when(
                behind & F.col("mark").isNull(),
                F.concat(short, F.lit(" began at "), moment("starts"), F.lit(", and nothing of it came")),
            ).when(
                behind,
                F.concat(short, F.lit(" is read up to "), moment("mark"), F.lit(", and stays behind the others")),
            ),
            F.when(
                F.size(early) > 0,
                F.concat(
                    short,
                    F.lit(" was read before its parents ended: "),
                    F.size(early).cast("string"),
                    F.lit(" have not"),
                ),
            ),
        )
    )
    return until.select(F.explode(texts).alias("text")).select(*told(F.col("text"), key))
