"""What the formats of JSON lines share: how a line is parsed, and why it could not be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

CORRUPT: Final = {"columnNameOfCorruptRecord": "_malformed"}
"""For a schema of `_line` and `_malformed`: what `wrapped` gives, and the text where a field has another type."""


def wrapped(text: Column) -> Column:
    """The text inside an object, so that the parser also sees what stands behind it."""
    return F.concat(F.lit('{"_line":'), text, F.lit("}"))


def whole(text: Column) -> Column:
    """The one JSON value of a line, as text; null where it is none."""
    return F.from_json(wrapped(text), "_line string")["_line"]


def broken_reason(text: Column, misfit: str, opening: str = r"^\{", wanted: str = "not a JSON object") -> Column:
    """Why a line could not be parsed. `misfit` where it is what is wanted, with a field of another type."""
    value = whole(text)
    return (
        F.when(F.trim(text) == "", "empty line")
        .when(value.isNull(), "not JSON")
        .when(~value.rlike(opening), wanted)
        .otherwise(misfit)
    )


def is_null_message(text: Column) -> Column:
    """Whether a line is null, or a record whose value is: what a topic keeps of a deleted key."""
    return text.rlike(r'^\s*\{.*"value"\s*:\s*null') | (F.trim(text) == "null")


def meaning(word: Column, meanings: Mapping[str, str]) -> Column:
    """What a word means; null for every other word."""
    chosen = F.lit(None).cast("string")
    for known, meant in meanings.items():
        chosen = F.when(word == known, meant).otherwise(chosen)
    return chosen
