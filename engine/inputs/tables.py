"""The data files of Iceberg tables: which there are, which columns each holds, and their rows."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.errors import SourceError
from engine.inputs.lines import record_of
from engine.inputs.listing import InputFile
from engine.names import quoted
from engine.spec.model import SourceSpec
from engine.table.catalog import load, plain

ALL_COUNTS: Final = {"write.metadata.metrics.default": "counts"}
NAME_MAPPING: Final = "schema.name-mapping.default"
AT_ONCE: Final = 8
"""How many files are asked for their columns beside each other: each waits for its storage."""


def table_name(source: SourceSpec, catalog: str) -> str:
    """The table's name for Spark."""
    assert source.table is not None
    return ".".join(quoted(part) for part in [catalog, *source.table.split(".")])


def data_files(spark: SparkSession, source: SourceSpec, catalog: str, until_ms: int | None = None) -> list[InputFile]:
    """The data files of an Iceberg table, oldest first by name. They never change; new rows come in new files.

    With `until_ms`, files committed later wait for another run.

    Raises: SourceError: there is no such table.
    """
    name = table_name(source, catalog)
    if not spark.catalog.tableExists(name):
        raise SourceError(f"Cannot read {source.table}: there is no such table.", "check source.table in the spec")
    rows = spark.sql(f"SELECT file_path, file_size_in_bytes FROM {name}.data_files")
    if until_ms is not None:
        rows = rows.join(committed_until(spark, name, until_ms), on="file_path", how="left_semi")
    found = (InputFile(row[0], row[1], 0, whole=True) for row in rows.collect())
    return sorted(found, key=lambda file: file.path)


def committed_until(spark: SparkSession, name: str, until_ms: int) -> DataFrame:
    """The files of a table that were committed until a time. Of one whose snapshot is expired only this is known: it is
    older than the snapshots that the table still has.

    Gives: file_path.
    """
    oldest = f"SELECT min(made_current_at) FROM {name}.history"
    return spark.sql(
        f"SELECT e.data_file.file_path FROM {name}.entries AS e"
        f" LEFT JOIN {name}.snapshots AS s ON s.snapshot_id = e.snapshot_id"
        f" WHERE e.status < 2 AND unix_millis(coalesce(s.committed_at, ({oldest}))) <= {until_ms}"
    )


def rows_by_file(spark: SparkSession, source: SourceSpec, catalog: str) -> dict[str, int]:
    """How many rows a table has in each of its data files now; nothing where there is no table any more.

    A file that a delete or a compaction took out of the table lies on the disk until its snapshots are expired.
    """
    name = table_name(source, catalog)
    if not spark.catalog.tableExists(name):
        return {}
    return {row["_file"]: row["count"] for row in spark.table(name).groupBy(F.col("_file")).count().collect()}


# --- rows -----------------------------------------------------------------------------------------------------------


def table_rows(
    spark: SparkSession, source: SourceSpec, catalog: str, columns: Sequence[str], paths: Sequence[str]
) -> DataFrame:
    """The rows of some data files of a table; a row keeps its number in its file. Rows that were deleted before the
    file was taken were never counted, and have none."""
    name = table_name(source, catalog)
    has_deletes = not spark.table(f"{name}.delete_files").isEmpty()
    rows = spark.table(name) if has_deletes else rows_since(spark, name, paths)
    start = F.lit(0).cast("bigint").alias("start")
    mine = rows.where(F.col("_file").isin(*paths))
    found = mine.select(F.col("_file").alias("file"), start, F.col("_pos").alias("row"), record_of(columns))
    if not has_deletes:
        return found
    number = F.row_number().over(Window.partitionBy("file").orderBy("row")).cast("bigint").alias("row")
    return found.select("file", "start", number, "record")


def rows_since(spark: SparkSession, name: str, paths: Sequence[str]) -> DataFrame:
    """The rows of a table without deletes of which only some files are asked for: those since the first commit that
    brought one of them, where all since then only appended. Spark opens every file that is not left out so, and a feed
    of years would be read each night."""
    wanted = set(paths)
    asked = spark.sql(f"SELECT snapshot_id, data_file.file_path AS path FROM {name}.entries WHERE status < 2")
    brought = {row["snapshot_id"] for row in asked.collect() if row["path"] in wanted}
    snapshots = {
        row["snapshot_id"]: row
        for row in spark.sql(f"SELECT snapshot_id, parent_id, operation FROM {name}.snapshots").collect()
    }
    newest = spark.sql(f"SELECT snapshot_id FROM {name}.refs WHERE name = 'main'").first()
    last = newest and newest["snapshot_id"]
    at = snapshots.get(last)
    while at is not None and at["operation"] == "append":
        brought.discard(at["snapshot_id"])
        if not brought and at["parent_id"] is not None:
            bounds = {"start-snapshot-id": at["parent_id"], "end-snapshot-id": last}
            return spark.read.options(**bounds).table(name)
        at = snapshots.get(at["parent_id"])
    return spark.table(name)


