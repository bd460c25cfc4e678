"""Record how complete a table is, as properties of `history` and `latest` that every Iceberg reader sees.

siltstone.complete-through      all changes that the source committed up to this time have arrived, as far as it reports
siltstone.complete-through-by   the evidence: heartbeat, transaction end, or only the last commit that was seen
siltstone.sealed-up-to          no open gap begins before this time; absent: nothing is sealed
siltstone.open-gaps             the number of open gaps
siltstone.checked-batch         the batch up to which the checks have run
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.fold.context import FoldContext
from siltstone.engine.fold.markers import newest_batch
from siltstone.engine.formats import format_of
from siltstone.engine.ingest.append_changes import commit_us_of
from siltstone.engine.ingest.partition_watermarks import own_control, partitions_through
from siltstone.engine.report import CheckReport
from siltstone.engine.schema.gap_record import OPEN, Gap, iso, sealed_up_to
from siltstone.engine.table.catalog import properties_of, set_properties
from siltstone.engine.table.commit import summary_of_batch
from siltstone.engine.table.gap_table import read_gaps
from siltstone.engine.timestamps import moment_of

LAST_COMMIT: Final = "last commit"
PARTITIONS: Final = "partitions"


def checked_batch(context: FoldContext) -> int:
    """The batch up to which the checks have run on the table. 0 before the first check."""
    return int(properties_of(context.spark, context.catalog, context.spec.target.history).get(names.CHECKED_BATCH, "0"))


def record_completeness(context: FoldContext, results: Sequence[CheckReport]) -> None:
    """Set the completeness properties of both tables after the checks."""
    through, by = complete_through(context)
    has_no_findings = all(one.status in ("passed", "not available") for one in results)
    is_without_gaps = has_no_findings and reports_all_gaps(context)
    gaps = () if is_without_gaps else read_gaps(context.spark, context.project, context.spec.table)
    properties = completeness_properties(context.target.batch, through, by, gaps)
    for table in (context.spec.target.history, context.spec.target.latest):
        set_properties(context.spark, context.catalog, table, properties)


def reports_all_gaps(context: FoldContext) -> bool:
    """Whether the checks of this fold also report every gap that was open before.

    They miss gaps in changes that are not folded yet, and in changes that `retain_changes` has removed.
    """
    changes = context.spec.target.changes
    return not context.is_trimmed and newest_batch(context.spark, context.project, changes) <= context.target.batch


def completeness_properties(
    batch: int, through: datetime | None, by: str | None, gaps: Sequence[Gap]
) -> dict[str, str | None]:
    """The completeness properties. A value of None removes the property."""
    sealed = sealed_up_to(through, gaps)
    return {
        names.COMPLETE_THROUGH: None if through is None else iso(through),
        names.COMPLETE_THROUGH_BY: by,
        names.SEALED_UP_TO: None if sealed is None else iso(sealed),
        names.OPEN_GAPS: str(sum(gap.findings for gap in gaps if gap.status == OPEN)),
        names.CHECKED_BATCH: str(batch),
    }


def complete_through(context: FoldContext) -> tuple[datetime | None, str | None]:
    """The time up to which the source reports that its changes are complete, and the evidence for it.

    Only what this fold covers counts: `changes` can have newer batches, which are not published.

    Without such a report it is the time of the last commit: in a log, everything before the last commit has arrived.
    This does not hold for a stream with partitions, since some can lag. The time is never later than now: a commit time
    in the future comes from a wrong clock.
    """
    changes, batch = context.spec.target.changes, context.target.batch
    last = commit_us_of(summary_of_batch(context.spark, context.catalog, changes, batch, names.SUMMARY_MAX_COMMIT))
    recorded = properties_of(context.spark, context.catalog, context.spec.target.history)
    known = [(moment_of(us), by) for by, us in progress_times(context).items()]
    if names.COMPLETE_THROUGH in recorded:
        known.append((datetime.fromisoformat(recorded[names.COMPLETE_THROUGH]), recorded[names.COMPLETE_THROUGH_BY]))
    moments = [one for one in known if one[1] == PARTITIONS]
    if not moments:
        moments = known if last is None else [*known, (moment_of(last), LAST_COMMIT)]
    through, by = max(moments, key=lambda one: (one[0], one[1] != LAST_COMMIT), default=(None, None))
    return (None if through is None else min(through, datetime.now(UTC))), by


def progress_times(context: FoldContext) -> dict[str, int]:
    """The latest time up to which this fold's control events report completeness, in microseconds, by their kind."""
    form = format_of(context.spec.source.format)
    if any(kind.has_partitions for kind in form.sources):
        through = partitions_through(context)
        return {} if through is None else {PARTITIONS: through}
    kinds = form.progress_events
    control = own_control(context, context.folded.control_batch) if kinds else None
    if control is None:
        return {}
    by_kind = control.where(F.col("kind").isin(*kinds)).groupBy("kind")
    at = F.coalesce("commit_ts", "ingest_ts")
    rows = by_kind.agg(F.unix_micros(F.max(at)).alias("at")).where(F.col("at").isNotNull()).collect()
    return {kinds[row["kind"]]: row["at"] for row in rows}
