"""Iceberg's own objects, in the JVM."""

import json
from typing import Any

from pyspark.sql import SparkSession


def iceberg_table(spark: SparkSession, identifier: str) -> Any:
    """Iceberg's Table object of a table, read afresh. `identifier`: as SQL takes it."""
    jvm: Any = spark._jvm
    session: Any = spark._jsparkSession
    return jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session, identifier)


def plain(spark: SparkSession, texts: Any) -> Any:
    """A map or a collection of texts of the JVM as Python's own, in one question instead of three for each text."""
    jvm: Any = spark._jvm
    return json.loads(jvm.org.apache.iceberg.util.JsonUtil.mapper().writeValueAsString(texts))
