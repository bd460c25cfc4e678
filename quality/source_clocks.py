"""How far sources have come in time: each has a clock of its own, but those that are names of one log have one."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

ONE_LOG: Final = "one_log"  # what a spec says of several sources that are names of one log
Moments = Mapping[str, datetime | None]
"""A moment of each source; None where it is not known."""


def known_at() -> Column:
    """When something was committed; never after the connector took it, or a clock is wrong."""
    return F.least("commit_ts", "ingest_ts")


def of_source(moments: Moments) -> Column:
    """The moment of the row's source; null where it is not known.

    Needs: source; where there is a moment of one source only, all rows are of it.
    """
    if len(moments) == 1:  # as a plain value, it tells which files of a table need not be read
        return F.lit(*moments.values()).cast("timestamp")
    pairs = [F.lit(part) for source, moment in moments.items() if moment is not None for part in (source, moment)]
    return F.try_element_at(F.create_map(*pairs), F.col("source")) if pairs else F.lit(None).cast("timestamp")


def as_one(moments: Moments) -> Moments:
    """The moments of sources that are names of one log: each is as far as any."""
    return dict.fromkeys(moments, latest(moments.values()))


def earliest(moments: Iterable[datetime | None]) -> datetime | None:
    """The first of the moments that are known; None where none is."""
    return min((moment for moment in moments if moment is not None), default=None)


def latest(moments: Iterable[datetime | None]) -> datetime | None:
    """The last of the moments that are known; None where none is."""
    return max((moment for moment in moments if moment is not None), default=None)
