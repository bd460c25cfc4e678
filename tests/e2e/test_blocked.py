"""With `on_failure: block`, no command publishes changes before their checks pass."""

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.report import BLOCKED, NOTHING_NEW, OK, REBUILT, TableReport
from siltstone.engine.run import catch_up, rebuild, reread
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.quality.validate import checks_of_run
from tests.e2e.streams import Shop, event, insert, row

LATEST, HISTORY = "shop_things", "shop_things_h"


def change(second: int, before: str, after: str) -> str:
    return event("u", second, row(1, before), row(1, after))


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return Shop(spark, project)


def blocking(shop: Shop) -> TableSpec:
    spec = shop.spec()
    return replace(spec, quality=replace(spec.quality, on_failure="block"))


def run(shop: Shop) -> TableReport:
    (table,) = catch_up(shop.project, [blocking(shop)], shop.spark, checks=checks_of_run).tables
    return table


def names(shop: Shop) -> list[str]:
    return [found["name"] for found in shop.rows(LATEST)]


def test_no_command_publishes_blocked_changes_until_their_checks_pass(shop: Shop) -> None:
    spec = blocking(shop)
    shop.write("a.jsonl", [insert(10, row(1, "Alice"))])
    assert run(shop).status == OK
    shop.write("b.jsonl", [change(30, "Alicia", "Ally")])  # the change from Alice to Alicia is missing
    blocked = run(shop)
    assert (blocked.status, blocked.exit_code) == (BLOCKED, 5)
    assert "chain_break" in (blocked.error or "")
    assert names(shop) == ["Alice"]
    (rebuilt,) = rebuild(shop.project, [spec], shop.spark, checks=checks_of_run).tables
    assert (rebuilt.status, rebuilt.batch, rebuilt.exit_code, names(shop)) == (REBUILT, 1, 0, ["Alice"]), rebuilt
    (reread_table,) = reread(shop.project, [spec], shop.spark, checks=checks_of_run).tables
    assert (reread_table.status, names(shop), len(shop.rows(HISTORY))) == (REBUILT, ["Alice"], 1)
    shop.write("c.jsonl", [change(20, "Alice", "Alicia")])
    assert run(shop).status == OK
    assert (names(shop), len(shop.rows(HISTORY))) == (["Ally"], 3)


@pytest.mark.slow
def test_only_a_run_with_checks_publishes_a_blocked_first_batch(shop: Shop) -> None:
    spec = blocking(shop)
    shop.write("a.jsonl", [insert(10, row(1, "Alice")), change(30, "Alicia", "Ally")])
    assert run(shop).status == BLOCKED
    (rebuilt,) = rebuild(shop.project, [spec], shop.spark).tables
    assert (rebuilt.status, names(shop)) == (NOTHING_NEW, [])
    reread(shop.project, [spec], shop.spark)
    assert names(shop) == []
    shop.write("b.jsonl", [change(20, "Alice", "Alicia")])
    assert run(shop).status == OK
    assert names(shop) == ["Ally"]


@pytest.mark.slow
def test_a_rebuild_publishes_nothing_if_its_checks_fail(shop: Shop) -> None:
    shop.write("a.jsonl", [insert(10, row(1, "Alice")), change(30, "Alicia", "Ally")])
    catch_up(shop.project, [shop.spec()], shop.spark)  # without checks
    before = [shop.snapshots(table) for table in (LATEST, HISTORY)]
    (blocked,) = rebuild(shop.project, [blocking(shop)], shop.spark, checks=checks_of_run).tables
    assert (blocked.status, blocked.exit_code) == (BLOCKED, 5)
    assert "chain_break" in (blocked.error or "")
    assert [shop.snapshots(table)[1] for table in (LATEST, HISTORY)] == [refs for _, refs in before]
    (published,) = rebuild(shop.project, [shop.spec()], shop.spark, checks=checks_of_run).tables
    assert (published.status, published.exit_code) == (REBUILT, 5)
