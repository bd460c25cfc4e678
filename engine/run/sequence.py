"""The nightly job: take what is new, fold it, publish, check, and write down what happened."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from queue import SimpleQueue

from pyspark.sql import SparkSession

from siltstone.engine.errors import SiltstoneError
from siltstone.engine.report import NOTHING_NEW, OK, RunReport, SourceReport, TableReport
from siltstone.engine.run.begun import Begun, begun_run
from siltstone.engine.run.checking import Checking, Checks, blocked, run_sums, with_results
from siltstone.engine.run.delivery import (
    Delivery,
    list_delivery,
    newest_batches,
    read_delivery,
    source_report,
    taken_by,
    targets_of,
)
from siltstone.engine.run.effort import are_small, light_planning
from siltstone.engine.run.fold import fold_history, follow_latest
from siltstone.engine.run.folding import Folding, check_settings, is_left_behind, open_folding
from siltstone.engine.run.foreign import foreign_writes, refuse_foreign_writes, replaced_notes, settle_tags
from siltstone.engine.run.maintain import tidy
from siltstone.engine.run.marker import refuse_other_changes
from siltstone.engine.run.rebuild import rebuild_table
from siltstone.engine.run.renames import apply_renames
from siltstone.engine.run.reports import Progress, failed, silent, written_down
from siltstone.engine.run.take import Taking, take_control, take_table
from siltstone.engine.run.topics import inform_group
from siltstone.engine.run.trust import checked_batch
from siltstone.engine.session import set_fold_conf, sibling
from siltstone.engine.spec import with_tables
from siltstone.engine.spec.model import ProjectSpec, SourceSpec, TableSpec

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

    A table that fails does not stop the others: its error is in the report, and the report's exit code is the first
    failure's. `until` leaves files modified, or committed to a table, later for another run; `wait` is how many seconds
    to wait for another run.

    Raises: LockedError: another run is at work. SourceError and others concern one table and are reported, not raised.
    """
    set_fold_conf(spark)
    with begun_run(spark, project, specs, wait) as begun:
        return Run(begun, with_tables(project, specs), specs, spark, progress or silent, until, checks).execute()


