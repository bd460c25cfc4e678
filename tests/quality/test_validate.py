"""The checks of a table in a real catalog, from Spark to the ledger and the Data Docs."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine.cli import main
from siltstone.engine.spec import ProjectSpec, TableSpec, table_spec
from siltstone.engine.table.catalog import create, identifier
from siltstone.engine.table.commit import Branch
from siltstone.engine.table.ledger import read_ledger
from siltstone.quality.results import Sums
from siltstone.quality.scope import Tables
from siltstone.quality.validate import checks_of_run, run_checks
from tests.quality.stage import Stage, change

ROW = T.StructType([T.StructField("k", T.StringType()), T.StructField("a", T.IntegerType())])
NUMBERS = {"read": 3, "taken": 3, "control": 0, "other_table": 0, "rejected": 0, "changes": 3, "outcomes": 3}


@dataclass
class Stored:
    """A project with one table, whose second update does not follow its first."""

    project: ProjectSpec
    spec: TableSpec


@pytest.fixture
def stored(spark: SparkSession, project_with_docs: ProjectSpec) -> Stored:
    project = project_with_docs
    changes = [
        change(10, "insert", "x", {"a": 1}),
        change(11, "update", "x", {"a": 2}, before={"a": 1}),
        change(13, "update", "x", {"a": 4}, before={"a": 3}),
    ]
    spec = table_spec(
        {
            "table": "shop.orders",
            "source": {"format": "debezium-json", "path": "x"},
            "target": {"latest": f"{project.namespace}.orders", "history": f"{project.namespace}.orders_history"},
            "quality": {"severity": {"chain_break": "error", "orphan": "info"}},
        },
        project,
    )
    write(spark, project, spec, Stage(spark, ROW, ("k",)).tables(changes))
    return Stored(project, spec)


def write(spark: SparkSession, project: ProjectSpec, spec: TableSpec, tables: Tables) -> None:
    target = spec.target
    named = {target.changes: tables.changes, target.history: tables.history, target.latest: tables.latest}
    for name, frame in named.items():
        create(spark, project.catalog.name, name, frame.schema)
        frame.writeTo(identifier(project.catalog.name, name)).append()


def test_every_check_has_a_verdict_in_the_result_and_in_the_ledger(
    spark: SparkSession, stored: Stored, capfd: pytest.CaptureFixture[str]
) -> None:
    project, spec = stored.project, stored.spec
    results = run_checks(spark, project, spec, "run1", 0, sums=Sums.of(NUMBERS))

    assert {one.check: one.status for one in results} == {
        "chain_break": "failed",
        "orphan": "passed",
        "double_insert": "passed",
        "incomplete_transaction": "not available",
        "log_gap": "not available",
        "positions_backwards": "passed",
        "time_against_order": "passed",
        "open_window": "not available",
        "short_snapshot": "not available",
        "ghost_row": "not available",
        "stalled_source": "not available",
        "versions_tile_time": "passed",
        "latest_equals_open_versions": "passed",
        "sums_close": "passed",
        "rejects": "passed",
        "duplicates": "not available",
        "late_changes": "passed",
        "snapshot_reads": "not available",
    }
    broken = results[0]
    assert (broken.severity, broken.observed, broken.keys) == ("error", 1, ('{"k":"x"}',))
    assert broken.hint is not None
    by_check = {one.check: one.message for one in results}
    assert by_check["open_window"] == "no markers of snapshot windows among the control records"
    assert by_check["duplicates"] == "this check needs the counts of a run"
    ledger = read_ledger(spark, project, "checks")
    assert ledger is not None
    rows = {row.check: row for row in ledger.collect()}
    assert {check: row.status for check, row in rows.items()} == {one.check: one.status for one in results}
    assert (rows["chain_break"].run_id, rows["chain_break"].keys) == ("run1", ['{"k":"x"}'])
    assert capfd.readouterr().out == ""


def test_a_run_passes_its_numbers_and_its_branches_to_the_checks(spark: SparkSession, stored: Stored) -> None:
    project, spec = stored.project, stored.spec
    branch = Branch.start(spark, project.catalog.name, spec.target.latest, {})
    branch.execute(f"DELETE FROM {branch.identifier} WHERE k = 'x'")
    numbers = NUMBERS | {"outcomes": 2}
    reports = checks_of_run(spark, project, spec, "run2", 0, numbers, None, branch.name)
    failed = {one.check for one in reports if one.status == "failed"}
    assert failed == {"chain_break", "latest_equals_open_versions", "sums_close"}
    severity = spec.quality.severity | {"chain_break": "info"}
    informs = replace(spec, quality=replace(spec.quality, severity=severity))
    by_check = {one.check: one for one in checks_of_run(spark, project, informs, "run3", 0, numbers, None, branch.name)}
    assert (by_check["chain_break"].status, by_check["chain_break"].observed) == ("noted", 1)
    assert by_check["sums_close"].status == "failed"

    pages = project.root / "report" / "data-docs"
    index = (pages / "index.html").read_text()
    links = re.findall(r"href='([^']+)'", index)
    assert len(links) == 2
    page = (pages / links[0]).read_text()
    assert "1 finding, for information" in page
    assert "the latest table lacks a live row" in page
    assert "Every record that was read is accounted for" in page
    assert not [path for path in pages.rglob("*.html") if requests_network(path)]
    assert "open_window: not available" in (pages / "expectations" / "shop" / "orders.html").read_text()


def test_before_the_first_run_nothing_is_available(spark: SparkSession, project: ProjectSpec) -> None:
    spec = table_spec({"table": "shop.new", "source": {"format": "debezium-json", "path": "x"}}, project)
    results = run_checks(spark, project, spec, "run1", -1)
    assert {(one.status, one.observed) for one in results} == {("not available", 0)}
    assert results[0].message == "the tables have not been written yet"


def test_only_the_table_with_other_settings_is_refused(stored: Stored, capsys: pytest.CaptureFixture[str]) -> None:
    root, catalog, target = stored.project.root, stored.project.catalog, stored.spec.target
    place = f"name: {catalog.name}, type: jdbc, uri: '{catalog.uri}', warehouse: '{catalog.warehouse}'"
    (root / "siltstone.yaml").write_text(f"catalog: {{{place}}}\nnamespace: {stored.project.namespace}\n")
    (root / "specs").mkdir()
    text = "table: shop.{}\nsource: {{format: debezium-json, path: x}}\n"
    tables = f"target: {{latest: {target.latest}, history: {target.history}}}\nhistory: {{recorded: true}}\n"
    (root / "specs" / "1.yaml").write_text(text.format("orders") + tables)
    (root / "specs" / "2.yaml").write_text(text.format("new"))
    with pytest.raises(SystemExit) as ended:
        main(["check", "--json", "--project", str(root)])
    refused, *others = json.loads(capsys.readouterr().out)
    assert (ended.value.code, refused["exit_code"], refused["table"]) == (2, 2, "shop.orders")
    assert "created with another value of history.recorded" in refused["error"]
    assert {(one["table"], one["status"]) for one in others} == {("shop.new", "not available")}


def requests_network(page: Path) -> bool:
    return bool(re.search(r"(src|<link[^>]*href)=.https?:|url\(.?https?:|<script", page.read_text()))


def test_great_expectations_is_not_imported_before_a_check_runs() -> None:
    loaded = (
        "import sys, siltstone.quality.validate; print(any(m.startswith('great_expectations') for m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
