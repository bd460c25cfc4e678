"""The only code that writes to Iceberg: catalog, branches and markers, changes, merges, the ledger."""
