"""How far a table can be relied on, as properties of `history` and `latest` that every reader of Iceberg sees.

siltstone.complete-through      all changes that the source committed up to here have arrived, as far as it says
siltstone.complete-through-by   who says so: heartbeat, transaction end, or only the last commit that was seen
siltstone.sealed-up-to          no open gap begins before here; absent: nothing is sealed
siltstone.open-gaps             how many gaps are open
siltstone.checked-batch         the checks have looked at the batches up to this one
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from pyspark.sql import functions as F

from siltstone.engine import names
from siltstone.engine.fold.context import FoldContext
from siltstone.engine.formats import format_of
from siltstone.engine.ingest.append_changes import newest_commit_us
from siltstone.engine.ingest.partition_watermarks import own_control, partitions_through
from siltstone.engine.report import CheckReport
from siltstone.engine.schema.gap_record import OPEN, Gap, iso, sealed_up_to
from siltstone.engine.table.catalog import properties_of, set_properties
from siltstone.engine.table.gap_table import read_gaps
from siltstone.engine.timestamps import moment_of

LAST_COMMIT: Final = "last commit"
PARTITIONS: Final = "partitions"


def checked_batch(context: FoldContext) -> int:
    """The batch up to which the checks have looked at the table; 0 before they ever did."""
    return int(properties_of(context.spark, context.catalog, context.spec.target.history).get(names.CHECKED_BATCH, "0"))


def record_completeness(context: FoldContext, results: Sequence[CheckReport]) -> None:
    """Say on both tables how far they can be relied on, after the checks."""
    through, by = complete_through(context)
    # Whatever is open was found again by this run's checks.
    silent = all(one.status in ("passed", "not available") for one in results)
    gaps = () if silent else read_gaps(context.spark, context.project, context.spec.table)
    told = trust(context.target.batch, through, by, gaps)
    for table in (context.spec.target.history, context.spec.target.latest):
        set_properties(context.spark, context.catalog, table, told)


def trust(batch: int, through: datetime | None, by: str | None, gaps: Sequence[Gap]) -> dict[str, str | None]:
    """The properties; None: the property goes."""
    sealed = sealed_up_to(through, gaps)
    return {
        names.COMPLETE_THROUGH: None if through is None else iso(through),
        names.COMPLETE_THROUGH_BY: by,
        names.SEALED_UP_TO: None if sealed is None else iso(sealed),
        names.OPEN_GAPS: str(sum(gap.findings for gap in gaps if gap.status == OPEN)),
        names.CHECKED_BATCH: str(batch),
    }


def complete_through(context: FoldContext) -> tuple[datetime | None, str | None]:
    """Up to when the source vouches for its changes, and by what; the last commit time where it does not vouch.

    In a log, everything before the last commit that was seen has arrived; not so beside partitions that lag behind it.
    Never later than now: a commit time in the future is a clock that is wrong.
    """
    last = newest_commit_us(context.spark, context.catalog, context.spec.target.changes)
    told = properties_of(context.spark, context.catalog, context.spec.target.history)
    known = [(moment_of(us), by) for by, us in vouched(context).items()]
    if names.COMPLETE_THROUGH in told:
        known.append((datetime.fromisoformat(told[names.COMPLETE_THROUGH]), told[names.COMPLETE_THROUGH_BY]))
    moments = [one for one in known if one[1] == PARTITIONS]
    if not moments:
        moments = known if last is None else [*known, (moment_of(last), LAST_COMMIT)]
    through, by = max(moments, key=lambda one: (one[0], one[1] != LAST_COMMIT), default=(None, None))
    return (None if through is None else min(through, datetime.now(UTC))), by


def vouched(context: FoldContext) -> dict[str, int]:
    """The latest time, in microseconds, that the control events of this fold's batches vouch for, by their kind."""
    form = format_of(context.spec.source.format)
    if any(kind.has_partitions for kind in form.sources):
        through = partitions_through(context)
        return {} if through is None else {PARTITIONS: through}
    kinds = form.vouchers
    control = own_control(context, context.folded.control_batch) if kinds else None
    if control is None:
        return {}
    told = control.where(F.col("kind").isin(*kinds)).groupBy("kind")
    at = F.coalesce("commit_ts", "ingest_ts")
    rows = told.agg(F.unix_micros(F.max(at)).alias("at")).where(F.col("at").isNotNull()).collect()
    return {kinds[row["kind"]]: row["at"] for row in rows}
