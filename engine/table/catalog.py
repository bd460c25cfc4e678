"""Tables by name: create, load, add and widen columns, set properties."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from siltstone.engine.iceberg import iceberg_table, plain
from siltstone.engine.layout_version import LAYOUT_VERSION, refuse_newer_layout
from siltstone.engine.names import PROPERTY_LAYOUT, literal, quoted
from siltstone.engine.schema.column_comments import COMMENT
from siltstone.engine.table.history_layout import PLAIN, Layout, stored_names

MAIN = "main"
ONE_CREATES = Lock()  # IF NOT EXISTS is not atomic, and the tables of one run share namespace and ledgers

WRITE_MODES = ("write.delete.mode", "write.update.mode", "write.merge.mode")
COPY_ON_WRITE = "copy-on-write"
"""A commit rewrites the data files that it changes. A small table stays a few files without deletion vectors."""
MERGE_ON_READ = "merge-on-read"
"""A commit writes deletion vectors. In a large table, the cost of a batch depends on its changes only."""
# Without a shuffle before writing, the cost of a batch depends on its changes only.
TABLE_SETTINGS = {
    "write.distribution-mode": "none",
    "write.delete.distribution-mode": "none",
    "write.update.distribution-mode": "none",
    "write.merge.distribution-mode": "none",
    "write.spark.fanout.enabled": "true",
    "write.parquet.compression-codec": "zstd",
    # A column of distinct values fills its dictionary, which is then discarded. With Iceberg's default of two megabytes
    # this is half of the work of writing a file.
    "write.parquet.dict-size-bytes": "16384",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    PROPERTY_LAYOUT: str(LAYOUT_VERSION),
}


def identifier(catalog: str, name: str, branch: str | None = None) -> str:
    """The SQL identifier of a dotted table name inside a catalog; with a branch, of that branch of the table."""
    parts = [catalog, *name.split(".")]
    if branch is not None and branch != MAIN:
        parts.append(f"branch_{branch}")
    return ".".join(quoted(part) for part in parts)


def exists(spark: SparkSession, catalog: str, name: str) -> bool:
    """Whether the table exists."""
    return bool(spark.catalog.tableExists(identifier(catalog, name)))


def load(spark: SparkSession, catalog: str, name: str) -> Any:
    """Iceberg's own Table object (Java), with the newest metadata.

    Raises: StorageError: a newer siltstone wrote the table.
    """
    java = iceberg_table(spark, identifier(catalog, name))
    refuse_newer_layout(name, java.properties().get(PROPERTY_LAYOUT))
    return java


def uuid_of(spark: SparkSession, catalog: str, name: str) -> str:
    """The UUID of a table. A rename or a replacement keeps it; a table that is dropped and recreated gets a new one."""
    return str(load(spark, catalog, name).uuid())


def properties_of(spark: SparkSession, catalog: str, name: str) -> dict[str, str]:
    """The table's properties."""
    return dict(plain(spark, load(spark, catalog, name).properties()))


def create(
    spark: SparkSession,
    catalog: str,
    name: str,
    schema: T.StructType,
    partitioning: str = "",
    properties: Mapping[str, str] | None = None,
) -> None:
    """Create a table, and its namespace, unless it exists.

    The metadata of a field of `schema` can have a comment on the column. `partitioning` is SQL
    (``months(_valid_to)``). The table starts without a snapshot.
    """
    columns = ", ".join(column_ddl(field) for field in schema)
    with ONE_CREATES:
        create_namespace(spark, catalog, name)
        spark.sql(
            f"CREATE TABLE IF NOT EXISTS {identifier(catalog, name)} ({columns}) {clauses(partitioning, properties)}"
        )


def clauses(partitioning: str = "", properties: Mapping[str, str] | None = None) -> str:
    """The clauses after the columns in a statement that creates a table."""
    partitioned = f" PARTITIONED BY ({partitioning})" if partitioning else ""
    settings = {**TABLE_SETTINGS, **dict.fromkeys(WRITE_MODES, COPY_ON_WRITE), **(properties or {})}
    listed = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in sorted(settings.items()))
    return f"USING iceberg{partitioned} TBLPROPERTIES ({listed})"


def create_namespace(spark: SparkSession, catalog: str, name: str) -> None:
    """Create the namespace of a table unless it exists."""
    namespace = ".".join(quoted(part) for part in [catalog, *name.split(".")[:-1]])
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")


