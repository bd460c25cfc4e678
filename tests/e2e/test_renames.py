"""A column that the source renames stays one column, in any order and any batches."""

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.errors import SpecError
from siltstone.engine.fold import renamed_columns
from siltstone.engine.report import EQUAL, FAILED, REBUILT
from siltstone.engine.run import explain, plan, rebuild, reread, verify
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.engine.table.catalog import load
from tests.e2e.streams import THINGS, Shop, event

OLD = {"id": "int", "name": "string", "n": "int"}
NEW: dict[str, Any] = {"id": "int", "title": {"type": "string", "renamed_from": "name"}, "n": "int"}
NEW_KEY: dict[str, Any] = {
    "thing_id": {"type": "int", "renamed_from": "id"},
    "title": {"type": "string", "renamed_from": "name"},
    "n": "int",
}
RENAMED_AT = 60


def image(second: int, key: int, draw: random.Random, new: dict[str, str]) -> dict[str, Any]:
    """A row of the source at this second. Some rows lack the renamed column."""
    found = {"id": key, "name": f"name {draw.randrange(4)}", "n": draw.randrange(3)}
    if draw.random() < 0.2:
        del found["name"]
    return {new.get(name, name) if second >= RENAMED_AT else name: value for name, value in found.items()}


def random_changes(seed: int, new: dict[str, str]) -> list[tuple[int, str]]:
    """(second, line) of random changes and READs of some keys. From `RENAMED_AT` on, they have the new names."""
    draw = random.Random(seed)
    changes = []
    for second in range(10, 110):
        key = draw.randrange(1, 9)
        op = draw.choices("cudr", (3, 5, 1, 2))[0]
        row = image(second, key, draw, new)
        changes.append((second, event(op, second, row if op == "d" else None, None if op == "d" else row)))
    return changes


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return Shop(spark, project)


def spec_of(shop: Shop, columns: dict[str, Any], **more: Any) -> TableSpec:
    namespace = shop.project.namespace
    target = {"latest": f"{namespace}.shop_things", "history": f"{namespace}.shop_things_h"}
    key = next(iter(columns))
    mapping = {"table": THINGS, "source": {"format": "debezium-json", "path": "events"}, "keys": [key]}
    return table_spec(mapping | {"columns": columns, "target": target} | more, shop.project)


def taken(shop: Shop, batches: Sequence[Sequence[str]], spec: TableSpec, begin: int = 0) -> None:
    for number, lines in enumerate(batches, begin):
        shop.write(f"{number}.jsonl", lines)
        shop.taken(spec)


