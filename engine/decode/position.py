"""Positions: order-preserving text of fixed-width upper-case hexadecimal segments, the epoch first.

    PostgreSQL       epoch(4) - commit LSN of the transaction before (16) - LSN (16)
    MySQL, MariaDB   epoch(4) - number of the binlog file (8) - position in it (16) - row in the event (8)
    Spanner          epoch(4) - commit time in seconds (16) and nanoseconds (8) - transaction (text as bytes) -
                     record in it (16) - change in the record (8)
    SharePlex        epoch(4) - SCN (16) - transaction (text as bytes) - change in it (16)
    lines of files   epoch(4) - name of the file (text as bytes) - line (16) - row in the line (8)
    Kafka records    epoch(4) - time of the change in milliseconds (12) - partition (8) - offset (16) - row (8)

Text as bytes is of any length: the hyphen behind it sorts before every digit, and so a shorter text before a longer.

Where the source gives no position, or a sentinel in its place, the position is null.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

EPOCH = "0000"
SECOND_EPOCH = "0001"
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


def spanner(seconds: Column, nanos: Column, transaction: Column, sequence: Column, mod: Column) -> Column:
    """Commit time in full: commits a nanosecond apart exist. Transactions of one instant change different rows."""
    return _joined(_hex(seconds, 16), _hex(nanos, 8), F.hex(transaction), _hex(sequence, 16), _hex(mod, 8))


def shareplex(scn: Column, transaction: Column, sequence: Column) -> Column:
    """`scn` a whole number of up to 18 digits; `transaction` text such as 7.0.411499."""
    return _joined(_hex(scn, 16), F.hex(transaction), _hex(sequence, 16))


def file_line(name: Column, line: Column, row: Column, epoch: str = EPOCH) -> Column:
    """`name` of the file below the source's folder: files are in the order of their names."""
    return _joined(F.hex(name), _hex(line, 16), _hex(row, 8), epoch=epoch)


def kafka_record(millis: Column, partition: Column, offset: Column, row: Column, epoch: str = EPOCH) -> Column:
    """`millis` never decreases inside a partition: it orders partitions, offsets order what one of them holds."""
    return _joined(_hex(millis, 12), _hex(partition, 8), _hex(offset, 16), _hex(row, 8), epoch=epoch)


def _not_negative(number: Column) -> Column:
    return F.when(number >= 0, number)


def _hex(number: Column, width: int) -> Column:
    return F.lpad(F.hex(number), width, "0")


def _joined(*segments: Column, epoch: str = EPOCH) -> Column:
    """Null where a segment is."""
    parts = [part for segment in segments for part in (F.lit("-"), segment)]
    return F.concat(F.lit(epoch), *parts)
