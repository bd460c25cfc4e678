"""Write to the ledgers without a JVM, also while a run is active."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from siltstone.engine.errors import CommitConflictError
from siltstone.engine.reader.table_reader import moved, open_catalog
from siltstone.engine.spec.model import CatalogSpec
from siltstone.engine.sqlite_catalog import sqlite_file

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

ATTEMPTS = 20
Given = TypeVar("Given")


def until_committed(attempt: Callable[[], Given], what: str, name: str) -> Given:
    """Call `attempt`, and retry it whenever another program writes the table `name` between its read and its commit.

    Gives the result of `attempt`. `what`: the action, in words.

    Raises: CommitConflictError: other programs wrote at each attempt. SpecError: the files of the table are not where
        the catalog has them.
    """
    from pyiceberg.exceptions import CommitFailedException, ValidationException

    for _ in range(ATTEMPTS):
        try:
            return attempt()
        except (CommitFailedException, ValidationException):  # another program has written since the read
            continue
        except FileNotFoundError as error:
            raise moved(name, error) from error
    raise CommitConflictError(f"Cannot {what}: other programs wrote {name} at each attempt.", "retry")


def writable_catalog(spec: CatalogSpec) -> "Catalog":
    """The project's catalog for writing: PyIceberg's own.

    Raises: SpecError: nothing has been written yet, or this kind of catalog needs a JVM.
    """
    from pyiceberg.catalog.sql import SqlCatalog

    reader = open_catalog(spec)
    database = sqlite_file(spec)
    if database is None:
        return cast("Catalog", reader)  # all readers except that of the embedded catalog are PyIceberg's
    return SqlCatalog(spec.name, uri=f"sqlite:///{database}", init_catalog_tables="false", **spec.properties)
