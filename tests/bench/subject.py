"""The subject of the benchmark: a siltstone project of one table, as a user writes it, with the same lines."""

from __future__ import annotations

import os
from pathlib import Path

from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec import load_project, load_specs
from siltstone.quality.validate import checks_of_run
from tests.bench.lake import Lake

PROJECT = """\
catalog:
  name: {catalog.name}
  type: {catalog.type}
  uri: {catalog.uri}
  warehouse: {catalog.warehouse}
namespace: silt
"""

SPEC = """\
table: shop.accounts
source: {{format: debezium-json, {place}}}
keys: [id]
columns:
  id: bigint
  name: string
  email: string
  balance: decimal(12,2)
  status: string
  created_at: timestamp_ntz(6)
  updated_at: timestamp
  score: double
  note: string
  qty: int
"""


class Project:
    """A project folder with a lake. Lines arrive in its inbox, and `catch_up` takes them."""

    def __init__(self, spark: SparkSession, lake: Lake, root: Path, checks: bool = False) -> None:
        self.inbox = root / "inbox"
        self.inbox.mkdir(parents=True)
        (root / "specs").mkdir()
        (root / "siltstone.yaml").write_text(PROJECT.format(catalog=lake.catalog))
        (root / "specs" / "accounts.yaml").write_text(SPEC.format(place=self.place()))
        self.spark = spark
        self.project = load_project(root / "siltstone.yaml")
        self.specs = load_specs(None, self.project)
        self.checks = checks_of_run if checks else None
        self.latest = f"{lake.name}.shop.accounts"
        self.history = f"{lake.name}.shop.accounts_history"

    def place(self) -> str:
        """The setting of the spec that names the lines."""
        return "path: inbox/*.jsonl"

    def receive(self, lines: Path, name: str) -> None:
        """Put the files of lines into the inbox, under names that sort by `name` first."""
        for file in sorted(lines.glob("*.jsonl")):
            os.link(file, self.inbox / f"{name}-{file.name}")

    def catch_up(self) -> dict[str, float]:
        """Run the measured run. Gives the seconds of its phases."""
        report = catch_up(self.project, self.specs, self.spark, checks=self.checks)
        if report.exit_code:
            raise RuntimeError(
                f"catch-up ended {report.exit_code}: {report.tables[0].error or report.tables[0].checks}"
            )
        return dict(report.tables[0].phases)
