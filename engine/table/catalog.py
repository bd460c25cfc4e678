"""Tables by name: create, widen, load. Everything here goes through Iceberg's own API."""

from collections.abc import Mapping
from threading import Lock
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from siltstone.engine.iceberg import iceberg_table, plain
from siltstone.engine.names import quoted
from siltstone.engine.table.history_layout import PLAIN, Layout, stored_names

MAIN = "main"
ONE_CREATES = Lock()  # IF NOT EXISTS is a look and a creation: two tables of one run share namespace and ledger

WRITE_MODES = ("write.delete.mode", "write.update.mode", "write.merge.mode")
COPY_ON_WRITE = "copy-on-write"
"""A change rewrites the data files that it touches: a small table stays a few files, without deletion vectors."""
MERGE_ON_READ = "merge-on-read"
"""A change writes deletion vectors: of a large table a batch costs what it changes."""
# No shuffle before writing: a batch costs what it changes.
TABLE_SETTINGS = {
    "write.distribution-mode": "none",
    "write.delete.distribution-mode": "none",
    "write.update.distribution-mode": "none",
    "write.merge.distribution-mode": "none",
    "write.spark.fanout.enabled": "true",
    "write.parquet.compression-codec": "zstd",
    # A dictionary of two megabytes (Iceberg's own) is filled by every column whose values differ, and thrown away.
    "write.parquet.dict-size-bytes": "65536",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


def identifier(catalog: str, name: str, branch: str | None = None) -> str:
    """A dotted table name inside a catalog as SQL takes it; with a branch, that branch of the table."""
    parts = [catalog, *name.split(".")]
    if branch is not None and branch != MAIN:
        parts.append(f"branch_{branch}")
    return ".".join(quoted(part) for part in parts)


def exists(spark: SparkSession, catalog: str, name: str) -> bool:
    """Whether the table is there."""
    return bool(spark.catalog.tableExists(identifier(catalog, name)))


def load(spark: SparkSession, catalog: str, name: str) -> Any:
    """Iceberg's own Table object (Java), read afresh."""
    return iceberg_table(spark, identifier(catalog, name))


def uuid_of(spark: SparkSession, catalog: str, name: str) -> str:
    """What tells a table from all others: it stays when the table is renamed or replaced, not when it is dropped."""
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
    """Create a table, and its namespace, unless it is there.

    `partitioning` is SQL (``months(_valid_to)``); the table starts without a snapshot.
    """
    columns = ", ".join(f"{quoted(field.name)} {ddl(field.dataType)}" for field in schema)
    with ONE_CREATES:
        create_namespace(spark, catalog, name)
        spark.sql(
            f"CREATE TABLE IF NOT EXISTS {identifier(catalog, name)} ({columns}) {clauses(partitioning, properties)}"
        )


def clauses(partitioning: str = "", properties: Mapping[str, str] | None = None) -> str:
    """What a statement that makes a table says after its columns."""
    partitioned = f" PARTITIONED BY ({partitioning})" if partitioning else ""
    settings = {**TABLE_SETTINGS, **dict.fromkeys(WRITE_MODES, COPY_ON_WRITE), **(properties or {})}
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in sorted(settings.items()))
    return f"USING iceberg{partitioned} TBLPROPERTIES ({listed})"


def create_namespace(spark: SparkSession, catalog: str, name: str) -> None:
    """Create the namespace of a table unless it is there."""
    namespace = ".".join(quoted(part) for part in [catalog, *name.split(".")[:-1]])
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")


def ddl(data_type: T.DataType) -> str:
    """A type as SQL takes it, with every field name quoted."""
    if isinstance(data_type, T.StructType):
        return "STRUCT<" + ", ".join(f"{quoted(f.name)}: {ddl(f.dataType)}" for f in data_type) + ">"
    if isinstance(data_type, T.ArrayType):
        return f"ARRAY<{ddl(data_type.elementType)}>"
    if isinstance(data_type, T.MapType):
        return f"MAP<{ddl(data_type.keyType)}, {ddl(data_type.valueType)}>"
    return data_type.simpleString()


def read(spark: SparkSession, catalog: str, name: str, branch: str = MAIN, layout: Layout = PLAIN) -> DataFrame:
    """The table as it stands on a branch, with the table's present columns.

    `layout`: how the rows of a history lie in the table.

    Not read by snapshot id: that would give the columns of the snapshot's time. A run writes to branches of its own, so
    main does not move under a lazy reader until the run publishes, and then the run reads no more.
    """
    return layout.loaded(spark.table(identifier(catalog, name, branch)))


def snapshot_id(table: Any, branch: str = MAIN) -> int | None:
    """The newest snapshot of a branch, None when it has none."""
    snapshot = table.snapshot(branch) if branch != MAIN else table.currentSnapshot()
    return None if snapshot is None else int(snapshot.snapshotId())


def add_columns(
    spark: SparkSession, catalog: str, name: str, path: tuple[str, ...], fields: list[T.StructField]
) -> None:
    """Add columns at the top (`path` empty) or inside a struct."""
    listed = ", ".join(
        ".".join(quoted(part) for part in (*path, field.name)) + f" {ddl(field.dataType)}" for field in fields
    )
    if fields:
        spark.sql(f"ALTER TABLE {identifier(catalog, name)} ADD COLUMNS ({listed})")


def widen_column(spark: SparkSession, catalog: str, name: str, path: tuple[str, ...], to: T.DataType) -> None:
    """Change a column's type to a wider one, an array's by its elements. Iceberg refuses what would lose values."""
    while isinstance(to, T.ArrayType):
        path, to = (*path, "element"), to.elementType
    column = ".".join(quoted(part) for part in path)
    spark.sql(f"ALTER TABLE {identifier(catalog, name)} ALTER COLUMN {column} TYPE {ddl(to)}")


def rename_columns(spark: SparkSession, catalog: str, name: str, wanted: Mapping[str, str]) -> None:
    """Let columns of history be called as `wanted` says; the table's own property tells how they are called now.

    In one commit, for the property has to be true at any time; so names can be swapped, too.
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
    """Let statements that change rows write as `mode` says; nothing is committed where they do already."""
    java = load(spark, catalog, name)
    present = plain(spark, java.properties())
    if any(present.get(setting) != mode for setting in WRITE_MODES):
        put_properties(java, dict.fromkeys(WRITE_MODES, mode))


def put_properties(java: Any, properties: Mapping[str, str | None]) -> None:
    """Set the properties of a table of Iceberg's, or of what is to become one in a transaction; None removes one."""
    update = java.updateProperties()
    for key, value in properties.items():
        if value is None:
            update.remove(key)
        else:
            update.set(key, value)
    update.commit()