def column_ddl(field: T.StructField, prefix: Sequence[str] = ()) -> str:
    """A column in SQL, with its comment. `prefix`: the names of the structs that it is in."""
    comment = field.metadata.get(COMMENT)
    return (
        ".".join(quoted(part) for part in (*prefix, field.name))
        + f" {ddl(field.dataType)}"
        + (f" COMMENT {literal(comment)}" if comment else "")
    )


def ddl(data_type: T.DataType) -> str:
    """A type in SQL, with every field name quoted."""
    if isinstance(data_type, T.StructType):
        return "STRUCT<" + ", ".join(f"{quoted(f.name)}: {ddl(f.dataType)}" for f in data_type) + ">"
    if isinstance(data_type, T.ArrayType):
        return f"ARRAY<{ddl(data_type.elementType)}>"
    if isinstance(data_type, T.MapType):
        return f"MAP<{ddl(data_type.keyType)}, {ddl(data_type.valueType)}>"
    return data_type.simpleString()


def read(spark: SparkSession, catalog: str, name: str, branch: str = MAIN, layout: Layout = PLAIN) -> DataFrame:
    """The newest rows of a branch, with the table's present columns.

    `layout`: how the table stores the rows of a history.

    It does not read by snapshot id, which would give the columns at the snapshot's time. A run writes to branches of
    its own, so main does not change for a lazy reader until the run publishes. After that, the run reads no more.
    """
    return layout.loaded(spark.table(identifier(catalog, name, branch)))


def snapshot_id(table: Any, branch: str = MAIN) -> int | None:
    """The newest snapshot of a branch; None if it has none."""
    snapshot = table.snapshot(branch) if branch != MAIN else table.currentSnapshot()
    return None if snapshot is None else int(snapshot.snapshotId())


def add_columns(
    spark: SparkSession, catalog: str, name: str, path: tuple[str, ...], fields: list[T.StructField]
) -> None:
    """Add columns at the top (`path` empty) or inside a struct."""
    listed = ", ".join(column_ddl(field, path) for field in fields)
    if fields:
        spark.sql(f"ALTER TABLE {identifier(catalog, name)} ADD COLUMNS ({listed})")


def widen_column(spark: SparkSession, catalog: str, name: str, path: tuple[str, ...], to: T.DataType) -> None:
    """Change a column's type to a wider one, an array's by its elements. Iceberg rejects types that lose values."""
    while isinstance(to, T.ArrayType):
        path, to = (*path, "element"), to.elementType
    column = ".".join(quoted(part) for part in path)
    spark.sql(f"ALTER TABLE {identifier(catalog, name)} ALTER COLUMN {column} TYPE {ddl(to)}")


def rename_columns(spark: SparkSession, catalog: str, name: str, wanted: Mapping[str, str]) -> None:
    """Rename columns of history to the names in `wanted`. A table property has their present names.

    All renames and the property are in one commit, so that the property is always right and names can be swapped.
    """
    java = load(spark, catalog, name)
    kept = stored_names(plain(spark, java.properties()))
    if kept == dict(wanted):
        return
    both = java.newTransaction()
    columns = both.updateSchema()
    for own in sorted({*kept, *wanted}):
        one, other = kept.get(own, own), wanted.get(own, own)
        if one != other:
            columns.renameColumn(one, other)
    columns.commit()
    put_properties(both, Layout(wanted).properties())
    both.commitTransaction()


def set_properties(spark: SparkSession, catalog: str, name: str, properties: Mapping[str, str | None]) -> None:
    """Set table properties; None removes one."""
    if not properties:
        return
    put_properties(load(spark, catalog, name), properties)


def choose_write_mode(spark: SparkSession, catalog: str, name: str, mode: str) -> None:
    """Set the write mode of statements that change rows. There is no commit if the table has it already."""
    java = load(spark, catalog, name)
    present = plain(spark, java.properties())
    if any(present.get(setting) != mode for setting in WRITE_MODES):
        put_properties(java, dict.fromkeys(WRITE_MODES, mode))


def put_properties(java: Any, properties: Mapping[str, str | None]) -> None:
    """Set properties of an Iceberg table, or of a table in a transaction; None removes one."""
    update = java.updateProperties()
    for key, value in properties.items():
        if value is None:
            update.remove(key)
        else:
            update.set(key, value)
    update.commit()
