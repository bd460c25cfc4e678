"""Catalogs and stores that refuse or are not there: one line with a hint, exit code 6, and no stack trace."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.e2e.store_projects import FIRST, SECRETS, StoreProject, delivered
from tests.servers.postgresql import PostgreSql
from tests.servers.process import free_port
from tests.servers.s3 import S3

Capsys = pytest.CaptureFixture[str]
_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


def project_of(root: Path, catalog_text: str, store: S3 | None = None) -> StoreProject:
    """A project with one file of events, and a catalog that Spark does not know yet."""
    (root / "events").mkdir()
    (root / "events" / "a.jsonl").write_bytes(delivered(FIRST))
    return StoreProject.make(root / "project", f"wrong_{next(_numbers)}", str(root / "events"), catalog_text, store)


def ended(project: StoreProject, capsys: Capsys, *arguments: str, ends: int = 6) -> str:
    """What a command says that fails as it should."""
    said = project.run(capsys, *arguments, ends=ends)
    assert "Traceback" not in said
    assert "\tat " not in said
    assert "Hint: " in said, said
    return said


def test_a_warehouse_without_a_bucket(spark: SparkSession, s3: S3, tmp_path: Path, capsys: Capsys) -> None:
    text = f"type: jdbc, uri: 'jdbc:sqlite:{tmp_path}/c.db', warehouse: s3://nowhere/w"
    project = project_of(tmp_path, text, s3)
    assert "Cannot use the catalog or its store: the bucket does not exist." in ended(project, capsys, "catch-up")
    found = project.run(capsys, "doctor", ends=2)
    assert "Cannot write s3://nowhere/w/siltstone-doctor" in found
    assert "the bucket does not exist" in found


def test_a_database_that_refuses(spark: SparkSession, postgresql: PostgreSql, tmp_path: Path, capsys: Capsys) -> None:
    user = "properties: {jdbc.user: siltstone, jdbc.password: wrong}"
    text = f"type: jdbc, uri: '{postgresql.uri('refused')}', warehouse: 'file://{tmp_path}/w', {user}"
    project = project_of(tmp_path, text)
    for command in (("catch-up",), ("show", "things.things")):
        assert "does not accept the user or the password" in ended(project, capsys, *command)


def test_a_database_that_is_not_there(spark: SparkSession, tmp_path: Path, capsys: Capsys) -> None:
    port = free_port()
    text = f"type: jdbc, uri: 'jdbc:postgresql://127.0.0.1:{port}/c', warehouse: 'file://{tmp_path}/w'"
    project = project_of(tmp_path, text)
    for command in (("catch-up",), ("show", "things.things"), ("report",)):
        assert f"it cannot be reached (127.0.0.1:{port})" in ended(project, capsys, *command)


def test_a_rest_catalog_that_is_not_there(tmp_path: Path, capsys: Capsys) -> None:
    port = free_port()
    project = project_of(tmp_path, f"type: rest, uri: 'http://127.0.0.1:{port}'")
    assert f"it cannot be reached (127.0.0.1:{port})" in ended(project, capsys, "show", "things.things")


def test_events_in_a_store_that_is_not_there(spark: SparkSession, tmp_path: Path, capsys: Capsys) -> None:
    store = S3(f"http://127.0.0.1:{free_port()}")
    project = StoreProject.make(tmp_path / "project", "wrong_source", "s3://in/*.jsonl", LOCAL.format(tmp_path), store)
    assert "s3://in: it cannot be reached" in ended(project, capsys, "plan", "--json", ends=3)


LOCAL = "type: jdbc, uri: 'jdbc:sqlite:{0}/c.db', warehouse: 'file://{0}/w'"


def test_a_rest_catalog_that_is_not_there_stops_a_run(spark: SparkSession, tmp_path: Path, capsys: Capsys) -> None:
    port = free_port()
    project = project_of(tmp_path, f"type: rest, uri: 'http://127.0.0.1:{port}'")
    assert f"it cannot be reached (127.0.0.1:{port})" in ended(project, capsys, "catch-up")


def test_a_store_that_is_not_there_stops_a_run(spark: SparkSession, tmp_path: Path, capsys: Capsys) -> None:
    text = f"type: jdbc, uri: 'jdbc:sqlite:{tmp_path}/c.db', warehouse: s3://nowhere/w"
    project = project_of(tmp_path, text, S3(f"http://127.0.0.1:{free_port()}"))
    assert "it cannot be reached" in ended(project, capsys, "catch-up")
