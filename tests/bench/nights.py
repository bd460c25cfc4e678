"""Simulate a year of small nights: does the lake stay small, and does catch-up stay fast?

    python -m tests.bench.nights [--nights 365] [--keys 500] [--changes 200]

There is one table. Each night a file of changes arrives, some of them late, and `catch_up` runs with its usual
maintenance. For some nights, the page NIGHTS.md has the seconds of the catch-up (the median of the last ten nights),
the number of files that the newest snapshot of each table needs, and the number of all files in the folder of the
table.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from siltstone import catch_up
from siltstone.engine.session import spark_session
from siltstone.engine.spec.model import ProjectSpec, QualitySpec, SparkSpec
from siltstone.engine.table.maintenance import size_of
from tests.bench.lake import Lake
from tests.e2e.streams import Shop, delete, insert, row, update
from tests.results import ROOT, kept, when_and_commit, write

PAGE: Final = ROOT / "tests" / "bench" / "NIGHTS.md"
HEADING: Final = "The last year of nights"
WORDS: Final = """`python -m tests.bench.nights`: one table, a small batch each night, with the usual maintenance of a
catch-up. Snapshots are kept for ten nights. Files: those that the newest snapshot needs (data, deletes, manifests), and
in brackets all files in the folder of the table, with metadata and the files of older snapshots."""
COLUMNS: Final = ("night", "seconds", "latest", "history", "changes", "ledgers", "when (UTC)", "commit")
SHOWN: Final = (2, 10, 30, 100, 200, 300, 365)
SPREAD: Final = 10
LATE_ONE_IN: Final = 20
DELETED_ONE_IN: Final = 25
TABLES: Final = ("shop_things", "shop_things_h", "shop_things_changes")


class Source:
    """A table of the source: its live keys, and the changes of each night."""

    def __init__(self, keys: int) -> None:
        self._draw, self._second, self._late = random.Random(keys), 0, list[str]()
        self._live, self._next = dict[int, dict[str, Any]](), 0
        self.first = [self._insert() for _ in range(keys)]

    def night(self, changes: int) -> list[str]:
        """The lines of a night. Some changes arrive a night late, but no inserts: a key without its first change is a
        gap."""
        lines, self._late = self._late, []
        for _ in range(changes):
            if self._draw.randrange(DELETED_ONE_IN) == 0:
                lines.append(self._insert())
            else:
                (self._late if self._draw.randrange(LATE_ONE_IN) == 0 else lines).append(self._change())
        return lines

    def _change(self) -> str:
        self._second += 1
        key = self._draw.choice(list(self._live))
        if self._draw.randrange(DELETED_ONE_IN) == 0:
            return delete(self._second, self._live.pop(key))
        self._live[key] = row(key, f"name {self._draw.randrange(1000)}", self._second)
        return update(self._second, self._live[key])

    def _insert(self) -> str:
        self._second, self._next = self._second + 1, self._next + 1
        self._live[self._next] = row(self._next, f"name {self._next}")
        return insert(self._second, self._live[self._next])


def main() -> int:
    """Run the nights and write the page: see the module's docstring."""
    parser = argparse.ArgumentParser(description="A year of small nights.")
    parser.add_argument("--nights", type=int, default=SHOWN[-1])
    parser.add_argument("--keys", type=int, default=500)
    parser.add_argument("--changes", type=int, default=200)
    given = parser.parse_args()
    shown = {f"{night}" for night in (*SHOWN, given.nights)}
    rows, known = kept(PAGE, shown), sorted(shown, key=int)
    with tempfile.TemporaryDirectory(prefix="bench-nights-") as root:
        shop = opened(Path(root))
        source, seconds = Source(given.keys), list[float]()
        for night in range(1, given.nights + 1):
            shop.write(f"{night:04}.jsonl", source.first if night == 1 else source.night(given.changes))
            began = time.perf_counter()
            (table,) = catch_up(shop.project, [shop.spec()], shop.spark).tables
            failed = [check for check in table.checks or () if check.status == "failed"]
            assert table.exit_code == 0, (table.error, failed)
            seconds.append(time.perf_counter() - began)
            if f"{night}" in shown:
                median = statistics.median(seconds[-SPREAD:] if night > SPREAD else seconds[1:])
                rows[f"{night}"] = (f"{night}", f"{median:.1f}", *files(shop), *when_and_commit())
                write(PAGE, HEADING, WORDS, COLUMNS, rows, known)
                sys.stdout.write(f"{' | '.join(rows[str(night)])}\n")
                sys.stdout.flush()
        shop.spark.stop()
    return 0


def opened(root: Path) -> Shop:
    """A project in a folder."""
    catalog = Lake("lake", root / "lake").catalog
    project = ProjectSpec(
        root, None, catalog, "silt", SparkSpec("local[2]", {"spark.driver.memory": "4g"}), QualitySpec()
    )
    # A night takes seconds here, so snapshots are kept for a minute: about ten nights.
    project = replace(project, maintenance=replace(project.maintenance, retain=timedelta(minutes=1)))
    return Shop(spark_session(project), project)


def files(shop: Shop) -> tuple[str, ...]:
    """The numbers of files of each table, and of all ledgers together."""
    own = [counted(shop.spark, shop.project, table) for table in TABLES]
    folder = Path(str(shop.project.catalog.warehouse).removeprefix("file://")) / shop.project.namespace
    ledgers = [counted(shop.spark, shop.project, path.name) for path in folder.iterdir() if path.name not in TABLES]
    ledger = (sum(needed for needed, _ in ledgers), sum(everything for _, everything in ledgers))
    return tuple(f"{needed} ({everything})" for needed, everything in (*own, ledger))


def counted(spark: SparkSession, project: ProjectSpec, table: str) -> tuple[int, int]:
    """The number of files that the newest snapshot of a table needs, and of all files in its folder."""
    size: Any = size_of(spark, project.catalog.name, f"{project.namespace}.{table}")
    folder = Path(str(project.catalog.warehouse).removeprefix("file://")) / project.namespace / table
    there = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".crc")]
    return size.files + size.delete_files + size.manifests, len(there)


if __name__ == "__main__":
    sys.exit(main())
