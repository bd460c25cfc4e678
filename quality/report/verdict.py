"""The verdict: can last night's data be trusted, and if not, which keys, which range of the log, and what to do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import groupby, pairwise
from statistics import median_low

from siltstone.engine.decode.position_notation import Notation
from siltstone.engine.report import BLOCKED, INTERRUPTED, NOT_WELL
from siltstone.engine.schema.gap_record import ACKNOWLEDGED, HEALED, OPEN, Gap
from siltstone.quality.report.facts import CheckFact, Facts, RejectsFact, RunFact, TableFacts

KEYS_TOLD = 5
REASONS_TOLD = 3
FRESH_WITHIN = timedelta(hours=36)
AGES = ((86_400 * 365.25, "year"), (86_400, "day"), (3_600, "hour"), (60, "minute"))
LONGER_THAN_USUAL = 1.5
UNFORESEEN = 1
WITH_REJECTS = (
    "`siltstone rejects show` has each: mend the source or the spec and replay them, or dismiss what is no loss."
)
UNCHECKED = "Run `siltstone check`."
OLD = (
    "Look why no newer changes came: at the schedule of the runs, the connector, the source. Where the data is meant to"
    " be that old, say so in `quality.fresh_within`."
)
FOREIGN = (
    "Undo it with Iceberg's procedure rollback_to_snapshot, or run `siltstone rebuild`; where the changes table was"
    " written to, with `--reread` or `--accept-changes`."
)
LAST_COMMIT = "last commit"


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
    """One matter to look at. `keys` are the first of `places`; `gap_ids` what can be acknowledged.

    `shown_from`, `shown_to`: the positions as the source writes them.
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


@dataclass(frozen=True, slots=True)
class Verdict:
    """One sentence, what stands behind it, and how old the data is."""

    level: Level
    headline: str
    detail: str
    age: str = ""


def troubles(table: TableFacts, at: datetime) -> tuple[Trouble, ...]:
    """All that is to be looked at in a table, the gravest first. `at`: when the report is made."""
    found = [*of_foreign(table), *of_run(table), *of_gaps(table, OPEN), *of_checks(table), *of_no_checks(table)]
    found = [with_notation(one, table.notation) for one in [*found, *of_age(table, at)]]
    return tuple(sorted(found, key=lambda one: GRAVITY[one.level]))


def with_notation(one: Trouble, notation: Notation) -> Trouble:
    """The same with its positions as the source writes them."""
    return replace(one, shown_from=notation.shown(one.position_from), shown_to=notation.shown(one.position_to))


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


def level_of(table: TableFacts, at: datetime) -> Level:
    """How a table stands. One that never ran can be known by what `siltstone check` found in it."""
    if not (table.runs or table.gaps or of_checks(table)):
        return Level.NONE
    return min((one.level for one in troubles(table, at)), key=GRAVITY.__getitem__, default=Level.GOOD)


def limit_of(table: TableFacts) -> timedelta | None:
    """How old the table's data may be; None: as old as it likes.

    Where the spec does not say it, data may be as old as runs that are due make it.
    """
    if table.fresh_within is not None:
        return table.fresh_within if isinstance(table.fresh_within, timedelta) else None
    pauses = [after.at - before.at for before, after in pairwise(table.runs)]
    return max(FRESH_WITHIN, LONGER_THAN_USUAL * median_low(pauses)) if pauses else FRESH_WITHIN


def age_of(table: TableFacts, at: datetime) -> timedelta | None:
    """How old the table's data is: it is complete through no later than its last run. None where neither is known."""
    since = [*filter(None, [table.complete_through]), *(run.at for run in table.runs[-1:])]
    return max(at - min(since), timedelta()) if since else None


def is_old(table: TableFacts, at: datetime) -> bool:
    """Whether the table's data is older than it may be."""
    limit, age = limit_of(table), age_of(table, at)
    return limit is not None and age is not None and age > limit


def of_age(table: TableFacts, at: datetime) -> list[Trouble]:
    """That the data is older than it may be."""
    age, limit = age_of(table, at), limit_of(table)
    if age is None or limit is None or age <= limit:
        return []
    since = f"complete through {exactly(table.complete_through)}" if table.complete_through else "of its last run"
    text = f"the data is {in_words(age)} old ({since}), and may be {in_words(limit)} old"
    quiet = "; no event says that nothing else was committed since" if table.complete_through_by == LAST_COMMIT else ""
    return [Trouble(table.table, Level.LOOK, "old data", text + quiet, OLD, since=table.complete_through)]


def of_foreign(table: TableFacts) -> list[Trouble]:
    """What other programs did to the rows of the table."""
    if not table.foreign_writes:
        return []
    more = len(table.foreign_writes) - REASONS_TOLD
    text = "; ".join(table.foreign_writes[:REASONS_TOLD]) + (f"; and {more} more" if more > 0 else "")
    return [Trouble(table.table, Level.BAD, "changed by another program", text, FOREIGN, len(table.foreign_writes))]


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
        committed_from=min(begins, default=None),
        committed_to=max(ends, default=None),
        since=first.opened_at,
        gap_ids=tuple(gap.gap_id for gap in gaps),
    )


def of_checks(table: TableFacts) -> list[Trouble]:
    """The checks that failed and left no gap: what happened in one delivery or one run."""
    told = {gap.check for gap in table.gaps if gap.status != HEALED}
    failed = [check for check in table.checks if check.status == "failed" and check.check not in told]
    return [of_check(table, check) for check in failed]


def is_unchecked(table: TableFacts) -> bool:
    """Whether a table holds batches that no check has looked at, or changes of which no check ever saw one; where the
    last run failed, that is told instead."""
    if is_older(table):
        return True
    has_changes = bool(table.changes) or any(run.changes for run in table.runs)
    went_well = bool(table.runs) and table.runs[-1].status not in NOT_WELL
    return has_changes and went_well and not (table.checks or table.gaps)


