"""The usual recipe: two hand-written MERGEs, with Iceberg's default table properties.

Latest gets the last change of each key. In history, the first change of each key closes the open version, and every
change except a delete opens one. The result is right if changes arrive complete, once, not in the past of an earlier
batch, and with full images. Deletes leave no tombstone.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from tests.bench.floor import COLUMNS, POSITION, decoded

MERGE_LATEST = """
MERGE INTO {table} t USING last_changes s ON t.id = s.id
WHEN MATCHED AND s.op = 'd' THEN DELETE
WHEN MATCHED THEN UPDATE SET {assignments}
WHEN NOT MATCHED AND s.op <> 'd' THEN INSERT ({columns}) VALUES ({values})
"""

MERGE_HISTORY = """
MERGE INTO {table} t USING history_changes s ON t.id = s.merge_key AND t.is_current
WHEN MATCHED THEN UPDATE SET valid_to = s.valid_from, is_current = false
WHEN NOT MATCHED AND s.op <> 'd' AND s.merge_key IS NULL
  THEN INSERT ({columns}, valid_from, valid_to, is_current) VALUES ({values}, s.valid_from, s.valid_to, s.is_current)
"""


class Recipe:
    """The two tables in one namespace, and the run that updates them."""

    def __init__(self, spark: SparkSession, namespace: str) -> None:
        self.spark = spark
        self.namespace = namespace
        self.latest, self.history = f"{namespace}.accounts", f"{namespace}.accounts_history"

    def load(self, snapshot: Path) -> None:
        """Create both tables from the READs of the snapshot."""
        self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {self.namespace}")
        reads = decoded(self.spark, snapshot)
        reads.select("after.*").writeTo(self.latest).using("iceberg").create()
        open_version = (
            F.col("commit_ts").alias("valid_from"),
            F.lit(None).cast("timestamp").alias("valid_to"),
            F.lit(True).alias("is_current"),
        )
        reads.select("after.*", *open_version).writeTo(self.history).using("iceberg").create()

    def apply(self, events: Path, persisted: bool = False) -> None:
        """Apply the changes of one night to both tables. If `persisted`, the lines are decoded only once for all
        scans."""
        changes = _changes(decoded(self.spark, events))
        if persisted:
            changes = changes.persist()
        self._merge(MERGE_LATEST, self.latest, last_changes=_last_changes(changes))
        self._merge(MERGE_HISTORY, self.history, history_changes=_history_changes(changes))
        if persisted:
            changes.unpersist()

    def _merge(self, statement: str, table: str, **source: DataFrame) -> None:
        for name, frame in source.items():
            frame.createOrReplaceTempView(name)
        self.spark.sql(
            statement.format(
                table=table,
                assignments=", ".join(f"{name} = s.{name}" for name in COLUMNS),
                columns=", ".join(COLUMNS),
                values=", ".join(f"s.{name}" for name in COLUMNS),
            )
        )


def _changes(changes: DataFrame) -> DataFrame:
    """The row of each change (of a delete, its last image), without updates that change nothing."""
    no_op = (F.col("op") == "u") & F.col("before").eqNullSafe(F.col("after"))
    image = F.coalesce("after", "before").alias("image")
    return (
        changes.where(~no_op)
        .select(image, "op", "commit_ts", *POSITION)
        .select("image.*", "op", "commit_ts", *POSITION)
    )


def _last_changes(changes: DataFrame) -> DataFrame:
    """The last change of each key."""
    newest = F.row_number().over(Window.partitionBy("id").orderBy(*(F.desc(name) for name in POSITION)))
    return changes.withColumn("newest", newest).where("newest = 1").select(*COLUMNS, "op")


def _history_changes(changes: DataFrame) -> DataFrame:
    """Every change as the version that it opens (merge_key null), and each key's first change, to close a version."""
    in_order = Window.partitionBy("id").orderBy(*POSITION)
    versions = changes.select(
        *COLUMNS,
        "op",
        F.col("commit_ts").alias("valid_from"),
        F.lead("commit_ts").over(in_order).alias("valid_to"),
        F.lead("op").over(in_order).isNull().alias("is_current"),
        F.row_number().over(in_order).alias("place"),
    )
    closing = versions.where("place = 1").withColumn("merge_key", F.col("id"))
    opening = versions.withColumn("merge_key", F.lit(None).cast("bigint"))
    return closing.unionByName(opening)
