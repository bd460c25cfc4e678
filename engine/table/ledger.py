"""The tables beside the data: control, rejects, inputs, runs, checks. Small, append only, one a namespace."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine import names
from engine.frames import local_frame
from engine.spec.model import ProjectSpec
from engine.table.catalog import create, exists, identifier
from engine.table.commit import one_boundary

SCHEMAS: Mapping[str, str] = {
    names.CONTROL: (
        "batch bigint, source string, kind string, `table` string, event_id string, tx_id string, position string,"
        " commit_ts timestamp, ingest_ts timestamp, channel string, file string, line bigint, payload string"
    ),
    names.REJECTS: (
        "batch bigint, consumer string, `table` string, file string, line bigint, reason string, record string,"
        " rejected_at timestamp"
    ),
    names.INPUTS: (
        "batch bigint, consumer string, path string, size bigint, mtime bigint, fingerprint string,"
        " from_line bigint, to_line bigint"
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
}


def ledger_schema(table: str) -> T.StructType:
    """The columns of a ledger table, in order."""
    schema = T._parse_datatype_string(SCHEMAS[table])
    assert isinstance(schema, T.StructType)
    return schema


def ledger_name(project: ProjectSpec, table: str) -> str:
    """The dotted name of a ledger table."""
    return f"{project.namespace}.{table}"


def ensure_ledger(spark: SparkSession, project: ProjectSpec, table: str) -> None:
    """Create a ledger table unless it is there. Format version 2: PyIceberg reads and writes it."""
    schema = ledger_schema(table)
    create(spark, project.catalog.name, ledger_name(project, table), schema, properties={"format-version": "2"})


def append_rows(spark: SparkSession, project: ProjectSpec, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows given as mappings; a column that a row lacks is null."""
    if not rows:
        return
    append_frame(spark, project, table, local_frame(spark, rows, ledger_schema(table)))


def append_frame(spark: SparkSession, project: ProjectSpec, table: str, rows: DataFrame) -> None:
    """Append a DataFrame with the table's columns."""
    ensure_ledger(spark, project, table)
    with one_boundary(table):
        rows.coalesce(1).writeTo(identifier(project.catalog.name, ledger_name(project, table))).append()


def read_ledger(spark: SparkSession, project: ProjectSpec, table: str) -> DataFrame | None:
    """The ledger table, None when it does not exist yet."""
    name = ledger_name(project, table)
    if not exists(spark, project.catalog.name, name):
        return None
    return spark.table(identifier(project.catalog.name, name))


def taken_inputs(spark: SparkSession, project: ProjectSpec, consumer: str, newest_batch: int) -> list[Row]:
    """What a consumer has taken: per path the newest size, fingerprint and line that a real batch recorded.

    Rows of batches that never became real do not count.
    """
    inputs = read_ledger(spark, project, names.INPUTS)
    if inputs is None:
        return []
    real = inputs.where((F.col("consumer") == consumer) & (F.col("batch") <= newest_batch))
    newest = F.max_by(F.struct("size", "mtime", "fingerprint", "to_line"), "batch")
    return real.groupBy("path").agg(newest.alias("newest")).select("path", "newest.*").collect()


def forget_unreal(spark: SparkSession, project: ProjectSpec, consumer: str, newest_batch: int) -> None:
    """Remove what a consumer's runs wrote for batches that never became real."""
    for table in (names.INPUTS, names.REJECTS):
        rows = read_ledger(spark, project, table)
        if rows is None:
            continue
        unreal = (F.col("consumer") == consumer) & (F.col("batch") > newest_batch)
        if rows.where(unreal).limit(1).count():
            target = identifier(project.catalog.name, ledger_name(project, table))
            spark.sql(
                f"DELETE FROM {target} WHERE consumer = :consumer AND batch > :batch",
                args={"consumer": consumer, "batch": newest_batch},
            )
