"""Projects on the catalogs and stores of servers, run through the command line, and a local project to compare with."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.cli import main
from siltstone.engine.session import spark_session
from siltstone.engine.spec import load_project
from siltstone.engine.spec.model import CatalogSpec
from tests.e2e.streams import COLUMNS, delete, insert, read, row, update
from tests.servers.s3 import KEY, S3, SECRET

SECRETS = {"STORE_KEY": KEY, "STORE_SECRET": SECRET}
"""The environment variables that hold the credentials of the store."""
FIRST = (
    insert(105, row(1, "Alice")),
    insert(106, row(2, "Bob")),
    update(120, row(1, "Charlie")),
    read(200, row(3, "as read")),
)
SECOND = (
    update(110, row(1, "Barbara")),  # late
    update(120, row(1, "Charlie")),  # a redelivery
    delete(300, row(2, "Bob")),
    insert(310, row(4, "Dora")),
)
Tables = dict[str, list[dict[str, Any]]]
TABLES = {"latest": "things", "history": "things_history", "changes": "things_changes"}
PLACE_COLUMNS = ("file", "ingest_ts", "_ingest_ts")
"""The columns that record where a change was read, and when."""


@dataclass(frozen=True)
class StoreProject:
    """A project in a folder. `catalog`: the name of its catalog. `events`: the place of the source's files."""

    root: Path
    catalog: str
    events: str
    namespace: str

    @classmethod
    def make(
        cls,
        root: Path,
        catalog: str,
        events: str,
        catalog_text: str,
        store: S3 | None = None,
        namespace: str = "things",
    ) -> StoreProject:
        """Write the project file and its spec. `catalog_text`: the settings of the catalog, as YAML."""
        (root / "specs").mkdir(parents=True)
        target = ", ".join(f"{name}: {namespace}.{table}" for name, table in TABLES.items())
        text = f"catalog: {{name: {catalog}, {catalog_text}}}\nnamespace: {namespace}\n"
        (root / "siltstone.yaml").write_text(text + ("" if store is None else store_text(store)))
        (root / "specs" / "things.yaml").write_text(
            f"table: shop.things\nsource: {{format: debezium-json, path: '{events}'}}\nkeys: [id]\n"
            f"columns: {json.dumps(COLUMNS)}\ntarget: {{{target}}}\n"
        )
        return cls(root, catalog, events, namespace)

    def run(self, capsys: pytest.CaptureFixture[str], *arguments: str, ends: int = 0) -> str:
        """Run a command that must end with exit code `ends`. Gives its output; with its standard error if it fails."""
        return output_of(capsys, self.root, *arguments, ends=ends)

    def tables(self, spark: SparkSession, without: Collection[str] = ()) -> Tables:
        """The rows of changes, history and latest, without the columns of `PLACE_COLUMNS` and `without`."""
        spark_session(load_project(self.root))
        rows = {
            name: spark.table(f"{self.catalog}.{self.namespace}.{table}").collect() for name, table in TABLES.items()
        }
        left_out = {*PLACE_COLUMNS, *without}
        return {name: sorted((_without(row, left_out) for row in found), key=str) for name, found in rows.items()}


def output_of(capsys: pytest.CaptureFixture[str], root: Path, *arguments: str, ends: int = 0) -> str:
    """Run a command on a project that must end with exit code `ends`. Gives its output; with its standard error if it
    fails."""
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--project", str(root)])
    printed = capsys.readouterr()
    assert (ended.value.code or 0) == ends, printed
    return f"{printed.out}{printed.err}" if ends else printed.out


def store_text(store: S3) -> str:
    """The settings of a store in a project file. The credentials come from environment variables."""
    keys = "s3.access-key-id: '${env:STORE_KEY}', s3.secret-access-key: '${env:STORE_SECRET}'"
    return f"store: {{s3.endpoint: '{store.endpoint}', client.region: eu-west-1, {keys}}}\n"


def embedded(root: Path, catalog: CatalogSpec, namespace: str) -> StoreProject:
    """A local project, in the catalog of the test run."""
    (root / "events").mkdir(parents=True)
    text = f"type: jdbc, uri: '{catalog.uri}', warehouse: '{catalog.warehouse}'"
    return StoreProject.make(root, catalog.name, str(root / "events"), text, namespace=namespace)


def delivered(lines: Sequence[str]) -> bytes:
    """The content of a file of events."""
    return "".join(lines).encode()


def _without(row: Any, columns: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in row.asDict(recursive=True).items() if name not in columns}
