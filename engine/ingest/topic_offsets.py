"""Topics as sources of a run: new records, lost records, and the offsets that are committed to a consumer group."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from pyspark.sql import SparkSession

from siltstone.engine.inputs.kafka import Reader, cluster_of, starts_of
from siltstone.engine.inputs.listing import InputFile
from siltstone.engine.inputs.pending_files import PendingFile, Taken, earliest
from siltstone.engine.inputs.topic_partitions import (
    Lost,
    Partition,
    Starts,
    bounded,
    cut,
    lost_error,
    pending_partitions,
)
from siltstone.engine.schema.gap_record import ACKNOWLEDGED, OPEN, Gap, gap_id
from siltstone.engine.spec.model import ProjectSpec, SourceSpec
from siltstone.engine.table.gap_table import read_gaps, update_gaps

LOST_RECORDS: Final = "lost_records"
"""The name in the gaps table for records that were gone before they were ingested."""
SNAPSHOT_HINT: Final = "take a snapshot of the tables at the source, which corrects latest"

OfConsumers = Mapping[str, Mapping[str, Taken]]


def topic_partitions(source: SourceSpec, until_ms: int | None = None) -> list[Partition]:
    """The partitions of a source's topics. With `until_ms`, they end before the first later record.

    Raises: SourceError: a topic does not exist, or the brokers do not answer. SpecError: they refuse the connection.
    """
    assert source.kafka is not None  # a source of topics
    cluster = cluster_of(source.kafka, source.path)
    found = cluster.partitions()
    if until_ms is None:
        return found
    later = cluster.offsets_at(found, until_ms + 1)
    return [replace(one, size=min(one.end, max(later[one.path], one.start))) for one in found]


def new_of_topics(
    spark: SparkSession,
    project: ProjectSpec,
    source: SourceSpec,
    files: Sequence[InputFile],
    taken: OfConsumers,
    run_id: str | None,
) -> tuple[dict[str, list[PendingFile]], tuple[str, ...]]:
    """The new part of a source's partitions for each consumer, and descriptions of acknowledged lost records.

    `taken`: what each consumer has ingested. `run_id`: the run that records a new gap. None: nothing is written.

    Raises: SourceError: records are gone that a consumer has not ingested, and the gap is not acknowledged.
    """
    assert source.kafka is not None  # a source of topics
    partitions = [file for file in files if isinstance(file, Partition)]
    starts = first_record if all(taken.values()) else first_starts(source, partitions)
    found = {
        consumer: pending_partitions(partitions, mine, first_record if mine else starts)
        for consumer, mine in taken.items()
    }
    lost = list(dict.fromkeys(one for each in found.values() for one in each.lost))
    notes = refuse_lost(spark, project, source, lost, run_id) if lost else ()
    ends = bounded(earliest(entry for each in found.values() for entry in each.entries), source.kafka.max_records)
    return {consumer: cut(each, ends, taken[consumer]) for consumer, each in found.items()}, notes


def first_record(one: Partition) -> int:
    """The start in a new partition for a consumer that has ingested the source before: its first record."""
    return one.start


def first_starts(source: SourceSpec, partitions: Sequence[Partition]) -> Starts:
    """The starts for a consumer that has ingested nothing yet."""
    assert source.kafka is not None  # a source of topics
    return starts_of(source.kafka, cluster_of(source.kafka, source.path), partitions)


# --- lost records ---------------------------------------------------------------------------------------------------


def refuse_lost(
    spark: SparkSession, project: ProjectSpec, source: SourceSpec, lost: Sequence[Lost], run_id: str | None
) -> tuple[str, ...]:
    """Stop a source with lost records until the gap is acknowledged. Gives: descriptions of the lost records.

    Raises: SourceError.
    """
    known = [gap for gap in read_gaps(spark, project, source.path) if gap.check == LOST_RECORDS]
    accepted = {place: gap for gap in known if gap.status == ACKNOWLEDGED for place in json.loads(gap.key or "[]")}
    unknown = [one for one in lost if one.place not in accepted]
    if not unknown:
        return tuple(f"{one.words}; acknowledged by {accepted[one.place].acknowledged_by}" for one in lost)
    gap = gap_of_lost(source, unknown, run_id or "")
    if run_id is not None:
        update_gaps(spark, project, source.path, lambda before: with_gap(before, gap))
    first = "" if run_id is not None else "`siltstone catch-up` records the gap; then "
    acknowledge = f"{first}`siltstone gaps ack {gap.gap_id} --reason ...` continues with the remaining records"
    raise lost_error(source.path, unknown, f"{acknowledge}; {SNAPSHOT_HINT}{reorder(unknown)}")


def reorder(lost: Iterable[Lost]) -> str:
    """The part of the hint for a recreated topic, where the delivery order gives changes their positions."""
    if all(one.why == "retention" for one in lost):
        return ""
    return "; if coordinates order the changes, add a rule under source.epoch first"


def gap_of_lost(source: SourceSpec, lost: Sequence[Lost], run_id: str) -> Gap:
    """The gap of the lost records. Its key lists the places where consumers stopped."""
    places, now = sorted({one.place for one in lost}), datetime.now(UTC)
    return Gap(
        gap_id=gap_id(source.path, LOST_RECORDS, *places),
        table=source.path,
        check=LOST_RECORDS,
        severity="error",
        status=OPEN,
        key=json.dumps(places),
        position_from=None,
        position_to=None,
        message="; ".join(dict.fromkeys(one.words for one in lost)),
        since_batch=0,
        opened_run=run_id,
        opened_at=now,
        last_seen_run=run_id,
        last_seen_at=now,
        hint=f"Acknowledge the gap to continue with the remaining records, and {SNAPSHOT_HINT}.",
    )


def with_gap(before: Sequence[Gap], gap: Gap) -> list[Gap]:
    """The gaps of a source with this one, which replaces the open gaps of the same check."""
    there = next((each for each in before if each.gap_id == gap.gap_id), None)
    kept = [each for each in before if each.status != OPEN or each.check != LOST_RECORDS]
    if there is None or there.status != OPEN:
        return [*(each for each in kept if each.gap_id != gap.gap_id), gap]
    return [*kept, replace(gap, opened_run=there.opened_run, opened_at=there.opened_at)]


# --- consumer group -------------------------------------------------------------------------------------------------


def commit_group_offsets(source: SourceSpec, consumers: Iterable[Mapping[str, Taken]]) -> None:
    """Commit to the source's consumer group the offsets that all consumers have ingested.

    Raises: SourceError: the brokers reject the commit.
    """
    assert source.kafka is not None  # a source of topics
    taken = list(consumers)
    paths = set.intersection(*(set(each) for each in taken))
    offsets = {path: min(each[path].to_line for each in taken) for path in sorted(paths)}
    if not offsets:
        return
    reader = Reader(source.kafka, source.path)
    try:
        reader.commit(offsets)
    finally:
        reader.close()
