"""A catalog in PostgreSQL, with tables and events in S3: the commands, and the same tables as in a local project."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyarrow import BufferReader
from pyspark.sql import SparkSession

from siltstone.engine.cli import main
from tests.e2e.store_projects import FIRST, SECOND, SECRETS, StoreProject, Tables, delivered
from tests.servers.postgresql import PASSWORD, USER, PostgreSql
from tests.servers.s3 import S3, SECRET

USER_TEXT = f"{{jdbc.user: {USER}, jdbc.password: '${{env:DATABASE_PASSWORD}}'}}"
Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def project(
    spark: SparkSession, s3: S3, postgresql: PostgreSql, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StoreProject]:
    """A project after two runs, with one batch each."""
    s3.bucket("lake"), s3.bucket("landing")
    text = f"type: jdbc, uri: '{postgresql.uri('catalog')}', warehouse: s3://lake/warehouse, properties: {USER_TEXT}"
    root = tmp_path_factory.mktemp("postgresql") / "project"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**SECRETS, "DATABASE_PASSWORD": PASSWORD}.items():
            patch.setenv(name, value)
        made = StoreProject.make(root, "pg", "s3://landing/events/*.jsonl", text, s3)
        for name, lines in (("a", FIRST), ("b", SECOND)):
            s3.put(f"s3://landing/events/{name}.jsonl", delivered(lines))
            with pytest.raises(SystemExit) as ended:
                main(["catch-up", "--project", str(root)])
            assert not ended.value.code
        yield made


def test_the_tables_equal_those_of_a_local_project(
    spark: SparkSession, project: StoreProject, reference: Tables
) -> None:
    assert project.tables(spark) == reference


def test_a_second_run_takes_nothing_and_a_plan_names_a_changed_file(
    project: StoreProject, s3: S3, capsys: Capsys
) -> None:
    (table,) = json.loads(project.run(capsys, "catch-up", "--json"))["tables"]
    assert (table["status"], table["changes"]) == ("nothing new", 0)
    s3.put("s3://landing/events/a.jsonl", delivered(FIRST[1:]))
    changed = project.run(capsys, "plan", "--json", ends=3)
    s3.put("s3://landing/events/a.jsonl", delivered(FIRST))
    assert "Cannot take s3://landing/events/a.jsonl" in changed
    assert "the file changed under its name" in changed


def test_commands_without_a_jvm_read_the_tables(project: StoreProject, s3: S3, capsys: Capsys) -> None:
    rows = json.loads(project.run(capsys, "show", "things.things", "--json"))
    assert [(row["id"], row["name"]) for row in rows] == [(1, "Charlie"), (3, "as read"), (4, "Dora")]
    project.run(capsys, "export", "things.things", "-o", "s3://lake/exports/latest.parquet")
    assert pq.read_table(BufferReader(s3.get("s3://lake/exports/latest.parquet"))).num_rows == 3
    assert "s3://lake/report/index.html" in project.run(capsys, "report", "-o", "s3://lake/report")
    assert b"shop.things" in s3.get("s3://lake/report/index.html")
    today = f"{datetime.now(UTC):%Y-%m-%d}.html"
    assert today in s3.get("s3://lake/report/index.html").decode()
    assert f"report/{today}" in s3.keys("lake")
    assert len(json.loads(project.run(capsys, "runs", "--json"))) >= 2
    project.run(capsys, "validate")
    project.run(capsys, "gaps", "list")


def test_doctor_checks_catalog_warehouse_and_source(project: StoreProject, s3: S3, capsys: Capsys) -> None:
    found = {each["matter"]: each for each in json.loads(project.run(capsys, "doctor", "--json"))}
    assert all(each["ok"] for each in found.values()), found
    assert "a namespace can be created" in found["catalog pg"]["found"]
    assert "written, read and removed" in found["warehouse"]["found"]
    assert "2 files" in found["source"]["found"]
    assert not [key for key in s3.keys("lake") if "doctor" in key]


@pytest.mark.slow
def test_maintenance_changes_no_row(spark: SparkSession, project: StoreProject, capsys: Capsys) -> None:
    before = project.tables(spark)
    assert "Charlie" in project.run(capsys, "explain", "things.things", "--key", "id=1")
    project.run(capsys, "maintain", "--retain", "0s")
    assert project.tables(spark) == before


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--reread",)])
def test_a_rebuild_gives_the_same_rows(
    spark: SparkSession, project: StoreProject, capsys: Capsys, options: tuple[str, ...]
) -> None:
    before = project.tables(spark, without=("_batch", "batch"))
    project.run(capsys, "rebuild", *options)
    assert project.tables(spark, without=("_batch", "batch")) == before


def test_no_written_file_has_a_secret(project: StoreProject, s3: S3) -> None:
    written = [s3.get(f"s3://lake/{key}") for key in s3.keys("lake")]
    written += [path.read_bytes() for path in project.root.rglob("*") if path.is_file()]
    assert written
    for secret in (SECRET.encode(), PASSWORD.encode()):
        assert not any(secret in content for content in written)


@pytest.mark.slow
def test_a_separate_process_needs_only_environment_variables(
    spark: SparkSession,
    s3: S3,
    postgresql: PostgreSql,
    reference: Tables,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It finds jars, endpoint, region and credentials. No command line has a secret while the process runs."""
    for name, value in (s3.variables | {"DATABASE_PASSWORD": PASSWORD}).items():
        monkeypatch.setenv(name, value)
    s3.bucket("own")
    text = f"type: jdbc, uri: '{postgresql.uri('own')}', warehouse: s3://own/warehouse, properties: {USER_TEXT}"
    project = StoreProject.make(tmp_path / "project", "own", "s3://own/events", text)
    seen = set()
    for name, lines in (("a", FIRST), ("b", SECOND)):
        s3.put(f"s3://own/events/{name}.jsonl", delivered(lines))
        command = [sys.executable, "-m", "siltstone", "catch-up", "--project", str(project.root)]
        with subprocess.Popen(command, cwd=tmp_path) as process:
            while process.poll() is None:
                seen |= command_lines()
                time.sleep(0.2)
        assert process.returncode == 0
    assert any(b"SparkSubmit" in line for line in seen)
    assert not any(secret.encode() in line for line in seen for secret in (SECRET, PASSWORD))
    assert project.tables(spark) == reference


def command_lines() -> set[bytes]:
    """The command lines of all processes."""
    found = set()
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.add(file.read_bytes())
    return found
