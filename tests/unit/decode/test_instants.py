"""Instants as text: the reader in Java gives what Spark's casts would, or nothing."""

import json

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from engine.decode import instants, values
from engine.frames import local_frame
from tests.unit.decode.test_plain import TIMES

OTHERS = (
    "2024-02-29T12:30:45.678847001Z", "2024-02-29T12:30:45.678847001", "2024-02-29 12:30:45Z", "1969-12-31T23:59:59.9Z",
    "0002-01-01T00:00:00Z", "9998-12-31T23:59:59.999999999Z", "2024-02-29T12:30:45.678847001-08:00", "", "Z",
    "2024-02-29T12:30:45.6788470011Z", "2024-02-29T23:60:00Z", "2024-02-29T12:30:45.Z", "1",
    '{"seconds": 1, "nanos": 2}',
)  # fmt: skip


def test_what_is_plainly_written_is_what_spark_reads(spark: SparkSession) -> None:
    texts = [*OTHERS, *(json.loads(text) if text.startswith('"') else text for text in TIMES)]
    rows = local_frame(spark, [{"text": text} for text in texts], "text string").localCheckpoint()
    text = F.col("text")
    told = rows.select(
        "text",
        instants.plainly_written(text).alias("plainly"),
        F.unix_micros(values.zoned_moment(text)).alias("cast"),
        F.unix_micros(text.try_cast("timestamp")).alias("spark"),
    ).collect()
    assert [
        row for row in told if row["plainly"] is not None and (row["plainly"], row["plainly"]) != tuple(row)[2:]
    ] == []
    known = [row["text"] for row in told if row["plainly"] is not None]
    assert set(OTHERS[:6]) <= set(known)
    assert not {*OTHERS[6:]} & set(known)
