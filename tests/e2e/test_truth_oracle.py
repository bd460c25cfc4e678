"""Debezium events of Oracle and SQL Server through the engine: commit order, snapshots, key changes."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.report import REBUILT, RunReport
from siltstone.engine.run import catch_up, replay, reread
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from tests.e2e.truth_runs import needs_recordings
from tests.recordings import DATA

COLUMNS = {"ID": "int", "FIRST_NAME": "string", "LAST_NAME": "string", "EMAIL": "string"}
START_MS = 1_704_067_200_000


def spec_of(project: ProjectSpec, table: str, path: Path, columns: dict[str, str], **more: Any) -> TableSpec:
    name = f"{project.namespace}.{table.replace('.', '_').replace('#', '').lower()}"
    source = {"format": "debezium-json", "path": str(path), **more.pop("source", {})}
    mapping = {"table": table, "source": source, "keys": ["ID"], "columns": columns}
    return table_spec(mapping | {"target": {"latest": name, "history": f"{name}_history"}} | more, project)


def run_tables(spark: SparkSession, project: ProjectSpec, *specs: TableSpec) -> RunReport:
    report = catch_up(project, specs, spark)
    assert not [table.error for table in report.tables if table.exit_code]
    return report


def versions(spark: SparkSession, spec: TableSpec, column: str) -> list[tuple[Any, ...]]:
    rows = spark.table(f"lake.{spec.target.history}").orderBy("ID", "_position").collect()
    return [(row["ID"], row["_op"], row[column]) for row in rows]


@needs_recordings
def test_the_documented_events_of_oracle_have_the_order_of_their_commits(
    spark: SparkSession, project: ProjectSpec
) -> None:
    # The events name two servers, so the spec declares one log.
    path, one = DATA / "debezium-oracle" / "oracle_doc_events.jsonl", {"several": "one_log"}
    spec = spec_of(project, "DEBEZIUM.TEST_TABLE", path, COLUMNS, source=one)
    report = run_tables(spark, project, spec)
    assert (report.sources[0].read, report.sources[0].rejected) == (4, 0)
    # The delete was committed first. The truncate was committed last, and deletes the inserted and updated row.
    expected = [
        (1004, "delete", None),
        (1004, "insert", "annek@noanswer.org"),
        (1004, "update", "anne@example.com"),
        (1004, "delete", None),
    ]
    assert versions(spark, spec, "EMAIL") == expected
    assert spark.table(f"lake.{spec.target.latest}").count() == 0


@pytest.mark.slow
@needs_recordings
def test_equal_reads_of_an_oracle_snapshot_have_the_same_scn_and_are_redeliveries(
    spark: SparkSession, project: ProjectSpec
) -> None:
    path = DATA / "debezium-oracle" / "oracle_real_1.9.1_snapshot_nopk.jsonl"
    spec = spec_of(project, "C##DBZUSER.TAB001", path, {"ID": "string"})
    report = run_tables(spark, project, spec)
    assert report.tables[0].outcomes == {"opened": 1, "redelivered": 2}
    assert versions(spark, spec, "ID") == [("1", "read", "1")]


def oracle(op: str, second: int, key: int, n: int, scn: int, commit: int | None, version: str, **more: Any) -> str:
    source = {
        "connector": "oracle", "version": version, "name": "hr", "schema": "HR", "table": "JOBS",
        "ts_ms": START_MS + second * 1000, "scn": str(scn), "commit_scn": commit and str(commit), **more,
    }  # fmt: skip
    row = {"ID": key, "N": n}
    images = {"before": row, "after": None} if op == "d" else {"before": None, "after": row}
    return json.dumps({**images, "source": source, "op": op, "ts_ms": START_MS + 900_000}) + "\n"


def jobs_of(spark: SparkSession, project: ProjectSpec, lines: Iterable[str]) -> tuple[RunReport, list[tuple[Any, ...]]]:
    """Run once over these events. Gives the report and the versions."""
    path = project.root / "oracle.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    spec = spec_of(project, "HR.JOBS", path, {"ID": "int", "N": "int"})
    return run_tables(spark, project, spec), versions(spark, spec, "N")


@pytest.mark.slow
def test_an_oracle_snapshot_is_after_the_commits_that_it_contains_and_before_the_others(
    spark: SparkSession, project: ProjectSpec
) -> None:
    new = "3.1.0.Final"
    lines = [
        oracle("c", 1, 1, 10, 100, 110, new),
        oracle("u", 5, 1, 11, 115, 190, new),  # written before the snapshot's SCN, committed after it
        oracle("r", 60, 1, 10, 150, None, new, snapshot="true"),
        oracle("r", 60, 2, 20, 150, None, new, snapshot="last"),
        oracle("u", 70, 2, 21, 180, 185, new),
    ]
    _, found = jobs_of(spark, project, reversed(lines))
    assert found == [(1, "insert", 10), (1, "update", 11), (2, "read", 20), (2, "update", 21)]


@pytest.mark.slow
def test_statements_that_may_be_committed_after_a_read_of_an_old_connector_supersede_it(
    spark: SparkSession, project: ProjectSpec
) -> None:
    old = "1.5.4.Final"
    lines = [
        oracle("c", 1, 1, 10, 100, 90, old),
        oracle("u", 120, 1, 11, 140, 90, old),  # two minutes before the READ, inside the guard
        oracle("r", 240, 1, 10, 150, None, old, snapshot="true"),
        oracle("u", 300, 1, 12, 160, 95, old),
        # After an upgrade of the connector: later than all changes of the old one.
        oracle("u", 310, 1, 13, 155, 165, "2.5.0.Final"),
    ]
    report, found = jobs_of(spark, project, lines)
    assert found == [(1, "insert", 10), *((1, "update", n) for n in (11, 12, 13))]
    assert report.tables[0].outcomes == {"opened": 4, "superseded": 1}


def sqlserver(op: str, before: int | None, after: int | None, change: str, serial: int | None, **more: Any) -> str:
    source = {
        "connector": "sqlserver", "version": "2.7.0.Final", "name": "crm", "db": "crm", "schema": "dbo",
        "table": "people", "ts_ms": START_MS, "commit_lsn": "00000027:00000a58:0005", "change_lsn": change,
        "event_serial_no": serial,
    }  # fmt: skip
    images = {side: None if key is None else {"ID": key} for side, key in (("before", before), ("after", after))}
    return json.dumps({"value": {**images, "source": source, "op": op, "ts_ms": START_MS + 1}, **more}) + "\n"


@pytest.mark.slow
def test_a_key_change_of_sql_server_is_a_delete_and_an_insert_with_the_same_lsns(
    spark: SparkSession, project: ProjectSpec
) -> None:
    pair = "00000027:00000a58:0003"
    lines = [
        sqlserver("c", None, 2, pair, 2, headers={"__debezium.oldkey": {"ID": 1}}),
        sqlserver("d", 1, None, pair, 1, headers={"__debezium.newkey": {"ID": 2}}),
        sqlserver("c", None, 1, "00000027:00000a58:0002", 2),
        sqlserver("r", None, 1, "NULL", None).replace("00000a58", "00000a57"),
    ]
    path = project.root / "sqlserver.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    spec = spec_of(project, "dbo.people", path, {"ID": "int"})
    run_tables(spark, project, spec)
    assert versions(spark, spec, "ID") == [(1, "read", 1), (1, "delete", 1), (2, "insert", 2)]


LOWER = (
    oracle("c", 1, 1, 10, 100, 100, "2.1.0.Final"),
    oracle("u", 2, 1, 11, 120, 100, "2.1.0.Final"),  # of the previous transaction
    oracle("u", 3, 2, 20, 118, 130, "2.1.0.Final"),
    oracle("r", 200, 3, 30, 115, None, "2.1.0.Final", snapshot="last"),
)
LATER = (
    oracle("u", 4, 1, 12, 119, 140, "2.1.0.Final"),
    oracle("u", 5, 2, 21, 125, 150, "2.1.0.Final"),
    oracle("u", 6, 2, 22, 122, None, "2.1.0.Final"),
)
BY_SCN = [
    (1, "insert", 10), (1, "update", 12), (1, "update", 11), (2, "update", 20), (2, "update", 22), (2, "update", 21),
    (3, "read", 30),
]  # fmt: skip


def deliver(spark: SparkSession, project: ProjectSpec, *deliveries: Iterable[str], **source: Any) -> TableSpec:
    """Deliver the files with a run after each. Gives the spec of the table."""
    landing = project.root / "landing"
    landing.mkdir(exist_ok=True)
    spec = spec_of(project, "HR.JOBS", landing, {"ID": "int", "N": "int"}, source=source)
    for lines in deliveries:
        (landing / f"{len(list(landing.iterdir()))}.jsonl").write_text("".join(lines), encoding="utf-8")
        run_tables(spark, project, spec)
    return spec


@pytest.mark.slow
@pytest.mark.parametrize(
    "deliveries", [(LOWER + LATER,), (LATER[::-1] + LOWER,), (LOWER, LATER), (LOWER[1:], LATER, LOWER)]
)
def test_one_commit_scn_below_the_scn_of_its_change_puts_the_whole_source_in_scn_order(
    spark: SparkSession, project: ProjectSpec, deliveries: tuple[tuple[str, ...], ...]
) -> None:
    """This includes the changes of later runs without such a commit SCN."""
    spec = deliver(spark, project, *deliveries)
    assert versions(spark, spec, "N") == BY_SCN
    assert reread(project, [spec], spark).tables[0].status == REBUILT
    assert versions(spark, spec, "N") == BY_SCN


@pytest.mark.slow
def test_a_run_does_not_mix_changes_in_commit_scn_order_with_changes_in_scn_order(
    spark: SparkSession, project: ProjectSpec
) -> None:
    spec = deliver(spark, project, LATER[:2])
    (project.root / "landing" / "1.jsonl").write_text("".join(LOWER), encoding="utf-8")
    (refused,) = catch_up(project, [spec], spark).tables
    assert (refused.exit_code, refused.changes) == (3, 0)
    assert "a commit SCN of oracle:hr is lower than the SCN of its change" in str(refused.error)
    assert [found[2] for found in versions(spark, spec, "N")] == [12, 21]
    spec = deliver(spark, project, order="scn")
    assert reread(project, [spec], spark).tables[0].status == REBUILT
    run_tables(spark, project, spec)
    (project.root / "landing" / "2.jsonl").write_text(LATER[2], encoding="utf-8")
    run_tables(spark, project, spec)
    assert versions(spark, spec, "N") == BY_SCN


@pytest.mark.slow
def test_a_replay_does_not_mix_changes_in_commit_scn_order_with_changes_in_scn_order(
    spark: SparkSession, project: ProjectSpec
) -> None:
    """Another table of the source loaded the batch that this table refused. Since then, the source has SCN order."""
    landing, columns = project.root / "landing", {"ID": "int", "N": "int"}
    rejects = {"rejects": {"max_fraction": 0.9}}
    jobs = spec_of(project, "HR.JOBS", landing, columns, **rejects)
    other = spec_of(project, "HR.OTHER", landing, columns)
    landing.mkdir()
    unfit = LATER[1].replace('"N": 21', f'"N": {2**40}')
    (landing / "0.jsonl").write_text(LATER[0] + unfit, encoding="utf-8")
    run_tables(spark, project, jobs)
    of_other = [line.replace('"JOBS"', '"OTHER"') for line in LOWER]
    (landing / "1.jsonl").write_text("".join([*LOWER, *of_other]), encoding="utf-8")
    refused, taken = catch_up(project, [jobs, other], spark).tables
    assert (refused.exit_code, taken.changes) == (3, 4)
    fixed = spec_of(project, "HR.JOBS", landing, columns | {"N": "bigint"}, **rejects)
    replayed, *_ = replay(project, [fixed, other], spark).tables
    assert "SCNs alone order this source" in str(replayed.error)
