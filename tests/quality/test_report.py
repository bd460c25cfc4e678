"""The report: one self-contained page that has the verdict first and escapes all values."""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import timedelta
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from siltstone.engine.counts import counted
from siltstone.engine.schema.gap_record import OPEN
from siltstone.quality.catalogue import CHECKS
from siltstone.quality.report.facts import Facts, RejectsFact, TableFacts
from siltstone.quality.report.page import PICTURED, page
from siltstone.quality.report.pictures import YEAR, drawn, lag_over_time
from siltstone.quality.report.summary import markdown, plain
from siltstone.quality.report.troubles import Level, level_of, troubles
from siltstone.quality.report.verdict import verdict
from tests.quality.browser import DARK, Browser, Seen, find_browser
from tests.quality.reported import NOW, checked, facts, failed, gap, good, with_gaps

NEVER = TableFacts("shop.new", "shop.new")
EVIL = '<img src=x onerror="alert(1)"></svg><script>alert(2)</script>'
CASES: dict[str, Callable[[], Facts]] = {
    "nothing has run": lambda: facts([NEVER], docs=False),
    "no spec": lambda: facts([], docs=False),
    "all is well": lambda: facts([good(number) for number in range(5)]),
    "one run": lambda: facts([good(0, runs=1)]),
    "gaps and a failure": lambda: facts([with_gaps(1), good(0), failed(2), good(3), NEVER]),
    "a hundred tables": lambda: facts([with_gaps(n) if n % 17 == 1 else good(n) for n in range(100)]),
}


@cache
def made(case: str) -> str:
    """The page of a case. It is drawn once, because drawing takes long."""
    return page(CASES[case]())


