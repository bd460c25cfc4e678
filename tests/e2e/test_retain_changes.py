"""The removal of old changes does not change the rows of latest and history, also if late changes arrive afterwards."""

import json
import random
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.fold.key_ranges import Part
from siltstone.engine.report import EQUAL, REBUILT
from siltstone.engine.run import explain, maintain, rebuild, trim_changes, verify
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from tests.e2e.streams import THINGS, Shop, event

DAY = 86_400
DAYS = 12
KEPT = 4
TABLES = ("shop_things_h", "shop_things")
COLUMNS = {"id": "int", "name": "string", "n": "int"}
SETTINGS: dict[str, Any] = {"guard": "1m", "margin": "10s", "skew": "5s"}


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return Shop(spark, project)


def spec_of(shop: Shop, **more: Any) -> TableSpec:
    namespace = shop.project.namespace
    target = {"latest": f"{namespace}.shop_things", "history": f"{namespace}.shop_things_h"}
    mapping = {"table": THINGS, "source": {"format": "debezium-json", "path": "events"}, "keys": ["id"]}
    return table_spec(
        mapping | {"columns": COLUMNS, "target": target, "snapshot": SETTINGS, "lateness": f"{KEPT}d"} | more,
        shop.project,
    )


def changes_by_day(seed: int, a_day: int = 12) -> dict[int, list[str]]:
    """The changes of each day: partial rows, deletes, READs and changes without effect. Some are delivered twice."""
    draw, lines = random.Random(seed), dict[int, list[str]]()
    for day in range(DAYS):
        seconds = sorted(draw.sample(range(day * DAY, (day + 1) * DAY), a_day))
        lines[day] = [random_change(draw, second) for second in seconds]
        lines[day] += draw.sample(lines[day], 2)  # delivered twice
    return lines


def random_change(draw: random.Random, second: int) -> str:
    key, op = draw.randrange(1, 9), draw.choices("cudr", (2, 6, 1, 1))[0]
    row = {"id": key, "name": f"name {draw.randrange(3)}", "n": draw.randrange(2)}
    if op in "cu" and draw.random() < 0.4:
        del row[draw.choice(("name", "n"))]
    return event(op, second, row if op == "d" else None, None if op == "d" else row)


def arrivals(seed: int) -> list[list[str]]:
    """A batch for each day. Some changes arrive up to three days late, which is less than `KEPT` days."""
    draw, late = random.Random(seed), dict[int, list[str]]()
    batches = []
    for day, lines in changes_by_day(seed).items():
        prompt = []
        for line in lines:
            (late.setdefault(day + draw.randrange(1, KEPT), []) if draw.random() < 0.2 else prompt).append(line)
        batches.append([*prompt, *late.pop(day, [])])
        draw.shuffle(batches[-1])
    return [batch for batch in batches if batch]


def in_pairs(batches: list[list[str]]) -> list[list[str]]:
    """Two batches each joined into one, so that the test needs fewer runs."""
    return [[line for batch in batches[at : at + 2] for line in batch] for at in range(0, len(batches), 2)]


def taken(shop: Shop, spec: TableSpec, number: int, lines: list[str]) -> None:
    shop.write(f"{number:02}.jsonl", lines)
    shop.taken(spec)


def maintained(shop: Shop, spec: TableSpec, dry_run: bool = False) -> int:
    report = maintain(shop.project, [spec], shop.spark, dry_run=dry_run, retain=timedelta(days=1))
    assert report.exit_code == 0, [table.error for table in report.tables]
    return sum(table.trimmed for table in report.tables)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_removals_of_old_changes_at_any_time_do_not_change_the_tables(shop: Shop, seed: int) -> None:
    whole, trimmed = shop.another("whole"), shop.another("less")
    spec_of_whole, spec_of_trimmed = spec_of(whole), spec_of(trimmed, retain_changes=f"{KEPT}d")
    draw, removed = random.Random(seed), 0
    for number, lines in enumerate(in_pairs(arrivals(seed))):
        taken(whole, spec_of_whole, number, lines)
        taken(trimmed, spec_of_trimmed, number, lines)
        if 2 * number > KEPT and draw.random() < 0.5:
            expected = maintained(trimmed, spec_of_trimmed, dry_run=True)
            removed += maintained(trimmed, spec_of_trimmed)
            assert len(trimmed.rows("shop_things_changes")) == len(whole.rows("shop_things_changes")) - removed
            assert removed >= expected
        assert trimmed.stored() == whole.stored()
    removed += maintained(trimmed, spec_of_trimmed)
    assert removed > 20
    assert maintained(trimmed, spec_of_trimmed) == 0
    (found,) = verify(trimmed.project, [spec_of_trimmed], trimmed.spark, sample=None, seed=seed)
    assert (found.status, found.error) == (EQUAL, None), found
    (report,) = rebuild(trimmed.project, [spec_of_trimmed], trimmed.spark).tables
    assert (report.status, report.error) == (REBUILT, None)
    assert trimmed.stored() == whole.stored()
    (key,) = draw.sample(sorted({row["id"] for row in trimmed.rows("shop_things")}), 1)
    explained = explain(trimmed.project, spec_of_trimmed, trimmed.spark, {"id": str(key)})
    assert explained.versions
    assert all(version.in_table for version in explained.versions)


