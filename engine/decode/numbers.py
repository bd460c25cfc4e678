"""Texts as numbers, by functions in Java (`engine/jvm`): of most rows they are asked more than once."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine.decode.values import LONGEST
from engine.jvm import CATALOG

WHOLE_NUMBER: Final = f"{CATALOG}.whole_number"
PLAIN_NUMBER: Final = f"{CATALOG}.plain_number"
_OF_ANY_BIGINT: Final = 18


def whole_number(text: Column) -> Column:
    """Digits, perhaps with a sign before them, as a bigint; null for every other text, and for what no bigint holds. A
    line end behind them is passed over."""
    return F.call_function(WHOLE_NUMBER, text, F.lit(LONGEST), F.lit(True))


def digits(text: Column) -> Column:
    """The same of up to 18 digits, without a sign."""
    return F.call_function(WHOLE_NUMBER, text, F.lit(_OF_ANY_BIGINT), F.lit(False))


def plain_number(text: Column) -> Column:
    """The digits of a number, with one at least on each side of its point; null where it is none.

    It may be written .5 or 5. or 5e-1, with blanks around it. Infinity and -Infinity, as Spark's casts read them, are
    told in these spellings; NaN is no number that could order anything.
    """
    return F.call_function(PLAIN_NUMBER, text)
