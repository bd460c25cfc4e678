"""With `on_failure: block` nothing is published before its checks pass, whoever folds."""

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


def test_what_is_held_back_is_published_by_nobody_until_its_checks_pass(shop: Shop) -> None:
    spec = blocking(shop)
    shop.write("a.jsonl", [insert(10, row(1, "Alice"))])
    assert run(shop).status == OK
    shop.write("b.jsonl", [change(30, "Alicia", "Ally")])  # who made Alice Alicia?
    blocked = run(shop)
    assert (blocked.status, blocked.exit_code) == (BLOCKED, 5)
    assert "chain_break" in (blocked.error or "")
    assert names(shop) == ["Alice"]
    (again,) = rebuild(shop.project, [spec], shop.spark, checks=checks_of_run).tables
    assert (again.status, again.batch, again.exit_code, names(shop)) == (REBUILT, 1, 0, ["Alice"]), again
    (afresh,) = reread(shop.project, [spec], shop.spark, checks=checks_of_run).tables
    assert (afresh.status, names(shop), len(shop.rows(HISTORY))) == (REBUILT, ["Alice"], 1)
    shop.write("c.jsonl", [change(20, "Alice", "Alicia")])
    assert run(shop).status == OK
    assert (names(shop), len(shop.rows(HISTORY))) == (["Ally"], 3)


@pytest.mark.slow
def test_a_first_batch_that_is_held_back_waits_for_a_run_that_checks_it(shop: Shop) -> None:
    spec = blocking(shop)
    shop.write("a.jsonl", [insert(10, row(1, "Alice")), change(30, "Alicia", "Ally")])
    assert run(shop).status == BLOCKED
    (again,) = rebuild(shop.project, [spec], shop.spark).tables
    assert (again.status, names(shop)) == (NOTHING_NEW, [])
    reread(shop.project, [spec], shop.spark)
    assert names(shop) == []
    shop.write("b.jsonl", [change(20, "Alice", "Alicia")])
    assert run(shop).status == OK
    assert names(shop) == ["Ally"]


@pytest.mark.slow
def test_a_rebuild_publishes_nothing_that_its_checks_fail(shop: Shop) -> None:
    shop.write("a.jsonl", [insert(10, row(1, "Alice")), change(30, "Alicia", "Ally")])
    catch_up(shop.project, [shop.spec()], shop.spark)  # unchecked
    before = [shop.snapshots(table) for table in (LATEST, HISTORY)]
    (held,) = rebuild(shop.project, [blocking(shop)], shop.spark, checks=checks_of_run).tables
    assert (held.status, held.exit_code) == (BLOCKED, 5)
    assert "chain_break" in (held.error or "")
    assert [shop.snapshots(table)[1] for table in (LATEST, HISTORY)] == [refs for _, refs in before]
    (there,) = rebuild(shop.project, [shop.spec()], shop.spark, checks=checks_of_run).tables
    assert (there.status, there.exit_code) == (REBUILT, 5)
