"""siltstone: change events settle into Iceberg tables that keep every layer."""
