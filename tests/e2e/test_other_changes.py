"""Runs refuse a `changes` table that latest and history were not folded from: they would skip its batches."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.errors import SpecError
from siltstone.engine.fold.key_ranges import Part
from siltstone.engine.fold.markers import marker_of
from siltstone.engine.report import EQUAL, FAILED, REBUILT, TableReport
from siltstone.engine.run import catch_up, explain, plan, rebuild, replay, reread, verify
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.table.commit import Branch
from siltstone.quality.validate import check_table, checks_of_run
from tests.e2e.streams import Shop, insert, row, update

CHANGES, OTHER, HISTORY, LATEST = "shop_things_changes", "other", "shop_things_h", "shop_things"
FIRST = (insert(1, row(1, "Alice")), insert(2, row(2, "Bob")))
SECOND, THIRD = update(3, row(1, "Alicia")), update(4, row(2, "Bobby"))
WHY = "are not those of"


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    shop = Shop(spark, project)
    shop.write("a.jsonl", FIRST)
    shop.taken()
    shop.write("b.jsonl", [SECOND])
    return shop


def with_other_changes(shop: Shop, spec: TableSpec | None = None) -> TableSpec:
    """The spec with another `changes` table."""
    found = spec or shop.spec()
    return replace(found, target=replace(found.target, changes=f"{shop.project.namespace}.{OTHER}"))


def run(shop: Shop, spec: TableSpec) -> TableReport:
    (table,) = catch_up(shop.project, [spec], shop.spark, checks=checks_of_run).tables
    return table


def rebuilt(shop: Shop, spec: TableSpec) -> TableReport:
    (table,) = rebuild(shop.project, [spec], shop.spark).tables
    assert table.status == REBUILT, table.error
    return table


def full_name(shop: Shop, name: str) -> str:
    return f"{shop.project.catalog.name}.{shop.project.namespace}.{name}"


def live_names(shop: Shop) -> list[str]:
    return [found[1] for found in shop.latest()]


def rewrite_marker(shop: Shop, name: str, rewrite: Callable[[str], str]) -> None:
    """Commit to a table without changing a row. `rewrite`: changes the text of the marker."""
    table, catalog = f"{shop.project.namespace}.{name}", shop.project.catalog.name
    folded = marker_of(shop.spark, catalog, table)[0]
    marker = {names.SUMMARY_BATCH: str(folded.batch), names.SUMMARY_FOLDED: rewrite(folded.to_json())}
    branch = Branch.start(shop.spark, catalog, table, marker)
    branch.append(branch.read().limit(0))
    branch.publish()


def without_changes_table(text: str) -> str:
    """The marker as earlier versions of siltstone wrote it, without the identity of the `changes` table."""
    return json.dumps({name: value for name, value in json.loads(text).items() if name != "changes"})


def test_every_command_refuses_another_changes_table_and_writes_nothing(shop: Shop) -> None:
    spec, before = with_other_changes(shop), [shop.snapshots(table) for table in ("inputs", HISTORY, LATEST)]
    reports = [
        *catch_up(shop.project, [spec], shop.spark).tables,
        *replay(shop.project, [spec], shop.spark).tables,
        *reread(shop.project, [spec], shop.spark).tables,
        *rebuild(shop.project, [spec], shop.spark, part=Part({"id": "1"})).tables,
        *plan(shop.project, [spec], shop.spark),
        *verify(shop.project, [spec], shop.spark),
        check_table(shop.spark, shop.project, spec, "run"),
    ]
    assert [found.exit_code for found in reports] == [2] * 7
    assert all(WHY in (found.error or "") for found in reports)
    with pytest.raises(SpecError, match=WHY):
        explain(shop.project, spec, shop.spark, {"id": "1"})
    assert [shop.snapshots(table) for table in ("inputs", HISTORY, LATEST)] == before
    assert not shop.spark.catalog.tableExists(full_name(shop, OTHER))
    for table in (HISTORY, LATEST):
        rewrite_marker(shop, table, without_changes_table)
    assert run(shop, spec).status == FAILED  # the tables have more batches than the other `changes`
    assert shop.taken().changes == 1  # the marker accepts any `changes`, and records this one from now on
    shop.spark.sql(f"ALTER TABLE {full_name(shop, CHANGES)} RENAME TO {shop.project.namespace}.{OTHER}")
    shop.write("c.jsonl", [THIRD])
    assert shop.taken(spec).changes == 1
    assert live_names(shop) == ["Alicia", "Bobby"]


@pytest.mark.slow
def test_a_run_without_its_changes_table_fails_until_latest_and_history_are_dropped(shop: Shop) -> None:
    spec = shop.spec()
    shop.taken(spec)
    shop.spark.sql(f"DROP TABLE {full_name(shop, CHANGES)}")
    refused = run(shop, spec)
    assert (refused.status, refused.exit_code) == (FAILED, 2)
    assert "drop both tables" in (refused.error or "")
    for table in (HISTORY, LATEST):
        shop.spark.sql(f"DROP TABLE {full_name(shop, table)}")
    assert run(shop, spec).changes == 3
    assert live_names(shop) == ["Alicia", "Bob"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["default", "recorded", "block"])
def test_a_rebuild_switches_to_another_changes_table(spark: SparkSession, project: ProjectSpec, kind: str) -> None:
    shop = Shop(spark, project)
    spec = shop.spec()
    spec = replace(spec, history=replace(spec.history, recorded=kind == "recorded"))
    spec = replace(spec, quality=replace(spec.quality, on_failure="block" if kind == "block" else "warn"))
    switched = with_other_changes(shop, spec)
    other_target = {name: f"{getattr(spec.target, name)}_beside" for name in ("latest", "history")}
    shop.write("a.jsonl", FIRST)
    assert run(shop, spec).batch == 1
    shop.write("b.jsonl", [SECOND])
    assert run(shop, replace(switched, target=replace(switched.target, **other_target))).batch == 1
    refused = run(shop, switched)
    assert (refused.status, refused.exit_code, live_names(shop)) == (FAILED, 2, ["Alice", "Bob"])
    assert "(1 batches)" in (refused.error or "")
    if kind == "block":  # the published batches of one `changes` do not apply to another
        (refused,) = rebuild(shop.project, [switched], shop.spark).tables
        assert (refused.status, refused.exit_code, live_names(shop)) == (FAILED, 2, ["Alice", "Bob"])
        assert "drop both tables" in (refused.error or "")
        for table in (HISTORY, LATEST):
            shop.spark.sql(f"DROP TABLE {full_name(shop, table)}")
    else:
        assert rebuilt(shop, switched).batch == 1
        assert live_names(shop) == ["Alicia", "Bob"]
    shop.write("c.jsonl", [THIRD])
    assert run(shop, switched).exit_code == 0
    assert live_names(shop) == ["Alicia", "Bobby"]
    (found,) = verify(shop.project, [switched], shop.spark)
    assert found.status == EQUAL
