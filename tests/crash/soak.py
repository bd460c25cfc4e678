"""A database lives, its changes arrive late, twice and shuffled, runs are killed, tables are maintained and rebuilt.

    python -m tests.crash.soak [--hours 1] [--nights 40] [--format postgresql_bare ...] [--seed N]

Lives follow each other, one format after the other, until the hours are over. Each life is as many nights. Every night
`catch-up` runs; some nights it is killed first, at a commit that is drawn, and some nights `maintain`, `rebuild` or
`rebuild --reread` runs, or is killed too. At the end of a life all has arrived: `latest` has to be the database's own
tables, and `history` what every key went through. The result goes to SOAK.md.
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
from tests.conformance.formats import BY_NAME
from tests.conformance.teller import LineTeller
from tests.crash.disk_project import KILLED, DiskProject, say, session
from tests.crash.life import lived, nights_of
from tests.results import ROOT, kept, when_and_commit, write

PAGE: Final = ROOT / "tests" / "crash" / "SOAK.md"
COLUMNS: Final = ("format", "lives", "nights", "changes", "kills", "differences", "seconds", "when (UTC)", "commit")
HEADING: Final = "The last soak"
WORDS: Final = """`make soak`: lives of a simulated database in each format. A difference is a key whose row or
history is not the database's own, or a command that fails."""
FORMATS: Final = (
    "postgresql_bare",
    "mysql_schemas",
    "oracle_bare",
    "datastream_json_postgresql",
    "spanner_new_row_text",
    "maxwell",
)
TRANSACTIONS: Final = 20
"""So many a night."""
MOST_COMMITS: Final = 40
"""A command is killed at one of so many commits; beyond its last one it lives."""
INCIDENTS: Final = {("maintain",): 0.15, ("rebuild",): 0.06, ("rebuild", "--reread"): 0.04}
KILL_PART: Final = 0.25


@dataclass
class Soaked:
    """What the lives of one format came to."""

    lives: int = 0
    nights: int = 0
    changes: int = 0
    kills: int = 0
    differences: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Life:
    """One life in a folder of its own."""

    def __init__(self, root: Path, teller: LineTeller, nights: int, seed: int) -> None:
        self.project = DiskProject(root)
        self.teller = teller
        self.draw = random.Random(seed)
        self.story = lived(seed, nights * TRANSACTIONS, keys=60)
        self.lines = teller.lines(self.story)
        self.arriving = nights_of(self.lines, nights, seed)
        self.kills = 0
        self.failures: list[str] = []

    def live(self) -> list[str]:
        """All its nights; gives what is different at the end."""
        self.begin()
        for night, files in enumerate(self.arriving):
            for number, lines in enumerate(files):
                (self.project.events / f"{night:04}-{number}.jsonl").write_text("".join(f"{line}\n" for line in lines))
            self.run("catch-up")
            for arguments, part in INCIDENTS.items():
                if self.draw.random() < part:
                    self.run(*arguments)
        return [*self.failures, *self.differences()]

    def begin(self) -> None:
        """Write project and specs."""
        self.project.write()
        for table in self.story.tables:
            target = f"silt.{table.name}"
            spec = {
                "table": self.teller.table_name(table),
                "source": self.teller.source(table, self.project.events),
                "keys": list(table.keys),
                "columns": self.teller.column_types(table),
                "target": {"latest": target, "history": f"{target}_h", "changes": f"{target}_changes"},
            }
            self.project.write_spec(spec)

    def run(self, *arguments: str) -> None:
        """Run a command; some are killed first, and run again."""
        if self.draw.random() < KILL_PART:
            moment, number = self.draw.choice(("before", "after")), self.draw.randint(1, MOST_COMMITS)
            code = self.project.killed(moment, number, *arguments)
            self.kills += code == KILLED
            if code not in (0, KILLED):
                self.failures.append(f"{arguments}: exit code {code}")
        if code := self.project.live(*arguments):
            self.failures.append(f"{arguments}: exit code {code}")

    def differences(self) -> list[str]:
        """Where the tables are not the database's own."""
        spark, found, story = session(), [], self.teller.committed(self.story)
        for table in self.story.tables:
            latest, history = (spark.table(self.project.identifier(f"{table.name}{end}")) for end in ("", "_h"))
            live = {table.key(row): row for row, _ in stored_rows(latest, table)}
            found += differing(f"latest {table.name}", live, story.latest()[table.name])
            found += differing(f"history {table.name}", images(history, table), story.images()[table.name])
        return found


def main() -> int:
    """Live until the hours are over, write the results, and give the exit code."""
    asked = argparse.ArgumentParser(description="Lives of a simulated database, with kills.")
    asked.add_argument("--hours", type=float, default=1.0)
    asked.add_argument("--nights", type=int, default=40)
    asked.add_argument("--format", action="append", choices=list(FORMATS))
    asked.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    given = asked.parse_args()
    began, formats = time.monotonic(), given.format or FORMATS
    soaked = {name: Soaked() for name in formats}
    number = 0
    while number < len(formats) or time.monotonic() - began < given.hours * 3600:
        name = formats[number % len(formats)]
        one_life(soaked[name], name, given.nights, given.seed + number, number)
        put_down(soaked)
        number += 1
    return int(any(one.differences for one in soaked.values()))


def one_life(soaked: Soaked, name: str, nights: int, seed: int, number: int) -> None:
    """Live one life, and count it."""
    began = time.monotonic()
    teller = BY_NAME[name]
    assert isinstance(teller, LineTeller)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        life = Life(Path(folder) / f"soak_{number}", teller, nights, seed)
        different = life.live()
    for text in different:
        say(f"{name}, seed {seed}: {text}")
    soaked.lives += 1
    soaked.nights += nights
    soaked.changes += len(life.lines)
    soaked.kills += life.kills
    soaked.differences += different
    soaked.seconds += time.monotonic() - began
    say(f"{name}, seed {seed}: {nights} nights, {life.kills} kills, {len(different)} differences")


def put_down(soaked: dict[str, Soaked]) -> None:
    """Write the page."""
    rows = kept(PAGE, FORMATS)
    for name, one in soaked.items():
        if one.lives:
            numbers = (one.lives, one.nights, one.changes, one.kills, len(one.differences), round(one.seconds))
            rows[name] = (name, *map(str, numbers), *when_and_commit())
    write(PAGE, HEADING, WORDS, COLUMNS, rows, FORMATS)


if __name__ == "__main__":
    sys.exit(main())
