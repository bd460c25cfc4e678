"""Writes of other programs to the tables: a run continues after maintenance, and any other write stops it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.fold.foreign_writes import writes_to
from siltstone.engine.fold.key_ranges import Part
from siltstone.engine.report import BLOCKED, EQUAL, FAILED, NOTHING_NEW, OK, REBUILT, TableReport
from siltstone.engine.run import catch_up, maintain, plan, rebuild, replay, reread, verify
from siltstone.engine.spec.model import ColumnSpec, ProjectSpec
from siltstone.engine.table.catalog import load
from siltstone.engine.table.column_renames import rename_in_table
from siltstone.quality.validate import check_table, checks_of_run
from tests.e2e.streams import Shop, catch_up_module, event, insert, row, update
from tests.e2e.test_exactly_once import Killed, dies_before

CHANGES, HISTORY, LATEST = "shop_things_changes", "shop_things_h", "shop_things"
TABLES = (CHANGES, HISTORY, LATEST)
FIRST = (insert(1, row(1, "Alice")), insert(2, row(2, "Bob")), insert(3, row(3, "Cy")))
SECOND = (update(4, row(1, "Alicia")),)


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    shop = Shop(spark, project)
    shop.write("a.jsonl", FIRST)
    assert run(shop).status == OK
    return shop


def run(shop: Shop) -> TableReport:
    (table,) = catch_up(shop.project, [shop.spec()], shop.spark, checks=checks_of_run).tables
    return table


def rebuilt(shop: Shop, **how: bool | Part) -> TableReport:
    (table,) = rebuild(shop.project, [shop.spec()], shop.spark, checks=checks_of_run, **how).tables  # type: ignore[arg-type]
    return table


def sql(shop: Shop, statement: str) -> None:
    prefix = f"{shop.project.catalog.name}.{shop.project.namespace}"
    shop.spark.sql(statement.format(c=f"{prefix}.{CHANGES}", h=f"{prefix}.{HISTORY}", l=f"{prefix}.{LATEST}"))


def run_maintenance(shop: Shop, *tables: str) -> None:
    """Compact the data, rewrite the manifests, and expire every snapshot that no reference holds."""
    catalog, namespace = shop.project.catalog.name, shop.project.namespace
    for name in tables or TABLES:
        table = f"table => '{namespace}.{name}'"
        shop.spark.sql(f"CALL {catalog}.system.rewrite_data_files({table}, options => map('rewrite-all', 'true'))")
        shop.spark.sql(f"CALL {catalog}.system.rewrite_manifests({table})")
        expire = f"{table}, older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1"
        shop.spark.sql(f"CALL {catalog}.system.expire_snapshots({expire})")


def state(shop: Shop) -> list[tuple[list[int], list[str]]]:
    return [shop.snapshots(table) for table in (*TABLES, "inputs")]


def tagged(shop: Shop, name: str) -> tuple[bool, bool]:
    """Whether the newest snapshot has a marker, and whether the tag is on it."""
    java = load(shop.spark, shop.project.catalog.name, f"{shop.project.namespace}.{name}")
    newest, tag = java.currentSnapshot(), java.snapshot(names.MARKER_TAG)
    return names.SUMMARY_BATCH in newest.summary(), tag is not None and tag.snapshotId() == newest.snapshotId()


@pytest.mark.slow
def test_a_run_continues_after_compaction_and_expiry_and_checks_its_batch(shop: Shop) -> None:
    shop.write("b.jsonl", [insert(5, row(4, "Dora"))])
    assert run(shop).batch == 2
    run_maintenance(shop)
    report = run(shop)
    assert report.status == NOTHING_NEW, report.error
    shop.write("c.jsonl", SECOND)
    report = run(shop)
    assert (report.status, report.batch, report.changes, report.exit_code) == (OK, 3, 1, 0), report.error
    assert {check.status for check in report.checks or ()} >= {"passed"}
    assert [found[1] for found in shop.latest()] == ["Alicia", "Bob", "Cy", "Dora"]
    (found,) = verify(shop.project, [shop.spec()], shop.spark, sample=None, seed=1)
    assert found.status == EQUAL


DAMAGES = {
    LATEST: "DELETE FROM {l} WHERE id = 2",
    HISTORY: "UPDATE {h} SET name = 'Mallory' WHERE id = 2",
    CHANGES: "DELETE FROM {c} WHERE key.id = 2",
}


@pytest.mark.parametrize(
    "table", [HISTORY, *(pytest.param(table, marks=pytest.mark.slow) for table in (LATEST, CHANGES))]
)
def test_commands_report_the_write_of_another_program_and_only_a_rebuild_replaces_it(shop: Shop, table: str) -> None:
    whole = shop.latest()
    sql(shop, DAMAGES[table])
    shop.write("b.jsonl", SECOND)
    before = state(shop)
    reports = [
        run(shop),
        *replay(shop.project, [shop.spec()], shop.spark).tables,
        *plan(shop.project, [shop.spec()], shop.spark),
        check_table(shop.spark, shop.project, shop.spec(), "run"),
    ]
    assert [found.exit_code for found in reports] == [5] * 4
    java = load(shop.spark, shop.project.catalog.name, f"{shop.project.namespace}.{table}").currentSnapshot()
    for found in reports:
        error = found.error or ""
        assert f"{shop.project.namespace}.{table}: {java.operation()} by spark" in error
        assert f"(application {shop.spark.sparkContext.applicationId}" in error
        assert f"snapshot {java.snapshotId()}: " in error
        assert "rows deleted" in error
        assert "siltstone rebuild" in error
    assert state(shop) == before  # nothing was written
    report = rebuilt(shop)
    if table == CHANGES:
        assert (report.status, report.exit_code) == (FAILED, 5)
        assert "--accept-changes" in (report.error or "")
        assert state(shop) == before
        report = rebuilt(shop, accept=True)
        assert "accepted what another program wrote" in report.notes[0]
        assert [found[0] for found in shop.latest()] == [1, 3]
    else:
        assert "replaced what another program wrote" in report.notes[0]
        assert shop.latest() == whole
    assert (report.status, report.exit_code, len(report.notes)) == (REBUILT, 0, 1)
    assert report.checks
    assert run(shop).status == OK
    assert shop.latest()[0][1] == "Alicia"


@pytest.mark.slow
def test_a_reread_restores_changes_that_another_program_deleted(shop: Shop) -> None:
    whole = shop.latest()
    sql(shop, "DELETE FROM {c} WHERE key.id = 2")
    sql(shop, "DELETE FROM {l} WHERE id = 3")
    (report,) = reread(shop.project, [shop.spec()], shop.spark, checks=checks_of_run).tables
    assert (report.status, report.exit_code, len(report.notes)) == (REBUILT, 0, 2), report.error
    assert shop.latest() == whole
    assert run(shop).status == NOTHING_NEW


@pytest.mark.slow
def test_a_run_detects_a_deletion_whose_commit_has_expired(shop: Shop) -> None:
    sql(shop, "DELETE FROM {h} WHERE id = 2")
    run_maintenance(shop, HISTORY)
    report = run(shop)
    assert report.exit_code == 5
    assert "commits that have expired since: 3 rows then, 2 rows now" in (report.error or "")
    assert rebuilt(shop).status == REBUILT
    assert run(shop).status == NOTHING_NEW


@pytest.mark.slow
def test_a_rebuild_of_some_keys_does_not_hide_writes_to_other_keys(shop: Shop) -> None:
    sql(shop, "UPDATE {h} SET name = 'Mallory' WHERE id IN (1, 2)")
    report = rebuilt(shop, part=Part({"id": "2"}))
    assert (report.status, len(report.notes)) == (REBUILT, 1)
    assert "its other keys" in report.notes[0]
    assert [found["name"] for found in sorted(shop.rows(HISTORY), key=lambda one: one["id"])] == [
        "Mallory",
        "Bob",
        "Cy",
    ]
    assert run(shop).exit_code == 5
    run_maintenance(shop)
    assert run(shop).exit_code == 5
    assert rebuilt(shop).status == REBUILT
    assert run(shop).exit_code == 0


def test_a_run_does_not_overwrite_the_write_of_another_program_during_its_fold(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    fold = catch_up_module.fold_history

    def slowly(context: object) -> object:
        sql(shop, "DELETE FROM {h} WHERE id = 2")
        return fold(context)  # type: ignore[arg-type]

    shop.write("b.jsonl", SECOND)
    with monkeypatch.context() as patch:
        patch.setattr(catch_up_module, "fold_history", slowly)
        assert run(shop).exit_code == 75
    assert run(shop).exit_code == 5


MASKED = {"id": ColumnSpec("int"), "name": ColumnSpec("string", mask="redact"), "n": ColumnSpec("int")}
WRITERS: dict[str, Callable[[Shop], TableReport]] = {
    "catch-up": run,
    "rebuild": rebuilt,
    "reread": lambda shop: reread(shop.project, [shop.spec()], shop.spark).tables[0],
    "part": lambda shop: rebuilt(shop, part=Part({"id": "1"})),
}


@pytest.mark.slow
def test_every_command_puts_the_marker_and_the_tag_on_its_newest_snapshot(shop: Shop) -> None:
    shop.write("b.jsonl", SECOND)
    for writes in WRITERS.values():
        report = writes(shop)
        assert report.exit_code == 0, report.error
        assert [tagged(shop, table) for table in TABLES] == [(True, True)] * 3
    spec = replace(shop.spec(), columns=MASKED)
    (report,) = reread(shop.project, [spec], shop.spark).tables
    assert report.status == REBUILT, report.error
    for table in TABLES:
        name = f"{shop.project.catalog.name}.{shop.project.namespace}.{table}"
        shown = shop.spark.sql(f"SELECT * FROM {name} VERSION AS OF '{names.MARKER_TAG}'").toPandas().to_json()
        assert "Bob" not in shown
        assert "***" in shown


@pytest.mark.slow
def test_the_next_run_moves_a_tag_that_a_killed_run_did_not_move(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def dies(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("siltstone.engine.table.replace_table.tag_marker", dies)
        with pytest.raises(Killed):
            reread(shop.project, [shop.spec()], shop.spark)
    assert tagged(shop, CHANGES) == (True, False)
    report = run(shop)
    assert (report.status, bool(report.checks)) == (REBUILT, True)
    assert [tagged(shop, table) for table in TABLES] == [(True, True)] * 3


@pytest.mark.slow
def test_accepting_changes_does_not_take_the_inputs_of_a_run_that_died(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write("b.jsonl", [insert(5, row(4, "Dora"))])
    with monkeypatch.context() as patch:
        dies_before(CHANGES)(patch)
        with pytest.raises(Killed):
            run(shop)
    sql(shop, "DELETE FROM {c} WHERE key.id = 2")
    assert run(shop).exit_code == 5
    assert rebuilt(shop, accept=True).status == REBUILT
    assert run(shop).status == OK
    assert [found[0] for found in shop.latest()] == [1, 3, 4]


def test_accepted_changes_are_published_only_if_their_checks_pass(shop: Shop) -> None:
    alice, alicia, ally = (row(1, name) for name in ("Alice", "Alicia", "Ally"))
    chain = [event("u", 4, alice, alicia), event("u", 5, alicia, ally)]
    shop.write("b.jsonl", chain)
    assert run(shop).status == OK
    before = shop.latest()
    sql(shop, "DELETE FROM {c} WHERE row.name = 'Alicia'")
    spec = shop.spec()
    blocking = replace(spec, quality=replace(spec.quality, on_failure="block"))
    (report,) = rebuild(shop.project, [blocking], shop.spark, checks=checks_of_run, accept=True).tables
    assert (report.status, report.exit_code) == (BLOCKED, 5)
    assert shop.latest() == before


@pytest.mark.slow
def test_a_reread_with_a_mask_and_maintenance_leave_no_branch_with_clear_text(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write("b.jsonl", SECOND)
    with monkeypatch.context() as patch:
        dies_before(HISTORY)(patch)
        with pytest.raises(Killed):
            run(shop)
    assert len(shop.snapshots(HISTORY)[1]) == 3
    spec = replace(shop.spec(), columns=MASKED)
    (report,) = reread(shop.project, [spec], shop.spark).tables
    assert report.status == REBUILT, report.error
    assert maintain(shop.project, [spec], shop.spark, retain=timedelta(0)).exit_code == 0
    assert [shop.snapshots(table)[1] for table in TABLES] == [["main", names.MARKER_TAG]] * 3


def test_a_rename_does_not_hide_the_write_of_another_program(shop: Shop) -> None:
    sql(shop, "UPDATE {h} SET _unknown = array('n'), name = 'Mallory' WHERE id = 2")
    catalog, history = shop.project.catalog.name, f"{shop.project.namespace}.{HISTORY}"
    found = writes_to(shop.spark, catalog, history)
    rename_in_table(shop.spark, catalog, history, {"n": "number"})
    assert [each["_unknown"] for each in shop.rows(HISTORY) if each["id"] == 2] == [["number"]]
    assert writes_to(shop.spark, catalog, history) == found != []
