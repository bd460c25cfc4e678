"""The verdict: can last night's data be trusted, and if not, which keys, which range of the log, and what to do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby, pairwise
from statistics import median_low

from engine.report import BLOCKED, INTERRUPTED, NOT_WELL
from engine.schema.gap import ACKNOWLEDGED, HEALED, OPEN, Gap
from quality.report.facts import CheckFact, Facts, RejectsFact, RunFact, TableFacts

KEYS_TOLD = 5
REASONS_TOLD = 3
STALE = timedelta(hours=36)
LONGER_THAN_USUAL = 1.5
UNFORESEEN = 1
WITH_REJECTS = (
    "`siltstone rejects show` has each: mend the source or the spec and replay them, or dismiss what is no loss."
)
UNCHECKED = "Run `siltstone check`."


class Level(StrEnum):
    """How a table stands; the gravest first."""

    BAD = "bad"
    LOOK = "look"
    GOOD = "good"
    NONE = "none"


GRAVITY = {level: number for number, level in enumerate(Level)}
OF_SEVERITY = {"error": Level.BAD, "warn": Level.LOOK, "info": Level.GOOD}


@dataclass(frozen=True, slots=True)
class Trouble:
    """One matter to look at. `keys` are the first of `places`; `gap_ids` what can be acknowledged."""

    table: str
    level: Level
    what: str
    text: str
    do: str | None = None
    places: int = 0
    keys: tuple[str, ...] = ()
    position_from: str | None = None
    position_to: str | None = None
    committed_from: datetime | None = None
    committed_to: datetime | None = None
    since: datetime | None = None
    gap_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """One sentence, and what stands behind it."""

    level: Level
    headline: str
    detail: str


def troubles(table: TableFacts) -> tuple[Trouble, ...]:
    """All that is to be looked at in a table, the gravest first."""
    found = [*of_run(table), *of_gaps(table, OPEN), *of_checks(table), *of_no_checks(table)]
    return tuple(sorted(found, key=lambda one: GRAVITY[one.level]))


def troubles_of_sources(facts: Facts) -> tuple[Trouble, ...]:
    """What is to be looked at and belongs to no table: a matter a source."""
    return tuple(of_source(source, list(found)) for source, found in groupby(facts.rejects, lambda one: one.source))


def of_source(source: str, found: Sequence[RejectsFact]) -> Trouble:
    """The records of a source that name no table, as one matter."""
    number, reasons = sum(one.count for one in found), found[:REASONS_TOLD]
    told = [f"{one.reason} ({one.count:,}, the first at line {one.line} of {one.file})" for one in reasons]
    more = f"; and {len(found) - len(told)} more reasons" if len(found) > len(told) else ""
    text = f"{counted(number, 'record')} of it could not be decoded and may be of any of its tables: {'; '.join(told)}"
    newest = max(one.at for one in found)
    return Trouble(source, Level.LOOK, "records of no table", text + more, WITH_REJECTS, number, since=newest)


def known_troubles(table: TableFacts) -> tuple[Trouble, ...]:
    """What a person has acknowledged."""
    return tuple(of_gaps(table, ACKNOWLEDGED))


def level_of(table: TableFacts) -> Level:
    """How a table stands. One that never ran can be known by what `siltstone check` found in it."""
    if not (table.runs or table.gaps or of_checks(table)):
        return Level.NONE
    return min((one.level for one in troubles(table)), key=GRAVITY.__getitem__, default=Level.GOOD)


def is_old(table: TableFacts, at: datetime) -> bool:
    """Whether the table's last run is longer ago than the pauses between its runs make one expect."""
    if not table.runs:
        return False
    pauses = [after.at - before.at for before, after in pairwise(table.runs)]
    usual = median_low(pauses) if pauses else timedelta()
    return at - table.runs[-1].at > max(STALE, LONGER_THAN_USUAL * usual)


def of_run(table: TableFacts) -> list[Trouble]:
    """What the last run itself says."""
    if not table.runs:
        return []
    run = table.runs[-1]
    found = []
    if run.status in NOT_WELL:
        text, _, do = error_of(run).partition(" Hint: ")
        found.append(Trouble(table.table, Level.BAD, f"the last run {verb(run)}", text, do or None, since=run.at))
    if run.rejected:
        text = f"{run.rejected:,} records of the last run could not be decoded"
        found.append(
            Trouble(table.table, Level.LOOK, "rejected records", text, WITH_REJECTS, run.rejected, since=run.at)
        )
    return found


def verb(run: RunFact) -> str:
    """What became of a run that did not go well."""
    return {BLOCKED: "was blocked", INTERRUPTED: "was interrupted"}.get(run.status, "failed")


def error_of(run: RunFact) -> str:
    """The run's error. An unforeseen one can quote values of a row: only its kind is told."""
    text = (run.error or "it gave no reason").partition("\n")[0]
    if run.exit_code == UNFORESEEN:
        return f"{text.partition(':')[0]}: an error that nobody foresaw; `siltstone runs` has its words"
    return text


def of_gaps(table: TableFacts, status: str) -> list[Trouble]:
    """The gaps of one status, a trouble a check."""
    mine = sorted((gap for gap in table.gaps if gap.status == status), key=lambda gap: (gap.check, gap.severity))
    return [group_of(table, list(group)) for _, group in groupby(mine, lambda gap: (gap.check, gap.severity))]


