"""The inputs of a source: files, topics and tables; which of their records are new; and records with coordinates."""
