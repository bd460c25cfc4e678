"""The removal of old changes does not let a complete snapshot count as short."""

import json
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.reader import open_catalog
from siltstone.engine.reader.gap_reader import gaps_of
from siltstone.engine.run import catch_up, maintain
from siltstone.engine.schema.gap_record import OPEN
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.quality.results import CheckResult
from siltstone.quality.validate import check_table, checks_of_run
from tests.e2e.streams import START_MS, THINGS, Shop, event, read, row

DAY = 86_400
DAYS = 12
KEPT = 4


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return Shop(spark, project)


def trimming_spec(shop: Shop) -> TableSpec:
    namespace = shop.project.namespace
    mapping: dict[str, Any] = {
        "table": THINGS,
        "source": {"format": "debezium-json", "path": "events"},
        "keys": ["id"],
        "columns": {"id": "int", "name": "string", "n": "int"},
        "target": {"latest": f"{namespace}.shop_things", "history": f"{namespace}.shop_things_h"},
        "retain_changes": f"{KEPT}d",
    }
    return table_spec(mapping, shop.project)


def notice(kind: str, second: int, **results: str) -> str:
    """A notice of the connector about its initial snapshot."""
    of, at = "Initial Snapshot", START_MS + second * 1000
    return (
        json.dumps({"id": "s", "type": kind, "aggregate_type": of, "additional_data": results, "timestamp": at}) + "\n"
    )


def scan(announced: int, second: int) -> list[str]:
    """The notices of one scan of ten seconds."""
    results = {"scanned_collection": THINGS, "total_rows_scanned": str(announced), "status": "SUCCEEDED"}
    return [notice("STARTED", second), notice("TABLE_SCAN_COMPLETED", second + 10, **results)]


def updates(key: int) -> list[str]:
    """One change a day."""
    return [event("u", day * DAY + key, row(key, "a", day - 1), row(key, "a", day)) for day in range(1, DAYS)]


def trim(shop: Shop, spec: TableSpec) -> int:
    report = maintain(shop.project, [spec], shop.spark, retain=timedelta(days=1))
    assert report.exit_code == 0, [table.error for table in report.tables]
    return sum(table.trimmed for table in report.tables)


def short_snapshot(shop: Shop, spec: TableSpec) -> CheckResult:
    checked = check_table(shop.spark, shop.project, spec, "check")
    assert checked.error is None
    (found,) = [result for result in checked.results if result.check == "short_snapshot"]
    return found


@pytest.mark.slow
def test_reads_that_were_removed_are_not_missing_from_their_snapshot(shop: Shop) -> None:
    spec = trimming_spec(shop)
    first = [*scan(2, 10), read(12, row(1, "a")), read(13, row(2, "a")), *updates(1), *updates(2)]
    shop.write("a.jsonl", first)
    shop.taken(spec)
    assert short_snapshot(shop, spec).status == "passed"
    assert trim(shop, spec) > 0
    assert not [change for change in shop.rows("shop_things_changes") if change["op"] == "READ"]
    assert short_snapshot(shop, spec).status == "passed"


def test_a_short_snapshot_is_not_healed_by_the_removal_of_its_reads(shop: Shop) -> None:
    spec = trimming_spec(shop)
    late = (DAYS - 2) * DAY + 100  # after the horizon
    first = [*scan(3, 10), read(12, row(1, "a")), read(13, row(2, "a")), *updates(1), *updates(2)]
    shop.write("a.jsonl", [*first, *scan(2, late), read(late + 2, row(3, "c"))])
    catch_up(shop.project, [spec], shop.spark, checks=checks_of_run)
    gaps = gaps_of(open_catalog(shop.project.catalog), shop.project.namespace)
    assert [(gap.check, gap.status) for gap in gaps] == [("short_snapshot", OPEN)] * 2
    assert trim(shop, spec) > 0
    found = short_snapshot(shop, spec)
    assert (found.status, found.message.partition("announced ")[2]) == ("failed", "2 rows; 1 arrived")
    gaps = gaps_of(open_catalog(shop.project.catalog), shop.project.namespace)
    assert [(gap.check, gap.status) for gap in gaps] == [("short_snapshot", OPEN)] * 2
