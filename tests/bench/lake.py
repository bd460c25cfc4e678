"""A lake that can be restored: each measured run starts from the same tables, at the same paths."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from siltstone.engine.session import catalog_conf
from siltstone.engine.spec.model import CatalogSpec


@dataclass(frozen=True)
class Lake:
    """The embedded catalog in one folder: `catalog.db` and `warehouse/`."""

    name: str
    root: Path

    @property
    def catalog(self) -> CatalogSpec:
        """The catalog of this lake in a project."""
        uri, warehouse = f"jdbc:sqlite:{self.root}/catalog.db", f"file://{self.root}/warehouse"
        return CatalogSpec(self.name, "jdbc", uri, warehouse)

    def attach(self, spark: SparkSession) -> None:
        """Declare the catalog in the session."""
        self.root.mkdir(parents=True, exist_ok=True)
        for name, value in catalog_conf(self.catalog).items():
            spark.conf.set(name, value)

    def keep(self) -> None:
        """Store the current state of the lake. Iceberg never changes a file, so links are enough."""
        shutil.copytree(self.root / "warehouse", self.root / "kept", copy_function=os.link)
        _copy_database(self.root / "catalog.db", self.root / "kept.db")

    def restore(self) -> None:
        """Restore the state that `keep` stored. The database is rewritten in place, because the session has it open."""
        shutil.rmtree(self.root / "warehouse")
        shutil.copytree(self.root / "kept", self.root / "warehouse", copy_function=os.link)
        _copy_database(self.root / "kept.db", self.root / "catalog.db")


def _copy_database(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as from_file, closing(sqlite3.connect(target)) as to_file:
        from_file.backup(to_file)
