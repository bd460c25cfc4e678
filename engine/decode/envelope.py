"""What an event is, before its row is read: the columns every format's decoder gives for every line."""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as T

CHANGE: Final = "change"
CONTROL: Final = "control"
REJECT: Final = "reject"

ENVELOPE_SCHEMA: Final = T.StructType(
    [
        T.StructField("file", T.StringType()),
        T.StructField("line", T.LongType()),
        T.StructField("text", T.StringType()),
        T.StructField("kind", T.StringType()),
        T.StructField("reason", T.StringType()),
        T.StructField("connector", T.StringType()),
        T.StructField("source", T.StringType()),
        T.StructField("table", T.StringType()),
        T.StructField("op", T.StringType()),
        T.StructField("origin", T.StringType()),
        T.StructField("key_json", T.StringType()),
        T.StructField("before_json", T.StringType()),
        T.StructField("after_json", T.StringType()),
        T.StructField("row_schema_json", T.StringType()),
        T.StructField("key_schema_json", T.StringType()),
        T.StructField("schema_hash", T.LongType()),
        T.StructField("position", T.StringType()),
        T.StructField("commit_ts", T.TimestampType()),
        T.StructField("ingest_ts", T.TimestampType()),
        T.StructField("event_id", T.StringType()),
        T.StructField("tx_id", T.StringType()),
        T.StructField("tx_order", T.LongType()),
        T.StructField("old_key_json", T.StringType()),
        T.StructField("new_key_json", T.StringType()),
        T.StructField("channel", T.StringType()),
        T.StructField("kafka_partition", T.IntegerType()),
        T.StructField("kafka_offset", T.LongType()),
        T.StructField("control_kind", T.StringType()),
        T.StructField("control_json", T.StringType()),
    ]
)
ENVELOPE_COLUMNS: Final = tuple(ENVELOPE_SCHEMA.fieldNames())

ANNOUNCED: Final = "announced"
"""The column behind the others: what a change itself says of its transaction. Null where the format says nothing."""
ANNOUNCED_TYPE: Final = T.StructType(
    [
        T.StructField("size", T.LongType()),  # how many records (`tx_order` tells them apart) the transaction has
        T.StructField("partitions", T.LongType()),  # over how many partitions
        T.StructField("partition", T.StringType()),  # the record's own partition
        T.StructField("is_last", T.BooleanType()),  # whether it is the transaction's last record in its partition
    ]
)
