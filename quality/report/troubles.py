"""The problems and notes of a table, with its level: what was found, where, and what to do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import groupby, pairwise
from statistics import median_low

from siltstone.engine.counts import counted
from siltstone.engine.decode.position_notation import Notation
from siltstone.engine.report import BLOCKED, INTERRUPTED, NOT_WELL
from siltstone.engine.schema.gap_record import HEALED, OPEN, Gap
from siltstone.quality.report.facts import CheckFact, Facts, RejectsFact, RunFact, TableFacts
from siltstone.quality.results import FAILED, NOT_AVAILABLE

KEYS_SHOWN = 5
REASONS_SHOWN = 3
FRESH_WITHIN = timedelta(hours=36)
AGES = ((86_400 * 365.25, "year"), (86_400, "day"), (3_600, "hour"), (60, "minute"))
LONGER_THAN_USUAL = 1.5
UNEXPECTED = 1  # the exit code of an error that siltstone does not handle
WITH_REJECTS = (
    "`siltstone rejects show` lists the records. Fix the source or the spec and run `siltstone rejects replay`, or run"
    " `siltstone rejects dismiss` for records that are not needed."
)
UNCHECKED = "Run `siltstone check`."
UNPUBLISHED = "Run `siltstone catch-up`, which publishes them unless a check blocks them."
OLD = (
    "Find out why no newer changes arrived: check the schedule of the runs, the connector and the source. If this"
    " age is normal for the table, set `quality.fresh_within` in the spec."
)
FOREIGN = (
    "Undo the write with Iceberg's procedure `rollback_to_snapshot`, or run `siltstone rebuild`. If the changes table"
    " was written to, add `--reread` or `--accept-changes`."
)
LAST_COMMIT = "last commit"
NOUNS = {
    "rejected records": "record",
    "records without a table": "record",
    "changed by another program": "write",
    "rejects": "record",
    "duplicates": "change",
    "late_changes": "change",
    "snapshot_reads": "READ",
}
"""What `Trouble.places` counts; a place if the problem is not listed."""


class Level(StrEnum):
    """The state of a table; the worst first."""

    BAD = "bad"
    LOOK = "look"
    GOOD = "good"
    NONE = "none"


GRAVITY = {level: number for number, level in enumerate(Level)}
OF_SEVERITY = {"error": Level.BAD, "warn": Level.LOOK, "info": Level.GOOD}


@dataclass(frozen=True, slots=True)
class Trouble:
    """One problem, or a note of level good. `places`: their number; `keys`: the first of their keys.

    `gap_ids`: the gaps that can be acknowledged; `shown_from`, `shown_to`: the positions in the source's notation.
    """

    table: str
    level: Level
    what: str
    text: str
    do: str | None = None
    places: int = 0
    keys: tuple[str, ...] = ()
    position_from: str | None = None
    position_to: str | None = None
    shown_from: str | None = None
    shown_to: str | None = None
    committed_from: datetime | None = None
    committed_to: datetime | None = None
    since: datetime | None = None
    gap_ids: tuple[str, ...] = ()


def troubles(table: TableFacts, at: datetime) -> tuple[Trouble, ...]:
    """All problems and notes of a table, the worst first. `at`: the time of the report."""
    found = [*of_foreign(table), *of_run(table), *of_gaps(table, OPEN), *of_checks(table), *of_no_checks(table)]
    found += [*of_no_publishing(table), *of_age(table, at)]
    found = [with_notation(one, table.notation) for one in found]
    return tuple(sorted(found, key=lambda one: GRAVITY[one.level]))


def with_notation(one: Trouble, notation: Notation) -> Trouble:
    """The problem with its positions in the source's notation."""
    return replace(one, shown_from=notation.shown(one.position_from), shown_to=notation.shown(one.position_to))


def troubles_of_sources(facts: Facts) -> tuple[Trouble, ...]:
    """The problems that belong to no table, one per source."""
    return tuple(of_source(source, list(found)) for source, found in groupby(facts.rejects, lambda one: one.source))


def of_source(source: str, found: Sequence[RejectsFact]) -> Trouble:
    """The records of a source that name no table, as one problem."""
    number, reasons = sum(one.count for one in found), found[:REASONS_SHOWN]
    texts = [f"{one.reason} ({one.count:,}, the first at line {one.line} of {one.file})" for one in reasons]
    if more := len(found) - len(texts):
        texts.append(f"and {counted(more, 'more reason')}")
    records = counted(number, "record")
    text = f"{records} of the source could not be decoded and may belong to any of its tables: {'; '.join(texts)}"
    newest = max(one.at for one in found)
    return Trouble(source, Level.LOOK, "records without a table", text, WITH_REJECTS, number, since=newest)


