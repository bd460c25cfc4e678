"""The floor: the work that every way of applying the lines must do. Read, decode, order by key and position, write.

The lines are decoded once, with their complete schema, directly into typed columns. Nothing is checked, counted or kept
for later.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

ROW = (
    "struct<id: bigint, name: string, email: string, balance: string, status: string, created_at: bigint,"
    " updated_at: timestamp, score: double, note: string, qty: int>"
)
SOURCE = (
    "struct<version: string, connector: string, name: string, ts_ms: bigint, snapshot: string, db: string,"
    " sequence: string, ts_us: bigint, ts_ns: bigint, table: string, server_id: bigint, gtid: string, file: string,"
    " pos: bigint, row: int, thread: bigint, query: string>"
)
LINE = (
    "topic string, partition int, offset bigint, key struct<id: bigint>,"
    f" value struct<before: {ROW}, after: {ROW}, source: {SOURCE}, transaction: struct<id: string,"
    " total_order: bigint, data_collection_order: bigint>, op: string, ts_ms: bigint, ts_us: bigint, ts_ns: bigint>"
)
COLUMNS = ("id", "name", "email", "balance", "status", "created_at", "updated_at", "score", "note", "qty")
POSITION = ("file", "pos", "row")


def decoded(spark: SparkSession, lines: Path) -> DataFrame:
    """The changes as typed columns.

    **Gives** op, before, after (structs of COLUMNS), commit_ts, and the position: file (its number), pos, row.
    **Rows** 1:1.
    """
    value = F.from_json("value", LINE)["value"]
    source = F.col("line.source")
    return (
        spark.read.text(str(lines))
        .select(value.alias("line"))
        .select(
            F.col("line.op").alias("op"),
            _typed("line.before").alias("before"),
            _typed("line.after").alias("after"),
            F.timestamp_millis(source["ts_ms"]).alias("commit_ts"),
            F.substring_index(source["file"], ".", -1).cast("bigint").alias("file"),
            source["pos"].alias("pos"),
            source["row"].alias("row"),
        )
    )


def write_ordered(spark: SparkSession, lines: Path, out: Path) -> None:
    """Decode the lines, and write them as Parquet: the changes of each key together and in order."""
    changes = decoded(spark, lines).withColumn("id", F.coalesce("after.id", "before.id"))
    changes.repartition("id").sortWithinPartitions("id", *POSITION).write.mode("overwrite").parquet(str(out))


def _typed(image: str) -> Column:
    """The row image with a decoded decimal and DATETIME(6). Null stays null."""
    columns = {name: F.col(image)[name] for name in COLUMNS}
    columns["balance"] = _decimal(columns["balance"])
    columns["created_at"] = F.timestamp_micros(columns["created_at"]).cast("timestamp_ntz")
    return F.when(F.col(image).isNotNull(), F.struct(*(column.alias(name) for name, column in columns.items())))


def _decimal(text: Column) -> Column:
    """The decimal(12,2) of a base64 text: an unscaled value in big-endian two's complement."""
    digits = F.hex(F.unbase64(text))
    sign = F.when(digits.substr(1, 1) >= "8", "F").otherwise("0")
    unscaled = F.conv(F.lpad(digits, 16, sign), 16, -10).cast("decimal(12,0)")
    return (unscaled * F.lit("0.01").cast("decimal(2,2)")).cast("decimal(12,2)")