class Run:
    """One run over several tables."""

    def __init__(
        self,
        begun: Begun,
        project: ProjectSpec,
        specs: Sequence[TableSpec],
        spark: SparkSession,
        progress: Progress,
        until: datetime | None,
        checks: Checks | None,
    ) -> None:
        self.begun = begun
        self.project = project
        self.specs = specs
        self.spark = spark
        self.progress = progress
        self.until_ms = None if until is None else int(until.timestamp() * 1000)
        self.checking = Checking(begun.run_id, progress, checks)
        self.sources: list[SourceReport] = []
        self.tables: list[TableReport] = []

    def execute(self) -> RunReport:
        """All sources, one after the other."""
        for source, specs in by_source(self.specs).items():
            sound, unsound = sound_tables(self.spark, self.project, specs, refuse_foreign_writes)
            self.tables += unsound
            if sound:
                self.run_source(source, sound)
        report = written_down(self.spark, self.project, self.begun, self.sources, self.tables)
        tidy(self.spark, self.project, self.specs, self.progress)
        return report

    def run_source(self, source: SourceSpec, specs: Sequence[TableSpec]) -> None:
        """Read a source once, then each of its tables by itself."""
        self.progress(source.path, "reading")
        began = time.monotonic()
        try:
            delivery = list_delivery(self.spark, self.project, source, specs, self.until_ms, self.begun.run_id)
            with light_planning(self.spark, are_small(delivery.pending_files()), self.project.spark.conf):
                read_delivery(self.spark, delivery, self.project.catalog.name)
        except Exception as error:  # noqa: BLE001  # whatever it is, the other sources go on
            self.tables += [failed(spec, error, time.monotonic() - began) for spec in specs]
            return
        reading_seconds = time.monotonic() - began
        try:
            report = source_report(delivery, specs)
            self.sources.append(report)
            sessions = self.sessions(len(specs))
            with light_planning(self.spark, are_small(delivery.pending_files()), self.project.spark.conf):
                take_control(self.spark, self.project, delivery, specs)
                self.tables += self.run_tables(sessions, delivery, specs, report, reading_seconds)
            self.sources[-1] = self.informed(report, source, specs)
        except Exception as error:  # noqa: BLE001  # control events come before every table of the source
            self.tables += [failed(spec, error, time.monotonic() - began) for spec in specs]

    def informed(self, report: SourceReport, source: SourceSpec, specs: Sequence[TableSpec]) -> SourceReport:
        """Inform the source's consumer group of what is taken. Where that fails the ledger has it all the same."""
        if source.kafka is None or source.kafka.group is None:
            return report
        targets = targets_of(self.project, source, specs)
        newest = newest_batches(self.spark, self.project, targets)
        try:
            inform_group(source, taken_by(self.spark, self.project, targets, newest, tidy=False).values())
        except SiltstoneError as error:
            return replace(report, warning=f"The group {source.kafka.group} is not informed. {error}")
        return report

    def sessions(self, tables: int) -> list[SparkSession]:
        """The sessions that tables are run in at once: as many as cores, one where there is one table."""
        at_once = min(tables, os.cpu_count() or 1)
        return [sibling(self.spark, self.project) for _ in range(at_once)] if at_once > 1 else [self.spark]

    def run_tables(
        self,
        sessions: Sequence[SparkSession],
        delivery: Delivery,
        specs: Sequence[TableSpec],
        source: SourceReport,
        reading_seconds: float,
    ) -> list[TableReport]:
        """Run the tables of a source side by side: much of a table's run is planning, which uses one core."""
        free: SimpleQueue[SparkSession] = SimpleQueue()
        for session in sessions:
            free.put(session)

        def run(spec: TableSpec) -> TableReport:
            session = free.get()
            try:
                return self.run_table(session, delivery, spec, source, reading_seconds)
            finally:
                free.put(session)

        with ThreadPoolExecutor(len(sessions), thread_name_prefix="table") as pool:
            try:
                return list(pool.map(run, specs))
            except BaseException:  # interrupted: nothing is waited for that is not committed
                pool.shutdown(wait=False, cancel_futures=True)
                for session in sessions:
                    session.interruptAll()
                raise

    def run_table(
        self, spark: SparkSession, delivery: Delivery, spec: TableSpec, source: SourceReport, reading_seconds: float
    ) -> TableReport:
        """Bring one table up to date. Its failure is its own."""
        began = time.monotonic()
        try:
            report = self.brought_up(spark, delivery, spec, source)
        except Exception as error:  # noqa: BLE001  # a failing table does not stop the others
            return failed(spec, error, time.monotonic() - began)
        phases = {"read": reading_seconds, **report.phases}
        notes = (*delivery.lost, *report.notes)
        seconds = time.monotonic() - began + reading_seconds
        return replace(report, seconds=seconds, phases=phases, source=source.path, notes=notes)

    def brought_up(self, spark: SparkSession, delivery: Delivery, spec: TableSpec, source: SourceReport) -> TableReport:
        """Take, fold, publish and check one table."""
        began = time.monotonic()
        self.progress(spec.table, "taking")
        check_settings(spark, self.project, spec, goes_on=True)
        apply_renames(spark, self.project.catalog.name, spec)
        taking = take_table(spark, self.project, delivery, spec)
        taken_seconds = time.monotonic() - began
        report = self.folded(spark, spec, taking, source)
        return replace(report, phases={"take": taken_seconds, **report.phases})

    def folded(self, spark: SparkSession, spec: TableSpec, taking: Taking, source: SourceReport) -> TableReport:
        """Fold what a table took, and what it took before; all of it where its inputs were read again."""
        if is_left_behind(spark, self.project.catalog.name, spec):
            report = rebuild_table(self.project, spec, spark, self.checking)
            return replace(report, rejected=taking.rejected)
        work = open_folding(spark, self.project, spec)
        if work is None:
            return TableReport(spec.table, NOTHING_NEW, warning=taking.warning)
        with light_planning(spark, work.is_small(), self.project.spark.conf):
            return self.fold_table(work, taking, source)

    def fold_table(self, work: Folding, taking: Taking, source: SourceReport) -> TableReport:
        """Fold what is not folded, on branches; check where the spec says so; publish history, then latest."""
        self.progress(work.spec.table, "folding")
        # A run that died between the tables and the checks left batches that nobody has looked at.
        since = min(work.folded.batch, checked_batch(work)) if self.checking.checks is not None else work.folded.batch
        replaced = foreign_writes(work.spark, work.project, [work.spec.target.latest])  # by a rebuild that died
        history = fold_history(work)
        with work.phase("latest"):
            latest = follow_latest(work, history)
        is_new = history is not None or latest is not None or bool(taking.changes or taking.rejected)
        sums = run_sums(work, taking, source)
        if since == work.folded.batch:  # else control events of older batches were not looked at either
            sums["control_since"] = work.folded.control_batch
            sums["batches"] = work.target.batch - work.folded.batch  # more than its own: a run died before it folded
        is_due, is_blocking = is_new or since < work.folded.batch, is_new and work.spec.quality.blocks
        results, broken = self.checking.publish(work, (history, latest), since, sums, is_blocking, is_due)
        report = with_results(table_report(work, taking, OK if is_new else NOTHING_NEW), results)
        report = replace(report, notes=replaced_notes(replaced))
        return blocked(report, broken) if broken else report


def by_source(specs: Sequence[TableSpec]) -> Mapping[SourceSpec, list[TableSpec]]:
    """Specs of tables that come from the same files, together."""
    grouped: dict[SourceSpec, list[TableSpec]] = {}
    for spec in specs:
        grouped.setdefault(spec.source, []).append(spec)
    return grouped


def sound_tables(
    spark: SparkSession, project: ProjectSpec, specs: Sequence[TableSpec], *conditions: Condition
) -> tuple[list[TableSpec], list[TableReport]]:
    """The tables that a run can go on from, and the reports of the others: those that are no folds of the changes that
    there are, or do not meet one of `conditions`. Looked at before anything else: what the changes of before took would
    be seen as the rest of a run that died, and go."""
    sound, unsound = [], []
    for spec in specs:
        try:
            for condition in (refuse_other_changes, *conditions, settle_tags):
                condition(spark, project, spec)
            sound.append(spec)
        except Exception as error:  # noqa: BLE001  # a failing table does not stop the others
            unsound.append(failed(spec, error, 0.0))
    return sound, unsound


def table_report(work: Folding, taking: Taking, status: str) -> TableReport:
    """What was done to a table."""
    return TableReport(
        table=work.spec.table,
        status=status,
        batch=work.target.batch,
        changes=work.changes,
        rejected=taking.rejected,
        warning=taking.warning,
        late=work.late,
        withdrawn=work.withdrawn,
        outcomes=dict(work.outcomes),
        versions=dict(work.versions),
        phases=dict(work.seconds),
    )
