"""Rejects are listed, and a replay with a fixed spec applies each of them once, also after a crash."""

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


def rejects_of(shop: Shop, spec: TableSpec) -> list[Reject]:
    return rejects(open_catalog(shop.project.catalog), shop.project, [spec], records=True)


def states_of(shop: Shop, spec: TableSpec) -> list[tuple[str, int, str, str]]:
    """(file name, line, reason, status) of each reject."""
    return [(each.file.rpartition("/")[2], each.line, each.reason, each.status) for each in rejects_of(shop, spec)]


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
def test_a_replay_with_a_fixed_spec_gives_the_tables_of_runs_with_that_spec(
    shop: Shop, spark: SparkSession, catalog: CatalogSpec, tmp_path: Any
) -> None:
    (tmp_path / "right").mkdir()
    right = Shop.open(spark, catalog, tmp_path / "right", "right")
    for each, columns in ((shop, COLUMNS), (right, WIDER)):
        for name, lines in (("a.jsonl", FIRST), ("b.jsonl", SECOND)):
            each.write(name, lines)
            each.taken(each.spec(columns=columns, rejects=1.0))
    fixed = shop.spec(columns=WIDER, rejects=1.0)
    misfit = 'column "n": the value does not fit int (it needs bigint)'
    groups = [(g.table, g.reason, g.count, g.first_line) for g in grouped(rejects_of(shop, fixed))]
    assert groups == [(None, "not JSON", 1, 3), (THINGS, misfit, 2, 2), (THINGS, 'unknown op "x"', 1, 5)]
    assert isinstance(grouped(rejects_of(shop, fixed))[0], RejectGroup)
    assert [each.record for each in rejects_of(shop, fixed)] == [FIRST[n].rstrip("\n") for n in (2, 1, 4, 5)]
    assert shop.latest() == [(1, "Alicia", 7), (5, "Eva", 5)]

    report = replayed(shop, fixed)
    (source,) = report.sources
    assert (source.read, dict(source.taken), source.control, source.rejected) == (4, {THINGS: 2}, 0, 2)
    assert report.tables[0].rejected == 1
    for table in ("shop_things_h", "shop_things"):
        assert stored(shop, table, "_batch") == stored(right, table, "_batch")
    places = ("batch", "row", "before", "key", "old_key", "new_key")
    assert stored(shop, "shop_things_changes", *places) == stored(right, "shop_things_changes", *places)
    statuses = {(line, status) for _, line, _, status in states_of(shop, fixed)}
    assert statuses == {(2, "applied"), (6, "applied"), (3, "waiting"), (5, "waiting")}
    assert {each.run_id for each in rejects_of(shop, fixed) if each.status == "applied"} == {report.run_id}

    before = everything(shop)
    second = replayed(shop, fixed)
    assert (second.tables[0].status, second.tables[0].batch) == (NOTHING_NEW, None) or not second.tables[0].changes
    assert everything(shop) == before


