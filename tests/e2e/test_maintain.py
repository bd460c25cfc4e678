"""`maintain`, and automatic maintenance in runs: tables stay small, and their rows do not change."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.run import maintain
from siltstone.engine.spec.model import MaintenanceSpec, ProjectSpec
from siltstone.engine.table.catalog import load
from siltstone.engine.table.commit import newest_summary
from siltstone.engine.table.maintenance import size_of
from tests.e2e.streams import Shop, insert, row, update

NOW = timedelta(0)
TABLES = ("shop_things", "shop_things_h", "shop_things_changes")


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return Shop(spark, project)


def run_nights(shop: Shop, number: int, begin: int = 0) -> None:
    """Run `number` times. Each run changes the same five keys and adds one row."""
    for night in range(begin, begin + number):
        second = 1_000 * (night + 1)
        changed = [update(second + key, row(key, f"night {night}", night)) for key in range(1, 6)]
        shop.write(f"{night:04}.jsonl", [*changed, insert(second + 900, row(100 + night, "new"))])
        shop.taken()


def all_rows(shop: Shop) -> dict[str, list[dict[str, Any]]]:
    return {name: sorted(shop.rows(name), key=str) for name in TABLES}


def size(shop: Shop, name: str) -> Any:
    return size_of(shop.spark, shop.project.catalog.name, f"{shop.project.namespace}.{name}")


def test_a_small_table_has_few_data_files_and_no_delete_files(shop: Shop) -> None:
    run_nights(shop, 4)
    latest, history = size(shop, "shop_things"), size(shop, "shop_things_h")
    assert latest.files <= 2
    assert latest.delete_files == 0
    assert history.delete_files == 0
    assert history.files <= 10


def test_maintenance_changes_no_row_and_the_next_run_continues(shop: Shop) -> None:
    run_nights(shop, 6)
    before, catalog = all_rows(shop), shop.project.catalog.name
    dry = maintain(shop.project, [shop.spec()], shop.spark, dry_run=True, retain=NOW)
    assert dry.exit_code == 0
    assert sum(table.expired for table in dry.tables) > 0
    assert [(table.before, table.rewritten) for table in dry.tables] == [(table.after, 0) for table in dry.tables]
    report = maintain(shop.project, [shop.spec()], shop.spark, retain=NOW)
    assert [table.error for table in report.tables] == [None] * len(report.tables)
    assert all_rows(shop) == before
    for name in TABLES:
        table = f"{shop.project.namespace}.{name}"
        java = load(shop.spark, catalog, table)
        assert newest_summary(shop.spark, catalog, table)[names.SUMMARY_BATCH] == "6"
        assert java.snapshot(names.MARKER_TAG).snapshotId() == java.currentSnapshot().snapshotId()
        assert size(shop, name).snapshots == 1
        assert size(shop, name).files <= 4
    run_nights(shop, 1, begin=6)
    assert {one["name"] for one in shop.rows("shop_things") if one["id"] < 100} == {"night 6"}


@pytest.mark.slow
def test_runs_expire_snapshots_unless_automatic_maintenance_is_off(shop: Shop) -> None:
    short = replace(MaintenanceSpec(), retain=NOW)
    automatic = Shop(shop.spark, replace(shop.project, maintenance=short))
    run_nights(automatic, 3)
    assert [size(automatic, name).snapshots for name in TABLES] == [1, 1, 1]
    manual = Shop(shop.spark, replace(shop.project, maintenance=replace(short, automatic=False)))
    run_nights(manual, 1, begin=3)
    assert all(size(manual, name).snapshots > 1 for name in TABLES)


@pytest.mark.slow
def test_maintenance_refuses_a_table_that_another_program_changed(shop: Shop) -> None:
    run_nights(shop, 1)
    table = f"{shop.project.catalog.name}.{shop.project.namespace}.shop_things"
    shop.spark.sql(f"DELETE FROM {table} WHERE id = 1")
    report = maintain(shop.project, [shop.spec()], shop.spark, retain=NOW)
    (latest,) = [each for each in report.tables if each.table.endswith(".shop_things")]
    assert latest.error is not None
    assert "another program changed its rows" in latest.error
    assert report.exit_code == 5
