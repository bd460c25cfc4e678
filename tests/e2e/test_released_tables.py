"""This version reads and continues the tables that a release wrote."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.cli import main
from siltstone.engine.layout_version import LAYOUT_VERSION
from siltstone.engine.session import spark_session
from siltstone.engine.spec import load_project
from tests.crash.disk_project import DiskProject
from tests.crash.shop import CHANGES, OF_THE_CLOCK, TARGETS, third_events
from tests.e2e.released_lake import GAP_IS_OPEN, unpacked

Capsys = pytest.CaptureFixture[str]
RELEASES = ("0.1.0",)


@pytest.fixture(scope="module", params=RELEASES)
def released(request: pytest.FixtureRequest, spark: SparkSession) -> DiskProject:
    """The project of a release; its catalog is known to the session `spark`."""
    project = unpacked(request.param)
    spark_session(load_project(project.root))
    assert spark.catalog.tableExists(project.identifier("shop_things"))
    return project


def printed(project: DiskProject, capsys: Capsys, *arguments: str, ends: int = 0) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--project", str(project.file)])
    found = capsys.readouterr()
    assert (ended.value.code or 0) == ends, found
    return f"{found.out}{found.err}" if ends else found.out


def live(project: DiskProject, capsys: Capsys) -> list[tuple[int, str, int]]:
    rows = json.loads(printed(project, capsys, "show", "shop.things", "--json"))
    return sorted((row["id"], row["name"], row["n"]) for row in rows)


def test_tables_and_columns_have_comments(released: DiskProject, spark: SparkSession) -> None:
    of_source = {"id", "name", "n"}
    for table in (*TARGETS, *CHANGES, names.CONTROL, names.INPUTS, names.REJECTS, names.RUNS, names.CHECKS, names.GAPS):
        name = released.identifier(table)
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
        columns = {row["col_name"]: row["comment"] for row in rows[: len(spark.table(name).columns)]}
        assert {column for column, comment in columns.items() if not comment} <= of_source, table
        (comment,) = [row["data_type"] for row in rows if row["col_name"] == "Comment"]
        assert comment.endswith("Written by siltstone"), table


def test_a_table_of_a_newer_layout_is_refused_by_every_command(
    released: DiskProject, spark: SparkSession, capsys: Capsys
) -> None:
    tables = ("shop_things", "shop_things_h", "shop_things_changes")
    before = {table: released.rows(spark, table) for table in tables}
    change = f"ALTER TABLE {released.identifier('shop_things_h')} SET TBLPROPERTIES ('{names.PROPERTY_LAYOUT}' = '%s')"
    spark.sql(change % "2")
    try:
        for arguments in (["catch-up"], ["plan"], ["rebuild"], ["maintain"], ["show", "shop.things", "--history"]):
            message = printed(released, capsys, *arguments, ends=6)
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
    assert "orphan" in printed(released, capsys, "gaps", "list")
    (released.events / "c.jsonl").write_text("".join(third_events()), encoding="utf-8")
    assert released.run_command("catch-up") == GAP_IS_OPEN
    assert live(released, capsys) == [*two_batches[:-1], (6, "Fay again", 0)]
    assert len(released.rows(spark, "shop_things_h", OF_THE_CLOCK)) == history + 1
    assert released.run_command("verify") == 0
