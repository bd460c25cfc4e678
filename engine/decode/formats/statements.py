"""SQL statements from a source's log: whether a statement removes all rows of a table, and the name of that table.

A comment is allowed at every place where a blank is.
"""

from __future__ import annotations

import re
from typing import Final

# The patterns do not backtrack: a comment that is repeated a thousand times costs no more than its length.
_BLANKS: Final = r"\s++|/\*.*?\*/|(?:--|#)[^\n]*+"
_GAP: Final = rf"(?>{_BLANKS})++"
_NAME: Final = r'(`[^`]+`|"[^"]+"|\[[^\]]+\]|[^\s.,;`"\[/-]+)'
_POINT: Final = rf"(?:{_GAP})?\.(?:{_GAP})?"
_OPENING: Final = rf"(?>{_BLANKS})*+TRUNCATE\b"
_FLAGS: Final = re.IGNORECASE | re.DOTALL | re.ASCII
_IS_TRUNCATE: Final = re.compile(_OPENING, _FLAGS)
_TRUNCATE: Final = re.compile(
    rf"{_OPENING}{_GAP}(?:TABLE\b(?:{_GAP})?)?(?:ONLY{_GAP})?{_NAME}(?:{_POINT}{_NAME})?(?:{_POINT}{_NAME})?"
    rf"(?:{_GAP}(?:CASCADE|RESTRICT|(?:RESTART|CONTINUE){_GAP}IDENTITY|(?:DROP|REUSE|KEEP){_GAP}STORAGE))*"
    rf"(?>{_BLANKS}|;)*+\Z",
    _FLAGS,
)
_QUOTES: Final = re.compile(r'\A[`"\[]|[`"\]]\Z')
_ESCAPED_DOT: Final = re.compile(r"\\u002e", re.IGNORECASE)


def is_truncate(sql: str | None) -> bool:
    """Whether a statement removes all rows of a table."""
    return sql is not None and _IS_TRUNCATE.match(sql) is not None


def truncated_table(sql: str, database: str | None) -> str | None:
    r"""The only table that a TRUNCATE names, with its database: `database` if the statement names none.

    A dot inside a part of a name is written `\u002E`. None if the table or the database is unknown.
    """
    found = _TRUNCATE.match(sql)
    parts = [] if found is None else [_QUOTES.sub("", part).replace(".", "\\u002E") for part in found.groups() if part]
    if not parts or (len(parts) == 1 and database is None):
        return None
    return ".".join(parts if len(parts) > 1 else [str(database), *parts])


def with_dots(name: str) -> str:
    r"""A name with dots for `\u002E`."""
    return _ESCAPED_DOT.sub(".", name) if "\\u002" in name else name
