"""Transactions of which fewer changes arrived than they announced, from the ledger that counts over all tables."""

from datetime import timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.schema.control_kinds import TRANSACTION_LEDGER
from siltstone.quality import catalogue
from siltstone.quality.source_clocks import Moments, known_at, of_source
from siltstone.quality.spark_counts import are_missing, counted

COMPLETE: Final = "complete"
OPEN: Final = "open"
OVERDUE: Final = "overdue"
PAYLOAD: Final = (
    "size bigint, partitions bigint, ended boolean, rows bigint, low string,"
    " tables array<struct<data_collection string, event_count bigint>>,"
    " parts array<struct<`table` string, `partition` string, is_last boolean,"
    " spans array<struct<lo bigint, hi bigint>>>>"
)


def incomplete_transactions(states: DataFrame, table: str, key: T.DataType) -> DataFrame:
    """The overdue transactions of which changes of this table are missing, or may be missing.

    Needs: what `transaction_states` gives.
    Gives: check, position_from, position_to, key (null, of the table's key type), message, tx_id.
    Rows: one per transaction. If it announced a count per table, it is a finding of the tables with too few changes;
        otherwise it is a finding of all tables that it changed.
    """
    is_short = F.exists("tables", lambda one: is_named(one["table"], table) & (one["counted"] < one["announced"]))
    any_short = F.exists("tables", lambda one: one["counted"] < one["announced"])
    touched = F.exists("touched", lambda name: is_named(name, table))
    missing = are_missing(F.col("announced") - F.col("counted"))
    text = (
        F.when(
            F.col("announced").isNull(),
            F.concat(F.lit("the end of transaction "), "tx_id", F.lit(" has not arrived; "), arrived("change")),
        )
        .when(
            F.col("partitions") > 1,
            F.concat(announced("record"), F.lit(" in "), "partitions", F.lit(" partitions; "), arrived(), finished()),
        )
        .otherwise(F.concat(announced("change"), F.lit("; "), arrived(), F.lit(", "), missing))
    )
    is_concerned = F.when(any_short, is_short).otherwise(touched)
    return states.where((F.col("state") == OVERDUE) & F.coalesce(is_concerned, F.lit(False))).select(
        F.lit(catalogue.INCOMPLETE_TRANSACTION).alias("check"),
        F.col("low").alias("position_from"),
        F.col("high").alias("position_to"),
        F.lit(None).cast(key).alias("key"),
        text.alias("message"),
        "tx_id",
    )


def is_named(name: Column, table: str) -> Column:
    """True if the name is the table's, also with its database as a prefix."""
    return F.coalesce((name == table) | name.endswith(f".{table}"), F.lit(False))


def announced(noun: str) -> Column:
    """The beginning of a message: how many changes or records the transaction announced."""
    return F.concat(F.lit("transaction "), "tx_id", F.lit(" announced "), counted(F.col("announced"), noun))


def arrived(noun: str | None = None) -> Column:
    """How many changes arrived, and how many numbers before the last of them are missing."""
    holes = F.when(
        F.col("holes") > 0, F.concat(F.lit(" and "), F.col("holes"), F.lit(" before the last of them did not"))
    )
    number = F.col("counted") if noun is None else counted(F.col("counted"), noun)
    return F.concat(number, F.lit(" arrived"), F.coalesce(holes, F.lit("")))


def finished() -> Column:
    """How many partitions sent their last record."""
    return F.concat(F.lit("; partitions whose last record arrived: "), "finished")


def transaction_states(control: DataFrame, since: int, before: Moments, newest: Moments, grace: timedelta) -> DataFrame:
    """The state of each transaction that these batches belong to, or that was not overdue before them.

    Needs: control rows. `before`, `newest`: the greatest commit time of each source before these batches and now.
    Gives: source, tx_id, state (complete, open, overdue: not complete, and the source has advanced by more than
        `grace` since), announced (null if unknown), counted, holes, tables (table, announced, counted), touched (names
        of tables), partitions, finished, low, high (positions), commit_ts.
    Rows: one per transaction. Each change counts once, even if several batches delivered it.
    """
    ledger = control.where(F.col("kind") == TRANSACTION_LEDGER)
    not_overdue = {source: moment - grace if moment is not None else None for source, moment in before.items()}
    recent = (F.col("batch") > since) | (F.col("commit_ts") >= of_source(not_overdue))
    touched = ledger.where(recent)
    if since > 0:  # also what older batches have of the same transactions
        touched = ledger.join(touched.select("source", "tx_id").distinct(), ["source", "tx_id"], "left_semi")
    entries = touched.select(
        *("source", "tx_id", "position"), known_at().alias("commit_ts"), F.from_json("payload", PAYLOAD).alias("entry")
    )
    return entries.transform(counted_lanes).transform(summed).transform(stated, newest, grace)


