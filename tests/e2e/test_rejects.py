"""Rejects: listed, shown, and taken again when the spec is mended, once, whatever happens in between."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine.decode.row_reasons import WRITTEN_OUT_HINT
from siltstone.engine.ingest import append_changes
from siltstone.engine.reader import open_catalog
from siltstone.engine.reader.dismissals import Choice, Dismissal, dismiss
from siltstone.engine.reader.reject_reader import Reject, RejectGroup, grouped, rejects
from siltstone.engine.report import FAILED, NOTHING_NEW, OK, REBUILT, RunReport
from siltstone.engine.run import replay, reread
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, TableSpec
from siltstone.engine.table.commit import Branch
from siltstone.quality.validate import run_checks
from tests.decoding import decode_rows
from tests.e2e.streams import COLUMNS, THINGS, Shop, insert, row, update
from tests.e2e.test_exactly_once import Killed, dies_before, everything, stored


@pytest.fixture
def shop(spark: SparkSession, project: ProjectSpec) -> Shop:
    return Shop(spark, project)


def found(shop: Shop, spec: TableSpec) -> list[Reject]:
    return rejects(open_catalog(shop.project.catalog), shop.project, [spec], records=True)


def told(shop: Shop, spec: TableSpec) -> list[tuple[str, int, str, str]]:
    return [(each.file.rpartition("/")[2], each.line, each.reason, each.status) for each in found(shop, spec)]


def replayed(shop: Shop, spec: TableSpec) -> RunReport:
    report = replay(shop.project, [spec], shop.spark)
    assert report.exit_code == 0, report.tables[0].error
    return report


FIRST = (
    insert(1, row(1, "Alice")),
    insert(2, row(5, "Eve", 3_000_000_000)),
    "{not JSON\n",
    update(4, row(1, "Alice", 7)),
    insert(5, row(6, "Fay")).replace('"op": "c"', '"op": "x"'),
    update(6, row(5, "Eve", 4_000_000_000)),
)
SECOND = (update(7, row(5, "Eva", 5)), update(8, row(1, "Alicia", 7)))
WIDER = COLUMNS | {"n": "bigint"}


@pytest.mark.slow
def test_a_replay_after_the_spec_is_mended_gives_the_tables_of_the_right_spec_from_the_beginning(
    shop: Shop, spark: SparkSession, catalog: CatalogSpec, tmp_path: Any
) -> None:
    (tmp_path / "right").mkdir()
    right = Shop.open(spark, catalog, tmp_path / "right", "right")
    for each, columns in ((shop, COLUMNS), (right, WIDER)):
        for name, lines in (("a.jsonl", FIRST), ("b.jsonl", SECOND)):
            each.write(name, lines)
            each.taken(each.spec(columns=columns, rejects=1.0))
    mended = shop.spec(columns=WIDER, rejects=1.0)
    misfit = 'column "n": the value does not fit int (it needs bigint)'
    groups = [(g.table, g.reason, g.count, g.first_line) for g in grouped(found(shop, mended))]
    assert groups == [(None, "not JSON", 1, 3), (THINGS, misfit, 2, 2), (THINGS, 'unknown op "x"', 1, 5)]
    assert isinstance(grouped(found(shop, mended))[0], RejectGroup)
    assert [each.record for each in found(shop, mended)] == [FIRST[n].rstrip("\n") for n in (2, 1, 4, 5)]
    assert shop.latest() == [(1, "Alicia", 7), (5, "Eva", 5)]

    report = replayed(shop, mended)
    (source,) = report.sources
    assert (source.read, dict(source.taken), source.control, source.rejected) == (4, {THINGS: 2}, 0, 2)
    assert report.tables[0].rejected == 1
    for table in ("shop_things_h", "shop_things"):
        assert stored(shop, table, "_batch") == stored(right, table, "_batch")
    places = ("batch", "row", "before", "key", "old_key", "new_key")
    assert stored(shop, "shop_things_changes", *places) == stored(right, "shop_things_changes", *places)
    statuses = {(line, status) for _, line, _, status in told(shop, mended)}
    assert statuses == {(2, "applied"), (6, "applied"), (3, "waiting"), (5, "waiting")}
    assert {each.run_id for each in found(shop, mended) if each.status == "applied"} == {report.run_id}

    before = everything(shop)
    again = replayed(shop, mended)
    assert (again.tables[0].status, again.tables[0].batch) == (NOTHING_NEW, None) or not again.tables[0].changes
    assert everything(shop) == before


def decimals(shop: Shop, how: str = "precise", mask: str = "redact") -> TableSpec:
    """`n` as base64 or as text; `name` is masked, so that no record of the table may be kept."""
    columns = {"id": "int", "name": {"type": "string", "mask": mask}, "n": "decimal(12,2)"}
    prefix = f"{shop.project.namespace}.shop_things"
    mapping = {
        "table": THINGS,
        "source": {"format": "debezium-json", "path": "events", "decimals": how},
        "keys": ["id"],
        "columns": columns,
        "target": {"latest": prefix, "history": f"{prefix}_h"},
        "rejects": {"max_fraction": 1.0},
    }
    return table_spec(mapping, shop.project)


@contextmanager
def older(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A siltstone that cannot read the second row yet."""

    def decode(*given: Any, **more: Any) -> DataFrame:
        reason = F.when(F.col("key.id") == 2, UNREAD).otherwise(F.col("reason"))
        return decode_rows(*given, **more).withColumn("reason", reason)

    with monkeypatch.context() as patch:
        patch.setattr(append_changes, "decode_rows", decode)
        yield


