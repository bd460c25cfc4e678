"""Kill every command at every commit: the next runs must give the tables of a command that was not killed.

    python -m tests.crash.points [--command catch-up ...] [--every 1]

The points are before and after each commit. At each point, the command starts from the same tables in its own process,
and is killed with its JVM (`victim`). Then `catch-up` runs, the command runs a second time, and one more batch arrives.
All rows of all tables, the inputs and the rejects among them, must be those of commands that were not killed. No branch
and no old tag may remain. The result goes to RESULT.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from siltstone.engine import names
from tests.crash.disk_project import GAP_IS_OPEN, KILLED, DiskProject, say, session
from tests.crash.shop import first_events, second_events, state, third_events, write_specs
from tests.results import ROOT, kept, when_and_commit, write

PAGE: Final = ROOT / "tests" / "crash" / "RESULT.md"
COLUMNS: Final = ("command", "commits", "points tried", "differences", "seconds", "when (UTC)", "commit")
HEADING: Final = "The last run of the killed commands"
WORDS: Final = """`make crashes` kills each command with SIGKILL before and after each of its commits, in a separate
process. The runs after it must give the rows of a command that was not killed. A difference is a point after which any
row differs."""
RENUMBERED: Final = ("batch", "_batch", names.REPLAYS)
"""Each reread gives all batches new numbers, and records that it read the inputs."""
MOMENTS: Final = ("before", "after")


@dataclass(frozen=True)
class Scenario:
    """A command, and the state in which it starts. `taken`: an earlier run has taken the second events. `types`: the
    types of the specs when the command runs. `ignored`: columns and tables that differ because a command that was not
    killed runs once more."""

    arguments: tuple[str, ...]
    taken: bool = True
    types: Mapping[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()


SCENARIOS: Final = {
    "catch-up": Scenario(("catch-up",), taken=False),
    "rebuild": Scenario(("rebuild",)),
    "rebuild --reread": Scenario(
        ("rebuild", "--reread"), types={"name_type": {"type": "string", "mask": "sha256"}}, ignored=RENUMBERED
    ),
    "rejects replay": Scenario(("rejects", "replay"), types={"number_type": "bigint"}),
    "maintain": Scenario(("maintain",)),
}


@dataclass(frozen=True)
class Outcome:
    """The result of a scenario. `differences`: the points after which something differs, with the difference."""

    commits: int
    points: int
    differences: tuple[str, ...]


class Trial:
    """One scenario in its own folder."""

    def __init__(self, root: Path, scenario: Scenario) -> None:
        self.scenario = scenario
        self.project = DiskProject(root)
        self.project.write()
        write_specs(self.project)
        self.deliver("a.jsonl", first_events())
        self.project.run_command("catch-up")
        self.deliver("b.jsonl", second_events())
        if scenario.taken:
            self.project.run_command("catch-up")
        write_specs(self.project, **scenario.types)
        self.project.lake.keep()

    def deliver(self, name: str, lines: Iterable[str]) -> None:
        """Write a file of events."""
        (self.project.events / name).write_text("".join(lines), encoding="utf-8")

    def recovered(self) -> dict[str, list[str]]:
        """The tables after the next run, a second run of the command, and one more batch."""
        self.project.run_command("catch-up")
        self.project.run_command(*self.scenario.arguments)
        self.deliver("c.jsonl", third_events())
        code = self.project.run_command("catch-up")
        (self.project.events / "c.jsonl").unlink()
        return state(self.project, session(), self.scenario.ignored) | {"exit code": [str(code)]}

    def try_all(self, every: int) -> Outcome:
        """Kill the command at each point, or at every `every`-th point."""
        code = self.project.run_killed("before", 0, *self.scenario.arguments)
        if code not in (0, GAP_IS_OPEN):
            raise SystemExit(f"{' '.join(self.scenario.arguments)} ends with {code}: {self.project.output()}")
        commits = self.project.commits()
        expected = self.recovered()
        say(f"{' '.join(self.scenario.arguments)}: exit code {code}, {len(commits)} commits")
        points = [(moment, number) for number in range(1, len(commits) + 1) for moment in MOMENTS][::every]
        differences = []
        for moment, number in points:
            where = f"{moment} commit {number} ({commits[number - 1][:60]})"
            wrong = self.difference_at(moment, number, expected)
            say(f"{where}: {wrong or 'equal'}")
            differences += [f"{where}: {wrong}"] if wrong else []
        return Outcome(len(commits), len(points), tuple(differences))

    def difference_at(self, moment: str, number: int, expected: Mapping[str, list[str]]) -> str:
        """What differs after a kill at a point; empty if nothing does."""
        self.project.restore()
        code = self.project.run_killed(moment, number, *self.scenario.arguments)
        if code != KILLED:
            return f"not killed, but exit code {code}"
        found = self.recovered()
        wrong = [name for name in found if found[name] != expected[name]]
        return "; ".join(f"{name}: {found[name]} instead of {expected[name]}" for name in wrong)


def try_scenario(name: str, every: int) -> Outcome:
    """Try a scenario in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="crash-") as folder:
        root = Path(folder) / f"crash_{list(SCENARIOS).index(name)}"
        return Trial(root, SCENARIOS[name]).try_all(every)


def main() -> int:
    """Try the scenarios, write the results, and give the exit code."""
    parser = argparse.ArgumentParser(description="Kills commands at every commit.")
    parser.add_argument("--command", action="append", choices=list(SCENARIOS))
    parser.add_argument("--every", type=int, default=1, help="try each n-th point only")
    given, rows, worst = parser.parse_args(), kept(PAGE, list(SCENARIOS)), 0
    for name in given.command or SCENARIOS:
        began = time.monotonic()
        outcome = try_scenario(name, given.every)
        for difference in outcome.differences:
            say(f"{name}: {difference}")
        numbers = (outcome.commits, outcome.points, len(outcome.differences), round(time.monotonic() - began))
        rows[name] = (name, *map(str, numbers), *when_and_commit())
        worst = max(worst, int(bool(outcome.differences)))
        write(PAGE, HEADING, WORDS, COLUMNS, rows, list(SCENARIOS))
    return worst


if __name__ == "__main__":
    sys.exit(main())
