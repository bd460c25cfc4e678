"""The data files of Iceberg tables: which there are, which columns each holds, and their rows."""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.errors import SourceError
from siltstone.engine.frames import local_frame
from siltstone.engine.iceberg import (
    JAVA_ERRORS,
    counted_columns,
    first_line,
    iceberg_table,
    plain,
    spark_columns,
    written_columns,
)
from siltstone.engine.inputs.listing import InputFile
from siltstone.engine.inputs.table_rows import record_of
from siltstone.engine.names import quoted
from siltstone.engine.spec.model import SourceSpec

COUNTS: Final = ("column_sizes", "value_counts")
DELETES: Final = ("total-delete-files", "total-position-deletes", "total-equality-deletes")
UNCOUNTED: Final = ("unknown", "variant")
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


# --- parts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TablePart:
    """Data files of a table that hold the same of its columns. `since`: Spark's bounds of the commits that brought
    them, where there are any."""

    name: str
    columns: T.StructType
    paths: Sequence[str]
    since: Mapping[str, str]
    has_deletes: bool

    def rows(self, spark: SparkSession) -> DataFrame:
        """Their rows. A row keeps its number in its file. Rows that were deleted before the file was taken were never
        counted, and have none.

        Gives: file, row, record.
        """
        mine = spark.read.options(**self.since).table(self.name).where(F.col("_file").isin(*self.paths))
        found = mine.select(F.col("_file").alias("file"), F.col("_pos").alias("row"), record_of(self.columns.names))
        if not self.has_deletes:
            return found
        number = F.row_number().over(Window.partitionBy("file").orderBy("row")).cast("bigint").alias("row")
        return found.select("file", number, "record")


def table_parts(spark: SparkSession, source: SourceSpec, catalog: str, paths: Sequence[str]) -> list[TablePart]:
    """Data files of a table by the columns that they hold.

    A row from before an `ADD COLUMN` says nothing of that column: the null that the table shows there would be there or
    not as one looks at it after or before.

    Raises: SourceError: a file cannot be asked for its columns.
    """
    name = table_name(source, catalog)
    table = iceberg_table(spark, name)
    listed = _entries(spark, name, paths)
    columns = _columns(spark, table)
    newest = max((column.number for column in columns if column.is_counted), default=0)
    asked = [path for path in paths if path in listed and (listed[path]["last"] or 0) < newest]
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="columns") as pool:
        told = dict(zip(asked, pool.map(lambda path: _last_in(spark, table, listed[path]), asked), strict=True))
    groups: dict[tuple[int, ...], list[str]] = {}
    for path in paths:  # of a file that was taken out of the table meanwhile there is nothing to read
        last = told.get(path, listed[path]["last"]) if path in listed else None
        held = tuple(c.number for c in columns if last is None or c.number <= last or not c.is_counted)
        groups.setdefault(held, []).append(path)
    has_deletes = _has_deletes(spark, name, table)
    commits = [] if has_deletes else _commits(spark, name, table)
    parts = []
    for held, mine in groups.items():
        brought = {listed[path]["snapshot_id"] for path in mine if path in listed}
        fields = T.StructType([column.field for column in columns if column.number in held])
        parts.append(TablePart(name, fields, mine, _since(commits, brought), has_deletes))
    return parts


def _entries(spark: SparkSession, name: str, paths: Sequence[str]) -> dict[str, Row]:
    """Data files by their paths: path, form, snapshot_id (of the commit that brought it), last (the greatest number of
    a column of which the metadata tell something)."""
    wanted = F.broadcast(local_frame(spark, [{"path": path} for path in paths], "path string"))
    numbers = [F.coalesce(F.map_keys(f"data_file.{told}"), F.array().cast("array<int>")) for told in COUNTS]
    found = spark.table(f"{name}.entries").where("status < 2 AND data_file.content = 0")
    told = found.select(
        F.col("data_file.file_path").alias("path"),
        F.col("data_file.file_format").alias("form"),
        "snapshot_id",
        F.array_max(F.concat(*numbers)).alias("last"),
    )
    return {row["path"]: row for row in told.join(wanted, on="path", how="left_semi").collect()}


# --- columns --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Column:
    """A column of a table. Numbers grow: one that was added later has the greater. `is_counted`: files tell of it."""

    number: int
    field: T.StructField
    is_counted: bool


def _columns(spark: SparkSession, table: Any) -> list[_Column]:
    written, fields = written_columns(spark, table), T.StructType.fromJson(spark_columns(spark, table))
    return [_Column(one["id"], field, _is_counted(one["type"])) for one, field in zip(written, fields, strict=True)]


def _is_counted(kind: Any) -> bool:
    """Whether there is a value somewhere in a type of which files tell the size."""
    if not isinstance(kind, Mapping):
        return kind not in UNCOUNTED
    parts = [kind[part] for part in ("element", "key", "value") if part in kind]
    return any(_is_counted(part) for part in [*parts, *(field["type"] for field in kind.get("fields", ()))])


def _last_in(spark: SparkSession, table: Any, file: Row) -> int | None:
    """The greatest number of a column that a file itself tells of, or the metadata did; None where nobody tells. The
    metadata can have left columns out.

    Raises: SourceError: the file cannot be read.
    """
    try:
        numbers = counted_columns(spark, table, file["path"], file["form"].upper())
    except JAVA_ERRORS as error:
        raise SourceError(
            f"Cannot read {file['path']}: {first_line(error)}. Nothing of this batch was taken.",
            "run again; if the table has the file still, look at it",
        ) from error
    return None if numbers is None else max([*numbers, file["last"] or 0]) or None


# --- commits --------------------------------------------------------------------------------------------------------


def _commits(spark: SparkSession, name: str, table: Any) -> list[Row]:
    """The commits that only appended, from the newest of the table back to the first that did something else."""
    newest = table.currentSnapshot()
    rows = spark.sql(f"SELECT snapshot_id, parent_id, operation FROM {name}.snapshots").collect()
    known, found = {row["snapshot_id"]: row for row in rows}, []
    at = None if newest is None else known.get(newest.snapshotId())
    while at is not None and at["operation"] == "append":
        found.append(at)
        at = known.get(at["parent_id"])
    return found


def _since(commits: Sequence[Row], brought: Collection[int]) -> dict[str, str]:
    """Spark's bounds of the commits that brought some files; none where others than appending ones are among them, or
    they begin with the table. Spark opens every file that is not left out so: a feed of years would be read each night.
    """
    places = [place for place, commit in enumerate(commits) if commit["snapshot_id"] in brought]
    if not places or len(places) < len(brought) or commits[places[-1]]["parent_id"] is None:
        return {}
    before, last = commits[places[-1]]["parent_id"], commits[places[0]]["snapshot_id"]
    return {"start-snapshot-id": str(before), "end-snapshot-id": str(last)}


def _has_deletes(spark: SparkSession, name: str, table: Any) -> bool:
    newest = table.currentSnapshot()
    told = {} if newest is None else plain(spark, newest.summary())
    if all(told.get(total) == "0" for total in DELETES):
        return False
    return not spark.table(f"{name}.delete_files").isEmpty()
