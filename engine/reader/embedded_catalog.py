"""Read the embedded catalog with a few queries to its SQLite file.

PyIceberg's SqlCatalog reads the same file, but to load SQLAlchemy takes half a second, and a command takes about one.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from siltstone.engine.errors import SpecError

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.typedef import Identifier

BUSY_SECONDS = 30.0


class NothingWrittenError(SpecError):
    """No run has created the catalog's tables yet."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            f"Cannot read the catalog {name}: nothing has been written yet ({why}).", "Run `siltstone catch-up` first."
        )


class EmbeddedCatalog:
    """Reads the tables of one catalog name that Iceberg's JdbcCatalog (schema version V1) wrote. Never writes."""

    def __init__(self, name: str, database: Path, properties: dict[str, str]) -> None:
        self.name = name
        self.database = database
        self.properties = properties

    def load_table(self, identifier: str) -> "Table":
        """The table with its newest metadata. Raises: NoSuchTableError."""
        from pyiceberg.catalog.noop import NoopCatalog
        from pyiceberg.exceptions import NoSuchTableError
        from pyiceberg.io import load_file_io
        from pyiceberg.serializers import FromInputFile
        from pyiceberg.table import Table

        location = self._metadata_location(identifier)
        if location is None:
            raise NoSuchTableError(f"Table does not exist: {identifier}")
        io = load_file_io(self.properties, location)
        metadata = FromInputFile.table_metadata(io.new_input(location))
        return Table(tuple(identifier.split(".")), metadata, location, io, NoopCatalog(self.name))

    def table_exists(self, identifier: str) -> bool:
        """Whether the catalog has this table."""
        return self._metadata_location(identifier) is not None

    def list_namespaces(self) -> "list[Identifier]":
        """The namespaces that hold tables."""
        query = "SELECT DISTINCT table_namespace FROM iceberg_tables WHERE catalog_name = ? ORDER BY 1"
        return [tuple(namespace.split(".")) for (namespace,) in self._query(query, self.name)]

    def list_tables(self, namespace: "str | Identifier") -> "list[Identifier]":
        """The tables of a namespace."""
        dotted = namespace if isinstance(namespace, str) else ".".join(namespace)
        query = (
            "SELECT table_name FROM iceberg_tables "
            "WHERE catalog_name = ? AND table_namespace = ? AND iceberg_type = 'TABLE' ORDER BY 1"
        )
        return [(*dotted.split("."), table) for (table,) in self._query(query, self.name, dotted)]

    def _metadata_location(self, identifier: str) -> str | None:
        namespace, _, table = identifier.rpartition(".")
        query = (
            "SELECT metadata_location FROM iceberg_tables "
            "WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND iceberg_type = 'TABLE'"
        )
        return next((location for (location,) in self._query(query, self.name, namespace, table)), None)

    def _query(self, statement: str, *values: str) -> list[tuple[str]]:
        address = f"file:{quote(str(self.database))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)) as connection:
            return connection.execute(statement, values).fetchall()
