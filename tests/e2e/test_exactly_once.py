"""Exactly once: after redeliveries, split files, crashes and late changes, the tables equal those of one clean run."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.errors import LockedError
from siltstone.engine.ingest import append_changes, source_batch
from siltstone.engine.inputs.listing import InputFile
from siltstone.engine.reader import open_catalog
from siltstone.engine.reader.reject_reader import Reject, rejects
from siltstone.engine.report import FAILED, NOTHING_NEW, OK, PLANNED, TableReport
from siltstone.engine.run import plan, reread
from siltstone.engine.run.run_context import StartedRun, start_run
from siltstone.engine.run.run_reports import silent
from siltstone.engine.run_lock import read_note
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec
from siltstone.engine.table.commit import Branch
from siltstone.engine.table.ledger import append_rows
from tests.e2e.streams import LATE, PROMPT, THINGS, Shop, catch_up_module, delete, insert, read, row, update

PARTS = "shop.parts"


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return Shop(spark, project)


@pytest.fixture(scope="module")
def grown(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A shop with a file that grew between two runs."""
    shop = Shop.open(spark, catalog, tmp_path_factory.mktemp("grown"), "grown")
    file = shop.write("a.jsonl", [insert(1, row(1, "Alice")), insert(2, row(2, "Bob"))])
    assert shop.taken().changes == 2
    with file.open("a", encoding="utf-8") as growing:
        growing.write(update(3, row(2, "Bobby")) + delete(4, row(1, "Alice")))
    assert shop.taken().changes == 2
    return shop


def test_the_next_run_takes_only_the_new_lines_of_a_growing_file(grown: Shop) -> None:
    assert sorted((c["line"], c["op"], c["batch"]) for c in grown.rows("shop_things_changes")) == [
        (1, "insert", 1),
        (2, "insert", 1),
        (3, "update", 2),
        (4, "delete", 2),
    ]
    assert grown.latest() == [(2, "Bobby", 0)]
    assert check_versions(grown) == [1, 2]


@pytest.mark.slow
def test_a_run_recognizes_redeliveries_after_columns_were_added_and_widened(shop: Shop) -> None:
    """The columns come from the events, so a redelivery is decoded with other columns than the first delivery."""
    spec = shop.spec(columns=None)
    first = [insert(1, row(1, "Alice", 1), types={}), update(2, row(1, "Alicia", 2), types={})]
    shop.write("a.jsonl", first)
    assert shop.taken(spec).outcomes == {"opened": 2}
    more = {"n": "int64", "mail": "string"}
    shop.write("b.jsonl", [*first, insert(3, row(2, "Bob", 7_000_000_000) | {"mail": "b@x"}, types=more)])
    assert shop.taken(spec).outcomes == {"opened": 1, "redelivered": 2}
    assert [found["mail"] for found in shop.rows("shop_things_h")].count("b@x") == 1
    assert len(shop.rows("shop_things_h")) == 3


def test_a_run_without_new_events_takes_nothing(grown: Shop) -> None:
    before = everything(grown)
    repeated = grown.taken()
    assert (repeated.status, repeated.changes, repeated.versions) == (NOTHING_NEW, 0, {})
    assert everything(grown) == before


