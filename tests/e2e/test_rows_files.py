"""The same rows give the same tables from every kind of file and from an Iceberg table."""

import re
from collections.abc import Sequence
from pathlib import Path

import fastavro
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, TableSpec
from tests.e2e.truth_runs import a_project

pytestmark = pytest.mark.slow

SCHEMA = (
    "id int, name string, price decimal(38,10), seen timestamp, at timestamp_ntz, born date, photo binary,"
    " ok boolean, share double, tags array<string>, op string, moment timestamp, n bigint"
)
ROWS = """
 (1, 'Ann "A", Ö\U0001f600', 1234567890123456789012345678.0123456789, '2024-02-29T12:00:00.123456Z',
  '1582-10-04T00:00:00.5', '0001-01-01', X'00FF', true, 'NaN', '["a",null]', 'U', '2024-01-01T00:00:00Z', 1),
 (1, '', -0.0000000001, '9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999', '9999-12-31', X'', false,
  '-1.5e300', '[]', 'U', '2024-01-01T00:00:00Z', 10),
 (1, 'between', 0, null, null, null, null, null, null, null, 'U', '2024-01-01T00:00:00Z', 9),
 (2, null, null, null, null, null, null, null, null, null, 'U', '2024-01-01T00:00:00.000001Z', 1),
 (3, 'gone', 1, null, null, null, null, null, 'Infinity', null, 'U', '2024-01-01T00:00:00Z', -5),
 (3, null, null, null, null, null, null, null, null, null, 'D', '2024-01-01T00:00:00Z', -4)
"""
DECLARED = {
    "id": "int", "name": "string", "price": "decimal(38,10)", "seen": "timestamp", "at": "timestamp_ntz",
    "born": "date", "photo": "binary", "ok": "boolean", "share": "double", "tags": "array<string>",
}  # fmt: skip
TYPED = ("parquet", "avro", "table")
KINDS = {
    "int": "int", "bigint": "long", "string": "string", "boolean": "boolean", "double": "double", "binary": "bytes",
    "decimal(38,10)": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamp_ntz": {"type": "long", "logicalType": "local-timestamp-micros"},
    "date": {"type": "int", "logicalType": "date"},
    "array<string>": {"type": "array", "items": ["null", "string"]},
}  # fmt: skip
AVRO = {
    "type": "record",
    "name": "rows",
    "fields": [
        {"name": name, "type": ["null", KINDS[kind]]}
        for name, kind in (field.strip().split(" ") for field in re.split(r",(?!\d)", SCHEMA))
    ],
}


def rows(spark: SparkSession) -> DataFrame:
    schema = T._parse_datatype_string(SCHEMA)
    assert isinstance(schema, T.StructType)
    given = spark.sql(f"SELECT * FROM VALUES {ROWS}").toDF(*schema.names)
    typed = {field.name: F.col(field.name).cast(field.dataType) for field in schema if field.name != "tags"}
    typed["tags"] = F.from_json("tags", "array<string>").alias("tags")
    return given.select(*[typed[name] for name in schema.names]).coalesce(1)


def write(kind: str, frame: DataFrame, folder: Path, namespace: str) -> None:
    if kind == "table":
        frame.writeTo(f"lake.{namespace}.fed").using("iceberg").create()
    elif kind == "csv":
        texts = {"photo": "base64(photo)", "tags": "to_json(tags, map('ignoreNullFields', 'false'))"}
        chosen = frame.selectExpr(
            *[f"{texts.get(name, f'CAST({name} AS STRING)')} AS {name}" for name in frame.columns]
        )
        chosen.write.options(header=True, escape='"', emptyValue='""', nullValue="").csv(str(folder))
    elif kind == "json":
        options = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
        frame.write.options(timestampNTZFormat="yyyy-MM-dd'T'HH:mm:ss.SSSSSS", **options).json(str(folder))
    elif kind == "avro":
        folder.mkdir()
        with (folder / "rows.avro").open("wb") as out:
            fastavro.writer(out, fastavro.parse_schema(AVRO), frame.toArrow().to_pylist())
    else:
        frame.write.format(kind).save(str(folder))


