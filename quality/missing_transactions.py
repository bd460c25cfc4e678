"""Transactions that are missing completely, with their begin and end. Other transactions show that they exist.

PostgreSQL: each event has the commit position of the previous transaction (`sequence[0]`), which is the position of
that transaction's END. A logical message outside of transactions also counts as a commit.
MariaDB: the GTIDs of one domain increase by one, and each begins with a BEGIN, DDL included. (MySQL has no BEGIN for
DDL, so there a missing number is no evidence.) After a reset of the log the numbers restart: each epoch has its own.
"""

from datetime import datetime, timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.frames import is_from
from siltstone.engine.schema.control_kinds import MESSAGE, TRANSACTION_BEGIN, TRANSACTION_END, TRANSACTION_LEDGER
from siltstone.quality import catalogue

END_ID: Final = r'"id"\s*:\s*"[0-9]+:([0-9]+)"'
GTID: Final = r"^([0-9]+)-[0-9]+-([0-9]+)$"
HEX, DECIMAL = 16, 10


def lost_transactions(
    control: DataFrame, since: int, before: datetime | None, newest: datetime | None, grace: timedelta, key: T.DataType
) -> DataFrame | None:
    """The missing transactions that those of these batches identify, if the source has advanced by `grace` since.

    Needs: control rows of one kind of source. `before`, `newest`: the greatest commit time before these batches, now.
    Gives: check, position_from, position_to, key (null), message. None if the new rows show that there are none.
    Rows: one per transaction, or one per range of consecutive numbers.
    """
    recent = F.col("batch") > since
    if before is not None:  # also the last transactions before these batches, which the first new ones follow
        recent = recent | (F.col("commit_ts") >= F.lit(before - grace))
    parts = []
    if are_commits_missing(control.where(recent)):
        parts.append(unknown_commits(control, recent))
    if are_numbers_missing(control.where(recent)):
        parts.append(skipped_numbers(control, recent))
    if not parts:
        return None
    found = parts[0] if len(parts) == 1 else parts[0].unionByName(parts[1])
    is_overdue = F.lit(newest) > F.col("commit_ts") + F.make_dt_interval(secs=F.lit(grace.total_seconds()))
    return found.where(is_overdue).select(
        F.lit(catalogue.LOG_GAP).alias("check"),
        "position_from",
        "position_to",
        F.lit(None).cast(key).alias("key"),
        "message",
    )


def is_numbered() -> Column:
    """True for a transaction's begin or end that has the transaction's number in the log."""
    ends = (
        is_from(lambda kind: kind.names_previous_commit)
        & (F.col("kind") == TRANSACTION_END)
        & F.col("payload").rlike(END_ID)
    )
    return ends | (
        is_from(lambda kind: kind.counts_commits) & (F.col("kind") == TRANSACTION_BEGIN) & F.col("tx_id").rlike(GTID)
    )


def commits(control: DataFrame, recent: Column) -> DataFrame:
    """The commits of PostgreSQL that arrived, and those that other events name.

    Gives: source, commit (LSN), is_known (it arrived), is_named (by a `recent` row), low and commit_ts (first position
        and commit time of the first transaction that names it).
    Rows: one per commit.
    """
    segments = F.split("position", "-")
    low = F.split(F.get_json_object("payload", "$.low"), "-")
    # Before its first commit a connector writes an event's own position in place of the last commit, a different one
    # for each event. So a named commit at the event's own position directly precedes it, or precedes every known END.
    has_commit = F.get(low, F.lit(1)) == F.get(segments, F.lit(1))
    is_named = (F.col("kind") == TRANSACTION_LEDGER) & has_commit
    commit = (
        F.when(F.col("kind") == TRANSACTION_END, F.regexp_extract("payload", END_ID, 1).try_cast("bigint"))
        .when(F.col("kind") == MESSAGE, number(F.get(segments, F.lit(2))))
        .when(is_named, number(F.get(low, F.lit(1))))
    )
    rows = control.where(
        is_from(lambda kind: kind.names_previous_commit)
        & F.col("kind").isin(TRANSACTION_END, MESSAGE, TRANSACTION_LEDGER)
    ).select(
        "source",
        commit.alias("commit"),
        "kind",
        F.array_join(low, "-").alias("low"),
        "commit_ts",
        recent.alias("is_recent"),
    )
    named = (F.col("kind") == TRANSACTION_LEDGER) & F.col("is_recent")
    first = F.min(F.when(named, F.struct("low", "commit_ts")))
    return (
        rows.where(F.col("commit").isNotNull())
        .groupBy("source", "commit")
        .agg(
            F.bool_or(F.col("kind") != TRANSACTION_LEDGER).alias("is_known"),
            F.bool_or(named).alias("is_named"),
            first.alias("first"),
        )
        .select("source", "commit", "is_known", "is_named", "first.low", "first.commit_ts")
    )


def number(segment: Column) -> Column:
    """A segment of a position as a number."""
    return F.conv(segment, HEX, DECIMAL).try_cast("bigint")


def are_commits_missing(control: DataFrame) -> bool:
    """Whether these rows name a commit that did not arrive and is later than the first commit that did."""
    missing = F.max(F.when(~F.col("is_known"), F.col("commit")))
    known = F.min(F.when(F.col("is_known"), F.col("commit")))
    found = commits(control, F.lit(True)).groupBy("source").agg(missing.alias("missing"), known.alias("known"))
    return not found.where(F.col("missing") > F.col("known")).isEmpty()


