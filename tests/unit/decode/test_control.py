"""The source of a control event."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from siltstone.engine.steps.control_events import named_source


def test_a_topic_identifies_the_source_among_any_number(spark: SparkSession) -> None:
    sources = [f"postgresql:s{number}" for number in range(60)] + ["postgresql:s7.eu"]
    sources += ["vitess:sharded:-80", "vitess:sharded:80-", "vitess:whole:0"]
    expected = {
        (None, "s7.shop.items"): "postgresql:s7",
        (None, "s7.eu.transaction"): "postgresql:s7.eu",
        (None, "__debezium-heartbeat.s59"): "postgresql:s59",
        (None, "s5"): None,
        (None, "sharded.transaction"): None,
        (None, "whole.transaction"): "vitess:whole:0",
        ("postgresql:s1", "s7.transaction"): "postgresql:s1",
    }
    events = spark.createDataFrame([*expected], "source string, channel string").repartition(1)
    found = events.select("*", named_source(sources).alias("named")).withColumn("twice", F.concat("named", "named"))
    assert {(row.source, row.channel): row.named for row in found.collect()} == expected
