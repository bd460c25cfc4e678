"""How long decoding takes, against what Spark's own reader takes for the same lines.

    python -m tests.bench.decode [--events 200000] [--times 3] [--only canal,spanner] [--json FILE]
        [--conf spark.sql.codegen.hugeMethodLimit=8000]

For JSON the measure is `from_json` with the whole schema of the lines, typed; for Avro files Spark's reader. Each
number is the least of several runs, taken in turns, so that a busy machine falls on all of them alike; and what the
same takes without a single record (planning, compiling, in as many tasks) is told apart: it does not grow with the
records. Of Avro files the floor is told, too: what Spark takes for the same two steps, keeping what its reader gives
and making a change's columns of that, where nothing is decided.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from rich.console import Console
from rich.table import Table as Printed

from engine.decode import decode_rows, discover, envelopes, tell_moves
from engine.inputs.listing import Look
from engine.inputs.pending import pending_files
from engine.run.records import read_records, source_files
from engine.session import spark_session
from engine.spec.model import ProjectSpec, QualitySpec, SparkSpec
from tests.bench.lake import Lake
from tests.conformance.decoded import spec_of
from tests.conformance.formats import BY_NAME
from tests.conformance.story import ACCOUNTS, Author, Story
from tests.conformance.teller import LineTeller, Teller

LIMIT = 1.5
FORMATS = (
    "postgresql_bare", "mysql_bare", "mysql_schemas", "canal", "spanner_new_values_array",
    "spanner_old_and_new_values_object", "shareplex", "datastream_json_postgresql", "datastream_avro_mysql",
    "rows_json", "rows_avro",
)  # fmt: skip
SAMPLE_LINES = 2_000
BARE = ("bare records", "bare changes")


@dataclass(frozen=True)
class Measured:
    """Seconds of one format: Spark's reader; envelopes; rows from envelopes.

    `planning`: of envelopes and rows together, without a record; the others are without it. `floor`: of Spark's reader
    and the bare columns of a change.
    """

    name: str
    records: int
    reader: float
    envelopes: float
    rows: float
    planning: float
    floor: float | None = None

    @property
    def ratio(self) -> float:
        """How many times as long as Spark's reader, in the same session."""
        return (self.envelopes + self.rows) / self.reader


def long_story(events: int) -> Story:
    """Inserts, updates and deletes of one table, some to a transaction."""
    author = Author(11, (ACCOUNTS,))
    live: list[int] = []
    for number in range(1, events + 1):
        choice = author.random.random()
        if len(live) < 10 or choice < 0.4:
            author.insert(ACCOUNTS, author.account(number) | {"note": f"note {number}"})
            live.append(number)
        elif choice < 0.9:
            author.update(ACCOUNTS, (author.random.choice(live),), name=f"name {number}", score=float(number))
        else:
            author.delete(ACCOUNTS, (live.pop(author.random.randrange(len(live))),))
        if number % 4 == 0:
            author.commit(int(choice * 2))
    if author.open:
        author.commit()
    return author.story


class Bench:
    """Tells the story in each format and measures."""

    def __init__(self, spark: SparkSession, project: ProjectSpec, events: int, times: int) -> None:
        self.spark, self.project, self.times, self.story = spark, project, times, long_story(events)
        self.numbers = itertools.count()

    def measure(self, teller: Teller) -> Measured:
        folder = self.project.root / teller.name
        folder.mkdir()
        teller.deliver(self.story, folder)
        spec = spec_of(self.project, teller, ACCOUNTS, folder)
        files = source_files(self.spark, spec.source, "bench", None)
        found, _ = read_records(self.spark, spec.source, pending_files(Look(self.spark), files, {}, "b"), "bench")
        is_lines = isinstance(teller, LineTeller) or teller.name == "rows_json"
        lines = found.localCheckpoint() if is_lines else found
        records = lines.count()
        kept = envelopes(lines, spec.source, {spec.table: spec.keys}).localCheckpoint()
        mine = kept.where((F.col("kind") == "change") & (F.col("table") == spec.table))
        shape = discover(mine, spec)
        declared = {spec.table: spec.keys}
        # What a run is told by the look at all records that counts them.
        moves = not mine.where(tell_moves(spec.source.format, declared)).isEmpty()
        paths = [file.path for file in files]
        empty_lines, empty = (frame.where(F.rand() < 0).localCheckpoint() for frame in (lines, mine))
        reader = self.json_reader(lines) if is_lines else lambda: self.spark.read.format("avro").load(paths)
        what: dict[str, Callable[[], DataFrame]] = {
            "reader": reader,
            "envelopes": lambda: envelopes(lines, spec.source, declared),
            "rows": lambda: decode_rows(mine, shape, spec, moves=moves),
            "no envelopes": lambda: envelopes(empty_lines, spec.source, declared),
            "no rows": lambda: decode_rows(empty, shape, spec, moves=moves),
        }
        if not is_lines:
            bare = with_places(reader())
            what |= bare_steps(bare, bare.localCheckpoint(), decode_rows(empty, shape, spec, moves=moves).schema)
        best = dict.fromkeys(what, float("inf"))
        for _ in range(self.times):
            for name, make in what.items():
                best[name] = min(best[name], self.seconds(make))
        own = {name: best[name] - best[f"no {name}"] for name in ("envelopes", "rows")}
        planning = best["no envelopes"] + best["no rows"]
        floor = None if is_lines else round(sum(best[name] for name in BARE), 3)
        seconds = {"reader": best["reader"], **own, "planning": planning}
        return Measured(teller.name, records, **{name: round(value, 3) for name, value in seconds.items()}, floor=floor)

    def seconds(self, make: Callable[[], DataFrame]) -> float:
        """How long it takes to compute all of a frame; and to make it, where its format looks at the lines for that."""
        context = self.spark.sparkContext
        group = f"make {next(self.numbers)}"
        context.setJobGroup(group, "what a frame asks for while it is made")
        began = time.perf_counter()
        frame = make()
        if not context.statusTracker().getJobIdsForGroup(group):
            began = time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
        return time.perf_counter() - began

    def json_reader(self, lines: DataFrame) -> Callable[[], DataFrame]:
        """`from_json` with the whole schema of the lines, but for schemas that stand in them."""
        sample = lines.select("text").limit(SAMPLE_LINES).rdd.map(lambda row: row.text)
        schema = without_schemas(self.spark.read.json(sample).schema)
        return lambda: lines.select(F.from_json("text", schema).alias("line"))


