"""`rebuild` makes latest and history from `changes` and replaces the old rows. `verify` reports if they differ."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.fold.context import open_folded
from siltstone.engine.fold.key_ranges import Part
from siltstone.engine.fold.publish import has_followed
from siltstone.engine.report import (
    DIFFERENT,
    EQUAL,
    FAILED,
    PLANNED,
    REBUILT,
    TableReport,
    Verification,
)
from siltstone.engine.run import plan, rebuild, verify
from siltstone.engine.spec.model import CatalogSpec, ColumnSpec, HistorySpec, ProjectSpec, TableSpec, TrackSpec
from siltstone.engine.table.commit import Branch
from tests.e2e.streams import Shop, delete, insert, read, row, update

FIRST = (
    insert(1, row(1, "Alice")),
    insert(2, row(2, "Bob", 1)),
    update(3, row(2, "Bob", 2)),
    update(4, row(2, "Bobby", 3)),
    read(30, row(3, "as read")),
)
SECOND = (
    update(2, row(1, "late")),
    delete(5, row(2, "Bobby", 3)),
    update(29, row(3, "as streamed")),
    insert(40, row(4, "Dora")),
)
HISTORY, LATEST = "shop_things_h", "shop_things"
ALL_TABLES = (HISTORY, LATEST, "shop_things_changes", "inputs", "control", "runs")


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return load_two_batches(Shop(spark, project))


def load_two_batches(shop: Shop, adjust: Callable[[TableSpec], TableSpec] = lambda spec: spec) -> Shop:
    """Load two batches, the second one with late changes."""
    for name, lines in (("a.jsonl", FIRST), ("b.jsonl", SECOND)):
        shop.write(name, lines)
        shop.taken(adjust(shop.spec()))
    return shop


def by_name(spec: TableSpec) -> TableSpec:
    """The spec with `name` as the only tracked column."""
    return replace(spec, history=HistorySpec(TrackSpec("columns", ("name",))))


def rebuilt(shop: Shop, spec: TableSpec | None = None, part: Part | None = None) -> TableReport:
    (table,) = rebuild(shop.project, [spec or shop.spec()], shop.spark, part=part).tables
    return table


def verified(shop: Shop, spec: TableSpec | None = None, sample: int | None = None, seed: int = 5) -> Verification:
    (found,) = verify(shop.project, [spec or shop.spec()], shop.spark, sample=sample, seed=seed)
    return found


def stored(shop: Shop, table: str) -> list[str]:
    """The rows of a table without `_batch`, sorted, so that tests can compare them."""
    return sorted(repr(sorted((n, v) for n, v in row.items() if n != "_batch")) for row in shop.rows(table))


def tables(shop: Shop) -> list[list[str]]:
    return [stored(shop, HISTORY), stored(shop, LATEST)]


def damage(shop: Shop, *statements: str) -> None:
    for statement in statements:
        prefix = f"{shop.project.catalog.name}.{shop.project.namespace}"
        shop.spark.sql(statement.format(h=f"{prefix}.{HISTORY}", l=f"{prefix}.{LATEST}"))


def test_a_rebuild_of_a_part_fixes_only_its_keys_and_a_full_rebuild_fixes_all(shop: Shop) -> None:
    whole = tables(shop)
    damage(
        shop,
        "UPDATE {h} SET name = 'Mallory' WHERE id IN (1, 3)",
        "DELETE FROM {h} WHERE id = 2 AND _valid_to IS NULL",
        "INSERT INTO {h} SELECT 1 + id, name, n, _valid_from, _valid_to, _is_current, _op, _commit_ts, _position,"
        " _change_hash, _last_position, _stream_ts, _unknown, _rescued, _batch FROM {h} WHERE id = 1",
        "UPDATE {l} SET n = 99 WHERE id = 1",
        "INSERT INTO {l} SELECT 77, name, n, _valid_from, _commit_ts, _position, _rescued, _batch FROM {l} LIMIT 1",
    )
    before = {key: shop.versions(key) for key in (1, 3, 4)}
    assert rebuilt(shop, part=Part({"id": "2"})).status == REBUILT
    assert shop.versions(2) == [("Bob", 2, 3), ("Bob", 3, 4), ("Bobby", 4, 5), (None, 5, None)]
    assert {key: shop.versions(key) for key in (1, 3, 4)} == before
    assert [found for found in shop.latest() if found[0] == 1] == [(1, "late", 99)]
    row_count = len(shop.rows("shop_things_h"))
    report = rebuilt(shop, part=Part(ranges={"id": ("3", None)}))
    assert (report.status, report.versions) == (REBUILT, {"before": row_count, "written": 2})
    assert [found[0] for found in shop.latest()] == [1, 3, 4]  # the row without a change is removed
    report = rebuilt(shop)
    assert (report.status, report.changes, sum(report.outcomes.values())) == (REBUILT, 9, 9)
    assert tables(shop) == whole
    assert shop.taken().status == "nothing new"
    assert [run["status"] for run in shop.rows("runs")].count(REBUILT) == 3


@pytest.mark.slow
def test_verify_finds_damaged_rows_and_a_rebuild_fixes_them(shop: Shop) -> None:
    snapshots = [shop.snapshots(table) for table in ALL_TABLES]
    # The seed and the paths of the files select the changes that `verify` delivers twice. They can select none.
    whole = next(found for seed in range(5, 50) if (found := verified(shop, seed=seed)).delivered > 9)
    assert (whole.status, whole.keys, whole.changes, whole.versions) == (EQUAL, 4, 9, 8), whole
    assert [shop.snapshots(table) for table in ALL_TABLES] == snapshots  # nothing was written
    damage(shop, "UPDATE {h} SET name = 'Mallory' WHERE id = 2 AND name = 'Bobby'")
    found = verified(shop, seed=6)
    assert (found.status, found.exit_code, found.differing_rows) == (DIFFERENT, 70, 2)
    assert found.difference is not None
    assert (found.difference.key, found.difference.columns) == ("id=2", ("name",))
    assert (found.difference.actual, found.difference.expected) == ("name=Mallory", "name=Bobby")
    damage(shop, "UPDATE {h} SET name = 'Bobby' WHERE id = 2 AND name = 'Mallory'", "DELETE FROM {l} WHERE id = 4")
    found = verified(shop, seed=7)
    assert found.difference is not None
    assert (found.difference.key, found.difference.actual) == ("id=4", None)
    assert rebuilt(shop).status == REBUILT
    assert verified(shop, sample=3, seed=8).status == EQUAL


@pytest.mark.slow
@pytest.mark.parametrize("version", [2, 3])
def test_a_rebuild_counts_the_old_versions_unless_their_files_are_missing(
    spark: SparkSession, project: ProjectSpec, version: int
) -> None:
    spec = Shop(spark, project).spec()
    spec = replace(spec, target=replace(spec.target, format_version=version))
    shop = load_two_batches(Shop(spark, project), lambda _: spec)
    whole, history = tables(shop), f"{project.catalog.name}.{spec.target.history}"
    damage(shop, "DELETE FROM {h} WHERE id = 1 AND _valid_to IS NOT NULL")
    summary = spark.table(f"{history}.snapshots").orderBy("committed_at").collect()[-1]["summary"]
    row_count = len(shop.rows(HISTORY))
    assert row_count < int(summary["total-records"])
    assert rebuilt(shop, spec).versions == {"before": row_count, "written": len(whole[0])}

    damage(shop, "DELETE FROM {h} WHERE id = 2 AND n = 1")  # after a delete, no metadata has the number of rows
    for file in spark.table(f"{history}.files").where("content = 0").collect():
        Path(file["file_path"].removeprefix("file:")).unlink()
    assert rebuilt(shop, spec).versions == {"written": len(whole[0])}
    assert tables(shop) == whole


@pytest.mark.slow
def test_a_rebuild_keeps_the_values_of_a_column_that_was_added_later(spark: SparkSession, project: ProjectSpec) -> None:
    shop, types = Shop(spark, project), {"extra": "string"}
    spec = shop.spec(columns=None)
    shop.write("a.jsonl", [insert(1, row(1, "Alice"), types={}), insert(2, row(2, "Bob"), types={})])
    shop.taken(spec)
    alice, bob = row(1, "Alice") | {"extra": "x"}, row(2, "Bob") | {"extra": "y"}
    shop.write("b.jsonl", [update(3, alice, types=types), read(30, bob, types=types)])
    assert dict(shop.taken(spec).outcomes) == {"opened": 1, "updated": 1}  # the READ supplies the unknown value
    latest = {found["id"]: found["extra"] for found in shop.rows(LATEST)}
    assert latest == {1: "x", 2: "y"}
    found = verified(shop, spec)
    assert found.status == EQUAL, found
    before = tables(shop)[1]
    assert rebuilt(shop, spec).status == REBUILT
    assert tables(shop)[1] == before


@pytest.mark.slow
def test_a_run_refuses_other_history_settings_until_a_rebuild_applies_them(
    shop: Shop, spark: SparkSession, catalog: CatalogSpec, tmp_path: Path
) -> None:
    (refused,) = shop.run(by_name(shop.spec())).tables
    assert (refused.status, refused.exit_code) == (FAILED, 2)
    assert "siltstone rebuild" in str(refused.error)
    part = rebuilt(shop, by_name(shop.spec()), Part({"id": "2"}))
    assert (part.status, part.exit_code) == (FAILED, 2)  # all keys of a table have the same settings
    assert len(shop.versions(2)) == 4
    assert rebuilt(shop, by_name(shop.spec())).status == REBUILT
    assert shop.versions(2) == [("Bob", 2, 4), ("Bobby", 4, 5), (None, 5, None)]
    fresh = Shop.open(spark, catalog, tmp_path / "fresh", "fresh_by_name")
    fresh.project.root.mkdir()
    load_two_batches(fresh, by_name)
    assert tables(shop) == tables(fresh)
    shop.write("c.jsonl", [update(50, row(4, "Dora", 7)), update(51, row(1, "Alicia"))])
    shop.taken(by_name(shop.spec()))
    assert shop.latest() == [(1, "Alicia", 0), (3, "as streamed", 0), (4, "Dora", 7)]
    (refused,) = shop.run(shop.spec()).tables
    assert refused.exit_code == 2


@pytest.mark.slow
def test_a_rebuild_refuses_settings_that_need_the_inputs(shop: Shop) -> None:
    before, spec = tables(shop), shop.spec()
    assert spec.columns is not None
    text = replace(spec, columns=spec.columns | {"n": ColumnSpec("string")})
    renamed = replace(text, history=HistorySpec(names=(("_valid_to", "until"),)))
    masked = replace(spec, columns=spec.columns | {"name": ColumnSpec("string", "sha256", salt="x")})
    for other, what in (
        (text, "column n (string instead of int)"),
        (masked, "the mask of column name"),
        (replace(spec, keys=("id", "name")), "keys (id, name instead of id)"),
        (renamed, "column n (string instead of int)"),  # last, because a later case would rename the column back
    ):
        report = rebuilt(shop, other)
        assert (report.status, report.exit_code) == (FAILED, 2)
        assert what in str(report.error)
    assert tables(shop) == before


class Killed(BaseException):
    """A simulated kill of the process. No code handles it."""


@pytest.mark.slow
def test_a_killed_rebuild_leaves_the_old_tables_or_the_next_run_completes_it(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tables(shop)
    damage(shop, "UPDATE {h} SET name = 'Mallory' WHERE id = 1", "UPDATE {l} SET name = 'Mallory' WHERE id = 1")
    damaged, publish = tables(shop), Branch.publish
    for dying, history_is_new in ((HISTORY, False), (LATEST, True)):

        def dies(branch: Branch, dying: str = dying) -> None:
            if branch.table.endswith(f".{dying}"):
                raise Killed
            publish(branch)

        with monkeypatch.context() as patch:
            patch.setattr(Branch, "publish", dies)
            with pytest.raises(Killed):
                rebuilt(shop)
        assert tables(shop) == [whole[0] if history_is_new else damaged[0], damaged[1]]
        context = open_folded(shop.spark, shop.project, shop.spec())
        assert context is not None
        assert has_followed(context) is not history_is_new
        (planned,) = plan(shop.project, [shop.spec()], shop.spark)
        operations = [statement.split(" ", 2)[1] for statement in planned.sql]
        assert (planned.status, operations) == ((PLANNED, ["OVERWRITE"]) if history_is_new else (FAILED, [])), planned
        assert history_is_new or "another program changed its rows" in str(planned.error)
    report = shop.taken()  # there are no new changes: the run only updates `latest`
    assert "replaced what another program wrote" in report.notes[0]
    assert tables(shop) == whole
