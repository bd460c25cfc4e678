"""A run that loses its catalog or store ends with exit code 6, and the next run gives the expected tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from tests.e2e.store_projects import FIRST, SECOND, SECRETS, StoreProject, Tables, delivered
from tests.e2e.streams import catch_up_module
from tests.e2e.test_postgresql_and_s3 import USER_TEXT
from tests.servers.gate import Gate, gate_to
from tests.servers.postgresql import PASSWORD, PostgreSql
from tests.servers.s3 import S3

pytestmark = pytest.mark.slow
Capsys = pytest.CaptureFixture[str]
LEASE = timedelta(seconds=20)
"""The failed run cannot release its lease, and its process stays alive. The next run waits until the lease expires."""
CASES = [("catalog", moment) for moment in ("list_source_batch", "read_source_batch", "append_changes", "fold_history")]
# Each of these cases takes minutes, because the clients of the store retry.
CASES += [("store", moment) for moment in ("read_source_batch", "append_changes")]
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def store_gate(s3: S3) -> Iterator[Gate]:
    with gate_to(int(urlsplit(s3.endpoint).port or 0)) as gate:
        yield gate


@pytest.fixture(scope="module")
def catalog_gate(postgresql: PostgreSql) -> Iterator[Gate]:
    with gate_to(postgresql.port) as gate:
        yield gate


@pytest.mark.parametrize(("server", "moment"), CASES)
def test_a_run_fails_without_its_server_and_the_next_run_gives_the_same_tables(
    server: str,
    moment: str,
    spark: SparkSession,
    s3: S3,
    postgresql: PostgreSql,
    store_gate: Gate,
    catalog_gate: Gate,
    reference: Tables,
    tmp_path: Path,
    capsys: Capsys,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    number = next(_numbers)
    s3.bucket(f"lake{number}")
    for name, value in {**SECRETS, "DATABASE_PASSWORD": PASSWORD}.items():
        monkeypatch.setenv(name, value)
    address = postgresql.uri(f"gone{number}").replace(str(postgresql.port), str(catalog_gate.port))
    text = f"type: jdbc, uri: '{address}', warehouse: s3://lake{number}/warehouse, properties: {USER_TEXT}"
    gated_store = replace(s3, endpoint=f"http://127.0.0.1:{store_gate.port}")
    events = f"s3://lake{number}/events"
    project = StoreProject.make(tmp_path / "project", f"gone{number}", f"{events}/*.jsonl", text, gated_store)
    s3.put(f"{events}/a.jsonl", delivered(FIRST))
    project.run(capsys, "catch-up")
    s3.put(f"{events}/b.jsonl", delivered(SECOND))
    monkeypatch.setattr("siltstone.engine.run.lease.LASTS", LEASE)
    gate = store_gate if server == "store" else catalog_gate
    original = getattr(catch_up_module, moment)

    def without_server(*arguments: Any, **more: Any) -> Any:
        gate.shut()
        return original(*arguments, **more)

    try:
        with monkeypatch.context() as patch:
            patch.setattr(catch_up_module, moment, without_server)
            message = project.run(capsys, "catch-up", ends=6)
    finally:
        gate.open()
    assert "Cannot use the catalog or its store" in message
    assert PASSWORD not in message
    project.run(capsys, "catch-up", "--wait", "400")
    assert project.tables(spark) == reference
