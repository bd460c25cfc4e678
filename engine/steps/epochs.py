"""The epoch of a position as a column: the declared epoch, and inside it the first or second one of the format."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from siltstone.engine.decode.position_text import EPOCH_DIGITS, OWN_EPOCHS, SECOND_EPOCH


def declared_epoch(position: Column) -> Column:
    """The declared epoch of a position."""
    return F.floor(_number(position) / OWN_EPOCHS)


def is_second(position: Column) -> Column:
    """Whether a position is in the second of a format's own epochs, in any declared epoch."""
    return _number(position) % OWN_EPOCHS == int(SECOND_EPOCH, 16)


def _number(position: Column) -> Column:
    return F.conv(F.substring(position, 1, EPOCH_DIGITS), 16, 10).cast("int")
