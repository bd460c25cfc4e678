"""replay: apply rejected records after the spec or the code is fixed, once, with their original coordinates.

A replay is a batch like any other. Its marks record the rejects that it closed, and are valid once its batch is
committed. It closes rejects whose records can be applied now, and those with another reject reason now. A reject whose
result is the same stays open.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.decode.columns_seen import Seen
from siltstone.engine.errors import InvariantViolation
from siltstone.engine.fold.applied_settings import check_reading, is_outdated, other_settings, refuse_other_axis
from siltstone.engine.fold.context import begin
from siltstone.engine.fold.lateness_bounds import arrivals, reached_before, recorded_before
from siltstone.engine.fold.markers import newest_batch
from siltstone.engine.fold.renamed_columns import apply_renames
from siltstone.engine.frames import checkpointed
from siltstone.engine.ingest.append_changes import (
    Decoded,
    IngestResult,
    change_columns,
    change_summary,
    decode_records,
    reject_rows,
)
from siltstone.engine.ingest.consumers import Consumer, control_consumer
from siltstone.engine.ingest.control_evidence import evidence
from siltstone.engine.ingest.event_frames import columns_of
from siltstone.engine.ingest.open_rejects import (
    RejectedBatch,
    closable_rejects,
    known_tables,
    moved_lines,
    newly_decoded,
    pending_elsewhere,
    read_rejected_batch,
)
from siltstone.engine.ingest.preconditions import is_of
from siltstone.engine.ingest.source_batch import SourceBatch, of_table
from siltstone.engine.ingest.source_order import refuse_commit_scns, refuse_mixed
from siltstone.engine.ingest.source_sums import source_report
from siltstone.engine.ingest.taken_lines import spans_frame, taken_spans, with_batch
from siltstone.engine.names import PLACE
from siltstone.engine.report import NOTHING_NEW, RunReport, SourceReport, TableReport
from siltstone.engine.run.catch_up import Run
from siltstone.engine.run.checked_publish import Checks, nothing_read
from siltstone.engine.run.rebuild import rebuild_table
from siltstone.engine.run.run_context import start_run
from siltstone.engine.run.run_reports import Progress, failed, silent
from siltstone.engine.session import set_fold_conf
from siltstone.engine.spec import with_tables
from siltstone.engine.spec.model import ProjectSpec, SourceSpec, TableSpec
from siltstone.engine.spec.renamed_names import first_names
from siltstone.engine.table.catalog import exists, read
from siltstone.engine.table.changes_table import ensure_changes, known_row
from siltstone.engine.table.commit import drop_stale_branches, newest_summary
from siltstone.engine.table.ledger import append_frame, append_rows, ensure_ledger, read_ledger

APPLIED, CONTROL, OTHER_TABLE, REJECTED, REREAD = "applied", "control", "other table", "rejected", "read again"
IDENTITY = (*PLACE, "position", "op", "_key")


def replay(
    project: ProjectSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress | None = None,
    wait: float = 0.0,
    checks: Checks | None = None,
) -> RunReport:
    """Retry the rejects of the sources of `specs`, with their original coordinates, exactly once.

    A table whose settings changed since its last fold is recomputed as a whole. A table that fails does not stop the
    others.

    Raises: LockedError: another run holds the lock.
    """
    set_fold_conf(spark)
    with start_run(spark, project, specs, wait) as started_run:
        return Replay(
            started_run, with_tables(project, specs), specs, spark, progress or silent, None, checks
        ).execute()


class Replay(Run):
    """One replay over several tables."""

    def run_source(self, source: SourceSpec, specs: Sequence[TableSpec]) -> None:
        """Reread a source's rejects once, then update each of its tables separately."""
        self.progress(source.path, "reading rejects")
        began = time.monotonic()
        try:
            found = read_rejected_batch(self.spark, self.project, source, specs)
            if found is None:
                self.tables += [self.completed(spec) for spec in specs]
                return
            report = replace(source_report(found, specs), out_of_reach=found.out_of_reach)
            self.sources.append(report)
            replay_control(self.spark, self.project, found, self.started_run.run_id)
            sessions = self.sessions(len(specs))
            self.tables += self.run_tables(sessions, found, specs, report, time.monotonic() - began)
        except Exception as error:  # noqa: BLE001  # whatever it is, the other sources go on
            self.tables += [failed(spec, error, time.monotonic() - began) for spec in specs]

    def update_table(
        self, spark: SparkSession, source_batch: SourceBatch, spec: TableSpec, source: SourceReport
    ) -> TableReport:
        """Replay one table's rejects, fold and publish. The fixed spec can require a recomputation of all changes."""
        assert isinstance(source_batch, RejectedBatch)
        self.progress(spec.table, "replaying")
        apply_renames(spark, self.project.catalog.name, spec)
        ingested = replay_table(spark, self.project, source_batch, spec, self.started_run.run_id)
        report = self.fold_ingested(spark, spec, ingested, source)
        return replace(report, rejected=ingested.rejected)

    def completed(self, spec: TableSpec) -> TableReport:
        """Fold and publish the changes of an interrupted replay, for a table without open rejects."""
        began = time.monotonic()
        try:
            if not has_unfolded_replay(self.spark, self.project, spec):
                return TableReport(spec.table, NOTHING_NEW)
            report = self.fold_ingested(self.spark, spec, IngestResult(0, 0, 0), nothing_read(spec.source.path))
        except Exception as error:  # noqa: BLE001  # a failing table does not stop the others
            return failed(spec, error, time.monotonic() - began)
        return replace(report, seconds=time.monotonic() - began, source=spec.source.path)

    def fold_ingested(
        self, spark: SparkSession, spec: TableSpec, ingested: IngestResult, source: SourceReport
    ) -> TableReport:
        """Fold what a table ingested.

        If the fixed spec requires a recomputation of all changes, it runs only if this replay or an interrupted one has
        applied some of them. A replay does not apply settings that were changed for another reason.
        """
        if is_outdated(spark, self.project.catalog.name, spec) or not other_settings(spark, self.project, spec):
            return super().fold_ingested(spark, spec, ingested, source)
        if has_unfolded_replay(spark, self.project, spec):
            return rebuild_table(self.project, spec, spark, self.checking)
        return TableReport(spec.table, NOTHING_NEW)