# --- columns --------------------------------------------------------------------------------------------------------


def files_by_columns(
    spark: SparkSession, source: SourceSpec, catalog: str, paths: Sequence[str]
) -> list[tuple[T.StructType, list[str]]]:
    """Data files by the columns of the table, as it is now, that they hold.

    A row from before an `ADD COLUMN` says nothing of that column: the null that the table shows there is there or not
    as one looks at it after or before. So the files themselves are asked. In one of Avro, which only Iceberg's reader
    can ask, all columns are taken to be.
    """
    assert source.table is not None
    table, whole = load(spark, catalog, source.table), spark.table(table_name(source, catalog)).schema
    ids = _ids_of(spark, table.schema())
    if all(_ids_of(spark, schema).keys() >= ids.keys() for schema in table.schemas().values()):
        return [(whole, list(paths))]
    groups: dict[frozenset[int], list[str]] = {}
    for path, held in _held(spark, table, table_name(source, catalog), paths, ids):
        groups.setdefault(held, []).append(path)
    fields = list(zip(ids, whole, strict=True))  # Spark has the columns in the order in which the table has them
    return [(T.StructType([field for own, field in fields if own in held]), each) for held, each in groups.items()]


def _ids_of(spark: SparkSession, schema: Any) -> dict[int, frozenset[int]]:
    """The ids of a schema's columns, each with those of all that is in the column."""
    jvm: Any = spark._jvm
    written = json.loads(jvm.org.apache.iceberg.SchemaParser.toJson(schema))
    return {field["id"]: frozenset([field["id"], *_ids_in(field["type"])]) for field in written["fields"]}


def _ids_in(kind: Any) -> Iterator[int]:
    if not isinstance(kind, Mapping):
        return
    for field in kind.get("fields", ()):
        yield field["id"]
        yield from _ids_in(field["type"])
    for part in ("element", "key", "value"):
        if part in kind:
            yield kind[f"{part}-id"]
            yield from _ids_in(kind[part])


def _held(
    spark: SparkSession, table: Any, name: str, paths: Sequence[str], ids: Mapping[int, frozenset[int]]
) -> list[tuple[str, frozenset[int]]]:
    """Each file with the columns that it holds. Where the table's metadata count values of all of them, it does; else
    they may only not have been counted, and the file's own end says it."""
    wanted = set(paths)
    asked = spark.sql(f"SELECT file_path, file_format, map_keys(value_counts) AS counted FROM {name}.data_files")
    files = [row for row in asked.collect() if row["file_path"] in wanted]

    def holds(counted: Sequence[int] | None) -> frozenset[int]:
        return frozenset(own for own, inside in ids.items() if not inside.isdisjoint(counted or ()))

    def held(row: T.Row) -> tuple[str, frozenset[int]]:
        found = holds(row["counted"])
        if len(found) < len(ids):
            counted = _counted_in(spark, table, row["file_path"], row["file_format"])
            found = frozenset(ids) if counted is None else holds(counted)
        return row["file_path"], found

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="columns") as pool:
        return list(pool.map(held, files))


def _counted_in(spark: SparkSession, table: Any, path: str, form: str) -> list[int] | None:
    """The ids of the columns that a file has values of; None where its format does not say."""
    jvm: Any = spark._jvm
    iceberg = jvm.org.apache.iceberg
    config = iceberg.MetricsConfig.fromProperties(ALL_COUNTS)
    mapping = table.properties().get(NAME_MAPPING)
    names = None if mapping is None else iceberg.mapping.NameMappingParser.fromJson(mapping)
    readers = {"PARQUET": iceberg.parquet.ParquetUtil.fileMetrics, "ORC": iceberg.orc.OrcMetrics.fromInputFile}
    if form.upper() not in readers:
        return None
    counted = readers[form.upper()](table.io().newInputFile(path), config, names).valueCounts()
    return [int(number) for number in plain(spark, counted)]