def unknown_commits(control: DataFrame, recent: Column) -> DataFrame:
    """The commits of PostgreSQL that `recent` rows name and whose END has not arrived.

    Gives: position_from, position_to, message, commit_ts.
    Rows: one per commit. Commits before the first END are unknown. There is no finding for a source of which no named
        commit ever arrived as an END.

        ENDs at 40, 80, 90; events name 40, 60, 80     one finding: 60, after 40 and before the event that names it
    """
    whole = Window.partitionBy("source")
    known = F.when(F.col("is_known"), F.col("commit"))
    earlier = F.max(known).over(whole.orderBy("commit").rowsBetween(Window.unboundedPreceding, -1))
    found = commits(control, recent).select(
        "*",
        earlier.alias("earlier"),
        F.max(F.col("is_known") & F.col("is_named")).over(whole).alias("is_proven"),
    )
    begin = F.concat(
        F.lpad(F.hex("earlier"), 16, "0"), F.lit(f"-{0:016X}")
    )  # its changes can be older than that commit
    is_lost = F.col("is_named") & ~F.col("is_known") & F.col("earlier").isNotNull() & F.col("is_proven")
    return found.where(is_lost).select(
        F.concat_ws("-", F.substring_index("low", "-", 1), begin).alias("position_from"),
        F.col("low").alias("position_to"),
        F.concat(F.lit("nothing arrived of the transaction that was committed at LSN "), "commit").alias("message"),
        "commit_ts",
    )


def numbered(control: DataFrame, recent: Column) -> DataFrame:
    """The transactions of MariaDB by GTID.

    Gives: source, epoch, domain, number, is_recent, commit_ts, low, high (positions; null if unknown), is_placed (the
        position is known), epochs (how many the source has).
    Rows: one per control row with a GTID.
    """
    kinds = (TRANSACTION_BEGIN, TRANSACTION_END, TRANSACTION_LEDGER)
    has_gtid = is_from(lambda kind: kind.counts_commits) & F.col("kind").isin(*kinds) & F.col("tx_id").rlike(GTID)
    rows = control.where(has_gtid)
    epochs = F.broadcast(epochs_of(rows))  # one row per source
    return rows.join(epochs, "source", "left").select(
        "source",
        epoch_of().alias("epoch"),
        F.regexp_extract("tx_id", GTID, 1).alias("domain"),
        F.regexp_extract("tx_id", GTID, 2).try_cast("bigint").alias("number"),
        recent.alias("is_recent"),
        "commit_ts",
        F.when(F.col("kind") == TRANSACTION_LEDGER, F.get_json_object("payload", "$.low")).alias("low"),
        F.col("position").alias("high"),
        F.col("position").isNotNull().alias("is_placed"),
        F.coalesce(F.size("begins"), F.lit(0)).alias("epochs"),
    )


def epochs_of(rows: DataFrame) -> DataFrame:
    """When each epoch of a log began, from the rows with a position.

    Gives: source, begins (an array of epoch and commit time, in order).
    Rows: one per source.
    """
    placed = rows.where(F.col("position").isNotNull())
    began = placed.groupBy("source", segment_of_epoch().alias("epoch")).agg(F.min("commit_ts").alias("at"))
    return began.groupBy("source").agg(F.sort_array(F.collect_list(F.struct("epoch", "at"))).alias("begins"))


def epoch_of() -> Column:
    """The epoch of a transaction. A begin or end without a position belongs to the last epoch that began before it."""
    earlier = F.filter("begins", lambda each: each["at"] <= F.col("commit_ts"))
    by_time = F.coalesce(F.try_element_at(earlier, F.lit(-1)), F.try_element_at("begins", F.lit(1)))
    return F.coalesce(segment_of_epoch(), by_time["epoch"])


def segment_of_epoch() -> Column:
    """The epoch in a position: its first segment."""
    return F.substring_index("position", "-", 1)


def are_numbers_missing(control: DataFrame) -> bool:
    """Whether numbers are missing among these rows."""
    counted = numbered(control, F.lit(True)).groupBy("source", "epoch", "domain")
    found = counted.agg(F.min("number").alias("lo"), F.max("number").alias("hi"), F.count_distinct("number").alias("n"))
    return not found.where(F.col("hi") - F.col("lo") + 1 != F.col("n")).isEmpty()


def skipped_numbers(control: DataFrame, recent: Column) -> DataFrame:
    """The missing numbers between two transactions of MariaDB, of which at least one is `recent`.

    Gives: position_from, position_to, message, commit_ts.
    Rows: one per range of missing numbers.

        0-1-7, 0-1-8, 0-1-11     one finding: 0-1-9 to 0-1-10
    """
    each = (
        numbered(control, recent)
        .groupBy("source", "epoch", "domain", "number")
        .agg(
            F.min("low").alias("low"),
            *[F.max(name).alias(name) for name in ("is_recent", "commit_ts", "high", "is_placed", "epochs")],
        )
    )
    in_order = Window.partitionBy("source", "epoch", "domain").orderBy("number")
    # DDL right after the start of a log has no position and seems to belong to the log before. So rows before the first
    # one with a position are not used.
    placed = F.max("is_placed").over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    sure = each.select("*", (placed | (F.col("epochs") <= 1)).alias("is_sure")).where("is_sure")
    neighbours = sure.select("*", F.lag(F.struct("number", "high", "is_recent")).over(in_order).alias("before"))
    first, last = F.col("before.number") + 1, F.col("number") - 1
    text = F.when(first == last, F.concat(F.lit("nothing arrived of transaction "), first)).otherwise(
        F.concat(F.lit("nothing arrived of transactions "), first, F.lit(" to "), last)
    )
    return neighbours.where((first <= last) & (F.col("is_recent") | F.col("before.is_recent"))).select(
        F.col("before.high").alias("position_from"),
        F.col("low").alias("position_to"),
        F.concat(text, F.lit(" in GTID domain "), "domain").alias("message"),
        "commit_ts",
    )