def test_a_change_before_the_base_of_its_key_is_too_late_and_counted(shop: Shop) -> None:
    spec = spec_of(shop, retain_changes=f"{KEPT}d", lateness="unbounded")
    row = {"id": 1, "name": "a", "n": 0}
    days = [event("c" if day == 0 else "u", day * DAY + 10, None, row | {"n": day}) for day in range(DAYS)]
    taken(shop, spec, 0, days)
    before = shop.stored()
    assert maintained(shop, spec) > 0
    old = [event("u", 2 * DAY, None, row | {"n": 77})]
    # Its commit time is in the retained period, but its position in the log is before the base.
    before_base = json.loads(event("u", DAY, None, row | {"n": 88}))
    before_base["source"]["ts_ms"] = json.loads(days[-2])["source"]["ts_ms"]
    taken(shop, spec, 1, [*old, json.dumps(before_base) + "\n"])
    assert shop.stored() == before
    assert [change["too_late"] for change in shop.rows("shop_things_changes") if change["batch"] == 2] == [True, False]
    explained = explain(shop.project, spec, shop.spark, {"id": "1"})
    assert [change.outcome for change in explained.changes].count("too_late") == 2
    (found,) = verify(shop.project, [spec], shop.spark, sample=None, seed=3)
    assert found.error is None
    (report,) = rebuild(shop.project, [spec], shop.spark).tables
    assert (report.status, report.error) == (REBUILT, None)
    assert report.outcomes["too_late"] == 1
    assert shop.stored() == before


@pytest.mark.slow
def test_a_killed_removal_leaves_all_changes(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of(shop, retain_changes=f"{KEPT}d")
    taken(shop, spec, 0, [line for batch in arrivals(5) for line in batch])
    before, changes = shop.stored(), len(shop.rows("shop_things_changes"))

    def killed(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(trim_changes, "base_update", killed)
    with pytest.raises(KeyboardInterrupt):
        maintained(shop, spec)
    monkeypatch.undo()
    assert len(shop.rows("shop_things_changes")) == changes
    (report,) = rebuild(shop.project, [spec], shop.spark).tables
    assert (report.status, report.error) == (REBUILT, None)
    assert shop.stored() == before
    assert maintained(shop, spec) > 0
    assert shop.stored() == before


@pytest.mark.slow
def test_a_rebuild_of_one_key_keeps_its_older_versions(shop: Shop) -> None:
    spec = spec_of(shop, retain_changes=f"{KEPT}d")
    taken(shop, spec, 0, [line for batch in arrivals(6) for line in batch])
    before = shop.stored()
    assert maintained(shop, spec) > 0
    (report,) = rebuild(shop.project, [spec], shop.spark, part=Part({"id": "3"})).tables
    assert (report.status, report.error) == (REBUILT, None)
    assert shop.stored() == before


def test_an_accepted_erasure_keeps_the_older_versions_of_the_other_keys(shop: Shop) -> None:
    spec = spec_of(shop, retain_changes=f"{KEPT}d")
    taken(shop, spec, 0, [line for batch in arrivals(7) for line in batch])
    assert maintained(shop, spec) > 0
    erased = shop.rows("shop_things")[0]["id"]
    expected = [[row for row in shop.rows(table) if row["id"] != erased] for table in TABLES]
    changes = f"{shop.project.catalog.name}.{shop.project.namespace}.shop_things_changes"
    shop.spark.sql(f"DELETE FROM {changes} WHERE key.id = {erased}")
    (report,) = rebuild(shop.project, [spec], shop.spark, accept=True).tables
    assert (report.status, report.error) == (REBUILT, None)
    for table, kept in zip(TABLES, expected, strict=True):
        assert rows_without_batch(shop.rows(table)) == rows_without_batch(kept)


def rows_without_batch(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted((name, value) for name, value in row.items() if name != "_batch")) for row in rows)


@pytest.mark.slow
def test_a_base_that_is_delivered_once_more_changes_nothing(shop: Shop) -> None:
    spec = spec_of(shop, retain_changes=f"{KEPT}d", lateness="unbounded")
    base = event("u", DAY, None, {"id": 1, "name": "b"})
    insert = event("c", 10, None, {"id": 1, "name": "a", "n": 7})
    taken(shop, spec, 0, [insert, base, event("c", 11 * DAY, None, {"id": 2, "name": "x", "n": 0})])
    assert maintained(shop, spec) > 0
    before, longer = shop.stored(), spec_of(shop, retain_changes="400d", lateness="unbounded")
    shop.write("01.jsonl", [base])
    assert shop.taken(longer).outcomes == {"redelivered": 1}
    assert shop.stored() == before
    explained = explain(shop.project, longer, shop.spark, {"id": "1"})
    assert [change.outcome for change in explained.changes] == ["opened", "redelivered"]
    (found,) = verify(shop.project, [longer], shop.spark, sample=None, seed=2)
    assert (found.status, found.error) == (EQUAL, None), found
    (report,) = rebuild(shop.project, [longer], shop.spark).tables
    assert (report.status, report.error) == (REBUILT, None)
    assert shop.stored() == before
