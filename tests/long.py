"""Run the long tests, and write the results to LONG.md: `make test-long`.

    python -m tests.long [--part NAME ...]

Without --part, all parts run. LONG.md keeps the lines of the other parts.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.results import ROOT, kept, when_and_commit, write

PAGE = ROOT / "tests" / "LONG.md"
PARTS = ("unit", "quality", "conformance", "e2e")
COLUMNS = ("part", "tests", "passed", "failed", "skipped", "seconds", "when (UTC)", "commit")
HEADING = "The last run of the long tests"
WORDS = (
    "`make test-long`: the tests that `make test` omits because they take minutes. Skipped: a requirement is missing."
)


def main() -> int:
    """Run the parts, write their results, and give the worst exit code."""
    parser = argparse.ArgumentParser(description="Runs the tests that take minutes.")
    parser.add_argument("--part", action="append", choices=PARTS)
    rows, worst = kept(PAGE, PARTS), 0
    for part in parser.parse_args().part or PARTS:
        counts, code = run(part)
        rows[part] = (part, *map(str, counts), *when_and_commit())
        worst = max(worst, code)
        write(PAGE, HEADING, WORDS, COLUMNS, rows, PARTS)
    sys.stdout.write(PAGE.read_text(encoding="utf-8"))
    return worst


def run(part: str) -> tuple[tuple[int, ...], int]:
    """Run one part. Gives its numbers of tests, passed, failed, skipped and seconds, and pytest's exit code."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", f"tests/{part}", "-m", "slow", "-o", "timeout=3600"]
        code = subprocess.run([*command, f"--junitxml={report}"], cwd=ROOT, check=False).returncode
        suites = ET.parse(report).getroot().iter("testsuite") if report.exists() else ()
        totals = [
            tuple(int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")) for suite in suites
        ]
    tests, failures, errors, skipped = (
        (sum(numbers) for numbers in zip(*totals, strict=True)) if totals else (0, 0, 0, 0)
    )
    failed = failures + errors
    return (tests, tests - failed - skipped, failed, skipped, round(time.monotonic() - began)), code


if __name__ == "__main__":
    sys.exit(main())
