"""Decode the new records of a source and append them to `changes`, exactly once."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.storagelevel import StorageLevel

from siltstone.engine import names
from siltstone.engine.decode.columns_seen import Seen
from siltstone.engine.decode.event import CHANGE, REJECT
from siltstone.engine.decode.event_batch import TEXT_HASH
from siltstone.engine.decode.row_shape import TableShape
from siltstone.engine.decode.table_shape import shape_of
from siltstone.engine.errors import InvariantViolation, SpecError
from siltstone.engine.fold.context import begin, refuse_unfit_columns
from siltstone.engine.fold.planning import tasks_for_files
from siltstone.engine.formats import format_of
from siltstone.engine.frames import checkpointed
from siltstone.engine.ingest.consumers import Consumer, control_consumer
from siltstone.engine.ingest.control_evidence import evidence
from siltstone.engine.ingest.event_frames import decode_rows
from siltstone.engine.ingest.preconditions import (
    check_unowned,
    commonest,
    is_unowned,
    no_events,
    other_format,
    root_cause,
    too_many_rejects,
)
from siltstone.engine.ingest.reread_payloads import payloads_of, reread_texts
from siltstone.engine.ingest.retractions import retractions
from siltstone.engine.ingest.source_batch import (
    SourceBatch,
    columns_new_to,
    input_rows,
    new_to,
    number_new_to,
    of_table,
)
from siltstone.engine.ingest.source_order import refuse_commit_scns, refuse_mixed
from siltstone.engine.names import PLACE
from siltstone.engine.spec.fingerprint import decode_fingerprints, mask_fingerprints
from siltstone.engine.spec.model import ProjectSpec, SourceSpec, TableSpec
from siltstone.engine.spec.renamed_names import first_names, new_names
from siltstone.engine.spec.rows_format import time_warning
from siltstone.engine.steps.shards import SHARDS, sharded, with_source
from siltstone.engine.steps.whole_row_keys import keyless_changes, refuse_new_columns
from siltstone.engine.table.changes_table import ensure_changes, known_keys, known_row
from siltstone.engine.table.commit import drop_stale_branches, newest_summary
from siltstone.engine.table.ledger import append_frame, append_rows, ensure_ledger

BROADCAST_REJECTS = 100_000
SHOWN_TABLES = 10


def reject_rows(records: DataFrame, consumer: Consumer, batch: int, attempt: str = "") -> DataFrame:
    """Rejected records as the ledger stores them: with their text, unless it can contain masked values.

    `attempt`: the name of the attempt that writes them; empty if they are only counted.
    """
    return records.select(
        F.lit(batch).cast("bigint").alias("batch"),
        F.lit(consumer.name).alias("consumer"),
        "table",
        "file",
        "line",
        "reason",
        (F.lit(None).cast("string") if consumer.masked else F.col("text")).alias("record"),
        F.current_timestamp().alias("rejected_at"),
        F.lit(attempt).alias("attempt"),
    )


def append_control(
    spark: SparkSession, project: ProjectSpec, source_batch: SourceBatch, specs: Sequence[TableSpec]
) -> None:
    """Append a source's control events, and the rejects that belong to no declared table.

    Raises: SourceError: too many records belong to no known table.
    """
    consumer = source_batch.consumers[control_consumer(source_batch.source)]
    if not consumer.pending:
        return
    check_unowned(source_batch, specs)
    catalog = project.catalog.name
    ensure_ledger(spark, project, names.CONTROL)
    drop_stale_branches(spark, catalog, consumer.target)
    batch = consumer.newest_batch + 1
    records = new_to(source_batch, consumer)
    branch = begin(spark, catalog, consumer.target, {names.SUMMARY_BATCH: str(batch)}, consumer.newest_batch)
    events = evidence(spark, records, source_batch.classes)
    retracted = retractions(spark, project, source_batch, consumer)
    events = events if retracted is None else events.unionByName(retracted)
    branch.append(events.select(F.lit(batch).cast("bigint").alias("batch"), "*").coalesce(1))
    append_rows(spark, project, names.INPUTS, input_rows(source_batch, consumer, batch, branch.name))
    if any(row["kind"] == REJECT for row in source_batch.classes):
        unowned = records.where(is_unowned(source_batch.declared))
        append_frame(spark, project, names.REJECTS, reject_rows(unowned, consumer, batch, branch.name))
    branch.publish()


@dataclass(frozen=True)
class IngestResult:
    """What one table ingested from a source batch. `warning`: as in `TableReport`."""

    batch: int
    changes: int
    rejected: int
    warning: str | None = None


@dataclass(frozen=True)
class Decoded:
    """A table's new records, and the decoded changes among them. Nothing is written yet.

    `reread`: if the texts of changes are not kept, rereads them (file, line, text) for given places and hashes.
    """

    shape: TableShape
    records: DataFrame
    rows: DataFrame
    key_type: T.StructType
    row_type: T.StructType
    fans_out: bool = False
    reread: Callable[[DataFrame], DataFrame] | None = None

    @cached_property
    def unfit(self) -> DataFrame:
        """The changes whose rows cannot be stored, with the reasons. This costs one more decoding of all changes."""
        unfit = self.rows.where(F.col("reason").isNotNull()).select("table", *PLACE, "reason")
        return unfit.transform(checkpointed)

    def rejected(self, records: int, changes: int) -> int:
        """How many of the records are rejected. If a record can be several changes, the rejects have to be counted."""
        return self.undecodable.count() + self.unfit.count() if self.fans_out else records - changes

    @property
    def undecodable(self) -> DataFrame:
        """The records that are not events of their format, with the reasons and the texts."""
        return self.records.where(F.col("kind") == REJECT).select("table", *PLACE, "reason", "text")

    def rejects(self, with_texts: bool = True) -> DataFrame:
        """The rejected records with the reasons, and with their texts if `with_texts`.

        Raises: SourceError: a file whose texts are reread was replaced meanwhile.
        """
        bad, unfit = self.undecodable, self.unfit
        number = unfit.count()
        if number == 0 or not with_texts:
            return bad.unionByName(unfit.withColumn("text", F.lit(None).cast("string")))
        # Decoding does not carry the texts along: they are half of a record, and few of them are needed.
        places = unfit.select(*PLACE).distinct()
        places = F.broadcast(places) if number <= BROADCAST_REJECTS else places
        mine = self.records.where(F.col("kind") == CHANGE).join(places, on=PLACE, how="left_semi")
        return bad.unionByName(unfit.join(payloads_of(mine, self.reread), on=PLACE, how="left"))  # one text per line


def decode_table(spark: SparkSession, project: ProjectSpec, source_batch: SourceBatch, spec: TableSpec) -> Decoded:
    """Decode a table's new records. Only its shape is computed; the rows are lazy.

    Raises: SourceError: no event of this table was ever delivered, or the new changes and the stored ones have no
            common order.
        SchemaEvolutionError: the events carry a schema change that the spec does not allow.
    """
    records = new_to(source_batch, source_batch.consumers[spec.table])
    mine = of_table(records, spec.table)
    known = known_row(spark, project.catalog.name, spec.target.changes, new_names(spec))
    if known is None and not any(row["table"] == spec.table for row in source_batch.classes):
        raise no_events(spec, source_batch)
    refuse_mixed(spark, project.catalog.name, spec, mine)
    by_scn = source_batch.consumers[spec.table].by_scn
    refuse_commit_scns(spark, project.catalog.name, spec, source_batch.source, by_scn)
    reread = partial(reread_texts, spark, source_batch, project.catalog.name) if TEXT_HASH in records.columns else None
    classes = [row for row in source_batch.classes if row["table"] == spec.table]
    moves = any(row["moves"] for row in classes)
    try:
        columns = columns_new_to(source_batch, source_batch.consumers[spec.table])
        found = decode_records(spark, project, mine, spec, known, columns, moves)
    except SpecError as error:
        raise root_cause(error, spec, mine, reread) from error
    return replace(found, reread=reread)


def decode_records(
    spark: SparkSession,
    project: ProjectSpec,
    records: DataFrame,
    spec: TableSpec,
    known: T.StructType | None,
    columns: Mapping[str, Seen],
    moves: bool = True,
) -> Decoded:
    """Decode a table's records with the settings of its spec. Only its shape is computed; the rows are lazy.

    `known`: the columns of `changes`. `columns`: the columns that the changes of each table have. `moves`:
    false if it is known that no record changes a key (`changes_key`).

    Raises: SchemaEvolutionError: the events carry a schema change that the spec does not allow.
        SpecError: neither the spec nor the events name the key, or a column has a name that the spec gives to one of
            history.
    """
    events = records.where(F.col("kind") == CHANGE)
    own = known and T.StructType([field for field in known if field.name != names.SOURCE])
    has_key = known is not None and spec.keys is None
    known_key = known_keys(spark, project.catalog.name, spec.target.changes, new_names(spec)) if has_key else None
    shape = keyed(shape_of(spec, own, columns.get(spec.table, Seen.nothing())), spec, known_key)
    refuse_unfit_columns(spec, shape.row_type)
    splits = moves and bool(spec.keys) and format_of(spec.source.format).splits_declared_keys
    rows = decode_rows(events, shape, spec, has_key_changes=moves, splits_keys=splits)
    if spec.keys == ():
        refuse_new_columns(spec, shape, own)
        rows = keyless_changes(rows, shape, spec)
    fans_out = splits or spec.keys == ()
    if spec.source.several != SHARDS:
        return Decoded(shape, records, rows, shape.key_type, shape.row_type, fans_out)
    key, row = with_source(shape.key_type), with_source(shape.row_type)
    return Decoded(shape, records, sharded(rows), key, row, fans_out)


def keyed(shape: TableShape, spec: TableSpec, known: tuple[str, ...] | None) -> TableShape:
    """The shape with the key that the spec or the events name, or else with the stored key (`known`).

    Raises: SpecError: no key is known.
    """
    if spec.keys is not None or shape.keys:
        return shape
    if known is None:
        raise SpecError(
            f"Cannot take {spec.table}: its events carry no key, and the spec names none.",
            "name the columns that identify a row under keys; with keys: [] the whole row is the key, and equal rows"
            " are counted",
        )
    return replace(shape, keys=tuple(name for name in known if name != names.SOURCE))


def append_changes(
    spark: SparkSession, project: ProjectSpec, source_batch: SourceBatch, spec: TableSpec
) -> IngestResult:
    """Decode a table's new records and append them to its changes, in one batch.

    Inputs and rejects are written first, with the batch's number. The commit to `changes` makes them valid.

    Raises: SourceError: there are too many rejects, no event of this table was ever delivered, or the new changes and
            the stored ones have no common order.
        SchemaEvolutionError: the events carry a schema change that the spec does not allow.
    """
    consumer = source_batch.consumers[spec.table]
    if not consumer.pending:
        return IngestResult(consumer.newest_batch, 0, 0)
    if is_waiting(spark, project, source_batch, spec):
        append_rows(spark, project, names.INPUTS, input_rows(source_batch, consumer, names.NO_BATCH, ""))
        return IngestResult(consumer.newest_batch, 0, 0, no_event_warning(spec, source_batch))
    catalog, name, batch = project.catalog.name, spec.target.changes, consumer.newest_batch + 1
    found = decode_table(spark, project, source_batch, spec)
    decoded = found.rows
    keys, row, version = found.key_type.names, found.row_type, spec.target.format_version
    ensure_changes(spark, catalog, name, keys, row, batch, version, first_names(spec, row.names))
    drop_stale_branches(spark, catalog, name)
    before = newest_summary(spark, catalog, name)
    before_us = commit_us_of(before)
    branch = begin(spark, catalog, name, change_summary(source_batch, spec, batch, before), consumer.newest_batch, True)
    try:
        good = decoded.where(F.col("reason").isNull())
        rows = good.select(*change_columns(decoded, spec, batch, before_us))
        branch.append(rows.coalesce(tasks_for_files(entry.file for entry in consumer.pending.values())))
        expected = number_new_to(source_batch, consumer, spec.table, found.records)
        appended = branch.newest_count("added-records")
        rejects, missing = None, found.rejected(expected, appended)
        if missing:
            bad = reject_rows(found.rejects(with_texts=not consumer.masked), consumer, batch, branch.name)
            rejects = accepted_rejects(spec, bad, expected, missing)
        # Inputs before rejects: from them the next run knows what an attempt without a commit has left.
        append_rows(spark, project, names.INPUTS, input_rows(source_batch, consumer, batch, branch.name))
        if rejects is not None:
            append_frame(spark, project, names.REJECTS, rejects)
            rejects.unpersist()
        branch.publish()
    finally:
        branch.drop()
    return IngestResult(batch, appended, missing, time_warning(spec, max_commit_us(source_batch, spec)))


def is_waiting(spark: SparkSession, project: ProjectSpec, source_batch: SourceBatch, spec: TableSpec) -> bool:
    """Whether a table still waits for its first event, which shows its columns.

    Topics can have no event of it yet, or none within a bounded run. For files, a table without events is an error.
    """
    if source_batch.source.kafka is None or any(row["table"] == spec.table for row in source_batch.classes):
        return False
    return known_row(spark, project.catalog.name, spec.target.changes) is None


def no_event_warning(spec: TableSpec, source_batch: SourceBatch) -> str | None:
    """A warning that names the tables of the records, if none is of this table. None if there is no record."""
    there = sorted({str(row["table"]) for row in source_batch.classes if row["table"]})
    if not source_batch.classes:
        return None
    return f"No record is of {spec.table} yet: {', '.join(there[:SHOWN_TABLES]) or 'no table'} is in its topics."


def newest_commit_us(spark: SparkSession, catalog: str, name: str) -> int | None:
    """The greatest commit time in `changes`, in microseconds. None if there is none."""
    return commit_us_of(newest_summary(spark, catalog, name))


def commit_us_of(summary: Mapping[str, str]) -> int | None:
    """The greatest commit time that a commit to `changes` records. None if it records none."""
    recorded = summary.get(names.SUMMARY_MAX_COMMIT)
    return None if recorded is None else int(recorded)


def change_columns(
    decoded: DataFrame, spec: TableSpec, batch: int | Column, before_us: int | Column | None
) -> list[Any]:
    """The columns of `changes`: the batch, the decoded change, and whether it is too late.

    This is decided once, here, against the batches before: it does not depend on the other changes of this batch.
    """
    too_late = F.lit(False)
    span = spec.accepts_within
    if span is not None and before_us is not None:
        bound = F.lit(before_us) - int(span.total_seconds() * 1_000_000)
        too_late = F.coalesce(F.unix_micros("commit_ts") < bound, F.lit(False))
    carried = [F.col(name) for name in decoded.columns if name != "reason"]
    return [F.lit(batch).cast("bigint").alias("batch"), *carried, too_late.alias("too_late")]


def change_summary(source_batch: SourceBatch, spec: TableSpec, batch: int, before: Mapping[str, str]) -> dict[str, str]:
    """The marker of a commit to `changes`: the batch, the settings of the decoding, the greatest commit time so far.

    `before`: the newest marker.
    """
    known = [commit_us_of(before), max_commit_us(source_batch, spec)]
    greatest = max((us for us in known if us is not None), default=None)
    marker = {names.SUMMARY_BATCH: str(batch)} | decoded_marker(spec) | order_marker(source_batch.source)
    marker |= {names.SUMMARY_REREAD: before[names.SUMMARY_REREAD]} if names.SUMMARY_REREAD in before else {}
    return marker | ({} if greatest is None else {names.SUMMARY_MAX_COMMIT: str(greatest)})


def max_commit_us(source_batch: SourceBatch, spec: TableSpec) -> int | None:
    """The greatest commit time of a table's changes in a source batch, in microseconds. None if there is none."""
    own = [row["max_commit_us"] for row in source_batch.classes if row["kind"] == CHANGE and row["table"] == spec.table]
    return max((us for us in own if us is not None), default=None)


