"""Up to when all partitions of a Spanner change stream have been read: the minimum over those that are live.

A heartbeat moves its partition's watermark through its time, a data or partition record to just before its own. A
partition is live from the record that names it until it has split, merged or ended; a child that nobody has read yet is
at its start.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.fold.context import FoldContext
from siltstone.engine.ingest.source_batch import control_consumer
from siltstone.engine.schema.control_kinds import CHILD_PARTITIONS, PARTITION_END, PARTITION_START, WATERMARK
from siltstone.engine.steps import spanner_partitions
from siltstone.engine.table.ledger import read_ledger

LINEAGE: Final = (CHILD_PARTITIONS, PARTITION_START, PARTITION_END)


def own_control(context: FoldContext, since: int) -> DataFrame | None:
    """The control events of the table's source in batches after `since`; None where there are none.

    Rows: filters. They are told by the batches in which the source was taken: some name no source.
    """
    if context.target.control_batch <= since:
        return None
    control = read_ledger(context.spark, context.project, names.CONTROL)
    inputs = read_ledger(context.spark, context.project, names.INPUTS)
    if control is None or inputs is None:
        return None
    own = inputs.where(F.col("consumer") == control_consumer(context.spec.source)).select("batch")
    return control.where(F.col("batch") > since).join(F.broadcast(own), "batch", "left_semi")


def partitions_through(context: FoldContext) -> int | None:
    """The moment, in microseconds, through which every live partition was read. None where nobody can tell."""
    control = own_control(context, 0)
    if control is None:
        return None
    told = control.where(F.col("kind").isin(WATERMARK, *LINEAGE)).groupBy("kind", "channel", "payload")
    rows = told.agg(F.unix_micros(F.max("commit_ts")).alias("at")).collect()
    reached = {row["channel"]: row["at"] for row in rows if row["kind"] == WATERMARK}
    return lowest(reached, [row for row in rows if row["kind"] != WATERMARK])


def lowest(reached: Mapping[str, int | None], lineage: Iterable[Row]) -> int | None:
    """The lowest watermark of the live partitions. None: no record says whose it is, or none is live."""
    starts, ended = partitions_of(lineage)
    live = (set(starts) | set(reached)) - ended
    marks = [reached.get(token, starts.get(token)) for token in live]
    if not reached or not live or None in marks:
        return None
    return min(mark for mark in marks if mark is not None)


def partitions_of(lineage: Iterable[Row]) -> tuple[dict[str, int | None], set[str | None]]:
    """The partitions that were ever named with the moment before their start, and those that have ended."""
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
