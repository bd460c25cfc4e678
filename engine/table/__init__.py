"""The Iceberg code on Spark: catalog, branches and markers, changes, merges, the ledgers."""
