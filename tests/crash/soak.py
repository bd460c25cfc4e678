"""Simulate a database: its changes arrive late, twice and shuffled, runs are killed, tables are maintained and rebuilt.

    python -m tests.crash.soak [--hours 1] [--nights 40] [--format postgresql_bare ...] [--seed N]

Simulations run one after the other, with the formats in turn, until the hours are over. Each simulation has `--nights`
nights. Every night `catch-up` runs. Some nights it is first killed, at a random commit, and some nights `maintain`,
`rebuild` or `rebuild --reread` runs, or is killed too. At the end of a simulation all changes have arrived: `latest`
must have the rows of the database, and `history` all images of every key. The result goes to SOAK.md.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.conformance.decoded import differing, images, stored_rows
from tests.conformance.encoder import LineEncoder
from tests.conformance.formats import BY_NAME
from tests.crash.disk_project import GAP_IS_OPEN, KILLED, DiskProject, say, session
from tests.crash.simulation import arrivals_by_night, simulated_workload
from tests.results import ROOT, kept, when_and_commit, write

PAGE: Final = ROOT / "tests" / "crash" / "SOAK.md"
COLUMNS: Final = (
    "format",
    "simulations",
    "nights",
    "changes",
    "kills",
    "differences",
    "seconds",
    "when (UTC)",
    "commit",
)
HEADING: Final = "The last soak test"
WORDS: Final = """`make soak` simulates a database in each format. A difference is a key whose row or history is not the
database's, or a command that fails."""
FORMATS: Final = (
    "postgresql_bare",
    "mysql_schemas",
    "oracle_bare",
    "datastream_json_postgresql",
    "spanner_new_row_text",
    "maxwell",
)
TRANSACTIONS: Final = 20
"""The number of transactions in a night."""
MOST_COMMITS: Final = 40
"""A command is killed at one of its first commits, up to this number. A command with fewer commits can end."""
INCIDENTS: Final = {("maintain",): 0.15, ("rebuild",): 0.06, ("rebuild", "--reread"): 0.04}
KILL_PART: Final = 0.25


@dataclass
class Totals:
    """The totals of the simulations of one format."""

    simulations: int = 0
    nights: int = 0
    changes: int = 0
    kills: int = 0
    differences: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Simulation:
    """One simulation in its own folder."""

    def __init__(self, root: Path, encoder: LineEncoder, nights: int, seed: int) -> None:
        self.project = DiskProject(root)
        self.encoder = encoder
        self.draw = random.Random(seed)
        self.workload = simulated_workload(seed, nights * TRANSACTIONS, keys=60)
        self.lines = encoder.lines(self.workload)
        self.arriving = arrivals_by_night(self.lines, nights, seed)
        self.kills = 0
        self.failures: list[str] = []

    def simulate(self) -> list[str]:
        """Run all nights. Gives the differences at the end."""
        self.write_project()
        for night, files in enumerate(self.arriving):
            for number, lines in enumerate(files):
                (self.project.events / f"{night:04}-{number}.jsonl").write_text("".join(f"{line}\n" for line in lines))
            self.run("catch-up")
            for arguments, part in INCIDENTS.items():
                if self.draw.random() < part:
                    self.run(*arguments)
        return [*self.failures, *self.differences()]

    def write_project(self) -> None:
        """Write project and specs."""
        self.project.write()
        for table in self.workload.tables:
            target = f"silt.{table.name}"
            spec = {
                "table": self.encoder.table_name(table),
                "source": self.encoder.source(table, self.project.events),
                "keys": list(table.keys),
                "columns": self.encoder.column_types(table),
                "target": {"latest": target, "history": f"{target}_h", "changes": f"{target}_changes"},
            }
            self.project.write_spec(spec)

    def run(self, *arguments: str) -> None:
        """Run a command. Some commands are killed first, and then run."""
        if self.draw.random() < KILL_PART:
            moment, number = self.draw.choice(("before", "after")), self.draw.randint(1, MOST_COMMITS)
            code = self.project.run_killed(moment, number, *arguments)
            self.kills += code == KILLED
            if code not in (0, GAP_IS_OPEN, KILLED):
                self.failures.append(f"{arguments}: exit code {code}")
        code = self.project.run_command(*arguments)
        if code not in (0, GAP_IS_OPEN):  # until the changes that are late have arrived
            self.failures.append(f"{arguments}: exit code {code}")

    def differences(self) -> list[str]:
        """The keys whose rows or history are not those of the database."""
        spark, found, workload = session(), [], self.encoder.committed(self.workload)
        for table in self.workload.tables:
            latest, history = (spark.table(self.project.identifier(f"{table.name}{end}")) for end in ("", "_h"))
            rows = {table.key(row): row for row, _ in stored_rows(latest, table)}
            found += differing(f"latest {table.name}", rows, workload.latest()[table.name])
            found += differing(f"history {table.name}", images(history, table), workload.images()[table.name])
        return found


def main() -> int:
    """Simulate until the hours are over, write the results, and give the exit code."""
    parser = argparse.ArgumentParser(description="Simulates a database, with kills.")
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--nights", type=int, default=40)
    parser.add_argument("--format", action="append", choices=list(FORMATS))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    given = parser.parse_args()
    began, formats = time.monotonic(), given.format or FORMATS
    totals = {name: Totals() for name in formats}
    number = 0
    while number < len(formats) or time.monotonic() - began < given.hours * 3600:
        name = formats[number % len(formats)]
        run_simulation(totals[name], name, given.nights, given.seed + number, number)
        write_page(totals)
        number += 1
    return int(any(one.differences for one in totals.values()))


def run_simulation(totals: Totals, name: str, nights: int, seed: int, number: int) -> None:
    """Run one simulation, and add it to the totals."""
    began = time.monotonic()
    encoder = BY_NAME[name]
    assert isinstance(encoder, LineEncoder)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        simulation = Simulation(Path(folder) / f"soak_{number}", encoder, nights, seed)
        different = simulation.simulate()
    for text in different:
        say(f"{name}, seed {seed}: {text}")
    totals.simulations += 1
    totals.nights += nights
    totals.changes += len(simulation.lines)
    totals.kills += simulation.kills
    totals.differences += different
    totals.seconds += time.monotonic() - began
    say(f"{name}, seed {seed}: {nights} nights, {simulation.kills} kills, {len(different)} differences")


def write_page(totals: dict[str, Totals]) -> None:
    """Write the page."""
    rows = kept(PAGE, FORMATS)
    for name, one in totals.items():
        if one.simulations:
            numbers = (one.simulations, one.nights, one.changes, one.kills, len(one.differences), round(one.seconds))
            rows[name] = (name, *map(str, numbers), *when_and_commit())
    write(PAGE, HEADING, WORDS, COLUMNS, rows, FORMATS)


if __name__ == "__main__":
    sys.exit(main())