@pytest.fixture(scope="module")
def tables(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> dict[str, TableSpec]:
    project: ProjectSpec = a_project(catalog, tmp_path_factory.mktemp("files"), "files")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.files")
    specs = {}
    for kind in ("json", "csv", "parquet", "avro", "table"):
        write(kind, rows(spark), project.root / kind, "files")
        where = {"table": "files.fed"} if kind == "table" else {"path": f"{kind}/*.{kind}"}
        source = {"format": "rows", "sequence_by": ["moment", "n"], "delete_when": "op = 'D'"}
        values = {
            "table": f"shop.{kind}",
            "source": source | where | {"columns": {"except": ["op", "n", "moment"]}},
            "keys": ["id"],
            "target": {"latest": f"files.{kind}", "history": f"files.{kind}_h"},
        }
        specs[kind] = table_spec(values | ({} if kind in TYPED else {"columns": DECLARED}), project)
    specs["bad"] = bad_file(project)
    report = catch_up(project, list(specs.values()), spark)
    assert [table.error for table in report.tables] == [None] * len(specs)
    repeated = catch_up(project, [specs["table"], specs["avro"]], spark)
    assert [table.status for table in repeated.tables] == ["nothing new"] * 2
    return specs


def bad_file(project: ProjectSpec) -> TableSpec:
    """Write a CSV file with a line that lacks a value. Gives the spec of a table with this source."""
    (project.root / "bad").mkdir()
    (project.root / "bad" / "a.tsv").write_text('n\tid\tname\n1\t1\t"two\nlines"\n2\t2\n3\t3\t\n', encoding="utf-8")
    source = {"format": "rows", "path": "bad", "sequence_by": "n", "file_type": "csv", "delimiter": "\t"}
    values = {"table": "shop.bad", "source": source, "keys": ["id"], "rejects": {"max_fraction": 1}}
    return table_spec(values | {"target": {"latest": "files.bad", "history": "files.bad_h"}}, project)


def test_a_line_with_too_few_values_is_rejected_and_the_other_lines_are_loaded(
    spark: SparkSession, tables: dict[str, TableSpec]
) -> None:
    assert stored(spark, tables["bad"].target.latest, ["id", "name"]) == [
        "Row(id='1', name='two\\nlines')",
        "Row(id='3', name=None)",
    ]
    rejects = spark.table("lake.files.rejects").select("line", "reason").collect()
    assert [tuple(row) for row in rejects] == [(2, "not as many values as the file has columns")]


def stored(spark: SparkSession, table: str, columns: Sequence[str]) -> list[str]:
    return sorted(map(repr, spark.table(f"lake.{table}").select(*columns).collect()))


@pytest.mark.parametrize("kind", ["csv", "parquet", "avro", "table"])
def test_every_kind_of_file_gives_the_same_tables_as_json_lines(
    spark: SparkSession, tables: dict[str, TableSpec], kind: str
) -> None:
    lines, other = tables["json"].target, tables[kind].target
    for one, same in ((lines.latest, other.latest), (lines.history, other.history)):
        columns = [name for name in spark.table(f"lake.{one}").columns if name not in ("_batch", "_change_hash")]
        assert {name: stored(spark, same, ["id", name]) for name in columns} == {
            name: stored(spark, one, ["id", name]) for name in columns
        }


def test_latest_has_the_written_values_and_types(spark: SparkSession, tables: dict[str, TableSpec]) -> None:
    names = list(DECLARED)
    found = spark.table(f"lake.{tables['parquet'].target.latest}").select(*names)
    given = rows(spark).where("(id = 1 AND n = 10) OR id = 2").select(*names)
    assert sorted(map(repr, found.collect())) == sorted(map(repr, given.collect()))
    assert [f.dataType for f in found.schema] == [f.dataType for f in given.schema]
