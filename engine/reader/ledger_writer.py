"""Writing to the ledger without a JVM, beside a run or not."""

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
    """What `attempt` gives, tried again as often as others write the table `name` between its read and its commit.

    Raises: CommitConflictError: others wrote each time; `what` could not be done. SpecError: the table is not where the
        catalog says.
    """
    from pyiceberg.exceptions import CommitFailedException, ValidationException

    for _ in range(ATTEMPTS):
        try:
            return attempt()
        except (CommitFailedException, ValidationException):  # somebody has written since it was read
            continue
        except FileNotFoundError as error:
            raise moved(name, error) from error
    raise CommitConflictError(f"Cannot {what}: others wrote {name} each time.", "run again")


def writable_catalog(spec: CatalogSpec) -> "Catalog":
    """The project's catalog for writing: PyIceberg's own.

    Raises: SpecError where nothing has been written yet, or the kind of catalog needs a JVM.
    """
    from pyiceberg.catalog.sql import SqlCatalog

    reader = open_catalog(spec)
    database = sqlite_file(spec)
    if database is None:
        return cast("Catalog", reader)  # all but the embedded one are PyIceberg's
    return SqlCatalog(spec.name, uri=f"sqlite:///{database}", init_catalog_tables="false", **spec.properties)
