"""The scheduled job: ingest new records, fold them, publish, check, and record the run."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from queue import SimpleQueue

from pyspark.sql import SparkSession

from siltstone.engine import machine
from siltstone.engine.counts import counted
from siltstone.engine.errors import SiltstoneError
from siltstone.engine.fold.applied_settings import check_settings, is_outdated
from siltstone.engine.fold.context import FoldContext, open_fold
from siltstone.engine.fold.foreign_writes import foreign_writes, refuse_foreign_writes, replaced_notes, settle_tags
from siltstone.engine.fold.markers import refuse_other_changes
from siltstone.engine.fold.planning import are_small, light_planning
from siltstone.engine.fold.publish import fold_history, follow_latest
from siltstone.engine.fold.renamed_columns import apply_renames
from siltstone.engine.ingest.append_changes import IngestResult, append_changes, append_control
from siltstone.engine.ingest.completeness import checked_batch
from siltstone.engine.ingest.consumers import newest_batches, targets_of
from siltstone.engine.ingest.source_batch import SourceBatch, list_source_batch, read_source_batch, taken_by
from siltstone.engine.ingest.source_sums import source_report
from siltstone.engine.ingest.topic_offsets import commit_group_offsets
from siltstone.engine.report import NOTHING_NEW, OK, RunReport, SourceReport, TableReport
from siltstone.engine.run.checked_publish import Checking, Checks, blocked, run_sums, with_results
from siltstone.engine.run.maintain import tidy
from siltstone.engine.run.rebuild import rebuild_table
from siltstone.engine.run.run_context import StartedRun, start_run
from siltstone.engine.run.run_reports import Progress, failed, record_run, silent
from siltstone.engine.session import set_fold_conf, sibling
from siltstone.engine.spec import with_tables
from siltstone.engine.spec.model import ProjectSpec, SourceSpec, TableSpec

SHOWN_RATE = 10_000
"""How many records a batch needs for a rate that means something."""
Condition = Callable[[SparkSession, ProjectSpec, TableSpec], None]


def catch_up(
    project: ProjectSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress | None = None,
    until: datetime | None = None,
    wait: float = 0.0,
    checks: Checks | None = None,
) -> RunReport:
    """Bring the tables of `specs` up to date with their sources, exactly once.

    A table that fails does not stop the others: its error is in the report, and the report's exit code is that of the
    first failure. `until`: files that are modified, or committed to a source table, after this time are left for a
    later run. `wait`: how many seconds to wait for another run.

    Raises: LockedError: another run holds the lock. SourceError and other errors of one table are reported, not raised.
    """
    set_fold_conf(spark)
    with start_run(spark, project, specs, wait) as started_run:
        return Run(started_run, with_tables(project, specs), specs, spark, progress or silent, until, checks).execute()


class Run:
    """One run over several tables."""

    def __init__(
        self,
        started_run: StartedRun,
        project: ProjectSpec,
        specs: Sequence[TableSpec],
        spark: SparkSession,
        progress: Progress,
        until: datetime | None,
        checks: Checks | None,
    ) -> None:
        self.started_run = started_run
        self.project = project
        self.specs = specs
        self.spark = spark
        self.progress = progress
        self.until_ms = None if until is None else int(until.timestamp() * 1000)
        self.checking = Checking(started_run.run_id, progress, checks)
        self.sources: list[SourceReport] = []
        self.tables: list[TableReport] = []

    def execute(self) -> RunReport:
        """Run all sources one after the other, and record the run."""
        for source, specs in by_source(self.specs).items():
            sound, refused = accepted_tables(self.spark, self.project, specs, refuse_foreign_writes)
            self.tables += refused
            if sound:
                self.run_source(source, sound)
        report = record_run(self.spark, self.project, self.started_run, self.sources, self.tables)
        tidy(self.spark, self.project, self.specs, self.progress)
        return report

    def run_source(self, source: SourceSpec, specs: Sequence[TableSpec]) -> None:
        """Read a source once, then update each of its tables separately."""
        self.progress(source.path, "reading")
        began = time.monotonic()
        try:
            source_batch = list_source_batch(
                self.spark, self.project, source, specs, self.until_ms, self.started_run.run_id
            )
            with light_planning(self.spark, are_small(source_batch.pending_files()), self.project.spark.conf):
                read_source_batch(self.spark, source_batch, self.project.catalog.name)
        except Exception as error:  # noqa: BLE001  # whatever it is, the other sources go on
            self.tables += [failed(spec, error, time.monotonic() - began) for spec in specs]
            return
        reading_seconds = time.monotonic() - began
        try:
            report = source_report(source_batch, specs)
            self.sources.append(report)
            self.progress(source.path, read_step(report.read, reading_seconds))
            sessions = self.sessions(len(specs))
            with light_planning(self.spark, are_small(source_batch.pending_files()), self.project.spark.conf):
                append_control(self.spark, self.project, source_batch, specs)
                self.tables += self.run_tables(sessions, source_batch, specs, report, reading_seconds)
            self.sources[-1] = self.with_group_offsets(report, source, specs)
        except Exception as error:  # noqa: BLE001  # control events come before every table of the source
            self.tables += [failed(spec, error, time.monotonic() - began) for spec in specs]

    def with_group_offsets(self, report: SourceReport, source: SourceSpec, specs: Sequence[TableSpec]) -> SourceReport:
        """Commit the ingested offsets to the source's consumer group. If that fails, only the report has a warning."""
        if source.kafka is None or source.kafka.group is None:
            return report
        targets = targets_of(self.project, source, specs)
        newest = newest_batches(self.spark, self.project, targets)
        try:
            commit_group_offsets(source, taken_by(self.spark, self.project, targets, newest, tidy=False).values())
        except SiltstoneError as error:
            return replace(report, warning=f"The offsets of the group {source.kafka.group} are not committed. {error}")
        return report

    def sessions(self, tables: int) -> list[SparkSession]:
        """The sessions for tables that run in parallel: up to one per core, and one for a single table."""
        at_once = min(tables, machine.cores())
        return [sibling(self.spark, self.project) for _ in range(at_once)] if at_once > 1 else [self.spark]

    def run_tables(
        self,
        sessions: Sequence[SparkSession],
        source_batch: SourceBatch,
        specs: Sequence[TableSpec],
        source: SourceReport,
        reading_seconds: float,
    ) -> list[TableReport]:
        """Run the tables of a source in parallel: much of a table's run is planning, which uses one core."""
        free: SimpleQueue[SparkSession] = SimpleQueue()
        for session in sessions:
            free.put(session)

        def run(spec: TableSpec) -> TableReport:
            session = free.get()
            try:
                return self.run_table(session, source_batch, spec, source, reading_seconds)
            finally:
                free.put(session)

        with ThreadPoolExecutor(len(sessions), thread_name_prefix="table") as pool:
            try:
                return list(pool.map(run, specs))
            except BaseException:  # interrupted: do not wait for tables that are not committed
                pool.shutdown(wait=False, cancel_futures=True)
                for session in sessions:
                    session.interruptAll()
                raise

    def run_table(
        self,
        spark: SparkSession,
        source_batch: SourceBatch,
        spec: TableSpec,
        source: SourceReport,
        reading_seconds: float,
    ) -> TableReport:
        """Update one table, and report its failure if it fails."""
        began = time.monotonic()
        try:
            report = self.update_table(spark, source_batch, spec, source)
        except Exception as error:  # noqa: BLE001  # a failing table does not stop the others
            return failed(spec, error, time.monotonic() - began)
        phases = {"read": reading_seconds, **report.phases}
        notes = (*source_batch.lost, *report.notes)
        seconds = time.monotonic() - began + reading_seconds
        return replace(report, seconds=seconds, phases=phases, source=source.path, notes=notes)

    def update_table(
        self, spark: SparkSession, source_batch: SourceBatch, spec: TableSpec, source: SourceReport
    ) -> TableReport:
        """Ingest, fold, publish and check one table."""
        began = time.monotonic()
        self.progress(spec.table, "taking")
        check_settings(spark, self.project, spec, goes_on=True)
        apply_renames(spark, self.project.catalog.name, spec)
        ingested = append_changes(spark, self.project, source_batch, spec)
        taken_seconds = time.monotonic() - began
        report = self.fold_ingested(spark, spec, ingested, source)
        return replace(report, phases={"take": taken_seconds, **report.phases})

    def fold_ingested(
        self, spark: SparkSession, spec: TableSpec, ingested: IngestResult, source: SourceReport
    ) -> TableReport:
        """Fold what a table ingested in this run and before. If its inputs were reread, fold everything."""
        if is_outdated(spark, self.project.catalog.name, spec):
            report = rebuild_table(self.project, spec, spark, self.checking)
            return replace(report, rejected=ingested.rejected)
        context = open_fold(spark, self.project, spec)
        if context is None:
            return TableReport(spec.table, NOTHING_NEW, warning=ingested.warning)
        with light_planning(spark, context.is_small(), self.project.spark.conf):
            return self.fold_table(context, ingested, source)

    def fold_table(self, context: FoldContext, ingested: IngestResult, source: SourceReport) -> TableReport:
        """Fold new changes on branches, check them there if the spec requires it, and publish history, then latest."""
        self.progress(context.spec.table, "folding")
        # A run that died between publishing and the checks left batches that were never checked.
        since = (
            min(context.folded.batch, checked_batch(context))
            if self.checking.checks is not None
            else context.folded.batch
        )
        # An interrupted rebuild leaves a `latest` that this run replaces.
        replaced = foreign_writes(context.spark, context.project, [context.spec.target.latest])
        history = fold_history(context)
        with context.phase("latest"):
            latest = follow_latest(context, history)
        is_new = history is not None or latest is not None or bool(ingested.changes or ingested.rejected)
        sums = run_sums(context, ingested, source)
        if since == context.folded.batch:  # otherwise control events of older batches were not checked either
            sums["control_since"] = context.folded.control_batch
            # More than one batch if an earlier run died before it folded.
            sums["batches"] = context.target.batch - context.folded.batch
        is_due, is_blocking = is_new or since < context.folded.batch, is_new and context.spec.quality.blocks
        results, broken = self.checking.publish(context, (history, latest), since, sums, is_blocking, is_due)
        report = with_results(table_report(context, ingested, OK if is_new else NOTHING_NEW), results)
        report = replace(report, notes=replaced_notes(replaced))
        return blocked(report, broken) if broken else report


