"""Measure catch-up against the floor and the usual recipe, in one process and on the same lines.

    make bench                                        # or: python -m tests.bench.bench
    python -m tests.bench.bench --small --only floor,recipe --json out.json

Every result is compared with the numbers that the generator knows, before its time is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from siltstone.engine.session import spark_session
from siltstone.engine.spec.model import ProjectSpec, QualitySpec, SparkSpec
from tests.bench.floor import write_ordered
from tests.bench.generate import Expected, Inputs, Size, add_size, inputs
from tests.bench.lake import Lake
from tests.bench.late import halves
from tests.bench.recipe import Recipe
from tests.bench.subject import Project
from tests.bench.topics import TopicProject, topic

SUBJECTS = ("floor", "recipe", "catch-up", "checks", "late", "kafka")
GROWTH = "growth"
CHECKED = "catch-up with checks"
FROM_FILES, FROM_TOPICS = "catch-up from files", "catch-up from topics"
IN_ORDER, LATE = "half a night, in order", "half a night, 1 % late"
SMALL = Size(100_000, 30_000, 200_000)
# Large enough for the same plans as a large night: Spark plans a small night without generated code.
WARM_UP = Size(100_000, 30_000, 250_000)
GROWN = 4  # the growth factor of the batch and of the table
PROGRESS = Console(stderr=True)
SPARK_CONF = {"spark.driver.memory": "8g", "spark.sql.shuffle.partitions": "8"}


@dataclass(frozen=True)
class Measurement:
    """One measured run. `cpu_seconds` of all threads of the JVM show whether the machine was busy with other work."""

    what: str
    size: Size
    seconds: float
    cpu_seconds: float
    phases: dict[str, float] = field(default_factory=dict)


class Bench:
    """One session, a folder for tables and one for input, and the measurements."""

    def __init__(self, spark: SparkSession, tables: Path, lines: Path, only: frozenset[str]) -> None:
        self.spark, self.tables, self.lines, self.only = spark, tables, lines, only
        self.measurements: list[Measurement] = []

    def measure(self, size: Size) -> None:
        """Run all requested measurements once, at this size."""
        given = inputs(size, self.lines)
        _read_through(given.snapshot, given.events)
        if "floor" in self.only:
            self._floor(given)
        if "recipe" in self.only:
            with self._lake("recipe") as lake:
                self._recipe(given, lake)
        if "catch-up" in self.only:
            with self._lake("silt") as lake:
                self._catch_up(given, lake)
        if "checks" in self.only:
            with self._lake("checked") as lake:
                self._checks(given, lake)
        if "late" in self.only:
            with self._lake("late") as lake:
                self._late(given, lake)
        if "kafka" in self.only:
            with self._lake("files") as lake:
                self._nights(FROM_FILES, given, lake, Project(self.spark, lake, lake.root / "project"))
            with self._lake("topics") as lake, topic(self.tables / "broker") as filled:
                self._nights(FROM_TOPICS, given, lake, TopicProject(self.spark, lake, lake.root / "project", filled))

    def seconds(self, what: str, size: Size) -> float | None:
        """The seconds of a measured run, if it ran."""
        return next((one.seconds for one in self.measurements if (one.what, one.size) == (what, size)), None)

    def _floor(self, given: Inputs) -> None:
        out = self.tables / "floor.parquet"
        with self._timed("floor", given.size):
            write_ordered(self.spark, given.events, out)
        if self.spark.read.parquet(str(out)).count() != given.size.events:
            raise RuntimeError(f"{out} does not hold {given.size.events} changes")

    def _recipe(self, given: Inputs, lake: Lake) -> None:
        recipe = Recipe(self.spark, f"{lake.name}.shop")
        with self._timed("recipe, initial load", given.size):
            recipe.load(given.snapshot)
        lake.keep()
        for what, persisted in (("recipe", False), ("recipe, persisted", True)):
            with self._timed(what, given.size):
                recipe.apply(given.events, persisted)
            self._check(given.expected, recipe.latest, recipe.history)
            lake.restore()

    def _catch_up(self, given: Inputs, lake: Lake) -> None:
        project = Project(self.spark, lake, lake.root / "project")
        project.receive(given.snapshot, "0-snapshot")
        with self._timed("catch-up, initial load", given.size) as phases:
            phases |= project.catch_up()
        project.receive(given.events, "1-night")
        with self._timed("catch-up", given.size) as phases:
            phases |= project.catch_up()
        self._check(given.expected, project.latest, project.history, tombstone="_op = 'delete'")
        with self._timed("catch-up, nothing new", given.size) as phases:
            phases |= project.catch_up()

    def _nights(self, what: str, given: Inputs, lake: Lake, project: Project) -> None:
        """Measure the snapshot and the night of a project."""
        project.receive(given.snapshot, "0-snapshot")
        with self._timed(f"{what}, initial load", given.size) as phases:
            phases |= project.catch_up()
        project.receive(given.events, "1-night")
        with self._timed(what, given.size) as phases:
            phases |= project.catch_up()
        self._check(given.expected, project.latest, project.history, tombstone="_op = 'delete'")

    def _checks(self, given: Inputs, lake: Lake) -> None:
        """Measure the same runs with checks. The phases have the seconds of the checks."""
        self._nights(CHECKED, given, lake, Project(self.spark, lake, lake.root / "project", checks=True))

    def _late(self, given: Inputs, lake: Lake) -> None:
        """Measure the second half of a night: once in order, and once with changes that belong into the first half."""
        cut = halves(given.events, lake.root / "halves")
        project = Project(self.spark, lake, lake.root / "project")
        project.receive(given.snapshot, "0-snapshot")
        project.receive(cut.first, "1-first")
        project.catch_up()
        lake.keep()
        project.receive(cut.second, "2-second")
        with self._timed(IN_ORDER, given.size) as phases:
            phases |= project.catch_up()
        lake.restore()
        project.receive(cut.late, "3-late")
        with self._timed(LATE, given.size) as phases:
            phases |= project.catch_up()
        self._check(given.expected, project.latest, project.history, tombstone="_op = 'delete'")

    def _check(self, expected: Expected, latest: str, history: str, tombstone: str | None = None) -> None:
        """Stop if the tables do not have the expected rows: a wrong result has no time."""
        of_history = [f"count_if(NOT ({tombstone or 'false'}))", f"count_if({tombstone or 'false'})"]
        of_latest = ["count(*)", "cast(sum(balance) * 100 as bigint)"]
        found = (
            *self.spark.table(latest).selectExpr(*of_latest).first(),
            *self.spark.table(history).selectExpr(*of_history).first(),
        )
        deletes = expected.deletes if tombstone else 0
        wanted = (expected.live_keys, expected.live_cents, expected.versions, deletes)
        if found != wanted:
            raise RuntimeError(f"{latest}: live keys, cents, versions, tombstones are {found}, not {wanted}")

    def _cpu_seconds(self) -> float:
        """The processor time of the JVM until now; 0 if the system has no /proc."""
        stat = Path("/proc", str(self.spark.sparkContext._gateway.proc.pid), "stat")
        if not stat.exists():
            return 0.0
        user, system = stat.read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    @contextmanager
    def _lake(self, name: str) -> Iterator[Lake]:
        """A new empty lake, which is removed afterwards."""
        lake = Lake(f"{name}_{uuid.uuid4().hex}", self.tables / name)
        lake.attach(self.spark)
        yield lake
        shutil.rmtree(lake.root)

    @contextmanager
    def _timed(self, what: str, size: Size) -> Iterator[dict[str, float]]:
        phases: dict[str, float] = {}
        self.spark.sparkContext._jvm.System.gc()  # so that this run does not collect the garbage of the previous one
        cpu, start = self._cpu_seconds(), time.perf_counter()
        yield phases
        seconds, cpu = round(time.perf_counter() - start, 2), round(self._cpu_seconds() - cpu, 2)
        self.measurements.append(Measurement(what, size, seconds, cpu, phases))
        PROGRESS.print(f"  {what}: {seconds} s, {cpu} s of CPU ({size.events:,} events, table of {size.table_keys:,})")


def _read_through(*folders: Path) -> None:
    """Read all files once. Otherwise only the first measured run waits for the disk."""
    for folder in folders:
        for path in folder.iterdir():
            with path.open("rb") as file:
                while file.read(1 << 24):
                    pass


def main() -> None:
    """Command line: see the module's docstring."""
    given = _arguments()
    size = SMALL if given.small else Size(given.events, given.keys, given.table_keys, given.seed)
    only = frozenset(given.only.split(",") if given.only else (*(one for one in SUBJECTS if one != "kafka"), GROWTH))
    load = os.getloadavg()[0]
    if given.work:
        given.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=given.work) as folder:
        tables = Path(folder).resolve()
        spark = spark_session(_session_project(tables))
        try:
            bench = Bench(spark, tables, given.work or tables / "input", only)
            _run(bench, size)
        finally:
            spark.stop()
    _print(bench, size, load)
    if given.json:
        given.json.write_text(json.dumps(_document(bench, size, load), indent=2) + "\n")


