"""How far sources have advanced, now and before these batches: when a completed scan can be checked."""

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
    """The rows of sources by batch. `control` (few rows) and `changes` (many) have source, batch and ingest_ts.

    `control_since`, `since`: the last batches that were checked before. `grace`: events can be delivered out of order
    by up to this time, in another file or topic. `of_one_log`: the sources are names of one log, so each advances all.
    """

    control: DataFrame
    control_since: int
    changes: DataFrame
    since: int
    grace: timedelta
    of_one_log: bool = False

    def due(self, source: str, ended: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The completed scans of one source that can be checked now and could not be checked before these batches.

        A scan is due once the source has advanced by more than `grace` after the scan's end. Scans that ended in these
        batches are candidates. So are older ones, from the newest back to the first one that was due before.
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
        """The greatest processing times that are cheap to compute: now, and before these batches."""
        is_old = F.col("batch") <= self.control_since
        beats = self.control.select("source", "ingest_ts", F.when(is_old, F.col("ingest_ts")).alias("before"))
        new = self.changes.where(F.col("batch") > self.since)
        sent = beats.unionByName(new.select("source", "ingest_ts"), allowMissingColumns=True)
        times = sent.where(self.is_of(source)).agg(
            collectable(F.max("ingest_ts")).alias("now"), collectable(F.max("before")).alias("before")
        )
        now, before = (moment and moment.astimezone(UTC) for moment in times.collect()[0])  # Spark gives local times
        return now, before

    def is_past(self, source: str, one: dict[str, Any], known: datetime | None, changes: DataFrame) -> bool:
        """Whether the source has advanced by `grace` past the end of a scan, by the known time or by these changes."""
        due = one["at"] + self.grace
        if known is not None and known > due:
            return True
        return not changes.where(self.is_of(source) & (F.col("ingest_ts") > F.lit(due))).isEmpty()

    def is_of(self, source: str) -> Column:
        """True for rows that show how far this source has advanced."""
        return F.lit(True) if self.of_one_log else F.col("source") == source
