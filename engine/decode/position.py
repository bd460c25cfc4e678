"""Positions: order-preserving text of fixed-width upper-case hexadecimal segments, the epoch first.

    PostgreSQL       epoch(4) - commit LSN of the transaction before (16) - LSN (16)
    MySQL, MariaDB   epoch(4) - number of the binlog file (8) - position in it (16) - row in the event (8)
    rows             epoch(4) - one segment a column of sequence_by (see number_segment ...) - the tie, if it decides

Where the source gives no position, or a sentinel in its place, the position is null.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

EPOCH = "0000"
_MAX_FILE = 0xFFFFFFFF
_SIGN = -(2**63)


def postgresql(lsn: Column, sequence: Column) -> Column:
    """`lsn` bigint; `sequence` the text of a JSON array of two, each a number as text or null."""
    parts = F.translate(sequence, '[]" ', "")
    previous = _not_negative(F.substring_index(parts, ",", 1).try_cast("bigint"))
    own = F.coalesce(_not_negative(lsn), _not_negative(F.substring_index(parts, ",", -1).try_cast("bigint")))
    return _joined(_hex(F.coalesce(previous, own), 16), _hex(own, 16))


def binlog(file: Column, pos: Column, row: Column) -> Column:
    """`file` text that ends in the file's number; `pos`, `row` whole numbers, a missing row is row 0."""
    number = F.regexp_extract(file, r"([0-9]+)$", 1).try_cast("bigint")
    known = F.when(number.between(0, _MAX_FILE) & (pos >= 0), number)
    return _joined(_hex(known, 8), _hex(pos, 16), _hex(F.coalesce(row, F.lit(0)), 8))


def _not_negative(number: Column) -> Column:
    return F.when(number >= 0, number)


def _hex(number: Column, width: int) -> Column:
    return F.lpad(F.hex(number), width, "0")


def _joined(*segments: Column) -> Column:
    """Null where a segment is."""
    parts = [part for segment in segments for part in (F.lit("-"), segment)]
    return F.concat(F.lit(EPOCH), *parts)


def rows(sequence: Sequence[Column], tie: Column | None) -> Column:
    """`sequence` the segments that `sequence_segment` gives; `tie` what decides at one place of the sequence."""
    last = [] if tie is None else [tie.cast("string")]
    return _joined(*sequence, *last)


def number_segment(text: Column) -> Column:
    """A plain decimal number of any length: B or, below zero, A, the count of its whole digits, its digits.

    Below zero count and digits are complements, and F ends them: the longer number is the smaller one. The separator
    sorts before every digit, so that segments of different lengths keep their order.
    """
    bare = F.ltrim(text, F.lit("+-0"))
    whole = F.substring_index(bare, ".", 1)
    digits = F.concat(whole, F.rtrim(F.regexp_extract(text, r"\.([0-9]*)", 1), F.lit("0")))
    negative = text.startswith("-") & (digits != "")
    count = F.lpad(F.hex(F.when(negative, 255 - F.length(whole)).otherwise(F.length(whole))), 2, "0")
    complement = F.concat(F.lit("A"), count, F.translate(digits, "0123456789", "9876543210"), F.lit("F"))
    return F.when(negative, complement).otherwise(F.concat(F.lit("B"), count, digits))


def time_segment(moment: Column, nanos: Column) -> Column:
    """An instant in microseconds, and the three digits of nanoseconds behind it."""
    shifted = F.unix_micros(moment).bitwiseXOR(F.lit(_SIGN))
    return F.concat(F.lit("C"), _hex(shifted, 16), nanos)


def text_segment(text: Column) -> Column:
    """Text in the order of its UTF-8 bytes."""
    return F.concat(F.lit("D"), F.hex(F.encode(text, "UTF-8")))
