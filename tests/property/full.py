"""Run the property tests with thousands of cases, and write the results to RESULT.md: `make property`.

    python -m tests.property.full [--seed N] [--part NAME ...]

Without --seed, the seed is random. Without --part, all parts run. RESULT.md keeps the lines of the other parts.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.results import ROOT, kept, when_and_commit, write

RESULT = ROOT / "tests" / "property" / "RESULT.md"
COLUMNS = ("part", "seed", "cases", "result", "seconds", "when (UTC)", "commit")
HEADING = "The last full run of the property tests"
WORDS = """`make property` with the full profile, one line for each part. The engine's rows are compared with the
oracle's rows, and in simulated databases also with the true rows."""


@dataclass(frozen=True)
class Part:
    """A part of the tests: their file, the expression that selects them, and how many cases they draw."""

    file: str
    which: str
    cases: int


def parts() -> Mapping[str, Part]:
    """All parts by name."""
    os.environ["SILTSTONE_PROPERTY"] = "full"
    from tests.property.profile import BATCHED, DRAWN, DRIFTING, KEYLESS, SIMULATED, SPLITS

    split = len(SPLITS) * sum(BATCHED)
    return {
        "drawn histories": Part("test_engine_equals_oracle.py", "all", DRAWN),
        "the same, two columns tracked": Part("test_engine_equals_oracle.py", "two", DRAWN),
        "simulated databases": Part("test_simulated.py", "not any_split", SIMULATED + DRIFTING),
        "batches: markers": Part("test_simulated.py", "any_split and (markers or resolved)", 2 * split),
        "batches: positions": Part("test_simulated.py", "any_split and (positions or statements)", 2 * split),
        "batches: times": Part("test_simulated.py", "any_split and times", split),
        "key changes": Part("test_simulated.py", "apart", split),
        "without a key": Part("test_keyless.py", "drawn", KEYLESS),
        "through catch_up": Part("test_batches_equal_oracle.py", "", 31),
    }


def main() -> int:
    """Run the parts, write their results, and give the exit code."""
    known = parts()
    parser = argparse.ArgumentParser(description="Runs the property tests with thousands of cases.")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--part", action="append", choices=list(known))
    given = parser.parse_args()
    rows, worst = kept(RESULT, known), 0
    for name in given.part or known:
        rows[name], code = run(name, known[name], given.seed)
        worst = max(worst, code)
        write(RESULT, HEADING, WORDS, COLUMNS, rows, list(known))
    sys.stdout.write(RESULT.read_text(encoding="utf-8"))
    return worst


def run(name: str, part: Part, seed: int) -> tuple[Sequence[str], int]:
    """Run one part. Gives its line in the table, and pytest's exit code."""
    began = time.monotonic()
    settings = os.environ | {"SILTSTONE_PROPERTY": "full", "SILTSTONE_PROPERTY_SEED": str(seed)}
    command = [sys.executable, "-m", "pytest", f"tests/property/{part.file}", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "", "-o", "timeout=3600", *(["-k", part.which] if part.which else [])]
    code = subprocess.run(command, cwd=ROOT, env=settings, check=False).returncode
    took = f"{time.monotonic() - began:.0f}"
    result = "FAILED" if code else "passed"
    return (name, str(seed), f"{part.cases:,}", result, took, *when_and_commit()), code


if __name__ == "__main__":
    sys.exit(main())