def level_of(table: TableFacts, at: datetime) -> Level:
    """The level of a table. A table without runs has a level if `siltstone check` found something in it."""
    if not (table.runs or table.gaps or of_checks(table)):
        return Level.NONE
    return min((one.level for one in troubles(table, at)), key=GRAVITY.__getitem__, default=Level.GOOD)


def limit_of(table: TableFacts) -> timedelta | None:
    """The maximum age of the table's data; None: no limit.

    Without a limit in the spec, it follows from the usual time between runs.
    """
    if table.fresh_within is not None:
        return table.fresh_within if isinstance(table.fresh_within, timedelta) else None
    pauses = [after.at - before.at for before, after in pairwise(table.runs)]
    return max(FRESH_WITHIN, LONGER_THAN_USUAL * median_low(pauses)) if pauses else FRESH_WITHIN


def age_of(table: TableFacts, at: datetime) -> timedelta | None:
    """The age of the table's data, by the earlier of complete_through and its last run; None if both are unknown."""
    since = [*filter(None, [table.complete_through]), *(run.at for run in table.runs[-1:])]
    return max(at - min(since), timedelta()) if since else None


def is_old(table: TableFacts, at: datetime) -> bool:
    """Whether the table's data is older than its limit."""
    limit, age = limit_of(table), age_of(table, at)
    return limit is not None and age is not None and age > limit


def of_age(table: TableFacts, at: datetime) -> list[Trouble]:
    """The problem that the data is older than its limit."""
    age, limit = age_of(table, at), limit_of(table)
    if age is None or limit is None or age <= limit:
        return []
    since = f"complete through {exactly(table.complete_through)}" if table.complete_through else "since its last run"
    text = f"the data is {in_words(age)} old ({since}); the limit is {in_words(limit)}"
    if table.complete_through_by == LAST_COMMIT:
        text += "; the source sends no event that shows whether it is idle"
    return [Trouble(table.table, Level.LOOK, "old data", text, OLD, since=table.complete_through)]


def of_foreign(table: TableFacts) -> list[Trouble]:
    """The writes of other programs to the table, as one problem."""
    if not table.foreign_writes:
        return []
    more = len(table.foreign_writes) - REASONS_SHOWN
    text = "; ".join(table.foreign_writes[:REASONS_SHOWN]) + (f"; and {more} more" if more > 0 else "")
    return [Trouble(table.table, Level.BAD, "changed by another program", text, FOREIGN, len(table.foreign_writes))]


def of_run(table: TableFacts) -> list[Trouble]:
    """The problems of the last run: its failure, its rejected records."""
    if not table.runs:
        return []
    run = table.runs[-1]
    found = []
    if run.status in NOT_WELL:
        text, _, do = error_of(run).partition(" Hint: ")
        found.append(Trouble(table.table, Level.BAD, f"the last run {verb(run)}", text, do or None, since=run.at))
    if run.rejected:
        text = f"{counted(run.rejected, 'record')} of the last run could not be decoded"
        found.append(
            Trouble(table.table, Level.LOOK, "rejected records", text, WITH_REJECTS, run.rejected, since=run.at)
        )
    return found


def verb(run: RunFact) -> str:
    """The verb for the status of a run that failed."""
    return {BLOCKED: "was blocked", INTERRUPTED: "was interrupted"}.get(run.status, "failed")


def error_of(run: RunFact) -> str:
    """The run's error. The message of an unexpected error can have values of a row, so only its class is shown."""
    text = (run.error or "the run recorded no error").partition("\n")[0]
    if run.exit_code == UNEXPECTED:
        return f"{text.partition(':')[0]}: an unexpected error; `siltstone runs` shows its message"
    return text


def of_gaps(table: TableFacts, status: str) -> list[Trouble]:
    """The gaps of one status, one problem per check."""
    mine = sorted((gap for gap in table.gaps if gap.status == status), key=lambda gap: (gap.check, gap.severity))
    return [group_of(table, list(group)) for _, group in groupby(mine, lambda gap: (gap.check, gap.severity))]


