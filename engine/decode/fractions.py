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
_ENDLESS: Final = ('"Infinity"', '"-Infinity"')  # of 1e999, where it is handed on as text
_LONG: Final = "[0-9.]{17}"  # a double keeps fifteen digits for certain
_CUT: Final = rf"(?:{_LONG}|[0-9.]+[eE][+-]?0*[0-9]{{1,3}}(?![0-9]))"
_WHOLE: Final = "-?(?:0|[1-9][0-9]*+)"
_EXPONENT: Final = "[eE][+-]?[0-9]++"
_FAR: Final = "[eE][+-]?0*+(?:1[6-9]|[2-9][0-9]|[0-9]{3,})"  # an exponent that writes out no number of a bigint
_DOUBTFUL: Final = (
    rf"(?:(?=-?{_LONG}){_WHOLE}(?:\.[0-9]++(?:{_EXPONENT})?|{_EXPONENT})|{_WHOLE}(?:\.[0-9]++)?{_FAR})(?![0-9.])"
)
_BEFORE: Final = rf'(?>[^"0-9-]++|"(?:[^"\\]++|\\.)*+"|(?!{_DOUBTFUL})[-0-9][-+0-9.eE]*+)*+'  # strings among it


def is_fraction(text: Column) -> Column:
    """Whether a text may be what the JSON reader made of a fraction."""
    return F.coalesce(text.isin(*_ENDLESS) | (text.contains(".") & text.rlike(_FRACTION)), F.lit(False))


def has_long_number(image: Column) -> Column:
    """Whether a number in the JSON text may have more digits than a double."""
    return image.rlike(_LONG)


def may_be_cut(text: Column, names: Sequence[str]) -> Column:
    """Whether a named field of the JSON text may be another number as a double.

    One of many digits, or with an exponent: Java writes 2e23 as 1.9999999999999998E23. One in a string counts too.
    """
    return text.rlike(rf'"({_listed(names)})"\s*:\s*-?{_CUT}')


def is_cut(number: Column) -> Column:
    """The same of the field itself, a text."""
    return number.rlike(f"^-?{_CUT}")


def in_quotes(text: Column, names: Sequence[str]) -> Column:
    """The JSON text with fractions and powers of ten as strings in the named fields, wherever such a field stands."""
    number = r"(-?[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+))(?=\s*[,}])"
    return F.regexp_replace(text, rf'"(?<!\\")({_listed(names)})"\s*:\s*{number}', '"$1":"$2"')


def all_in_quotes(text: Column) -> Column:
    """The JSON text with all numbers as strings that may be other ones as doubles."""
    return F.when(text.rlike(_CUT), F.regexp_replace(text, rf"(?s)\G({_BEFORE})({_DOUBTFUL})", '$1"$2"')).otherwise(
        text
    )


def _listed(names: Sequence[str]) -> str:
    return "|".join("\\Q" + json.dumps(name, ensure_ascii=False)[1:-1] + "\\E" for name in names)
