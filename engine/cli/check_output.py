"""Prints the results of checks, and writes the report's page, for every command that runs checks."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from siltstone.engine.cli.output import console, note, print_grid, shown_path
from siltstone.engine.counts import counted

if TYPE_CHECKING:
    from siltstone.engine.report import CheckReport, RunReport
    from siltstone.engine.spec.model import ProjectSpec
    from siltstone.quality import CheckResult

SILENT = ("passed", "not available")


def print_page(project: "ProjectSpec", checked: bool) -> None:
    """Write the report's page if checks ran, and print its path."""
    from siltstone.quality.report.write_report import report_after

    page = report_after(project, checked)
    if page is not None:
        note(f"report: {shown_path(str(page))}")


def print_checked(report: "RunReport") -> None:
    """Print what the checks of a run found, and the number of checks by status."""
    from rich.text import Text

    from siltstone.quality.results import shown_status

    results = [(found.table, result) for found in report.tables for result in found.checks or ()]
    found = [pair for pair in results if pair[1].status not in SILENT]
    if found:
        print_checks(found)
    counts = Counter(shown_status(result.severity, result.status) for _, result in results)
    checked = ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "not run"
    line = f"run {report.run_id}: {counted(len(report.tables), 'table')} in {report.seconds:.1f} s, checks: {checked}"
    console().print(Text(line), soft_wrap=True)


def print_checks(results: "Iterable[tuple[str, CheckReport | CheckResult]]") -> None:
    """Print the results of checks, and the hints of failed ones."""
    from rich.text import Text

    from siltstone.quality.results import FAILED, shown_status

    found = [(table, r, shown_status(r.severity, r.status)) for table, r in results]
    cells = ((table, r.check, r.severity, status, f"{r.observed:,}", r.message) for table, r, status in found)
    print_grid(("table", "check", "severity", "status", "found", "message"), cells)
    for hint in dict.fromkeys(f"{r.check}: {r.hint}" for _, r, status in found if status == FAILED and r.hint):
        console().print(Text(hint), soft_wrap=True)
