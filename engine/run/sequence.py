"""The nightly job: take what is new, fold it, publish, check, and write down what happened."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from queue import SimpleQueue

from pyspark.sql import SparkSession

from engine.errors import QualityError
from engine.report import BLOCKED, NOTHING_NEW, OK, CheckReport, RunReport, SourceReport, TableReport
from engine.run.begun import Begun, begun_run
from engine.run.delivery import Delivery, list_delivery, read_delivery, source_report
from engine.run.effort import are_small, light_planning
from engine.run.fold import fold_history, follow_latest
from engine.run.folding import Folding, check_settings, is_left_behind, open_folding
from engine.run.marker import refuse_other_changes
from engine.run.rebuild import rebuild_table
from engine.run.reports import Progress, failed, silent, written_down
from engine.run.take import Taking, take_control, take_table
from engine.run.trust import checked_batch, tell_trust
from engine.session import set_fold_conf, sibling
from engine.spec import with_tables
from engine.spec.model import ProjectSpec, SourceSpec, TableSpec
from engine.table.commit import Branch

Checks = Callable[..., Sequence[CheckReport]]
"""(spark, project, spec, run_id, since_batch, sums, history_branch, latest_branch) -> results. Given by the caller:
the engine knows nothing of how checks are judged."""


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
        self.checks = checks
        self.sources: list[SourceReport] = []
        self.tables: list[TableReport] = []

    def execute(self) -> RunReport:
        """All sources, one after the other."""
        for source, specs in by_source(self.specs).items():
            sound, unsound = of_their_changes(self.spark, self.project, specs)
            self.tables += unsound
            if sound:
                self.run_source(source, sound)
        return written_down(self.spark, self.project, self.begun, self.sources, self.tables)

    def run_source(self, source: SourceSpec, specs: Sequence[TableSpec]) -> None:
        """Read a source once, then each of its tables by itself."""
        self.progress(source.path, "reading")
        began = time.monotonic()
        try:
            delivery = list_delivery(self.spark, self.project, source, specs, self.until_ms)
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
        except Exception as error:  # noqa: BLE001  # control events come before every table of the source
            self.tables += [failed(spec, error, time.monotonic() - began) for spec in specs]

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
        return replace(report, seconds=time.monotonic() - began + reading_seconds, phases=phases, source=source.path)

    def brought_up(self, spark: SparkSession, delivery: Delivery, spec: TableSpec, source: SourceReport) -> TableReport:
        """Take, fold, publish and check one table."""
        began = time.monotonic()
        self.progress(spec.table, "taking")
        check_settings(spark, self.project, spec, goes_on=True)
        taking = take_table(spark, self.project, delivery, spec)
        taken_seconds = time.monotonic() - began
        report = self.folded(spark, spec, taking, source)
        return replace(report, phases={"take": taken_seconds, **report.phases})

    def folded(self, spark: SparkSession, spec: TableSpec, taking: Taking, source: SourceReport) -> TableReport:
        """Fold what a table took, and what it took before; all of it where its inputs were read again."""
        if is_left_behind(spark, self.project.catalog.name, spec):
            report = rebuild_table(self.project, spec, spark, self.progress, None)
            return replace(report, rejected=taking.rejected)
        work = open_folding(spark, self.project, spec)
        if work is None:
            return TableReport(spec.table, NOTHING_NEW)
        with light_planning(spark, work.is_small(), self.project.spark.conf):
            return self.fold_table(work, taking, source)

    def fold_table(self, work: Folding, taking: Taking, source: SourceReport) -> TableReport:
        """Fold what is not folded, on branches; check where the spec says so; publish history, then latest."""
        spec = work.spec
        self.progress(spec.table, "folding")
        # A run that died between the tables and the checks left batches that nobody has looked at.
        since = min(work.folded.batch, checked_batch(work)) if self.checks is not None else work.folded.batch
        history = fold_history(work)
        with work.phase("latest"):
            latest = follow_latest(work, history)
        status = OK if history is not None or latest is not None or taking.changes or taking.rejected else NOTHING_NEW
        results: Sequence[CheckReport] | None = None
        if spec.quality.blocks and status == OK:
            results = self.run_checks(work, taking, source, since, history, latest)
            if broken := failed_checks(results):
                return self.block(work, taking, results, broken, history, latest)
        for branch in (history, latest):
            if branch is not None:
                branch.publish()
        if results is None and (status == OK or since < work.folded.batch):
            results = self.run_checks(work, taking, source, since, None, None)
        if results is not None:
            with work.phase("checks"):
                tell_trust(work, results)
        return table_report(work, taking, status, results)

    def run_checks(
        self,
        work: Folding,
        taking: Taking,
        source: SourceReport,
        since: int,
        history: Branch | None,
        latest: Branch | None,
    ) -> Sequence[CheckReport] | None:
        """The checks of one table, on the branches or on what is published. None without checks."""
        if self.checks is None:
            return None
        self.progress(work.spec.table, "checking")
        sums = run_sums(work, taking, source)
        if since == work.folded.batch:  # else control events of older batches were not looked at either
            sums["control_since"] = work.folded.control_batch
            sums["batches"] = work.target.batch - work.folded.batch  # more than its own: a run died before it folded
        branches = [None if branch is None else branch.name for branch in (history, latest)]
        with work.phase("checks"):
            return self.checks(work.spark, self.project, work.spec, self.begun.run_id, since, sums, *branches)

    def block(
        self,
        work: Folding,
        taking: Taking,
        results: Sequence[CheckReport] | None,
        broken: Sequence[str],
        history: Branch | None,
        latest: Branch | None,
    ) -> TableReport:
        """Publish nothing: readers keep the tables of the run before; the changes stay for the next run."""
        for branch in (history, latest):
            if branch is not None:
                branch.drop()
        report = table_report(work, taking, BLOCKED, results)
        message = (
            f"Cannot publish {work.spec.table}: checks failed ({', '.join(broken)}). The tables are as they were before"
            " the run. Hint: look at the findings; the batch is folded again by the next run."
        )
        return replace(report, error=message, exit_code=QualityError.exit_code)


def by_source(specs: Sequence[TableSpec]) -> Mapping[SourceSpec, list[TableSpec]]:
    """Specs of tables that come from the same files, together."""
    grouped: dict[SourceSpec, list[TableSpec]] = {}
    for spec in specs:
        grouped.setdefault(spec.source, []).append(spec)
    return grouped


def of_their_changes(
    spark: SparkSession, project: ProjectSpec, specs: Sequence[TableSpec]
) -> tuple[list[TableSpec], list[TableReport]]:
    """The tables that are folds of the changes that there are, and the reports of the others. To be asked first: what
    the changes of before took would be seen as the rest of a run that died, and go."""
    sound, unsound = [], []
    for spec in specs:
        try:
            refuse_other_changes(spark, project, spec)
            sound.append(spec)
        except Exception as error:  # noqa: BLE001  # a failing table does not stop the others
            unsound.append(failed(spec, error, 0.0))
    return sound, unsound


def failed_checks(results: Sequence[CheckReport] | None) -> list[str]:
    """The checks at error severity that failed."""
    return [r.check for r in results or () if r.status == "failed" and r.severity == "error"]


def run_sums(work: Folding, taking: Taking, source: SourceReport) -> dict[str, int]:
    """The numbers of a run for its checks: those that must close, and each outcome."""
    return {
        "read": source.read,
        "taken": sum(source.taken.values()),
        "control": source.control,
        "other_table": sum(source.other_tables.values()),
        "rejected": source.rejected,
        "changes": work.changes,
        "outcomes": sum(work.outcomes.values()),
        "appended": taking.changes,
        "table_rejected": taking.rejected,
        **{f"outcome:{name}": number for name, number in work.outcomes.items()},
    }


def table_report(work: Folding, taking: Taking, status: str, results: Sequence[CheckReport] | None) -> TableReport:
    """What was done to a table; failed checks at error severity set the exit code."""
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
        exit_code=QualityError.exit_code if failed_checks(results) else 0,
        checks=None if results is None else tuple(results),
    )
