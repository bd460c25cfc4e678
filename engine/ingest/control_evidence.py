"""The rows that a source batch adds to the control table: events, transactions, partitions, log files."""

from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.decode.event import CONTROL
from siltstone.engine.formats import kind_of
from siltstone.engine.frames import is_from, local_frame
from siltstone.engine.schema.control_kinds import LOG_FILE
from siltstone.engine.steps.batch_ledgers import in_ledger, transaction_rows, watermark_rows
from siltstone.engine.steps.control_events import control_rows
from siltstone.engine.table.ledger import ledger_schema

FILE_SEGMENTS: Final = 2  # the epoch and the file


def evidence_counts() -> list[Column]:
    """The aggregates of the envelopes for the control table, for a pass that runs in any case."""
    is_numbered = is_from(lambda kind: kind.has_numbered_log)
    log = F.struct("source", F.substring_index("position", "-", FILE_SEGMENTS).alias("file"), "log_file")
    return [
        F.collect_set("source").alias("sources"),
        F.count_if(in_ledger()).alias("in_transactions"),
        F.collect_set(F.when(is_numbered & F.col("position").isNotNull(), log)).alias("logs"),
    ]


def evidence(spark: SparkSession, records: DataFrame, classes: Sequence[Any]) -> DataFrame:
    """Everything that a source batch adds to the control table. `classes`: rows with the columns of `evidence_counts`.

    Needs: envelopes.
    Gives: the columns of the control table but batch.
    """
    sources = sorted({source for row in classes for source in row["sources"]})
    found = local_frame(spark, log_file_rows(classes), ledger_schema(names.CONTROL)).drop("batch")
    if any(row["kind"] == CONTROL for row in classes):
        # A few of many records: all cores search for them, and one task writes them.
        events = control_rows(records.where(F.col("kind") == CONTROL), sources).repartition(1)
        found = found.unionByName(events)
    if any(row["in_transactions"] for row in classes):
        found = found.unionByName(transaction_rows(records, sources))
    if any(kind_of(source).has_partitions for source in sources):
        found = found.unionByName(watermark_rows(records))
    return found


def log_file_rows(classes: Sequence[Any]) -> list[dict[str, Any]]:
    """The log files of the changes, for numbered logs: one row per source and file.

    `position` is the common prefix of the file's positions, `payload` the file's name.
    """
    found = {(log["source"], log["file"], log["log_file"]) for row in classes for log in row["logs"]}
    return [
        {"source": source, "kind": LOG_FILE, "position": file, "payload": name}
        for source, file, name in sorted(found, key=lambda log: (log[0], log[1], log[2] or ""))
    ]
