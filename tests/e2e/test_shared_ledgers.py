"""Sources and tables that share a ledger do not lose rows to each other. Files may end without a newline."""

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up, replay, reread
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ColumnSpec, ProjectSpec, TableSpec
from tests.e2e.streams import Shop, insert, row
from tests.e2e.test_exactly_once import Killed, dies_before
from tests.framed import envelope, frame, schemas_file

SCHEMA = envelope({"id": "long", "name": "string"})
PLACE = {
    "version": "3", "connector": "postgresql", "name": "srv", "ts_ms": 1_700_000_000_000, "db": "main",
    "sequence": None, "ts_us": None, "schema": "shop", "txId": None,
}  # fmt: skip


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return Shop(spark, project)


def framed(number: int, table: str, lsn: int, name: str) -> str:
    """An event as a line of base64, encoded with the schema of this number."""
    after = {"id": lsn, "name": name}
    source = PLACE | {"table": table, "lsn": lsn}
    value: dict[str, Any] = {"before": None, "after": after, "source": source, "op": "c", "ts_ms": None}
    return base64.b64encode(frame(number, SCHEMA, value | {"transaction": None})).decode()


def framed_spec(shop: Shop, table: str) -> TableSpec:
    """The spec of a table of framed events, with any number of rejects allowed."""
    latest = f"{shop.project.namespace}.{table}"
    source = {"format": "debezium-avro", "path": "events", "schemas": str(shop.project.root / "schemas.json")}
    mapping = {
        "table": f"shop.{table}", "source": source, "keys": ["id"], "rejects": {"max_fraction": 1.0},
        "target": {"latest": latest, "history": f"{latest}_h"},
    }  # fmt: skip
    return table_spec(mapping, shop.project)


def register_schemas(shop: Shop, *numbers: int) -> None:
    """Write a schemas file with these schema numbers."""
    schemas_file(Path(shop.project.root), dict.fromkeys(numbers, SCHEMA))


def names_of(shop: Shop, table: str) -> list[str]:
    return sorted(found["name"] for found in shop.rows(table))


def taken(shop: Shop, specs: Sequence[TableSpec]) -> None:
    report = catch_up(shop.project, specs, shop.spark)
    assert report.exit_code == 0, [table.error for table in report.tables]


@pytest.mark.slow
def test_a_last_line_without_a_newline_is_loaded_once_and_a_reread_keeps_it(shop: Shop) -> None:
    items = framed_spec(shop, "items")
    register_schemas(shop, 1)
    whole, cut = (framed(1, "items", lsn, name) for lsn, name in ((8, "Alice"), (16, "Bob")))
    (shop.events / "a.jsonl").write_text(f"{whole}\n{cut}", encoding="utf-8")
    (shop.events / "b.jsonl").write_text(f"{framed(1, 'items', 24, 'Cy')}\n{cut[:40]}", encoding="utf-8")
    taken(shop, [items])
    assert sorted(found["to_line"] for found in shop.rows("inputs") if found["consumer"] == "shop.items") == [1, 2]
    assert names_of(shop, "items") == ["Alice", "Bob", "Cy"]
    assert reread(shop.project, [items], shop.spark).exit_code == 0
    assert names_of(shop, "items") == ["Alice", "Bob", "Cy"]
    with (shop.events / "a.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n" + framed(1, "items", 32, "Dan") + "\n")
    taken(shop, [items])
    assert names_of(shop, "items") == ["Alice", "Bob", "Cy", "Dan"]
    assert len(shop.rows("shop_items_changes")) == 4


@pytest.mark.slow
def test_a_reject_waits_for_the_replay_of_the_table_that_it_belongs_to(shop: Shop) -> None:
    """While the schema of an event is unknown, its table is unknown."""
    items, parts = framed_spec(shop, "items"), framed_spec(shop, "parts")
    register_schemas(shop, 1)
    lines = [framed(1, "items", 8, "Alice"), framed(1, "parts", 16, "wheel")]
    lines += [framed(9, "items", 24, "Bob"), framed(9, "parts", 32, "axle")]
    shop.write("a.jsonl", [f"{line}\n" for line in lines])
    taken(shop, [items, parts])
    assert sorted(found["reason"] for found in shop.rows("rejects")) == ["the value: schema 9 is not known"] * 2
    register_schemas(shop, 1, 9)
    assert replay(shop.project, [items], shop.spark).exit_code == 0
    assert (names_of(shop, "items"), names_of(shop, "parts")) == (["Alice", "Bob"], ["wheel"])
    assert replay(shop.project, [parts], shop.spark).exit_code == 0
    assert (names_of(shop, "items"), names_of(shop, "parts")) == (["Alice", "Bob"], ["axle", "wheel"])
    marks = sorted(found["outcome"] for found in shop.rows("replays"))
    assert marks == ["applied", "applied", "read again", "read again"]  # two for tables, two for control events


