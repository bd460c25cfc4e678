"""Sources that fell silent: heartbeats that stopped, partitions that stayed behind or were read too early."""

from datetime import datetime, timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.schema.control_kinds import CHILD_PARTITIONS, HEARTBEAT, PARTITION_END, WATERMARK
from siltstone.engine.steps.spanner_partitions import children
from siltstone.quality import catalogue

ENDS: Final = (CHILD_PARTITIONS, PARTITION_END)


def silent_heartbeats(
    control: DataFrame,
    since: int,
    first: datetime | None,
    newest: datetime | None,
    grace: timedelta,
    key: T.DataType,
    of_one_log: bool = False,
) -> DataFrame:
    """Where no heartbeat came for longer than `grace` although the source went on.

    Needs: control rows of one table's sources. `first`: the time from which on heartbeats matter (None: all);
        `newest`: the greatest processing time; `of_one_log`: the sources are names of one log.
    Gives: check, position_from, position_to, key (all null), message.
    Rows: one a silence: between two heartbeats of one channel, or after its last one. Those between two older
        heartbeats were told before. A look at all batches passes over those that have ended: what the source held back
        has come since. What an older name of a log sent last is no silence where a newer one has sent some since.
    """
    is_new = F.col("batch") > since
    matters = F.lit(True) if first is None else F.col("ingest_ts") >= F.lit(first)
    beats = control.where((F.col("kind") == HEARTBEAT) & F.col("ingest_ts").isNotNull() & matters).coalesce(1)
    in_time = Window.partitionBy("source", "channel").orderBy("ingest_ts")
    following = F.lead("ingest_ts").over(in_time)
    until = F.coalesce(following, F.lit(newest))
    is_last = following.isNull() & ~is_followed() if of_one_log else following.isNull()
    is_told = is_last | (F.lit(since >= 0) & following.isNotNull() & (is_new | F.lead(is_new).over(in_time)))
    silences = beats.select("channel", "ingest_ts", until.alias("until"), is_told.alias("is_told"))
    silences = silences.where(F.col("is_told") & longer_than(grace))
    # Without its end: a silence that goes on is the same finding in the next run.
    text = F.concat(F.lit("no heartbeat came"), of_channel(), F.lit(" for long after "), moment("ingest_ts"))
    return silences.select(*told(text, key))


def is_followed() -> Column:
    """Whether the newest heartbeat of all is of another source."""
    newest = F.max(F.struct("ingest_ts", "source")).over(Window.partitionBy(F.lit(1)))
    return newest["source"] != F.col("source")


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
    whole = Window.partitionBy(F.lit(1))
    is_followed = F.bool_or(F.col("mark").isNotNull() & F.col("starts").isNotNull()).over(whole)
    partitions = partition_lives(rows).select(
        "*",
        F.coalesce("mark", "starts").alias("ingest_ts"),
        F.max("mark").over(whole).alias("until"),
        (F.col("mark").isNotNull() | is_followed).alias("is_known"),  # or records do not carry their partition
    )
    texts = F.array_compact(F.array(lag_text(grace), early_text()))
    return partitions.select(F.explode(texts).alias("text")).select(*told(F.col("text"), key))


def partition_lives(rows: DataFrame) -> DataFrame:
    """What is known of each partition.

    Needs: control rows that are watermarks, or end partitions.
    Gives: token, mark (how far it was read), ended, starts, parents, told_by (the partitions that named it).
    Rows: one a partition.
    """
    lived = rows.where(F.coalesce("channel", F.lit("")) != "").select(
        F.col("channel").alias("token"),
        F.when(F.col("kind") == WATERMARK, F.col("commit_ts")).alias("mark"),
        F.col("kind").isin(*ENDS).alias("ends"),
        F.lit(None).cast("timestamp").alias("starts"),
        F.lit(None).cast("array<string>").alias("parents"),
        F.lit(None).cast("string").alias("told_by"),
    )
    named = children(F.when(F.col("kind") == CHILD_PARTITIONS, F.col("payload")))
    children_named = rows.select("channel", "commit_ts", F.explode(named).alias("one")).select(
        F.col("one.token").alias("token"),
        F.lit(None).cast("timestamp").alias("mark"),
        F.lit(False).alias("ends"),
        F.col("commit_ts").alias("starts"),
        F.col("one.parents").alias("parents"),
        F.col("channel").alias("told_by"),
    )
    return (
        lived.unionByName(children_named)
        .groupBy("token")
        .agg(
            F.max("mark").alias("mark"),
            F.bool_or("ends").alias("ended"),
            F.max("starts").alias("starts"),
            F.array_distinct(F.flatten(F.collect_list("parents"))).alias("parents"),
            F.collect_set("told_by").alias("told_by"),
        )
    )


def short_name() -> Column:
    """A partition as a person tells it from others: tokens are long, and end differently."""
    return F.concat(F.lit("partition ..."), F.substring("token", -8, 8))


def lag_text(grace: timedelta) -> Column:
    """What is said of a partition that stays behind the others; null where it does not."""
    is_older = ~F.col("ended") & F.col("is_known") & longer_than(grace)
    unread = F.concat(short_name(), F.lit(" began at "), moment("starts"), F.lit(", and nothing of it came"))
    slow = F.concat(short_name(), F.lit(" is read up to "), moment("mark"), F.lit(", and stays behind the others"))
    return F.when(is_older & F.col("mark").isNull(), unread).when(is_older, slow)


def early_text() -> Column:
    """What is said of a partition that was read before its parents ended; null where it was not."""
    early = F.when(F.col("mark").isNotNull(), F.array_except("parents", "told_by"))
    number = F.size(early).cast("string")
    text = F.concat(short_name(), F.lit(" was read before its parents ended: "), number, F.lit(" have not"))
    return F.when(F.size(early) > 0, text)
