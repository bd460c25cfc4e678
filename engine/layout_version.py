"""The version of what siltstone writes to its tables: columns, table properties and snapshot summaries.

A release that changes their meaning increases the version, and its first run migrates the tables of earlier versions.
An older siltstone refuses the tables of a newer one.
"""

from typing import Final

from siltstone.engine.errors import StorageError

LAYOUT_VERSION: Final = 1
"""Of the tables that this siltstone writes. A table without the property has version 1."""


def refuse_newer_layout(table: str, found: str | None) -> None:
    """Check that this siltstone knows the layout of a table. `found`: the version in its property, if it has one.

    Raises: StorageError: a newer siltstone wrote the table.
    """
    if found is not None and (not found.isdecimal() or int(found) > LAYOUT_VERSION):
        raise StorageError(
            f"Cannot use {table}: a newer siltstone wrote it. Its layout has version {found}, and this siltstone knows"
            f" versions up to {LAYOUT_VERSION}. Nothing was changed.",
            "upgrade siltstone",
        )
