"""The kinds of rows in the control table: events that change no row. Values only, importable without a JVM."""

from typing import Final

# Events of the source.
HEARTBEAT: Final = "heartbeat"
TRANSACTION_BEGIN: Final = "transaction_begin"
TRANSACTION_END: Final = "transaction_end"
TRANSACTION_ROLLBACK: Final = "transaction_rollback"
TRANSACTION_EVENT: Final = "transaction"  # an event of a transaction that is neither its begin nor its end
DDL: Final = "ddl"
QUERY: Final = "query"
MESSAGE: Final = "message"  # a logical message that a program wrote into the log
NULL_MESSAGE: Final = "null_message"
NOTIFICATION: Final = "notification"
IGNORED: Final = "ignored"  # a row that the spec excludes
UPDATE_BEFORE: Final = "update_before"  # the row before an update, as an operation of its own
CHECKPOINT: Final = "checkpoint"
COMMAND: Final = "command"
FILLER: Final = "filler"
FINISH: Final = "finish"
CONTROL_RECORD: Final = "control"
RDB: Final = "rdb"
REDELIVERY: Final = "redelivery"  # a record that its source sent a second time, known from more than the message
RETRACTION: Final = "withdrawal"  # retracts a change that was taken before it was known to be a redelivery

# Rows of Debezium's signal table: the markers of snapshot windows, and all others.
WINDOW_OPEN: Final = "window_open"
WINDOW_CLOSE: Final = "window_close"
SIGNAL: Final = "signal"

# Partitions of a Spanner change stream.
CHILD_PARTITIONS: Final = "child_partitions"
PARTITION_START: Final = "partition_start"
PARTITION_END: Final = "partition_end"
PARTITION_EVENT: Final = "partition_event"

# Counts of a delivery, made before it is split by table.
TRANSACTION_LEDGER: Final = "transaction_ledger"
WATERMARK: Final = "watermark"
LOG_FILE: Final = "log_file"
