"""Remove tables, and the rows of a table in the ledgers, for good."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from pyspark.sql import SparkSession

from siltstone.engine import names
from siltstone.engine.iceberg import expire_snapshots, remove_unknown_files
from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.table.catalog import exists, identifier, load
from siltstone.engine.table.commit import Branch, drop_stale_branches, one_boundary
from siltstone.engine.table.ledger import delete_rows

OF_TABLE: Final[Mapping[str, str]] = {
    names.GAPS: "`table` = :table",
    names.CHECKS: "`table` = :table",
    names.DISMISSALS: "consumer = :table",
    names.REJECTS: "consumer = :table OR `table` = :table",
    names.REPLAYS: "consumer = :table OR of_consumer = :table",
    names.INPUTS: "consumer = :table",
    names.RUNS: "`table` = :table",
}
"""The ledgers with rows of a table, in the order in which they are removed."""
NOTHING_TAKEN: Final = {names.SUMMARY_BATCH: "0", names.SUMMARY_EMPTIED: "true"}


def remove_table(spark: SparkSession, catalog: str, name: str) -> bool:
    """Remove a table and its files. Gives whether there was one.

    The table is emptied first. So an interrupted removal leaves an empty table: the next removal finds it, and a run
    treats it as a table without data.

    Raises: CommitConflictError: another program wrote to it meanwhile.
    """
    if not exists(spark, catalog, name):
        return False
    if load(spark, catalog, name).currentSnapshot() is not None:
        empty(spark, catalog, name)
    with one_boundary(name):
        spark.sql(f"DROP TABLE {identifier(catalog, name)} PURGE")
    return True


def empty(spark: SparkSession, catalog: str, name: str) -> None:
    """Remove all rows of a table, their files, and the files that runs which died left in its folder."""
    drop_stale_branches(spark, catalog, name)
    branch = Branch.start(spark, catalog, name, NOTHING_TAKEN)
    with one_boundary(name):
        branch.replace(branch.read().limit(0))
        branch.publish()
    now_ms = int((datetime.now(UTC) + timedelta(seconds=1)).timestamp() * 1000)
    with one_boundary(name):
        expire_snapshots(load(spark, catalog, name), now_ms)
        remove_unknown_files(spark, load(spark, catalog, name), now_ms)


def remove_rows(spark: SparkSession, project: ProjectSpec, table: str) -> dict[str, int]:
    """Remove the rows of a table from the ledgers. Gives how many, by ledger, without ledgers that had none."""
    parameters = {"table": table}
    removed = {ledger: delete_rows(spark, project, ledger, where, parameters) for ledger, where in OF_TABLE.items()}
    return {ledger: number for ledger, number in removed.items() if number}
