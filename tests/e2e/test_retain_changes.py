"""Old changes go, and no row of latest and history changes: neither then, nor by what comes late afterwards."""

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


def story(seed: int, a_day: int = 12) -> dict[int, list[str]]:
    """Changes by the day on which they happened: partial rows, deletes, READs, changes that change nothing."""
    draw, lines = random.Random(seed), dict[int, list[str]]()
    for day in range(DAYS):
        seconds = sorted(draw.sample(range(day * DAY, (day + 1) * DAY), a_day))
        lines[day] = [changed(draw, second) for second in seconds]
        lines[day] += draw.sample(lines[day], 2)  # delivered twice
    return lines


def changed(draw: random.Random, second: int) -> str:
    key, op = draw.randrange(1, 9), draw.choices("cudr", (2, 6, 1, 1))[0]
    row = {"id": key, "name": f"name {draw.randrange(3)}", "n": draw.randrange(2)}
    if op in "cu" and draw.random() < 0.4:
        del row[draw.choice(("name", "n"))]
    return event(op, second, row if op == "d" else None, None if op == "d" else row)


def arrivals(seed: int) -> list[list[str]]:
    """The batches of all days. Some changes come up to three days late, less than `KEPT` days."""
    draw, late = random.Random(seed), dict[int, list[str]]()
    batches = []
    for day, lines in story(seed).items():
        prompt = []
        for line in lines:
            (late.setdefault(day + draw.randrange(1, KEPT), []) if draw.random() < 0.2 else prompt).append(line)
        batches.append([*prompt, *late.pop(day, [])])
        draw.shuffle(batches[-1])
    return [batch for batch in batches if batch]


def in_pairs(batches: list[list[str]]) -> list[list[str]]:
    """Two batches as one, so that fewer runs are needed."""
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
def test_tables_are_those_of_all_changes_whenever_old_ones_go(shop: Shop, seed: int) -> None:
    whole, less = shop.another("whole"), shop.another("less")
    every, kept = spec_of(whole), spec_of(less, retain_changes=f"{KEPT}d")
    draw, removed = random.Random(seed), 0
    for number, lines in enumerate(in_pairs(arrivals(seed))):
        taken(whole, every, number, lines)
        taken(less, kept, number, lines)
        if 2 * number > KEPT and draw.random() < 0.5:
            expected = maintained(less, kept, dry_run=True)
            removed += maintained(less, kept)
            assert len(less.rows("shop_things_changes")) == len(whole.rows("shop_things_changes")) - removed
            assert removed >= expected
        assert less.stored() == whole.stored()
    removed += maintained(less, kept)
    assert removed > 20
    assert maintained(less, kept) == 0
    (found,) = verify(less.project, [kept], less.spark, sample=None, seed=seed)
    assert (found.status, found.error) == (EQUAL, None), found
    (report,) = rebuild(less.project, [kept], less.spark).tables
    assert (report.status, report.error) == (REBUILT, None)
    assert less.stored() == whole.stored()
    (key,) = draw.sample(sorted({row["id"] for row in less.rows("shop_things")}), 1)
    explained = explain(less.project, kept, less.spark, {"id": str(key)})
    assert explained.versions
    assert all(version.in_table for version in explained.versions)


def test_what_comes_before_a_base_is_too_late_and_counted(shop: Shop) -> None:
    spec = spec_of(shop, retain_changes=f"{KEPT}d", lateness="unbounded")
    row = {"id": 1, "name": "a", "n": 0}
    days = [event("c" if day == 0 else "u", day * DAY + 10, None, row | {"n": day}) for day in range(DAYS)]
    taken(shop, spec, 0, days)
    before = shop.stored()
    assert maintained(shop, spec) > 0
    old = [event("u", 2 * DAY, None, row | {"n": 77})]
    # Stamped within the time that is kept, but before the base in the log.
    place = json.loads(event("u", DAY, None, row | {"n": 88}))
    place["source"]["ts_ms"] = json.loads(days[-2])["source"]["ts_ms"]
    taken(shop, spec, 1, [*old, json.dumps(place) + "\n"])
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


def test_a_removal_that_is_killed_leaves_all_changes(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_part_that_is_rebuilt_keeps_its_older_versions(shop: Shop) -> None:
    spec = spec_of(shop, retain_changes=f"{KEPT}d")
    taken(shop, spec, 0, [line for batch in arrivals(6) for line in batch])
    before = shop.stored()
    assert maintained(shop, spec) > 0
    (report,) = rebuild(shop.project, [spec], shop.spark, part=Part({"id": "3"})).tables
    assert (report.status, report.error) == (REBUILT, None)
    assert shop.stored() == before
