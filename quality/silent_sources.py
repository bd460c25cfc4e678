"""Silent sources: heartbeats that stopped, partitions that lag or were read too early."""

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
    """The times at which no heartbeat arrived for longer than `grace` although the source advanced.

    Needs: control rows of one table's sources. `first`: the time from which on heartbeats matter (None: all);
        `newest`: the greatest processing time; `of_one_log`: the sources are names of one log.
    Gives: check, position_from, position_to, key (all null), message.
    Rows: one per silence: between two heartbeats of one channel, or after its last one. A silence between two old
        heartbeats was reported before. A pass over all batches skips silences that have ended: the delayed changes
        have arrived since. With `of_one_log`, the last heartbeat of an older name is no silence if a newer name has
        sent heartbeats since.
    """
    is_new = F.col("batch") > since
    matters = F.lit(True) if first is None else F.col("ingest_ts") >= F.lit(first)
    beats = control.where((F.col("kind") == HEARTBEAT) & F.col("ingest_ts").isNotNull() & matters).coalesce(1)
    in_time = Window.partitionBy("source", "channel").orderBy("ingest_ts")
    following = F.lead("ingest_ts").over(in_time)
    until = F.coalesce(following, F.lit(newest))
    is_last = following.isNull() & ~is_followed() if of_one_log else following.isNull()
    is_reported = is_last | (F.lit(since >= 0) & following.isNotNull() & (is_new | F.lead(is_new).over(in_time)))
    silences = beats.select("channel", "ingest_ts", until.alias("until"), is_reported.alias("is_reported"))
    silences = silences.where(F.col("is_reported") & longer_than(grace))
    # The message has no end time, so that a continuing silence is the same finding in the next run.
    text = F.concat(
        F.lit("no heartbeat arrived"), of_channel(), F.lit(" for longer than quality.grace after "), moment("ingest_ts")
    )
    return silences.select(*finding_columns(text, key))


def is_followed() -> Column:
    """True if the newest of all heartbeats is from another source."""
    newest = F.max(F.struct("ingest_ts", "source")).over(Window.partitionBy(F.lit(1)))
    return newest["source"] != F.col("source")


def of_channel() -> Column:
    """The channel as part of a message, if it is known."""
    return F.coalesce(F.concat(F.lit(" on "), F.col("channel")), F.lit(""))


def longer_than(grace: timedelta) -> Column:
    """True if the silence lasted longer than `grace`."""
    return F.col("until") > F.col("ingest_ts") + F.make_dt_interval(secs=F.lit(grace.total_seconds()))


def moment(name: str) -> Column:
    """A time as text."""
    return F.date_format(name, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")


def finding_columns(text: Column, key: T.DataType) -> list[Column]:
    """The columns of a finding without a position."""
    nowhere = F.lit(None).cast("string")
    return [
        F.lit(catalogue.STALLED_SOURCE).alias("check"),
        nowhere.alias("position_from"),
        nowhere.alias("position_to"),
        F.lit(None).cast(key).alias("key"),
        text.alias("message"),
    ]


def stalled_partitions(control: DataFrame, before: datetime | None, grace: timedelta, key: T.DataType) -> DataFrame:
    """Partitions that lag the others by more than `grace`, and those that were read before their parents ended.

    Needs: control rows of one source. `before`: the greatest watermark before these batches.
    Gives: check, position_from, position_to, key (all null), message.
    Rows: one per partition and fault.

    A partition ends when it names its children. Partitions that lagged before these batches are not reported a second
    time.
    """
    is_recent = F.lit(True) if before is None else F.coalesce("commit_ts", "ingest_ts") >= F.lit(before - grace)
    rows = control.where(F.col("kind").isin(WATERMARK, *ENDS) & is_recent).coalesce(1)
    whole = Window.partitionBy(F.lit(1))
    is_followed = F.bool_or(F.col("mark").isNotNull() & F.col("starts").isNotNull()).over(whole)
    partitions = partition_lives(rows).select(
        "*",
        F.coalesce("mark", "starts").alias("ingest_ts"),
        F.max("mark").over(whole).alias("until"),
        (F.col("mark").isNotNull() | is_followed).alias("is_known"),  # otherwise records do not have their partition
    )
    texts = F.array_compact(F.array(lag_text(grace), early_text()))
    return partitions.select(F.explode(texts).alias("text")).select(*finding_columns(F.col("text"), key))


def partition_lives(rows: DataFrame) -> DataFrame:
    """The facts about each partition.

    Needs: control rows that are watermarks or that end partitions.
    Gives: token, mark (the time up to which it was read), ended, starts, parents, named_by (the partitions that named
        it).
    Rows: one per partition.
    """
    lived = rows.where(F.coalesce("channel", F.lit("")) != "").select(
        F.col("channel").alias("token"),
        F.when(F.col("kind") == WATERMARK, F.col("commit_ts")).alias("mark"),
        F.col("kind").isin(*ENDS).alias("ends"),
        F.lit(None).cast("timestamp").alias("starts"),
        F.lit(None).cast("array<string>").alias("parents"),
        F.lit(None).cast("string").alias("named_by"),
    )
    named = children(F.when(F.col("kind") == CHILD_PARTITIONS, F.col("payload")))
    children_named = rows.select("channel", "commit_ts", F.explode(named).alias("one")).select(
        F.col("one.token").alias("token"),
        F.lit(None).cast("timestamp").alias("mark"),
        F.lit(False).alias("ends"),
        F.col("commit_ts").alias("starts"),
        F.col("one.parents").alias("parents"),
        F.col("channel").alias("named_by"),
    )
    return (
        lived.unionByName(children_named)
        .groupBy("token")
        .agg(
            F.max("mark").alias("mark"),
            F.bool_or("ends").alias("ended"),
            F.max("starts").alias("starts"),
            F.array_distinct(F.flatten(F.collect_list("parents"))).alias("parents"),
            F.collect_set("named_by").alias("named_by"),
        )
    )


def short_name() -> Column:
    """A partition in a message: the last characters of its token, which is long."""
    return F.concat(F.lit("partition ..."), F.substring("token", -8, 8))


def lag_text(grace: timedelta) -> Column:
    """The message for a partition that lags the others; null for any other."""
    is_older = ~F.col("ended") & F.col("is_known") & longer_than(grace)
    unread = F.concat(short_name(), F.lit(" began at "), moment("starts"), F.lit(", but no record of it arrived"))
    slow = F.concat(short_name(), F.lit(" is read up to "), moment("mark"), F.lit(" and lags the other partitions"))
    return F.when(is_older & F.col("mark").isNull(), unread).when(is_older, slow)


def early_text() -> Column:
    """The message for a partition that was read before its parents ended; null for any other."""
    early = F.when(F.col("mark").isNotNull(), F.array_except("parents", "named_by"))
    number = F.size(early).cast("string")
    text = F.concat(short_name(), F.lit(" was read before its parents ended; parents that have not ended: "), number)
    return F.when(F.size(early) > 0, text)
