"""Iceberg's Java API in the driver's JVM, for operations that neither SQL nor Python offers.

Only this module and `engine.session`, which starts a local session, use the JVM directly.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

JAVA_ERRORS: Final = (Py4JJavaError, PySparkException)
"""The exceptions of a failed statement, or of a failed call to Iceberg's Java API."""
NAME_MAPPING: Final = "schema.name-mapping.default"
ALL_COUNTS: Final = {"write.metadata.metrics.default": "counts"}


def iceberg_table(spark: SparkSession, identifier: str) -> Any:
    """Iceberg's Table object of a table, with the newest metadata. `identifier`: in SQL."""
    jvm: Any = spark._jvm
    session: Any = spark._jsparkSession
    return jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session, identifier)


def plain(spark: SparkSession, texts: Any) -> Any:
    """A Java map or collection of strings as a Python object, in one call instead of three for each string."""
    jvm: Any = spark._jvm
    return json.loads(jvm.org.apache.iceberg.util.JsonUtil.mapper().writeValueAsString(texts))


def written_columns(spark: SparkSession, table: Any) -> list[dict[str, Any]]:
    """The columns of a table from Iceberg's JSON: id, name, type."""
    jvm: Any = spark._jvm
    found: list[dict[str, Any]] = json.loads(jvm.org.apache.iceberg.SchemaParser.toJson(table.schema()))["fields"]
    return found


def spark_columns(spark: SparkSession, table: Any) -> dict[str, Any]:
    """The columns of a table as the JSON of a Spark StructType."""
    jvm: Any = spark._jvm
    found: dict[str, Any] = json.loads(jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(table.schema()).json())
    return found


def counted_columns(spark: SparkSession, table: Any, path: str, form: str) -> list[int] | None:
    """The ids of the columns for which a data file itself has metrics. None for an unsupported file format.

    Raises: one of JAVA_ERRORS: the file cannot be read.
    """
    jvm: Any = spark._jvm
    iceberg = jvm.org.apache.iceberg
    read = {"PARQUET": iceberg.parquet.ParquetUtil.fileMetrics, "ORC": iceberg.orc.OrcMetrics.fromInputFile}
    if form not in read:
        return None
    mapping = table.properties().get(NAME_MAPPING)
    names = None if mapping is None else iceberg.mapping.NameMappingParser.fromJson(mapping)
    config = getattr(iceberg.MetricsConfig, "from")(ALL_COUNTS, None, None)
    metrics = read[form](table.io().newInputFile(path), config, names)
    found = [counts for counts in (metrics.columnSizes(), metrics.valueCounts()) if counts is not None]
    return [int(number) for counts in found for number in plain(spark, counts)]


def first_line(error: BaseException) -> str:
    """The first line of an error's message, without the stack trace of a Java error."""
    text = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
    return text.splitlines()[0] if text else type(error).__name__


def rewrite_small_files(
    spark: SparkSession, table: Any, options: Mapping[str, str], summary: Mapping[str, str]
) -> tuple[int, int]:
    """Rewrite small data files, and files with deleted rows, into fewer files, in one commit that carries `summary`.

    Readers see the same rows. The new files are sorted if the table has a sort order.

    Gives: how many files were rewritten, and into how many.
    """
    rewrite = _actions(spark).rewriteDataFiles(table)
    action = rewrite.sort() if table.sortOrder().isSorted() else rewrite.binPack()
    for name, value in options.items():
        action = action.option(name, value)
    for name, value in summary.items():
        action = action.snapshotProperty(name, value)
    result = action.execute()
    return int(result.rewrittenDataFilesCount()), int(result.addedDataFilesCount())


def rewrite_manifests(spark: SparkSession, table: Any, summary: Mapping[str, str]) -> None:
    """Rewrite the manifests of a table into fewer ones, in one commit that carries `summary`."""
    action = _actions(spark).rewriteManifests(table)
    for name, value in summary.items():
        action = action.snapshotProperty(name, value)
    action.execute()


def expire_snapshots(table: Any, before_ms: int) -> None:
    """Remove the snapshots older than a time (milliseconds since 1970) that no branch and no tag needs.

    The files that only these snapshots have are removed too.
    """
    table.expireSnapshots().expireOlderThan(before_ms).retainLast(1).cleanExpiredFiles(True).commit()


def remove_unknown_files(spark: SparkSession, table: Any, before_ms: int) -> None:
    """Remove the files in a table's folder that no snapshot has and that are older than a time (milliseconds since
    1970)."""
    _actions(spark).deleteOrphanFiles(table).usePrefixListing(True).olderThan(before_ms).execute()


def _actions(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm
    session: Any = spark._jsparkSession
    return jvm.org.apache.iceberg.spark.actions.SparkActions.get(session)


def layout_of(spark: SparkSession, table: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[int, Any]]:
    """The layout of a table: its partition fields and its sort fields from Iceberg's JSON, and its columns by id."""
    jvm: Any = spark._jvm
    iceberg = jvm.org.apache.iceberg
    spec = json.loads(iceberg.PartitionSpecParser.toJson(table.spec()))["fields"]
    order = json.loads(iceberg.SortOrderParser.toJson(table.sortOrder()))["fields"]
    return spec, order, {column["id"]: column for column in written_columns(spark, table)}


def transformed(spark: SparkSession, column: str, transform: str, number: int | None) -> Any:
    """A transform of a column, for a change of a partition spec or of a sort order."""
    jvm: Any = spark._jvm
    make = getattr(jvm.org.apache.iceberg.expressions.Expressions, "ref" if transform == "identity" else transform)
    return make(column) if number is None else make(column, number)


def null_order(spark: SparkSession, *, first: bool) -> Any:
    """The place of nulls in a sort order."""
    jvm: Any = spark._jvm
    order = jvm.org.apache.iceberg.NullOrder
    return order.NULLS_FIRST if first else order.NULLS_LAST
