"""Replace a table by one with other columns, in one commit. A second commit moves the marker tag."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.frames import temporary_view
from siltstone.engine.names import quoted
from siltstone.engine.spec.layouts import IDENTITY, SortField, Transform
from siltstone.engine.table.catalog import clauses, create_namespace, identifier
from siltstone.engine.table.commit import one_boundary, summarised, tag_marker
from siltstone.engine.table.table_settings import Settings, apply_settings


def remake(
    spark: SparkSession,
    catalog: str,
    name: str,
    rows: DataFrame,
    schema: T.StructType,
    summary: Mapping[str, str],
    properties: Mapping[str, str],
    settings: Settings | None = None,
) -> None:
    """Replace the rows and the columns of a table; its older snapshots stay.

    `summary`: the properties that the commit carries. `properties`: set in addition to the table's own. `settings`: the
    spec's settings of the table. A later commit sets those that the statement cannot set.
    """
    wanted = settings or Settings()
    columns = [
        F.col(quoted(field.name)).cast(field.dataType).alias(field.name, metadata=field.metadata) for field in schema
    ]
    found = rows.select(*columns)
    order = [sorted_by(one) for one in wanted.layout.sort]
    view = temporary_view(found.sortWithinPartitions(*order) if order else found)
    partitioning = ", ".join(sql_of(one) for one in wanted.partition)
    create_namespace(spark, catalog, name)
    with one_boundary(name), summarised(spark, summary):
        spark.sql(
            f"CREATE OR REPLACE TABLE {identifier(catalog, name)} {clauses(partitioning, properties)}"
            f" AS SELECT * FROM {view}"
        )
    spark.catalog.dropTempView(view)
    tag_marker(spark, catalog, name)
    if settings is not None:
        apply_settings(spark, catalog, name, settings)


def sorted_by(by: SortField) -> Column:
    """One column of a sort order."""
    column = F.col(quoted(by.column))
    if by.descending:
        return column.desc_nulls_first() if by.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if by.nulls_first else column.asc_nulls_last()


def sql_of(one: Transform) -> str:
    """A partition field in SQL."""
    if one.name == IDENTITY:
        return quoted(one.column)
    word = one.name if one.number is not None else f"{one.name}s"
    return f"{word}({'' if one.number is None else f'{one.number}, '}{quoted(one.column)})"
