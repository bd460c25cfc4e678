"""The embedded catalog: one SQLite file on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from siltstone.engine.errors import StorageError
from siltstone.engine.spec.model import CatalogSpec
from siltstone.engine.storage import is_remote

SQLITE_URI: Final = "jdbc:sqlite:"
_METADATA: Final = "metadata/*.metadata.json"


def sqlite_file(catalog: CatalogSpec) -> Path | None:
    """The file of an embedded catalog; None for all other kinds."""
    if catalog.type != "jdbc" or not (catalog.uri or "").startswith(SQLITE_URI):
        return None
    return Path((catalog.uri or "").removeprefix(SQLITE_URI).removeprefix("file:").split("?")[0])


def refuse_lost_catalog(catalog: CatalogSpec) -> None:
    """Check that the file of an embedded catalog exists if its warehouse has tables.

    SQLite silently creates a missing file. A run would then start from scratch although its tables still exist.

    Raises: StorageError: the file is missing.
    """
    database = sqlite_file(catalog)
    if database is None or database.exists() or is_remote(catalog.warehouse or ""):
        return
    warehouse = Path((catalog.warehouse or "").removeprefix("file:"))
    if any(warehouse.rglob(_METADATA)):
        raise StorageError(
            f"Cannot open the catalog {catalog.name}: {database} does not exist, but there are tables in {warehouse}.",
            "bring the file back; to start from scratch, move that folder away",
        )
