"""Changes that were taken before it was known that their source had sent them again: nothing counts of them.

A line that is a redelivery from the first is no change. It is looked for, too: a table whose inputs were not read again
with another one's of their source has what was withdrawn of it among them.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine.frames import checkpointed
from siltstone.engine.names import PLACE
from siltstone.engine.schema.control_kinds import REDELIVERY, RETRACTION


def retracted_places(control: DataFrame | None, until: int | None = None) -> DataFrame | None:
    """Where the withdrawn changes stand; None where there are none. `until`: the newest batch of control events.

    Gives: file, line, control_batch (that withdrew it first; null where it was no change from the first). Computed.
    Rows: one a line.
    """
    if control is None:
        return None
    told = control.where(F.col("kind").isin(REDELIVERY, RETRACTION))
    told = told if until is None else told.where(F.col("batch") <= until)
    withdrew = F.min(F.when(F.col("kind") == RETRACTION, F.col("batch"))).alias("control_batch")
    places = told.groupBy(*PLACE).agg(withdrew).transform(checkpointed)
    return None if places.isEmpty() else places


def without_retracted(changes: DataFrame, places: DataFrame | None) -> DataFrame:
    """The changes that count. `places`: what `retracted_places` gives.

    Rows: filters.
    """
    return changes if places is None else changes.join(F.broadcast(places), on=PLACE, how="left_anti")


def retracted_of(changes: DataFrame, places: DataFrame) -> DataFrame:
    """The changes that do not count. `places`: what `retracted_places` gives.

    Rows: filters.
    """
    return changes.join(F.broadcast(places), on=PLACE, how="left_semi")
