"""What the formats of JSON lines share: how a line is parsed, and why it could not be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine.jvm import CATALOG

LINE_VALUE: Final = f"{CATALOG}.line_value"
NO_JSON_REASON: Final = f"{CATALOG}.no_json_reason"
BROKEN_REASON: Final = f"{CATALOG}.broken_reason"
NOT_TEXT: Final = "not UTF-8 text"


def is_unread(json: Column) -> Column:
    """Whether a text was no value of the schema that it was parsed with, by `line_of`."""
    return json["_line"].isNull() | is_malformed(json)


def is_malformed(json: Column) -> Column:
    """The same, where null is a value."""
    return json["_malformed"].isNotNull() | json["_end"].isNull()


def whole(text: Column) -> Column:
    """The one JSON value of a line, as text; null where it is none."""
    return F.call_function(LINE_VALUE, text)


def no_json_reason(text: Column) -> Column:
    """Why a line is no JSON value; null where it is one."""
    return F.call_function(NO_JSON_REASON, text)


def broken_reason(text: Column, misfit: str, opening: str = "{", wanted: str = "not a JSON object") -> Column:
    """Why a line could not be parsed. `misfit` where it begins with one of the signs of `opening`, as what is wanted
    does: then a field has another type."""
    return F.call_function(BROKEN_REASON, text, F.lit(misfit), F.lit(opening), F.lit(wanted))


def is_null_message(text: Column) -> Column:
    """Whether a line is null, or a record whose value is: what a topic keeps of a deleted key."""
    return text.rlike(r'^\s*\{.*"value"\s*:\s*null') | (F.trim(text) == "null")


def meaning(word: Column, meanings: Mapping[str, str]) -> Column:
    """What a word means; null for every other word."""
    chosen = F.lit(None).cast("string")
    for known, meant in meanings.items():
        chosen = F.when(word == known, meant).otherwise(chosen)
    return chosen
