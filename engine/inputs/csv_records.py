"""The records of CSV files (RFC 4180), as bytes: split a file into records, and a record into values.

A value in quotes can contain delimiters, line ends and doubled quotes. A quote anywhere else is part of the value:

    2,"a, b",x          a, b
    2,"5"" pipe",x      5" pipe
    2,5" pipe,x         5" pipe
    2,"a" b,x           "a" b
    2,"5\\" pipe",x      invalid: a backslash does not escape a quote
    2,"a                open: no quote closes the value before the file ends, so the rest of the file belongs to it

All lines end like the first one: with a line feed, or with a carriage return and a line feed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
QUOTE: Final = b'"'
_ESCAPED: Final = b'\\"'
_BLANKS: Final = b" \t\r"


@dataclass(frozen=True)
class CsvLayout:
    """The layout of a CSV file.

    `columns`: the names of its columns. `has_header`: its first record names them. `null`: the text that means null if
    it is not in quotes.
    """

    columns: tuple[str, ...]
    delimiter: bytes
    line_end: bytes = b"\n"
    has_header: bool = True
    null: str = ""

    @property
    def blanks(self) -> bytes:
        """What a line may hold and still be blank."""
        return _BLANKS.replace(self.delimiter, b"")


def split_records(text: bytes, layout: CsvLayout, is_end: bool = False) -> tuple[list[bytes], bytes]:
    """The complete records in a piece of a file, without their line ends, and the rest of the piece.

    `is_end`: the piece ends at the end of the file. Then its last record is complete, and there is no rest.
    """
    if QUOTE not in text:
        *records, rest = text.split(layout.line_end)
    else:
        records, rest = _quoted_records(text, layout, is_end)
    return ([*records, rest] if rest else records, b"") if is_end else (records, rest)


def _quoted_records(text: bytes, layout: CsvLayout, is_end: bool) -> tuple[list[bytes], bytes]:
    record, _ = _patterns(layout.delimiter, layout.line_end, is_end)
    records, at = [], 0
    while (found := record.match(text, at)) and text.startswith(layout.line_end, found.end()):
        records.append(found[0])
        at = found.end() + len(layout.line_end)
    return records, text[at:]


def values_of(record: bytes, layout: CsvLayout) -> list[str | None] | None:
    """The values of a record, with None for null. A value in quotes is never null.

    None instead of a list if no quote closes the last value.

    Raises: UnicodeDecodeError: a value is not UTF-8 text.
    """
    if QUOTE not in record:
        null = layout.null
        return [None if value == null else value for value in record.decode().split(layout.delimiter.decode())]
    values: list[str | None] = []
    (_, field), at = _patterns(layout.delimiter, layout.line_end, is_end=True), 0
    while (found := field.match(record, at)) and found[2] is None:
        plain = None if found[3] is None else found[3].decode()
        quoted = None if found[1] is None else found[1].replace(b'""', QUOTE).decode()
        values.append(quoted if plain is None else None if plain == layout.null else plain)
        at = found.end() + len(layout.delimiter)
        if at > len(record):
            return values
    return None


def has_escaped_quote(record: bytes, layout: CsvLayout) -> bool:
    """Whether a value begins with a quote, is not valid in quotes, and has a quote after a backslash, as Spark writes
    quotes by default."""
    if _ESCAPED not in record:
        return False
    (_, field), at = _patterns(layout.delimiter, layout.line_end, is_end=True), 0
    while at <= len(record) and (found := field.match(record, at)):
        if found[3] is not None and found[3].startswith(QUOTE) and _ESCAPED in found[3]:
            return True
        at = found.end() + len(layout.delimiter)
    return False


def columns_of(head: bytes, delimiter: bytes) -> tuple[list[str], bytes]:
    """The values of a file's first record, and its line end. `head`: the beginning of the file.

    One empty value if the quotes in the record are invalid.
    Bytes that are not UTF-8 text become replacement characters.
    """
    layout = CsvLayout((), delimiter)
    records, rest = split_records(head.removeprefix(BYTE_ORDER_MARK), layout)
    first, line_end = (records[0], b"\n") if records else (rest, b"\n")
    if records and first.endswith(b"\r"):
        first, line_end = first[:-1], b"\r\n"
    readable = first.decode("utf-8", "replace").encode()
    values = None if has_escaped_quote(readable, layout) else values_of(readable, layout)
    return [value or "" for value in values or [None]], line_end


@lru_cache(maxsize=100)
def _patterns(delimiter: bytes, line_end: bytes, is_end: bool) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """The pattern of a record up to its line end, and of a value up to its delimiter: in quotes, open, or plain.

    The patterns never backtrack, so the time to match grows only with the length of a record. `is_end`: no more text
    follows.
    """
    ends = (delimiter, line_end)
    cut = [b"%b\\Z" % re.escape(end[:size]) for end in ends for size in range(1, len(end)) if not is_end]
    stops, begins = b"|".join(map(re.escape, ends)), b"".join(re.escape(end[:1]) for end in ends)
    inside, blanks = b'(?:[^"]++|"")*+', b"[%b]*+" % b" \t".replace(delimiter, b"")
    closed = b'"(%b)"%b(?=%b)' % (inside, blanks, b"|".join([stops, b"\\Z", *cut]))
    plain = b"(?:[^%b]++|(?!%b)[%b])*+" % (begins, stops, begins)
    value = b'(?:%b|("%b\\Z)|(%b))' % (closed, inside, plain)
    record = b"(?:%b)?+%b(?:%b%b)*+" % (BYTE_ORDER_MARK, value, re.escape(delimiter), value)
    return re.compile(record), re.compile(value)
