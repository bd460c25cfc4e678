"""Findings that come from the control rows of a source: transactions, windows, log files, snapshots, silence."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.formats import kind_of
from siltstone.engine.spec.model import TableSpec
from siltstone.quality import catalogue
from siltstone.quality.incomplete_transactions import incomplete_transactions, transaction_states
from siltstone.quality.missing_log_files import skipped_logs
from siltstone.quality.missing_transactions import lost_transactions
from siltstone.quality.open_windows import unclosed_windows
from siltstone.quality.scan_findings import ghost_rows, is_ordered, short_snapshots
from siltstone.quality.scope import Scope, Tables
from siltstone.quality.silent_sources import silent_heartbeats, stalled_partitions
from siltstone.quality.snapshot_scans import scans
from siltstone.quality.source_clocks import ONE_LOG
from siltstone.quality.source_evidence import Evidence, rows_of
from siltstone.quality.source_progress import Progress


@dataclass(frozen=True)
class Told:
    """What a source tells beside its changes: its control rows, what is known of them at once; spec and key's type."""

    control: DataFrame
    evidence: Evidence
    spec: TableSpec
    key: T.StructType

    @property
    def of_one_log(self) -> bool:
        """Whether its sources are names of one log."""
        return self.spec.source.several == ONE_LOG


def control_findings(
    tables: Tables, spec: TableSpec, scope: Scope, checks: Collection[str], key: T.StructType
) -> list[DataFrame]:
    """The findings of those checks that are asked for.

    Gives: for each a DataFrame of check, position_from, position_to, key, message, perhaps tx_id.
    """
    if tables.control is None or not scope.sources:
        return []
    told = Told(rows_of(tables.control, scope.sources), scope.evidence, spec, key)
    asked = [find for check, find in FINDINGS.items() if check in checks]
    return [part for find in asked for part in find(told)] + of_snapshots(told, tables, scope, checks)


def of_windows(told: Told) -> Iterator[DataFrame]:
    """Windows that stayed open."""
    yield unclosed_windows(told.control, told.evidence.since, told.key)


def of_transactions(told: Told) -> Iterator[DataFrame]:
    """Transactions that stayed incomplete."""
    seen, grace = told.evidence, told.spec.quality.grace
    states = transaction_states(told.control, seen.since, seen.commit_before, seen.commit_newest, grace)
    yield incomplete_transactions(states, told.spec.table, told.key)


def of_logs(told: Told) -> Iterator[DataFrame]:
    """Files of the log that were left out, transactions that others tell of."""
    seen, grace = told.evidence, told.spec.quality.grace
    if seen.log_files:
        yield skipped_logs(told.control, seen.since, told.key)
    for source in seen.commit_newest if seen.commits else ():
        kind = kind_of(source)
        if not kind.names_previous_commit and not kind.counts_commits:
            continue
        own = told.control.where(F.col("source") == source)
        before, newest = seen.commit_before.get(source), seen.commit_newest[source]
        found = lost_transactions(own, seen.since, before, newest, grace, told.key)
        if found is not None:
            yield found


def of_silence(told: Told) -> Iterator[DataFrame]:
    """Heartbeats that stopped, partitions that stayed behind."""
    seen, grace = told.evidence, told.spec.quality.grace
    if seen.heartbeats:
        first = seen.first_heartbeat(grace)
        until = seen.taken_newest
        yield silent_heartbeats(told.control, seen.since, first, until, grace, told.key, told.of_one_log)
    if seen.watermarks:
        yield stalled_partitions(told.control, seen.marks_before, grace, told.key)


FINDINGS: Final[dict[str, Callable[[Told], Iterator[DataFrame]]]] = {
    catalogue.OPEN_WINDOW: of_windows,
    catalogue.INCOMPLETE_TRANSACTION: of_transactions,
    catalogue.LOG_GAP: of_logs,
    catalogue.STALLED_SOURCE: of_silence,
}


def of_snapshots(told: Told, tables: Tables, scope: Scope, checks: Collection[str]) -> list[DataFrame]:
    """Snapshots that stopped short, and rows that outlived one. Nothing is looked at where no scan is to be judged."""
    seen = told.evidence
    asked = {catalogue.SHORT_SNAPSHOT, catalogue.GHOST_ROW} & set(checks)
    if not asked or not (seen.scan_notices or (seen.scan_requests and scope.reads)):
        return []
    changes = tables.changes.where(~F.coalesce("too_late", F.lit(False)))
    grace = told.spec.quality.grace
    progress = Progress(told.control, seen.since, changes, scope.since, grace, told.of_one_log)
    found = scans(told.control, progress, told.spec.table, scope.reads > 0)
    parts = []
    announcing = [scan for scan in found if scan.rows]
    if catalogue.SHORT_SNAPSHOT in asked and announcing:
        parts.append(short_snapshots(changes, told.control, announcing, told.key, told.spec))
    covering = [scan for scan in found if not scan.partial and (scan.whole or is_ordered(told.key))]
    if catalogue.GHOST_ROW in asked and covering:
        parts.append(ghost_rows(changes, tables.latest, told.control, covering, scope.columns, told.spec))
    return parts
