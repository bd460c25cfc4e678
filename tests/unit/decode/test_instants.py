"""Instants as text: the readers in Java give what Spark's casts would (the one of plain texts that, or nothing)."""

import json
import random
import string

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from engine.decode import instants, numbers, values
from engine.frames import local_frame
from engine.json_text import from_json
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


WRITTEN = "^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.Z+-]|$)"
ODD = (
    *OTHERS, "2024-02-29T12:30:45+05:30", "2024-02-29T12:30:45-08", "2024-02-29T12:30:45 ", " 2024-02-29T12:30:45Z",
    "2024-02-29T12:30:45\n", "2023-02-29T12:30:45", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-01:00", "2024-02-29T24:00:00Z",
    "2024-02-29T12:30:45.123456789+00:00", "2024-02-29T12:30:45.Europe/Berlin", "2024-02-29T12:30:45Z[UTC]",
    "253402300799999999", "253402300800000000", "999999999999999999", "1000000000000000000", "-1", "+1", "1\n", "1 ",
    "1.5", "{}", "{", '{"seconds": "1"}', '{"seconds": 1}', '{"nanos": 5}', '{"seconds": -62135596800, "nanos": 999}',
    '{"seconds": -62135596801, "nanos": 999999999}', '{"seconds": 253402300799, "nanos": 999999999}',
    '{"seconds": 9223372036854775807}', '{"seconds": -1, "nanos": -1}', '{"seconds": 1, "nanos": 999, "more": [1]}',
    '{"seconds": null, "nanos": 1}', '{"seconds": 1.5}', '{"seconds": 1, "nanos": 9223372036854775807}', "null", "é",
)  # fmt: skip


def by_spark(text: Column) -> Column:
    """What an instant is, in Spark's own words."""
    parts = from_json(F.when(text.startswith("{"), text), "struct<seconds: bigint, nanos: bigint>")
    nanos = F.coalesce(parts["nanos"], F.lit(0)).cast("decimal(20,0)")
    micros_of_nanos = F.floor(nanos / 1_000).cast("bigint")
    counted = F.try_add(F.try_multiply(parts["seconds"], F.lit(1_000_000)), micros_of_nanos)
    micros = F.when(text.rlike(WRITTEN), F.unix_micros(text.try_cast("timestamp"))).otherwise(
        F.coalesce(numbers.digits(text), F.when(text.startswith("{"), counted))
    )
    return F.unix_micros(values.moment(micros, "micros"))


def odd(draw: random.Random) -> str:
    """A text near to an instant: some signs are others, doubled, or left out."""
    text = list(draw.choice(ODD))
    for _ in range(draw.randint(0, 2)):
        at = draw.randrange(len(text) + 1)
        sign = draw.choice(string.digits + '-:.TZ+ {}"')
        text[at : at + draw.randint(0, 1)] = draw.choice(([sign], []))
    return "".join(text)


@pytest.mark.parametrize("seed", [1, *[pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6)]])
def test_an_instant_is_what_spark_makes_of_the_text(spark: SparkSession, seed: int) -> None:
    draw = random.Random(seed)
    texts = [*ODD, *TIMES, *[odd(draw) for _ in range(3_000)], None]
    rows = local_frame(spark, [{"text": text} for text in texts], "text string").localCheckpoint()
    told = rows.select(
        "text", instants.unix_micros(F.col("text")).alias("own"), by_spark(F.col("text")).alias("spark")
    ).collect()
    assert [row for row in told if row["own"] != row["spark"]] == []
    assert {row["own"] is None for row in told} == {True, False}
