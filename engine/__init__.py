"""The engine: it decodes change events, orders them, and writes the Iceberg tables."""
