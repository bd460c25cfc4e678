"""The data files of an Iceberg table: their list at a time, and whether they are still the taken files."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from siltstone.engine.ingest.open_rejects import unchanged_files
from siltstone.engine.inputs.iceberg_files import data_files, rows_by_file, table_parts
from siltstone.engine.inputs.listing import FileProbe
from siltstone.engine.inputs.pending_files import Taken
from siltstone.engine.spec.model import ProjectSpec, SourceSpec
from siltstone.engine.table.catalog import create_namespace, load


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
    query = f"SELECT unix_millis(committed_at) AS at, snapshot_id FROM lake.{feed.table}.snapshots ORDER BY at"
    (first, oldest), (second, _) = spark.sql(query).collect()

    def listed(until_ms: int) -> list[str]:
        return [file.path for file in data_files(spark, feed, "lake", until_ms)]

    assert [len(listed(bound)) for bound in (first - 1, first, second - 1, second)] == [0, 1, 1, 2]
    old = listed(first)
    load(spark, "lake", str(feed.table)).expireSnapshots().expireSnapshotId(oldest).commit()
    assert [listed(bound) for bound in (second - 1, second)] == [[], listed(second)]
    assert old[0] in listed(second)


def test_a_taken_file_is_unchanged_while_the_table_has_all_its_rows(spark: SparkSession, feed: SourceSpec) -> None:
    probe, rows = FileProbe(), rows_by_file(spark, feed, "lake")
    files = data_files(spark, feed, "lake")
    taken = {f.path: Taken(f.size, 0, probe.fingerprint(f.path, f.size), rows[f.path]) for f in files}

    def still() -> set[str]:
        return set(unchanged_files(spark, feed, "lake", taken))

    assert (set(rows.values()), still()) == ({3}, {file.path for file in files})
    (first,) = {row[0] for row in spark.sql(f"SELECT _file FROM lake.{feed.table} WHERE id = 1").collect()}
    spark.sql(f"DELETE FROM lake.{feed.table} WHERE id = 2")
    assert still() == set(taken) - {first}
    spark.sql(f"DELETE FROM lake.{feed.table} WHERE id > 10")
    assert still() == set()
    spark.sql(f"DROP TABLE lake.{feed.table}")
    assert still() == set()


@pytest.mark.parametrize("gone", [1, 2, 3])
def test_line_numbers_skip_deleted_rows(spark: SparkSession, feed: SourceSpec, gone: int) -> None:
    """A file has as many lines as rows, so no line number can be greater."""
    spark.sql(f"DELETE FROM lake.{feed.table} WHERE id = {gone}")
    paths = [file.path for file in data_files(spark, feed, "lake")]
    found = rows_of(spark, feed, paths).where("record.id < 10").orderBy("row")
    numbers = [(row["row"], row["record"]["id"]) for row in found.collect()]
    assert numbers == list(enumerate([key for key in (1, 2, 3) if key != gone], 1))


def test_a_table_is_not_loaded_more_often_for_many_files(
    spark: SparkSession, feed: SourceSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, loaded, table = data_files(spark, feed, "lake"), [], SparkSession.table

    def counting(session: SparkSession, name: str) -> DataFrame:
        loaded.append(name)
        return table(session, name)

    monkeypatch.setattr(SparkSession, "table", counting)
    paths = [file.path for file in files]
    (part,) = table_parts(spark, feed, "lake", paths[:1])
    once = len(loaded)
    (whole,) = table_parts(spark, feed, "lake", paths)
    assert (len(files), len(loaded), whole.columns) == (2, 2 * once, part.columns)
    assert whole.rows(spark).count() == 6


def append(spark: SparkSession, feed: SourceSpec, values: str) -> None:
    spark.sql(f"INSERT INTO lake.{feed.table} SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")


def rows_of(spark: SparkSession, feed: SourceSpec, paths: list[str]) -> DataFrame:
    (part,) = table_parts(spark, feed, "lake", paths)
    return part.rows(spark)


def opened(spark: SparkSession, feed: SourceSpec, paths: list[str]) -> list[str]:
    """The files that are read to find the rows of these files."""
    (part,) = table_parts(spark, feed, "lake", paths)
    found = spark.read.options(**part.since).table(part.name).select("_file").distinct().collect()
    return sorted(row["_file"] for row in found)


def test_new_files_are_read_without_those_before_them(spark: SparkSession, feed: SourceSpec) -> None:
    first, second = by_age(spark, feed)
    assert opened(spark, feed, [second]) == [second]
    assert opened(spark, feed, [first]) == opened(spark, feed, [first, second]) == sorted([first, second])
    append(spark, feed, "(21)")
    third = by_age(spark, feed)[-1]
    assert opened(spark, feed, [third]) == [third]
    assert opened(spark, feed, [second]) == [second]
    assert opened(spark, feed, [third, second]) == sorted([second, third])
    before = spark.sql(f"SELECT snapshot_id FROM lake.{feed.table}.snapshots ORDER BY committed_at").collect()[:2]
    expiring = load(spark, "lake", str(feed.table)).expireSnapshots()
    for row in before:
        expiring = expiring.expireSnapshotId(row["snapshot_id"])
    expiring.commit()
    assert opened(spark, feed, [third]) == [third]
    assert opened(spark, feed, [second]) == sorted([first, second, third])


def by_age(spark: SparkSession, feed: SourceSpec) -> list[str]:
    rows = spark.sql(
        f"SELECT data_file.file_path FROM lake.{feed.table}.entries WHERE status < 2 ORDER BY sequence_number"
    )
    return [row["file_path"] for row in rows.collect()]


def test_after_a_rewrite_or_a_delete_every_file_is_searched(spark: SparkSession, feed: SourceSpec) -> None:
    spark.sql(f"CALL lake.system.rewrite_data_files('{feed.table}', options => map('rewrite-all', 'true'))").collect()
    append(spark, feed, "(21)")
    rewritten, last = by_age(spark, feed)
    assert opened(spark, feed, [last]) == [last]
    assert opened(spark, feed, [rewritten]) == sorted([rewritten, last])
    spark.sql(f"DELETE FROM lake.{feed.table} WHERE id = 21")
    rows = rows_of(spark, feed, [rewritten, last])
    assert sorted(row["record"]["id"] for row in rows.collect()) == [1, 2, 3, 11, 12, 13]


def columns_of(spark: SparkSession, feed: SourceSpec, paths: list[str]) -> dict[str, list[str]]:
    return {path: part.columns.names for part in table_parts(spark, feed, "lake", paths) for path in part.paths}


@pytest.mark.parametrize("form", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("counts", ["counts", "none"])
def test_each_file_has_the_columns_with_which_it_was_written(
    spark: SparkSession, feed: SourceSpec, form: str, counts: str
) -> None:
    """With any metrics in the metadata: a file that was written before a column was added has the same columns later.
    Avro files have no metrics."""
    name = f"lake.{feed.table}"
    settings = f"'write.format.default'='{form}', 'write.metadata.metrics.default'='{counts}'"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({settings})")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN gone string")
    append(spark, feed, "(21, 'x')")
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS (part struct<a: int, list: array<map<string, int>>>, `a b` string)")
    append(spark, feed, "(31, 'x', named_struct('a', 1, 'list', array()), null)")
    spark.sql(f"ALTER TABLE {name} DROP COLUMN gone")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN `a b` TO other")
    append(spark, feed, "(41, null, 'y')")
    paths = by_age(spark, feed)
    found = columns_of(spark, feed, paths)
    whole = ["id", "part", "other"]
    assert [found[path] for path in paths] == [["id"], ["id"], whole if form == "avro" else ["id"], whole, whole]
    parts = table_parts(spark, feed, "lake", [file.path for file in data_files(spark, feed, "lake")])
    rows = [row["record"].asDict() for part in parts for row in part.rows(spark).collect()]
    assert {"id": 41, "part": None, "other": "y"} in rows
    assert {"id": 1} in rows


@pytest.mark.parametrize("counts", ["counts", "none"])
def test_a_column_without_metrics_is_present(spark: SparkSession, feed: SourceSpec, counts: str) -> None:
    """Lists and maps, texts that are too long for metrics, and columns of nulls only."""
    name = f"lake.{feed.table}"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.metadata.metrics.default'='{counts}')")
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS (long string, nothing int, tags array<string>)")
    append(spark, feed, "(21, repeat('x', 9000), null, array('a'))")
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS (marks map<string, struct<n: int>>)")
    append(spark, feed, "(31, repeat('x', 9000), null, array(), map('a', named_struct('n', 1)))")
    append(spark, feed, "(32, repeat('x', 9000), null, null, null)")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN other string")
    append(spark, feed, "(41, null, null, null, null, null)")
    paths, whole = by_age(spark, feed), ["id", "long", "nothing", "tags", "marks", "other"]
    found = columns_of(spark, feed, paths)
    assert [found[path] for path in paths] == [["id"], ["id"], whole[:4], whole[:5], whole[:5], whole]


def test_files_of_another_writer_have_the_columns_of_their_ids(
    spark: SparkSession, feed: SourceSpec, tmp_path: Path
) -> None:
    """Files that were added without a rewrite have no column ids: the table maps column names, or their order."""
    name = f"lake.{feed.table}"
    spark.sql(f"ALTER TABLE {name} ADD COLUMNS (at timestamp, tags array<string>)")
    kind_of_times = "spark.sql.parquet.outputTimestampType"
    spark.conf.set(kind_of_times, "INT96")
    try:
        rows = spark.sql("SELECT 51 AS id, timestamp'2024-01-01 00:00:00' AS at, array('a') AS tags").coalesce(1)
        rows.write.parquet(str(tmp_path / "added"))
    finally:
        spark.conf.unset(kind_of_times)
    spark.sql(f"CALL lake.system.add_files('{feed.table}', '`parquet`.`{tmp_path}/added`')").collect()
    spark.sql(f"ALTER TABLE {name} ADD COLUMN other string")
    *_, added = by_age(spark, feed)
    assert columns_of(spark, feed, [added]) == {added: ["id", "at", "tags"]}


def test_a_file_that_left_the_table_meanwhile_has_no_rows(spark: SparkSession, feed: SourceSpec) -> None:
    paths = by_age(spark, feed)
    spark.sql(f"CALL lake.system.rewrite_data_files('{feed.table}', options => map('rewrite-all', 'true'))").collect()
    assert rows_of(spark, feed, paths).count() == 0
