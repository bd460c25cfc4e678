"""The change event: one schema for every format (the columns of ``<table>_changes``)."""

from collections.abc import Sequence

from pyspark.sql import types as T

from siltstone.engine.schema.column_comments import commented
from siltstone.engine.schema.comments import CHANGES


def change_fields(key: T.StructType, row: T.StructType) -> list[T.StructField]:
    """The columns of a decoded change, in order, as the decoders give them.

    ``position`` orders changes of one source; ``commit_ts`` and ``ingest_ts`` are UTC instants in microseconds;
    ``present`` names the columns that ``row`` carries (null: all of them).
    """
    return [
        T.StructField("source", T.StringType()),
        T.StructField("table", T.StringType()),
        T.StructField("key", key),
        T.StructField("op", T.StringType()),
        T.StructField("row", row),
        T.StructField("present", T.ArrayType(T.StringType())),
        T.StructField("before", row),
        T.StructField("position", T.StringType()),
        T.StructField("commit_ts", T.TimestampType()),
        T.StructField("ingest_ts", T.TimestampType()),
        T.StructField("event_id", T.StringType()),
        T.StructField("tx_id", T.StringType()),
        T.StructField("tx_order", T.LongType()),
        T.StructField("origin", T.StringType()),
        T.StructField("old_key", key),
        T.StructField("new_key", key),
        T.StructField("channel", T.StringType()),
        T.StructField("kafka_partition", T.IntegerType()),
        T.StructField("kafka_offset", T.LongType()),
        T.StructField("file", T.StringType()),
        T.StructField("line", T.LongType()),
        T.StructField("content_hash", T.LongType()),
        T.StructField("rescued", T.StringType()),
    ]


def change_schema(key: T.StructType, row: T.StructType) -> T.StructType:
    """The columns of ``<table>_changes``: a decoded change, the batch that took it, and whether it was too late."""
    schema = T.StructType(
        [
            T.StructField("batch", T.LongType()),
            *change_fields(key, row),
            T.StructField("too_late", T.BooleanType()),
        ]
    )
    return commented(schema, CHANGES)


def key_schema(keys: Sequence[str], row: T.StructType) -> T.StructType:
    """The key columns of ``row``, in the order of ``keys``."""
    return T.StructType([T.StructField(name, row[name].dataType) for name in keys])