def _session_project(folder: Path) -> ProjectSpec:
    """The project with which the session starts. The measured lakes are attached to it later."""
    catalog = Lake("bench", folder / "session").catalog
    return ProjectSpec(folder, None, catalog, "silt", SparkSpec("local[*]", SPARK_CONF), QualitySpec())


def _run(bench: Bench, size: Size) -> None:
    PROGRESS.print("Warming up")
    bench.measure(WARM_UP)
    bench.measurements.clear()
    PROGRESS.print("Measuring")
    bench.measure(size)
    if GROWTH in bench.only:
        bench.measure(size.scaled(batch=1 / GROWN))
        bench.measure(size.scaled(batch=1 / GROWN, table=1 / GROWN))


def _print(bench: Bench, size: Size, load: float) -> None:
    console = Console()
    night = Table(
        title=f"One night: {size.events:,} events over {size.keys:,} keys into {size.table_keys:,} rows",
        caption=f"load of the machine when it began: {load:.1f} on {os.cpu_count()} cores",
    )
    night.add_column("run", no_wrap=True)
    for name in ("seconds", "CPU s", "x floor", "x recipe", "events/s"):
        night.add_column(name, justify="right")
    for one in bench.measurements:
        if one.size == size:
            ratios = (_ratio(one.seconds, bench.seconds(base, size)) for base in ("floor", "recipe"))
            lines = size.table_keys if "initial" in one.what else size.events
            pace = "" if "nothing" in one.what else f"{lines / one.seconds:,.0f}"
            night.add_row(one.what, f"{one.seconds:.1f}", f"{one.cpu_seconds:.1f}", *ratios, pace)
    console.print(night)
    if "late" in bench.only:
        ratio = _ratio(bench.seconds(LATE, size), bench.seconds(IN_ORDER, size))
        console.print(f"1 % late changes: {ratio} x the batch in order")
    for end in ("", ", initial load") if "kafka" in bench.only else ():
        rate = _ratio(bench.seconds(FROM_FILES + end, size), bench.seconds(FROM_TOPICS + end, size))
        console.print(f"Topics{end}: {rate} x the rate of files")
    for one in bench.measurements:
        if one.size == size and "checks" in one.phases:
            own = one.seconds - one.phases["checks"]
            seconds = f"{one.phases['checks']:.1f} s, the rest of the run {own:.1f} s"
            console.print(f"{one.what}: the checks took {seconds} ({one.phases['checks'] / own:.0%})")
    if any(one.phases for one in bench.measurements):
        console.print(_phases(bench, size))
    if GROWTH in bench.only:
        console.print(_growth(bench, size))


