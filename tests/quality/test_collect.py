"""From Iceberg tables to the report's facts, on a small lake that PyIceberg writes."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.types import DecimalType, StringType

from siltstone.engine.cli import main
from siltstone.engine.doctor import tables
from siltstone.engine.run_lock import new_note, write_note
from siltstone.engine.schema.gap_record import HEALED, OPEN
from siltstone.engine.spec import load_project
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, QualitySpec, SparkSpec
from siltstone.quality.report import collect
from siltstone.quality.report.facts import Facts, LateFact, RejectsFact, TableFacts
from siltstone.quality.report.stream_facts import commits_of, log_of
from siltstone.quality.report.troubles import Level, level_of, troubles
from siltstone.quality.report.write_report import facts_of

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = BEGAN + timedelta(days=40)
INSTANT, TEXT, NUMBER = pa.timestamp("us", "UTC"), pa.string(), pa.int64()
COUNTS = pa.map_(TEXT, NUMBER)
RUNS = pa.schema(
    {"run_id": TEXT, "started_at": INSTANT, "seconds": pa.float64(), "table": TEXT, "status": TEXT, "batch": NUMBER}
    | {"changes": NUMBER, "rejected": NUMBER, "outcomes": COUNTS, "error": TEXT, "exit_code": pa.int32()}
)
CHECKS = pa.schema(
    {"run_id": TEXT, "checked_at": INSTANT, "table": TEXT, "check": TEXT, "severity": TEXT, "status": TEXT}
    | {"observed": NUMBER, "message": TEXT, "position_from": TEXT, "position_to": TEXT, "keys": pa.list_(TEXT)}
    | {"hint": TEXT}
)
GAPS = pa.schema(
    dict.fromkeys(("gap_id", "table", "check", "severity", "status", "key", "position_from", "position_to"), TEXT)
    | {"committed_from": INSTANT, "committed_to": INSTANT, "message": TEXT, "hint": TEXT, "findings": NUMBER}
    | {"since_batch": NUMBER, "opened_run": TEXT, "opened_at": INSTANT, "last_seen_run": TEXT, "last_seen_at": INSTANT}
    | {"healed_run": TEXT, "healed_at": INSTANT, "acknowledged_by": TEXT, "acknowledged_reason": TEXT}
    | {"acknowledged_at": INSTANT}
)
CHANGES = pa.schema({"batch": NUMBER, "commit_ts": INSTANT, "too_late": pa.bool_()})
REJECTS = pa.schema(
    {"batch": NUMBER, "consumer": TEXT, "table": TEXT, "file": TEXT, "line": NUMBER, "reason": TEXT, "record": TEXT}
    | {"rejected_at": INSTANT}
)
INPUTS = pa.schema({"batch": NUMBER, "consumer": TEXT, "path": TEXT, "from_line": NUMBER, "to_line": NUMBER})
CONTROL = pa.schema({"source": TEXT, "kind": TEXT, "event_id": TEXT, "commit_ts": INSTANT})
ROWS = pa.schema({"id": NUMBER, "amount": pa.decimal128(10, 2)})


class Lake:
    """A catalog in a file, with the tables of some runs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.reached = 0
        self.catalog = SqlCatalog("lake", uri=f"sqlite:///{root}/catalog.db", warehouse=f"file://{root}/warehouse")
        for namespace in ("silt", "shop"):
            self.catalog.create_namespace(namespace)

    def project_file(self) -> Path:
        """The option that names the project."""
        file = self.root / "siltstone.yaml"
        file.write_text(
            f"catalog: {{name: lake, type: jdbc, uri: 'jdbc:sqlite:{self.root}/catalog.db',"
            f" warehouse: 'file://{self.root}/warehouse'}}\nnamespace: silt\n"
        )
        return file

    @property
    def project(self) -> ProjectSpec:
        spec = CatalogSpec("lake", "jdbc", f"jdbc:sqlite:{self.root}/catalog.db", f"file://{self.root}/warehouse")
        return ProjectSpec(self.root, None, spec, "silt", SparkSpec(), QualitySpec())

    def append(
        self, name: str, schema: pa.Schema, rows: Sequence[Mapping[str, Any]], summary: Mapping[str, str] | None = None
    ) -> Table:
        table = self.catalog.create_table_if_not_exists(name, schema)
        table.append(
            pa.Table.from_pylist([dict(row) for row in rows], schema=schema), snapshot_properties=summary or {}
        )
        return table

    def run(self, number: int, table: str = "shop.orders", changes: int = 2, **more: Any) -> None:
        at = BEGAN + timedelta(days=number)
        row = {"run_id": f"run{number}", "started_at": at, "seconds": 1.5, "table": table, "status": "ok"}
        row |= {"batch": number, "changes": changes, "rejected": 0, "outcomes": {"opened": changes}, "exit_code": 0}
        self.append("silt.runs", RUNS, [row | more])

    def check(self, number: int, check: str, status: str, table: str = "shop.orders") -> dict[str, Any]:
        at = BEGAN + timedelta(days=number, hours=1)
        row = {"run_id": f"run{number}", "checked_at": at, "table": table, "check": check, "severity": "error"}
        return row | {"status": status, "observed": 0, "message": f"text of run{number}", "keys": []}

    def batch(self, number: int, minutes: Sequence[int], too_late: Sequence[int] = ()) -> None:
        """A batch of changes, with their commit times in minutes after the beginning."""
        self.reached = max([*minutes, self.reached])
        times = {minute: BEGAN + timedelta(minutes=minute) for minute in minutes}
        rows = [{"batch": number, "commit_ts": at, "too_late": minute in too_late} for minute, at in times.items()]
        micros = int((BEGAN + timedelta(minutes=self.reached)).timestamp() * 1_000_000)
        summary = {"siltstone.batch": str(number), "siltstone.max-commit-us": str(micros)}
        self.append("silt.shop_orders_changes", CHANGES, rows, summary)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def facts(lake: Lake) -> Facts:
    return facts_of(lake.project, NOW)


