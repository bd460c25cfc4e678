"""A source's columns may have the names of siltstone's internal columns, or names that SQL must quote."""

from collections.abc import Iterable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.reader import load_table, matching, open_catalog, timeline
from siltstone.engine.report import EQUAL, REBUILT
from siltstone.engine.run import catch_up, explain, plan, rebuild, verify
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec
from siltstone.quality.validate import checks_of_run
from tests.e2e.streams import Shop, delete, insert, read, update

pytestmark = pytest.mark.slow

KEY = "_newest"
INTERNAL = (
    "key", "action", "change", "was_open", "op", "row", "position", "batch", "source", "text", "version", "known",
    "value", "t", "s", "w", "e", "_0col", "_gone", "_side",
)  # fmt: skip
QUOTED = ("select", "a b", "x.y", "tick`", "Größe")
OTHERS = (*INTERNAL, *QUOTED)


def full_row(number: int, value: str) -> dict[str, Any]:
    return {KEY: number} | dict.fromkeys(OTHERS, value)


def test_a_column_can_have_any_name(spark: SparkSession, project: ProjectSpec) -> None:
    """Late changes, deletes, READs and partial rows pass through all tables and the commands that read them."""
    shop = Shop(spark, project)
    base = shop.spec()
    mapping: dict[str, Any] = {"table": base.table, "source": {"format": "debezium-json", "path": "events"}}
    mapping |= {"keys": [KEY], "target": {"latest": base.target.latest, "history": base.target.history}}
    spec = table_spec(mapping, project)
    shop.write("1.jsonl", [insert(1, full_row(1, "a")), insert(2, full_row(2, "b")), update(6, full_row(2, "d"))])
    shop.taken(spec)
    late = [update(4, full_row(2, "c")), delete(8, full_row(1, "a")), update(9, {KEY: 2, "change": "part"})]
    shop.write("2.jsonl", [*late, read(60, full_row(3, "r")), update(59, full_row(3, "s"))])
    (planned,) = plan(project, [spec], spark)
    assert planned.exit_code == 0, planned.error
    (table,) = catch_up(project, [spec], spark, checks=checks_of_run).tables
    assert table.exit_code == 0, (table.error, [check for check in table.checks or () if check.status == "failed"])

    latest = {row[KEY]: row for row in shop.rows("shop_things")}
    assert [latest[2][name] for name in OTHERS] == ["part" if name == "change" else "d" for name in OTHERS]
    assert [latest[3][name] for name in OTHERS] == ["s"] * len(OTHERS)
    history = shop.rows("shop_things_h")
    values = sorted((row[KEY], row["change"], row["x.y"]) for row in history if row["x.y"] is not None)
    assert values == [(1, "a", "a"), (2, "b", "b"), (2, "c", "c"), (2, "d", "d"), (2, "part", "d"), (3, "s", "s")]
    assert [found.status for found in verify(project, [spec], spark)] == [EQUAL]
    assert [found.status for found in rebuild(project, [spec], spark).tables] == [REBUILT]
    assert without_batch(shop.rows("shop_things_h")) == without_batch(history)
    assert explain(project, spec, spark, {KEY: "2"})
    loaded = load_table(open_catalog(project.catalog), spec.target.history)
    assert sum(batch.num_rows for batch in timeline(loaded, matching(loaded, {KEY: "2"})).to_batches()) == 4


def without_batch(rows: Iterable[dict[str, Any]]) -> list[str]:
    return sorted(str({name: value for name, value in row.items() if name != "_batch"}) for row in rows)