def _phases(bench: Bench, size: Size) -> Table:
    """The seconds of each phase, for the runs that report phases."""
    runs = [one for one in bench.measurements if one.size == size and one.phases]
    table = Table(title="Phases: seconds")
    table.add_column("phase")
    for one in runs:
        table.add_column(one.what, justify="right")
    for phase in dict.fromkeys(phase for one in runs for phase in one.phases):
        table.add_row(phase, *(f"{one.phases[phase]:.2f}" if phase in one.phases else "" for one in runs))
    return table


def _growth(bench: Bench, size: Size) -> Table:
    """Each run at three sizes: the cost of a batch, and of a table, that is GROWN times as large."""
    small, middle = size.scaled(batch=1 / GROWN, table=1 / GROWN), size.scaled(batch=1 / GROWN)
    table = Table(title="Growth: seconds, and how many times as long")
    table.add_column("run", no_wrap=True)
    for one in (small, middle, size):
        table.add_column(f"{one.events:,}\ninto {one.table_keys:,}", justify="right")
    table.add_column(f"table x {GROWN}", justify="right")
    table.add_column(f"batch x {GROWN}", justify="right")
    for what in dict.fromkeys(one.what for one in bench.measurements):
        seconds = [bench.seconds(what, one) for one in (small, middle, size)]
        row = ["" if value is None else f"{value:.1f}" for value in seconds]
        table.add_row(what, *row, _ratio(seconds[1], seconds[0]), _ratio(seconds[2], seconds[1]))
    return table


def _ratio(seconds: float | None, base: float | None) -> str:
    return f"{seconds / base:.2f}" if seconds and base else ""


def _document(bench: Bench, size: Size, load: float) -> dict[str, Any]:
    return {
        "machine": {
            "cpus": os.cpu_count(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "platform": platform.platform(),
            "load_before": load,
        },
        "versions": {"python": platform.python_version(), "pyspark": pyspark.__version__},
        "spark": SPARK_CONF,
        "size": asdict(size),
        "measurements": [asdict(one) for one in bench.measurements],
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures catch-up against the floor and the usual recipe.")
    add_size(parser)
    parser.add_argument("--small", action="store_true", help=f"{SMALL.events:,} events, to see that it works")
    parser.add_argument("--only", help=f"runs to measure, with or without growth: {','.join((*SUBJECTS, GROWTH))}")
    parser.add_argument("--json", type=Path, help="write every number to this file, too")
    parser.add_argument("--work", type=Path, help="keep the input in this folder for the next time")
    given = parser.parse_args()
    named = set((given.only or "floor").split(","))
    unknown = named - {*SUBJECTS, GROWTH}
    if named == {GROWTH}:
        parser.error(f"--only: {GROWTH} of what? Name one of {', '.join(SUBJECTS)} too")
    if unknown:
        parser.error(f"--only: {', '.join(sorted(unknown))} is none of {', '.join((*SUBJECTS, GROWTH))}")
    return given


if __name__ == "__main__":
    main()
