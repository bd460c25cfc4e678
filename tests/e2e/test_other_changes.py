"""Tables go on only from the `changes` they are a fold of: others' batches would be taken for folded, and be lost."""

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


def elsewhere(shop: Shop, spec: TableSpec | None = None) -> TableSpec:
    """The spec with another table of changes."""
    found = spec or shop.spec()
    return replace(found, target=replace(found.target, changes=f"{shop.project.namespace}.{OTHER}"))


def run(shop: Shop, spec: TableSpec) -> TableReport:
    (table,) = catch_up(shop.project, [spec], shop.spark, checks=checks_of_run).tables
    return table


def rebuilt(shop: Shop, spec: TableSpec) -> TableReport:
    (table,) = rebuild(shop.project, [spec], shop.spark).tables
    assert table.status == REBUILT, table.error
    return table


def named(shop: Shop, name: str) -> str:
    return f"{shop.project.catalog.name}.{shop.project.namespace}.{name}"


def people(shop: Shop) -> list[str]:
    return [found[1] for found in shop.latest()]


def marked(shop: Shop, name: str, told: Callable[[str], str]) -> None:
    """A commit to a table that changes nothing but what its marker says."""
    table, catalog = f"{shop.project.namespace}.{name}", shop.project.catalog.name
    folded = marker_of(shop.spark, catalog, table)[0]
    marker = {names.SUMMARY_BATCH: str(folded.batch), names.SUMMARY_FOLDED: told(folded.to_json())}
    branch = Branch.start(shop.spark, catalog, table, marker)
    branch.append(branch.read().limit(0))
    branch.publish()


def older(text: str) -> str:
    """A marker of before it told of which changes it is the fold."""
    return json.dumps({name: value for name, value in json.loads(text).items() if name != "changes"})


def test_other_changes_are_refused_before_anything_is_taken_or_forgotten(shop: Shop) -> None:
    spec, before = elsewhere(shop), [shop.snapshots(table) for table in ("inputs", HISTORY, LATEST)]
    told = [
        *catch_up(shop.project, [spec], shop.spark).tables,
        *replay(shop.project, [spec], shop.spark).tables,
        *reread(shop.project, [spec], shop.spark).tables,
        *rebuild(shop.project, [spec], shop.spark, part=Part({"id": "1"})).tables,
        *plan(shop.project, [spec], shop.spark),
        *verify(shop.project, [spec], shop.spark),
        check_table(shop.spark, shop.project, spec, "run"),
    ]
    assert [found.exit_code for found in told] == [2] * 7
    assert all(WHY in (found.error or "") for found in told)
    with pytest.raises(SpecError, match=WHY):
        explain(shop.project, spec, shop.spark, {"id": "1"})
    assert [shop.snapshots(table) for table in ("inputs", HISTORY, LATEST)] == before
    assert not shop.spark.catalog.tableExists(named(shop, OTHER))
    for table in (HISTORY, LATEST):
        marked(shop, table, older)
    assert run(shop, spec).status == FAILED  # it cannot have more batches than the changes
    assert shop.taken().changes == 1  # what it is the fold of is not known, and is told from now on
    shop.spark.sql(f"ALTER TABLE {named(shop, CHANGES)} RENAME TO {shop.project.namespace}.{OTHER}")
    shop.write("c.jsonl", [THIRD])
    assert shop.taken(spec).changes == 1
    assert people(shop) == ["Alicia", "Bobby"]


@pytest.mark.slow
def test_where_there_are_no_changes_any_more_all_is_taken_again_into_new_tables(shop: Shop) -> None:
    spec = shop.spec()
    shop.taken(spec)
    shop.spark.sql(f"DROP TABLE {named(shop, CHANGES)}")
    refused = run(shop, spec)
    assert (refused.status, refused.exit_code) == (FAILED, 2)
    assert "drop both tables" in (refused.error or "")
    for table in (HISTORY, LATEST):
        shop.spark.sql(f"DROP TABLE {named(shop, table)}")
    assert run(shop, spec).changes == 3
    assert people(shop) == ["Alicia", "Bob"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as ever", "recorded", "block"])
def test_a_rebuild_goes_over_to_the_changes_that_there_are(
    spark: SparkSession, project: ProjectSpec, kind: str
) -> None:
    shop = Shop(spark, project)
    spec = shop.spec()
    spec = replace(spec, history=replace(spec.history, recorded=kind == "recorded"))
    spec = replace(spec, quality=replace(spec.quality, on_failure="block" if kind == "block" else "warn"))
    there = elsewhere(shop, spec)
    beside = {name: f"{getattr(spec.target, name)}_beside" for name in ("latest", "history")}
    shop.write("a.jsonl", FIRST)
    assert run(shop, spec).batch == 1
    shop.write("b.jsonl", [SECOND])
    assert run(shop, replace(there, target=replace(there.target, **beside))).batch == 1
    refused = run(shop, there)
    assert (refused.status, refused.exit_code, people(shop)) == (FAILED, 2, ["Alice", "Bob"])
    assert "(1 batches)" in (refused.error or "")
    if kind == "block":  # how far the other changes were published says nothing of these
        (refused,) = rebuild(shop.project, [there], shop.spark).tables
        assert (refused.status, refused.exit_code, people(shop)) == (FAILED, 2, ["Alice", "Bob"])
        assert "drop both tables" in (refused.error or "")
        for table in (HISTORY, LATEST):
            shop.spark.sql(f"DROP TABLE {named(shop, table)}")
    else:
        assert rebuilt(shop, there).batch == 1
        assert people(shop) == ["Alicia", "Bob"]
    shop.write("c.jsonl", [THIRD])
    assert run(shop, there).exit_code == 0
    assert people(shop) == ["Alicia", "Bobby"]
    (found,) = verify(shop.project, [there], shop.spark)
    assert found.status == EQUAL
