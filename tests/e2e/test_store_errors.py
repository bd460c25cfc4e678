"""Unreachable catalogs and stores, and those that refuse access: a message with a hint, and no stack trace."""

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


def error_of(project: StoreProject, capsys: Capsys, *arguments: str, ends: int = 6) -> str:
    """Run a command that must fail. Gives its message, which has a hint and no stack trace."""
    message = project.run(capsys, *arguments, ends=ends)
    assert "Traceback" not in message
    assert "\tat " not in message
    assert "Hint: " in message, message
    return message


def test_catch_up_and_doctor_report_a_missing_bucket(
    spark: SparkSession, s3: S3, tmp_path: Path, capsys: Capsys
) -> None:
    text = f"type: jdbc, uri: 'jdbc:sqlite:{tmp_path}/c.db', warehouse: s3://nowhere/w"
    project = project_of(tmp_path, text, s3)
    assert "Cannot use the catalog or its store: the bucket does not exist." in error_of(project, capsys, "catch-up")
    found = project.run(capsys, "doctor", ends=2)
    assert "Cannot write s3://nowhere/w/siltstone-doctor" in found
    assert "the bucket does not exist" in found


def test_commands_report_a_wrong_database_password(
    spark: SparkSession, postgresql: PostgreSql, tmp_path: Path, capsys: Capsys
) -> None:
    user = "properties: {jdbc.user: siltstone, jdbc.password: wrong}"
    text = f"type: jdbc, uri: '{postgresql.uri('refused')}', warehouse: 'file://{tmp_path}/w', {user}"
    project = project_of(tmp_path, text)
    for command in (("catch-up",), ("show", "things.things")):
        assert "does not accept the user or the password" in error_of(project, capsys, *command)


def test_commands_report_an_unreachable_database(spark: SparkSession, tmp_path: Path, capsys: Capsys) -> None:
    port = free_port()
    text = f"type: jdbc, uri: 'jdbc:postgresql://127.0.0.1:{port}/c', warehouse: 'file://{tmp_path}/w'"
    project = project_of(tmp_path, text)
    for command in (("catch-up",), ("show", "things.things"), ("report",)):
        assert f"it cannot be reached (127.0.0.1:{port})" in error_of(project, capsys, *command)


def test_show_reports_an_unreachable_rest_catalog(tmp_path: Path, capsys: Capsys) -> None:
    port = free_port()
    project = project_of(tmp_path, f"type: rest, uri: 'http://127.0.0.1:{port}'")
    assert f"it cannot be reached (127.0.0.1:{port})" in error_of(project, capsys, "show", "things.things")


def test_plan_reports_an_unreachable_store_of_events(spark: SparkSession, tmp_path: Path, capsys: Capsys) -> None:
    store = S3(f"http://127.0.0.1:{free_port()}")
    project = StoreProject.make(tmp_path / "project", "wrong_source", "s3://in/*.jsonl", LOCAL.format(tmp_path), store)
    assert "s3://in: it cannot be reached" in error_of(project, capsys, "plan", "--json", ends=3)


LOCAL = "type: jdbc, uri: 'jdbc:sqlite:{0}/c.db', warehouse: 'file://{0}/w'"


def test_catch_up_reports_an_unreachable_rest_catalog(spark: SparkSession, tmp_path: Path, capsys: Capsys) -> None:
    port = free_port()
    project = project_of(tmp_path, f"type: rest, uri: 'http://127.0.0.1:{port}'")
    assert f"it cannot be reached (127.0.0.1:{port})" in error_of(project, capsys, "catch-up")


def test_catch_up_reports_an_unreachable_store(spark: SparkSession, tmp_path: Path, capsys: Capsys) -> None:
    text = f"type: jdbc, uri: 'jdbc:sqlite:{tmp_path}/c.db', warehouse: s3://nowhere/w"
    project = project_of(tmp_path, text, S3(f"http://127.0.0.1:{free_port()}"))
    assert "it cannot be reached" in error_of(project, capsys, "catch-up")
