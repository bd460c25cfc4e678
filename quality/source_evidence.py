"""The evidence in the control rows of a table's sources: their kinds, and the times that they reach."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine.schema import control_kinds
from siltstone.engine.steps.control_events import named_source
from siltstone.engine.timestamps import collectable
from siltstone.quality import catalogue
from siltstone.quality.missing_transactions import is_numbered
from siltstone.quality.snapshot_scans import SCAN_ENDED, is_request
from siltstone.quality.source_clocks import Moments, as_one, earliest, known_at, latest


@dataclass(frozen=True)
class Evidence:
    """The counts of control rows by kind, and the times of the newest ones, before the checked batches and with them.

    `beats_from`: the earliest heartbeat of the checked batches. `commit_*`: commit times per source, because sources
    advance separately. `taken_*`: processing times.
    """

    since: int
    markers: int = 0
    transactions: int = 0
    heartbeats: int = 0
    watermarks: int = 0
    log_files: int = 0
    commits: int = 0
    scan_requests: int = 0
    scan_notices: int = 0
    commit_before: Moments = field(default_factory=dict)
    commit_newest: Moments = field(default_factory=dict)
    taken_before: datetime | None = None
    taken_newest: datetime | None = None
    beats_from: datetime | None = None
    marks_before: datetime | None = None

    def of_one_log(self) -> "Evidence":
        """The evidence for sources that are names of one log: an older name has ended and is not stalled."""
        return replace(self, commit_before=as_one(self.commit_before), commit_newest=as_one(self.commit_newest))

    def first_heartbeat(self, grace: timedelta) -> datetime | None:
        """The time from which heartbeats are needed to find silences that ended or continue; None: all are needed.

        A redelivered file has old heartbeats: the heartbeats of earlier batches are between them and now.
        """
        if self.taken_before is None:
            return None
        lasting = self.taken_before - grace
        return lasting if self.beats_from is None else min(lasting, self.beats_from)

    def unavailable(self) -> Iterator[tuple[str, str]]:
        """The checks whose control rows are missing."""
        if not self.markers:
            yield catalogue.OPEN_WINDOW, "no markers of snapshot windows among the control records"
        if not self.transactions:
            yield catalogue.INCOMPLETE_TRANSACTION, "no event has the size of its transaction"
        if not self.log_files and not self.commits:
            yield catalogue.LOG_GAP, "no event names a log file or a transaction number"
        if not self.heartbeats and not self.watermarks:
            yield catalogue.STALLED_SOURCE, "no heartbeats and no partitions among the control records"
        if not self.scan_notices:
            yield catalogue.SHORT_SNAPSHOT, "no notice of a snapshot's end among the control records"
            if not self.scan_requests:
                why = "no notice of a snapshot's end and no snapshot request among the control records"
                yield catalogue.GHOST_ROW, why


NO_EVIDENCE: Final = Evidence(0)


def rows_of(control: DataFrame, sources: Sequence[str]) -> DataFrame:
    """The control rows of these sources, including those that name their source only by topic. Rows: filters."""
    named = control.withColumn("source", named_source(sources, alone=False))
    return named.where(F.col("source").isin(*sources))


def evidence_of(
    control: DataFrame | None, sources: Sequence[str], since: int, newest: Moments, newest_taken: datetime | None
) -> Evidence:
    """Count the control rows in one pass. `newest`, `newest_taken`: the newest commit and processing times."""
    if control is None or not sources:
        return Evidence(since)
    rows = rows_of(control, sources).groupBy("source").agg(*facts_of(since)).collect()
    facts: dict[str, Any] = {name: sum(row[name] for row in rows) for name in counted()}
    facts["beats_from"] = earliest(row["beats_from"] for row in rows)
    facts |= {name: latest(row[name] for row in rows) for name in ("taken_before", "taken_newest", "marks_before")}
    facts["taken_newest"] = latest((facts["taken_newest"], newest_taken))
    facts["commit_before"] = {row["source"]: row["commit_before"] for row in rows}
    of_ledgers = {row["source"]: row["commit_newest"] for row in rows}
    facts["commit_newest"] = {one: latest((of_ledgers.get(one), newest.get(one))) for one in sources}
    return Evidence(since, **facts)


def counted() -> dict[str, Column]:
    """The counts of control rows, by name."""
    kind = F.col("kind")
    notice = (kind == control_kinds.NOTIFICATION) & F.col("payload").contains(SCAN_ENDED)
    has_size = F.col("payload").contains('"size":')
    return {
        "markers": kind == control_kinds.WINDOW_OPEN,
        "transactions": (kind == control_kinds.TRANSACTION_LEDGER) & has_size,
        "heartbeats": (kind == control_kinds.HEARTBEAT) & F.col("ingest_ts").isNotNull(),
        "watermarks": kind == control_kinds.WATERMARK,
        "log_files": kind == control_kinds.LOG_FILE,
        "commits": is_numbered(),
        "scan_requests": is_request(),
        "scan_notices": notice,
    }


def facts_of(since: int) -> list[Column]:
    """The facts about the control rows of one source."""
    kind, old = F.col("kind"), F.col("batch") <= since
    of_ledger, is_mark = kind == control_kinds.TRANSACTION_LEDGER, kind == control_kinds.WATERMARK
    conditions = counted()
    return [
        *[F.count_if(condition).alias(name) for name, condition in conditions.items()],
        collectable(F.max(F.when(of_ledger & old, known_at()))).alias("commit_before"),
        collectable(F.max(F.when(of_ledger, known_at()))).alias("commit_newest"),
        collectable(F.max(F.when(old, F.col("ingest_ts")))).alias("taken_before"),
        collectable(F.max("ingest_ts")).alias("taken_newest"),
        collectable(F.min(F.when(conditions["heartbeats"] & ~old, F.col("ingest_ts")))).alias("beats_from"),
        collectable(F.max(F.when(is_mark & old, F.col("commit_ts")))).alias("marks_before"),
    ]
