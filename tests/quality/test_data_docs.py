"""The part of Great Expectations: it validates findings, and builds pages of the results."""

import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from siltstone.engine.errors import InvariantViolation
from siltstone.engine.report_pages import docs_folder, report_folder
from siltstone.engine.spec.model import ProjectSpec
from siltstone.quality.data_docs import KEEP_RUNS, build_pages
from siltstone.quality.gx_context import open_context, validate_batch
from siltstone.quality.results import Finding, Found, Known
from siltstone.quality.suite import batch, build_suite, verdicts
from tests.unit.spec.cases import spec

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
FOUND = {
    "orphan": Found(7, "10", "30", (Finding("orphan", "10", "10", '{"id":1}', "the key has no <beginning>"),)),
    "chain_break": Found(unavailable="no change carries a whole before image"),
    "sums_close": Found(),
}


def run(
    project: ProjectSpec,
    number: int,
    found: dict[str, Found],
    known: dict[str, Known] | None = None,
    run_id: str | None = None,
) -> dict[str, bool]:
    context = open_context(project)
    suite = build_suite(spec(), found)
    checked_at = BEGAN + timedelta(minutes=number)
    result = validate_batch(context, suite, batch(found, known), run_id or f"run{number}", checked_at)
    build_pages(context, project, suite.name)
    return verdicts(result.results)


