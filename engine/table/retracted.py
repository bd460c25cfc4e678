"""Retracted changes: they were taken before it was known that their source had sent them a second time.

A retracted change does not count. A line that was known to be a redelivery when it was read is no change. This module
looks for such lines too: when the inputs of another table of the source are re-read, retracted changes of this table
become such redeliveries.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siltstone.engine.frames import checkpointed
from siltstone.engine.names import PLACE
from siltstone.engine.schema.control_kinds import REDELIVERY, RETRACTION


def retracted_places(control: DataFrame | None, until: int | None = None) -> DataFrame | None:
    """The places of retracted changes; None if there are none. `until`: the newest batch of control events to read.

    Gives: file, line, control_batch (the first batch that retracted the change; null if the line never was a change).
        Checkpointed.
    Rows: one per line.
    """
    if control is None:
        return None
    events = control.where(F.col("kind").isin(REDELIVERY, RETRACTION))
    events = events if until is None else events.where(F.col("batch") <= until)
    first_batch = F.min(F.when(F.col("kind") == RETRACTION, F.col("batch"))).alias("control_batch")
    places = events.groupBy(*PLACE).agg(first_batch).transform(checkpointed)
    return None if places.isEmpty() else places


def without_retracted(changes: DataFrame, places: DataFrame | None) -> DataFrame:
    """The changes that are not retracted. `places`: the rows of `retracted_places`.

    Rows: filters.
    """
    return changes if places is None else changes.join(F.broadcast(places), on=PLACE, how="left_anti")


def retracted_of(changes: DataFrame, places: DataFrame) -> DataFrame:
    """The changes that are retracted. `places`: the rows of `retracted_places`.

    Rows: filters.
    """
    return changes.join(F.broadcast(places), on=PLACE, how="left_semi")
