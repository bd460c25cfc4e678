"""The ledger tables: control, rejects and their replays and dismissals, inputs, runs, checks, gaps.

All except gaps are append only.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from threading import Lock
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.frames import local_frame
from siltstone.engine.schema.column_comments import commented
from siltstone.engine.schema.comments import ledger_comments, ledger_properties
from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.table.catalog import add_columns, create, exists, identifier
from siltstone.engine.table.commit import one_boundary

ONE_APPENDS = Lock()  # the tables of one run write in parallel and share the ledgers

SCHEMAS: Mapping[str, str] = {
    names.CONTROL: (
        "batch bigint, source string, kind string, `table` string, event_id string, tx_id string, position string,"
        " commit_ts timestamp, ingest_ts timestamp, channel string, file string, line bigint, payload string"
    ),
    names.REJECTS: (
        "batch bigint, consumer string, `table` string, file string, line bigint, reason string, record string,"
        " rejected_at timestamp, attempt string"
    ),
    names.REPLAYS: (
        "batch bigint, consumer string, of_consumer string, of_batch bigint, file string, line bigint, outcome string,"
        " run_id string, replayed_at timestamp, attempt string"
    ),
    # Written by PyIceberg: see `engine.reader.dismissals`.
    names.DISMISSALS: (
        "consumer string, batch bigint, file string, line bigint, reason string, dismissed_by string,"
        " dismissed_at timestamp"
    ),
    names.INPUTS: (
        "batch bigint, consumer string, path string, size bigint, mtime bigint, fingerprint string,"
        " from_line bigint, to_line bigint, attempt string"
    ),
    names.RUNS: (
        "run_id string, started_at timestamp, seconds double, `table` string, status string, batch bigint,"
        " read bigint, changes bigint, control bigint, other_table bigint, rejected bigint,"
        " outcomes map<string,bigint>, versions map<string,bigint>, error string, exit_code int"
    ),
    names.CHECKS: (
        "run_id string, checked_at timestamp, `table` string, `check` string, severity string, status string,"
        " observed bigint, message string, position_from string, position_to string, `keys` array<string>, hint string"
    ),
    names.GAPS: (
        "gap_id string, `table` string, `check` string, severity string, status string, `key` string,"
        " position_from string, position_to string, committed_from timestamp, committed_to timestamp, message string,"
        " hint string, findings bigint, since_batch bigint, opened_run string, opened_at timestamp,"
        " last_seen_run string, last_seen_at timestamp, healed_run string, healed_at timestamp,"
        " acknowledged_by string, acknowledged_reason string, acknowledged_at timestamp"
    ),
}


def ledger_schema(table: str) -> T.StructType:
    """The columns of a ledger table, in order."""
    schema = T._parse_datatype_string(SCHEMAS[table])
    assert isinstance(schema, T.StructType)
    return commented(schema, ledger_comments(table))


def ledger_name(project: ProjectSpec, table: str) -> str:
    """The dotted name of a ledger table."""
    return f"{project.namespace}.{table}"


def ensure_ledger(spark: SparkSession, project: ProjectSpec, table: str) -> None:
    """Create a ledger table, or add missing columns to an older one."""
    catalog, name, schema = project.catalog.name, ledger_name(project, table), ledger_schema(table)
    create(spark, catalog, name, schema, properties=ledger_properties(table))
    with ONE_APPENDS:
        add_columns(spark, catalog, name, (), lacking(spark.table(identifier(catalog, name)), schema))


def lacking(rows: DataFrame, schema: T.StructType) -> list[T.StructField]:
    """The columns of a schema that an older ledger lacks."""
    return [field for field in schema if field.name not in rows.columns]


def append_rows(spark: SparkSession, project: ProjectSpec, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows given as mappings; a column that a row lacks is null."""
    if not rows:
        return
    append_frame(spark, project, table, local_frame(spark, rows, ledger_schema(table)))


def append_frame(spark: SparkSession, project: ProjectSpec, table: str, rows: DataFrame) -> None:
    """Append a DataFrame that has the table's columns."""
    ensure_ledger(spark, project, table)
    with ONE_APPENDS, one_boundary(table):
        rows.coalesce(1).writeTo(identifier(project.catalog.name, ledger_name(project, table))).append()


def delete_rows(spark: SparkSession, project: ProjectSpec, table: str, where: str, args: Mapping[str, Any]) -> int:
    """Delete the rows of a ledger that meet an SQL condition with the parameters `args`. Gives how many.

    There is no commit if no row matches or the ledger does not exist.
    """
    return _change_rows(spark, project, table, "DELETE FROM {table}", where, args)


def clear_records(spark: SparkSession, project: ProjectSpec, consumer: str) -> None:
    """Remove the texts of a consumer's rejects, which stay with their places and reasons: a column is masked now."""
    where = "consumer = :consumer AND record IS NOT NULL"
    _change_rows(spark, project, names.REJECTS, "UPDATE {table} SET record = NULL", where, {"consumer": consumer})


def _change_rows(
    spark: SparkSession, project: ProjectSpec, table: str, statement: str, where: str, args: Mapping[str, Any]
) -> int:
    name = ledger_name(project, table)
    if not exists(spark, project.catalog.name, name):
        return 0
    stored = identifier(project.catalog.name, name)
    number = spark.sql(f"SELECT 1 FROM {stored} WHERE {where}", args=dict(args)).count()
    if number:  # a change of no rows would be a commit too
        with ONE_APPENDS, one_boundary(name):
            spark.sql(f"{statement.format(table=stored)} WHERE {where}", args=dict(args))
    return number


def read_ledger(spark: SparkSession, project: ProjectSpec, table: str) -> DataFrame | None:
    """The ledger table; None if it does not exist yet. Columns that an older ledger lacks are null."""
    name = ledger_name(project, table)
    if not exists(spark, project.catalog.name, name):
        return None
    rows = spark.table(identifier(project.catalog.name, name))
    return rows.withColumns(
        {field.name: F.lit(None).cast(field.dataType) for field in lacking(rows, ledger_schema(table))}
    )


def closed_rejects(spark: SparkSession, project: ProjectSpec) -> DataFrame | None:
    """The rejects that are closed by a replay, or dismissed. None if there are none.

    Gives: the columns of names.OF_REJECT.
    Rows: without duplicates.
    """
    replays, dismissed = (read_ledger(spark, project, table) for table in (names.REPLAYS, names.DISMISSALS))
    parts = []
    if replays is not None:
        of = {"consumer": "of_consumer", "batch": "of_batch"}
        parts.append(replays.select(*[F.col(of.get(name, name)).alias(name) for name in names.OF_REJECT]))
    if dismissed is not None:
        parts.append(dismissed.select(*names.OF_REJECT))
    return reduce(DataFrame.unionByName, parts).distinct() if parts else None  # a set of places, no fan-out


def open_rejects(spark: SparkSession, project: ProjectSpec) -> DataFrame | None:
    """The rejects that wait for a fix, and those of files that were taken a second time. None without a ledger."""
    rejects, closed = read_ledger(spark, project, names.REJECTS), closed_rejects(spark, project)
    if rejects is None or closed is None:
        return rejects
    return rejects.join(closed, on=list(names.OF_REJECT), how="left_anti").select(*rejects.columns)
