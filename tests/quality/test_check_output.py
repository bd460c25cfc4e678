"""The printed results of checks: severity info is a note, counts have the right plural."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from siltstone.engine.cli.check_output import print_checked, print_checks
from siltstone.engine.cli.output import STYLES
from siltstone.engine.report import CheckReport, RunReport, TableReport
from siltstone.quality.results import CheckResult, shown_status

FAILED = CheckResult(
    "run1",
    datetime(2026, 1, 1, tzinfo=UTC),
    "shop.orders",
    "duplicates",
    "info",
    "failed",
    1,
    "1 duplicate",
    hint="none",
)


@pytest.mark.parametrize(
    ("severity", "status", "shown"),
    [
        ("info", "failed", "noted"),
        ("warn", "failed", "failed"),
        ("error", "failed", "failed"),
        ("info", "not available", "not available"),
    ],
)
def test_a_check_of_severity_info_is_never_shown_as_failed(severity: str, status: str, shown: str) -> None:
    assert shown_status(severity, status) == shown
    assert ("red" in STYLES[shown]) == (shown == "failed")


def test_printed_checks_have_no_failure_of_severity_info(capsys: pytest.CaptureFixture[str]) -> None:
    print_checks([("shop.orders", FAILED)])
    noted = capsys.readouterr().out
    print_checks([("shop.orders", replace(FAILED, severity="error"))])
    failed = capsys.readouterr().out
    assert ("noted" in noted, "failed" in noted, "duplicates: none" in noted) == (True, False, False)
    assert ("noted" in failed, "failed" in failed, "duplicates: none" in failed) == (False, True, True)


def test_the_last_line_of_a_run_counts_notes_and_runs_without_checks(capsys: pytest.CaptureFixture[str]) -> None:
    info = CheckReport("duplicates", "info", "failed", 1, "1 duplicate")
    for checks, text in ((None, "1 table in 0.5 s, checks: not run"), ((info,), "1 table in 0.5 s, checks: 1 noted")):
        print_checked(RunReport("run1", "2026-01-01", 0.5, (), (TableReport("shop.orders", "ok", checks=checks),), 0))
        assert f"run run1: {text}" in capsys.readouterr().out