def orders(lake: Lake) -> TableFacts:
    return next(table for table in facts(lake).tables if table.table == "shop.orders")


def filled(lake: Lake) -> None:
    """Three runs of one table. Its latest got a new column and a wider one."""
    lake.batch(1, [0, 10])
    lake.batch(2, [9, 20, 30])
    lake.batch(3, [-60 * 24 * 3, 29, 5, 40], too_late=[5])
    for number in (1, 2, 3):
        lake.run(number)
    lake.append("silt.checks", CHECKS, [lake.check(2, "orphan", "failed")])
    lake.append("silt.checks", CHECKS, [lake.check(3, check, "passed") for check in ("orphan", "sums_close")])
    marker, through = {"siltstone.batch": "3"}, "2026-01-01T00:40:00.000000Z"
    history = lake.append("shop.orders_history", ROWS, [{"id": 1, "amount": 1}, {"id": 1, "amount": 2}], marker)
    with history.transaction() as change:
        change.set_properties(
            {"siltstone.complete-through": through, "siltstone.complete-through-by": "heartbeat"}
            | {"siltstone.checked-batch": "3"}
        )
    latest = lake.append("shop.orders", ROWS, [{"id": 1, "amount": 2}], marker)
    with latest.update_schema() as schema:
        schema.add_column("note", StringType())
        schema.update_column("amount", DecimalType(12, 2))
    wider = pa.schema({"id": NUMBER, "amount": pa.decimal128(12, 2), "note": TEXT})
    lake.append("shop.orders", wider, [{"id": 2, "amount": 3, "note": "x"}], marker)


def test_a_report_starts_without_spark() -> None:
    loaded = "import sys, siltstone.quality.report.write_report; print('pyspark' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"


def test_before_the_first_run_there_are_no_facts(tmp_path: Path) -> None:
    spec = CatalogSpec("lake", "jdbc", f"jdbc:sqlite:{tmp_path}/none.db", f"file://{tmp_path}")
    assert facts_of(ProjectSpec(tmp_path, None, spec, "silt", SparkSpec(), QualitySpec())).tables == ()


