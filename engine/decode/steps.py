"""Steps that each make columns of columns: taken by a frame, a projection each, or within one expression, interpreted.

A projection copies every row, whether a step has anything to do for it or not; what is interpreted takes longer for the
rows it is for, and nothing for all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine.decode.values import in_struct, let

Of = Callable[[str], Column]
"""The column of a name: one of a frame, or one that a step before has made."""
Step = Callable[[Of], Mapping[str, Column]]


def by_projections(frame: DataFrame, steps: Sequence[Step]) -> DataFrame:
    """The frame with the columns of all steps.

    Rows: 1:1.
    """
    for step in steps:
        frame = frame.select("*", *[column.alias(name) for name, column in step(F.col).items()])
    return frame


def within(steps: Sequence[Step], then: Callable[[Of], Column], of: Of = F.col) -> Column:
    """What `then` makes of the columns of all steps, as one expression."""
    if not steps:
        return then(of)
    made = steps[0](of)

    def behind(told: Column) -> Column:
        known = {name: told[name] for name in made}
        return within(steps[1:], then, lambda name: known[name] if name in known else of(name))

    return let(in_struct(made), behind)