def decimals(shop: Shop, how: str = "precise", mask: str = "redact") -> TableSpec:
    """The spec with `n` as base64 or as text. `name` is masked, so siltstone stores no rejected record of the table."""
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
def earlier_version(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Simulate an earlier version of siltstone that rejects the row with id 2."""

    def decode(*given: Any, **more: Any) -> DataFrame:
        reason = F.when(F.col("key.id") == 2, UNREAD).otherwise(F.col("reason"))
        return decode_rows(*given, **more).withColumn("reason", reason)

    with monkeypatch.context() as patch:
        patch.setattr(append_changes, "decode_rows", decode)
        yield


UNREAD = 'column "n": not read yet'
TWO = (insert(1, row(1, "Alice", "AZA=")), insert(2, row(2, "Bob", "AS4=")))


@pytest.mark.slow
def test_a_replay_after_a_crash_applies_each_reject_once_and_reads_masked_records_from_their_file(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = decimals(shop)
    shop.write("a.jsonl", TWO)
    with earlier_version(monkeypatch):
        assert shop.taken(spec).rejected == 1
    assert [(found["line"], found["record"]) for found in shop.rows("rejects")] == [(2, None)]
    waiting = [("a.jsonl", 2, UNREAD, "waiting")]
    with monkeypatch.context() as patch:
        dies_before("shop_things_changes")(patch)
        patch.setattr(Branch, "drop", lambda branch: None)
        with pytest.raises(Killed):
            replay(shop.project, [spec], shop.spark)
    assert states_of(shop, spec) == waiting
    shop.write("b.jsonl", [insert(3, row(3, "Charlie", "AZA="))])
    assert shop.taken(spec).changes == 1  # gets the batch number of the killed replay
    assert (states_of(shop, spec), shop.rows("replays")) == (waiting, [])
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
    assert [status for *_, status in states_of(shop, spec)] == ["applied"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "waits"), [("shop_things_h", False), ("shop_things_h", True), ("shop_things", False)]
)
def test_the_next_replay_completes_a_killed_replay_but_not_a_killed_run_of_another_spec(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, table: str, waits: bool
) -> None:
    """`waits`: a reject stays that no spec can fix, so the next replay reads it."""
    shop.write("a.jsonl", [insert(1, row(1, "Alice")), insert(2, row(2, "Bob", 3_000_000_000))])
    shop.write("b.jsonl", ["{not JSON\n"] if waits else [])
    shop.taken(shop.spec(rejects=1.0))
    fixed = shop.spec(columns=WIDER, rejects=1.0)
    with monkeypatch.context() as patch:
        dies_before(table)(patch)
        with pytest.raises(Killed):
            replay(shop.project, [fixed], shop.spark)
    assert "applied" in [status for *_, status in states_of(shop, fixed)]
    report = replayed(shop, fixed)
    assert report.tables[0].status == (REBUILT if table == "shop_things_h" else OK)
    assert shop.latest() == [(1, "Alice", 0), (2, "Bob", 3_000_000_000)]
    assert sorted(version["n"] for version in shop.rows("shop_things_h")) == [0, 3_000_000_000]
    assert (replayed(shop, fixed).tables[0].status, shop.taken(fixed).status) == (NOTHING_NEW, NOTHING_NEW)

    shop.write("c.jsonl", [insert(3, row(3, "Cy"))])
    with monkeypatch.context() as patch:
        dies_before("shop_things_h")(patch)
        with pytest.raises(Killed):
            shop.run(fixed)
    before, other = everything(shop), shop.spec(columns={"id": "int", "n": "bigint"}, rejects=1.0)
    assert replayed(shop, other).tables[0].status == NOTHING_NEW
    assert everything(shop) == before


@pytest.mark.slow
def test_a_replay_refuses_other_decode_settings_until_a_reread_applies_them(
    shop: Shop,
) -> None:
    """The spec for base64 rejects a written-out decimal. The spec for text rejects a decimal in base64."""
    spec, fixed = decimals(shop), decimals(shop, "string")
    file = shop.write("a.jsonl", [insert(2, row(2, "Bob", "3.02"))])
    reason = 'column "n": the value does not fit decimal(12,2)'
    assert shop.taken(spec).rejected == 1
    assert states_of(shop, spec) == [("a.jsonl", 1, reason + WRITTEN_OUT_HINT, "waiting")]
    shop.write("b.jsonl", [insert(3, row(3, "Cy", "AZA="))])
    shop.taken(spec)
    before = everything(shop)
    for other in (fixed, decimals(shop, "string", mask="sha256")):
        (table,) = replay(shop.project, [other], shop.spark).tables
        assert (table.status, table.exit_code) == (FAILED, 2)
        assert "it was decoded with other settings" in str(table.error)
        assert "siltstone rebuild --reread" in str(table.error)
    assert everything(shop) == before
    assert reread(shop.project, [fixed], shop.spark).exit_code == 0
    assert [(key, str(n)) for key, _, n in shop.latest()] == [(2, "3.02")]
    assert sorted((line[0], line[3]) for line in states_of(shop, fixed)) == [
        ("a.jsonl", "applied"),
        ("b.jsonl", "waiting"),
    ]
    assert file.exists()


@pytest.mark.slow
def test_rejects_without_a_stored_record_wait_while_their_file_is_missing(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = decimals(shop)
    file = shop.write("a.jsonl", TWO)
    with earlier_version(monkeypatch):
        shop.taken(spec)
    file.rename(shop.project.root / "elsewhere.jsonl")
    shop.write("b.jsonl", [])
    report = replayed(shop, spec)
    assert dict(report.sources[0].out_of_reach) == {f"file:{file}": 1}
    assert [status for *_, status in states_of(shop, spec)] == ["waiting"]
    (shop.project.root / "elsewhere.jsonl").rename(file)
    assert replayed(shop, spec).tables[0].changes == 1
    assert [key for key, _, _ in shop.latest()] == [1, 2]


@pytest.mark.slow
def test_a_file_that_its_table_refused_can_be_corrected_in_place(shop: Shop) -> None:
    bad = [insert(1, row(1, "Alice")), insert(2, row(2, "Bob", "two")), insert(3, row(3, "Cy", "three")), "{not JSON\n"]
    file = shop.write("a.jsonl", bad)
    spec = shop.spec(rejects=0.4)
    (table,) = shop.run(spec).tables
    assert (table.status, table.exit_code) == (FAILED, 3)
    assert "`siltstone rejects replay` applies them once the spec or the code is fixed" in str(table.error)
    assert "a file that no table has taken yet can be replaced by a corrected file" in str(table.error)
    assert states_of(shop, spec) == [("a.jsonl", 4, "not JSON", "waiting")]
    corrected = [bad[0], insert(2, row(2, "Bob", 2)), insert(3, row(3, "Cy", 3)), json.dumps({"ts_ms": 1}) + "\n"]
    file.write_text("".join(corrected), encoding="utf-8")
    assert shop.taken(spec).changes == 3
    assert shop.latest() == [(1, "Alice", 0), (2, "Bob", 2), (3, "Cy", 3)]
    assert states_of(shop, spec) == [("a.jsonl", 4, "not JSON", "taken again")]
    assert replayed(shop, spec).tables[0].status == NOTHING_NEW


@pytest.mark.slow
def test_a_replay_of_a_canal_line_does_not_duplicate_its_accepted_rows(shop: Shop) -> None:
    message = {
        "id": 1, "ts": 1_704_067_200_500, "es": 1_704_067_200_000, "database": "shop", "table": "things",
        "type": "INSERT", "isDdl": False, "pkNames": ["id"], "old": None,
        "data": [{"id": "1", "n": "5"}, {"id": "2", "n": "3000000000"}],
    }  # fmt: skip
    shop.write("a.jsonl", [json.dumps(message) + "\n"])

    def spec(kind: str) -> TableSpec:
        return spec_of_format(shop, "canal-json", THINGS, "shop_things", {"id": "int", "n": kind})

    assert (shop.taken(spec("int")).changes, len(shop.rows("rejects"))) == (1, 1)
    replayed(shop, spec("bigint"))
    assert sorted((r["id"], r["n"]) for r in shop.rows("shop_things")) == [(1, 5), (2, 3_000_000_000)]
    assert len(shop.rows("shop_things_changes")) == 2


@pytest.mark.slow
def test_a_dismissed_reject_is_not_replayed_and_no_check_counts_it(shop: Shop) -> None:
    bad = [insert(2, row(2, "Bob", 3_000_000_000)), insert(3, row(3, "Cy", 3_000_000_000))]
    file = shop.write("a.jsonl", [insert(1, row(1, "Alice")), *bad, "{not JSON\n"])
    narrow, spec = shop.spec(rejects=1.0), shop.spec(columns=WIDER, rejects=1.0)
    shop.taken(narrow)
    shop.write("b.jsonl", [insert(4, row(2, "Bob", 2))])
    shop.taken(narrow)
    assert rejected(shop, narrow) == 3  # the line that names no table may be of this one
    for places in (["a.jsonl:2"], [f"{file}:4"], ["a.jsonl:2"]):
        waiting = [each for each in rejects_of(shop, narrow) if each.status in ("waiting", "dismissed")]
        dismiss(shop.project, Choice(places).of(waiting), Dismissal("me", "mended in b.jsonl", datetime.now(UTC)))
    assert [(line, status) for _, line, _, status in states_of(shop, narrow)] == [
        (4, "dismissed"), (2, "dismissed"), (3, "waiting"),
    ]  # fmt: skip
    assert rejected(shop, narrow) == 1
    report = replayed(shop, spec)
    assert report.sources[0].read == 1
    assert [(key, n) for key, _, n in shop.latest()] == [(1, 0), (2, 2), (3, 3_000_000_000)]
    assert rejected(shop, spec) == 0


def rejected(shop: Shop, spec: TableSpec) -> int:
    """The number of rejects that the `rejects` check finds in all batches."""
    checks = replace(spec.quality, checks=("rejects",))
    (result,) = run_checks(shop.spark, shop.project, replace(spec, quality=checks), "r", 0)
    return result.observed


@pytest.mark.slow
def test_a_replayed_change_is_too_late_if_it_was_too_late_in_its_file(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of the replay does not matter. The rejects of earlier files also count as progress of the source."""
    spec = replace(shop.spec(rejects=1.0), lateness=timedelta(seconds=15))
    right = replace(shop.spec(), lateness=timedelta(seconds=15))
    shop.write("a.jsonl", [insert(100, row(1, "Alice")), insert(120, row(2, "Bob"))])
    with earlier_version(monkeypatch):
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


BIG = "3000000000"


def spanner_record(table: str, n: str, sequence: int = 0) -> dict[str, Any]:
    types = [
        {"name": "id", "type": {"code": "INT64"}, "is_primary_key": True, "ordinal_position": 1},
        {"name": "n", "type": {"code": "INT64"}, "is_primary_key": False, "ordinal_position": 2},
    ]
    return {
        "commit_timestamp": "2024-01-02T03:04:05.678901Z", "record_sequence": f"{sequence:08}", "table_name": table,
        "server_transaction_id": "t", "value_capture_type": "NEW_VALUES", "mod_type": "INSERT", "column_types": types,
        "mods": [{"keys": {"id": "1"}, "new_values": {"n": n}}],
    }  # fmt: skip


def spanner_line(*records: dict[str, Any]) -> str:
    """A line of GoogleSQL with these records and a heartbeat."""
    beat = {"timestamp": "2024-01-02T03:04:06Z"}
    changes: list[dict[str, Any]] = [{"data_change_record": [one]} for one in records]
    return json.dumps({"partition_token": "p", "change_record": [*changes, {"heartbeat_record": [beat]}]}) + "\n"


def spanner_spec(shop: Shop, table: str, kind: str) -> TableSpec:
    return spec_of_format(shop, "spanner-json", table, table, {"id": "bigint", "n": kind})


def spec_of_format(shop: Shop, form: str, table: str, target: str, columns: dict[str, str]) -> TableSpec:
    prefix = f"{shop.project.namespace}.{target}"
    mapping = {
        "table": table,
        "source": {"format": form, "path": "events"},
        "keys": ["id"],
        "columns": columns,
        "target": {"latest": prefix, "history": f"{prefix}_h"},
        "rejects": {"max_fraction": 1.0},
    }
    return table_spec(mapping, shop.project)


def waiting_of(shop: Shop, spec: TableSpec) -> list[str]:
    """The tables of all waiting rejects of the spec's source."""
    return sorted(str(each.table) for each in rejects_of(shop, spec) if each.status == "waiting")


@pytest.mark.slow
def test_a_reject_waits_if_its_table_fails_and_another_table_takes_a_record_of_its_line(shop: Shop) -> None:
    narrow, wide = ([spanner_spec(shop, table, kind) for table in ("a", "b")] for kind in ("int", "bigint"))
    both = replace(shop, project=replace(shop.project, tables=tuple(narrow)))
    first = spanner_line(spanner_record("a", "0"), spanner_record("b", "0", 1))
    both.write("one.jsonl", [first, spanner_line(spanner_record("a", BIG, 2), spanner_record("b", BIG, 3))])
    assert both.run(*narrow).exit_code == 0
    assert waiting_of(both, narrow[0]) == ["a", "b"]
    events = len(both.rows("control"))

    failing = spanner_spec(shop, "b", "date")  # its column cannot become a date
    report = replay(both.project, [wide[0], failing], both.spark)
    assert [table.status for table in report.tables] == [REBUILT, FAILED], [table.error for table in report.tables]
    assert [found["n"] for found in both.rows("a")] == [int(BIG)]
    assert waiting_of(both, narrow[0]) == ["b"]
    assert len(both.rows("control")) == events
    assert replay(both.project, [wide[1]], both.spark).exit_code == 0
    assert [found["n"] for found in both.rows("b")] == [int(BIG)]
    assert waiting_of(both, narrow[0]) == []


@pytest.mark.slow
def test_a_reject_without_a_table_waits_until_each_table_of_its_line_has_taken_it(shop: Shop) -> None:
    specs = [spanner_spec(shop, table, "bigint") for table in ("a", "b")]
    both = replace(shop, project=replace(shop.project, tables=tuple(specs)))
    both.write("one.jsonl", [spanner_line(spanner_record("a", "0"), spanner_record("b", "0", 1)), "{not JSON\n"])
    assert both.run(*specs).exit_code == 0
    # From here on, the line is one that only an earlier version of siltstone could not read.
    line = spanner_line(spanner_record("a", BIG, 2), spanner_record("b", BIG, 3)).rstrip("\n")
    shop.spark.sql(f"UPDATE lake.{shop.project.namespace}.rejects SET record = '{line}'")
    assert waiting_of(both, specs[0]) == ["None"]
    failing = spanner_spec(shop, "b", "date")
    assert [table.status for table in replay(both.project, [specs[0], failing], both.spark).tables] == [OK, FAILED]
    assert waiting_of(both, specs[0]) == ["None"]
    assert sorted(found["n"] for found in both.rows("a_h")) == [0, int(BIG)]
    for _ in range(2):
        report = replay(both.project, specs, both.spark)
        assert report.exit_code == 0, [table.error for table in report.tables]
        assert waiting_of(both, specs[0]) == []
    assert [[found["n"] for found in both.rows(table)] for table in ("a", "b")] == [[int(BIG)], [int(BIG)]]
    assert [len(both.rows(f"{table}_changes")) for table in ("a", "b")] == [2, 2]
