"""One table from several sources: shards with the same keys and separate logs, or two names of one log."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.report import EQUAL
from siltstone.engine.run import verify
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from tests.e2e.streams import Shop, delete, event, insert, read, row, second, update

# The same keys, with interleaved positions.
EAST = (
    [insert(10, row(1, "Alice")), insert(20, row(2, "Bob")), update(60, row(1, "Alicia"))],
    [update(30, row(2, "late")), event("t", 70, None, None)],
)
WEST = (
    [insert(15, row(1, "Anna")), read(40, row(2, "as read")), update(65, row(1, "Anne"))],
    [delete(50, row(2, "as read")), update(35, row(1, "late"))],
)


def from_connector(source: str, lines: Sequence[str]) -> list[str]:
    """The lines as the connector with this name writes them."""
    events = [json.loads(line) for line in lines]
    return [json.dumps(event | {"source": event["source"] | {"name": source}}) + "\n" for event in events]


def spec_of(shop: Shop, several: str | None, name: str = "shop_things") -> TableSpec:
    source = {"format": "debezium-json", "path": "events"} | ({"several": several} if several else {})
    target = {"latest": f"{shop.project.namespace}.{name}", "history": f"{shop.project.namespace}.{name}_h"}
    columns = {"id": "int", "name": "string", "n": "int"}
    mapping = {"table": "shop.things", "source": source, "keys": ["id"], "columns": columns, "target": target}
    return table_spec(mapping, shop.project)


def versions(rows: Sequence[dict[str, Any]], source: str | None) -> list[tuple[Any, ...]]:
    mine = [r for r in rows if source is None or r["_source"] == f"mysql:{source}"]
    found = [(r["id"], r["name"], second(r["_valid_from"]), second(r["_valid_to"]), r["_op"]) for r in mine]
    return sorted(found, key=repr)


@pytest.mark.slow
@pytest.mark.parametrize("turns", [[0, 1], [1, 0]])
def test_shards_in_one_table_have_the_same_history_as_each_shard_alone(
    spark: SparkSession, project: ProjectSpec, turns: list[int]
) -> None:
    both = Shop(spark, project)
    sharded = spec_of(both, "shards")
    for number in turns:
        both.write(f"{number}.jsonl", [*from_connector("east", EAST[number]), *from_connector("west", WEST[number])])
        both.taken(sharded)
    together = both.rows("shop_things_h")
    assert len({(r["_source"], r["id"]) for r in together}) == 4
    (found,) = verify(project, [sharded], spark, sample=None, seed=2)
    assert found.status == EQUAL, found
    latest = sorted((r["_source"], r["id"], r["name"]) for r in both.rows("shop_things"))
    assert latest == [("mysql:west", 1, "Anne")]
    for name, lines in (("east", EAST), ("west", WEST)):
        alone = Shop.open(spark, project.catalog, project.root / name, f"{project.namespace}_{name}")
        alone.project.root.mkdir()
        alone.write("all.jsonl", from_connector(name, [*lines[0], *lines[1]]))
        alone.taken(spec_of(alone, None))
        assert versions(together, name) == versions(alone.rows("shop_things_h"), None)


@pytest.mark.slow
def test_sources_with_separate_keys_need_no_setting(spark: SparkSession, project: ProjectSpec) -> None:
    """A truncate of one source does not delete rows of the other, in any order of arrival."""
    shop = Shop(spark, project)
    spec = spec_of(shop, None)
    shop.write(
        "0.jsonl",
        [*from_connector("east", [insert(10, row(1, "Alice"))]), *from_connector("west", [insert(12, row(5, "Anna"))])],
    )
    shop.taken(spec)
    shop.write("1.jsonl", from_connector("east", [event("t", 70, None, None), insert(80, row(2, "Bob"))]))
    shop.taken(spec)
    shop.write(
        "2.jsonl",
        [*from_connector("west", [update(60, row(5, "Anne"))]), *from_connector("east", [insert(65, row(3, "late"))])],
    )
    shop.taken(spec)
    assert shop.latest() == [(2, "Bob", 0), (5, "Anne", 0)]
    assert shop.versions(3) == [("late", 65, 70), (None, 70, None)]
    (found,) = verify(project, [spec], spark, sample=None, seed=4)
    assert found.status == EQUAL, found


def test_a_key_of_two_sources_is_refused_until_the_spec_sets_several(spark: SparkSession, project: ProjectSpec) -> None:
    shop = Shop(spark, project)
    shop.write("0.jsonl", from_connector("east", EAST[0]))
    shop.taken(spec_of(shop, None))
    before = shop.rows("shop_things_h")
    shop.write("1.jsonl", from_connector("renamed", [update(80, row(2, "Robert"))]))
    (refused,) = shop.run(spec_of(shop, None)).tables
    assert refused.exit_code == 3
    assert "1 keys have changes from several sources (mysql:east, mysql:renamed)" in str(refused.error)
    assert shop.rows("shop_things_h") == before
    shop.taken(spec_of(shop, "one_log"))
    assert shop.latest() == [(1, "Alicia", 0), (2, "Robert", 0)]