UNREAD = 'column "n": not read yet'
TWO = (insert(1, row(1, "Alice", "AZA=")), insert(2, row(2, "Bob", "AS4=")))


@pytest.mark.slow
def test_a_replay_that_crashes_is_done_once_by_the_next_and_reads_masked_records_from_their_file(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = decimals(shop)
    shop.write("a.jsonl", TWO)
    with older(monkeypatch):
        assert shop.taken(spec).rejected == 1
    assert [(found["line"], found["record"]) for found in shop.rows("rejects")] == [(2, None)]
    waiting = [("a.jsonl", 2, UNREAD, "waiting")]
    with monkeypatch.context() as patch:
        dies_before("shop_things_changes")(patch)
        patch.setattr(Branch, "drop", lambda branch: None)
        with pytest.raises(Killed):
            replay(shop.project, [spec], shop.spark)
    assert told(shop, spec) == waiting
    shop.write("b.jsonl", [insert(3, row(3, "Charlie", "AZA="))])
    assert shop.taken(spec).changes == 1  # takes the number of the batch that never was
    assert (told(shop, spec), shop.rows("replays")) == (waiting, [])
    with monkeypatch.context() as patch:
        dies_before("shop_things_h")(patch)
        patch.setattr(Branch, "drop", lambda branch: None)
        with pytest.raises(Killed):
            replay(shop.project, [spec], shop.spark)
    assert [key for key, _, _ in shop.latest()] == [1, 3]
    report = replayed(shop, spec)
    assert (report.sources, report.tables[0].status, report.tables[0].changes) == ((), OK, 1)
    assert [(key, str(n)) for key, _, n in shop.latest()] == [(1, "4.00"), (2, "3.02"), (3, "4.00")]
    places = sorted((found["file"].rpartition("/")[2], found["line"]) for found in shop.rows("shop_things_changes"))
    assert places == [("a.jsonl", 1), ("a.jsonl", 2), ("b.jsonl", 1)]
    assert [status for *_, status in told(shop, spec)] == ["applied"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "waits"), [("shop_things_h", False), ("shop_things_h", True), ("shop_things", False)]
)
def test_a_replay_that_dies_while_it_folds_again_is_completed_by_the_next_and_other_settings_are_not_its_own(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, table: str, waits: bool
) -> None:
    """`waits`: rejects that no spec mends are left, so that the next replay reads some."""
    shop.write("a.jsonl", [insert(1, row(1, "Alice")), insert(2, row(2, "Bob", 3_000_000_000))])
    shop.write("b.jsonl", ["{not JSON\n"] if waits else [])
    shop.taken(shop.spec(rejects=1.0))
    mended = shop.spec(columns=WIDER, rejects=1.0)
    with monkeypatch.context() as patch:
        dies_before(table)(patch)
        with pytest.raises(Killed):
            replay(shop.project, [mended], shop.spark)
    assert "applied" in [status for *_, status in told(shop, mended)]
    report = replayed(shop, mended)
    assert report.tables[0].status == (REBUILT if table == "shop_things_h" else OK)
    assert shop.latest() == [(1, "Alice", 0), (2, "Bob", 3_000_000_000)]
    assert sorted(version["n"] for version in shop.rows("shop_things_h")) == [0, 3_000_000_000]
    assert (replayed(shop, mended).tables[0].status, shop.taken(mended).status) == (NOTHING_NEW, NOTHING_NEW)

    shop.write("c.jsonl", [insert(3, row(3, "Cy"))])
    with monkeypatch.context() as patch:
        dies_before("shop_things_h")(patch)
        with pytest.raises(Killed):
            shop.run(mended)
    before, other = everything(shop), shop.spec(columns={"id": "int", "n": "bigint"}, rejects=1.0)
    assert replayed(shop, other).tables[0].status == NOTHING_NEW
    assert everything(shop) == before


