"""Positions: order-preserving text of fixed-width upper-case hexadecimal segments, the epoch first.

    PostgreSQL       epoch(4) - commit LSN of the transaction before (16) - LSN (16); READs of a snapshot: LSN (16) -
                     LSN (16) - the last commit streamed before it (16), where there is one
    MySQL, MariaDB   epoch(4) - number of the binlog file (8) - position in it (16) - row in the event (8)
    Oracle           epoch(4) - commit SCN (16), zeros where SCNs alone order - SCN (16) - redo record (24) - number in
                     it (8) - redo thread (4)
    SQL Server       epoch(4) - commit LSN (20) - change LSN (20) - number of the event in it (8)
    rows             epoch(4) - one segment a column of sequence_by (see number_segment ...) - the tie, if it decides
    Spanner          epoch(4) - commit time in seconds (16) and nanoseconds (8) - transaction (text as bytes) -
                     record in it (16) - change in the record (8)
    DTS              epoch(4) - number of the file (16) - position in it (16)
    SharePlex        epoch(4) - SCN (16) - transaction (text as bytes) - change in it (16)
    lines of files   epoch(4) - name of the file (text as bytes) - line (16) - row in the line (8)
    Kafka records    epoch(4) - time of the change in milliseconds (12) - partition (8) - offset (16) - row (8)

Text as bytes is of any length: the hyphen behind it sorts before every digit, and so a shorter text before a longer.

Where the source gives no position, or a sentinel in its place, the position is null.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine.decode import numbers
from engine.json_text import from_json
from engine.jvm import CATALOG

NUMBER_SEGMENT = f"{CATALOG}.number_segment"
NUMBER_AT_END = f"{CATALOG}.number_at_end"
EPOCH = "0000"
SECOND_EPOCH = "0001"
_MAX_FILE = 0xFFFFFFFF
_SIGN = -(2**63)


def postgresql(lsn: Column, sequence: Column) -> Column:
    """`lsn` bigint; `sequence` the text of a JSON array of two, each a number as text or null."""
    own = F.coalesce(_not_negative(lsn), _of_sequence(sequence, -1))
    return _joined(_hex(F.coalesce(_of_sequence(sequence, 1), own), 16), _hex(own, 16))


def postgresql_read(lsn: Column, sequence: Column) -> Column:
    """The place of a READ of a snapshot at `lsn`: behind what began before it, which but for the last transaction was
    committed before it, too. A third number, where there is one, is the last commit that the connector had streamed:
    all from there on is delivered beside the READs (`ordering.windows` takes it for their window)."""
    own = _hex(_not_negative(lsn), 16)
    streamed = F.concat(F.lit("-"), _hex(_of_sequence(sequence, 1), 16))
    return F.concat(_joined(own, own), F.coalesce(streamed, F.lit("")))


def _of_sequence(sequence: Column, side: int) -> Column:
    """The first (1) or the second (-1) LSN in PostgreSQL's `sequence`; null where there is none."""
    plainly = F.call_function(f"{CATALOG}.number_in_pair", sequence, F.lit(side))
    return _not_negative(F.coalesce(plainly, _number_between(sequence, side)))


def _number_between(sequence: Column, side: int) -> Column:
    return F.substring_index(F.translate(sequence, '[]" ', ""), ",", side).try_cast("bigint")


def binlog(file: Column, pos: Column, row: Column) -> Column:
    """`file` text that ends in the file's number; `pos`, `row` whole numbers, a missing row is row 0."""
    number = F.call_function(NUMBER_AT_END, file)
    known = F.when(number.between(0, _MAX_FILE) & (pos >= 0), number)
    return _joined(_hex(known, 8), _hex(pos, 16), _hex(F.coalesce(row, F.lit(0)), 8))


def oracle(commit_scn: Column, scn: Column, rs_id: Column, ssn: Column, thread: Column) -> Column:
    """`commit_scn`, `scn` digits; a commit SCN of 0 says that SCNs alone order. `rs_id` as `redo_record` takes it."""
    record = F.coalesce(redo_record(rs_id), F.when(_blank(rs_id), F.lit("0" * 24)))
    number = F.coalesce(ssn, F.lit(0))
    return _joined(_scn(commit_scn, 0), _scn(scn, 1), record, _hex(number, 8), _hex(F.coalesce(thread, F.lit(0)), 4))


def oracle_read(commit_scn: Column, scn: Column) -> Column:
    """The place of a READ that saw everything up to an SCN: behind all changes of that number."""
    return _joined(_scn(commit_scn, 0), _scn(scn, 1), *[F.lit("F" * width) for width in (24, 8, 4)])


