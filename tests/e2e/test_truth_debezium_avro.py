"""Records that were recorded both as JSON and as framed Avro give the same tables from both encodings."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, TableSpec
from tests.e2e.truth_runs import Run, a_project, needs_recordings
from tests.recorded_tables import POSTGRESQL, Table
from tests.recordings import DATA, lines

pytestmark = [pytest.mark.slow, needs_recordings]
RECORDING, SCHEMAS = DATA / "postgresql/events.avro.jsonl.gz", DATA / "postgresql/events.avro.schemas.json.gz"
TABLES = tuple(POSTGRESQL.values())
# Columns that this recording has and the other recordings do not have.
ADDED = {"inventory.customers": {"avro_added": "double", "avro_added2": "double"}}


def spec_of(project: ProjectSpec, table: Table, source: dict[str, Any], declared: bool) -> TableSpec:
    name = table.name.replace(".", "_")
    columns = {column: value.type for column, value in table.columns.items()} | ADDED.get(table.name, {})
    mapping = {
        "table": table.name,
        "source": source,
        "keys": list(table.keys),
        "target": {"latest": f"{project.namespace}.{name}", "history": f"{project.namespace}.{name}_history"},
    }
    return table_spec(mapping | ({"columns": columns} if declared else {}), project)


def taken(
    spark: SparkSession, project: ProjectSpec, source: dict[str, Any], declared: bool = True, tables: Any = TABLES
) -> Run:
    specs = [spec_of(project, table, source, declared) for table in tables]
    report = catch_up(project, specs, spark)
    assert [(table.table, table.error) for table in report.tables if table.exit_code] == []
    assert report.sources[0].rejected == 0
    return Run(spark, specs, [report])


@pytest.fixture(scope="module")
def as_json(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("avro_json")
    fields = ("topic", "partition", "key", "value")
    events = [json.dumps({name: json.loads(line)[name] for name in fields}) + "\n" for line in lines(RECORDING)]
    (folder / "events.jsonl").write_text("".join(events), encoding="utf-8")
    source = {"format": "debezium-json", "path": str(folder / "events.jsonl")}
    return taken(spark, a_project(catalog, folder, "avro_json"), source)


@pytest.fixture(scope="module")
def as_avro(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Run:
    project = a_project(catalog, tmp_path_factory.mktemp("avro"), "avro")
    return taken(spark, project, {"format": "debezium-avro", "path": str(RECORDING), "schemas": str(SCHEMAS)})


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_both_encodings_give_the_same_history_and_latest(as_json: Run, as_avro: Run, table: Table) -> None:
    assert as_avro.rows(table)
    assert as_avro.stored(table) == as_json.stored(table)


def test_both_encodings_give_the_same_counts(as_json: Run, as_avro: Run) -> None:
    (one,), (other,) = as_json.reports[0].sources, as_avro.reports[0].sources
    assert (one.read, one.taken, one.control, one.other_tables) == (
        other.read, other.taken, other.control, other.other_tables,
    )  # fmt: skip


def test_framed_records_in_parquet_files_give_the_types_of_their_schemas(
    spark: SparkSession, project: ProjectSpec, as_json: Run
) -> None:
    import base64

    records = [json.loads(line) for line in lines(RECORDING)]
    columns = {
        name: [one[f"{name}_avro"] and base64.b64decode(one[f"{name}_avro"]) for one in records]
        for name in ("key", "value")
    }
    events: Path = project.root / "events"
    events.mkdir()
    pq.write_table(pa.table(columns | {"topic": [one["topic"] for one in records]}), events / "part-0.parquet")
    customers = POSTGRESQL["inventory.customers"]
    source = {"format": "debezium-avro", "path": str(events), "schemas": str(SCHEMAS)}
    run = taken(spark, project, source, declared=False, tables=[customers])
    found = {row["id"]: customers.canonical(row, "stored") for row in run.rows(customers)}
    assert found == {row["id"]: customers.canonical(row, "stored") for row in as_json.rows(customers)}
    kinds = {
        field.name: field.dataType.simpleString() for field in spark.table(f"lake.{run.specs[0].target.latest}").schema
    }
    assert (kinds["balance"], kinds["birthday"], kinds["tags"]) == ("decimal(12,2)", "date", "array<string>")
