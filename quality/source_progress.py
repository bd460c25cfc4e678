"""How far sources have come by now, and how far they had come before: when a scan that ended can be judged."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine.timestamps import collectable


@dataclass(frozen=True)
class Progress:
    """What sources have sent in which batch; `control` (few rows) and `changes` (many): source, batch, ingest_ts.

    `control_since`, `since`: up to which batch of the one and of the other was judged before. `grace`: for so long
    something that was sent before can still come after, in another file or topic. `of_one_log`: the sources are names
    of one log, which goes on with any of them.
    """

    control: DataFrame
    control_since: int
    changes: DataFrame
    since: int
    grace: timedelta
    of_one_log: bool = False

    def due(self, source: str, ended: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The ends of scans of one source that can be judged now, and could not be before these batches.

        An end is due once the source went on for longer than `grace`. One that came in these batches is looked at
        now in any case; of the older ones, all before the newest that was due already were so, too.
        """
        if not ended:
            return []
        now, before = self.reached(source)
        old = sorted(
            (one for one in ended if one["batch"] <= self.control_since), key=lambda one: one["at"], reverse=True
        )
        new = [one for one in ended if one["batch"] > self.control_since]
        waiting = takewhile(lambda one: not self.is_past(source, one, before, self.changes_before()), old)
        return [one for one in (*new, *waiting) if self.is_past(source, one, now, self.changes)]

    def changes_before(self) -> DataFrame:
        """The changes of earlier batches."""
        return self.changes.where(F.col("batch") <= self.since)

    def reached(self, source: str) -> tuple[datetime | None, datetime | None]:
        """The greatest processing times that are known at little cost: now, and before these batches."""
        is_old = F.col("batch") <= self.control_since
        beats = self.control.select("source", "ingest_ts", F.when(is_old, F.col("ingest_ts")).alias("before"))
        new = self.changes.where(F.col("batch") > self.since)
        sent = beats.unionByName(new.select("source", "ingest_ts"), allowMissingColumns=True)
        told = sent.where(self.is_of(source)).agg(
            collectable(F.max("ingest_ts")).alias("now"), collectable(F.max("before")).alias("before")
        )
        now, before = (moment and moment.astimezone(UTC) for moment in told.collect()[0])  # Spark gives local times
        return now, before

    def is_past(self, source: str, one: dict[str, Any], known: datetime | None, changes: DataFrame) -> bool:
        """Whether the source went `grace` past the end of a scan, as is known already or as these changes tell."""
        due = one["at"] + self.grace
        if known is not None and known > due:
            return True
        return not changes.where(self.is_of(source) & (F.col("ingest_ts") > F.lit(due))).isEmpty()

    def is_of(self, source: str) -> Column:
        """True for what tells how far this source has come."""
        return F.lit(True) if self.of_one_log else F.col("source") == source
