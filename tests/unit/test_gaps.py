"""The states of gaps: what opens, renews, heals and reopens them, and what they seal."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from siltstone.engine.schema.gap_record import ACKNOWLEDGED, HEALED, OPEN, Gap, sealed_up_to
from siltstone.quality.gap_lifecycle import CheckPass, CheckRun, covered, found_in_all, known_of, updated
from siltstone.quality.results import Finding, Found
from tests.unit.spec.cases import spec

SPEC = spec()
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
KEY = '{"id":1}'


def check_run(number: int) -> CheckRun:
    return CheckRun(f"run{number}", BEGAN + timedelta(days=number))


def found(*places: tuple[str | None, str | None, str | None], check: str = "chain_break", beyond: int = 0) -> Found:
    sample = tuple(Finding(check, low, high, key, f"differs before {high}") for key, low, high in places)
    return Found(len(sample) + beyond, "00", "99", sample)


def one_pass(what: Found, since: int = 0, book: list[Gap] | None = None, check: str = "chain_break") -> CheckPass:
    return CheckPass({check: what}, since, covered(book or [], since))


def states(book: list[Gap]) -> Mapping[str, str]:
    return {gap.key or gap.message: gap.status for gap in book}


def test_a_finding_opens_a_gap_and_the_same_finding_renews_it() -> None:
    (opened,) = updated([], [one_pass(found((KEY, "10", "13")), since=4)], SPEC, check_run(1))
    assert (opened.status, opened.opened_run, opened.since_batch, opened.severity) == (OPEN, "run1", 4, "error")
    (seen,) = updated([opened], [one_pass(found((KEY, "10", "13")), since=4)], SPEC, check_run(2))
    later = {"last_seen_run": "run2", "last_seen_at": check_run(2).at}
    assert seen == replace(opened, **later)


def test_a_gap_with_a_narrower_range_stays_the_same_gap() -> None:
    (wide,) = updated([], [one_pass(found((KEY, "10", "13")))], SPEC, check_run(1))
    (narrow,) = updated([replace(wide, committed_from=BEGAN)], [one_pass(found((KEY, "12", "13")))], SPEC, check_run(2))
    assert (narrow.gap_id, narrow.position_from, narrow.committed_from) == (wide.gap_id, "12", None)


@pytest.mark.parametrize(
    ("second", "status"),
    [
        (CheckPass({"chain_break": Found()}, 0, frozenset()), OPEN),
        (CheckPass({"orphan": Found()}, 0, frozenset({"*"})), OPEN),
        (CheckPass({"chain_break": Found(unavailable="no image")}, 0, frozenset({"*"})), OPEN),
        (CheckPass({"chain_break": found(("other", "1", "2"), beyond=1)}, 0, frozenset({"*"})), OPEN),
        (CheckPass({"chain_break": Found()}, 0, frozenset({"*"})), HEALED),
    ],
    ids=["not covered", "another check", "unavailable", "too many findings", "covered and not found"],
)
def test_only_a_check_that_would_have_found_a_gap_heals_it(second: CheckPass, status: str) -> None:
    book = updated([], [one_pass(found((KEY, "10", "13")))], SPEC, check_run(1))
    covers = frozenset(gap.gap_id for gap in book) if second.covers else frozenset()
    after = updated(book, [replace(second, covers=covers)], SPEC, check_run(2))
    assert states(after)[KEY] == status
    assert [gap.healed_run for gap in after if gap.key == KEY] == ["run2" if status == HEALED else None]


def test_a_healed_gap_that_is_found_once_more_is_reopened() -> None:
    book = updated([], [one_pass(found((KEY, "10", "13")))], SPEC, check_run(1))
    book = updated(book, [one_pass(Found(), book=book)], SPEC, check_run(2))
    (reopened,) = updated(book, [one_pass(found((KEY, "10", "13")))], SPEC, check_run(3))
    assert (reopened.status, reopened.healed_run, reopened.opened_run) == (OPEN, None, "run1")


def test_an_acknowledged_gap_stays_acknowledged_until_more_is_found() -> None:
    many = found((KEY, "10", "13"), beyond=5)
    book = [replace(gap, status=ACKNOWLEDGED) for gap in updated([], [one_pass(many)], SPEC, check_run(1))]
    same = updated(book, [one_pass(many)], SPEC, check_run(2))
    assert set(states(same).values()) == {ACKNOWLEDGED}
    assert known_of("chain_break", many, same, SPEC).whole
    more = updated(book, [one_pass(found((KEY, "10", "13"), beyond=6))], SPEC, check_run(2))
    assert states(more) == {KEY: ACKNOWLEDGED, "6 more findings of chain_break": OPEN}
    assert not known_of("chain_break", many, more, SPEC).whole


def test_a_check_that_found_nothing_is_not_acknowledged() -> None:
    assert not known_of("chain_break", Found(), [], SPEC).whole


def test_findings_about_one_delivery_are_not_gaps() -> None:
    events = found(("k", "1", "2"), check="positions_backwards")
    assert updated([], [one_pass(events, check="positions_backwards")], SPEC, check_run(1)) == []


def test_gaps_without_a_key_are_identified_by_their_range_and_without_one_by_their_message() -> None:
    places = [(None, "1", None), (None, "2", None), (None, None, None)]
    one = updated([], [one_pass(found(*places, check="open_window"), check="open_window")], SPEC, check_run(1))
    assert len({gap.gap_id for gap in one}) == 3


def test_the_verdict_on_a_check_counts_each_place_once() -> None:
    first, second = found((KEY, "10", "13"), beyond=2), found((KEY, "10", "13"), ('{"id":2}', "1", "2"))
    both = found_in_all("chain_break", [one_pass(first), one_pass(second), one_pass(Found())], SPEC)
    assert (both.observed, [one.key for one in both.sample]) == (4, [KEY, '{"id":2}'])
    assert (
        found_in_all("chain_break", [one_pass(Found(unavailable="none")), one_pass(Found())], SPEC).unavailable
        == "none"
    )


def gap(check: str = "chain_break", status: str = OPEN, hours: int | None = 1, severity: str = "error") -> Gap:
    (made,) = updated([], [one_pass(found((KEY, "10", "13")))], SPEC, check_run(1))
    begins = None if hours is None else BEGAN + timedelta(hours=hours)
    return replace(made, check=check, status=status, severity=severity, committed_from=begins)


@pytest.mark.parametrize(
    ("gaps", "hours"),
    [
        ([], 9),
        ([gap(hours=3), gap(hours=5)], 3),
        ([gap(hours=3, status=HEALED), gap(hours=4, status=ACKNOWLEDGED), gap(hours=2, severity="info")], 9),
        ([gap(hours=3), gap(hours=None)], None),
        ([gap(hours=3), gap("orphan", hours=5)], None),
    ],
    ids=["no gap", "the earliest", "none that holds", "without a position", "a beginning is missing"],
)
def test_everything_before_the_first_open_gap_is_sealed(gaps: list[Gap], hours: int | None) -> None:
    sealed = sealed_up_to(BEGAN + timedelta(hours=9), gaps)
    assert sealed == (None if hours is None else BEGAN + timedelta(hours=hours))
    assert sealed_up_to(None, gaps) is None
