"""Which ledger rows are real: those of batches that were committed.

A run writes its rows to the ledgers first. The commit to the table that its batch belongs to makes them real. Rows of a
batch that was never committed are not real. If no lock separated two runs, both can have written rows with one batch
number. Then only the rows of the run that committed the batch are real: the commit's marker names its attempt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.table.commit import attempt_of
from siltstone.engine.table.ledger import delete_rows, ensure_ledger, read_ledger

CLAIMING: Final = (names.INPUTS, names.REPLAYS)  # every attempt writes to one of them first
NO_ATTEMPT: Final = "-"  # no attempt has this name
LAST_BATCH: Final = (1 << 63) - 1
# All sources share the table of control events, and so its batch numbers. A commit to it makes the rows of only one
# attempt real.
OWNER: Final = f"IF(startswith(consumer, '{names.CONTROL_OF}'), '{names.CONTROL_OF}', consumer)"
ATTEMPT: Final = "coalesce(attempt, '')"  # rows and commits of older versions name none


@dataclass(frozen=True)
class Void:
    """Rows that are not real: the rows of an owner in some batches, except those of the attempt that committed them.

    `is_known`: whether this attempt is known, so that the rows can be removed.
    """

    owner: str
    first: int
    last: int
    made_by: str
    is_known: bool = True

    @property
    def has(self) -> Column:
        """Whether a row is one of these rows."""
        in_batches = (F.expr(OWNER) == self.owner) & F.col("batch").between(self.first, self.last)
        return in_batches & (F.expr(ATTEMPT) != self.made_by)


def taken_inputs(
    spark: SparkSession,
    project: ProjectSpec,
    targets: Mapping[str, str],
    newest: Mapping[str, int],
    tidy: bool = True,
) -> dict[str, list[Row]]:
    """The inputs that consumers have taken: per path the newest size, fingerprint and line of a real batch.

    `targets`: the tables that the consumers write. `newest`: the newest real batch of each consumer. Rows of these
    consumers, and of control events, that are not real are removed. Without `tidy` they are only ignored, and nothing
    is written.
    """
    void = void_rows(spark, project, targets, newest)
    for each in void:
        if tidy and each.is_known:
            remove(spark, project, each)
    found: dict[str, list[Row]] = {consumer: [] for consumer in newest}
    inputs = read_ledger(spark, project, names.INPUTS)
    if inputs is None:
        return found
    mine = inputs.where(F.col("consumer").isin(*newest)).transform(without, void)
    what = F.struct("batch", "size", "mtime", "fingerprint", "to_line")
    last = F.max_by(what, F.struct("batch", "to_line")).alias(
        "last"
    )  # a table without a batch has many rows of batch 0
    for row in mine.groupBy("consumer", "path").agg(last).select("consumer", "path", "last.*").collect():
        found[row["consumer"]].append(row)
    return found


def without(rows: DataFrame, void: Sequence[Void]) -> DataFrame:
    """The rows that are not void. Rows: filters."""
    return rows.where(~reduce(lambda one, other: one | other, [each.has for each in void])) if void else rows


def void_rows(
    spark: SparkSession, project: ProjectSpec, targets: Mapping[str, str], newest: Mapping[str, int]
) -> list[Void]:
    """The rows of these consumers, and of all control events, that are not real.

    Snapshots are read only if several attempts claim one batch.
    """
    owned = {owner_of(consumer): (targets[consumer], batch) for consumer, batch in newest.items()}
    claims = [ledger for ledger in (read_ledger(spark, project, table) for table in CLAIMING) if ledger is not None]
    if not claims:
        return []
    of_owners = F.col("consumer").isin(*newest) | F.col("consumer").startswith(names.CONTROL_OF)
    claim_rows = [ledger.where(of_owners).select(F.expr(OWNER).alias("owner"), "batch", "attempt") for ledger in claims]
    attempts = F.min(F.expr(ATTEMPT)).alias("one"), F.max(F.expr(ATTEMPT)).alias("other")
    claimed = reduce(DataFrame.unionByName, claim_rows).groupBy("owner", "batch").agg(*attempts)
    beyond = [(F.col("owner") == owner) & (F.col("batch") > batch) for owner, (_, batch) in owned.items()]
    doubtful = claimed.where(reduce(lambda one, other: one | other, beyond, F.col("one") != F.col("other")))
    rows = doubtful.select("owner", "batch").collect()
    void = []
    for owner, (target, real) in owned.items():
        batches = sorted(row["batch"] for row in rows if row["owner"] == owner)
        void += [disputed(spark, project, target, owner, batch) for batch in batches if batch <= real]
        void += [Void(owner, real + 1, LAST_BATCH, NO_ATTEMPT)] if batches and batches[-1] > real else []
    return void


def owner_of(consumer: str) -> str:
    """The owner of a consumer's batches: the consumer itself, or all control events together."""
    return names.CONTROL_OF if consumer.startswith(names.CONTROL_OF) else consumer


def disputed(spark: SparkSession, project: ProjectSpec, target: str, owner: str, batch: int) -> Void:
    """The rows that are not real if several attempts claim one batch.

    If the snapshot that names the attempt is expired, no attempt is trusted. The files are then taken a second time,
    which gives redeliveries. Otherwise files could be lost. And no row is removed: some rows are real, and their files
    may no longer exist.
    """
    made_by = attempt_of(spark, project.catalog.name, target, batch)
    return Void(owner, batch, batch, NO_ATTEMPT if made_by is None else made_by, made_by is not None)


def remove(spark: SparkSession, project: ProjectSpec, void: Void) -> None:
    """Remove rows that are not real. Rejects first: the other ledgers show which rows remain to be removed."""
    for table in (names.REJECTS, *reversed(CLAIMING)):
        if read_ledger(spark, project, table) is None:
            continue
        ensure_ledger(spark, project, table)  # an older ledger has no column attempt
        where = f"{OWNER} = :owner AND batch BETWEEN :first AND :last AND {ATTEMPT} != :made_by"
        args = {"owner": void.owner, "first": void.first, "last": void.last, "made_by": void.made_by}
        delete_rows(spark, project, table, where, args)
