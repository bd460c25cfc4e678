"""Facts about the newest changes of a table: how late they arrived, and their commit times."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from siltstone.engine import names
from siltstone.engine.reader import Reader, load_table
from siltstone.engine.schema.control_kinds import WINDOW_CLOSE, WINDOW_OPEN
from siltstone.engine.schema.gap_record import HEALED, Gap
from siltstone.engine.timestamps import moment_of
from siltstone.quality.report.facts import LateFact, LogFact, WindowFact

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.table import Table

MOST_CHANGES = 2_000_000  # two columns of this many rows are read in a second
PARTS = 72
STEPS = (timedelta(minutes=1), timedelta(hours=1), timedelta(days=1), timedelta(days=7))
LABELS = ("up to a minute", "up to an hour", "up to a day", "up to a week", "longer")
TOO_LATE = "too late: not applied"


@dataclass(frozen=True, slots=True)
class Commits:
    """One batch of `changes`: when it was committed, its number of changes, the greatest commit time so far."""

    batch: int
    at: datetime
    added: int
    newest: datetime | None


def commits_of(changes: "Table") -> dict[int, Commits]:
    """The batches whose snapshots have not expired."""
    found: dict[int, Commits] = {}
    for snapshot in changes.snapshots():
        summary = snapshot.summary.additional_properties if snapshot.summary else {}
        if names.SUMMARY_BATCH not in summary:
            continue
        batch, micros = int(summary[names.SUMMARY_BATCH]), summary.get(names.SUMMARY_MAX_COMMIT)
        at = datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC)
        newest = None if micros is None else moment_of(int(micros))
        is_reread = names.SUMMARY_REREAD in summary and snapshot.parent_snapshot_id is None  # it has no new changes
        found[batch] = Commits(batch, at, 0 if is_reread else int(summary.get("added-records", 0)), newest)
    return found


def late_and_log(
    catalog: Reader,
    changes: "Table",
    commits: Mapping[int, Commits],
    gaps: Sequence[Gap],
    control: str,
    batches: Iterable[int | None],
) -> tuple[tuple[LateFact, ...], LogFact | None]:
    """How late the changes of these batches arrived, and their commit times. Reads at most MOST_CHANGES changes."""
    wanted = newest_batches(commits, {batch for batch in batches if batch is not None})
    if not wanted:
        return (), None
    from pyiceberg.expressions import GreaterThanOrEqual

    columns = ("batch", "commit_ts", "too_late")
    rows = changes.scan(GreaterThanOrEqual("batch", min(wanted)), selected_fields=columns).to_arrow()
    return lateness(rows, commits), log_of(catalog, control, rows, gaps)


def newest_batches(commits: Mapping[int, Commits], wanted: Iterable[int]) -> list[int]:
    """The newest of these batches, with at most MOST_CHANGES changes."""
    total, taken = 0, []
    for batch in sorted((batch for batch in wanted if batch in commits), reverse=True):
        total += commits[batch].added
        if total > MOST_CHANGES:
            break
        taken.append(batch)
    return taken


def lateness(rows: "pa.Table", commits: Mapping[int, Commits]) -> tuple[LateFact, ...]:
    """The late changes, by how long they were committed before the newest change of an earlier batch."""
    import pyarrow.compute as pc

    counts = dict.fromkeys((*LABELS, TOO_LATE), 0)
    for batch in pc.unique(rows["batch"]).to_pylist():
        mine = rows.filter(pc.equal(rows["batch"], batch))
        too_late = pc.fill_null(mine["too_late"], False)
        counts[TOO_LATE] += pc.sum(too_late).as_py() or 0
        before = newest_before(commits, batch)
        if before is None:
            continue
        times = mine.filter(pc.invert(too_late))["commit_ts"].drop_null().cast("int64")
        late_by = pc.subtract(int(before.timestamp() * 1_000_000), times)
        for value in late_by.filter(pc.greater(late_by, 0)).to_pylist():
            counts[LABELS[bisect_left(STEPS, timedelta(microseconds=value))]] += 1
    return tuple(LateFact(label, count) for label, count in counts.items() if count)


def newest_before(commits: Mapping[int, Commits], batch: int) -> datetime | None:
    """The greatest commit time of the batches before this one."""
    earlier = [commit.newest for number, commit in commits.items() if number < batch and commit.newest is not None]
    return max(earlier, default=None)


def log_of(catalog: Reader, control: str, rows: "pa.Table", gaps: Sequence[Gap]) -> LogFact | None:
    """The changes by commit time, over a range that includes all gaps. None if no change has a commit time."""
    import numpy as np
    import pyarrow.compute as pc

    times = rows["commit_ts"].drop_null().cast("int64")
    if not len(times):
        return None
    current = [gap for gap in gaps if gap.status != HEALED]
    marks = [end for gap in current for end in (gap.committed_from, gap.committed_to) if end is not None]
    micros = [int(mark.timestamp() * 1_000_000) for mark in marks]
    low, high = min([pc.min(times).as_py(), *micros]), max([pc.max(times).as_py(), *micros])
    since = times.to_numpy() - low  # relative: doubles are not exact to the microsecond since 1970
    counts, _ = np.histogram(since, bins=PARTS, range=(0, max(high - low, 1)))
    begins, ends = moment_of(low), moment_of(high)
    windows = [one for one in windows_of(catalog, control) if (one.closed or ends) >= begins and one.opened <= ends]
    return LogFact(begins, ends, tuple(int(count) for count in counts), tuple(windows))


def windows_of(catalog: Reader, control: str) -> list[WindowFact]:
    """The snapshot windows, from their markers."""
    from pyiceberg.expressions import In

    from siltstone.engine.plain_values import records

    if not catalog.table_exists(control):
        return []
    columns = ("kind", "event_id", "commit_ts", "source")
    markers = In("kind", (WINDOW_OPEN, WINDOW_CLOSE))
    rows = records(load_table(catalog, control).scan(markers, selected_fields=columns).to_arrow())
    marks: dict[Any, dict[str, datetime]] = {}
    for row in rows:
        if row["event_id"] is not None and row["commit_ts"] is not None:
            name = row["event_id"].removesuffix("-open").removesuffix("-close")
            at = row["commit_ts"].astimezone(UTC)
            of_window = marks.setdefault((row["source"], name), {})
            of_window[row["kind"]] = min(at, of_window.get(row["kind"], at))
    found = [WindowFact(each[WINDOW_OPEN], each.get(WINDOW_CLOSE)) for each in marks.values() if WINDOW_OPEN in each]
    return sorted(found, key=lambda one: one.opened)
