"""A source's columns may be called what siltstone's own working columns are, or what SQL finds hard to read."""

from collections.abc import Iterable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.look import load_table, matching, open_catalog, timeline
from engine.report import EQUAL, REBUILT
from engine.run import catch_up, explain, plan, rebuild, verify
from engine.spec import table_spec
from engine.spec.model import ProjectSpec
from quality.validate import checks_of_run
from tests.e2e.streams import Shop, delete, insert, read, update

OURS = (
    "action", "change", "was_open", "op", "row", "before", "present", "position", "batch", "kind", "source", "text",
    "line", "file", "table", "version", "outcome", "is_late", "is_base", "is_read", "place", "rank", "ts", "commit_ts",
    "ingest_ts", "tx_id", "content_hash", "rescued", "state_0", "solid", "opens", "t", "s", "w", "e", "known", "value",
)  # fmt: skip
HIDDEN = ("_0col", "_turn", "_next", "_read", "_image", "_key")
HARD = ("select", "order", "a b", "x.y", "tick`", 'quo"te', "Größe", "1st", "{brace}", "per%cent")


@pytest.mark.parametrize(("key", "declared"), [("key", True), ("id", False)])
def test_any_name_can_be_a_columns(spark: SparkSession, project: ProjectSpec, key: str, declared: bool) -> None:
    shop, others = Shop(spark, project), (*OURS, *HARD, *(() if declared else HIDDEN))
    base, columns = shop.spec(), {key: "bigint"} | dict.fromkeys(others, "string")
    mapping: dict[str, Any] = {"table": base.table, "source": {"format": "debezium-json", "path": "events"}}
    mapping |= {"keys": [key], "target": {"latest": base.target.latest, "history": base.target.history}}
    spec = table_spec(mapping | ({"columns": columns} if declared else {}), project)

    def told(number: int, value: str) -> dict[str, Any]:
        return {key: number} | dict.fromkeys(others, value)

    batches = (
        [insert(1, told(1, "a")), insert(2, told(2, "b")), update(6, told(2, "d"))],
        [update(4, told(2, "c")), delete(8, told(1, "a")), read(60, told(3, "r")), read(61, told(2, "d"))],
        [update(9, {key: 2, "change": "part"}), update(59, told(3, "s"))],
    )
    for number, lines in enumerate(batches):
        shop.write(f"{number}.jsonl", lines)
        (planned,) = plan(project, [spec], spark)
        assert planned.exit_code == 0, planned.error
        (table,) = catch_up(project, [spec], spark, checks=checks_of_run).tables
        assert table.exit_code == 0, (table.error, [check for check in table.checks or () if check.status == "failed"])

    latest = {row[key]: row for row in shop.rows("shop_things")}
    assert [latest[2][name] for name in others] == ["part" if name == "change" else "d" for name in others]
    assert [latest[3][name] for name in others] == ["s"] * len(others)
    history = shop.rows("shop_things_h")
    values = sorted((row[key], row["change"], row["x.y"]) for row in history if row["x.y"] is not None)
    assert values == [(1, "a", "a"), (2, "b", "b"), (2, "c", "c"), (2, "d", "d"), (2, "part", "d"), (3, "s", "s")]
    assert [found.status for found in verify(project, [spec], spark)] == [EQUAL]
    assert [found.status for found in rebuild(project, [spec], spark).tables] == [REBUILT]
    assert without_batch(shop.rows("shop_things_h")) == without_batch(history)
    assert explain(project, spec, spark, {key: "2"})
    looked = load_table(open_catalog(project.catalog), spec.target.history)
    assert sum(batch.num_rows for batch in timeline(looked, matching(looked, {key: "2"})).to_batches()) == 4


def without_batch(rows: Iterable[dict[str, Any]]) -> list[str]:
    return sorted(str({name: value for name, value in row.items() if name != "_batch"}) for row in rows)
