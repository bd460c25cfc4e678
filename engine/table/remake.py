"""A table with other columns in the place of one that is there, in one commit, and the tag on it in a second."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.frames import temporary_view
from engine.names import quoted
from engine.table.catalog import clauses, create_namespace, identifier
from engine.table.commit import one_boundary, summarised, tag_marker


def remake(
    spark: SparkSession,
    catalog: str,
    name: str,
    rows: DataFrame,
    schema: T.StructType,
    summary: Mapping[str, str],
    properties: Mapping[str, str],
    partitioning: str = "",
) -> None:
    """Put these rows, with the columns of `schema`, in the place of a table's; its older snapshots stay.

    `summary`: what the commit carries. `properties` are set beside those that the table has. `partitioning` is SQL.
    """
    columns = [F.col(quoted(field.name)).cast(field.dataType).alias(field.name) for field in schema]
    view = temporary_view(rows.select(*columns))
    create_namespace(spark, catalog, name)
    with one_boundary(name), summarised(spark, summary):
        spark.sql(
            f"CREATE OR REPLACE TABLE {identifier(catalog, name)} {clauses(partitioning, properties)}"
            f" AS SELECT * FROM {view}"
        )
    spark.catalog.dropTempView(view)
    tag_marker(spark, catalog, name)
