"""The life of gaps: what a run's findings open, renew and heal. Values only: `quality.recheck` looks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from typing import Final

from siltstone.engine.schema.gap_record import ACKNOWLEDGED, HEALED, OPEN, REST, Gap, gap_id, id_of_finding
from siltstone.engine.spec.model import TableSpec
from siltstone.quality import catalogue
from siltstone.quality.catalogue import CHECKS
from siltstone.quality.results import Finding, Found, Known

# What happened in one delivery or one run: nothing that comes later could mend it, so it has no life.
EVENTS: Final = frozenset(
    {catalogue.POSITIONS_BACKWARDS, catalogue.TIME_AGAINST_ORDER, catalogue.SUMS_CLOSE, *catalogue.SUMMARIES}
)


@dataclass(frozen=True, slots=True)
class Looked:
    """One look at a table: what the checks found among the changes of batches after `since`.

    `covers`: the gaps that this look would have found once more if they were still there. `of_keys`: it was a look at
    some keys only, so it says nothing of how many findings there are.
    """

    found: Mapping[str, Found]
    since: int
    covers: frozenset[str] = frozenset()
    of_keys: bool = False


@dataclass(frozen=True, slots=True)
class Visit:
    """Who looks, and when: a run, or `siltstone check`."""

    run_id: str
    at: datetime


def covered(book: Sequence[Gap], since: int) -> frozenset[str]:
    """The gaps that a look at the changes of batches after `since` finds again: they were found among fewer."""
    return frozenset(gap.gap_id for gap in book if gap.since_batch >= since)


def is_cut(found: Found) -> bool:
    """Whether there are more findings than the sample holds."""
    return found.observed > len(found.sample)


def identity(spec: TableSpec, one: Finding) -> str:
    """The id of the gap that a finding tells of. A transaction is known by its own: its range grows as it arrives."""
    if one.key is None and one.tx_id is not None:
        return gap_id(spec.table, one.check, None, None, one.tx_id)
    return id_of_finding(spec.table, one.check, one.key, one.position_from, one.position_to, one.message)


def updated(book: Sequence[Gap], looks: Sequence[Looked], spec: TableSpec, visit: Visit) -> list[Gap]:
    """All gaps of a table after these looks.

    A finding opens a gap or renews one that is there. A gap that a look covers and did not find is healed, unless the
    check could not look, or found more than it could name.
    """
    gaps = {gap.gap_id: gap for gap in book}
    seen: set[str] = set()
    for look in looks:
        for gap in gaps_of(look, spec, visit):
            there = gaps.get(gap.gap_id)
            gaps[gap.gap_id] = gap if there is None else renewed(there, gap)
            seen.add(gap.gap_id)
    for look in looks:
        for gap in [gaps[name] for name in look.covers - seen if name in gaps]:
            found = look.found.get(gap.check)
            if gap.status != HEALED and found is not None and not found.unavailable and not is_cut(found):
                gaps[gap.gap_id] = replace(gap, status=HEALED, healed_run=visit.run_id, healed_at=visit.at)
    return list(gaps.values())


def gaps_of(look: Looked, spec: TableSpec, visit: Visit) -> list[Gap]:
    """The gaps that a look tells of, each as if it were new."""
    found = {check: what for check, what in look.found.items() if check not in EVENTS}
    named = [new_gap(identity(spec, one), one, look, spec, visit) for what in found.values() for one in what.sample]
    if look.of_keys:
        return named
    return [*named, *(rest_of(check, what, look, spec, visit) for check, what in found.items() if is_cut(what))]


def new_gap(name: str, one: Finding, look: Looked, spec: TableSpec, visit: Visit) -> Gap:
    """A gap as it is opened."""
    return Gap(
        gap_id=name,
        table=spec.table,
        check=one.check,
        severity=spec.quality.severity[one.check],
        status=OPEN,
        key=one.key,
        position_from=one.position_from,
        position_to=one.position_to,
        message=one.message,
        hint=CHECKS[one.check].hint,
        since_batch=look.since,
        opened_run=visit.run_id,
        opened_at=visit.at,
        last_seen_run=visit.run_id,
        last_seen_at=visit.at,
    )


def rest_of(check: str, found: Found, look: Looked, spec: TableSpec, visit: Visit) -> Gap:
    """One gap for all findings that the sample has no place for."""
    beyond = found.observed - len(found.sample)
    one = Finding(check, found.position_from, found.position_to, None, f"{beyond} more findings of {check}")
    return replace(new_gap(gap_id(spec.table, check, REST), one, look, spec, visit), findings=beyond)


def renewed(there: Gap, seen: Gap) -> Gap:
    """A gap that was found once more. What was healed, or is more than was acknowledged, is open again."""
    reopened = there.status == HEALED or seen.findings > there.findings
    same_place = (there.position_from, there.position_to) == (seen.position_from, seen.position_to)
    return replace(
        there,
        status=OPEN if reopened else there.status,
        healed_run=None,
        healed_at=None,
        severity=seen.severity,
        position_from=seen.position_from,
        position_to=seen.position_to,
        committed_from=there.committed_from if same_place else None,
        committed_to=there.committed_to if same_place else None,
        message=seen.message,
        hint=seen.hint,
        findings=seen.findings,
        since_batch=min(there.since_batch, seen.since_batch),
        last_seen_run=seen.last_seen_run,
        last_seen_at=seen.last_seen_at,
    )


def found_in_all(check: str, looks: Sequence[Looked], spec: TableSpec) -> Found:
    """What the first look and those at open gaps found of one check, each place once: for the verdict on it."""
    first, *others = [look.found[check] for look in looks if check in look.found]
    return reduce(lambda one, other: merged(one, other, spec), others, first)


def merged(first: Found, again: Found, spec: TableSpec) -> Found:
    """What two looks found, each place once."""
    if not again.sample:
        return first
    known = {identity(spec, one) for one in first.sample}
    more = tuple(one for one in again.sample if identity(spec, one) not in known)
    lows = [low for low in (first.position_from, again.position_from) if low is not None]
    highs = [high for high in (first.position_to, again.position_to) if high is not None]
    beyond = max(first.observed - len(first.sample), again.observed - len(again.sample))
    sample = (*first.sample, *more)
    return replace(
        first,
        observed=len(sample) + beyond,
        position_from=min(lows, default=None),
        position_to=max(highs, default=None),
        sample=sample,
        unavailable=None,
    )


def known_of(check: str, found: Found, gaps: Sequence[Gap], spec: TableSpec) -> Known:
    """What persons have said of the places that a check found, and whether they know of every one."""
    known = {gap.gap_id: gap for gap in gaps if gap.status == ACKNOWLEDGED}
    named = {one: identity(spec, one) for one in found.sample}
    said = {
        one: f"by {known[name].acknowledged_by}: {known[name].acknowledged_reason}"
        for one, name in named.items()
        if name in known
    }
    needed = {*named.values(), *([gap_id(spec.table, check, REST)] if is_cut(found) else [])}
    return Known(said, bool(needed) and needed <= set(known))