def test_a_line_written_while_the_file_is_read_is_not_lost(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, growing = insert(1, row(1, "Alice")), insert(2, row(2, "Bob"))
    file = shop.write("a.jsonl", [whole, growing[:50]])
    listed = InputFile(f"file:{file}", len(whole), file.stat().st_mtime_ns // 1_000_000)
    with monkeypatch.context() as patch:
        patch.setattr(source_batch, "source_files", lambda *_: [listed])
        assert shop.taken().changes == 1
    shop.write("a.jsonl", [whole, growing])
    assert shop.taken().changes == 1
    assert shop.latest() == [(1, "Alice", 0), (2, "Bob", 0)]


def test_a_run_refuses_a_taken_file_whose_content_changed_and_takes_nothing(grown: Shop) -> None:
    before, file = everything(grown), grown.events / "a.jsonl"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("Alice", "Malice") + insert(5, row(5, "Eve")), encoding="utf-8")
    (table,) = grown.run().tables
    assert (table.status, table.exit_code) == (FAILED, 3)
    consumer = f"the control events of {grown.events}"
    assert f"Cannot take file:{file} for {consumer}: the file changed under its name after" in str(table.error)
    assert "the file changed under its name after 4 of its lines were taken" in str(table.error)
    assert "Hint: put the taken file back and deliver new events under another name" in str(table.error)
    assert everything(grown) == before
    file.write_text(text, encoding="utf-8")
    assert grown.taken().status == NOTHING_NEW


FIRST = (insert(1, row(1, "Alice")), insert(2, row(2, "Bob")), insert(3, row(3, "Charlie")))
SECOND = (
    update(4, row(1, "Alicia")),
    delete(5, row(2, "Bob")),
    insert(6, row(4, "Dora")),
    read(7, row(5, "Eve")),
    insert(8, row(6, "Fay", "many")),
    '{"ts_ms": 1704067209000}\n',
)


def twin_of(shop: Shop, catalog: CatalogSpec, root: Path) -> Shop:
    """A second project, in a namespace named like `root`. Both have taken the first file, and the second is new."""
    root.mkdir()
    clean = Shop.open(shop.spark, catalog, root, root.name)
    for each in (clean, shop):
        each.write("a.jsonl", FIRST)
        each.taken(each.spec(rejects=0.5))
        each.write("b.jsonl", SECOND)
    return clean


def test_a_run_after_a_crash_at_each_commit_gives_the_tables_of_a_clean_run(
    shop: Shop, spark: SparkSession, catalog: CatalogSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean = twin_of(shop, catalog, tmp_path / "uncrashed")
    clean.taken(clean.spec(rejects=0.5))
    crashes = [
        dies_before("control"),
        dies_at_inputs,
        dies_before("shop_things_changes"),
        dies_before("shop_things_h"),
        dies_before("shop_things"),
    ]
    for crash in crashes:
        with monkeypatch.context() as patch:
            crash(patch)
            patch.setattr(Branch, "drop", lambda branch: None)  # a dead process removes no branch
            with pytest.raises(Killed):
                shop.run(shop.spec(rejects=0.5))
        assert shop.latest() == [(1, "Alice", 0), (2, "Bob", 0), (3, "Charlie", 0)]
        check_versions(shop)
    (planned,) = plan(shop.project, [shop.spec(rejects=0.5)], spark)
    assert (planned.status, len(planned.sql)) == (PLANNED, 1), planned  # only latest is still to be written
    assert shop.taken(shop.spec(rejects=0.5)).exit_code == 0
    assert [run["status"] for run in shop.rows("runs")].count("interrupted") == len(crashes)
    assert read_note(shop.project) is None
    assert everything(shop) == everything(clean)
    assert max(branches(shop).values()) <= 2  # main, and the branch of the last crash until the next write


FUTURE = "TIMESTAMP '2999-01-01 00:00:00'"
LATER = (delete(118, row(1, "Alice")), delete(190, row(2, "as it was")))


@dataclass(frozen=True)
class Late:
    """Two batches. The second has late changes and READs that affect versions of the first."""

    shop: Shop
    reports: list[TableReport]


@pytest.fixture(scope="module")
def late(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Late:
    shop = Shop.open(spark, catalog, tmp_path_factory.mktemp("late"), "late")
    reports = []
    for name, lines in (("a.jsonl", PROMPT), ("b.jsonl", LATE)):
        shop.write(name, lines)
        reports.append(shop.taken())
        assert check_versions(shop) == [1, 2, 3, 4]
    return Late(shop, reports)


def test_a_late_change_is_spliced_into_closed_history(late: Late) -> None:
    versions = [("Alice", 105, 112), ("Bob", 112, 115), ("Alice", 115, 120), ("Charlie", 120, None)]
    assert late.shop.versions(1) == versions


def test_a_late_change_inside_the_window_of_a_read_supersedes_the_read(late: Late) -> None:
    assert late.shop.versions(2) == [("as streamed", 195, None)]
    assert [report.withdrawn for report in late.reports] == [0, 1]


def test_a_change_inside_the_window_supersedes_a_read_that_arrives_later(late: Late) -> None:
    assert late.shop.versions(3) == [("as streamed", 195, None)]


def test_a_late_change_before_the_window_of_a_read_does_not_supersede_the_read(late: Late) -> None:
    assert late.shop.versions(4) == [("before the window", 250, 300), ("as read", 300, None)]


def test_every_change_has_one_outcome(late: Late) -> None:
    assert [dict(report.outcomes) for report in late.reports] == [
        {"opened": 5, "absorbed": 2},
        {"opened": 3, "superseded": 1, "redelivered": 1},
    ]


@pytest.mark.slow
def test_one_batch_gives_the_tables_of_three_batches(late: Late, spark: SparkSession, project: ProjectSpec) -> None:
    late.shop.write("c.jsonl", LATER)
    late.shop.taken()
    assert check_versions(late.shop) == [1, 2, 3, 4]
    at_once = Shop(spark, project)
    at_once.write("z.jsonl", [*LATER, *LATE, *PROMPT])
    at_once.taken()
    for table in ("shop_things_h", "shop_things"):
        assert stored(late.shop, table, "_batch") == stored(at_once, table, "_batch")


def test_a_failed_table_does_not_stop_another_table_of_the_same_files(shop: Shop) -> None:
    shop.write("a.jsonl", [insert(1, row(1, "Alice")), insert(2, row(1, "bolt", "five"), table=PARTS)])
    parts, things = shop.run(shop.spec(PARTS), shop.spec()).tables
    assert (parts.status, parts.exit_code, things.status) == (FAILED, 3, OK)
    assert (shop.latest(), shop.latest("shop_parts")) == ([(1, "Alice", 0)], [])
    shop.write("b.jsonl", [insert(2, row(1, "bolt", 5), table=PARTS), insert(3, row(2, "nut"), table=PARTS)])
    report = shop.run(shop.spec(PARTS, rejects=0.5), shop.spec())
    assert [(table.exit_code, table.changes, table.rejected) for table in report.tables] == [(0, 2, 1), (0, 0, 0)]
    assert (shop.latest(), shop.latest("shop_parts")) == ([(1, "Alice", 0)], [(1, "bolt", 5), (2, "nut", 0)])


def test_a_second_run_at_the_same_time_ends_with_exit_code_75(shop: Shop) -> None:
    with (
        start_run(shop.spark, shop.project, [shop.spec()], 0),
        pytest.raises(LockedError, match="another run is at work on this catalog") as refused,
    ):
        shop.run()
    assert refused.value.exit_code == 75
    assert "retry later, or wait for it with --wait" in str(refused.value)
    assert f"process {os.getpid()} on " in str(refused.value)


class Killed(BaseException):
    """A simulated kill of the process: no code catches it."""


Crash = Callable[[pytest.MonkeyPatch], None]


def dies_at_inputs(patch: pytest.MonkeyPatch) -> None:
    """Kill the run before it records the inputs of the table."""

    def dying(spark: SparkSession, project: ProjectSpec, table: str, rows: Sequence[dict[str, Any]]) -> None:
        if table == names.INPUTS and rows[0]["consumer"] == THINGS:
            raise Killed
        append_rows(spark, project, table, rows)

    patch.setattr(append_changes, "append_rows", dying)


def dies_before(table: str) -> Crash:
    """Kill the run when all rows of a table are on its branch, and nothing is published."""
    publish = Branch.publish

    def dying(branch: Branch) -> None:
        if branch.table.endswith(f".{table}"):
            raise Killed
        publish(branch)

    return lambda patch: patch.setattr(Branch, "publish", dying)


def stored(shop: Shop, table: str, *without: str) -> list[str]:
    """The sorted rows of a table as text, with paths relative to the project's folder."""
    rows = [sorted((name, value) for name, value in r.items() if name not in without) for r in shop.rows(table)]
    return sorted(repr(found).replace(str(shop.project.root), "") for found in rows)


def everything(shop: Shop) -> dict[str, list[str]]:
    """All rows that a project stores, without the columns that depend on the clock."""
    tables = ("shop_things_changes", "shop_things_h", "shop_things", "control", "inputs", "rejects")
    return {table: stored(shop, table, "mtime", "rejected_at", "attempt") for table in tables}


def branches(shop: Shop) -> dict[str, int]:
    """The number of branches of each table, including main."""
    prefix = f"{shop.project.catalog.name}.{shop.project.namespace}"
    tables = ("shop_things_changes", "shop_things_h", "shop_things", "control")
    return {table: shop.spark.table(f"{prefix}.{table}.refs").where("type = 'BRANCH'").count() for table in tables}


def check_versions(shop: Shop) -> list[int]:
    """Check that the versions of each key follow without gaps, and that only the last one is open. Gives the keys."""
    by_key: dict[int, list[dict[str, Any]]] = {}
    for version in shop.rows("shop_things_h"):
        by_key.setdefault(version["id"], []).append(version)
    for versions in by_key.values():
        versions.sort(key=lambda version: (version["_valid_to"] is None, version["_valid_to"]))
        assert [v["_valid_to"] for v in versions] == [*(v["_valid_from"] for v in versions[1:]), None]
        assert all(v["_valid_from"] <= after["_valid_from"] for v, after in pairwise(versions))
        assert [v["_is_current"] for v in versions[:-1]] == [False] * (len(versions) - 1)
        assert versions[-1]["_is_current"] == (versions[-1]["_op"] != names.OP_DELETE)
    return sorted(by_key)


def moved(second: int, old: int, new: int) -> list[str]:
    """A key change whose events do not carry the value of the name."""
    gone = {"value": json.loads(delete(second, {"id": old, "name": None, "n": None}))}
    come = {"value": json.loads(insert(second, row(new, "__debezium_unavailable_value")))}
    gone["headers"], come["headers"] = {"__debezium.newkey": {"id": new}}, {"__debezium.oldkey": {"id": old}}
    return [json.dumps(gone) + "\n", json.dumps(come) + "\n"]


@pytest.mark.slow
def test_a_value_follows_its_row_through_many_key_changes(shop: Shop) -> None:
    many = 103
    shop.write(
        "a.jsonl", [insert(1, row(1, "Alice")), *[line for n in range(1, many) for line in moved(n + 1, n, n + 1)]]
    )
    shop.taken()
    assert shop.latest() == [(many, "Alice", 0)]


@pytest.mark.slow
def test_a_run_continues_after_another_program_compacts_and_expires_the_tables(
    shop: Shop, spark: SparkSession, catalog: CatalogSpec, tmp_path: Path
) -> None:
    clean = twin_of(shop, catalog, tmp_path / "uncompacted")
    for each in (clean, shop):
        each.taken(each.spec(rejects=0.5))
    system = f"CALL {shop.project.catalog.name}.system"
    for table in ("shop_things_changes", "shop_things_h", "shop_things", "control"):
        named = f"table => '{shop.project.namespace}.{table}'"
        spark.sql(f"{system}.rewrite_data_files({named}, options => map('rewrite-all', 'true'))")
        spark.sql(f"{system}.expire_snapshots({named}, older_than => {FUTURE}, retain_last => 1)")
    for each in (clean, shop):
        (each.events / "a.jsonl").unlink()  # a run does not need the files that it took
        each.write("c.jsonl", LATER)
        each.taken(each.spec(rejects=0.5))
    assert everything(shop) == everything(clean)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["decode_table", "append_changes", "fold_history"])
def test_two_concurrent_runs_without_a_lock_lose_and_repeat_no_change(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Two machines share a catalog: another run commits while this run works. This run fails, or takes the rest."""
    spec = shop.spec()
    shop.write("a.jsonl", [insert(1, row(1, "Alice"))])
    shop.taken(spec)
    shop.write("b.jsonl", [update(2, row(1, "Bob"))])
    place = append_changes if step == "decode_table" else catch_up_module
    original = getattr(place, step)

    def overtaken(*given: Any) -> Any:
        monkeypatch.setattr(place, step, original)
        found = original(*given) if step == "append_changes" else None
        shop.write("c.jsonl", [update(3, row(1, "Cy"))])
        other = catch_up_module.Run(StartedRun.now(), shop.project, [spec], shop.spark, silent, None, None).execute()
        assert other.exit_code == 0
        return original(*given) if found is None else found

    monkeypatch.setattr(place, step, overtaken)
    (table,) = (
        catch_up_module.Run(StartedRun.now(), shop.project, [spec], shop.spark, silent, None, None).execute().tables
    )
    assert table.exit_code in (0, 75), table.error
    assert step == "append_changes" or "another run has committed to it since this run read it" in str(table.error)
    monkeypatch.setattr(place, step, original)
    shop.write("d.jsonl", [update(4, row(1, "Dan"))])
    shop.taken(spec)
    assert [found["name"] for found in sorted(shop.rows("shop_things_h"), key=lambda found: found["_position"])] == [
        "Alice", "Bob", "Cy", "Dan",
    ]  # fmt: skip
    assert len(shop.rows("shop_things_changes")) == 4
    assert shop.latest() == [(1, "Dan", 0)]


@pytest.mark.slow
def test_the_next_run_takes_a_file_that_only_the_slower_of_two_runs_saw(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The faster run commits after the slower run recorded its inputs."""
    spec = shop.spec(rejects=0.5)
    shop.write("a.jsonl", FIRST)
    shop.taken(spec)
    shop.write("b.jsonl", SECOND)
    faster = source_batch.list_source_batch(shop.spark, shop.project, spec.source, [spec], None, "a run")
    source_batch.read_source_batch(shop.spark, faster, shop.project.catalog.name)
    shop.write("c.jsonl", [insert(9, row(7, "Gil")), insert(10, row(8, "Hal", "few"))])

    def overtaken(spark: SparkSession, project: ProjectSpec, table: str, rows: Sequence[dict[str, Any]]) -> None:
        append_rows(spark, project, table, rows)
        if table == names.INPUTS and rows[0]["consumer"] == THINGS:
            monkeypatch.setattr(append_changes, "append_rows", append_rows)
            assert append_changes.append_changes(spark, project, faster, spec).batch == 2

    monkeypatch.setattr(append_changes, "append_rows", overtaken)
    (table,) = shop.run(spec).tables
    assert (table.status, table.exit_code) == (FAILED, 75), table.error
    (planned,) = plan(shop.project, [spec], shop.spark)
    assert (planned.files, planned.rejected) == (1, 1)
    assert len(rejects_of_things(shop)) == 1  # of three that were recorded
    assert shop.taken(spec).rejected == 1
    assert len(rejects_of_things(shop)) == 2
    assert shop.latest()[-1] == (7, "Gil", 0)
    assert shop.taken(spec).status == NOTHING_NEW
    taken = [(found["batch"], Path(found["path"]).name) for found in shop.rows("inputs") if found["consumer"] == THINGS]
    assert sorted(taken) == [(1, "a.jsonl"), (2, "b.jsonl"), (3, "c.jsonl")]


def rejects_of_things(shop: Shop) -> list[Reject]:
    """The rejects of `shop.things`, read without a JVM."""
    found = rejects(open_catalog(shop.project.catalog), shop.project, [shop.spec()], records=False)
    return [each for each in found if each.table == THINGS]


@pytest.mark.slow
def test_a_commit_time_from_a_wrong_clock_does_not_make_later_changes_too_late(shop: Shop) -> None:
    spec = replace(shop.spec(), lateness=timedelta(days=1))
    shop.write("a.jsonl", [insert(1, row(1, "Alice")), in_ten_years(update(2, row(1, "Alicia")))])
    shop.taken(spec)
    shop.write("b.jsonl", [update(3, row(1, "Ally"))])
    shop.taken(spec)
    assert shop.latest() == [(1, "Ally", 0)]
    shop.write("c.jsonl", [insert(200_000, row(2, "Bob"))])
    shop.taken(spec)
    shop.write("d.jsonl", [insert(4, row(3, "Cy"))])
    shop.taken(spec)
    assert [found["row"]["name"] for found in shop.rows("shop_things_changes") if found["too_late"]] == ["Cy"]
    before = shop.stored()
    assert reread(shop.project, [spec], shop.spark).exit_code == 0
    assert shop.stored() == before


def in_ten_years(line: str) -> str:
    """The event with a commit time in ten years. Its processing time stays."""
    value = json.loads(line)
    value["source"]["ts_ms"] += 315_360_000_000
    return json.dumps(value) + "\n"
