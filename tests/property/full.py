"""The property tests with thousands of cases, and their result written down in RESULT.md: `make property`.

python tests/property/full.py [SEED ...]        without seeds: one that was never drawn before
"""

import os
import platform
import random
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESULT = HERE / "RESULT.md"


def main(seeds: list[int]) -> int:
    """Run every seed, write the result, and give the exit code."""
    drawn = seeds or [random.SystemRandom().randrange(1 << 31)]
    runs = [run(seed) for seed in drawn]
    RESULT.write_text(report(runs), encoding="utf-8")
    sys.stdout.write(RESULT.read_text(encoding="utf-8"))
    return max(code for _, code, _, _ in runs)


def run(seed: int) -> tuple[int, int, float, str]:
    """The tests with one seed: (seed, exit code, seconds, pytest's last line)."""
    began = time.monotonic()
    settings = os.environ | {"SILTSTONE_PROPERTY": "full", "SILTSTONE_PROPERTY_SEED": str(seed)}
    command = [sys.executable, "-m", "pytest", "tests/property", "-q", "-p", "no:cacheprovider"]
    command += ["-o", "timeout=3600"]
    done = subprocess.run(command, cwd=ROOT, env=settings, stdout=subprocess.PIPE, text=True, check=False)
    sys.stdout.write(done.stdout)
    return seed, done.returncode, time.monotonic() - began, done.stdout.strip().splitlines()[-1].strip("= ")


def report(runs: list[tuple[int, int, float, str]]) -> str:
    """The page that is checked in."""
    os.environ["SILTSTONE_PROPERTY"] = "full"
    sys.path.insert(0, str(ROOT))
    from tests.property.profile import BATCHED, DRAWN, DRIFTING, SIMULATED

    kinds = 5 * 3 * sum(BATCHED)  # five ways to know a window, three numbers of batches
    each = 2 * DRAWN + SIMULATED + DRIFTING + kinds
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    lines = [
        "# The last full run of the property tests",
        "",
        f"`make property` on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, profile full, at commit {commit.stdout.strip()},",
        f"{os.cpu_count()} cores, Python {platform.python_version()}.",
        "",
        f"Cases a seed: {each:,}: {DRAWN:,} drawn histories under each of two rule sets, {SIMULATED:,} simulated"
        f" databases, {DRIFTING:,} that end with a lost change, {kinds} folded in 1, 4 and 8 batches.",
        "",
        "| seed | result | seconds | pytest |",
        "|---|---|---|---|",
        *[
            f"| {seed} | {'passed' if not code else 'FAILED'} | {took:.0f} | {line} |"
            for seed, code, took, line in runs
        ],
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main([int(text) for text in sys.argv[1:]]))