def group_of(table: TableFacts, gaps: Sequence[Gap]) -> Trouble:
    """The gaps of one check as one problem."""
    first, places = min(gaps, key=lambda gap: (gap.opened_at, gap.position_from or "")), sum(g.findings for g in gaps)
    lows = [gap.position_from for gap in gaps if gap.position_from is not None]
    highs = [end for gap in gaps if (end := gap.position_to or gap.position_from) is not None]
    begins = [gap.committed_from for gap in gaps if gap.committed_from is not None]
    ends = [last for gap in gaps if (last := gap.committed_to or gap.committed_from) is not None]
    return Trouble(
        table.table,
        OF_SEVERITY[first.severity],
        first.check,
        first.message,
        first.hint,
        places,
        tuple(dict.fromkeys(gap.key for gap in gaps if gap.key is not None))[:KEYS_SHOWN],
        min(lows, default=None),
        max(highs, default=None),
        committed_from=min(begins, default=None),
        committed_to=max(ends, default=None),
        since=first.opened_at,
        gap_ids=tuple(gap.gap_id for gap in gaps),
    )


def of_checks(table: TableFacts) -> list[Trouble]:
    """The failed checks without an open gap: they are about one delivery or one run."""
    with_gaps = {gap.check for gap in table.gaps if gap.status != HEALED}
    failed = [check for check in table.checks if check.status == FAILED and check.check not in with_gaps]
    return [of_check(table, check) for check in failed]


def is_unchecked(table: TableFacts) -> bool:
    """Whether a table has unchecked batches, or has changes but no result of a check.

    A check that is not available is no result. After a failed run, only the failure is reported.
    """
    if is_older(table):
        return True
    has_changes = bool(table.changes) or any(run.changes for run in table.runs)
    went_well = bool(table.runs) and table.runs[-1].status not in NOT_WELL
    has_results = bool(table.gaps) or any(check.status != NOT_AVAILABLE for check in table.checks)
    return has_changes and went_well and not has_results


def is_older(table: TableFacts) -> bool:
    """Whether a published batch has not been checked."""
    return table.batch is not None and table.checked_batch is not None and table.batch > table.checked_batch


def of_no_checks(table: TableFacts) -> list[Trouble]:
    """The problem that batches have not been checked: the Python API can run without checks."""
    if not is_unchecked(table):
        return []
    text = "no check has run on its data"
    if is_older(table) and table.checked_batch and table.batch:
        text = f"no check has run on {batches_in(table.checked_batch, table.batch)}"
    return [Trouble(table.table, Level.LOOK, "not checked", text, UNCHECKED)]


def is_unpublished(table: TableFacts) -> bool:
    """Whether its changes have a batch that is not in its tables. After a failed run, only the failure is reported."""
    is_ahead = table.taken_batch is not None and table.batch is not None and table.taken_batch > table.batch
    return is_ahead and not (table.runs and table.runs[-1].status in NOT_WELL)


def of_no_publishing(table: TableFacts) -> list[Trouble]:
    """The problem that the newest changes are not in the tables, for example because an earlier run was blocked."""
    if not is_unpublished(table):
        return []
    text = f"the changes of {batches_in(table.batch or 0, table.taken_batch or 0)} are not in latest and history"
    return [Trouble(table.table, Level.LOOK, "not published", text, UNPUBLISHED)]


def batches_in(before: int, last: int) -> str:
    """The batches after `before` up to `last`, as text."""
    first = before + 1
    return f"batch {first}" if first == last else f"batches {first} to {last}"


def of_check(table: TableFacts, check: CheckFact) -> Trouble:
    """One failed check as a problem."""
    return Trouble(
        table.table,
        OF_SEVERITY[check.severity],
        check.check,
        check.message,
        check.hint,
        check.observed,
        check.keys[:KEYS_SHOWN],
        check.position_from,
        check.position_to,
        since=check.at,
    )


def in_words(age: timedelta) -> str:
    """A duration in its greatest unit, rounded down."""
    seconds = int(age.total_seconds())
    for size, unit in AGES:
        if seconds >= 2 * size:
            return f"{int(seconds // size):,} {unit}s"
    return counted(seconds, "second")


def exactly(at: datetime) -> str:
    """A time in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def counted_places(one: Trouble) -> str:
    """The number of places of a problem with its noun."""
    return counted(one.places, NOUNS.get(one.what, "place"))
