"""Rejected records of a table, by reason."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from engine.spec.model import TableSpec
from quality import catalogue
from quality.results import Finding, Found


def found_in_rejects(rejects: DataFrame | None, spec: TableSpec, since: int, changes: int) -> Found:
    """The rejects of batches after `since`: one finding a reason, with the place of the first record.

    `rejects`: those that are open, None where there is no ledger; `changes`: how many were taken beside them.
    """
    if rejects is None:
        return Found()
    mine = rejects.where((F.col("consumer") == spec.table) & (F.col("batch") > since))
    grouped = mine.groupBy("reason").agg(F.count("*").alias("n"), F.min(F.struct("file", "line")).alias("at"))
    rows = sorted(grouped.collect(), key=lambda row: (-row["n"], row["reason"] or ""))
    rejected = sum(row["n"] for row in rows)
    if not rejected:
        return Found()
    part = rejected / (rejected + changes)
    allowed = f"{part:.2%} of the table's records; rejects.max_fraction allows {spec.rejects_max_fraction:.2%}"
    sample = tuple(
        Finding(
            catalogue.REJECTS,
            None,
            None,
            None,
            f"{row['n']} x {row['reason']} (first at line {row['at']['line']} of {row['at']['file']}); {allowed}",
        )
        for row in rows
    )
    numbers = (("rejected", float(rejected)), ("fraction", part))
    return Found(rejected, sample=sample, numbers=numbers)
