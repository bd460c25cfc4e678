"""The report: from the Iceberg tables, read without a JVM, to one page, one JSON document, one summary."""
