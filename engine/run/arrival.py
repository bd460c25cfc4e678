"""How far a table's source had come before each batch: by it a change is judged to be too late, once."""

from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from engine.frames import local_frame
from engine.run.survey import greatest


def reached_before(
    spark: SparkSession, changes: DataFrame, batches: Iterable[int] = ()
) -> tuple[int | None, DataFrame]:
    """The greatest commit time of all changes, and of those before each batch, in microseconds.

    Needs: batch, commit_ts. `batches`: others to be told of than those of the changes.
    Gives: batch, before_us: null where nothing came before.
    Rows: one a batch.
    """
    counted = changes.groupBy("batch").agg(F.unix_micros(F.max("commit_ts")).alias("at")).collect()
    at = {row["batch"]: row["at"] for row in counted}
    reached: int | None = None
    rows = []
    for batch in sorted({*at, *batches}):
        rows.append({"batch": batch, "before_us": reached})
        reached = greatest(reached, at.get(batch))
    return reached, local_frame(spark, rows, "batch bigint, before_us bigint")