@pytest.mark.slow
def test_a_spec_by_which_the_taken_changes_would_be_others_takes_no_rejects_until_they_are_read_again(
    shop: Shop,
) -> None:
    """Beside base64 a decimal that is written out is rejected; read as text, the one in base64 would be."""
    spec, mended = decimals(shop), decimals(shop, "string")
    file = shop.write("a.jsonl", [insert(2, row(2, "Bob", "3.02"))])
    reason = 'column "n": the value does not fit decimal(12,2)'
    assert shop.taken(spec).rejected == 1
    assert told(shop, spec) == [("a.jsonl", 1, reason + WRITTEN_OUT_HINT, "waiting")]
    shop.write("b.jsonl", [insert(3, row(3, "Cy", "AZA="))])
    shop.taken(spec)
    before = everything(shop)
    for other in (mended, decimals(shop, "string", mask="sha256")):
        (table,) = replay(shop.project, [other], shop.spark).tables
        assert (table.status, table.exit_code) == (FAILED, 2)
        assert "it was decoded with other settings" in str(table.error)
        assert "siltstone rebuild --reread" in str(table.error)
    assert everything(shop) == before
    assert reread(shop.project, [mended], shop.spark).exit_code == 0
    assert [(key, str(n)) for key, _, n in shop.latest()] == [(2, "3.02")]
    assert sorted((line[0], line[3]) for line in told(shop, mended)) == [("a.jsonl", "applied"), ("b.jsonl", "waiting")]
    assert file.exists()


