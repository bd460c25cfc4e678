"""Ingest a source into `changes`: find new records, decode them, and append their rows in one commit per table."""
