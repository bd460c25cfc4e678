"""Findings from the control rows of a source: transactions, windows, log files, snapshots, silence."""

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
class ControlInputs:
    """The inputs of the control checks: the control rows, what is known of them, the spec, the type of the key."""

    control: DataFrame
    evidence: Evidence
    spec: TableSpec
    key: T.StructType

    @property
    def of_one_log(self) -> bool:
        """Whether the table's sources are different names of one log."""
        return self.spec.source.several == ONE_LOG


def control_findings(
    tables: Tables, spec: TableSpec, scope: Scope, checks: Collection[str], key: T.StructType
) -> list[DataFrame]:
    """The findings of the requested checks.

    Gives: DataFrames of check, position_from, position_to, key, message, and tx_id where it is known.
    """
    if tables.control is None or not scope.sources:
        return []
    inputs = ControlInputs(rows_of(tables.control, scope.sources), scope.evidence, spec, key)
    requested = [find for check, find in FINDINGS.items() if check in checks]
    return [part for find in requested for part in find(inputs)] + of_snapshots(inputs, tables, scope, checks)


def of_windows(inputs: ControlInputs) -> Iterator[DataFrame]:
    """Windows that were not closed."""
    yield unclosed_windows(inputs.control, inputs.evidence.since, inputs.key)


def of_transactions(inputs: ControlInputs) -> Iterator[DataFrame]:
    """Incomplete transactions."""
    evidence, grace = inputs.evidence, inputs.spec.quality.grace
    states = transaction_states(inputs.control, evidence.since, evidence.commit_before, evidence.commit_newest, grace)
    yield incomplete_transactions(states, inputs.spec.table, inputs.key)


def of_logs(inputs: ControlInputs) -> Iterator[DataFrame]:
    """Missing files of the log, and missing transactions that other transactions identify."""
    evidence, grace = inputs.evidence, inputs.spec.quality.grace
    if evidence.log_files:
        yield skipped_logs(inputs.control, evidence.since, inputs.key)
    for source in evidence.commit_newest if evidence.commits else ():
        kind = kind_of(source)
        if not kind.names_previous_commit and not kind.counts_commits:
            continue
        own = inputs.control.where(F.col("source") == source)
        before, newest = evidence.commit_before.get(source), evidence.commit_newest[source]
        found = lost_transactions(own, evidence.since, before, newest, grace, inputs.key)
        if found is not None:
            yield found


def of_silence(inputs: ControlInputs) -> Iterator[DataFrame]:
    """Heartbeats that stopped, and partitions that lag."""
    evidence, grace = inputs.evidence, inputs.spec.quality.grace
    if evidence.heartbeats:
        first = evidence.first_heartbeat(grace)
        until = evidence.taken_newest
        yield silent_heartbeats(inputs.control, evidence.since, first, until, grace, inputs.key, inputs.of_one_log)
    if evidence.watermarks:
        yield stalled_partitions(inputs.control, evidence.marks_before, grace, inputs.key)


FINDINGS: Final[dict[str, Callable[[ControlInputs], Iterator[DataFrame]]]] = {
    catalogue.OPEN_WINDOW: of_windows,
    catalogue.INCOMPLETE_TRANSACTION: of_transactions,
    catalogue.LOG_GAP: of_logs,
    catalogue.STALLED_SOURCE: of_silence,
}


def of_snapshots(inputs: ControlInputs, tables: Tables, scope: Scope, checks: Collection[str]) -> list[DataFrame]:
    """Incomplete snapshots, and live rows that a complete snapshot did not have. Without a scan to check, no frames."""
    evidence = inputs.evidence
    requested = {catalogue.SHORT_SNAPSHOT, catalogue.GHOST_ROW} & set(checks)
    if not requested or not (evidence.scan_notices or (evidence.scan_requests and scope.reads)):
        return []
    changes = tables.changes.where(~F.coalesce("too_late", F.lit(False)))
    grace = inputs.spec.quality.grace
    progress = Progress(inputs.control, evidence.since, changes, scope.since, grace, inputs.of_one_log)
    found = scans(inputs.control, progress, inputs.spec.table, scope.reads > 0)
    parts = []
    announcing = [scan for scan in found if scan.rows and not tables.can_lack_changes_of(scan.begins)]
    if catalogue.SHORT_SNAPSHOT in requested and announcing:
        parts.append(short_snapshots(changes, inputs.control, announcing, inputs.key, inputs.spec))
    covering = [scan for scan in found if not scan.partial and (scan.whole or is_ordered(inputs.key))]
    if catalogue.GHOST_ROW in requested and covering:
        parts.append(ghost_rows(changes, tables.latest, inputs.control, covering, scope.columns, inputs.spec))
    return parts
