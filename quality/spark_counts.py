"""Counts in the messages of findings, as Spark expressions: `1 change`, `2 changes`."""

from pyspark.sql import Column
from pyspark.sql import functions as F


def counted(number: Column, noun: str) -> Column:
    """A number and its noun."""
    return F.concat(number.cast("string"), F.lit(" "), F.when(number == 1, noun).otherwise(f"{noun}s"))


def are_missing(number: Column) -> Column:
    """How many are missing: `1 is missing`, `2 are missing`."""
    return F.concat(number.cast("string"), F.when(number == 1, " is missing").otherwise(" are missing"))
