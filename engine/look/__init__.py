"""Reading the tables without a JVM."""

from engine.look.reading import (
    Reader,
    TableNames,
    as_of,
    batches,
    find_spec,
    first_rows,
    key_columns,
    load_table,
    matching,
    open_catalog,
    stored_names,
    table_names,
    timeline,
)

__all__ = [
    "Reader",
    "TableNames",
    "as_of",
    "batches",
    "find_spec",
    "first_rows",
    "key_columns",
    "load_table",
    "matching",
    "open_catalog",
    "stored_names",
    "table_names",
    "timeline",
]
