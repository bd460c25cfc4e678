"""Statements of a source as its log has them, with comments wherever blanks can be."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine.decode.values import let

# Nothing in them is tried a second way: comments that somebody repeats a thousand times cost no more than their length.
_BLANKS: Final = r"\s++|/\*.*?\*/|(?:--|#)[^\n]*+"
_GAP: Final = rf"(?>{_BLANKS})++"
_NAME: Final = r'(`[^`]+`|"[^"]+"|\[[^\]]+\]|[^\s.,;`"\[/-]+)'
_QUOTES: Final = r'^[`"\[]|[`"\]]$'
_POINT: Final = rf"(?:{_GAP})?\.(?:{_GAP})?"
_PARTS: Final = 3
_OPENING: Final = rf"(?is)^(?>{_BLANKS})*+TRUNCATE\b"
_TRUNCATE: Final = (
    rf"{_OPENING}{_GAP}(?:TABLE\b(?:{_GAP})?)?(?:ONLY{_GAP})?{_NAME}(?:{_POINT}{_NAME})?(?:{_POINT}{_NAME})?"
    rf"(?:{_GAP}(?:CASCADE|RESTRICT|(?:RESTART|CONTINUE){_GAP}IDENTITY|(?:DROP|REUSE|KEEP){_GAP}STORAGE))*"
    rf"(?>{_BLANKS}|;)*+$"
)


def is_truncate(text: Column) -> Column:
    """Whether a statement removes all rows of a table."""
    return text.rlike(_OPENING)


def truncated(text: Column) -> Column:
    r"""The only table that it names, a dot inside a part of its name as `\u002E`; empty where it is not told."""
    parts = [F.regexp_extract(text, _TRUNCATE, group) for group in range(1, _PARTS + 1)]
    bare = [F.replace(F.regexp_replace(part, _QUOTES, ""), F.lit("."), F.lit("\\u002E")) for part in parts]
    return F.concat_ws(".", *[F.nullif(part, F.lit("")) for part in bare])


def truncated_in(text: Column, database: Column) -> Column:
    """The same with a database before it: `database` where the statement says none. Null where either is not told."""

    def whole(named: Column) -> Column:
        return F.when(named.contains("."), named).otherwise(F.concat(database, F.lit("."), named))

    return let(F.nullif(truncated(text), F.lit("")), whole)


def dotted(name: Column) -> Column:
    """A part of a name, in which a dot is written as the six characters of its escape."""
    return F.when(name.contains("\\u002"), F.regexp_replace(name, r"(?i)\\u002e", ".")).otherwise(name)
