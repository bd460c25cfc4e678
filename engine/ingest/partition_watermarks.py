"""The time through which all partitions of a Spanner change stream have been read: the minimum over the live ones.

A heartbeat moves its partition's watermark through the heartbeat's time. A data or partition record moves it to just
before the record's time. A partition is live from the record that names it until it has split, merged or ended. A child
partition without records is at its start.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.fold.context import FoldContext
from siltstone.engine.ingest.consumers import control_consumer
from siltstone.engine.schema.control_kinds import CHILD_PARTITIONS, PARTITION_END, PARTITION_START, WATERMARK
from siltstone.engine.steps import spanner_partitions
from siltstone.engine.table.ledger import read_ledger

LINEAGE: Final = (CHILD_PARTITIONS, PARTITION_START, PARTITION_END)


def own_control(context: FoldContext, since: int) -> DataFrame | None:
    """The control events of the table's source in the fold's batches after `since`. None if there are none.

    Rows: filters, by the batches in which the source was ingested: some control events name no source. Batches after
    the fold's target are left out: the table does not have their changes yet.
    """
    if context.target.control_batch <= since:
        return None
    control = read_ledger(context.spark, context.project, names.CONTROL)
    inputs = read_ledger(context.spark, context.project, names.INPUTS)
    if control is None or inputs is None:
        return None
    own = inputs.where(F.col("consumer") == control_consumer(context.spec.source)).select("batch")
    in_fold = (F.col("batch") > since) & (F.col("batch") <= context.target.control_batch)
    return control.where(in_fold).join(F.broadcast(own), "batch", "left_semi")


def partitions_through(context: FoldContext) -> int | None:
    """The time, in microseconds, through which every live partition was read. None if it is not known."""
    control = own_control(context, 0)
    if control is None:
        return None
    grouped = control.where(F.col("kind").isin(WATERMARK, *LINEAGE)).groupBy("kind", "channel", "payload")
    rows = grouped.agg(F.unix_micros(F.max("commit_ts")).alias("at")).collect()
    reached = {row["channel"]: row["at"] for row in rows if row["kind"] == WATERMARK}
    return lowest(reached, [row for row in rows if row["kind"] != WATERMARK])


def lowest(reached: Mapping[str, int | None], lineage: Iterable[Row]) -> int | None:
    """The lowest watermark of the live partitions. None if no record names its partition, or no partition is live."""
    starts, ended = partitions_of(lineage)
    live = (set(starts) | set(reached)) - ended
    marks = [reached.get(token, starts.get(token)) for token in live]
    if not reached or not live or None in marks:
        return None
    return min(mark for mark in marks if mark is not None)


def partitions_of(lineage: Iterable[Row]) -> tuple[dict[str, int | None], set[str | None]]:
    """All partitions ever named, with the time just before their start, and the partitions that have ended."""
    starts: dict[str, int | None] = {}
    ended: set[str | None] = set()
    for row in lineage:
        if row["kind"] == PARTITION_END:
            ended.add(spanner_partitions.ended(row["payload"]) or row["channel"])
            continue
        if row["kind"] == CHILD_PARTITIONS:
            ended.add(row["channel"])  # a partition names its children when it ends
        for token in spanner_partitions.started_partitions(row["payload"]):
            starts.setdefault(token, None if row["at"] is None else row["at"] - 1)
    return starts, ended
