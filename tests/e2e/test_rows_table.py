"""Rows from an Iceberg table: a commit limits a run, and a reread needs all rows that earlier runs read."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.report import FAILED, NOTHING_NEW, PLANNED, REBUILT
from siltstone.engine.run import catch_up, plan, reread
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.table.catalog import create_namespace
from tests.e2e.streams import Shop


@pytest.mark.slow
def test_a_run_reads_a_table_up_to_a_commit_and_a_reread_needs_its_files(
    spark: SparkSession, project: ProjectSpec
) -> None:
    shop, feed = Shop(spark, project), f"{project.namespace}.feed"
    create_namespace(spark, "lake", feed)
    spark.sql(f"CREATE TABLE lake.{feed} (id int, name string, n int) USING iceberg")
    for values in ("(1, 'Alice', 1), (2, 'Bob', 2)", "(1, 'Alicia', 3)"):
        spark.sql(f"INSERT INTO lake.{feed} SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")
    name = f"{project.namespace}.shop_things"
    source = {"format": "rows", "table": feed, "sequence_by": "n"}
    target = {"latest": name, "history": f"{name}_h"}
    spec = table_spec({"table": "shop.things", "source": source, "keys": ["id"], "target": target}, project)
    at = spark.sql(f"SELECT unix_millis(committed_at) FROM lake.{feed}.snapshots ORDER BY 1").collect()[0][0]
    bound = datetime.fromtimestamp(at / 1000, UTC)

    (table,) = catch_up(project, [spec], spark, until=bound).tables
    assert (table.error, table.changes) == (None, 2)
    assert [plan(project, [spec], spark, until=until)[0].status for until in (bound, None)] == [NOTHING_NEW, PLANNED]
    assert shop.taken(spec).changes == 1
    assert reread(project, [spec], spark).tables[0].status == REBUILT
    latest = [(1, "Alicia", 3), (2, "Bob", 2)]
    assert shop.latest() == latest

    (file,) = {row[0] for row in spark.sql(f"SELECT _file FROM lake.{feed} WHERE id = 2").collect()}
    spark.sql(f"DELETE FROM lake.{feed} WHERE n < 3")
    tables = ("shop_things_changes", "shop_things_h", "shop_things", "control")
    before = [shop.snapshots(each) for each in tables]
    (refused,) = reread(project, [spec], spark).tables
    assert (refused.status, refused.exit_code) == (FAILED, 3)
    assert f"1 of 2 files are gone, or are not what was taken ({file})." in str(refused.error)
    assert [shop.snapshots(each) for each in tables] == before
    assert shop.latest() == latest


@pytest.mark.slow
@pytest.mark.parametrize("runs", [1, 2, 3])
def test_the_value_of_a_column_that_was_added_later_does_not_depend_on_the_number_of_runs(
    spark: SparkSession, project: ProjectSpec, runs: int
) -> None:
    """The row with the greater n is older than the column, and takes the value from the row with the lower n."""
    shop, feed = Shop(spark, project), f"{project.namespace}.feed"
    create_namespace(spark, "lake", feed)
    name = f"{project.namespace}.shop_things"
    source = {"format": "rows", "table": feed, "sequence_by": "n", "columns": {"except": ["n"]}}
    target = {"latest": name, "history": f"{name}_h"}
    spec = table_spec({"table": "shop.things", "source": source, "keys": ["id"], "target": target}, project)
    for number, statement in enumerate([
        "CREATE TABLE lake.{feed} (id int, n int, name string) USING iceberg",
        "INSERT INTO lake.{feed} VALUES (1, 10, 'Alice'), (2, 1, 'Bob')",
        "ALTER TABLE lake.{feed} ADD COLUMN city string",
        "INSERT INTO lake.{feed} VALUES (1, 5, 'Al', 'Bonn')",
        "INSERT INTO lake.{feed} VALUES (2, 2, 'Bob', null), (3, 3, 'Cy', 'Cork')",
    ]):  # fmt: skip
        spark.sql(statement.format(feed=feed))
        if number in (1, 3, 4)[3 - runs :]:
            assert shop.taken(spec).error is None
    columns = ("id", "name", "city")
    found = spark.table(f"lake.{name}").select(*columns).orderBy("id").collect()
    assert [tuple(row) for row in found] == [(1, "Alice", "Bonn"), (2, "Bob", None), (3, "Cy", "Cork")]
    assert reread(project, [spec], spark).tables[0].status == REBUILT
    assert spark.table(f"lake.{name}").select(*columns).orderBy("id").collect() == found
