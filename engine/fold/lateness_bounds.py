"""The greatest commit time before each batch. A change is compared with it once, to decide if it is too late."""

from collections.abc import Iterable, Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.fold.batch_profile import greatest
from siltstone.engine.frames import local_frame
from siltstone.engine.history.key_timeline import interval
from siltstone.engine.spec.model import SnapshotSpec
from siltstone.engine.table.commit import summaries


def progress_time() -> Column:
    """The commit time of an event as progress of its source: at most its processing time plus the default skew.

    A later commit time comes from a wrong clock, and would make every later change too late. Tables of one source can
    have different skews, and they share this time.
    """
    processed = F.col("ingest_ts") + interval(SnapshotSpec().skew)
    return F.when(F.col("commit_ts").isNotNull(), F.least("commit_ts", processed))  # least ignores nulls


def reached_before(changes: DataFrame, batches: Iterable[int] = ()) -> tuple[int | None, dict[int, int | None]]:
    """The greatest commit time of all changes, and of the changes before each batch, in microseconds.

    None before the first batch. Needs: batch, commit_ts, ingest_ts. `batches`: further batches to include in the
    result.
    """
    counted = changes.groupBy("batch").agg(F.unix_micros(F.max(progress_time())).alias("at")).collect()
    at = {row["batch"]: row["at"] for row in counted}
    reached: int | None = None
    before = {}
    for batch in sorted({*at, *batches}):
        before[batch] = reached
        reached = greatest(reached, at.get(batch))
    return reached, before


def recorded_before(spark: SparkSession, catalog: str, name: str, batches: Iterable[int]) -> dict[int, int]:
    """The greatest commit time before each batch, as the commits to `changes` recorded it.

    The recorded times include rejected records, since they cover everything that was ingested. Batches that no snapshot
    records any more are left out.
    """
    requested = sorted(batches)
    before = {}
    for summary in summaries(spark, catalog, name):
        if names.SUMMARY_MAX_COMMIT in summary and names.SUMMARY_BATCH in summary:
            while requested and requested[-1] > int(summary[names.SUMMARY_BATCH]):
                before[requested.pop()] = int(summary[names.SUMMARY_MAX_COMMIT])
        if not requested:
            break
    return before


def arrivals(spark: SparkSession, before: Mapping[int, int | None]) -> DataFrame:
    """The greatest commit time before each batch, as rows.

    Gives: batch, before_us: null if nothing was ingested before.
    Rows: one per batch.
    """
    rows = [{"batch": batch, "before_us": reached} for batch, reached in before.items()]
    return local_frame(spark, rows, "batch bigint, before_us bigint")