def sqlserver(commit: Column, change: Column, serial: Column) -> Column:
    """LSNs of three hexadecimal numbers with colons between; a missing serial number is 0."""
    return _joined(_three_part_lsn(commit), _three_part_lsn(change), _hex(F.coalesce(serial, F.lit(0)), 8))


def sqlserver_read(commit: Column) -> Column:
    """The place of a READ that saw everything up to a commit: behind all changes of it."""
    return _joined(_three_part_lsn(commit), F.lit("F" * 20), F.lit("F" * 8))


def spanner(seconds: Column, nanos: Column, transaction: Column, sequence: Column, mod: Column) -> Column:
    """Commit time in full: commits a nanosecond apart exist. Transactions of one instant change different rows."""
    return _joined(_hex(seconds, 16), _hex(nanos, 8), F.hex(transaction), _hex(sequence, 16), _hex(mod, 8))


def shareplex(scn: Column, transaction: Column, sequence: Column) -> Column:
    """`scn` a whole number of up to 18 digits; `transaction` text such as 7.0.411499."""
    return _joined(_hex(scn, 16), F.hex(transaction), _hex(sequence, 16))


def dts(text: Column) -> Column:
    """`position@file`, both numbers; a number alone; numbers, or PostgreSQL's LSNs, with <-> between, the first first.

    Nothing stands at 0@0, which some records carry that are no changes.
    """
    parts = F.split(F.regexp_replace(text, r"^([0-9]+)@([0-9]+)$", "$2<->$1"), "<->")
    numbers = [_number_or_lsn(F.get(parts, F.lit(index))) for index in range(2)]
    first = F.when(F.size(parts) == 1, F.lit(0).cast("bigint")).otherwise(numbers[0])
    second = F.when(F.size(parts) == 1, numbers[0]).otherwise(numbers[1])
    return F.when(F.size(parts).between(1, 2) & ((first > 0) | (second > 0)), dts_numbers(first, second))


def dts_numbers(file: Column, place: Column) -> Column:
    """The same of the numbers that such a text says: that of the file and the position in it."""
    return _joined(_hex(file, 16), _hex(place, 16))


def _number_or_lsn(text: Column) -> Column:
    """A number of up to 18 digits, or an LSN as two hexadecimal halves; null for all else."""
    halves = F.split(text, "/")
    digits = F.concat(F.lpad(F.get(halves, F.lit(0)), 8, "0"), F.lpad(F.get(halves, F.lit(1)), 8, "0"))
    lsn = F.when(text.rlike("^[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}$"), F.conv(digits, 16, -10).try_cast("bigint"))
    return F.coalesce(numbers.digits(text), _not_negative(lsn))


def file_line(name: Column, line: Column, row: Column, epoch: str = EPOCH) -> Column:
    """`name` of the file below the source's folder: files are in the order of their names."""
    return _joined(F.hex(name), _hex(line, 16), _hex(row, 8), epoch=epoch)


def kafka_record(millis: Column, partition: Column, offset: Column, row: Column, epoch: str = EPOCH) -> Column:
    """`millis` never decreases inside a partition: it orders partitions, offsets order what one of them holds."""
    return _joined(_hex(millis, 12), _hex(partition, 8), _hex(offset, 16), _hex(row, 8), epoch=epoch)


def _not_negative(number: Column) -> Column:
    return F.when(number >= 0, number)


def _hex(number: Column, width: int) -> Column:
    return F.call_function(f"{CATALOG}.hex_digits", number, F.lit(width))


def _joined(*segments: Column, epoch: str = EPOCH) -> Column:
    """Null where a segment is."""
    parts = [part for segment in segments for part in (F.lit("-"), segment)]
    return F.concat(F.lit(epoch), *parts)


def rows(sequence: Sequence[Column], tie: Column | None) -> Column:
    """`sequence` the segments that `sequence_segment` gives; `tie` what decides at one place of the sequence."""
    last = [] if tie is None else [tie.cast("string")]
    return _joined(*sequence, *last)


def number_segment(text: Column) -> Column:
    """A plain decimal number of any length: B or, below zero, A, the count of its whole digits (2; FF and 4 from 255 of
    them on), its digits. Null where the text is none (`is_plain_number`).

    Below zero count and digits are complements, and F ends them: the longer number is the smaller one. The separator
    sorts before every digit, so that segments of different lengths keep their order. Infinity has the count that no
    number has.
    """
    return F.call_function(NUMBER_SEGMENT, text)


def is_plain_number(text: Column) -> Column:
    """Whether a text is the digits of a number, 65,534 before its point at most, a sign perhaps before them; or says
    Infinity."""
    return number_segment(text).isNotNull()


