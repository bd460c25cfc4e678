"""`rebuild --reread` gives the tables of runs that always had the current settings, or keeps the old tables."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from siltstone.engine.reader import open_catalog
from siltstone.engine.reader.dismissals import Dismissal, dismiss
from siltstone.engine.reader.reject_reader import WAITING, rejects
from siltstone.engine.report import EQUAL, FAILED, NOTHING_NEW, REBUILT, TableReport
from siltstone.engine.report_pages import report_folder
from siltstone.engine.run import plan, rebuild, reread, verify
from siltstone.engine.spec.model import CatalogSpec, HistorySpec, ProjectSpec, TableSpec
from siltstone.engine.table.replace_table import remake
from tests.e2e.streams import COLUMNS, START_MS, Shop, delete, insert, read, row, update
from tests.e2e.test_exactly_once import Killed, stored

CHANGES, HISTORY, LATEST = "shop_things_changes", "shop_things_h", "shop_things"
FIRST = (
    insert(1, row(1, "Alice", 1)),
    insert(2, row(2, "Bob", "many")),
    update(30, row(1, "Alice", 2)),
    '{"ts_ms": 1704067209000}\n',
    "{not JSON\n",
)
SECOND = (
    update(20, row(1, "Alicia", 2)),
    update(3, row(1, "too late", 7)),
    read(40, row(3, "as read", 3)),
    update(41, row("four", "not a number", 4)),
    delete(42, row(2, "Bob", "many")),
)
THIRD = (update(50, row(1, "Al", 9)), insert(51, row(5, "Eve", "few")))


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return Shop(spark, project)


def spec_of(shop: Shop, **types: str) -> TableSpec:
    found = shop.spec(columns=COLUMNS | types, rejects=0.6)
    return replace(found, lateness=timedelta(seconds=15))


def taken(shop: Shop, spec: TableSpec, **files: tuple[str, ...]) -> None:
    for name, lines in files.items():
        shop.write(f"{name}.jsonl", lines)
        shop.taken(spec)


def reread_table(shop: Shop, spec: TableSpec) -> TableReport:
    (table,) = reread(shop.project, [spec], shop.spark).tables
    return table


def tables(shop: Shop) -> list[list[str]]:
    """The rows of changes, history and latest, and the columns of history and latest with their types."""
    types = [
        [str(shop.spark.table(f"{shop.project.catalog.name}.{shop.project.namespace}.{table}").dtypes)]
        for table in (HISTORY, LATEST)
    ]
    return [stored(shop, CHANGES), *(stored(shop, table, "_batch") for table in (HISTORY, LATEST)), *types]


def waiting(shop: Shop, spec: TableSpec) -> list[tuple[str, int, str]]:
    found = rejects(open_catalog(shop.project.catalog), shop.project, [spec], records=True)
    return [(Path(one.file).name, one.line, one.reason) for one in found if one.status == WAITING]


def events(shop: Shop) -> list[str]:
    """The control events, without the rows that summarize a delivery."""
    rows = [found for found in shop.rows("control") if found["line"] is not None]
    return sorted(repr(sorted(found.items())).replace(str(shop.project.root), "") for found in rows)


@pytest.mark.slow
def test_a_reread_with_other_decode_settings_gives_the_tables_of_runs_with_these_settings(
    shop: Shop, spark: SparkSession, catalog: CatalogSpec, tmp_path: Path
) -> None:
    numbers, texts = spec_of(shop), spec_of(shop, n="string", id="bigint")
    taken(shop, numbers, a=FIRST, b=SECOND)
    rejected = waiting(shop, numbers)
    assert [line for _, line, _ in rejected] == [5, 2, 4, 5]

    (refused,) = shop.run(texts).tables
    (planned,) = plan(shop.project, [texts], shop.spark)
    (folded,) = rebuild(shop.project, [texts], shop.spark).tables
    for refusal in (refused, planned, folded):
        assert (refusal.status, refusal.exit_code) == (FAILED, 2)
        assert "column n (string instead of int)" in str(refusal.error)
        assert "siltstone rebuild --reread" in str(refusal.error)

    file, all_tables = shop.events / "b.jsonl", (CHANGES, HISTORY, LATEST, "control", "rejects", "inputs")
    text, snapshots = file.read_text(encoding="utf-8"), [shop.snapshots(table) for table in all_tables]
    for other in (None, text.replace("Alicia", "Malice")):
        file.unlink() if other is None else file.write_text(other, encoding="utf-8")
        missing = reread_table(shop, texts)
        assert (missing.status, missing.exit_code) == (FAILED, 3)
        assert f"1 of 2 files are gone, or are not what was taken (file:{file})." in str(missing.error)
    assert [shop.snapshots(table) for table in all_tables] == snapshots
    file.write_text(text, encoding="utf-8")

    fresh = Shop.open(spark, catalog, tmp_path / "fresh", "read_afresh")
    fresh.project.root.mkdir()
    right = spec_of(fresh, n="string", id="bigint")
    taken(fresh, right, a=FIRST, b=SECOND)
    report = reread_table(shop, texts)
    assert (report.status, report.changes, report.rejected) == (REBUILT, 6, 1), report
    assert tables(shop) == tables(fresh)
    assert waiting(shop, texts) == waiting(fresh, right)
    assert events(shop) == events(fresh)
    assert [found["too_late"] for found in shop.rows(CHANGES)].count(True) == 1
    for each, spec in ((shop, texts), (fresh, right)):
        taken(each, spec, c=THIRD)
    assert stored(shop, HISTORY, "_batch") == stored(fresh, HISTORY, "_batch")
    (found,) = verify(shop.project, [texts], shop.spark, sample=None, seed=3)
    assert found.status == EQUAL, found

    strict = replace(numbers, rejects_max_fraction=0.0)
    refused = reread_table(shop, strict)  # back to the first types: values that were accepted are rejected now
    assert (refused.status, refused.exit_code) == (FAILED, 3)
    assert ": 1 of 10 records cannot be decoded" in str(refused.error)
    report = reread_table(shop, numbers)
    assert (report.status, report.rejected) == (REBUILT, 4), report
    assert waiting(shop, numbers) == [*rejected, ("c.jsonl", 2, rejected[1][2])]
    assert reread_table(shop, strict).status == REBUILT  # a reread accepts the rejects that an earlier run accepted


class Dying:
    """Kills the process before it replaces this table."""

    def __init__(self, patch: pytest.MonkeyPatch, table: str) -> None:
        self.table = table
        for module in ("siltstone.engine.run.reread", "siltstone.engine.run.rebuild"):
            patch.setattr(import_module(module), "remake", self.remake)

    def remake(self, spark: SparkSession, catalog: str, name: str, rows: DataFrame, *more: Any) -> None:
        if name.endswith(f".{self.table}"):
            raise Killed
        remake(spark, catalog, name, rows, *more)


@pytest.mark.slow
def test_a_killed_reread_keeps_the_old_tables_or_the_next_run_completes_it(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    micros, millis = spec_of(shop, n="timestamp(6)"), spec_of(shop, n="timestamp(3)")
    alice = (insert(1, row(1, "Alice", START_MS)), update(2, row(1, "Alice", START_MS + 1)))
    lines = (*alice, insert(3, row(2, "Bob", "?")))
    taken(shop, micros, a=lines, b=(insert(4, row(3, "Cy", START_MS)),))
    first, rejected = tables(shop), waiting(shop, micros)

    def dies_at(table: str, spec: TableSpec) -> None:
        with monkeypatch.context() as patch:
            Dying(patch, table)
            with pytest.raises(Killed):
                reread_table(shop, spec)

    dies_at(CHANGES, millis)
    assert (tables(shop), waiting(shop, micros)) == (first, rejected)
    assert shop.taken(micros).status == NOTHING_NEW
    (refused,) = shop.run(millis).tables
    assert (refused.status, refused.exit_code) == (FAILED, 2)
    assert "how column n is read" in str(refused.error)

    dies_at(HISTORY, millis)
    assert tables(shop)[1:] == first[1:]
    assert tables(shop)[0] != first[0]
    (unfolded,) = plan(shop.project, [millis], shop.spark)
    assert "run `siltstone catch-up`" in str(unfolded.error)
    assert shop.taken(millis).status == REBUILT
    start = datetime.fromtimestamp(START_MS / 1000, UTC)
    latest = {found["name"]: found["n"].astimezone(UTC) for found in shop.rows(LATEST)}
    assert latest == {"Alice": start + timedelta(milliseconds=1), "Cy": start}
    assert waiting(shop, millis) == rejected

    dies_at(LATEST, micros)
    assert tables(shop)[2] != first[2]
    assert shop.taken(micros).status == REBUILT
    assert (tables(shop), waiting(shop, micros)) == (first, rejected)
    found = rejects(open_catalog(shop.project.catalog), shop.project, [micros], records=False)
    dismiss(shop.project, found, Dismissal("Ann", "a typing error", start))
    assert reread_table(shop, millis).status == REBUILT
    assert waiting(shop, millis) == []
    assert shop.taken(millis).status == NOTHING_NEW


@pytest.mark.slow
def test_a_reread_of_a_recorded_history_keeps_the_earlier_versions(shop: Shop) -> None:
    def recorded(kind: str) -> TableSpec:
        return replace(spec_of(shop, n=kind), history=HistorySpec(recorded=True))

    taken(shop, recorded("timestamp(6)"), a=(insert(1, row(1, "Alice", START_MS)),))
    refused = reread_table(shop, recorded("string"))
    assert (refused.status, refused.exit_code) == (FAILED, 2)
    assert "of another type (n)" in str(refused.error)
    assert reread_table(shop, recorded("timestamp(3)")).status == REBUILT
    versions = sorted((found["n"].year, found["_recorded_to"] is None) for found in shop.rows(HISTORY))
    assert versions == [(1970, False), (2024, True)]
    assert shop.taken(recorded("timestamp(3)")).status == NOTHING_NEW
    check_that_recorded_cannot_change(shop, replace(recorded("timestamp(6)"), history=HistorySpec()))


@pytest.mark.slow
def test_a_reread_cannot_turn_on_recorded_history(shop: Shop) -> None:
    spec = spec_of(shop)
    taken(shop, spec, a=(insert(1, row(1, "Alice")),))
    check_that_recorded_cannot_change(shop, replace(spec, history=HistorySpec(recorded=True)))
    assert shop.taken(spec).status == NOTHING_NEW


def check_that_recorded_cannot_change(shop: Shop, spec: TableSpec) -> None:
    """Check that reread, plan and rebuild refuse another `history.recorded`, and change nothing."""
    before = [shop.snapshots(table) for table in (CHANGES, HISTORY, LATEST)]
    (planned,) = plan(shop.project, [spec], shop.spark)
    (folded,) = rebuild(shop.project, [spec], shop.spark).tables
    for refused in (reread_table(shop, spec), planned, folded):
        assert (refused.status, refused.exit_code) == (FAILED, 2)
        assert "history.recorded" in str(refused.error)
    assert [shop.snapshots(table) for table in (CHANGES, HISTORY, LATEST)] == before


@pytest.mark.slow
def test_a_reread_can_remove_and_restore_the_key_of_a_table(shop: Shop) -> None:
    keyed = replace(spec_of(shop), keys=("id",))
    same = (insert(1, row(1, "Alice")), insert(2, row(1, "Alice")), insert(3, row(2, "Bob")))
    taken(shop, keyed, a=same)
    keyless = replace(keyed, keys=())
    (refused,) = shop.run(keyless).tables
    assert "siltstone rebuild --reread" in str(refused.error)
    assert reread_table(shop, keyless).status == REBUILT
    assert sorted((found["id"], found["_copy"]) for found in shop.rows(LATEST)) == [(1, 1), (1, 2), (2, 1)]
    assert reread_table(shop, keyed).status == REBUILT
    assert shop.latest() == [(1, "Alice", 0), (2, "Bob", 0)]


def test_a_reread_with_a_mask_removes_the_stored_records_of_rejects_and_the_pages(shop: Shop) -> None:
    plain = spec_of(shop)
    taken(shop, plain, a=(insert(1, row(1, "Alice", 1)), update(2, row("four", "Secretary", 4))))
    assert "Secretary" in str([found["record"] for found in shop.rows("rejects")])
    folder, copy = report_folder(shop.project.root), shop.project.root / "copy"
    shop = replace(shop, project=replace(shop.project, report=f"{copy}/"))
    pages = ("index.html", "2026-01-01.html", "data-docs/_suite/a.html", "gx/validations/a.json")
    for file in (place / name for place in (folder, copy) for name in pages):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("Secretary")
    (copy / "other.html").write_text("of another program")
    masked = shop.spec(columns=COLUMNS | {"name": {"type": "string", "mask": "sha256"}}, rejects=0.6)
    assert reread_table(shop, replace(masked, lateness=timedelta(seconds=15))).exit_code == 0
    found = shop.rows("rejects")
    assert [(one["line"], one["record"]) for one in found] == [(2, None)]
    assert found[0]["reason"]
    kept = [file for place in (folder, copy) for file in place.rglob("*") if file.is_file()]
    assert sorted(file.relative_to(copy).as_posix() for file in kept) == ["gx/validations/a.json", "other.html"]
