"""What runs wrote beside the data for their batches, and which of it is real.

A run writes rows to the ledgers first; the commit to the table that its batch belongs to makes them real. Rows of a
batch that was never committed are not. Nor are those of a run that another one overtook at its batch, where no lock
kept the two apart: their rows bear one number, and the commit's marker tells whose batch it is.
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

CLAIMING: Final = (names.INPUTS, names.REPLAYS)  # every attempt writes to one of them before anything else of its own
NOBODY: Final = "-"  # no attempt is called so
LAST_BATCH: Final = (1 << 63) - 1
# Sources share the table of control events, and so its batches: who makes one real makes no other's real with it.
OWNER: Final = f"IF(startswith(consumer, '{names.CONTROL_OF}'), '{names.CONTROL_OF}', consumer)"
ATTEMPT: Final = "coalesce(attempt, '')"  # rows and commits of older siltstones name none


@dataclass(frozen=True)
class Void:
    """Rows that count as never written: an owner's of some batches, without those of the attempt that made them.

    `is_known`: whether that attempt is known, so that the rows can be removed.
    """

    owner: str
    first: int
    last: int
    made_by: str
    is_known: bool = True

    @property
    def has(self) -> Column:
        """Whether a row is one of these."""
        in_batches = (F.expr(OWNER) == self.owner) & F.col("batch").between(self.first, self.last)
        return in_batches & (F.expr(ATTEMPT) != self.made_by)


def taken_inputs(
    spark: SparkSession,
    project: ProjectSpec,
    targets: Mapping[str, str],
    newest: Mapping[str, int],
    tidy: bool = True,
) -> dict[str, list[Row]]:
    """What consumers have taken: per path the newest size, fingerprint and line that a real batch recorded.

    `targets`: the tables that the consumers write; `newest`: each one's newest real batch. What is not real of what
    runs wrote for them is removed, with that of every source's control events; without `tidy` it is passed over, and
    nothing is written.
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
    last = F.max_by(what, F.struct("batch", "to_line")).alias("last")  # a table without a batch has many of number 0
    for row in mine.groupBy("consumer", "path").agg(last).select("consumer", "path", "last.*").collect():
        found[row["consumer"]].append(row)
    return found


def without(rows: DataFrame, void: Sequence[Void]) -> DataFrame:
    """The rows that are not void. Rows: filters."""
    return rows.where(~reduce(lambda one, other: one | other, [each.has for each in void])) if void else rows


def void_rows(
    spark: SparkSession, project: ProjectSpec, targets: Mapping[str, str], newest: Mapping[str, int]
) -> list[Void]:
    """What is not real of what these consumers and all control events claim. Snapshots are looked at only where
    several attempts claim one batch."""
    owned = {owner_of(consumer): (targets[consumer], batch) for consumer, batch in newest.items()}
    claims = [ledger for ledger in (read_ledger(spark, project, table) for table in CLAIMING) if ledger is not None]
    if not claims:
        return []
    of_owners = F.col("consumer").isin(*newest) | F.col("consumer").startswith(names.CONTROL_OF)
    told = [ledger.where(of_owners).select(F.expr(OWNER).alias("owner"), "batch", "attempt") for ledger in claims]
    attempts = F.min(F.expr(ATTEMPT)).alias("one"), F.max(F.expr(ATTEMPT)).alias("other")
    claimed = reduce(DataFrame.unionByName, told).groupBy("owner", "batch").agg(*attempts)
    beyond = [(F.col("owner") == owner) & (F.col("batch") > batch) for owner, (_, batch) in owned.items()]
    doubtful = claimed.where(reduce(lambda one, other: one | other, beyond, F.col("one") != F.col("other")))
    rows = doubtful.select("owner", "batch").collect()
    void = []
    for owner, (target, real) in owned.items():
        batches = sorted(row["batch"] for row in rows if row["owner"] == owner)
        void += [disputed(spark, project, target, owner, batch) for batch in batches if batch <= real]
        void += [Void(owner, real + 1, LAST_BATCH, NOBODY)] if batches and batches[-1] > real else []
    return void


def owner_of(consumer: str) -> str:
    """Whose batches those of a consumer are: its own, or those of all control events."""
    return names.CONTROL_OF if consumer.startswith(names.CONTROL_OF) else consumer


def disputed(spark: SparkSession, project: ProjectSpec, target: str, owner: str, batch: int) -> Void:
    """What is not real where several attempts claim one batch.

    Where the snapshot that would tell is expired nobody is believed: a file that is taken again is a redelivery, one
    that is not taken is lost. And nothing is removed: some of the rows are real, and their files may be gone.
    """
    made_by = attempt_of(spark, project.catalog.name, target, batch)
    return Void(owner, batch, batch, NOBODY if made_by is None else made_by, made_by is not None)


def remove(spark: SparkSession, project: ProjectSpec, void: Void) -> None:
    """Remove rows that are not real: rejects first, the others tell of it."""
    for table in (names.REJECTS, *reversed(CLAIMING)):
        if read_ledger(spark, project, table) is None:
            continue
        ensure_ledger(spark, project, table)  # an older one has no attempts
        where = f"{OWNER} = :owner AND batch BETWEEN :first AND :last AND {ATTEMPT} != :made_by"
        args = {"owner": void.owner, "first": void.first, "last": void.last, "made_by": void.made_by}
        delete_rows(spark, project, table, where, args)