def time_segment(moment: Column, nanos: Column) -> Column:
    """An instant in microseconds, and the three digits of nanoseconds behind it."""
    shifted = F.unix_micros(moment).bitwiseXOR(F.lit(_SIGN))
    return F.concat(F.lit("C"), _hex(shifted, 16), nanos)


def text_segment(text: Column) -> Column:
    """Text in the order of its UTF-8 bytes."""
    return bytes_segment(F.encode(text, "UTF-8"))


def bytes_segment(value: Column) -> Column:
    """Bytes one after the other, each as a number without a sign."""
    return F.concat(F.lit("D"), F.hex(value))


def datastream_mysql(file: Column, pos: Column, moment: Column, half: Column) -> Column:
    """`file` text whose last digits are its number, `pos` its text; `moment` when the change was; `half` 0 for the
    first one of a pair at one position, else 1."""
    others = F.regexp_extract(file, r"([0-9]+)[^0-9]+$", 1).try_cast("bigint")
    number = F.coalesce(F.call_function(NUMBER_AT_END, file), others)
    known = F.when(number.between(0, _MAX_FILE), number)
    place = pos.try_cast("bigint")
    return _joined(_hex(known, 8), _hex(F.when(place > 0, place), 16), _moment(moment), half.cast("string"))


def datastream_oracle(scn: Column, rs_id: Column, ssn: Column, half: Column) -> Column:
    """`scn`, `ssn` digits; `rs_id` three hexadecimal numbers with points between, perhaps blanks around it, and 0x."""
    return _joined(
        _scn(scn, 1),
        F.coalesce(redo_record(rs_id), F.when(_blank(rs_id), F.lit("0" * 24))),
        _hex(F.coalesce(ssn.try_cast("bigint"), F.lit(0)), 8),
        half.cast("string"),
    )


def datastream_oracle_read(scn: Column) -> Column:
    """The place of a READ that saw everything up to an SCN: behind all changes of that number."""
    return _joined(_scn(scn, 1), F.lit("F" * 24), F.lit("F" * 8), F.lit("1"))


def redo_record(rs_id: Column) -> Column:
    """Three hexadecimal numbers with points between, perhaps blanks around them and 0x before; else null."""
    parts = F.split(F.regexp_replace(F.upper(F.trim(rs_id)), "^0X", ""), r"\.")
    record = F.concat(*[F.lpad(F.coalesce(F.get(parts, F.lit(i)), F.lit("")), 8, "0") for i in range(3)])
    return F.when((F.trim(rs_id) != "") & record.rlike("^[0-9A-F]{24}$"), record)


def _scn(digits: Column, least: int) -> Column:
    number = digits.try_cast("bigint")
    return _hex(F.when(number >= least, number), 16)


def datastream_postgresql(moment: Column, lsn: Column, half: Column) -> Column:
    """`lsn` two hexadecimal halves with a slash between."""
    halves = F.split(F.upper(F.trim(lsn)), "/")
    number = F.concat(F.lpad(F.get(halves, F.lit(0)), 8, "0"), F.lpad(F.get(halves, F.lit(1)), 8, "0"))
    known = F.when(F.upper(F.trim(lsn)).rlike("^[0-9A-F]{1,8}/[0-9A-F]{1,8}$"), number)
    return _joined(_moment(moment), known, half.cast("string"))


def datastream_sqlserver(moment: Column, lsn: Column, location: Column, half: Column) -> Column:
    """`lsn` three hexadecimal numbers with colons between; `location` the JSON of file, page and slot, if told."""
    places = from_json(location, "array<bigint>")
    slots = [_hex(F.coalesce(F.get(places, F.lit(i)), F.lit(0)), 16) for i in range(3)]
    return _joined(_moment(moment), _three_part_lsn(lsn), F.concat(*slots), half.cast("string"))


def _three_part_lsn(lsn: Column) -> Column:
    """Three hexadecimal numbers with colons between; else null."""
    parts = F.split(F.upper(F.trim(lsn)), ":")
    number = F.concat(*[F.lpad(F.get(parts, F.lit(i)), width, "0") for i, width in enumerate((8, 8, 4))])
    return F.when(F.upper(F.trim(lsn)).rlike("^[0-9A-F]{1,8}:[0-9A-F]{1,8}:[0-9A-F]{1,4}$"), number)


def _moment(moment: Column) -> Column:
    """Microseconds since 1970."""
    return _hex(F.unix_micros(moment), 16)


def _blank(text: Column) -> Column:
    return text.isNull() | (F.trim(text) == "")
