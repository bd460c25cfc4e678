"""The rows of the two tables that users read: the SCD2 history and the latest state."""

from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.schema.column_comments import commented
from siltstone.engine.schema.comments import HISTORY, LATEST


def history_schema(row: T.StructType) -> T.StructType:
    """User columns, then the version's interval, the change that opened it, and bookkeeping."""
    schema = T.StructType(
        [
            *nullable(row).fields,
            T.StructField(names.VALID_FROM, T.TimestampType()),
            T.StructField(names.VALID_TO, T.TimestampType()),
            T.StructField(names.IS_CURRENT, T.BooleanType()),
            T.StructField(names.OP, T.StringType()),
            T.StructField(names.COMMIT_TS, T.TimestampType()),
            T.StructField(names.POSITION, T.StringType()),
            T.StructField(names.CHANGE_HASH, T.LongType()),
            T.StructField(names.LAST_POSITION, T.StringType()),
            T.StructField(names.STREAM_TS, T.TimestampType()),
            T.StructField(names.UNKNOWN, T.ArrayType(T.StringType())),
            T.StructField(names.RESCUED, T.StringType()),
            T.StructField(names.BATCH, T.LongType()),
        ]
    )
    return commented(schema, HISTORY)


def latest_schema(row: T.StructType) -> T.StructType:
    """User columns, then the time and the position at which the row's current version began."""
    schema = T.StructType(
        [
            *nullable(row).fields,
            T.StructField(names.VALID_FROM, T.TimestampType()),
            T.StructField(names.COMMIT_TS, T.TimestampType()),
            T.StructField(names.POSITION, T.StringType()),
            T.StructField(names.RESCUED, T.StringType()),
            T.StructField(names.BATCH, T.LongType()),
        ]
    )
    return commented(schema, LATEST)


def numbered(row: T.StructType) -> T.StructType:
    """The columns of a keyless table's rows, and the number that distinguishes equal rows."""
    return T.StructType([*row.fields, T.StructField(names.COPY, T.IntegerType())])


def nullable(row: T.StructType) -> T.StructType:
    """The same columns, all nullable: a tombstone has only the key."""
    return T.StructType([T.StructField(field.name, field.dataType, True) for field in row])
