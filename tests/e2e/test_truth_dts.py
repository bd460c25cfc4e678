"""Samples of Alibaba DTS Avro records, in both generations, through the engine give their documented rows."""

import base64
import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession

from siltstone.engine.report import RunReport
from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec
from tests.e2e.truth_runs import needs_recordings
from tests.recordings import DATA

pytestmark = needs_recordings
SAMPLES = ("mydb_t1", "drds_insert", "begin_control")
TABLES = {"mydb.t1": "t1", "test_drds_hzy.sample_order_real": "orders"}


def messages(sample: str, generation: str) -> list[bytes]:
    return [base64.b64decode(text) for text in (DATA / f"dts/samples/{sample}{generation}").read_text().split()]


def as_lines(folder: Path, generation: str) -> None:
    for sample in SAMPLES:
        text = "".join(base64.b64encode(data).decode() + "\n" for data in messages(sample, generation))
        (folder / f"{sample}.txt").write_text(text)


def as_files(folder: Path, generation: str) -> None:
    """Write Avro files with one column of bytes, as sinks of object stores do."""
    schema = {"type": "record", "name": "m", "fields": [{"name": "body", "type": "bytes"}]}
    for sample in SAMPLES:
        found = io.BytesIO()
        fastavro.writer(found, schema, [{"body": data} for data in messages(sample, generation)])
        (folder / f"{sample}.avro").write_bytes(found.getvalue())


def run(spark: SparkSession, project: ProjectSpec) -> RunReport:
    specs = [
        table_spec(
            {
                "table": table,
                "source": {"format": "dts-avro", "path": "events"},
                "target": {"latest": f"{project.namespace}.{name}", "history": f"{project.namespace}.{name}_h"},
            },
            project,
        )
        for table, name in TABLES.items()
    ]
    report = catch_up(project, specs, spark)
    assert [(table.table, table.error) for table in report.tables if table.exit_code] == []
    return report


def rows(spark: SparkSession, project: ProjectSpec, name: str) -> list[dict[str, Any]]:
    found = [row.asDict() for row in spark.table(f"lake.{project.namespace}.{name}").collect()]
    return sorted(found, key=lambda row: row["_position"])


def second(moment: datetime | None) -> str | None:
    return moment and moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    ("write", "generation"),
    [
        (as_lines, ".base64.txt"),
        pytest.param(as_lines, ".noborn.base64.txt", marks=pytest.mark.slow),
        (as_files, ".base64.txt"),
    ],
    ids=["lines", "lines of the older generation", "one column of bytes"],
)
def test_the_samples_give_the_documented_rows(
    spark: SparkSession, project: ProjectSpec, write: Any, generation: str
) -> None:
    (project.root / "events").mkdir()
    write(project.root / "events", generation)
    report = run(spark, project)
    (source,) = report.sources
    assert (source.read, source.taken, source.control, source.rejected) == (
        6, {"mydb.t1": 3, "test_drds_hzy.sample_order_real": 1}, 2, 0,
    )  # fmt: skip
    assert rows(spark, project, "t1") == []
    versions = [
        (row["a"], row["b"], row["_op"], second(row["_valid_from"]), second(row["_valid_to"]))
        for row in rows(spark, project, "t1_h")
    ]
    assert versions == [
        (123456789, "test insert statement.", "insert", "2023-10-11T00:33:28Z", "2023-10-11T00:35:17Z"),
        (123456789, "test update statement.", "update", "2023-10-11T00:35:17Z", "2023-10-11T00:36:00Z"),
        (123456789, None, "delete", "2023-10-11T00:36:00Z", None),
    ]
    (order,) = rows(spark, project, "orders")
    names = ("id", "seller_id", "trade_id", "buyer_id", "buyer_nick")
    assert [order[name] for name in names] == [10000, 11, 122, 33, "aaas"]
    kinds = [row["kind"] for row in spark.table(f"lake.{project.namespace}.control").orderBy("kind").collect()]
    assert kinds == ["ddl", "transaction_begin"]
