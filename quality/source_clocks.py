"""The commit times that sources have reached. Each source has its own clock; several names of one log share one."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

ONE_LOG: Final = "one_log"  # `source.several` for sources that are names of one log
Moments = Mapping[str, datetime | None]
"""A time of each source; None if it is unknown."""


def known_at() -> Column:
    """The commit time, but not later than the time at which the connector read the event: then a clock is wrong."""
    return F.least("commit_ts", "ingest_ts")


def of_source(moments: Moments) -> Column:
    """The time of the row's source; null if unknown.

    Needs: source. With the time of a single source, all rows belong to it.
    """
    if len(moments) == 1:  # a literal, so that Iceberg can skip files
        return F.lit(*moments.values()).cast("timestamp")
    pairs = [F.lit(part) for source, moment in moments.items() if moment is not None for part in (source, moment)]
    return F.try_element_at(F.create_map(*pairs), F.col("source")) if pairs else F.lit(None).cast("timestamp")


def as_one(moments: Moments) -> Moments:
    """The times of sources that are names of one log: all have the latest of them."""
    return dict.fromkeys(moments, latest(moments.values()))


def earliest(moments: Iterable[datetime | None]) -> datetime | None:
    """The first of the known times; None if there is none."""
    return min((moment for moment in moments if moment is not None), default=None)


def latest(moments: Iterable[datetime | None]) -> datetime | None:
    """The last of the known times; None if there is none."""
    return max((moment for moment in moments if moment is not None), default=None)
