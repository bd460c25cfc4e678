"""How many messages of Avro one core decodes in a second: framed Debezium and DTS.

    python -m tests.bench.messages [--records 100000] [--work DIR]

Each step is timed by itself, the least of several runs: the bytes out of base64, Spark's `from_avro` with the same
schema, the envelopes (what the message is, the images as JSON text), and the rows from stored envelopes.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from engine.decode import decode_rows, discover, envelopes
from engine.decode.dts_schema import record_schema
from engine.decode.messages import messages
from engine.decode.wire import ended, from_avro
from engine.inputs.avro import without_logical_types
from engine.session import spark_session
from engine.spec import load_project, table_spec
from engine.spec.model import ProjectSpec, SparkSpec, TableSpec
from tests import dts_records as dts
from tests import framed

DISTINCT = 10_000
RUNS = 8
TYPES = {
    "id": 8, "name": 253, "email": 253, "amount": 246, "qty": 3, "created": 12, "updated": 7, "status": 247, "score": 5,
    "note": 252,
}  # fmt: skip
COLUMNS = {
    "id": "long", "name": "string", "email": "string", "amount": framed.decimal(2, 12), "qty": "int",
    "created": framed.named("long", "io.debezium.time.MicroTimestamp"),
    "updated": framed.named("string", "io.debezium.time.ZonedTimestamp"), "status": "string", "score": "double",
    "note": "string",
}  # fmt: skip
ENVELOPE, KEY = framed.envelope(COLUMNS), framed.record("Key", {"id": "long"})


def dts_image(n: int, note: str | None) -> list[dts.Value]:
    return [
        dts.integer(n), dts.text(f"name {n}"), dts.text(f"user{n}@example.org"), dts.decimal(f"{n}.{n % 90 + 10}"),
        dts.integer(n % 1000), dts.moment(2023, 1 + n % 12, 1 + n % 28, n % 24, n % 60, n % 60, n % 10**6),
        dts.timestamp(1_700_000_000 + n, n % 10**6), dts.of_type("open", "ENUM"), dts.number(n / 7),
        note and dts.text(note),
    ]  # fmt: skip


def dts_line(n: int, draw: random.Random) -> str:
    op = draw.choices(["INSERT", "UPDATE", "DELETE"], [20, 70, 10])[0]
    note = "x" * 50 if n % 3 else None
    old = dts_image(n, note) if op != "INSERT" else None
    new = dts_image(n, "changed") if op != "DELETE" else None
    return dts.line(dts.record(op, TYPES, old, new, position=f"{n * 100 + 4}@78", id=n))


def framed_line(n: int, draw: random.Random) -> str:
    op = draw.choices("cud", [20, 70, 10])[0]
    row = {
        "id": n, "name": f"name {n}", "email": f"user{n}@example.org", "amount": (n * 100).to_bytes(5, "big"),
        "qty": n % 1000, "created": 1_700_000_000_000_000 + n, "updated": "2023-11-14T22:13:20.123456Z",
        "status": "open", "score": n / 7, "note": "x" * 50 if n % 3 else None,
    }  # fmt: skip
    source = {
        "version": "3", "connector": "postgresql", "name": "srv", "ts_ms": 1_700_000_000_000 + n, "db": "main",
        "sequence": f'["{n}","{n}"]', "ts_us": 1_700_000_000_000_000 + n, "schema": "shop", "table": "items",
        "txId": n, "lsn": n,
    }  # fmt: skip
    event = {
        "before": row if op != "c" else None, "after": row if op != "d" else None, "source": source,
        "transaction": None, "op": op, "ts_ms": 1_700_000_001_000,
    }  # fmt: skip
    return framed.message(framed.frame(2, ENVELOPE, event), framed.frame(1, KEY, {"id": n}))


def lines_of(
    spark: SparkSession, folder: Path, name: str, line: Callable[[int, random.Random], str], size: int
) -> DataFrame:
    """So many lines, each of `DISTINCT` again and again, in memory, so that no disk is measured."""
    draw, file = random.Random(1), folder / f"{name}.txt"
    count = min(DISTINCT, size)
    file.write_text("".join(line(n, draw) + "\n" for n in range(count)), encoding="utf-8")
    again = spark.range(max(1, size // count)).drop("id")
    told = spark.read.text(str(file)).crossJoin(again)
    numbered = told.select(
        F.lit(f"{name}.txt").alias("file"), F.monotonically_increasing_id().alias("line"), F.col("value").alias("text")
    )
    return numbered.repartition(1).localCheckpoint()


def seconds(frame: DataFrame) -> float:
    """The least of several runs: a JVM that has just begun compiles for some of them."""
    found = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
        found.append(time.perf_counter() - begin)
    return min(found)


def steps(
    lines: DataFrame, spec: TableSpec, schema: object, body: Callable[[DataFrame], DataFrame]
) -> Iterator[tuple[str, DataFrame]]:
    """What is timed, one after the other."""
    bodies = body(messages(lines))
    yield "base64", bodies
    yield "from_avro", bodies.select(from_avro(ended(F.col("body")), schema).alias("read"))
    events = envelopes(lines, spec.source, {spec.table: spec.keys})
    yield "envelopes", events
    # Stored first, as a run does: Spark would push the filter below the decoding, written out in full.
    changes = events.localCheckpoint().where((F.col("kind") == "change") & (F.col("table") == spec.table))
    yield "rows", decode_rows(changes, discover(changes, spec), spec)


def specs_of(project: ProjectSpec, folder: Path) -> dict[str, TableSpec]:
    schemas = framed.schemas_file(folder, {1: KEY, 2: ENVELOPE})
    sources = {"dts-avro": {"format": "dts-avro"}, "debezium-avro": {"format": "debezium-avro", "schemas": schemas}}
    return {
        name: table_spec({"table": "shop.items", "source": source | {"path": str(folder)}, "keys": ["id"]}, project)
        for name, source in sources.items()
    }


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("--records", type=int, default=100_000)
    given.add_argument("--work", type=Path)
    options = given.parse_args()
    folder = options.work or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    project = load_project(start=folder)
    project = ProjectSpec(
        folder, None, project.catalog, "silt", SparkSpec("local[1]", {"spark.driver.memory": "3g"}), project.quality
    )
    specs, spark = specs_of(project, folder), spark_session(project)
    whole = {"type": "record", "name": "b", "fields": [{"name": "b", "type": without_logical_types(ENVELOPE)}]}
    cases = {
        "dts-avro": (dts_line, record_schema(), lambda found: found.select(F.col("value").alias("body"))),
        "debezium-avro": (
            framed_line, whole, lambda found: found.select(F.substring("value", 6, 2**31 - 1).alias("body")),
        ),
    }  # fmt: skip
    for name, (line, schema, body) in cases.items():
        lines = lines_of(spark, folder, name, line, options.records)
        size = lines.agg(F.count("*"), F.avg(F.length("text") * 0.75)).first()
        assert size is not None
        print(f"{name}: {size[0]} records of {size[1]:.0f} bytes")
        for step, frame in steps(lines, specs[name], schema, body):
            print(f"  {step}: {size[0] / seconds(frame):,.0f} a second", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