def random_batches(lines: list[str], draw: random.Random) -> list[list[str]]:
    """The lines in random order, some of them twice, in two or three batches."""
    shuffled = [*lines, *draw.sample(lines, len(lines) // 5)]
    draw.shuffle(shuffled)
    at = sorted(draw.sample(range(1, len(shuffled)), draw.choice((1, 2))))
    return [shuffled[begin:end] for begin, end in zip([0, *at], [*at, len(shuffled)], strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize(
    ("columns", "new"),
    [(NEW, {"name": "title"}), (NEW_KEY, {"name": "title", "id": "thing_id"})],
    ids=["column", "key"],
)
def test_any_order_any_batches_and_any_time_of_the_rename_give_the_same_tables(
    shop: Shop, seed: int, columns: dict[str, Any], new: dict[str, str]
) -> None:
    changes, draw = random_changes(seed, new), random.Random(seed)
    lines = [line for _, line in changes]
    before = [line for second, line in changes if second < RENAMED_AT]
    early = draw.sample(before, len(before) // 2)
    late = [line for line in lines if line not in early]

    whole = shop.another("whole")
    taken(whole, [lines], spec_of(whole, columns))
    expected = whole.stored()
    assert any("title" in text for text in expected[1])
    assert not any("'name'," in text for part in expected for text in part)

    shuffled = shop.another("shuffled")
    taken(shuffled, random_batches(lines, draw), spec_of(shuffled, columns))
    assert shuffled.stored() == expected

    renamed = shop.another("renamed")
    taken(renamed, random_batches(early, draw), spec_of(renamed, OLD))
    begin = len(list(renamed.events.iterdir()))
    spec = spec_of(renamed, columns)
    taken(renamed, random_batches(late, draw), spec, begin)
    assert renamed.stored() == expected
    (found,) = verify(renamed.project, [spec], renamed.spark, sample=None)
    assert (found.status, found.error) == (EQUAL, None)
    (report,) = rebuild(renamed.project, [spec], renamed.spark).tables
    assert (report.status, report.error) == (REBUILT, None)
    assert renamed.stored() == expected


def row(key: int, **values: Any) -> dict[str, Any]:
    return {"id": key, **values}


class Killed(BaseException):
    """A simulated kill of the process."""


def killed(*_: Any) -> None:
    raise Killed


def test_a_rename_keeps_the_column_and_a_plan_reports_it_before_the_run(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [event("c", 10, None, row(1, name="a", n=1)), event("r", 11, None, row(2, n=1))]
    taken(shop, [lines], spec_of(shop, OLD))
    catalog, history = shop.project.catalog.name, f"{shop.project.namespace}.shop_things_h"
    java = load(shop.spark, catalog, history)
    before, field = java.currentSnapshot().snapshotId(), java.schema().findField("name").fieldId()
    spec = spec_of(shop, NEW)
    (planned,) = plan(shop.project, [spec], shop.spark)
    assert planned.error is None
    assert sum("rename name to title" in text for text in planned.settings) == 3
    with pytest.raises(SpecError, match="the next catch-up changes the tables"):
        explain(shop.project, spec, shop.spark, {"id": "1"})
    both = event("u", 30, None, row(1, name="old", title="new", n=1))
    late = event("u", 20, None, row(1, name="late", n=1))
    with monkeypatch.context() as patch:
        patch.setattr(renamed_columns, "rename_in_table", killed)
        with pytest.raises(Killed):
            shop.run(spec)
    assert "name" in shop.rows("shop_things")[0]
    taken(shop, [[both, late]], spec, begin=1)
    java = load(shop.spark, catalog, history)
    assert java.schema().findField("title").fieldId() == field
    found = {(one["_valid_from"], one["title"]) for one in shop.rows("shop_things_h") if one["id"] == 1}
    assert [title for _, title in sorted(found)] == ["a", "late", "new"]
    (latest,) = [one for one in shop.rows("shop_things") if one["id"] == 1]
    assert (latest["title"], json.loads(latest["_rescued"])) == ("new", {"name": "old"})
    (unknown,) = [one for one in shop.rows("shop_things_h") if one["id"] == 2]
    assert unknown["_unknown"] == ["title"]
    then = shop.spark.sql(f"SELECT name FROM {catalog}.{history} VERSION AS OF {before} WHERE id = 1").collect()
    assert [one["name"] for one in then] == ["a"]
    explained = explain(shop.project, spec, shop.spark, {"id": "1"})
    assert [version.row["title"] for version in explained.versions] == ["a", "late", "new"]
    assert all(version.in_table for version in explained.versions)
    (planned,) = plan(shop.project, [spec], shop.spark)
    assert planned.settings == ()


@pytest.mark.slow
def test_a_rename_needs_a_reread_if_the_table_has_columns_of_both_names(shop: Shop) -> None:
    first = {"id": "int", "n": "int"}
    lines = [event("c", 10, None, row(1, name="a", n=1)), event("u", 20, None, row(1, title="b", n=1))]
    taken(shop, [lines], spec_of(shop, first))
    assert {"name", "title"} <= shop.rows("shop_things")[0].keys()
    spec = spec_of(shop, NEW)
    (found,) = shop.run(spec).tables
    assert (found.status, found.exit_code) == (FAILED, 2)
    assert "the earlier names of column title (renamed_from)" in str(found.error)
    assert "rebuild --reread" in str(found.error)
    (reread_table,) = reread(shop.project, [spec], shop.spark).tables
    assert reread_table.status == REBUILT, reread_table.error
    assert [sorted(one) for one in stored_values(shop)] == [["a", "b"]]
    taken(shop, [[event("u", 30, None, row(1, name="c", n=1))]], spec, begin=1)
    assert [sorted(one) for one in stored_values(shop)] == [["a", "b", "c"]]
    (dropped,) = shop.run(spec_of(shop, first | {"title": "string"})).tables
    assert "the earlier names of column title (renamed_from)" in str(dropped.error)


def stored_values(shop: Shop) -> list[list[str]]:
    return [[one["title"] for one in shop.rows("shop_things_h")]]


def test_a_column_that_the_source_dropped_keeps_its_last_value(shop: Shop) -> None:
    spec = spec_of(shop, OLD)
    taken(shop, [[event("c", 10, None, row(1, name="a", n=1), types={})]], spec)
    schema = {"id": {"type": "int32"}, "n": {"type": "int32"}}
    without = json.loads(event("u", 20, None, row(1, n=2), types=schema))
    for image_schema in without["schema"]["fields"]:
        image_schema["fields"] = [one for one in image_schema["fields"] if one["field"] != "name"]
    taken(shop, [[json.dumps(without) + "\n"]], spec, begin=1)
    versions = sorted((one["_valid_from"], one["name"], one["n"]) for one in shop.rows("shop_things_h"))
    assert [(name, n) for _, name, n in versions] == [("a", 1), ("a", 2)]