def has_unfolded_replay(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> bool:
    """Whether a replay has appended changes that `history` or `latest` does not contain yet.

    Needs: marks of committed batches only.
    """
    taken = newest_batch(spark, project, spec.target.changes)
    folded = min(newest_batch(spark, project, table) for table in (spec.target.history, spec.target.latest))
    marks = read_ledger(spark, project, names.REPLAYS)
    if folded >= taken or marks is None:
        return False
    of_table = (F.col("consumer") == spec.table) & (F.col("outcome") == APPLIED)
    return not marks.where(of_table & (F.col("batch") > folded) & (F.col("batch") <= taken)).isEmpty()


@dataclass(frozen=True)
class Outcome:
    """The result of replaying a table's rejects: changes, records that are still rejected, and the lines to close.

    `closable`: the rejects that are closed in these lines.
    """

    decoded: Decoded
    good: DataFrame
    bad: DataFrame
    moved: DataFrame
    closable: DataFrame


def replay_table(
    spark: SparkSession, project: ProjectSpec, source_batch: RejectedBatch, spec: TableSpec, run_id: str
) -> IngestResult:
    """Append the rejects that can be applied now to a table's changes, in one batch, and close the changed rejects.

    These are the table's own rejects, and those that have left their consumer: their records can be of this table now.

    Raises: SchemaEvolutionError: the fixed spec does not fit the table.
        SpecError: the stored changes were decoded with other settings than those of the fixed spec.
        SourceError: the replayed changes and the stored ones have no common order.
        InvariantViolation: not all replayed changes were appended.
    """
    assert source_batch.records is not None
    assert source_batch.waiting is not None
    newest, catalog, name = source_batch.consumers[spec.table].newest_batch, project.catalog.name, spec.target.changes
    waiting = source_batch.waiting.where((F.col("consumer") == spec.table) | F.col("is_left"))
    records = of_lines(source_batch.records, waiting)
    mine = of_table(records, spec.table)
    decoded = decoded_once_more(spark, project, mine, spec, columns_of(records))
    if decoded is None:
        return IngestResult(newest, 0, mine.count())
    closable = closable_rejects(source_batch, spec.table, pending_elsewhere(spark, project, source_batch, spec.table))
    bad, good = decoded.rejects(), decoded.rows.where(F.col("reason").isNull())
    # An earlier replay can have taken such a line, and left its reject to another table of the line.
    taken = of_lines(good, closable.where("is_left")).select(*PLACE)
    if exists(spark, catalog, name):
        good = without(good, read(spark, catalog, name), waiting)
    good = good.transform(checkpointed)
    refuse_mixed(spark, catalog, spec, good)
    refuse_commit_scns(spark, catalog, spec, source_batch.source, source_batch.consumers[spec.table].by_scn)
    moved = moved_lines(waiting, good.select(*PLACE).unionByName(taken), bad)
    if moved.isEmpty():
        return IngestResult(newest, 0, bad.count())
    refuse_other_axis(spark, catalog, spec)
    if exists(spark, catalog, name) and not read(spark, catalog, name).isEmpty():
        check_reading(spark, catalog, spec)
    appended = append_replayed(spark, project, source_batch, spec, Outcome(decoded, good, bad, moved, closable), run_id)
    return IngestResult(newest + 1, appended, bad.count())


def append_replayed(
    spark: SparkSession, project: ProjectSpec, source_batch: RejectedBatch, spec: TableSpec, found: Outcome, run_id: str
) -> int:
    """Commit the replayed changes, with the marks and rejects of the batch. Gives: the number of changes."""
    consumer, catalog, name = source_batch.consumers[spec.table], project.catalog.name, spec.target.changes
    batch = consumer.newest_batch + 1
    keys, row = found.decoded.key_type.names, found.decoded.row_type
    ensure_changes(spark, catalog, name, keys, row, batch, spec.target.format_version, first_names(spec, row.names))
    drop_stale_branches(spark, catalog, name)
    before = newest_summary(spark, catalog, name)
    branch = begin(spark, catalog, name, change_summary(source_batch, spec, batch, before), consumer.newest_batch, True)
    try:
        dated = with_arrival(spark, project, found.good, spec, consumer.newest_batch)
        branch.append(dated.select(*change_columns(found.good, spec, batch, F.col("before_us"))))
        expected, appended = found.good.count(), branch.newest_count("added-records")
        if expected != appended:
            raise InvariantViolation(
                f"Cannot replay the rejects of {spec.table}: {expected} can be applied, {appended} were appended."
                " Nothing was taken.",
                "report this with the rejects; a retry will not help",
            )
        if of_lines(found.closable, found.moved).isEmpty():
            mark_batch(spark, project, consumer, run_id, branch.name)
        closing = replace(source_batch, waiting=found.closable)
        close_rejects(spark, project, closing, consumer, with_outcome(found.moved, APPLIED), run_id, branch.name)
        rejected = reject_rows(of_lines(found.bad, found.moved), consumer, batch, branch.name)
        append_frame(spark, project, names.REJECTS, rejected)
        branch.publish()
    finally:
        branch.drop()
    return appended


def with_arrival(
    spark: SparkSession, project: ProjectSpec, rows: DataFrame, spec: TableSpec, newest_batch: int
) -> DataFrame:
    """Add `before_us` to the rows, to decide if they are too late: the arrival of their file counts, not the replay.

    Gives: their columns, then before_us: the greatest commit time of the batches before the one that ingested the file.
        It comes from the snapshot summaries of these batches, or from their changes if the snapshots have expired. Null
        if there is none, and if the table has no lateness bound.
    Rows: 1:1.
    """
    if spec.accepts_within is None:
        return rows.withColumn("before_us", F.lit(None).cast("bigint"))
    spans = taken_spans(spark, project, {spec.table: newest_batch})[spec.table]
    placed = with_batch(rows, spans_frame(spark, spans))
    batches = {row["batch"] for row in placed.select("batch").distinct().collect()} - {None}
    catalog, name = project.catalog.name, spec.target.changes
    before: dict[int, int | None] = {**recorded_before(spark, catalog, name, batches)}
    if missing := batches - before.keys():
        before = reached_before(read(spark, catalog, name), missing)[1] | before
    return placed.join(F.broadcast(arrivals(spark, before)), on="batch", how="left").drop("batch")  # one row per batch


def decoded_once_more(
    spark: SparkSession, project: ProjectSpec, records: DataFrame, spec: TableSpec, columns: Mapping[str, Seen]
) -> Decoded | None:
    """A table's rejected records, decoded with its present spec. None if there are none, or none shows the columns.

    `columns`: as in `SourceBatch`.
    """
    known = known_row(spark, project.catalog.name, spec.target.changes)
    if (records if known is not None else records.where(F.col("kind") == "change")).isEmpty():
        return None
    found = decode_records(spark, project, records, spec, known, columns)
    return replace(found, rows=found.rows.transform(checkpointed))


def without(rows: DataFrame, changes: DataFrame, waiting: DataFrame) -> DataFrame:
    """The rows that are not in `changes` yet: some changes of a rejected record can have been stored from the start.

    READs of one record have the same position, so their keys distinguish them. The keys are compared as JSON text,
    since a column can have a wider type now.
    """
    key = F.to_json("key").alias("_key")
    places = F.broadcast(waiting.select(*PLACE).distinct())
    mine = changes.join(places, on=PLACE, how="left_semi").select("*", key)
    there = mine.select(*IDENTITY).distinct().alias("there")
    same = [F.col(f"there.{column}").eqNullSafe(F.col(f"new.{column}")) for column in IDENTITY]
    return rows.select("*", key).alias("new").join(F.broadcast(there), on=same, how="left_anti").drop("_key")


def replay_control(spark: SparkSession, project: ProjectSpec, source_batch: RejectedBatch, run_id: str) -> None:
    """Append the control events and transaction evidence of the rejects, and close rejects that belong to no table.

    Closed are rejects that turn out to be control events, or changes of a table that no spec declares. A change of
    another spec's table waits for a replay of that table.
    """
    assert source_batch.records is not None
    assert source_batch.waiting is not None
    consumer = source_batch.consumers[control_consumer(source_batch.source)]
    is_control = F.col("kind") == "control"
    at_work, known = is_of(source_batch.consumers), is_of(known_tables(spark, project, source_batch.declared))
    mine = source_batch.records.where(is_control | ~known)
    good, bad = mine.where(F.col("kind") != "reject"), mine.where(F.col("kind") == "reject")
    pending = pending_elsewhere(spark, project, source_batch, consumer.name)
    closable = closable_rejects(source_batch, consumer.name, pending)
    # Other records of a line with a reject that stays are recorded already.
    whole = good.join(bad.select(*PLACE), on=PLACE, how="left_anti")
    moved = moved_lines(closable, whole, bad)
    left = source_batch.waiting.where((F.col("consumer") == consumer.name) & F.col("is_left"))
    good = of_lines(good, moved.select(*PLACE).unionByName(left.select(*PLACE)))
    fresh = newly_decoded(source_batch.waiting, source_batch.records.where(at_work & (F.col("kind") == "change")))
    if moved.isEmpty() and good.isEmpty() and fresh.isEmpty():
        return
    catalog, batch = project.catalog.name, consumer.newest_batch + 1
    ensure_ledger(spark, project, names.CONTROL)
    drop_stale_branches(spark, catalog, consumer.target)
    branch = begin(spark, catalog, consumer.target, {names.SUMMARY_BATCH: str(batch)}, consumer.newest_batch)
    try:
        events = evidence(spark, good.unionByName(fresh), source_batch.classes)
        branch.append(events.select(F.lit(batch).cast("bigint").alias("batch"), "*").coalesce(1))
        kinds = good.groupBy(*PLACE).agg(F.bool_or(is_control).alias("is_control"))
        applied_as = F.when(F.col("is_control"), CONTROL).otherwise(OTHER_TABLE)
        outcome = F.when(F.col("applied") > 0, applied_as).otherwise(REJECTED)
        closed = moved.join(kinds, on=PLACE, how="left").select(*PLACE, outcome.alias("outcome"))  # one row per line
        mark_batch(spark, project, consumer, run_id, branch.name)
        close_rejects(spark, project, replace(source_batch, waiting=closable), consumer, closed, run_id, branch.name)
        append_frame(spark, project, names.REJECTS, reject_rows(of_lines(bad, moved), consumer, batch, branch.name))
        branch.publish()
    finally:
        branch.drop()


def of_lines(records: DataFrame, lines: DataFrame) -> DataFrame:
    """The records in these lines."""
    return records.join(F.broadcast(lines.select(*PLACE)), on=PLACE, how="left_semi")


def with_outcome(moved: DataFrame, applied: str) -> DataFrame:
    """The outcome of each line. Gives: file, line, outcome."""
    return moved.select(*PLACE, F.when(F.col("applied") > 0, applied).otherwise(REJECTED).alias("outcome"))


def mark_batch(spark: SparkSession, project: ProjectSpec, consumer: Consumer, run_id: str, attempt: str) -> None:
    """Write a mark without a line for a batch that may close no reject.

    It is written before the batch's other rows: from it the next run knows what an attempt without a commit has left.
    """
    mark = {"batch": consumer.newest_batch + 1, "consumer": consumer.name, "of_consumer": consumer.name, "of_batch": 0}
    mark |= {"outcome": REREAD, "run_id": run_id, "replayed_at": datetime.now(UTC), "attempt": attempt}
    append_rows(spark, project, names.REPLAYS, [mark])


def close_rejects(
    spark: SparkSession,
    project: ProjectSpec,
    source_batch: RejectedBatch,
    consumer: Consumer,
    closed: DataFrame,
    run_id: str,
    attempt: str,
) -> None:
    """Write the marks of a batch: the rejects that it closes, with the outcomes of their lines.

    They are written before the batch's other rows: from them the next run knows what an attempt without a commit has
    left.
    """
    assert source_batch.waiting is not None
    of = source_batch.waiting.select("consumer", "batch", *PLACE).distinct()
    marks = of.join(F.broadcast(closed), on=PLACE, how="inner")  # closed: one row per line
    rows = marks.select(
        F.lit(consumer.newest_batch + 1).cast("bigint").alias("batch"),
        F.lit(consumer.name).alias("consumer"),
        F.col("consumer").alias("of_consumer"),
        F.col("batch").alias("of_batch"),
        *PLACE,
        "outcome",
        F.lit(run_id).alias("run_id"),
        F.current_timestamp().alias("replayed_at"),
        F.lit(attempt).alias("attempt"),
    )
    append_frame(spark, project, names.REPLAYS, rows)
