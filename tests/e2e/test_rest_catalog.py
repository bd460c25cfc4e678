"""A REST catalog with tables in S3, used with and without Spark."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.e2e.store_projects import FIRST, SECOND, SECRETS, StoreProject, Tables, delivered
from tests.servers.rest import rest_server
from tests.servers.s3 import S3

Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def project(spark: SparkSession, s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StoreProject]:
    """A project with tables in S3 and local files of events."""
    bucket = s3.bucket("rest")
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "events").mkdir()
    with rest_server(tmp_path, f"{bucket}/warehouse", {**s3.settings, "s3.path-style-access": "true"}) as uri:
        text = f"type: rest, uri: '{uri}'"
        yield StoreProject.make(tmp_path / "project", "rest", str(tmp_path / "events"), text, s3)


@pytest.mark.slow
def test_the_tables_equal_those_of_a_local_project(
    spark: SparkSession, project: StoreProject, reference: Tables, tmp_path: Path, capsys: Capsys
) -> None:
    for name, lines in (("a", FIRST), ("b", SECOND)):
        (Path(project.events) / f"{name}.jsonl").write_bytes(delivered(lines))
        project.run(capsys, "catch-up")
    assert project.tables(spark) == reference
    rows = json.loads(project.run(capsys, "show", "things.things", "--json"))
    assert [row["id"] for row in rows] == [1, 3, 4]
    exported = tmp_path / "history.csv"
    project.run(capsys, "export", "things.things_history", "-o", str(exported))
    assert len(exported.read_text().splitlines()) == 1 + len(reference["history"])
    assert "index.html" in project.run(capsys, "report")
    findings = json.loads(project.run(capsys, "doctor", "--json"))
    assert [each for each in findings if not each["ok"]] == []
    found = {each["matter"]: each["found"] for each in findings}
    assert "a namespace can be created" in found["catalog rest"]
    assert found["warehouse"] == "s3://rest/warehouse/things/run_lease: written, read and removed a file"
