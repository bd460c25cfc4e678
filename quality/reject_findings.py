"""Rejected records of a table, and those of its source that name no table, by reason."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from siltstone.engine.ingest.preconditions import commonest
from siltstone.engine.names import CONTROL_OF, EVERY_BATCH
from siltstone.engine.spec.model import TableSpec
from siltstone.quality import catalogue
from siltstone.quality.results import Finding, Found


def found_in_rejects(
    rejects: DataFrame | None, spec: TableSpec, since: int, changes: int, control_since: int = EVERY_BATCH
) -> Found:
    """The table's rejects of batches after `since`, one finding per reason with the place of its first record. A last
    finding has the rejects of the source's batches after `control_since` that name no table: they may be of this table.

    `rejects`: the open rejects, None without a ledger; `changes`: how many changes the same batches have.
    """
    if rejects is None:
        return Found()
    is_own = (F.col("consumer") == spec.table) & (F.col("batch") > since)
    of_source = (F.col("consumer") == f"{CONTROL_OF}{spec.source.path}") & (F.col("batch") > control_since)
    found = rejects.where(is_own | (of_source & F.col("table").isNull()))
    rows = commonest(found.withColumn("is_own", F.col("consumer") == spec.table), "is_own").collect()
    own, unnamed = [row for row in rows if row["is_own"]], [row for row in rows if not row["is_own"]]
    if not rows:
        return Found()
    rejected, of_none = (sum(row["n"] for row in part) for part in (own, unnamed))
    part = rejected / (rejected + changes) if rejected else 0.0
    texts = [*texts_of_own(own, part, spec), *([text_of_unnamed(unnamed, of_none)] if unnamed else [])]
    sample = tuple(Finding(catalogue.REJECTS, None, None, None, text) for text in texts)
    numbers = (("rejected", float(rejected)), ("fraction", part), ("of_no_table", float(of_none)))
    return Found(rejected + of_none, sample=sample, numbers=numbers)


def texts_of_own(rows: Sequence[Row], part: float, spec: TableSpec) -> list[str]:
    """The messages for the table's own rejects, one per reason. `part`: their fraction of the table's records."""
    allowed = f"{part:.2%} of the table's records; rejects.max_fraction allows {spec.rejects_max_fraction:.2%}"
    return [f"{row['n']:,} x {row['reason']} ({place(row)}); {allowed}" for row in rows]


def text_of_unnamed(rows: Sequence[Row], number: int) -> str:
    """The message for the rejects that name no table."""
    verb = "record of the source names" if number == 1 else "records of the source name"
    reasons = "; ".join(f"{row['reason']} ({row['n']}, {place(row)})" for row in rows)
    return f"{number:,} {verb} no table and may be of this one: {reasons}"


def place(row: Row) -> str:
    """The place of the first record of a reason."""
    return f"first at line {row['at']['line']} of {row['at']['file']}"