def group_of(table: TableFacts, gaps: Sequence[Gap]) -> Trouble:
    """The gaps of one check as one matter."""
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
        tuple(dict.fromkeys(gap.key for gap in gaps if gap.key is not None))[:KEYS_TOLD],
        min(lows, default=None),
        max(highs, default=None),
        min(begins, default=None),
        max(ends, default=None),
        first.opened_at,
        tuple(gap.gap_id for gap in gaps),
    )


def of_checks(table: TableFacts) -> list[Trouble]:
    """The checks that failed and left no gap: what happened in one delivery or one run."""
    told = {gap.check for gap in table.gaps if gap.status != HEALED}
    failed = [check for check in table.checks if check.status == "failed" and check.check not in told]
    return [of_check(table, check) for check in failed]


def is_unchecked(table: TableFacts) -> bool:
    """Whether a table has changes, and no check has ever looked at it. A failed run is told instead."""
    has_changes = bool(table.changes) or any(run.changes for run in table.runs)
    went_well = bool(table.runs) and table.runs[-1].status not in NOT_WELL
    return has_changes and went_well and not (table.checks or table.gaps)


def of_no_checks(table: TableFacts) -> list[Trouble]:
    """That nobody has looked at what the runs wrote: from Python, checks are a call of their own."""
    text = "no check has looked at what its runs wrote"
    return [Trouble(table.table, Level.LOOK, "not checked", text, UNCHECKED)] if is_unchecked(table) else []


def of_check(table: TableFacts, check: CheckFact) -> Trouble:
    """One failed check as a matter."""
    return Trouble(
        table.table,
        OF_SEVERITY[check.severity],
        check.check,
        check.message,
        check.hint,
        check.observed,
        check.keys[:KEYS_TOLD],
        check.position_from,
        check.position_to,
        since=check.at,
    )


def verdict(facts: Facts) -> Verdict:
    """Can the data be trusted?"""
    levels = {table.table: level_of(table) for table in facts.tables}
    if all(level == Level.NONE for level in levels.values()):
        return Verdict(Level.NONE, "Nothing has run yet", "Run siltstone catch-up, and this page tells what it found.")
    bad = [table for table, level in levels.items() if level == Level.BAD]
    look = [table for table, level in levels.items() if level == Level.LOOK]
    never = [table for table, level in levels.items() if level == Level.NONE]
    number, of_none = len(levels), sum(one.count for one in facts.rejects)
    ran = [table for table in facts.tables if table.runs]
    old = [table for table in ran if is_old(table, facts.at)]
    remarks = [
        f"{listed(look)} should be looked at." if look else "",
        f"{counted(of_none, 'record')} of no table could not be decoded." if of_none else "",
        f"{listed([table.table for table in old])} did not run for long." if old and len(old) < len(ran) else "",
    ]
    if bad:
        headline = f"Not all of it: {counted(len(bad), 'table')} of {number} cannot be trusted"
        if len(bad) == number:
            headline = (
                "No, the data cannot be trusted" if number == 1 else f"No: none of {number} tables can be trusted"
            )
        said = [f"{listed(bad)}.", rest_of(number - len(bad) - len(look) - len(never)), *remarks]
        return Verdict(Level.BAD, headline, " ".join(text for text in said if text))
    if old and len(old) == len(ran):
        last = max(table.runs[-1].at for table in old)
        return Verdict(Level.LOOK, "The data is old", f"The last run was on {last:%Y-%m-%d at %H:%M} UTC.")
    if any(map(is_unchecked, ran)) and not any(table.checks or table.gaps for table in ran):
        whole = "the table" if number == 1 else f"any of {number} tables"
        return Verdict(Level.LOOK, "The data has not been checked", f"No check has looked at {whole}. {UNCHECKED}")
    if look or never or of_none or old:
        remarks.append(f"{listed(never)} never ran." if never else "")
        return Verdict(Level.LOOK, "Yes, with remarks", " ".join(text for text in remarks if text))
    whole = "The table passed its checks" if number == 1 else f"All {number} tables passed their checks"
    known = findings(facts.tables, ACKNOWLEDGED)
    others = f", {known:,} {'is' if known == 1 else 'are'} acknowledged" if known else ""
    return Verdict(Level.GOOD, "Yes, the data can be trusted", f"{whole}; no gap is open{others}.")


def findings(tables: Iterable[TableFacts], status: str) -> int:
    """What the gaps of one status hold, counted."""
    return sum(gap.findings for table in tables for gap in table.gaps if gap.status == status)


def distrust(bad: int, number: int) -> str:
    """How many tables cannot be trusted, in words."""
    if bad < number:
        return f"Not all of it: {counted(bad, 'table')} of {number} cannot be trusted"
    return "No, the data cannot be trusted" if number == 1 else f"No: none of {number} tables can be trusted"


def rest_of(number: int) -> str:
    """A word on the other tables."""
    return "" if not number else "The other can be used." if number == 1 else f"The other {number} can be used."


def counted(number: int, what: str) -> str:
    """A number and a noun."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def listed(names: Sequence[str], most: int = 4) -> str:
    """The first names, and how many more."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