def is_older(table: TableFacts) -> bool:
    """Whether a batch was published that no check has looked at."""
    return table.batch is not None and table.checked_batch is not None and table.batch > table.checked_batch


def of_no_checks(table: TableFacts) -> list[Trouble]:
    """That no check has looked at what the runs wrote: from Python, checks can be left out."""
    if not is_unchecked(table):
        return []
    text = "no check has looked at what its runs wrote"
    if is_older(table) and table.checked_batch:
        first = table.checked_batch + 1
        many = f"batch {first}" if first == table.batch else f"batches {first} to {table.batch}"
        text = f"no check has looked at {many}"
    return [Trouble(table.table, Level.LOOK, "not checked", text, UNCHECKED)]


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
    """Can the data be trusted? Yes is said only of tables that were checked, all of them, and hold no old data."""
    levels = {table.table: level_of(table, facts.at) for table in facts.tables}
    if all(level == Level.NONE for level in levels.values()):
        return Verdict(Level.NONE, "Nothing has run yet", "Run siltstone catch-up, and this page tells what it found.")
    bad = [table for table, level in levels.items() if level == Level.BAD]
    never = [table for table, level in levels.items() if level == Level.NONE]
    unchecked = [table.table for table in facts.tables if table.table not in never and is_unchecked(table)]
    old = [table.table for table in facts.tables if table.table not in never and is_old(table, facts.at)]
    look = [table.table for table in facts.tables if has_remarks(table)]
    number, of_none = len(levels), sum(one.count for one in facts.rejects)
    age = age_sentence([table for table in facts.tables if table.table not in never], facts.at)
    remarks = [
        f"{listed(look)} should be looked at." if look else "",
        f"{counted(of_none, 'record')} of no table could not be decoded." if of_none else "",
    ]
    unproven = [
        f"{listed(unchecked)} {'was' if len(unchecked) == 1 else 'were'} not checked. {UNCHECKED}" if unchecked else "",
        f"The data of {listed(old)} is older than it may be." if old else "",
        f"{listed(never)} never ran." if never else "",
    ]
    if bad:
        rest = number - len({*bad, *look, *unchecked, *old, *never})
        said = [f"{listed(bad)}.", rest_of(rest), *remarks, *unproven]
        return Verdict(Level.BAD, distrust(len(bad), number), joined(said), age)
    if any(unproven):
        headline = doubt(unchecked, old, never, number, oldest(facts))
        return Verdict(Level.LOOK, headline, joined([*unproven, *remarks]), age)
    if look or of_none:
        return Verdict(Level.LOOK, "Yes, with remarks", joined(remarks), age)
    whole = "The table passed its checks" if number == 1 else f"All {number} tables passed their checks"
    known, informing = findings(facts.tables, ACKNOWLEDGED), findings(facts.tables, OPEN)
    is_open = (
        f"{counted(informing, 'gap')} inform{'s' if informing == 1 else ''} only" if informing else "no gap is open"
    )
    others = f", {known:,} {'is' if known == 1 else 'are'} acknowledged" if known else ""
    return Verdict(Level.GOOD, "Yes, the data can be trusted", f"{whole}; {is_open}{others}.", age)


def has_remarks(table: TableFacts) -> bool:
    """Whether something is to be looked at in a table beside its age and its checks that did not run."""
    found = [*of_run(table), *of_gaps(table, OPEN), *of_checks(table)]
    return any(one.level == Level.LOOK for one in found) and not any(
        one.level == Level.BAD for one in [*found, *of_foreign(table)]
    )


def doubt(unchecked: Sequence[str], old: Sequence[str], never: Sequence[str], number: int, age: timedelta) -> str:
    """The headline where nothing is known to be wrong, and not all is known to be right."""
    doubtful = {*unchecked, *old, *never}
    if len(doubtful - {*never}) == number - len(never) > 0:
        if old:
            return f"No, the data is {in_words(age)} old" if not unchecked else "No, the data is old, and not checked"
        return "The data has not been checked"
    words = [("old", old), ("not checked", unchecked), ("never ran", never)]
    reasons = " or ".join(word for word, tables in words if tables)
    is_alone = reasons == "never ran"
    verb = "" if is_alone else "is " if len(doubtful) == 1 else "are "
    return f"Not all of it: {counted(len(doubtful), 'table')} of {number} {verb}{reasons}"


def oldest(facts: Facts) -> timedelta:
    """The age of the oldest data that is older than it may be."""
    ages = [age_of(table, facts.at) or timedelta() for table in facts.tables if is_old(table, facts.at)]
    return max(ages, default=timedelta())


def age_sentence(tables: Sequence[TableFacts], at: datetime) -> str:
    """How old the data is, in any case."""
    through = [(table.complete_through, table.table) for table in tables if table.complete_through is not None]
    if not through:
        return "How old the data is, is not known: its changes name no time."
    moment, table = min(through)
    whose = f", the oldest is {table}" if len(through) > 1 else ""
    return f"The data is {in_words(max(at - moment, timedelta()))} old (complete through {exactly(moment)}{whose})."


def in_words(age: timedelta) -> str:
    """A time in its greatest unit, rounded down."""
    seconds = int(age.total_seconds())
    for size, unit in AGES:
        if seconds >= 2 * size:
            return f"{int(seconds // size):,} {unit}s"
    return f"{seconds} seconds"


def exactly(at: datetime) -> str:
    """A moment in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def joined(sentences: Iterable[str]) -> str:
    """The sentences that there are, as one text."""
    return " ".join(sentence for sentence in sentences if sentence)


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
