"""The version of what siltstone writes to its tables: columns, table properties and snapshot summaries.

A release that changes their meaning increases the version, and its first run migrates the tables of earlier versions.
An older siltstone refuses the tables of a newer one.
"""

from collections.abc import Mapping
from typing import Final

from siltstone.engine.errors import StorageError
from siltstone.engine.names import PROPERTY_LAYOUT

LAYOUT_VERSION: Final = 1
"""Of the tables that this siltstone writes. A table without the property has version 1."""


def refuse_newer_layout(table: str, properties: Mapping[str, str]) -> None:
    """Check that this siltstone knows the layout of a table.

    Raises: StorageError: a newer siltstone wrote the table.
    """
    found = properties.get(PROPERTY_LAYOUT, str(LAYOUT_VERSION))
    if not found.isdecimal() or int(found) > LAYOUT_VERSION:
        raise StorageError(
            f"Cannot use {table}: a newer siltstone wrote it. Its layout has version {found}, and this siltstone knows"
            f" versions up to {LAYOUT_VERSION}. Nothing was changed.",
            "upgrade siltstone",
        )
