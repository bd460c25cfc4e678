"""maintain: keep the tables of a project small, without changing any row of latest and history."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.fold.foreign_writes import foreign_error, writes_to
from siltstone.engine.report import MaintainedTable, MaintenanceReport, TableSize
from siltstone.engine.run.exclusive_run import one_run
from siltstone.engine.run.run_reports import LOG, Progress, failure, silent
from siltstone.engine.run.trim_changes import trim_changes
from siltstone.engine.schema.gap_record import HEALED
from siltstone.engine.spec.model import MaintenanceSpec, ProjectSpec, TableSpec
from siltstone.engine.table.catalog import exists, identifier
from siltstone.engine.table.commit import drop_stale_branches, own_marker
from siltstone.engine.table.ledger import delete_rows, ledger_name
from siltstone.engine.table.maintenance import (
    MOST_MANIFESTS,
    compact,
    expirable,
    expire,
    is_scattered,
    merge_manifests,
    orphans,
    size_of,
)

TRIMMED = {
    names.RUNS: "started_at < :cutoff",
    names.CHECKS: "checked_at < :cutoff",
    names.GAPS: f"healed_at < :cutoff AND status = '{HEALED}'",
}
"""The ledgers whose rows only report, and which of their rows are old."""


def maintain(
    project: ProjectSpec,
    specs: Sequence[TableSpec],
    spark: SparkSession,
    progress: Progress | None = None,
    dry_run: bool = False,
    retain: timedelta | None = None,
    wait: float = 0.0,
) -> MaintenanceReport:
    """Maintain the tables of `specs` and the ledgers.

    Removes changes that are older than `retain_changes`, compacts tables, expires old snapshots, removes orphan files
    and trims the ledgers. `dry_run`: only report what would be done. `retain`: overrides the project's setting. A table
    that fails does not stop the others: its error is in its report.

    Raises: LockedError: another run still holds the lock after `wait` seconds.
    """
    began = time.monotonic()
    settings = project.maintenance if retain is None else replace(project.maintenance, retain=retain)
    with one_run(project, wait):
        found: list[MaintainedTable] = []
        trims = {spec.target.changes: partial(trim_changes, spark, project, spec) for spec in specs}
        for name in tables_of(project, specs):
            if exists(spark, project.catalog.name, name):
                (progress or silent)(name, "maintaining")
                found.append(Upkeep(spark, project, settings, name, trims.get(name)).whole(dry_run))
        if not dry_run:
            trim_ledgers(spark, project, settings)
    exit_code = next((each.exit_code for each in found if each.exit_code), 0)
    return MaintenanceReport(time.monotonic() - began, dry_run, tuple(found), exit_code)


def tidy(spark: SparkSession, project: ProjectSpec, specs: Sequence[TableSpec], progress: Progress) -> None:
    """Run the due part of the maintenance at the end of a run that holds the lock, within the time budget.

    A failure is only logged, since the tables are complete.
    """
    settings, catalog = project.maintenance, project.catalog.name
    if not settings.automatic:
        return
    end = time.monotonic() + settings.budget.total_seconds()
    for name in tables_of(project, specs):
        if time.monotonic() > end:
            return
        try:
            if exists(spark, catalog, name):
                Upkeep(spark, project, settings, name).due(progress)
        except Exception as error:  # noqa: BLE001  # whatever it is, the run is complete
            LOG.warning("Cannot maintain %s: %s", name, failure(error)[0])


def tables_of(project: ProjectSpec, specs: Sequence[TableSpec]) -> Iterator[str]:
    """The tables of the specs, then the ledgers."""
    for spec in specs:
        yield from (spec.target.latest, spec.target.history, spec.target.changes)
    yield from (ledger_name(project, table) for table in (*names.LEDGER_TABLES, names.LEASE))


@dataclass(frozen=True)
class Upkeep:
    """The maintenance of one table. `trim`: removes its old rows, or only counts them with True; returns the number."""

    spark: SparkSession
    project: ProjectSpec
    settings: MaintenanceSpec
    name: str
    trim: Callable[[bool], int] | None = None

    @property
    def _table(self) -> tuple[SparkSession, str, str]:
        return self.spark, self.project.catalog.name, self.name

    def whole(self, dry_run: bool) -> MaintainedTable:
        """Run all of the maintenance for the table, and report its size before and after, or its failure."""
        try:
            return self._planned() if dry_run else self._done()
        except Exception as error:  # noqa: BLE001  # a failing table does not stop the others
            text, exit_code = failure(error)
            return MaintainedTable(self.name, error=text, exit_code=exit_code)

    def _planned(self) -> MaintainedTable:
        size, scan = self._measured()
        expired, unknown = expirable(*self._table, self.settings.retain), self._orphans(dry_run=True)
        trimmed = self._trimmed(dry_run=True)
        return MaintainedTable(self.name, size, size, scan, scan, expired=expired, orphans=unknown, trimmed=trimmed)

    def _done(self) -> MaintainedTable:
        before, scan_before = self._measured()
        self._refuse_foreign_writes()
        trimmed = self._trimmed(dry_run=False)
        rewritten, into = compact(*self._table, self.settings.file_size)
        if size_of(*self._table).manifests > 1:
            merge_manifests(*self._table)
        drop_stale_branches(*self._table)  # a branch keeps the rows of a run that died
        expired, removed = expire(*self._table, self.settings.retain), self._orphans(dry_run=False)
        after, scan_after = self._measured()
        done = (rewritten, into, expired, removed, trimmed)
        return MaintainedTable(self.name, before, after, scan_before, scan_after, *done)

    def _trimmed(self, dry_run: bool) -> int:
        return 0 if self.trim is None else self.trim(dry_run)

    def _orphans(self, dry_run: bool) -> int:
        return len(orphans(*self._table, self.settings.retain, dry_run))

    def due(self, progress: Progress) -> None:
        """Reduce what exceeds its threshold: small files, deleted rows, manifests, old snapshots."""
        self._refuse_foreign_writes()
        size = size_of(*self._table)
        if is_scattered(size, self.settings.file_size):
            progress(self.name, "compacting")
            compact(*self._table, self.settings.file_size, every_delete=False)
        if size.manifests > MOST_MANIFESTS:
            merge_manifests(*self._table)
        expire(*self._table, self.settings.retain)

    def _refuse_foreign_writes(self) -> None:
        """Check that no other program has changed rows since siltstone wrote the table.

        Maintenance commits carry the marker, so foreign writes before them would count as siltstone's own. A ledger has
        no marker.

        Raises: ForeignWriteError.
        """
        if own_marker(*self._table) and (writes := writes_to(*self._table)):
            raise foreign_error(f"Cannot maintain {self.name}", {self.name: writes}, "or run `siltstone rebuild`")

    def _measured(self) -> tuple[TableSize, float]:
        """The table's size, and the seconds that a scan of all its rows takes."""
        began = time.monotonic()
        rows = self.spark.table(identifier(self.project.catalog.name, self.name))
        rows.write.format("noop").mode("overwrite").save()
        seconds = time.monotonic() - began
        return size_of(*self._table), seconds


def trim_ledgers(spark: SparkSession, project: ProjectSpec, settings: MaintenanceSpec) -> None:
    """Remove old rows that only report. Ingested files, control events and open rejects stay: runs need them."""
    cutoff = {"cutoff": datetime.now(UTC) - settings.ledgers}
    for table, is_old in TRIMMED.items():
        delete_rows(spark, project, table, is_old, cutoff)
