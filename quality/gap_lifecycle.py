"""The lifecycle of gaps: which gaps the findings of a run open, renew and heal. Plain values, no Spark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from typing import Final

from siltstone.engine.counts import plural
from siltstone.engine.schema.gap_record import ACKNOWLEDGED, HEALED, OPEN, REST, Gap, gap_id, id_of_finding
from siltstone.engine.spec.model import TableSpec
from siltstone.quality import catalogue
from siltstone.quality.catalogue import CHECKS
from siltstone.quality.results import Finding, Found, Known

# Findings about one delivery or one run: nothing that arrives later can repair them, so they open no gap.
EVENTS: Final = frozenset(
    {catalogue.POSITIONS_BACKWARDS, catalogue.TIME_AGAINST_ORDER, catalogue.SUMS_CLOSE, *catalogue.SUMMARIES}
)


@dataclass(frozen=True, slots=True)
class CheckPass:
    """One pass of the checks: the findings among the changes of batches after `since`.

    `covers`: the open gaps that this pass finds if they still exist. `is_partial`: the pass checked some keys only, so
    it does not know the number of all findings.
    """

    found: Mapping[str, Found]
    since: int
    covers: frozenset[str] = frozenset()
    is_partial: bool = False


@dataclass(frozen=True, slots=True)
class CheckRun:
    """The run, or the `siltstone check`, that checks a table, and when."""

    run_id: str
    at: datetime


def covered(book: Sequence[Gap], since: int) -> frozenset[str]:
    """The gaps that a pass over the batches after `since` covers: those found among the same batches or fewer."""
    return frozenset(gap.gap_id for gap in book if gap.since_batch >= since)


def is_cut(found: Found) -> bool:
    """Whether there are more findings than the sample holds."""
    return found.observed > len(found.sample)


def identity(spec: TableSpec, one: Finding) -> str:
    """The id of a finding's gap. A transaction's gap is identified by the transaction, because its range can grow."""
    if one.key is None and one.tx_id is not None:
        return gap_id(spec.table, one.check, None, None, one.tx_id)
    return id_of_finding(spec.table, one.check, one.key, one.position_from, one.position_to, one.message)


def updated(book: Sequence[Gap], passes: Sequence[CheckPass], spec: TableSpec, check_run: CheckRun) -> list[Gap]:
    """All gaps of a table after these passes.

    A finding opens a gap or renews an existing one. A gap that a pass covers and did not find is healed, unless the
    check was not available or its sample does not have all findings.
    """
    gaps = {gap.gap_id: gap for gap in book}
    seen: set[str] = set()
    for one_pass in passes:
        for gap in gaps_of(one_pass, spec, check_run):
            existing = gaps.get(gap.gap_id)
            gaps[gap.gap_id] = gap if existing is None else renewed(existing, gap)
            seen.add(gap.gap_id)
    for one_pass in passes:
        for gap in [gaps[name] for name in one_pass.covers - seen if name in gaps]:
            found = one_pass.found.get(gap.check)
            if gap.status != HEALED and found is not None and not found.unavailable and not is_cut(found):
                gaps[gap.gap_id] = replace(gap, status=HEALED, healed_run=check_run.run_id, healed_at=check_run.at)
    return list(gaps.values())


def gaps_of(one_pass: CheckPass, spec: TableSpec, check_run: CheckRun) -> list[Gap]:
    """The gaps that a pass found, each as a new gap."""
    found = {check: what for check, what in one_pass.found.items() if check not in EVENTS}
    named = [
        new_gap(identity(spec, one), one, one_pass, spec, check_run) for what in found.values() for one in what.sample
    ]
    if one_pass.is_partial:
        return named
    return [*named, *(rest_of(check, what, one_pass, spec, check_run) for check, what in found.items() if is_cut(what))]


def new_gap(name: str, one: Finding, one_pass: CheckPass, spec: TableSpec, check_run: CheckRun) -> Gap:
    """A new, open gap."""
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
        since_batch=one_pass.since,
        opened_run=check_run.run_id,
        opened_at=check_run.at,
        last_seen_run=check_run.run_id,
        last_seen_at=check_run.at,
    )


def rest_of(check: str, found: Found, one_pass: CheckPass, spec: TableSpec, check_run: CheckRun) -> Gap:
    """One gap for all findings that do not fit into the sample."""
    beyond = found.observed - len(found.sample)
    text = f"{beyond:,} more {plural('finding', beyond)} of {check}"
    one = Finding(check, found.position_from, found.position_to, None, text)
    return replace(new_gap(gap_id(spec.table, check, REST), one, one_pass, spec, check_run), findings=beyond)


def renewed(existing: Gap, seen: Gap) -> Gap:
    """A gap that was found a second time. A healed gap, or one with more findings than were acknowledged, reopens."""
    reopened = existing.status == HEALED or seen.findings > existing.findings
    same_place = (existing.position_from, existing.position_to) == (seen.position_from, seen.position_to)
    return replace(
        existing,
        status=OPEN if reopened else existing.status,
        healed_run=None,
        healed_at=None,
        severity=seen.severity,
        position_from=seen.position_from,
        position_to=seen.position_to,
        committed_from=existing.committed_from if same_place else None,
        committed_to=existing.committed_to if same_place else None,
        message=seen.message,
        hint=seen.hint,
        findings=seen.findings,
        since_batch=min(existing.since_batch, seen.since_batch),
        last_seen_run=seen.last_seen_run,
        last_seen_at=seen.last_seen_at,
    )


def found_in_all(check: str, passes: Sequence[CheckPass], spec: TableSpec) -> Found:
    """The findings of one check in the first pass and in the passes over open gaps, each place once."""
    first, *others = [one_pass.found[check] for one_pass in passes if check in one_pass.found]
    return reduce(lambda one, other: merged(one, other, spec), others, first)


def merged(first: Found, second: Found, spec: TableSpec) -> Found:
    """The findings of two passes, each place once."""
    if not second.sample:
        return first
    known = {identity(spec, one) for one in first.sample}
    more = tuple(one for one in second.sample if identity(spec, one) not in known)
    lows = [low for low in (first.position_from, second.position_from) if low is not None]
    highs = [high for high in (first.position_to, second.position_to) if high is not None]
    beyond = max(first.observed - len(first.sample), second.observed - len(second.sample))
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
    """The reasons of users for acknowledged findings of a check, and whether all its findings are acknowledged."""
    known = {gap.gap_id: gap for gap in gaps if gap.status == ACKNOWLEDGED}
    named = {one: identity(spec, one) for one in found.sample}
    reasons = {
        one: f"by {known[name].acknowledged_by}: {known[name].acknowledged_reason}"
        for one, name in named.items()
        if name in known
    }
    needed = {*named.values(), *([gap_id(spec.table, check, REST)] if is_cut(found) else [])}
    return Known(reasons, bool(needed) and needed <= set(known))