@pytest.mark.slow
def test_rejects_whose_file_is_gone_and_that_were_not_kept_stay(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = decimals(shop)
    file = shop.write("a.jsonl", TWO)
    with older(monkeypatch):
        shop.taken(spec)
    file.rename(shop.project.root / "elsewhere.jsonl")
    shop.write("b.jsonl", [])
    report = replayed(shop, spec)
    assert dict(report.sources[0].out_of_reach) == {f"file:{file}": 1}
    assert [status for *_, status in told(shop, spec)] == ["waiting"]
    (shop.project.root / "elsewhere.jsonl").rename(file)
    assert replayed(shop, spec).tables[0].changes == 1
    assert [key for key, _, _ in shop.latest()] == [1, 2]


@pytest.mark.slow
def test_a_file_that_its_table_refused_can_be_mended_in_place(shop: Shop) -> None:
    bad = [insert(1, row(1, "Alice")), insert(2, row(2, "Bob", "two")), insert(3, row(3, "Cy", "three")), "{not JSON\n"]
    file = shop.write("a.jsonl", bad)
    spec = shop.spec(rejects=0.4)
    (table,) = shop.run(spec).tables
    assert (table.status, table.exit_code) == (FAILED, 3)
    assert "`siltstone rejects replay` applies them once the spec or the code is fixed" in str(table.error)
    assert "a file that no table has taken yet can be replaced by a corrected file" in str(table.error)
    assert told(shop, spec) == [("a.jsonl", 4, "not JSON", "waiting")]
    mended = [bad[0], insert(2, row(2, "Bob", 2)), insert(3, row(3, "Cy", 3)), json.dumps({"ts_ms": 1}) + "\n"]
    file.write_text("".join(mended), encoding="utf-8")
    assert shop.taken(spec).changes == 3
    assert shop.latest() == [(1, "Alice", 0), (2, "Bob", 2), (3, "Cy", 3)]
    assert told(shop, spec) == [("a.jsonl", 4, "not JSON", "taken again")]
    assert replayed(shop, spec).tables[0].status == NOTHING_NEW


@pytest.mark.slow
def test_the_rejects_of_a_canal_line_with_good_rows_come_good_without_doubling_these(shop: Shop) -> None:
    message = {
        "id": 1, "ts": 1_704_067_200_500, "es": 1_704_067_200_000, "database": "shop", "table": "things",
        "type": "INSERT", "isDdl": False, "pkNames": ["id"], "old": None,
        "data": [{"id": "1", "n": "5"}, {"id": "2", "n": "3000000000"}],
    }  # fmt: skip
    shop.write("a.jsonl", [json.dumps(message) + "\n"])

    def spec(kind: str) -> TableSpec:
        prefix = f"{shop.project.namespace}.shop_things"
        mapping = {
            "table": THINGS,
            "source": {"format": "canal-json", "path": "events"},
            "keys": ["id"],
            "columns": {"id": "int", "n": kind},
            "target": {"latest": prefix, "history": f"{prefix}_h"},
            "rejects": {"max_fraction": 1.0},
        }
        return table_spec(mapping, shop.project)

    assert (shop.taken(spec("int")).changes, len(shop.rows("rejects"))) == (1, 1)
    replayed(shop, spec("bigint"))
    assert sorted((r["id"], r["n"]) for r in shop.rows("shop_things")) == [(1, 5), (2, 3_000_000_000)]
    assert len(shop.rows("shop_things_changes")) == 2


@pytest.mark.slow
def test_a_dismissed_reject_is_not_replayed_and_counts_in_no_check(shop: Shop) -> None:
    bad = [insert(2, row(2, "Bob", 3_000_000_000)), insert(3, row(3, "Cy", 3_000_000_000))]
    file = shop.write("a.jsonl", [insert(1, row(1, "Alice")), *bad, "{not JSON\n"])
    narrow, spec = shop.spec(rejects=1.0), shop.spec(columns=WIDER, rejects=1.0)
    shop.taken(narrow)
    shop.write("b.jsonl", [insert(4, row(2, "Bob", 2))])
    shop.taken(narrow)
    assert rejected(shop, narrow) == 3  # the line that names no table may be of this one
    for places in (["a.jsonl:2"], [f"{file}:4"], ["a.jsonl:2"]):
        waiting = [each for each in found(shop, narrow) if each.status in ("waiting", "dismissed")]
        dismiss(shop.project, Choice(places).of(waiting), Dismissal("me", "mended in b.jsonl", datetime.now(UTC)))
    assert [(line, status) for _, line, _, status in told(shop, narrow)] == [
        (4, "dismissed"), (2, "dismissed"), (3, "waiting"),
    ]  # fmt: skip
    assert rejected(shop, narrow) == 1
    report = replayed(shop, spec)
    assert report.sources[0].read == 1
    assert [(key, n) for key, _, n in shop.latest()] == [(1, 0), (2, 2), (3, 3_000_000_000)]
    assert rejected(shop, spec) == 0


def rejected(shop: Shop, spec: TableSpec) -> int:
    """How many rejects the check of them finds in all batches."""
    checks = replace(spec.quality, checks=("rejects",))
    (found_now,) = run_checks(shop.spark, shop.project, replace(spec, quality=checks), "r", 0)
    return found_now.observed


@pytest.mark.slow
def test_a_replayed_change_came_too_late_if_its_file_did(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it waited: what is replayed is what a siltstone that could read it would have taken, by how far the
    source had come with what was rejected, too."""
    spec = replace(shop.spec(rejects=1.0), lateness=timedelta(seconds=15))
    right = replace(shop.spec(), lateness=timedelta(seconds=15))
    shop.write("a.jsonl", [insert(100, row(1, "Alice")), insert(120, row(2, "Bob"))])
    with older(monkeypatch):
        shop.taken(spec)
        shop.write(
            "b.jsonl", [update(90, row(2, "long ago")), update(110, row(2, "just in time")), insert(200, row(3, "Cy"))]
        )
        shop.taken(spec)
    replayed(shop, spec)
    assert sorted((found["row"]["name"], found["too_late"]) for found in shop.rows("shop_things_changes")) == [
        ("Alice", False), ("Bob", False), ("Cy", False), ("just in time", False), ("long ago", True),
    ]  # fmt: skip
    history = stored(shop, "shop_things_h", "_batch")
    assert reread(shop.project, [right], shop.spark).exit_code == 0
    assert stored(shop, "shop_things_h", "_batch") == history
