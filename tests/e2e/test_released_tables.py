"""This version reads and continues the tables that a release wrote."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.layout_version import LAYOUT_VERSION
from siltstone.engine.session import spark_session
from siltstone.engine.spec import load_project
from siltstone.engine.table.catalog import properties_of
from tests.crash.disk_project import GAP_IS_OPEN, DiskProject
from tests.crash.shop import CHANGES, OF_THE_CLOCK, TARGETS, third_events
from tests.e2e.released_lake import unpacked
from tests.e2e.store_projects import output_of

Capsys = pytest.CaptureFixture[str]
RELEASES = ("0.1.0",)
REFUSED = (
    ["catch-up"],
    ["plan"],
    ["rebuild"],
    ["maintain"],
    ["verify"],
    ["explain", "shop.things", "--key", "id=1"],
    ["show", "shop.things", "--history"],
)


@pytest.fixture(scope="module", params=RELEASES)
def released(request: pytest.FixtureRequest, spark: SparkSession) -> DiskProject:
    """The project of a release; its catalog is known to the session `spark`."""
    project = unpacked(request.param)
    spark_session(load_project(project.root))
    assert spark.catalog.tableExists(project.identifier("shop_things"))
    return project


def live(project: DiskProject, capsys: Capsys) -> list[tuple[int, str, int]]:
    rows = json.loads(output_of(capsys, project.root, "show", "shop.things", "--json"))
    return sorted((row["id"], row["name"], row["n"]) for row in rows)


def test_tables_and_columns_have_comments(released: DiskProject, spark: SparkSession, capsys: Capsys) -> None:
    of_source = {"id", "name", "n"}
    output_of(capsys, released.root, "rejects", "dismiss", "b.jsonl", "--reason", "not needed")  # PyIceberg writes it
    for table in (*TARGETS, *CHANGES, *set(names.LEDGER_TABLES) - {names.REPLAYS}):
        name = released.identifier(table)
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
        columns = {row["col_name"]: row["comment"] for row in rows[: len(spark.table(name).columns)]}
        assert {column for column, comment in columns.items() if not comment} <= of_source, table
        (comment,) = [row["data_type"] for row in rows if row["col_name"] == "Comment"]
        assert comment.endswith("Written by siltstone"), table
        assert properties_of(spark, released.lake.name, f"silt.{table}")[names.PROPERTY_LAYOUT] == str(LAYOUT_VERSION)


@pytest.mark.slow
def test_a_table_of_a_newer_layout_is_refused_by_every_command(
    released: DiskProject, spark: SparkSession, capsys: Capsys
) -> None:
    tables = ("shop_things", "shop_things_h", "shop_things_changes")
    before = {table: released.rows(spark, table) for table in tables}
    change = f"ALTER TABLE {released.identifier('shop_things_h')} SET TBLPROPERTIES ('{names.PROPERTY_LAYOUT}' = '%s')"
    spark.sql(change % "2")
    try:
        for arguments in REFUSED:
            message = output_of(capsys, released.root, *arguments, ends=6)
            assert "a newer siltstone wrote it. Its layout has version 2" in message, arguments
    finally:
        spark.sql(change % LAYOUT_VERSION)
    assert {table: released.rows(spark, table) for table in tables} == before


def test_the_tables_of_a_release_are_read_and_continued(
    released: DiskProject, spark: SparkSession, capsys: Capsys
) -> None:
    two_batches = [(1, "Charlie", 0), (2, "as streamed", 0), (3, "as streamed", 0), (4, "as read", 0), (6, "Fay", 0)]
    assert live(released, capsys) == two_batches
    history = len(released.rows(spark, "shop_things_h", OF_THE_CLOCK))
    assert "orphan" in output_of(capsys, released.root, "gaps", "list")
    (released.events / "c.jsonl").write_text("".join(third_events()), encoding="utf-8")
    assert released.run_command("catch-up") == GAP_IS_OPEN
    assert live(released, capsys) == [*two_batches[:-1], (6, "Fay again", 0)]
    assert len(released.rows(spark, "shop_things_h", OF_THE_CLOCK)) == history + 1
    assert released.run_command("verify") == 0
