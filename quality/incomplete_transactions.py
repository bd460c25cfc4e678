"""Transactions of which less came than they announced: read off the ledger that counts over all tables."""

from datetime import timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.schema.control_kinds import TRANSACTION_LEDGER
from siltstone.quality import catalogue
from siltstone.quality.source_clocks import Moments, known_at, of_source

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
    """The overdue transactions of which something of this table is missing, or may be.

    Needs: what `transaction_states` gives.
    Gives: check, position_from, position_to, key (null, of the table's key type), message, tx_id.
    Rows: one a transaction. Where it says how much each table has, it concerns the tables that fall short; else all
        tables that it touched.
    """
    is_short = F.exists("tables", lambda one: is_named(one["table"], table) & (one["counted"] < one["announced"]))
    any_short = F.exists("tables", lambda one: one["counted"] < one["announced"])
    touched = F.exists("touched", lambda name: is_named(name, table))
    missing = (F.col("announced") - F.col("counted")).cast("string")
    text = (
        F.when(
            F.col("announced").isNull(),
            F.concat(F.lit("the end of transaction "), F.col("tx_id"), F.lit(" has not come; "), came()),
        )
        .when(
            F.col("partitions") > 1,
            F.concat(announced("records"), F.lit(" in "), "partitions", F.lit(" partitions; "), came(), finished()),
        )
        .otherwise(F.concat(announced("changes"), F.lit("; "), came(), F.lit(", "), missing, F.lit(" are missing")))
    )
    concerned = F.when(any_short, is_short).otherwise(touched)
    return states.where((F.col("state") == OVERDUE) & F.coalesce(concerned, F.lit(False))).select(
        F.lit(catalogue.INCOMPLETE_TRANSACTION).alias("check"),
        F.col("low").alias("position_from"),
        F.col("high").alias("position_to"),
        F.lit(None).cast(key).alias("key"),
        text.alias("message"),
        "tx_id",
    )


def is_named(name: Column, table: str) -> Column:
    """True for a table's name, also with the database before it."""
    return F.coalesce((name == table) | name.endswith(f".{table}"), F.lit(False))


def announced(what: str) -> Column:
    """How a finding begins."""
    return F.concat(F.lit("transaction "), F.col("tx_id"), F.lit(" announced "), F.col("announced"), F.lit(f" {what}"))


def came() -> Column:
    """How much came; where the numbers inside the transaction leave holes, how many those miss."""
    holes = F.when(
        F.col("holes") > 0, F.concat(F.lit(" and "), F.col("holes"), F.lit(" before the last of them did not"))
    )
    return F.concat(F.col("counted"), F.lit(" came"), F.coalesce(holes, F.lit("")))


def finished() -> Column:
    """How many partitions told their last record."""
    return F.concat(F.lit(", of "), F.col("finished"), F.lit(" partitions the last one"))


def transaction_states(control: DataFrame, since: int, before: Moments, newest: Moments, grace: timedelta) -> DataFrame:
    """Each transaction that these batches touched, or that was not yet overdue when they came: how far it is.

    Needs: control rows. `before`, `newest`: the greatest commit time of each source before these batches and now.
    Gives: source, tx_id, state (complete, open, overdue: not complete, and the source went on for longer than
        `grace`), announced (null: nobody said), counted, holes, tables (table, announced, counted), touched (tables),
        partitions, finished, low, high (positions), commit_ts.
    Rows: one a transaction. Each change counts once, however often it was delivered, and in how many batches.
    """
    ledger = control.where(F.col("kind") == TRANSACTION_LEDGER)
    not_overdue = {source: moment - grace if moment is not None else None for source, moment in before.items()}
    recent = (F.col("batch") > since) | (F.col("commit_ts") >= of_source(not_overdue))
    touched = ledger.where(recent)
    if since > 0:  # what older batches brought of the same transactions
        touched = ledger.join(touched.select("source", "tx_id").distinct(), ["source", "tx_id"], "left_semi")
    told = touched.select(
        *("source", "tx_id", "position"), known_at().alias("commit_ts"), F.from_json("payload", PAYLOAD).alias("told")
    )
    return told.transform(counted_lanes).transform(summed).transform(stated, newest, grace)


def counted_lanes(told: DataFrame) -> DataFrame:
    """How many changes of each table and partition of a transaction came: the length of its spans laid over each other.

    Needs: source, tx_id, position, commit_ts, told.
    Gives: source, tx_id, table, partition, came, reached (the greatest number), is_last, size, partitions, ended, rows,
        tables, low, high, commit_ts. The facts of the transaction stand on every row.
    Rows: one a table and partition; one without them for a transaction of which only the end came.
    """
    part = F.explode_outer("told.parts").alias("part")
    # Everything that follows is of one transaction: one shuffle serves it all.
    opened = (
        told.repartition("source", "tx_id")
        .select("source", "tx_id", F.col("position").alias("high"), "commit_ts", "told.*", part)
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
    """The lanes of each transaction together.

    Needs: what `counted_lanes` gives.
    Gives: source, tx_id, counted, reached, lanes (table, came), touched, finished, announced, partitions, ended, rows,
        told (announced by table), low, high, commit_ts.
    Rows: one a transaction.
    """
    sums = lanes.groupBy("source", "tx_id").agg(
        F.sum("came").alias("counted"),
        F.max("reached").alias("reached"),
        F.collect_list(F.struct("table", "came")).alias("lanes"),
        F.collect_set("table").alias("touched"),
        F.count_if("is_last").alias("finished"),
        *facts(),
    )
    return sums.withColumnsRenamed({"size": "announced", "tables": "told"})


def facts() -> list[Column]:
    """What several rows of one transaction say of it, together. The tables are those of the row that says its size."""
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
        no end, nothing but a truncate     complete: DDL and TRUNCATE have no end
        end again, announcing 0            complete: what it repeats was counted before
    """
    of_table = F.transform(
        "told",
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
    tables = F.filter(of_table, lambda one: ~one["table"].contains("$"))  # logical messages have no table's name
    is_numbered = F.col("source").contains(":")  # Debezium numbers from 1 without holes
    holes = F.when(is_numbered, F.greatest(F.lit(0), F.col("reached") - F.col("counted"))).otherwise(F.lit(0))
    is_complete = (
        F.when(F.col("announced").isNotNull(), (F.col("counted") >= F.col("announced")) & (F.col("holes") == 0))
        .when(F.col("rows") == 0, F.lit(True))
        .otherwise(F.lit(False))
    )
    late = of_source(newest) > F.col("commit_ts") + F.make_dt_interval(secs=F.lit(grace.total_seconds()))
    state = F.when(is_complete, COMPLETE).when(F.coalesce(late, F.lit(False)), OVERDUE).otherwise(OPEN)
    return sums.select("*", holes.alias("holes"), F.coalesce(tables, F.array()).alias("tables")).select(
        *("source", "tx_id", state.alias("state"), "announced", "counted", "holes", "tables", "touched"),
        *("partitions", "finished", "low", "high", "commit_ts"),
    )


def is_same(name: Column, collection: Column) -> Column:
    """True when a table of the ledger is the one that a transaction's end names, perhaps with its database."""
    return F.coalesce((name == collection) | collection.endswith(F.concat(F.lit("."), name)), F.lit(False))
