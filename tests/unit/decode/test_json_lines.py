"""Why lines could not be parsed: the functions in Java say what Spark's own expressions would."""

import random

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from engine.decode import json_lines
from engine.frames import local_frame

LINES = (
    "", "   ", "\t", "{", "{}", '{"a": 1}', ' {"a": 1} ', "[1]", "[", "1", '"{x"', '"[x"', '"x"', '""', "null", "true",
    "{'a': 1}", '{"a": 1} x', '{"a": 1}{"b": 2}', "nul", "é", "NaN", '{"a": "\x00"}', '{"a": "😀"}',
)  # fmt: skip
OPENINGS = {"{": r"^\{", "[{": r"^[\[{]"}


def by_spark(text: Column, opening: str) -> Column:
    """The reasons, one after the other."""
    whole = json_lines.whole(text)
    return (
        F.when(F.trim(text) == "", "empty line")
        .when(~F.is_valid_utf8(text), "not UTF-8 text")
        .when(whole.isNull(), "not JSON")
        .when(~whole.rlike(opening), "other")
        .otherwise("misfit")
    )


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_line_is_refused_for_what_it_is(spark: SparkSession, opening: str) -> None:
    draw = random.Random(3)
    texts = [line.encode() for line in LINES]
    for _ in range(500):
        text = bytearray(draw.choice(texts[3:]))
        if text:
            text[draw.randrange(len(text))] = draw.choice(b'{}[]"1 \xff\xc3')
        texts.append(bytes(text))
    rows = local_frame(
        spark, [{"bytes": bytearray(text)} for text in [*texts, b"\xff", b'{"a": "\xed\xa0\x80"}']], "bytes binary"
    )
    text = F.when(F.rand(1) >= 0, F.col("bytes").cast("string"))
    told = rows.select(
        "bytes",
        json_lines.broken_reason(text, "misfit", opening, "other").alias("own"),
        json_lines.no_json_reason(text).alias("no_json"),
        by_spark(text, OPENINGS[opening]).alias("spark"),
    ).collect()
    assert [row for row in told if row["own"] != row["spark"]] == []
    assert {row["own"] for row in told} == {"empty line", "not UTF-8 text", "not JSON", "other", "misfit"}
    no_json = {row["no_json"] for row in told if row["own"] in ("other", "misfit")}
    assert no_json == {None}
    assert all(row["no_json"] == row["own"] for row in told if row["own"] in ("not UTF-8 text", "not JSON"))