def test_a_table_reports_its_size_and_how_far_it_is_complete(lake: Lake) -> None:
    filled(lake)
    table = orders(lake)
    assert (table.latest, table.rows, table.versions, table.changes) == ("shop.orders", 2, 2, 9)
    assert (table.complete_through, table.complete_through_by) == (BEGAN + timedelta(minutes=40), "heartbeat")
    assert table.sealed_up_to is None
    (change,) = table.schema_changes
    assert (change.added, change.changed) == (("note string",), ("amount decimal(10, 2) → decimal(12, 2)",))
    assert change.at is not None


def test_an_unchecked_batch_and_writes_of_other_programs_are_reported(lake: Lake) -> None:
    filled(lake)
    assert [one.what for one in troubles(orders(lake), NOW)] == ["old data"]
    history = lake.append("shop.orders_history", ROWS, [{"id": 3, "amount": 2}], {"siltstone.batch": "5"})
    table = orders(lake)
    assert (table.batch, table.checked_batch, table.foreign_writes) == (5, 3, ())
    assert "not checked" in [one.what for one in troubles(table, NOW)]
    history.delete("id = 3")
    table = orders(lake)
    assert table.batch == 5
    (write,) = table.foreign_writes
    assert re.match(r"shop.orders_history: (delete|overwrite) by .* at .* UTC, snapshot \d+: .*1 rows deleted", write)
    assert level_of(table, NOW) == Level.BAD


def test_a_batch_of_changes_that_is_not_in_the_tables_is_reported(lake: Lake) -> None:
    filled(lake)
    lake.batch(4, [50])
    table = orders(lake)
    assert (table.batch, table.taken_batch) == (3, 4)
    assert "not published" in [one.what for one in troubles(table, NOW)]


def test_the_checks_are_those_of_the_last_run_with_checks(lake: Lake) -> None:
    filled(lake)
    lake.run(4, changes=0, status="nothing new", outcomes={})
    assert [(check.check, check.status, check.message) for check in orders(lake).checks] == [
        ("orphan", "passed", "text of run3"),
        ("sums_close", "passed", "text of run3"),
    ]


def test_late_changes_are_counted_by_their_delay(lake: Lake) -> None:
    filled(lake)
    assert orders(lake).late == (
        LateFact("up to a minute", 2),
        LateFact("up to a week", 1),
        LateFact("too late: not applied", 1),
    )


def test_the_lag_is_from_the_newest_change_to_its_commit(lake: Lake) -> None:
    filled(lake)
    lake.run(4, changes=0)
    now = datetime.now(UTC)
    lags = [run.lag_seconds for run in orders(lake).runs]
    assert lags[3] is None
    expected = [(now - BEGAN - timedelta(minutes=minutes)).total_seconds() for minutes in (10, 30, 40)]
    assert all(lag is not None and abs(lag - wanted) < 600 for lag, wanted in zip(lags, expected, strict=False))


def test_the_log_spans_changes_and_open_gaps_and_shows_the_windows(lake: Lake) -> None:
    filled(lake)
    minute = timedelta(minutes=1)
    gap = {"gap_id": "g", "table": "shop.orders", "check": "chain_break", "severity": "error", "message": "m"}
    gap |= {"since_batch": 0, "opened_run": "run1", "opened_at": BEGAN, "last_seen_run": "run1", "last_seen_at": BEGAN}
    gap |= {"findings": 1}
    ends = {"committed_from": BEGAN + 35 * minute, "committed_to": BEGAN + 90 * minute}
    healed = {"gap_id": "h", "status": HEALED, "healed_at": NOW, "committed_to": BEGAN + 900 * minute}
    long_ago = {"gap_id": "old", "status": HEALED, "healed_at": BEGAN}
    lake.append("silt.gaps", GAPS, [gap | {"status": OPEN} | ends, gap | healed, gap | long_ago])
    marks = [
        ("window_open", "w-open", 1),
        ("window_close", "w-close", 3),
        ("window_open", "v", 50),
        ("heartbeat", "", 9),
    ]
    rows = [{"source": "s", "kind": k, "event_id": e, "commit_ts": BEGAN + m * minute} for k, e, m in marks]
    lake.append("silt.control", CONTROL, rows)
    table = orders(lake)
    assert [one.gap_id for one in table.gaps] == ["g", "h"]
    assert table.log is not None
    assert (table.log.begins, table.log.ends) == (BEGAN - timedelta(days=3), BEGAN + 90 * minute)
    assert sum(table.log.counts) == 9
    assert [(one.opened, one.closed) for one in table.log.windows] == [
        (BEGAN + minute, BEGAN + 3 * minute),
        (BEGAN + 50 * minute, None),
    ]


