"""Ledgers of a delivery, counted before the split by table: the transactions in it, and the progress of partitions.

The control table stores them, next to the control events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.frames import is_from
from siltstone.engine.schema.control_kinds import HEARTBEAT, TRANSACTION_END, TRANSACTION_LEDGER, WATERMARK
from siltstone.engine.steps.control_events import control_columns, named_source

END_PAYLOAD: Final = (
    "struct<event_count: bigint, data_collections: array<struct<data_collection: string, event_count: bigint>>>"
)
ANNOUNCED: Final = "announced"
_LANE: Final = ("source", "tx_id", "table", "partition")


def in_ledger() -> Column:
    """True for events of a transaction whose size is known: announced, in its END, or counted by the source."""
    is_end = F.col("control_kind") == TRANSACTION_END
    return F.col("tx_id").isNotNull() & (
        F.col(ANNOUNCED).isNotNull()
        | F.coalesce(is_end & F.col("control_json").contains('"event_count"'), F.lit(False))
        | (F.col("tx_order").isNotNull() & is_from(lambda kind: kind.counts_transactions))
    )


def transaction_rows(envelopes: DataFrame, sources: Sequence[str] = ()) -> DataFrame:
    """The ledger of transactions: how much of each transaction a delivery has, over all tables, declared or not.

    Needs: the frame of events, announced.
    Gives: the columns of `control_rows`; the payload is JSON: size and partitions (announced), ended, rows, low (the
        first position), tables (announced by table), parts (table, partition, is_last, spans of `tx_order`).
    Rows: one per transaction.

    It has spans instead of counts, because a delivery can repeat another one. The union of the spans counts each change
    once.

        tx 7   a 1, a 2, b 3, a 2 (redelivered), END (event_count 4)
        gives  size 4, parts: a [1, 2], b [3, 3]
    """
    end = F.when(F.col("control_kind") == TRANSACTION_END, F.from_json("control_json", END_PAYLOAD))
    is_change = F.col("tx_order").isNotNull() & F.col("op").isNotNull()
    of_rows = is_change & ~F.coalesce(F.col("op") == names.OP_TRUNCATE, F.lit(False))
    counted = (
        envelopes.where(in_ledger())
        .select(
            named_source(sources).alias("source"),
            "tx_id",
            F.when(F.col("tx_order").isNotNull(), F.col("table")).alias("table"),
            F.col(f"{ANNOUNCED}.partition").alias("partition"),
            *("tx_order", "position", "commit_ts", "ingest_ts", "file", ANNOUNCED),
            of_rows.alias("is_row"),
            end.alias("end"),
        )
        .repartition("source", "tx_id")
    )
    parts = counted.groupBy(*_LANE).agg(
        F.array_sort(F.collect_set("tx_order")).alias("orders"),
        F.count_if("is_row").alias("rows"),
        F.max(F.col(f"{ANNOUNCED}.size")).alias("size"),
        F.max(F.col(f"{ANNOUNCED}.partitions")).alias("partitions"),
        F.bool_or(F.col(f"{ANNOUNCED}.is_last")).alias("is_last"),
        F.max("end").alias("end"),
        F.min("position").alias("low"),
        F.max("position").alias("high"),
        *[F.max(name).alias(name) for name in ("commit_ts", "ingest_ts", "file")],
    )
    return _ledger_rows(parts.select("*", spans("orders").alias("spans")))


def spans(orders: str) -> Column:
    """The spans of a sorted array of numbers: `[1, 2, 3, 7]` gives `[{1, 3}, {7, 7}]`."""
    of = F.col(orders)
    first = F.filter(of, lambda n, at: ~_follows(F.get(of, at - 1), n))
    last = F.filter(of, lambda n, at: ~_follows(n, F.get(of, at + 1)))
    return F.zip_with(first, last, lambda lo, hi: F.struct(lo.alias("lo"), hi.alias("hi")))


def _follows(one: Column, then: Column) -> Column:
    """Whether a number is the next one. The greatest bigint has no next number."""
    return F.coalesce(F.try_add(one, F.lit(1)) == then, F.lit(False))


def _ledger_rows(parts: DataFrame) -> DataFrame:
    """The parts of each transaction as one row of the control table."""
    part = F.struct("table", "partition", "is_last", "spans")
    whole = parts.groupBy("source", "tx_id").agg(
        F.collect_list(F.when(F.size("spans") > 0, part)).alias("parts"),
        *[F.max(name).alias(name) for name in ("end", "size", "partitions", "commit_ts", "ingest_ts", "file", "high")],
        F.min("low").alias("low"),
        F.sum("rows").alias("rows"),
    )
    payload = F.struct(
        F.coalesce("end.event_count", "size").alias("size"),
        "partitions",
        F.col("end").isNotNull().alias("ended"),
        "rows",
        "low",
        F.col("end.data_collections").alias("tables"),
        "parts",
    )
    made = {
        "kind": F.lit(TRANSACTION_LEDGER),
        "position": F.col("high"),
        "payload": F.to_json(payload),
        "line": F.lit(None).cast("bigint"),
    }
    return whole.select(*control_columns(whole, made))


def watermark_rows(envelopes: DataFrame) -> DataFrame:
    """How far each partition of a source was read: its newest record in the delivery.

    Needs: the frame of events, announced.
    Gives: the columns of `control_rows`; channel is the partition, commit_ts the watermark. A heartbeat moves the
        watermark to its time; a data or partition record moves it to just before its time.
    Rows: one per partition.
    """
    just_before = F.col("commit_ts") - F.expr("INTERVAL 1 MICROSECOND")
    through = F.when(F.col("control_kind") == HEARTBEAT, F.col("commit_ts")).otherwise(just_before)
    found = (
        envelopes.where(F.coalesce(f"{ANNOUNCED}.partition", F.lit("")) != "")
        .groupBy("source", F.col(f"{ANNOUNCED}.partition").alias("channel"))
        .agg(F.max(through).alias("commit_ts"), F.max("position").alias("position"), F.max("file").alias("file"))
    )
    made = {"kind": F.lit(WATERMARK), "line": F.lit(None).cast("bigint")}
    moments = {"ingest_ts": F.lit(None).cast("timestamp")}
    return found.select(*control_columns(found, made | moments))
