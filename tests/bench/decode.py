"""Measure decoding, format by format: records to events, and events to rows.

    python -m tests.bench.decode [--events 200000] [--columns 10] [--times 3] [--only canal,spanner] [--json FILE]

The result has the seconds and the processor seconds (of the JVM and of all Python workers) of each step. Each number is
the least of several runs. The formats take turns, so that a busy machine affects all of them alike. A run without
records measures the planning, which does not grow with the records.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table as Printed

from siltstone.engine.decode.columns_seen import SummaryRules
from siltstone.engine.formats import format_of
from siltstone.engine.ingest.source_batch import wanted_of_all
from siltstone.engine.ingest.source_records import read_records, source_files
from siltstone.engine.inputs.listing import FileProbe
from siltstone.engine.inputs.pending_files import pending_files
from siltstone.engine.session import spark_session
from siltstone.engine.spec.model import ProjectSpec, QualitySpec, SparkSpec
from tests.bench.lake import Lake
from tests.conformance.decoded import spec_of
from tests.conformance.encoder import Encoder
from tests.conformance.formats import BY_NAME
from tests.conformance.workload import ACCOUNTS, NOON, Row, Table, Workload, WorkloadBuilder
from tests.decoding import decode_rows, discover

FORMATS = (
    "postgresql_bare", "mysql_bare", "mysql_schemas", "postgresql_framed", "canal", "spanner_new_values_array",
    "spanner_old_and_new_values_object", "shareplex", "dts_mysql", "datastream_json_postgresql",
    "datastream_avro_mysql", "rows_json", "rows_avro",
)  # fmt: skip
MORE = ("text", "bigint", "decimal(12,2)", "timestamp")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """The seconds of the clock and of the processors."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Measured:
    """The costs of one format. `shape`: find the columns in the changes of a table. `planning`: make the rows of a
    table without a record."""

    name: str
    records: int
    events: Cost
    shape: Cost
    rows: Cost
    planning: Cost

    @property
    def cpu_us(self) -> float:
        """The microseconds of processor time for one record, without the planning."""
        return (self.events.cpu + self.shape.cpu + self.rows.cpu - self.planning.cpu) / self.records * 1e6


def wide(columns: int) -> Table:
    """The accounts with more columns: texts, integers, decimals and times in turn."""
    more = {f"more{number}": MORE[number % len(MORE)] for number in range(columns - len(ACCOUNTS.columns))}
    return replace(ACCOUNTS, columns={**ACCOUNTS.columns, **more})


def more_values(table: Table, number: int) -> Row:
    """The values of the columns that `wide` adds."""
    values = (f"text {number}", number * 7919, Decimal(number) / 100, NOON + number * 1_000_003)
    return {f"more{at}": values[at % len(MORE)] for at in range(len(table.columns) - len(ACCOUNTS.columns))}


def long_workload(events: int, table: Table) -> Workload:
    """A workload of one table: inserts, updates and deletes, several in each transaction."""
    builder = WorkloadBuilder(11, (table,))
    live: list[int] = []
    for number in range(1, events + 1):
        choice = builder.random.random()
        if len(live) < 10 or choice < 0.4:
            builder.insert(table, builder.account(number) | {"note": f"note {number}"} | more_values(table, number))
            live.append(number)
        elif choice < 0.9:
            builder.update(table, (builder.random.choice(live),), name=f"name {number}", score=float(number))
        else:
            builder.delete(table, (live.pop(builder.random.randrange(len(live))),))
        if number % 4 == 0:
            builder.commit(int(choice * 2))
    if builder.open:
        builder.commit()
    return builder.workload


def cpu_seconds() -> float:
    """The processor time of this process and of all its child processes, also of those that have ended."""
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a process has ended meanwhile
            stats[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
    own, found = {os.getpid()}, {os.getpid()}
    while found := {pid for pid, fields in stats.items() if int(fields[1]) in found} - own:
        own |= found
    return sum(int(field) for pid in own for field in stats[pid][11:15]) / TICKS


def cost(work: Callable[[], object]) -> Cost:
    """The cost of some work. If it returns a frame, the cost of computing it is included."""
    began, before = time.perf_counter(), cpu_seconds()
    made = work()
    if isinstance(made, DataFrame):
        made.write.format("noop").mode("overwrite").save()
    return Cost(time.perf_counter() - began, cpu_seconds() - before)


def measure(spark: SparkSession, project: ProjectSpec, workload: Workload, encoder: Encoder, times: int) -> Measured:
    """Write the workload in a format, and decode it."""
    folder = project.root / encoder.name
    folder.mkdir()
    encoder.deliver(workload, folder)
    spec = spec_of(project, encoder, workload.tables[0], folder)
    files = source_files(spark, spec.source, "bench", None)
    found, _ = read_records(spark, spec.source, pending_files(FileProbe(), files, {}, "b"), "bench")
    declared, rules = {spec.table: spec.keys}, SummaryRules(wanted_of_all([spec]))
    has_texts = format_of(spec.source.format).reads_whole

    def events() -> DataFrame:
        return found.events(spec.source, declared, rules, has_texts)

    kept = events().localCheckpoint()
    mine = kept.where((F.col("kind") == "change") & (F.col("table") == spec.table))
    shape, empty = discover(kept, spec), mine.where(F.rand() < 0).localCheckpoint()
    what: dict[str, Callable[[], object]] = {
        "events": events,
        "shape": lambda: discover(kept, spec),
        "rows": lambda: decode_rows(mine, shape, spec),
        "planning": lambda: decode_rows(empty, shape, spec),
    }
    best: dict[str, Cost] = {}
    for _ in range(times):
        for name, work in what.items():
            new, known = cost(work), best.get(name)
            best[name] = new if known is None else Cost(min(known.wall, new.wall), min(known.cpu, new.cpu))
    return Measured(encoder.name, kept.count(), **best)


def main() -> None:
    """Command line: see the module's docstring."""
    parser = argparse.ArgumentParser(description="Measures decoding.")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=len(ACCOUNTS.columns))
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", help="formats whose names contain one of these")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    wanted = [n for n in FORMATS if not given.only or any(part in n for part in given.only.split(","))]
    with tempfile.TemporaryDirectory(prefix="bench-decode-") as root:
        catalog = Lake("bench", Path(root) / "lake").catalog
        conf = {"spark.driver.memory": "4g", "spark.sql.shuffle.partitions": "4"}
        project = ProjectSpec(Path(root), None, catalog, "silt", SparkSpec("local[2]", conf), QualitySpec())
        spark = spark_session(project)
        workload = long_workload(given.events, wide(given.columns))
        measured = [measure(spark, project, workload, BY_NAME[name], given.times) for name in wanted if name in BY_NAME]
        spark.stop()
    _print(measured)
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in measured], indent=2) + "\n")


def _print(measured: list[Measured]) -> None:
    table = Printed(title="Decoding: seconds, processor seconds, and microseconds of processor time a record")
    for name in ("format", "records", "events", "CPU", "shape", "CPU", "rows", "CPU", "planning", "CPU us a record"):
        table.add_column(name, justify="left" if name == "format" else "right")
    for one in measured:
        steps = [f"{value:.2f}" for step in (one.events, one.shape, one.rows) for value in (step.wall, step.cpu)]
        table.add_row(one.name, f"{one.records:,}", *steps, f"{one.planning.wall:.2f}", f"{one.cpu_us:.1f}")
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
