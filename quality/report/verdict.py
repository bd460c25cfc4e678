"""The verdict: whether the data can be trusted, and if not, why."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from siltstone.engine.counts import counted
from siltstone.engine.schema.gap_record import ACKNOWLEDGED, OPEN
from siltstone.quality.report.facts import Facts, TableFacts
from siltstone.quality.report.troubles import (
    UNCHECKED,
    UNPUBLISHED,
    Level,
    age_of,
    exactly,
    in_words,
    is_old,
    is_unchecked,
    is_unpublished,
    level_of,
    of_checks,
    of_foreign,
    of_gaps,
    of_run,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A headline, its reasons, and the age of the data."""

    level: Level
    headline: str
    detail: str
    age: str = ""


def verdict(facts: Facts) -> Verdict:
    """Whether the data can be trusted: yes only if all tables were checked, passed, and have no old data."""
    levels = {table.table: level_of(table, facts.at) for table in facts.tables}
    if all(level == Level.NONE for level in levels.values()):
        return Verdict(Level.NONE, "Nothing has run yet", "Run `siltstone catch-up`. This page then shows the results.")
    bad = [table for table, level in levels.items() if level == Level.BAD]
    never = [table for table, level in levels.items() if level == Level.NONE]
    unchecked = [table.table for table in facts.tables if table.table not in never and is_unchecked(table)]
    unpublished = [table.table for table in facts.tables if table.table not in never and is_unpublished(table)]
    old = [table.table for table in facts.tables if table.table not in never and is_old(table, facts.at)]
    warned = [table.table for table in facts.tables if has_warnings(table)]
    number, of_none = len(levels), sum(one.count for one in facts.rejects)
    age = age_sentence([table for table in facts.tables if table.table not in never], facts.at)
    remarks = [
        f"{listed(warned)} {has(warned)} warnings." if warned else "",
        f"{counted(of_none, 'record')} without a table could not be decoded." if of_none else "",
    ]
    unproven = [
        f"{listed(unchecked)} {'was' if len(unchecked) == 1 else 'were'} not checked. {UNCHECKED}" if unchecked else "",
        f"The newest changes of {listed(unpublished)} are not published. {UNPUBLISHED}" if unpublished else "",
        f"The data of {listed(old)} is too old." if old else "",
        f"{listed(never)} {has(never)} never run." if never else "",
    ]
    if bad:
        rest = number - len({*bad, *warned, *unchecked, *unpublished, *old, *never})
        reasons = [f"Affected: {listed(bad)}.", rest_of(rest), *remarks, *unproven]
        return Verdict(Level.BAD, untrusted_headline(len(bad), number), joined(reasons), age)
    if any(unproven):
        headline = unproven_headline(unchecked, unpublished, old, never, number, oldest(facts))
        return Verdict(Level.LOOK, headline, joined([*unproven, *remarks]), age)
    if warned or of_none:
        return Verdict(Level.LOOK, "Yes, with remarks", joined(remarks), age)
    whole = "The table passed its checks" if number == 1 else f"All {number} tables passed their checks"
    known, (_, notes) = findings(facts.tables, ACKNOWLEDGED), open_findings(facts.tables)
    is_open = (
        f"{counted(notes, 'gap')} {'is' if notes == 1 else 'are'} for information only" if notes else "no gap is open"
    )
    others = f", {known:,} {'is' if known == 1 else 'are'} acknowledged" if known else ""
    return Verdict(Level.GOOD, "Yes, the data can be trusted", f"{whole}; {is_open}{others}.", age)


def has_warnings(table: TableFacts) -> bool:
    """Whether a table has warnings and nothing worse. Old data and missing checks are reported separately."""
    found = [*of_run(table), *of_gaps(table, OPEN), *of_checks(table)]
    return any(one.level == Level.LOOK for one in found) and not any(
        one.level == Level.BAD for one in [*found, *of_foreign(table)]
    )


def unproven_headline(
    unchecked: Sequence[str],
    unpublished: Sequence[str],
    old: Sequence[str],
    never: Sequence[str],
    number: int,
    age: timedelta,
) -> str:
    """The headline if no fault is known but some tables are old, not checked, not fully published, or never ran."""
    unproven = {*unchecked, *unpublished, *old, *never}
    if len(unproven - {*never}) == number - len(never) > 0:
        if old:
            return f"No, the data is {in_words(age)} old" if not unchecked else "No, the data is old, and not checked"
        return "The data has not been checked" if unchecked else "No, the newest changes are not published"
    kinds = (("old", old), ("not checked", unchecked), ("not fully published", unpublished), ("never ran", never))
    reasons = " or ".join(word for word, tables in kinds if tables)
    is_alone = reasons == "never ran"
    verb = "" if is_alone else "is " if len(unproven) == 1 else "are "
    return f"Not all of it: {counted(len(unproven), 'table')} of {number} {verb}{reasons}"


def oldest(facts: Facts) -> timedelta:
    """The age of the oldest data that is older than its limit."""
    ages = [age_of(table, facts.at) or timedelta() for table in facts.tables if is_old(table, facts.at)]
    return max(ages, default=timedelta())


def age_sentence(tables: Sequence[TableFacts], at: datetime) -> str:
    """The age of the data as a sentence."""
    through = [(table.complete_through, table.table) for table in tables if table.complete_through is not None]
    if not through:
        return "The age of the data is unknown: its changes have no commit time."
    moment, table = min(through)
    whose = f", the oldest is {table}" if len(through) > 1 else ""
    return f"The data is {in_words(max(at - moment, timedelta()))} old (complete through {exactly(moment)}{whose})."


def joined(sentences: Iterable[str]) -> str:
    """The sentences that are not empty, as one text."""
    return " ".join(sentence for sentence in sentences if sentence)


def findings(tables: Iterable[TableFacts], status: str) -> int:
    """The number of findings in the gaps of one status."""
    return sum(gap.findings for table in tables for gap in table.gaps if gap.status == status)


def open_findings(tables: Iterable[TableFacts]) -> tuple[int, int]:
    """The number of findings in open gaps: those that are faults, and those of severity info."""
    gaps = [gap for table in tables for gap in table.gaps if gap.status == OPEN]
    informative = sum(gap.findings for gap in gaps if gap.severity == "info")
    return sum(gap.findings for gap in gaps) - informative, informative


def untrusted_headline(bad: int, number: int) -> str:
    """The headline with the number of tables that cannot be trusted."""
    if bad < number:
        return f"Not all of it: {counted(bad, 'table')} of {number} cannot be trusted"
    return "No, the data cannot be trusted" if number == 1 else f"No: none of {number} tables can be trusted"


def rest_of(number: int) -> str:
    """The sentence about the other tables."""
    if not number:
        return ""
    return "The other table can be used." if number == 1 else f"The other {number:,} tables can be used."


def has(names: Sequence[str]) -> str:
    """The verb for these tables."""
    return "has" if len(names) == 1 else "have"


def listed(names: Sequence[str], most: int = 4) -> str:
    """The first names, and the number of the others."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
