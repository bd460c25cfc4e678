"""How far a table's source had come before each batch: by it a change is judged to be too late, once."""

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.fold.batch_profile import greatest
from siltstone.engine.frames import local_frame
from siltstone.engine.table.commit import summaries


def reached_before(changes: DataFrame, batches: Iterable[int] = ()) -> tuple[int | None, dict[int, int | None]]:
    """The greatest commit time of all changes, and of those before each batch, in microseconds; None before the first.

    Needs: batch, commit_ts. `batches`: others to be told of than those of the changes.
    """
    counted = changes.groupBy("batch").agg(F.unix_micros(F.max("commit_ts")).alias("at")).collect()
    at = {row["batch"]: row["at"] for row in counted}
    reached: int | None = None
    before = {}
    for batch in sorted({*at, *batches}):
        before[batch] = reached
        reached = greatest(reached, at.get(batch))
    return reached, before


def recorded_before(spark: SparkSession, catalog: str, name: str, batches: Iterable[int]) -> dict[int, int]:
    """The same as the commits to `changes` told when they were made: of all that was delivered, and so of what was
    rejected, too. Without the batches of which no snapshot tells any more."""
    asked = sorted(batches)
    before = {}
    for summary in summaries(spark, catalog, name):
        if names.SUMMARY_MAX_COMMIT in summary and names.SUMMARY_BATCH in summary:
            while asked and asked[-1] > int(summary[names.SUMMARY_BATCH]):
                before[asked.pop()] = int(summary[names.SUMMARY_MAX_COMMIT])
        if not asked:
            break
    return before


def arrivals(spark: SparkSession, before: Mapping[int, int | None]) -> DataFrame:
    """What was reached before each batch, as rows.

    Gives: batch, before_us: null where nothing came before.
    Rows: one a batch.
    """
    rows = [{"batch": batch, "before_us": reached} for batch, reached in before.items()]
    return local_frame(spark, rows, "batch bigint, before_us bigint")
