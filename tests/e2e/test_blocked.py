"""With `on_failure: block`, no command publishes changes before their checks pass."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from siltstone.engine import names as reserved
from siltstone.engine.fold.key_ranges import Part
from siltstone.engine.reader import open_catalog
from siltstone.engine.reader.gap_reader import acknowledge, gaps_of
from siltstone.engine.report import BLOCKED, FAILED, NOTHING_NEW, OK, REBUILT, TableReport
from siltstone.engine.run import catch_up, rebuild, reread
from siltstone.engine.schema.gap_record import ACKNOWLEDGED, HEALED, OPEN
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.quality.report.collect import collect
from siltstone.quality.report.troubles import Level, troubles
from siltstone.quality.report.verdict import verdict
from siltstone.quality.validate import check_table, checks_of_run
from tests.e2e.streams import START_MS, Shop, catch_up_module, event, insert, row

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


def gap_statuses(shop: Shop) -> list[tuple[str, str]]:
    return [(gap.check, gap.status) for gap in gaps_of(open_catalog(shop.project.catalog), shop.project.namespace)]


def properties(shop: Shop) -> Mapping[str, str]:
    return open_catalog(shop.project.catalog).load_table(f"{shop.project.namespace}.{HISTORY}").properties


def is_waiting_for_its_second_batch(shop: Shop, spec: TableSpec, gap_status: str) -> None:
    """Check what the gaps, the properties and the report say about a table without the second batch."""
    assert gap_statuses(shop) == [("chain_break", gap_status)]
    assert properties(shop)[reserved.COMPLETE_THROUGH] == "2024-01-01T00:00:15.000000Z"
    assert properties(shop)[reserved.SEALED_UP_TO] == "2024-01-01T00:00:15.000000Z"
    assert properties(shop)[reserved.OPEN_GAPS] == ("1" if gap_status == OPEN else "0")
    facts = collect(shop.project, [spec], open_catalog(shop.project.catalog), datetime.now(UTC))
    assert "not published" in [one.what for one in troubles(facts.tables[0], facts.at)]
    assert verdict(facts).level != Level.GOOD


@pytest.mark.slow
def test_a_batch_that_is_not_published_heals_no_gap_and_completes_no_table(shop: Shop) -> None:
    spec = blocking(shop)
    spec = replace(spec, quality=replace(spec.quality, fresh_within="any"))
    shop.write("a.jsonl", [insert(10, row(1, "Alice")), change(15, "Alice", "Alicia")])
    assert run(shop).status == OK
    end = {"status": "END", "id": "t1", "event_count": 1, "ts_ms": START_MS + 45_000}
    shop.write("b.jsonl", [change(30, "Ally", "Al"), json.dumps(end) + "\n"])
    assert run(shop).status == BLOCKED
    assert gap_statuses(shop) == [("chain_break", OPEN)]

    (rebuilt,) = rebuild(shop.project, [spec], shop.spark, checks=checks_of_run).tables
    assert (rebuilt.status, rebuilt.batch) == (REBUILT, 1)
    is_waiting_for_its_second_batch(shop, spec, OPEN)

    (gap,) = gaps_of(open_catalog(shop.project.catalog), shop.project.namespace)
    acknowledge(shop.project, gap.gap_id, "the log is lost", "hanna", datetime.now(UTC))
    assert check_table(shop.spark, shop.project, spec, "check").exit_code == 0
    is_waiting_for_its_second_batch(shop, spec, ACKNOWLEDGED)

    shop.write("c.jsonl", [change(20, "Alicia", "Ally")])
    assert run(shop).status == OK
    assert gap_statuses(shop) == [("chain_break", HEALED)]
    assert properties(shop)[reserved.COMPLETE_THROUGH] == "2024-01-01T00:00:45.000000Z"
    facts = collect(shop.project, [spec], open_catalog(shop.project.catalog), datetime.now(UTC))
    assert verdict(facts).level == Level.GOOD


@pytest.mark.slow
def test_a_rebuild_of_one_key_heals_no_gap_while_a_batch_is_not_folded(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("the fold fails")

    spec = shop.spec()
    shop.write("a.jsonl", [insert(10, row(1, "Alice")), change(15, "Alicia", "Ally")])
    (first,) = catch_up(shop.project, [spec], shop.spark, checks=checks_of_run).tables
    assert (first.status, gap_statuses(shop)) == (OK, [("chain_break", OPEN)])
    shop.write("b.jsonl", [change(12, "Alice", "Alicia"), change(30, "Ally", "Al")])
    monkeypatch.setattr(catch_up_module, "fold_history", broken)
    (failed,) = catch_up(shop.project, [spec], shop.spark, checks=checks_of_run).tables
    assert failed.status == FAILED
    monkeypatch.undo()
    part = Part({"id": "1"})
    (rebuilt,) = rebuild(shop.project, [spec], shop.spark, part=part, checks=checks_of_run).tables
    assert (rebuilt.status, rebuilt.batch) == (REBUILT, 1)
    assert gap_statuses(shop) == [("chain_break", OPEN)]
    assert properties(shop)[reserved.COMPLETE_THROUGH] == "2024-01-01T00:00:15.000000Z"
    (last,) = catch_up(shop.project, [spec], shop.spark, checks=checks_of_run).tables
    assert (last.status, last.exit_code, gap_statuses(shop)) == (OK, 0, [("chain_break", HEALED)])
    assert properties(shop)[reserved.COMPLETE_THROUGH] == "2024-01-01T00:00:30.000000Z"
