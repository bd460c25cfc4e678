"""The data files of Iceberg tables: their list, the columns that each one has, and their rows."""

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
"""How many files are read for their columns in parallel: each read waits for the storage."""


def table_name(source: SourceSpec, catalog: str) -> str:
    """The SQL name of the table."""
    assert source.table is not None
    return ".".join(quoted(part) for part in [catalog, *source.table.split(".")])


def data_files(spark: SparkSession, source: SourceSpec, catalog: str, until_ms: int | None = None) -> list[InputFile]:
    """The data files of an Iceberg table, sorted by path. They never change; new rows come in new files.

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
    """The files of a table that were committed until a time.

    The commit time of a file whose snapshot is expired is unknown. Its latest possible time is used: that of the oldest
    snapshot that the table still has.

    Gives: file_path.
    """
    oldest = f"SELECT min(made_current_at) FROM {name}.history"
    return spark.sql(
        f"SELECT e.data_file.file_path FROM {name}.entries AS e"
        f" LEFT JOIN {name}.snapshots AS s ON s.snapshot_id = e.snapshot_id"
        f" WHERE e.status < 2 AND unix_millis(coalesce(s.committed_at, ({oldest}))) <= {until_ms}"
    )


def rows_by_file(spark: SparkSession, source: SourceSpec, catalog: str) -> dict[str, int]:
    """How many rows a table has in each of its data files now; empty if the table does not exist.

    A file that a delete or a compaction removed from the table stays in the storage until its snapshots are expired.
    """
    name = table_name(source, catalog)
    if not spark.catalog.tableExists(name):
        return {}
    return {row["_file"]: row["count"] for row in spark.table(name).groupBy(F.col("_file")).count().collect()}


# --- parts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TablePart:
    """Data files of a table that have the same columns.

    `since`: Spark's read options for the commits that added them; empty if there are no such bounds.
    """

    name: str
    columns: T.StructType
    paths: Sequence[str]
    since: Mapping[str, str]
    has_deletes: bool

    def rows(self, spark: SparkSession) -> DataFrame:
        """The rows of the files. A row keeps its number in its file.

        Rows that were deleted before the file was taken are not counted and have no number.

        Gives: file, row, record.
        """
        mine = spark.read.options(**self.since).table(self.name).where(F.col("_file").isin(*self.paths))
        found = mine.select(F.col("_file").alias("file"), F.col("_pos").alias("row"), record_of(self.columns.names))
        if not self.has_deletes:
            return found
        number = F.row_number().over(Window.partitionBy("file").orderBy("row")).cast("bigint").alias("row")
        return found.select("file", number, "record")


def table_parts(spark: SparkSession, source: SourceSpec, catalog: str, paths: Sequence[str]) -> list[TablePart]:
    """Data files of a table, grouped by the columns that they have.

    A row from before an `ADD COLUMN` does not have the column. The table shows null there, but only after the
    `ADD COLUMN`. So such rows lack the column, whenever they are read.

    Raises: SourceError: the columns of a file cannot be read.
    """
    name = table_name(source, catalog)
    table = iceberg_table(spark, name)
    listed = _entries(spark, name, paths)
    columns = _columns(spark, table)
    newest = max((column.number for column in columns if column.is_counted), default=0)
    unclear = [path for path in paths if path in listed and (listed[path]["last"] or 0) < newest]
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="columns") as pool:
        read = dict(zip(unclear, pool.map(lambda path: _last_in(spark, table, listed[path]), unclear), strict=True))
    groups: dict[tuple[int, ...], list[str]] = {}
    for path in paths:  # a file that was removed from the table meanwhile has no rows to read
        last = read.get(path, listed[path]["last"]) if path in listed else None
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
    """Data files by their paths: path, form, snapshot_id (of the commit that added it), and last (the greatest id of a
    column in the file's metrics)."""
    wanted = F.broadcast(local_frame(spark, [{"path": path} for path in paths], "path string"))
    numbers = [F.coalesce(F.map_keys(f"data_file.{name}"), F.array().cast("array<int>")) for name in COUNTS]
    found = spark.table(f"{name}.entries").where("status < 2 AND data_file.content = 0")
    files = found.select(
        F.col("data_file.file_path").alias("path"),
        F.col("data_file.file_format").alias("form"),
        "snapshot_id",
        F.array_max(F.concat(*numbers)).alias("last"),
    )
    return {row["path"]: row for row in files.join(wanted, on="path", how="left_semi").collect()}


# --- columns --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Column:
    """A column of a table. `number`: its id; later columns have greater ids. `is_counted`: files have its metrics."""

    number: int
    field: T.StructField
    is_counted: bool


def _columns(spark: SparkSession, table: Any) -> list[_Column]:
    written, fields = written_columns(spark, table), T.StructType.fromJson(spark_columns(spark, table))
    return [_Column(one["id"], field, _is_counted(one["type"])) for one, field in zip(written, fields, strict=True)]


def _is_counted(kind: Any) -> bool:
    """Whether a type contains a value for which files have metrics."""
    if not isinstance(kind, Mapping):
        return kind not in UNCOUNTED
    parts = [kind[part] for part in ("element", "key", "value") if part in kind]
    return any(_is_counted(part) for part in [*parts, *(field["type"] for field in kind.get("fields", ()))])


def _last_in(spark: SparkSession, table: Any, file: Row) -> int | None:
    """The greatest id of a column in the metrics of the file itself or of the table's metadata; None if both have none.

    The metadata can lack some columns.

    Raises: SourceError: the file cannot be read.
    """
    try:
        numbers = counted_columns(spark, table, file["path"], file["form"].upper())
    except JAVA_ERRORS as error:
        raise SourceError(
            f"Cannot read {file['path']}: {first_line(error)}. Nothing of this batch was taken.",
            "retry; if the table still has the file, check the file",
        ) from error
    return None if numbers is None else max([*numbers, file["last"] or 0]) or None


# --- commits --------------------------------------------------------------------------------------------------------


def _commits(spark: SparkSession, name: str, table: Any) -> list[Row]:
    """The append commits from the newest snapshot back to the first commit that is no append."""
    newest = table.currentSnapshot()
    rows = spark.sql(f"SELECT snapshot_id, parent_id, operation FROM {name}.snapshots").collect()
    known, found = {row["snapshot_id"]: row for row in rows}, []
    at = None if newest is None else known.get(newest.snapshotId())
    while at is not None and at["operation"] == "append":
        found.append(at)
        at = known.get(at["parent_id"])
    return found


def _since(commits: Sequence[Row], brought: Collection[int]) -> dict[str, str]:
    """Spark's read options for the commits that added some files.

    Without them, Spark opens every file of the table: each run would read years of data. There are none if not all of
    these commits are appends, or if the first of them is the table's first commit.
    """
    places = [place for place, commit in enumerate(commits) if commit["snapshot_id"] in brought]
    if not places or len(places) < len(brought) or commits[places[-1]]["parent_id"] is None:
        return {}
    before, last = commits[places[-1]]["parent_id"], commits[places[0]]["snapshot_id"]
    return {"start-snapshot-id": str(before), "end-snapshot-id": str(last)}


def _has_deletes(spark: SparkSession, name: str, table: Any) -> bool:
    newest = table.currentSnapshot()
    summary = {} if newest is None else plain(spark, newest.summary())
    if all(summary.get(total) == "0" for total in DELETES):
        return False
    return not spark.table(f"{name}.delete_files").isEmpty()