def test_a_check_passes_without_findings_and_fails_with_one(
    project_with_docs: ProjectSpec, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(project_with_docs, 1, FOUND) == {"orphan": False, "sums_close": True}
    assert run(project_with_docs, 2, {"orphan": Found()}) == {"orphan": True}
    assert capfd.readouterr() == ("", "")


def test_without_data_docs_nothing_is_written(project: ProjectSpec, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(project, 1, FOUND) == {"orphan": False, "sums_close": True}
    assert not report_folder(project.root).exists()
    assert capfd.readouterr() == ("", "")


def test_a_check_that_cannot_be_evaluated_is_an_error_and_has_no_result() -> None:
    raised = {"raised_exception": True, "exception_message": "no such column"}
    config = SimpleNamespace(kwargs={"check": "orphan"})
    for info in (
        raised,
        {"('siltstone.findings', '', ())": raised},
    ):  # Great Expectations reports it directly, or by metric
        result = SimpleNamespace(success=False, exception_info=info, expectation_config=config)
        with pytest.raises(InvariantViolation, match=r"Cannot evaluate check orphan: .*no such column"):
            verdicts([result])


def test_a_severity_of_the_spec_is_a_severity_of_the_suite() -> None:
    given = spec(quality={"severity": {"orphan": "info", "chain_break": "warn", "sums_close": "error"}})
    suite = build_suite(given, dict.fromkeys(FOUND, Found()))
    assert {one.check: one.severity.value for one in suite.expectations} == {
        "orphan": "info",
        "chain_break": "warning",
        "sums_close": "critical",
    }


def test_the_pages_show_findings_and_unavailable_checks(project_with_docs: ProjectSpec) -> None:
    run(project_with_docs, 1, FOUND)
    pages = docs_folder(project_with_docs.root)
    (link,) = re.findall(r"href='([^']+)'", (pages / "index.html").read_text())
    page = (pages / link).read_text()
    assert "The first change of a key is a READ or an insert." in page
    assert "7 findings" in page
    assert "the key has no &lt;beginning&gt;" in page
    suite = (pages / "expectations" / "inventory" / "customers.html").read_text()
    assert "chain_break: not available, no change carries a whole before image." in suite


@pytest.mark.parametrize("run_id", ["5671587997104237", "0000000000000001", "20260101e0000000"])
def test_a_run_id_is_never_read_as_a_time(run_id: str, project_with_docs: ProjectSpec) -> None:
    run(project_with_docs, 1, FOUND, run_id=run_id)
    pages = docs_folder(project_with_docs.root)
    index = (pages / "index.html").read_text()
    assert f"<td>{run_id}</td>" in index
    (link,) = re.findall(r"href='([^']+)'", index)
    assert run_id in (pages / link).read_text()


def test_the_pages_make_no_network_requests(project_with_docs: ProjectSpec) -> None:
    run(project_with_docs, 1, FOUND)
    pages = list(docs_folder(project_with_docs.root).rglob("*.html"))
    assert len(pages) == 3
    asking = re.compile(r"(src|<link[^>]*href)=.https?:|url\(.?https?:|<script")
    assert not [page for page in pages if asking.search(page.read_text())]


@pytest.mark.slow
def test_only_the_newest_runs_of_a_table_are_kept(project_with_docs: ProjectSpec) -> None:
    for number in range(KEEP_RUNS + 2):
        run(project_with_docs, number, {"orphan": Found()})
    pages = docs_folder(project_with_docs.root)
    assert len(list((pages / "validations").rglob("*.html"))) == KEEP_RUNS
    runs = re.findall(r"<td>(run\d+)</td>", (pages / "index.html").read_text())
    assert runs == [f"run{number}" for number in reversed(range(2, KEEP_RUNS + 2))]


def test_acknowledged_findings_do_not_fail_and_are_shown_with_their_reason(project_with_docs: ProjectSpec) -> None:
    one, other = (Finding("orphan", "10", "10", f'{{"id":{n}}}', "the first change") for n in (1, 2))
    found = {"orphan": Found(2, "10", "10", (one, other))}
    half, whole = Known({one: "by hanna: <known>"}), Known({one: "by hanna: <known>", other: "by ines: too"}, True)
    assert run(project_with_docs, 1, found, {"orphan": half}) == {"orphan": False}
    assert run(project_with_docs, 2, found, {"orphan": whole}) == {"orphan": True}
    pages = docs_folder(project_with_docs.root)
    index = (pages / "index.html").read_text()
    assert re.findall(r"<td>(passed[^<]*|failed)</td>", index) == ["passed, 1 acknowledged", "failed"]
    newest, first = ((pages / link).read_text() for link in re.findall(r"href='([^']+)'", index))
    assert "2 findings, acknowledged" in newest
    assert "by hanna: &lt;known&gt;" in newest
    assert "by ines: too" in newest
    assert "2 findings, acknowledged" not in first


def test_a_check_of_severity_info_never_fails_and_shows_its_findings(project_with_docs: ProjectSpec) -> None:
    given = spec(quality={"severity": {"orphan": "info"}})
    context, found = open_context(project_with_docs), {"orphan": FOUND["orphan"], "sums_close": Found()}
    suite = build_suite(given, found)
    result = validate_batch(context, suite, batch(found), "run1", BEGAN)
    build_pages(context, project_with_docs, suite.name)
    assert verdicts(result.results) == {"orphan": True, "sums_close": True}
    pages = docs_folder(project_with_docs.root)
    index = (pages / "index.html").read_text()
    assert re.findall(r"<td>(passed[^<]*|failed)</td>", index) == ["passed, 1 noted"]
    (link,) = re.findall(r"href='([^']+)'", index)
    page = (pages / link).read_text()
    assert "7 findings, for information" in page
    assert "fa-times text-danger" not in page


def test_a_page_of_expectations_of_severity_info_has_nothing_red(project_with_docs: ProjectSpec) -> None:
    import great_expectations as gx
    import pandas as pd

    context = open_context(project_with_docs)
    informs = [gx.expectations.ExpectColumnValuesToNotBeNull(column="a", severity="info")]
    fails = [gx.expectations.ExpectColumnValuesToNotBeNull(column="a", severity="warning")]
    for number, given in enumerate((informs, fails)):
        name = f"shop.things.latest{number}"
        suite = gx.ExpectationSuite(name=name, expectations=given)
        validate_batch(
            context, suite, pd.DataFrame({"a": [1, None]}), f"run{number}", BEGAN + timedelta(minutes=number)
        )
        build_pages(context, project_with_docs, name, is_info=given is informs)
    pages = docs_folder(project_with_docs.root)
    index = (pages / "index.html").read_text()
    assert re.findall(r"<td>(passed[^<]*|failed)</td>", index) == ["failed", "passed, 1 noted"]
    red, plain = ((pages / link).read_text() for link in re.findall(r"href='([^']+)'", index))
    assert "text-danger" in red
    assert "text-danger" not in plain
    assert "</i> Noted" in plain