class Reading(HTMLParser):
    """A parsed page: its text, its links, its ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("href", "src", "xlink:href") and value:
                self.links.append(value)
            if name == "id" and value:
                self.ids.append(value)

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] != ["style"]:
            self.words.append(data.strip())

    @property
    def text(self) -> str:
        return " ".join(word for word in self.words if word)


def test_a_page_links_to_the_pages_of_earlier_days() -> None:
    days = ["2026-05-02", "2026-05-01"]
    links = [link for link in Reading(page(facts([]), days)).links if not link.startswith(("#", "data"))]
    assert links == ["index.html", "2026-05-02.html", "2026-05-01.html"]


@pytest.mark.parametrize("case", CASES)
def test_a_page_is_self_contained(case: str) -> None:
    read = Reading(made(case))
    outside = [link for link in read.links if not link.startswith(("#", "data:", "data-docs/"))]
    assert (outside, "script" in read.tags) == ([], False)
    assert len(read.ids) == len(set(read.ids))
    assert {link[1:] for link in read.links if link.startswith("#")} <= set(read.ids)


@pytest.mark.parametrize(
    ("case", "level", "headline"),
    [
        ("nothing has run", Level.NONE, "Nothing has run yet"),
        ("no spec", Level.NONE, "Nothing has run yet"),
        ("all is well", Level.GOOD, "Yes, the data can be trusted"),
        ("one run", Level.GOOD, "Yes, the data can be trusted"),
        ("gaps and a failure", Level.BAD, "Not all of it: 2 tables of 5 cannot be trusted"),
        ("a hundred tables", Level.BAD, "Not all of it: 6 tables of 100 cannot be trusted"),
    ],
)
def test_the_verdict_comes_first(case: str, level: Level, headline: str) -> None:
    given = CASES[case]()
    result = verdict(given)
    assert (result.level, result.headline) == (level, headline)
    text = Reading(made(case)).text
    assert text.index(headline) < text.index("Tables" if len(given.tables) > 1 else "Made by siltstone")
    assert json.loads(json.dumps(plain(given), default=str))["verdict"]["headline"] == headline
    assert headline in markdown(given).splitlines()[0]


def test_the_page_has_the_keys_the_range_and_what_to_do() -> None:
    text = Reading(made("gaps and a failure")).text
    opened = with_gaps(1).gaps[0]
    parts = (f"siltstone gaps ack {opened.gap_id}", "and 9 more", "14 places", "Rejected records 3 records")
    for part in (opened.key, opened.position_from, *parts):
        assert str(part) in text
    assert "Re-read this range of the source's log" in text
    assert "812 of 10,204 records cannot be decoded" in text
    assert "hanna" in text
    assert "the log of that hour was lost in the migration" in text
    assert "No run has taken this table yet." in text


def test_data_that_looks_like_html_is_shown_and_does_nothing() -> None:
    table = good(0, runs=3)
    evil = replace(gap(table.table, 1, message=EVIL), key=EVIL, hint=EVIL, position_from=EVIL)
    known = replace(evil, gap_id="x", status="acknowledged", acknowledged_by=EVIL, acknowledged_reason=EVIL)
    run = replace(table.runs[-1], status="failed", error=EVIL, exit_code=3)
    checks = (replace(table.checks[0], status="failed", message=EVIL, keys=(EVIL,)),)
    given = facts([replace(table, table=EVIL, gaps=(evil, known), runs=(*table.runs, run), checks=checks)])
    text = page(replace(given, project=EVIL, namespace=EVIL))
    read, plain_page = Reading(text), Reading(page(facts([with_gaps(1)])))
    assert not {"img", "script"} & set(read.tags)
    assert read.tags.count("svg") > 0
    assert set(read.tags) <= set(plain_page.tags) | {"ul", "li"}
    assert read.text.count("<script>alert(2)</script>") > 5
    assert "<" not in re.sub(r"`[^`]*`", "", markdown(given))


def test_the_message_of_an_unexpected_error_is_not_shown() -> None:
    table = good(0, runs=2)
    quoting = replace(table.runs[-1], status="failed", error="ArithmeticException: the value 4711-SECRET", exit_code=1)
    given = facts([replace(table, runs=(*table.runs, quoting))])
    for text in (page(given), markdown(given), json.dumps(plain(given)["tables"][0]["troubles"], default=str)):
        assert "ArithmeticException: an unexpected error" in text
        assert "SECRET" not in text


def test_a_warning_is_a_remark_and_old_data_is_reported_as_old() -> None:
    table = good(0)
    warned = replace(table, gaps=(gap(table.table, 1, "open_window", OPEN),))
    assert level_of(warned, NOW) == Level.LOOK
    assert verdict(facts([warned])).headline == "Yes, with remarks"
    known = replace(table, gaps=(gap(table.table, 1, status="acknowledged"), gap(table.table, 2, status="healed")))
    assert (level_of(known, NOW), troubles(known, NOW)) == (Level.GOOD, ())
    assert verdict(facts([known])).detail == "The table passed its checks; no gap is open, 1 is acknowledged."
    assert "no gap is open, 1 is acknowledged" in markdown(facts([known]))
    old = verdict(replace(facts([table]), at=NOW + timedelta(days=3)))
    assert (old.level, old.headline) == (Level.LOOK, "No, the data is 3 days old")


def test_unchecked_tables_have_not_passed() -> None:
    unchecked = [replace(good(number), checks=()) for number in range(3)]
    for tables in (unchecked[:1], unchecked, [*unchecked[:2], NEVER]):
        result = verdict(facts(tables))
        assert (result.level, result.headline) == (Level.LOOK, "The data has not been checked")
        assert unchecked[0].table in result.detail
        assert "No check has run on its data" in markdown(facts(tables))
        assert "siltstone check" in Reading(page(facts(tables))).text
    result = verdict(facts([good(0), unchecked[1]]))
    assert result.headline == "Not all of it: 1 table of 2 is not checked"
    assert result.detail == f"{unchecked[1].table} was not checked. Run `siltstone check`."
    assert verdict(facts([failed(2), unchecked[1]])).detail == f"Affected: {failed(2).table}. {result.detail}"
    empty = replace(unchecked[2], changes=None, runs=(replace(unchecked[2].runs[3], changes=0),), fresh_within="any")
    assert [one.what for one in troubles(replace(failed(2), checks=()), NOW)] == ["the last run failed"]
    assert troubles(empty, NOW) == ()
    assert verdict(facts([unchecked[0], empty])).headline == "Not all of it: 1 table of 2 is not checked"


@pytest.mark.parametrize(("checked_batch", "words"), [(5, "batch 6"), (2, "batches 3 to 6"), (0, "its data")])
def test_an_unchecked_batch_is_reported_even_if_older_batches_were_checked(checked_batch: int, words: str) -> None:
    table = replace(good(0), batch=6, checked_batch=checked_batch)
    result, read = verdict(facts([table])), Reading(page(facts([table])))
    assert (result.level, result.headline) == (Level.LOOK, "The data has not been checked")
    assert f"No check has run on {words}" in read.text
    assert verdict(facts([replace(table, checked_batch=6)])).level == Level.GOOD
    without_checks = replace(table, checked_batch=6, checks=())
    assert verdict(facts([without_checks])).headline == "The data has not been checked"


@pytest.mark.parametrize(("taken_batch", "words"), [(7, "batch 7"), (9, "batches 7 to 9")])
def test_changes_that_are_not_published_are_reported(taken_batch: int, words: str) -> None:
    table = replace(good(0), batch=6, checked_batch=6, taken_batch=taken_batch)
    result, read = verdict(facts([table])), Reading(page(facts([table])))
    assert (result.level, result.headline) == (Level.LOOK, "No, the newest changes are not published")
    assert f"The changes of {words} are not in latest and history" in read.text
    assert "siltstone catch-up" in markdown(facts([table]))
    assert verdict(facts([table, good(1)])).headline == "Not all of it: 1 table of 2 is not fully published"
    assert verdict(facts([replace(table, taken_batch=6)])).level == Level.GOOD
    of_failed = replace(failed(2), batch=6, checked_batch=6, taken_batch=taken_batch)
    assert [one.what for one in troubles(of_failed, NOW)] == [one.what for one in troubles(failed(2), NOW)]
    assert f"{table.table} are not published" in verdict(facts([of_failed, table])).detail


def test_data_older_than_its_limit_is_never_trusted() -> None:
    fresh, recorded = good(0), replace(good(1), complete_through=NOW.replace(year=2020))
    result = verdict(facts([recorded]))
    assert (result.level, result.headline) == (Level.LOOK, "No, the data is 5 years old")
    assert result.age == "The data is 5 years old (complete through 2020-03-14 06:12 UTC)."
    assert "the limit is 36 hours" in markdown(facts([recorded]))
    assert plain(facts([recorded]))["tables"][0]["level"] == "look"
    result = verdict(facts([fresh, recorded]))
    assert result.headline == "Not all of it: 1 table of 2 is old"
    assert result.age.endswith(f"the oldest is {recorded.table}).")
    result = verdict(facts([replace(recorded, fresh_within="any")]))
    assert (result.level, result.headline) == (Level.GOOD, "Yes, the data can be trusted")
    assert "5 years old" in result.age
    assert "5 years ago" in Reading(page(facts([recorded]))).text
    for limit, level in ((timedelta(hours=1), Level.LOOK), (timedelta(hours=3), Level.GOOD)):
        assert verdict(facts([replace(fresh, fresh_within=limit)])).level == level
    both = verdict(facts([replace(recorded, batch=2, checked_batch=1)]))
    assert both.headline == "No, the data is old, and not checked"
    assert verdict(facts([fresh, NEVER])).headline == "Not all of it: 1 table of 2 never ran"


def test_a_table_that_another_program_changed_cannot_be_trusted() -> None:
    table = replace(good(0), foreign_writes=("silt.customers: delete by spark 4.1.1, snapshot 7: 3 rows deleted",))
    result, read = verdict(facts([table])), Reading(page(facts([table])))
    assert (result.level, result.headline) == (Level.BAD, "No, the data cannot be trusted")
    for text in ("delete by spark 4.1.1, snapshot 7: 3 rows deleted", "siltstone rebuild"):
        assert text in read.text
        assert text in markdown(facts([table]))


def test_a_table_that_has_not_run_for_long_is_reported_while_another_runs() -> None:
    fresh, dead = good(0), good(1)
    dead = replace(dead, runs=tuple(replace(run, at=run.at - timedelta(days=20)) for run in dead.runs))
    result = verdict(facts([fresh, dead]))
    old = f"The data of {dead.table} is too old."
    assert (result.headline, result.detail) == ("Not all of it: 1 table of 2 is old", old)
    assert "20 days old" in Reading(page(facts([fresh, dead]))).text
    assert verdict(facts([failed(2), dead])).detail.endswith(old)
    weeks = [replace(run, at=NOW - timedelta(days=5 + 7 * n)) for n, run in enumerate(reversed(fresh.runs))]
    weekly = replace(dead, runs=tuple(reversed(weeks)))
    assert verdict(facts([fresh, weekly])).level == Level.GOOD


def test_findings_of_severity_info_are_notes_and_not_red() -> None:
    table = good(0)
    informs = replace(gap(table.table, 1), severity="info")
    noted = (
        checked("duplicates", "noted", "3 duplicates", 3),
        checked("late_changes", "failed", "1 late change", 1),  # as an older ledger can have it
        *table.checks,
    )
    noting = replace(table, gaps=(informs,), checks=noted, log=with_gaps(1).log)
    result, text = verdict(facts([noting])), page(facts([noting]))
    assert (result.level, result.detail) == (Level.GOOD, "The table passed its checks; 1 gap is for information only.")
    assert '<li class="noted"><b>Duplicates</b> <span>noted: 3 duplicates' in text
    assert '<li class="noted"><b>Late changes</b> <span>noted: 1 late change' in text
    assert '<span class="count">for information</span>' in text
    assert "Open gaps 0 1 for information" in Reading(text).text
    assert "failed" not in markdown(facts([noting]))
    assert 'class="failed"' not in text
    log = drawn(noting, "here")["log"]
    assert "var(--bad)" not in log
    assert "var(--bad)" in drawn(replace(noting, gaps=(gap(table.table, 1),)), "here")["log"]


def test_a_table_without_a_run_is_reported_with_its_problems() -> None:
    table = TableFacts("shop.orders", "lake.shop")
    for known in (
        replace(table, gaps=(gap(table.table, 1),)),
        replace(table, checks=(checked("chain_break", "failed", "the before image differs", 1),)),
    ):
        result, text = verdict(facts([known])), Reading(page(facts([known]))).text
        assert (level_of(known, NOW), result.headline) == (Level.BAD, "No, the data cannot be trusted")
        assert "No run has taken this table yet." in text
        assert "before image" in text
        assert "before image" in markdown(facts([known]))
    noted = replace(table, gaps=(gap(table.table, 1, "open_window"),))
    assert verdict(facts([noted])).level == Level.LOOK
    assert verdict(facts([noted, good(2)])).level == Level.LOOK


def test_records_that_name_no_table_are_a_remark_next_to_other_problems() -> None:
    counts = {"not JSON": 4, EVIL: 2, "b": 2, "c": 1}
    lost = tuple(RejectsFact("/ev", why, number, "file:/ev/a", 7, NOW) for why, number in counts.items())
    what = "9 records of the source could not be decoded and may belong to any of its tables: not JSON (4, the first at"
    for tables, level in (([good(0)], Level.LOOK), ([failed(2), good(0)], Level.BAD)):
        given = replace(facts(tables), rejects=lost)
        result, read = verdict(given), Reading(page(given))
        assert (result.level, "9 records without a table could not be decoded." in result.detail) == (level, True)
        assert all(what in text and "and 1 more reason" in text for text in (read.text, markdown(given)))
        assert "script" not in read.tags
        assert {link[1:] for link in read.links if link.startswith("#")} <= set(read.ids)
        assert plain(given)["rejects"][0] == asdict(lost[0])
    warned = replace(good(1), checks=(checked("rejects", "failed", "4 x not JSON", 4),))
    assert verdict(facts([failed(2), warned])).detail == "Affected: shop.payments. shop.orders has warnings."


def test_inline_code_is_shown_as_code_and_never_with_backticks() -> None:
    table = replace(good(0), checks=())
    rejecting = replace(good(1), runs=(*good(1).runs[:-1], replace(good(1).runs[-1], rejected=1)))
    noted = replace(good(3), checks=(checked("rejects", "failed", "run `siltstone doctor` <now>", 1),))
    for given in (facts([table, rejecting, noted, failed(2)]), facts([NEVER], docs=False)):
        text = page(given)
        assert "`" not in text
        assert "<code>siltstone " in text
    assert "<code>siltstone rejects replay</code>" in page(facts([rejecting]))
    assert "run <code>siltstone doctor</code> &lt;now&gt;" in page(facts([noted]))
    assert "1 record of the last run could not be decoded" in page(facts([rejecting])).lower()
    assert "`siltstone rejects replay`" in markdown(facts([rejecting]))


def test_a_table_without_checks_has_an_unknown_number_of_gaps() -> None:
    unchecked = [replace(good(number), checks=()) for number in range(2)]
    unavailable = tuple(checked(check, "not available", "no streamed change") for check in CHECKS)
    for tables in (unchecked[:1], unchecked, [replace(good(0), checks=unavailable)]):
        text = Reading(page(facts(tables))).text
        assert "Open gaps unknown not checked" in text
        assert "no gap is open" not in text
        assert verdict(facts(tables)).headline == "The data has not been checked"
    assert "Open gaps 0 1 table not checked" in Reading(page(facts([good(2), unchecked[0]]))).text
    assert "Open gaps 0 Complete through" in Reading(page(facts([good(2)]))).text


@pytest.mark.parametrize(("number", "text"), [(0, "0 gaps"), (1, "1 gap"), (2_000, "2,000 gaps")])
def test_counts_have_the_right_plural(number: int, text: str) -> None:
    assert counted(number, "gap") == text


def test_a_single_run_record_and_gap_are_counted_in_the_singular() -> None:
    one = replace(good(0, runs=1), gaps=(gap("shop.customers", 1), gap("shop.customers", 2, status="healed")))
    text = Reading(page(facts([one]))).text
    assert "The last 1 run:" in page(facts([one]))
    assert "Chain break: 1 gap, by run" in text
    for wrong in ("1 runs", "1 gaps", "1 records", "1 tables", "1 changes"):
        assert wrong not in page(facts([one]))


def test_a_page_of_a_hundred_tables_stays_small() -> None:
    text = made("a hundred tables")
    assert len(text) < 2_000_000
    assert text.count("<details") == 100
    assert 2 * PICTURED <= text.count("<svg") <= 3 * PICTURED


def test_pictures_are_drawn_in_the_colours_of_the_page() -> None:
    pictures = drawn(with_gaps(1), "here")
    assert set(pictures) == {"log", "outcomes", "lag"}
    for picture in pictures.values():
        ElementTree.fromstring(picture.replace("<svg", '<svg xmlns:xlink="http://www.w3.org/1999/xlink"', 1))
        colours = set(re.findall(r"(?:fill|stroke): ([^;\"]+)", picture))
        assert all(colour == "none" or colour.startswith("var(--") for colour in colours)


@pytest.mark.parametrize(
    ("seconds", "label"),
    [(0, "10 s"), (1, "10 s"), (20 * YEAR, "10 y"), (56 * YEAR, "100 y"), (2_000 * YEAR, "1000 y")],
)
def test_a_lag_of_any_length_has_round_times_on_its_axis(seconds: int, label: str) -> None:
    run = good(runs=1).runs[0]
    at_once, late = replace(run, lag_seconds=1.0), replace(run, lag_seconds=float(seconds))
    alone, both = (
        re.findall(r"<text[^>]*>(\d+ (?:s|min|h|d|y))</text>", lag_over_time(runs, "lag") or "")
        for runs in ([late], [at_once, late])
    )
    assert label in alone
    assert both[0] == "1 s"
    assert len(both) <= 8


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return Browser(find_browser(), tmp_path)


@pytest.mark.parametrize("case", ["nothing has run", "gaps and a failure", "a hundred tables"])
def test_a_browser_makes_no_requests_has_no_errors_and_needs_no_more_width_than_a_phone(
    browser: Browser, tmp_path: Path, case: str
) -> None:
    file = tmp_path / "index.html"
    file.write_text(made(case), encoding="utf-8")
    assert browser.inspect(file, 380) == Seen(console=(), requests=(), wide=380, window=380)


def test_a_browser_shows_the_dark_page_and_prints_collapsed_parts(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    file.write_text(made("all is well"), encoding="utf-8")
    light = browser.picture(file, "light.png", 1000, 700).read_bytes()
    dark = browser.picture(file, "dark.png", 1000, 700, DARK).read_bytes()
    assert light != dark
    folded = browser.printed(file).read_bytes().count(b"/Type /Page\n")
    file.write_text(file.read_text(encoding="utf-8").replace("<details ", "<details open "), encoding="utf-8")
    assert folded == browser.printed(file).read_bytes().count(b"/Type /Page\n") > 1


def test_the_browser_would_see_a_request_and_an_error(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "index.html"
    file.write_text(
        "<!DOCTYPE html><div style='width: 900px'>wide</div><img src='http://127.0.0.1:9/x.png'>"
        "<script>console.error('seen')</script>"
    )
    seen = browser.inspect(file, 380)
    assert (seen.requests, seen.window) == (("http://127.0.0.1:9/x.png",), 380)
    assert any("seen" in line for line in seen.console)
    assert seen.wide > 380
