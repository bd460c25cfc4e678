"""History with renamed columns, with tracked columns, and without a key works with every command that reads it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pyiceberg.expressions import AlwaysTrue
from pyspark.sql import SparkSession

from siltstone.engine.reader import as_of, load_table, open_catalog, timeline
from siltstone.engine.report import EQUAL, REBUILT
from siltstone.engine.run import catch_up, explain, plan, rebuild, verify
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from siltstone.quality.validate import checks_of_run
from tests.e2e.streams import START_MS, Shop, delete, event, insert, row, second, update

DBT = {"valid_from": "dbt_valid_from", "valid_to": "dbt `valid to`", "is_current": "open"}
FIRST = (insert(1, row(1, "Alice")), insert(2, row(2, "Bob", 1)), update(4, row(2, "Bob", 2)))
SECOND = (update(3, row(1, "late")), delete(5, row(2, "Bob", 2)), insert(6, row(3, "Carol")))


def spec_with(shop: Shop, **history: Any) -> TableSpec:
    spec = shop.spec()
    mapping = {"table": spec.table, "source": {"format": "debezium-json", "path": "events"}, "keys": ["id"]}
    target = {"latest": spec.target.latest, "history": spec.target.history}
    settings = {"columns": {"id": "int", "name": "string", "n": "int"}, "target": target, "history": history}
    return table_spec(mapping | settings, shop.project)


def fold_batches(shop: Shop, spec: TableSpec, *batches: Sequence[str]) -> None:
    for number, lines in enumerate(batches):
        shop.write(f"{number}.jsonl", lines)
        shop.taken(spec)


def versions(shop: Shop, names: dict[str, str]) -> list[tuple[Any, ...]]:
    since, until, current = (names.get(n, f"_{n}") for n in ("valid_from", "valid_to", "is_current"))
    found = shop.rows("shop_things_h")
    rows = [(r["id"], r["name"], second(r[since]), second(r[until]), r[current]) for r in found]
    return sorted(rows, key=lambda v: (v[0], v[2], v[3] is None, v[3] or 0))


EXPECTED = [
    (1, "Alice", 1, 3, False), (1, "late", 3, None, True), (2, "Bob", 2, 4, False), (2, "Bob", 4, 5, False),
    (2, None, 5, None, False), (3, "Carol", 6, None, True),
]  # fmt: skip


@pytest.mark.slow
def test_every_command_reads_history_with_renamed_columns(spark: SparkSession, project: ProjectSpec) -> None:
    shop = Shop(spark, project)
    spec = spec_with(shop, names=DBT)
    shop.write("0.jsonl", FIRST)
    (planned,) = plan(project, [spec], spark)
    assert planned.exit_code == 0, planned.error
    assert "`dbt ``valid to``` IS NULL" in planned.sql[0]
    assert "`dbt ``valid to```" in planned.sql[2].split("SELECT")[0]
    shop.taken(spec)
    shop.write("1.jsonl", SECOND)
    (table,) = catch_up(project, [spec], spark, checks=checks_of_run).tables
    failed = [c for c in table.checks or () if c.status == "failed" and c.check != "chain_break"]
    assert (table.exit_code, failed) == (0, []), table.error
    assert versions(shop, DBT) == EXPECTED
    assert shop.latest() == [(1, "late", 0), (3, "Carol", 0)]
    history = load_table(open_catalog(project.catalog), spec.target.history)
    assert timeline(history, AlwaysTrue()).num_rows == len(EXPECTED)
    moment = datetime.fromtimestamp(START_MS / 1000 + 2, UTC)
    then = as_of(history, moment, AlwaysTrue(), ("id",)).to_pylist()
    assert [(r["id"], r["name"]) for r in then] == [(1, "Alice"), (2, "Bob")]
    explanation = explain(project, spec, spark, {"id": "2"})
    assert [v.in_table for v in explanation.versions] == [True, True, True]
    (found,) = verify(project, [spec], spark, sample=None, seed=1)
    assert found.status == EQUAL, found


@pytest.mark.slow
def test_a_query_reads_history_as_it_was_recorded_at_an_earlier_time(spark: SparkSession, project: ProjectSpec) -> None:
    """A late change corrects recorded versions. History keeps both. A rebuild records all versions at a new time."""
    shop = Shop(spark, project)
    spec = spec_with(shop, recorded=True)
    fold_batches(shop, spec, FIRST)
    before_second = datetime.now(UTC)
    shop.write("1.jsonl", SECOND)
    (planned,) = plan(project, [spec], spark)
    assert "`_recorded_from`" in planned.sql[2], planned.error
    (table,) = catch_up(project, [spec], spark, checks=checks_of_run).tables
    failed = [c for c in table.checks or () if c.status == "failed" and c.check != "chain_break"]
    assert (table.exit_code, failed) == (0, []), table.error
    (found,) = verify(project, [spec], spark, sample=None, seed=1)
    assert found.status == EQUAL, found
    before_rebuild = datetime.now(UTC)
    (rebuilt,) = rebuild(project, [spec], spark).tables
    assert rebuilt.status == REBUILT, rebuilt.error
    history = load_table(open_catalog(project.catalog), spec.target.history)
    for then in (before_rebuild, None):
        assert timeline_rows(timeline(history, AlwaysTrue(), then)) == [v[:4] for v in EXPECTED]
    before = [(1, "Alice", 1, None), (2, "Bob", 2, 4), (2, "Bob", 4, None)]
    assert timeline_rows(timeline(history, AlwaysTrue(), before_second)) == before
    at_three = datetime.fromtimestamp(START_MS / 1000 + 3, UTC)
    moments = (before_second, None)
    names = [as_of(history, at_three, AlwaysTrue(), ("id",), then).column("name").to_pylist() for then in moments]
    assert names == [["Alice", "Bob"], ["late", "Bob"]]
    assert shop.latest() == [(1, "late", 0), (3, "Carol", 0)]
    kept = {(r["id"], r["_recorded_to"] is None) for r in shop.rows("shop_things_h")}
    assert kept == {(1, True), (1, False), (2, True), (2, False), (3, True), (3, False)}


def timeline_rows(found: Any) -> list[tuple[Any, ...]]:
    rows = [(r["id"], r["name"], second(r["_valid_from"]), second(r["_valid_to"])) for r in found.to_pylist()]
    return sorted(rows, key=lambda v: (v[0], v[2], v[3] is None, v[3] or 0))


@pytest.mark.slow
def test_a_rebuild_renames_the_columns(spark: SparkSession, project: ProjectSpec) -> None:
    shop = Shop(spark, project)
    fold_batches(shop, spec_with(shop), FIRST)
    renamed = spec_with(shop, names=DBT)
    shop.write("1.jsonl", SECOND)
    (refused,) = shop.run(renamed).tables
    assert (refused.exit_code, "siltstone rebuild" in str(refused.error)) == (2, True)
    (table,) = rebuild(project, [renamed], spark).tables
    assert table.status == REBUILT, table.error
    shop.taken(renamed)
    assert versions(shop, DBT) == EXPECTED


def test_a_run_refuses_a_history_name_that_is_a_column_of_the_source(spark: SparkSession, project: ProjectSpec) -> None:
    shop = Shop(spark, project)
    spec = replace(spec_with(shop), columns=None)
    spec = replace(spec, history=replace(spec.history, names=(("_valid_to", "n"),)))
    shop.write("0.jsonl", FIRST)
    (planned,) = plan(project, [spec], spark)
    (table,) = shop.run(spec).tables
    for found in (planned, table):
        assert (found.exit_code, "history.names" in str(found.error)) == (2, True), found.error
    assert shop.rows("shop_things_changes") == []


@pytest.mark.slow
@pytest.mark.parametrize("track", [["name"], {"except": ["n"]}])
def test_only_tracked_columns_open_versions(spark: SparkSession, project: ProjectSpec, track: Any) -> None:
    """The names A, B, A give three versions, and so do null, value, null. Untracked columns change in place."""
    shop = Shop(spark, project)
    names = [(1, "A", 1), (2, "A", 2), (3, "B", 3), (4, "A", 4), (5, "A", 5), (6, None, 6), (7, "v", 7), (8, None, 8)]
    lines = [insert(s, row(1, name, n)) if s == 1 else update(s, row(1, name, n)) for s, name, n in names]  # type: ignore[arg-type]
    fold_batches(shop, spec_with(shop, track=track), lines[:1], lines[2:4] + lines[5:], [lines[1], lines[4]])
    found = [(r["name"], r["n"], second(r["_valid_from"])) for r in shop.rows("shop_things_h")]
    in_place = [("A", 2, 1), ("B", 3, 3), ("A", 5, 4), (None, 6, 6), ("v", 7, 7), (None, 8, 8)]
    assert sorted(found, key=lambda v: v[2]) == in_place
    assert shop.latest() == [(1, None, 8)]


def test_a_run_refuses_a_table_whose_key_is_unknown(spark: SparkSession, project: ProjectSpec) -> None:
    shop = Shop(spark, project)
    shop.write("0.jsonl", FIRST)
    (table,) = shop.run(replace(shop.spec(), keys=None)).tables
    assert (table.exit_code, "keys: []" in str(table.error)) == (2, True), table.error


@pytest.mark.slow
def test_every_command_handles_a_table_without_a_key(spark: SparkSession, project: ProjectSpec) -> None:
    """The events: equal rows of one statement, their redelivery, an update, and a late delete."""
    shop = Shop(spark, project)
    mapping = {
        "table": "shop.things",
        "source": {"format": "debezium-json", "path": "events"},
        "keys": [],
        "columns": {"id": "int", "name": "string", "n": "int"},
        "target": {"latest": f"{project.namespace}.shop_things", "history": f"{project.namespace}.shop_things_h"},
        "evolution": "ignore",
    }
    spec = table_spec(mapping, project)
    empty = row(None, None)  # type: ignore[arg-type]
    pair = [insert(2, row(1, "a")), insert(2, row(1, "a"))]
    fold_batches(shop, spec, [*pair, insert(3, empty), *pair], [event("u", 5, row(1, "a"), row(1, "b"))])
    shop.write("9.jsonl", [delete(4, row(1, "a")), update(6, row(1, "c")), update(7, row(1, "d"))])
    (table,) = catch_up(project, [replace(spec, rejects_max_fraction=0.9)], spark, checks=checks_of_run).tables
    assert table.exit_code == 0, table.error
    assert table.rejected == 2  # updates without a before image
    failed = {check.check for check in table.checks or () if check.status == "failed"}
    assert failed == {"positions_backwards", "rejects"}  # the redelivery, and the updates
    found = sorted((r["id"] or 0, r["name"], r["_copy"]) for r in shop.rows("shop_things"))
    assert found == [(0, None, 1), (1, "b", 1)]
    (verified,) = verify(project, [spec], spark, sample=None, seed=1)
    assert verified.status == EQUAL, verified
    before = kept_rows(shop)
    (rebuilt,) = rebuild(project, [spec], spark).tables
    assert rebuilt.status == REBUILT, rebuilt.error
    assert kept_rows(shop) == before


def kept_rows(shop: Shop) -> list[str]:
    """The rows of history without `_batch`."""
    return sorted(repr(found | {"_batch": None}) for found in shop.rows("shop_things_h"))
