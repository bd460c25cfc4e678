"""Debezium updates that change a key column of the spec delete the old row, in any order and any batches."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.report import EQUAL, PLANNED, REBUILT
from siltstone.engine.run import explain, plan, replay, reread, verify
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, TableSpec
from tests.e2e.streams import COLUMNS, Shop, event, insert, row
from tests.e2e.test_exactly_once import stored

INSERT = insert(10, row(1, "Alice"))
MOVE = event("u", 20, row(1, "Alice"), row(3, "Alice"))
PLAIN = event("u", 30, row(3, "Alice"), row(3, "Alicia"))
BACK = event("u", 40, row(3, "Alicia"), row(1, "Alicia"))
OTHER = insert(50, row(3, "Bob"))
UNFIT = event("u", 60, row(3, "Bob"), row(4, "Bob", 3_000_000_000))
ALL = (INSERT, MOVE, PLAIN, BACK, OTHER, UNFIT)


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return Shop(spark, project)


def spec_of(shop: Shop, n: str = "int") -> TableSpec:
    return shop.spec(columns=COLUMNS | {"n": n}, rejects=1.0)


def stored_tables(shop: Shop) -> list[list[str]]:
    return [stored(shop, table, "_batch") for table in ("shop_things", "shop_things_h")]


def links(shop: Shop) -> set[tuple[object, ...]]:
    """(op, old key, new key) of each change."""
    changes = shop.rows("shop_things_changes")
    return {(c["op"], c["old_key"] and c["old_key"][0], c["new_key"] and c["new_key"][0]) for c in changes}


def test_a_key_change_deletes_the_old_row_and_counts_as_two_changes(shop: Shop) -> None:
    shop.write("a.jsonl", (INSERT, MOVE, UNFIT))
    done = shop.taken(spec_of(shop))
    assert (done.changes, done.rejected, dict(done.outcomes)) == (3, 1, {"opened": 3})
    assert shop.latest() == [(3, "Alice", 0)]
    assert (shop.versions(1), shop.versions(3)) == ([("Alice", 10, 20), (None, 20, None)], [("Alice", 20, None)])
    assert links(shop) == {("insert", None, None), ("delete", None, 3), ("insert", 1, None)}


@pytest.mark.slow
def test_a_plan_and_a_replay_also_count_a_key_change_as_two_changes(shop: Shop) -> None:
    narrow, wide = spec_of(shop), spec_of(shop, n="bigint")
    shop.write("a.jsonl", (INSERT, MOVE, OTHER, UNFIT))
    (planned,) = plan(shop.project, [narrow], shop.spark)
    assert (planned.status, planned.changes, planned.rejected) == (PLANNED, 4, 1), planned
    done = shop.taken(narrow)
    assert (done.changes, done.rejected, dict(done.outcomes)) == (4, 1, planned.outcomes)
    (table,) = replay(shop.project, [wide], shop.spark).tables
    assert (table.error, table.rejected) == (None, 0)
    assert shop.latest() == [(4, "Bob", 3_000_000_000)]
    assert links(shop) >= {("delete", None, 3), ("delete", None, 4), ("insert", 3, None)}


@pytest.mark.slow
def test_any_batches_in_any_order_and_a_reread_give_the_same_tables(
    shop: Shop, spark: SparkSession, catalog: CatalogSpec, tmp_path: Path
) -> None:
    for number, line in enumerate((BACK, UNFIT, PLAIN, OTHER, MOVE, INSERT, MOVE, BACK)):
        shop.write(f"{number}.jsonl", (line,))
        shop.taken(spec_of(shop))
    wide = spec_of(shop, n="string")
    assert reread(shop.project, [wide], shop.spark).tables[0].status == REBUILT
    fresh = Shop.open(spark, catalog, tmp_path / "fresh", "moved_afresh")
    fresh.project.root.mkdir()
    fresh.write("all.jsonl", ALL)
    fresh.taken(spec_of(fresh, n="string"))
    assert stored_tables(shop) == stored_tables(fresh)
    assert fresh.latest() == [(1, "Alicia", "0"), (4, "Bob", "3000000000")]
    (verification,) = verify(shop.project, [wide], shop.spark, sample=None, seed=1)
    assert verification.status == EQUAL, verification
    explained = explain(shop.project, wide, shop.spark, {"id": "3"})
    found = [(change.op, change.outcome) for change in explained.changes]
    ops = ("insert", "update", "delete", "insert", "delete")
    assert [change for change in found if change[1] != "redelivered"] == [(op, "opened") for op in ops]
    assert len(found) - len(ops) == 2