def order_marker(source: SourceSpec) -> dict[str, str]:
    """The part of a marker of `changes` that records which sources are ordered by SCNs alone."""
    return {names.SUMMARY_BY_SCN: json.dumps(source.by_scn)} if source.by_scn else {}


def decoded_marker(spec: TableSpec) -> dict[str, str]:
    """The part of a marker of `changes` that records the settings of the decoding."""
    masks, reading = mask_fingerprints(spec), decode_fingerprints(spec)
    return {
        names.SUMMARY_MASKS: json.dumps(masks, sort_keys=True),
        names.SUMMARY_DECODED: json.dumps(reading, sort_keys=True),
    }


def accepted_rejects(
    spec: TableSpec, rejects: DataFrame, records: int, missing: int, accepted: DataFrame | None = None
) -> DataFrame:
    """The rejects of a table, cached, if they are not more than the spec allows.

    `accepted`: the places (file, line) of rejects that do not count, because they were accepted before.

    Raises: SourceError: more than the spec allows. InvariantViolation: records are neither changes nor rejects.
    """
    rejects = rejects.persist(StorageLevel.MEMORY_AND_DISK)  # counted, then written
    reasons = commonest(rejects).collect()
    rejected = sum(row["n"] for row in reasons)
    if rejected != missing:
        raise InvariantViolation(
            f"Cannot take the batch for {spec.table}: of {records} records {missing} did not become changes, but"
            f" {rejected} are rejected. Nothing was taken.",
            "report this with the files; a retry will not help",
        )
    if accepted is not None and rejected > spec.rejects_max_fraction * records:
        reasons = commonest(rejects.join(accepted, on=PLACE, how="left_anti")).collect()
        rejected = sum(row["n"] for row in reasons)
    if rejected > spec.rejects_max_fraction * records:
        form = other_format(rejects.withColumnRenamed("record", "text"), spec.source)
        raise too_many_rejects(spec, reasons, rejected, records, form)
    return rejects
