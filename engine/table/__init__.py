"""The only code that touches Iceberg: catalog, branches and markers, changes, merges, the ledger."""