@pytest.mark.parametrize("span", [0, 1, 17, 10**9])
def test_each_change_is_counted_in_the_log_however_close_together_they_lie(lake: Lake, span: int) -> None:
    times = [BEGAN + timedelta(microseconds=offset) for offset in {0, span // 2, span}]
    rows = pa.Table.from_pylist([{"batch": 1, "commit_ts": at, "too_late": False} for at in times], schema=CHANGES)
    log = log_of(lake.catalog, "silt.control", rows, ())
    assert log is not None
    assert (log.begins, log.ends, sum(log.counts)) == (min(times), max(times), len(times))


def test_the_log_reaches_from_one_end_of_the_calendar_to_the_other(lake: Lake) -> None:
    """Programs write their zero or their greatest time in place of a missing one."""
    ends = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
    rows = [{"batch": 1, "commit_ts": at, "too_late": False} for at in ends]
    last = (ends[1] - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    summary = {"siltstone.batch": "1", "siltstone.max-commit-us": str(last)}
    changes = lake.append("silt.shop_orders_changes", CHANGES, rows, summary)
    assert commits_of(changes)[1].newest == ends[1]
    log = log_of(lake.catalog, "silt.control", changes.scan().to_arrow(), ())
    assert log is not None
    assert (log.begins, log.ends, sum(log.counts)) == (ends[0], ends[1], 2)


def test_waiting_rejects_without_a_table_are_listed_by_source_and_reason(lake: Lake) -> None:
    filled(lake)
    lake.append("silt.control", CONTROL, [], {"siltstone.batch": "2"})
    row = {"batch": 1, "consumer": "control:/ev", "file": "file:/ev/a", "line": 3, "rejected_at": NOW}
    rows = [row | {"reason": "not JSON"}, row | {"reason": "not JSON", "line": 2}, row | {"reason": "odd", "line": 5}]
    rows += [rows[0] | {"table": "shop.orders"}, rows[0] | {"batch": 3}]
    rows += [rows[0] | {"batch": 2, "file": "file:/ev/b", "line": 8}, rows[0] | {"file": "file:/ev/c"}]
    taken = {"consumer": "control:/ev", "path": "file:/ev/a", "batch": 1, "from_line": 1, "to_line": 9}
    unfinished, repeated = taken | {"path": "file:/ev/b", "batch": 2, "to_line": 7}, taken | {"path": "file:/ev/c"}
    lake.append("silt.rejects", REJECTS, rows)
    lake.append("silt.inputs", INPUTS, [taken, unfinished, repeated, repeated | {"batch": 2}])
    assert facts(lake).rejects == (
        RejectsFact("/ev", "not JSON", 2, "file:/ev/a", 2, NOW),
        RejectsFact("/ev", "odd", 1, "file:/ev/a", 5, NOW),
    )


def test_only_the_newest_runs_are_shown(lake: Lake) -> None:
    for number in range(1, 36):
        lake.run(number)
    runs = orders(lake).runs
    assert (len(runs), runs[0].run_id, runs[-1].run_id) == (30, "run6", "run35")


def test_a_table_that_runs_rarely_keeps_its_last_run_and_checks(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest commits to the ledgers are all of another table, which has nothing new to check."""
    monkeypatch.setattr(collect, "COMMITS_OF_RUNS", 3)
    lake.run(1, table="shop.weekly", status="failed")
    failed = [lake.check(1, "orphan", "failed", table) for table in ("shop.weekly", "shop.orders", "shop.checked")]
    lake.append("silt.checks", CHECKS, failed)
    gap = {"gap_id": "g", "table": "shop.weekly", "check": "orphan", "severity": "error", "status": OPEN}
    gap |= {"opened_run": "run1", "opened_at": BEGAN, "last_seen_run": "run1", "last_seen_at": BEGAN, "findings": 1}
    lake.append("silt.gaps", GAPS, [gap | {"since_batch": 0, "message": "m"}])
    for number in range(2, 6):
        lake.run(number, started_at=datetime.now(UTC), status="nothing new")
    found = {table.table: table for table in facts(lake).tables}
    weekly, hourly = found["shop.weekly"], found["shop.orders"]
    assert [run.run_id for run in weekly.runs] == ["run1"]
    assert [check.status for check in (*weekly.checks, *hourly.checks)] == ["failed", "failed"]
    assert [run.run_id for run in hourly.runs] == ["run2", "run3", "run4", "run5"]
    assert (level_of(weekly, NOW), level_of(hourly, NOW)) == (Level.BAD, Level.BAD)


MOVED_COMMANDS = (
    ("show", "shop.orders"),
    ("runs",),
    ("rejects", "list"),
    ("gaps", "list"),
    ("gaps", "ack", "x", "--reason", "y"),
    ("report",),
)


def test_every_command_reports_a_moved_project_and_doctor_finds_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    lake = Lake(before)
    filled(lake)
    for ledger, schema in (("gaps", GAPS), ("rejects", REJECTS)):
        lake.append(f"silt.{ledger}", schema, [])
    (found,) = tables(lake.project)
    assert found.ok, found
    before.rename(after)
    (after / "siltstone.yaml").write_text(
        f"catalog: {{name: lake, type: jdbc, uri: 'jdbc:sqlite:{after}/catalog.db'}}\nnamespace: silt\n"
    )
    (after / "specs").mkdir()
    (after / "specs" / "orders.yaml").write_text("table: shop.orders\nsource: {format: debezium-json, path: events}\n")
    for command in MOVED_COMMANDS:
        with pytest.raises(SystemExit) as ended:
            main([*command, "--project", str(after / "siltstone.yaml")])
        output = " ".join(capsys.readouterr().err.split())
        assert ended.value.code == 2, (command, output)
        assert f": {before}/warehouse/" in output
        assert ".metadata.json does not exist." in output
        assert "if the project or its warehouse was moved, put it back, or make a link to it where it was" in output
    (found,) = tables(load_project(after / "siltstone.yaml"))
    assert not found.ok
    assert found.found.startswith("7 of 7 are not where the catalog has them: shop.orders (")
    after.rename(before)
    (found,) = tables(lake.project)
    assert (found.ok, found.found) == (True, "7, where the catalog has them")


def test_the_command_prints_the_verdict_and_writes_the_page(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    filled(lake)
    file = lake.project_file()

    def report(*options: str, ends: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["report", *options, "--project", str(file)])
        assert ended.value.code == ends
        return capsys.readouterr().out

    page = lake.root / "report" / "index.html"
    headline, place = report().splitlines()
    assert re.match(r"No, the data is \d+ (days|years) old\. ", headline)
    assert place == str(page)
    assert "shop.orders" in page.read_text(encoding="utf-8")
    assert "data-docs" not in page.read_text(encoding="utf-8")
    assert json.loads(report("--json"))["verdict"]["level"] == "look"
    assert report("--markdown").startswith("## ")
    assert report("--json", "--markdown", ends=2) == ""
    assert sorted(path.name for path in page.parent.iterdir()) == [f"{datetime.now(UTC):%Y-%m-%d}.html", "index.html"]


def gone_process() -> int:
    """The number of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_a_killed_run_is_reported_before_the_next_run_records_it(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(lake)
    note = new_note("died", NOW, ("shop.orders",))
    write_note(lake.project, note)
    assert [run.status for run in orders(lake).runs] == ["ok"] * 3  # it is running
    write_note(lake.project, replace(note, process=gone_process()))
    assert [run.status for run in orders(lake).runs] == ["ok"] * 3 + ["interrupted"]
    found = troubles(orders(lake), NOW)[0]
    assert (found.level, found.what) == (Level.BAD, "the last run was interrupted")
    file = lake.project_file()
    with pytest.raises(SystemExit):
        main(["runs", "--json", "--project", str(file)])
    assert "began at 2026-02-10T00:00:00Z was interrupted" in capsys.readouterr().err
