"""Read the tables without a JVM."""

from siltstone.engine.reader.database_catalog import is_of_server, server_catalog
from siltstone.engine.reader.embedded_catalog import NothingWrittenError
from siltstone.engine.reader.table_reader import (
    MOVED_HINT,
    PYICEBERG_TYPES,
    Reader,
    TableNames,
    batches,
    find_spec,
    first_rows,
    key_columns,
    load_table,
    matching,
    missing_file,
    open_catalog,
    table_names,
)
from siltstone.engine.reader.versions import as_of, first_versions, stored_names, timeline

__all__ = [
    "MOVED_HINT",
    "PYICEBERG_TYPES",
    "NothingWrittenError",
    "Reader",
    "TableNames",
    "as_of",
    "batches",
    "find_spec",
    "first_versions",
    "first_rows",
    "is_of_server",
    "key_columns",
    "load_table",
    "matching",
    "missing_file",
    "open_catalog",
    "server_catalog",
    "stored_names",
    "table_names",
    "timeline",
]
