"""Values as JSON text."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from siltstone.engine.json_text import exact_json

MADE = (
    "named_struct('at', timestamp'2020-01-01 00:00:00.123Z', 'list', array(timestamp_ntz'{0}'),"
    " 'map', map('a', timestamp'{0}Z'), 'n', 1.5D) value"
)


def test_times_keep_their_microseconds_and_texts_that_lose_nothing_stay(spark: SparkSession) -> None:
    frames = [spark.range(1).selectExpr(MADE.format(f"2020-01-01 00:00:00{part}")) for part in ("", ".123456")]
    rows = frames[0].union(frames[1]).selectExpr("value").unionByName(spark.sql("SELECT null AS value"))
    exact = exact_json(F.col("value"), rows.schema["value"].dataType)
    usual, fine, none = rows.select(exact, F.to_json("value")).collect()
    assert usual[0] == usual[1]
    assert fine[0] == (
        '{"at":"2020-01-01T00:00:00.123000Z","list":["2020-01-01T00:00:00.123456"],'
        '"map":{"a":"2020-01-01T00:00:00.123456Z"},"n":1.5}'
    )
    assert none[0] is None