def counted_lanes(entries: DataFrame) -> DataFrame:
    """How many changes of each table and partition of a transaction arrived: the length of the union of its spans.

    Needs: source, tx_id, position, commit_ts, entry.
    Gives: source, tx_id, table, partition, came (how many), reached (the greatest number), is_last, size, partitions,
        ended, rows, tables, low, high, commit_ts. Every row has the facts of the whole transaction.
    Rows: one per table and partition; one without them for a transaction of which only the end arrived.
    """
    part = F.explode_outer("entry.parts").alias("part")
    # All that follows is computed per transaction: one shuffle is enough.
    opened = (
        entries.repartition("source", "tx_id")
        .select("source", "tx_id", F.col("position").alias("high"), "commit_ts", "entry.*", part)
        .select("*", F.explode_outer("part.spans").alias("span"))
    )
    lane = Window.partitionBy("source", "tx_id", "part.table", "part.partition").orderBy("span.lo", "span.hi")
    before = F.max("span.hi").over(lane.rowsBetween(Window.unboundedPreceding, -1))
    reached = F.greatest(F.try_subtract(F.col("span.lo"), F.lit(1)), before)
    fresh = F.greatest(F.lit(0), F.try_subtract(F.col("span.hi"), reached))
    return (
        opened.select("*", fresh.alias("fresh"))
        .groupBy("source", "tx_id", F.col("part.table").alias("table"), F.col("part.partition").alias("partition"))
        .agg(
            F.coalesce(F.sum("fresh"), F.lit(0)).alias("came"),
            F.max("span.hi").alias("reached"),
            F.bool_or("part.is_last").alias("is_last"),
            *facts(),
        )
    )


def summed(lanes: DataFrame) -> DataFrame:
    """The sums over the tables and partitions of each transaction.

    Needs: what `counted_lanes` gives.
    Gives: source, tx_id, counted, reached, lanes (table, came), touched, finished, announced, partitions, ended, rows,
        by_table (the announced counts), low, high, commit_ts.
    Rows: one per transaction.
    """
    sums = lanes.groupBy("source", "tx_id").agg(
        F.sum("came").alias("counted"),
        F.max("reached").alias("reached"),
        F.collect_list(F.struct("table", "came")).alias("lanes"),
        F.collect_set("table").alias("touched"),
        F.count_if("is_last").alias("finished"),
        *facts(),
    )
    return sums.withColumnsRenamed({"size": "announced", "tables": "by_table"})


def facts() -> list[Column]:
    """The facts of a transaction from all its rows. The tables are those of the row with the transaction's size."""
    return [
        *[F.max(name).alias(name) for name in ("size", "partitions", "ended", "rows")],
        F.max(F.struct("size", "tables")).getField("tables").alias("tables"),
        F.min("low").alias("low"),
        *[F.max(name).alias(name) for name in ("high", "commit_ts")],
    ]


def stated(sums: DataFrame, newest: Moments, grace: timedelta) -> DataFrame:
    """The state of each transaction.

    Needs: what `summed` gives. Gives: what `transaction_states` gives. Rows: 1:1.

        announced 3, counted 3             complete
        announced 3, counted 2             open, then overdue
        no end yet, counted 1, 2 and 4     open, then overdue (one hole)
        no end, only a truncate            complete: DDL and TRUNCATE have no end
        repeated end that announces 0      complete: its changes were counted before
    """
    of_table = F.transform(
        "by_table",
        lambda one: F.struct(
            one["data_collection"].alias("table"),
            one["event_count"].alias("announced"),
            F.aggregate(
                F.filter("lanes", lambda lane: is_same(lane["table"], one["data_collection"])),
                F.lit(0).cast("bigint"),
                lambda total, lane: total + lane["came"],
            ).alias("counted"),
        ),
    )
    tables = F.filter(of_table, lambda one: ~one["table"].contains("$"))  # logical messages have no table
    is_numbered = F.col("source").contains(":")  # Debezium numbers from 1 without holes
    holes = F.when(is_numbered, F.greatest(F.lit(0), F.col("reached") - F.col("counted"))).otherwise(F.lit(0))
    is_complete = (
        F.when(F.col("announced").isNotNull(), (F.col("counted") >= F.col("announced")) & (F.col("holes") == 0))
        .when(F.col("rows") == 0, F.lit(True))
        .otherwise(F.lit(False))
    )
    is_late = of_source(newest) > F.col("commit_ts") + F.make_dt_interval(secs=F.lit(grace.total_seconds()))
    state = F.when(is_complete, COMPLETE).when(F.coalesce(is_late, F.lit(False)), OVERDUE).otherwise(OPEN)
    return sums.select("*", holes.alias("holes"), F.coalesce(tables, F.array()).alias("tables")).select(
        *("source", "tx_id", state.alias("state"), "announced", "counted", "holes", "tables", "touched"),
        *("partitions", "finished", "low", "high", "commit_ts"),
    )


def is_same(name: Column, collection: Column) -> Column:
    """True if a table of the ledger is the one that a transaction's end names, also with its database as a prefix."""
    return F.coalesce((name == collection) | collection.endswith(F.concat(F.lit("."), name)), F.lit(False))
