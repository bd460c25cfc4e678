"""A part of a table, given as text values."""

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine.errors import SpecError
from siltstone.engine.fold.key_ranges import Part, key_value

KEY = T.StructType([T.StructField("at", T.TimestampType()), T.StructField("day", T.DateType())])


@pytest.mark.parametrize("text", ["10:00", " 10:00:00.5", "T09:30Z", "yesterday", "epoch"])
def test_a_time_without_a_day_is_refused(spark: SparkSession, text: str) -> None:
    with pytest.raises(SpecError, match="Cannot look up at: the value given is not of type timestamp"):
        key_value(spark, KEY, "at", text)


def test_the_error_for_a_column_outside_the_key_names_the_column(spark: SparkSession) -> None:
    with pytest.raises(SpecError, match="Cannot look up att: it is no key column"):
        key_value(spark, KEY, "att", "2026-01-01")


def test_a_null_value_has_the_type_of_its_column(spark: SparkSession) -> None:
    found = Part({"day": None}).condition(spark, KEY)
    days = spark.sql("SELECT * FROM VALUES (DATE'2026-01-31'), (NULL) AS days(day)")
    assert [row["day"] for row in days.where(found(lambda name: days[name])).collect()] == [None]


def test_a_day_without_a_year_is_refused(spark: SparkSession) -> None:
    with pytest.raises(SpecError, match="Cannot look up day: the value given is not of type date"):
        key_value(spark, KEY, "day", "today")
    assert spark.range(1).select(key_value(spark, KEY, "day", "2026-01-31").cast("string")).collect() == [
        ("2026-01-31",)
    ]
