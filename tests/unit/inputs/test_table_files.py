"""The data files of an Iceberg table: which there were at a time, and whether they still are what was taken."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from engine.inputs.containers import data_files, read_parts, rows_by_file, table_rows
from engine.inputs.listing import Look
from engine.inputs.pending import Taken
from engine.run.rejected import as_taken
from engine.spec.model import ProjectSpec, SourceSpec
from engine.table.catalog import create_namespace, load


@pytest.fixture
def feed(spark: SparkSession, project: ProjectSpec) -> SourceSpec:
    """A table of two commits, each with a file of three rows."""
    name = f"{project.namespace}.feed"
    create_namespace(spark, "lake", name)
    spark.sql(f"CREATE TABLE lake.{name} (id int) USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    for first in (1, 11):
        spark.range(first, first + 3).selectExpr("CAST(id AS int)").coalesce(1).writeTo(f"lake.{name}").append()
    return SourceSpec("rows", name, table=name)


def test_files_committed_later_than_the_bound_wait(spark: SparkSession, feed: SourceSpec) -> None:
    asked = f"SELECT unix_millis(committed_at) AS at, snapshot_id FROM lake.{feed.table}.snapshots ORDER BY at"
    (first, oldest), (second, _) = spark.sql(asked).collect()

    def listed(until_ms: int) -> list[str]:
        return [file.path for file in data_files(spark, feed, "lake", until_ms)]

    assert [len(listed(bound)) for bound in (first - 1, first, second - 1, second)] == [0, 1, 1, 2]
    old = listed(first)
    load(spark, "lake", str(feed.table)).expireSnapshots().expireSnapshotId(oldest).commit()
    assert [listed(bound) for bound in (second - 1, second)] == [[], listed(second)]
    assert old[0] in listed(second)


def test_a_file_is_what_was_taken_while_the_table_has_all_its_rows(spark: SparkSession, feed: SourceSpec) -> None:
    look, rows = Look(spark), rows_by_file(spark, feed, "lake")
    files = data_files(spark, feed, "lake")
    taken = {f.path: Taken(f.size, 0, look.fingerprint(f.path, f.size), rows[f.path]) for f in files}

    def still() -> set[str]:
        return set(as_taken(spark, feed, "lake", taken))

    assert (set(rows.values()), still()) == ({3}, {file.path for file in files})
    (first,) = {row[0] for row in spark.sql(f"SELECT _file FROM lake.{feed.table} WHERE id = 1").collect()}
    spark.sql(f"DELETE FROM lake.{feed.table} WHERE id = 2")
    assert still() == set(taken) - {first}
    spark.sql(f"DELETE FROM lake.{feed.table} WHERE id > 10")
    assert still() == set()
    spark.sql(f"DROP TABLE lake.{feed.table}")
    assert still() == set()


@pytest.mark.parametrize("gone", [1, 2, 3])
def test_rows_are_numbered_without_those_that_are_gone(spark: SparkSession, feed: SourceSpec, gone: int) -> None:
    """A file is taken with as many lines as it has rows: no line may lie beyond."""
    spark.sql(f"DELETE FROM lake.{feed.table} WHERE id = {gone}")
    paths = [file.path for file in data_files(spark, feed, "lake")]
    found = table_rows(spark, f"lake.{feed.table}", paths).where("record.id < 10").orderBy("row")
    numbers = [(row["row"], row["record"]["id"]) for row in found.collect()]
    assert numbers == list(enumerate([key for key in (1, 2, 3) if key != gone], 1))


def test_a_table_is_loaded_as_often_for_many_files_as_for_one(
    spark: SparkSession, feed: SourceSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, loaded, table = data_files(spark, feed, "lake"), [], SparkSession.table

    def counting(session: SparkSession, name: str) -> DataFrame:
        loaded.append(name)
        return table(session, name)

    monkeypatch.setattr(SparkSession, "table", counting)
    (part,) = read_parts(spark, files[:1], feed, "lake")
    once = len(loaded)
    (whole,) = read_parts(spark, files, feed, "lake")
    assert (len(files), len(loaded), whole.schema) == (2, 2 * once, part.schema)
    assert whole.rows.count() == 6
    assert read_parts(spark, [], feed, "lake") == []