@pytest.mark.slow
def test_the_result_and_the_stored_text_of_a_record_do_not_depend_on_the_tables_of_the_run(shop: Shop) -> None:
    things, others = shop.spec(rejects=0.5), shop.spec("shop.others", rejects=1.0)
    masked = replace(others, columns={"id": ColumnSpec("int"), "name": ColumnSpec("string", "redact")})
    project = replace(shop.project, tables=(things, masked))
    unknown = insert(2, row(2, "Olga"), table="shop.others").replace('"op": "c"', '"op": "x"')
    shop.write("a.jsonl", [insert(1, row(1, "Alice")), unknown, unknown, "{not JSON\n"])
    report = catch_up(project, [things], shop.spark)
    assert report.exit_code == 0, report.tables[0].error
    (source,) = report.sources
    assert (source.read, source.rejected, dict(source.other_tables)) == (4, 1, {"shop.others": 2})
    assert [(found["table"], found["record"]) for found in shop.rows("rejects")] == [(None, None)]
    assert catch_up(project, [masked], shop.spark).exit_code == 0
    rejected = sorted((str(found["table"]), found["record"]) for found in shop.rows("rejects"))
    assert rejected == [("None", None), ("shop.others", None), ("shop.others", None)]
    # The mask also applies if its spec has another path, or if the spec cannot be read now.
    shop.write("b.jsonl", [insert(3, row(3, "Bo")), "{no JSON\n"])
    with_other_path = replace(masked, source=replace(masked.source, path=f"{masked.source.path}/*.jsonl"))
    assert catch_up(replace(shop.project, tables=(with_other_path,)), [things], shop.spark).exit_code == 0
    (shop.project.root / "specs").mkdir(exist_ok=True)
    (shop.project.root / "specs" / "others.yaml").write_text("table: ${env:NOWHERE}\n", encoding="utf-8")
    shop.write("c.jsonl", [insert(4, row(4, "Cy")), "{no JSON, either\n"])
    assert catch_up(shop.project, [things], shop.spark).exit_code == 0
    assert [found["record"] for found in shop.rows("rejects") if found["table"] is None] == [None] * 3


@pytest.mark.slow
def test_a_file_that_one_table_loaded_cannot_be_replaced_for_a_table_that_refused_it(shop: Shop) -> None:
    """Otherwise, two tables would load different contents of the same file."""
    things, others = shop.spec(), shop.spec("shop.others")
    in_seoul = replace(others, source=replace(others.source, time_zone="Asia/Seoul"))
    good, bad = (
        insert(1, row(1, "Alice")),
        insert(2, row(2, "Olga"), table="shop.others").replace('"op": "c"', '"op": "x"'),
    )
    shop.write("a.jsonl", [good, bad])
    first = catch_up(replace(shop.project, tables=(things, others)), [things, others], shop.spark)
    assert [table.exit_code for table in first.tables] == [0, 3]
    shop.write("a.jsonl", [good.replace("Alice", "Alva"), bad.replace('"op": "x"', '"op": "c"')])
    for spec in (others, in_seoul):
        (table,) = catch_up(replace(shop.project, tables=(things, spec)), [spec], shop.spark).tables
        assert "changed under its name" in str(table.error)


@pytest.mark.slow
def test_control_events_of_a_killed_run_are_loaded_after_a_run_of_another_source(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control events of all sources are in one table, and share its batch numbers."""
    things, others = shop.spec(), shop.spec("shop.others", path="others")
    (shop.project.root / "others").mkdir()
    heartbeat = json.dumps({"ts_ms": 1_700_000_000_000}) + "\n"
    for second in (1, 2):
        shop.write(f"{second}.jsonl", [insert(second, row(second, "Alice")), heartbeat])
        of_others = insert(second, row(second, "Otto"), table="shop.others") + heartbeat
        (shop.project.root / "others" / f"{second}.jsonl").write_text(of_others, encoding="utf-8")
        if second == 1:
            taken(shop, [things, others])
            continue
        with monkeypatch.context() as patch:
            dies_before("control")(patch)
            with pytest.raises(Killed):
                catch_up(shop.project, [things], shop.spark)
        taken(shop, [others])
        taken(shop, [things, others])
    beats = [found for found in shop.rows("control") if found["kind"] == "heartbeat"]
    assert sorted(Path(found["file"]).parent.name for found in beats) == ["events", "events", "others", "others"]
    assert len({found["batch"] for found in beats}) == 4