def with_places(read: DataFrame) -> DataFrame:
    """Records as Spark's own reader gives them, each with its file and a number."""
    is_event = "payload" in read.columns
    row = F.col("payload") if is_event else F.struct(*read.columns)
    beside = [name for name in read.columns if is_event and name != "payload"]
    return read.select(
        F.col("_metadata.file_path").alias("file"),
        F.monotonically_increasing_id().alias("line"),
        *beside,
        row.alias("_row"),
    )


def bare_steps(places: DataFrame, kept: DataFrame, changes: T.StructType) -> dict[str, Callable[[], DataFrame]]:
    """Spark's records with their places; and, of such that are kept, a change's columns in which nothing is decided:
    the row as it was read, its hash, its first column as key and position, and constants."""
    row = kept.schema["_row"].dataType
    assert isinstance(row, T.StructType)
    values = [F.col("_row")[name].alias(name) for name in row.names]
    made = {
        "key": F.struct(values[0]),
        "row": F.struct(*values),
        "position": F.concat(F.lit("0000-"), values[0].cast("string")),
        "content_hash": F.xxhash64(*values),
        "file": F.col("file"),
        "line": F.col("line"),
    } | {name: F.lit("constant") for name in ("source", "table", "op", "origin")}
    columns = [made.get(field.name, F.lit(None).cast(field.dataType)).alias(field.name) for field in changes]
    return dict(zip(BARE, (lambda: places, lambda: kept.select(*columns)), strict=True))


def without_schemas(kind: T.StructType) -> T.StructType:
    """The type without the schemas that Debezium puts around keys and values."""
    fields = [
        T.StructField(f.name, without_schemas(f.dataType) if isinstance(f.dataType, T.StructType) else f.dataType)
        for f in kind
        if not (f.name == "schema" and "payload" in kind.names)
    ]
    return T.StructType(fields)


def main() -> None:
    """Command line: see the module's docstring."""
    parser = argparse.ArgumentParser(description="Measures decoding against Spark's own readers.")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", help="formats whose names contain one of these")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--conf", action="append", default=[], help="a setting of Spark to try: name=value")
    given = parser.parse_args()
    wanted = [n for n in FORMATS if not given.only or any(part in n for part in given.only.split(","))]
    with tempfile.TemporaryDirectory(prefix="bench-decode-") as root:
        catalog = Lake("bench", Path(root) / "lake").catalog
        conf = {"spark.driver.memory": "4g", "spark.sql.shuffle.partitions": "4"}
        conf |= dict(setting.split("=", 1) for setting in given.conf)
        project = ProjectSpec(Path(root), None, catalog, "silt", SparkSpec("local[2]", conf), QualitySpec())
        spark = spark_session(project)
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        bench = Bench(spark, project, given.events, given.times)
        measured = []
        for name in wanted:
            measured.append(bench.measure(BY_NAME[name]))
            Console(stderr=True).print(measured[-1], f"{measured[-1].ratio:.2f}")
        spark.stop()
    _print(measured)
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in measured], indent=2) + "\n")


def _print(measured: list[Measured]) -> None:
    table = Printed(title=f"Decoding: seconds, and how many times Spark's reader (limit {LIMIT})")
    for name in (
        "format",
        "records",
        "reader",
        "envelopes",
        "rows",
        "planning",
        "ratio",
        "floor",
        "records/s",
    ):
        table.add_column(name, justify="left" if name == "format" else "right")
    for one in measured:
        seconds = (one.reader, one.envelopes, one.rows, one.planning)
        pace = one.records / (one.envelopes + one.rows)
        ratios = f"{one.ratio:.2f}", "" if one.floor is None else f"{one.floor / one.reader:.2f}"
        table.add_row(one.name, f"{one.records:,}", *(f"{s:.2f}" for s in seconds), *ratios, f"{pace:,.0f}")
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
