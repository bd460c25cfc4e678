"""Positions: order-preserving text of fixed-width upper-case hexadecimal segments, the epoch first.

    PostgreSQL       epoch(4) - commit LSN of the transaction before (16) - LSN (16)
    MySQL, MariaDB   epoch(4) - number of the binlog file (8) - position in it (16) - row in the event (8)

Where the source gives no position, or a sentinel in its place, the position is null.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

EPOCH = "0000"
_MAX_FILE = 0xFFFFFFFF


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
