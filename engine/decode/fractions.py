"""Fractions of many digits in JSON: the reader makes a double of each that it hands on as text, and loses digits.

What it hands on tells which rows may have lost some; those are read again with their fractions in quotes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

FORMATS: Final = ("datastream-json", "rows")
"""Formats whose numbers are JSON's, whatever their columns are."""
_FRACTION: Final = r"^-?[0-9]+\.[0-9]+(?:E-?[0-9]+)?$"
_LONG: Final = "[0-9.]{17}"  # a double keeps fifteen digits for certain


def is_fraction(text: Column) -> Column:
    """Whether a text may be what the JSON reader made of a fraction."""
    return F.coalesce(text.rlike(_FRACTION), F.lit(False))


def has_long_number(image: Column) -> Column:
    """Whether a number in the JSON text may have more digits than a double."""
    return image.rlike(_LONG)


def in_quotes(text: Column, names: Sequence[str]) -> Column:
    """The JSON text with the fractions of the named fields as strings, wherever such a field stands."""
    listed = "|".join("\\Q" + json.dumps(name, ensure_ascii=False)[1:-1] + "\\E" for name in names)
    number = r"(-?[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?)(?=\s*[,}])"
    return F.regexp_replace(text, rf'(?<!\\)"({listed})"\s*:\s*{number}', '"$1":"$2"')