def by_source(specs: Sequence[TableSpec]) -> Mapping[SourceSpec, list[TableSpec]]:
    """The specs, grouped by source."""
    grouped: dict[SourceSpec, list[TableSpec]] = {}
    for spec in specs:
        grouped.setdefault(spec.source, []).append(spec)
    return grouped


def accepted_tables(
    spark: SparkSession, project: ProjectSpec, specs: Sequence[TableSpec], *conditions: Condition
) -> tuple[list[TableSpec], list[TableReport]]:
    """The tables from which a run can continue, and the reports of the others.

    Refused are tables that are not folds of the present `changes`, or do not meet one of `conditions`. This comes
    first: otherwise the ledger rows of the former `changes` would be removed as leftovers of an unfinished run.
    """
    sound, refused = [], []
    for spec in specs:
        try:
            for condition in (refuse_other_changes, *conditions, settle_tags):
                condition(spark, project, spec)
            sound.append(spec)
        except Exception as error:  # noqa: BLE001  # a failing table does not stop the others
            refused.append(failed(spec, error, 0.0))
    return sound, refused


def table_report(context: FoldContext, ingested: IngestResult, status: str) -> TableReport:
    """The report of a table from its fold."""
    return TableReport(
        table=context.spec.table,
        status=status,
        batch=context.target.batch,
        changes=context.changes,
        rejected=ingested.rejected,
        warning=ingested.warning,
        late=context.late,
        withdrawn=context.superseded_versions,
        outcomes=dict(context.outcomes),
        versions=dict(context.versions),
        phases=dict(context.seconds),
    )


def read_step(records: int, seconds: float) -> str:
    """The progress after reading: the number of records and the rate."""
    rate = f" ({records / seconds:,.0f} per second)" if records >= SHOWN_RATE and seconds >= 1 else ""
    return f"read {counted(records, 'record')} in {seconds:.1f} s{rate}"
