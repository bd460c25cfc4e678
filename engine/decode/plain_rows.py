"""Plain rows: each record is a row, and the spec says what orders them, which of them delete, and which columns count.

Every row that deletes nothing says how its row looks now, whole or, where columns are absent, in part. The order is
that of `sequence_by`, column by column: numbers as numbers, times as instants, bytes as bytes, everything else as text.
Columns whose type the spec declares are ordered as that type, bytes also where the file says so; others as each value
looks, numbers before times before text, but no objects and no lists. A number in a column whose declared type is a time
with so many digits of a second counts what that type says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine import names
from engine.decode import fractions, outcome, position
from engine.decode.carried import says_bytes, says_time
from engine.decode.conditions import TIME, Looked, holds
from engine.decode.conversion import NO_FRACTION, unit_of
from engine.decode.envelope import CHANGE, ENVELOPE_SCHEMA, REJECT
from engine.decode.instants import plainly_written
from engine.decode.json_lines import NOT_TEXT, is_unread, no_json_reason
from engine.decode.methods import own_method
from engine.decode.natural import binary_encoding
from engine.decode.numbers import plain_number
from engine.decode.parsing import line_of, struct_of, uncut_line_of
from engine.decode.values import base64_url, moment, says_zone
from engine.spec.model import SourceSpec
from engine.spec.rows import RowsSpec, SequenceKind

CONNECTOR: Final = "rows"
_NANOS: Final = r":[0-9]{2}\.[0-9]{6}([0-9]{1,3})"
_LAST_MICROS: Final = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z
_FIRST_MICROS: Final = -62_135_596_800_000_000  # 0001-01-01T00:00:00Z


def envelopes(lines: DataFrame, source: SourceSpec) -> DataFrame:
    """What each row is.

    Needs: file, line, text: a row as a JSON object; row_schema: where the file says its columns' types; problem: where
        something is wrong that the text does not tell.
    Gives: the columns of ENVELOPE_COLUMNS.
    Rows: 1:1 with the lines.
    """
    rows = source.rows
    assert rows is not None  # the spec sees to it
    return lines.transform(_parsed, rows).transform(_ordered, rows, source).transform(_completed, rows)


def _parsed(lines: DataFrame, rows: RowsSpec) -> DataFrame:
    """The columns that say what the row is, as text, numbers as they stand in the row."""
    text, kind = F.col("text"), _texts(rows.looked_at)
    schemas, problem = (
        F.col(name) if name in lines.columns else F.lit(None).cast("string") for name in ("row_schema", "problem")
    )
    told = [schemas.alias("row_schema_json"), problem.alias("_problem"), uncut_line_of(text, kind).alias("_uncut")]
    read = lines.select("file", "line", "text", *told)
    others = read.select("*", line_of(F.when(F.col("_uncut").isNull(), text), kind).alias("_read"))
    again = others.select("*", _again(F.col("_read._line"), text, rows.looked_at).alias("_again"))
    row = F.coalesce("_uncut._line", _mended(F.col("_read._line"), F.col("_again"), rows.looked_at), "_read._line")
    return again.select(
        *("file", "line", "text", "row_schema_json", "_problem"),
        row.alias("_row"),
        (F.col("_uncut").isNull() & is_unread(F.col("_read"))).alias("_broken"),
    )


def _again(row: Column, text: Column, looked_at: Sequence[str]) -> Column:
    """The row with its numbers as text, where one of its texts is a fraction and one of these fields may be cut: the
    JSON reader makes doubles of what it hands on as text."""
    some = outcome.some(fractions.is_fraction(row[name]) for name in looked_at)
    cut = F.when(some, F.when(fractions.may_be_cut(text, looked_at), text))
    return own_method(struct_of(fractions.in_quotes(cut, looked_at), _texts(looked_at)))


def _mended(row: Column, again: Column, looked_at: Sequence[str]) -> Column:
    """The row as the JSON reader gives it, but for numbers that it has cut: those as they stand. Null where none is."""
    exact = [F.when(fractions.is_cut(again[n]), again[n]).otherwise(row[n]).alias(n) for n in looked_at]
    return F.when(again.isNotNull(), own_method(F.struct(*exact)))


def _texts(columns: Iterable[str]) -> T.StructType:
    return T.StructType([T.StructField(name, T.StringType()) for name in columns])


def _ordered(parsed: DataFrame, rows: RowsSpec, source: SourceSpec) -> DataFrame:
    """Each sequence column as a segment of the position; the time of the change; what the row does."""
    row, digits, sequence = F.col("_row"), dict(rows.digits), list(enumerate(rows.sequence_by))
    zone = source.time_zone
    bytewise = parsed.select(
        "*", *[_bytes(row[name], name, kind, source).alias(f"_bytes_{i}") for i, (name, kind) in sequence]
    )
    texts = {name: F.when(F.col(f"_bytes_{i}").isNull(), row[name]) for i, (name, _) in sequence}
    timed = bytewise.select(
        "*",
        _told(rows, row, zone).alias("_told"),
        _told_number(rows, row).alias("_told_number"),
        *[_sequenced(texts[name], zone, digits.get(name)).alias(f"_instant_{i}") for i, (name, _) in sequence],
        *[plain_number(texts[name]).alias(f"_number_{i}") for i, (name, _) in sequence],
    )
    segments = [_segment(row[name], kind, i, digits.get(name)).alias(f"_segment_{i}") for i, (name, kind) in sequence]
    does, looked = F.lit(names.OP_UPDATE), _looked(row, rows, zone)
    if rows.delete_when is not None:
        does = F.when(own_method(holds(rows.delete_when, looked)), names.OP_DELETE).otherwise(does)
    if rows.truncate_when is not None:
        does = F.when(own_method(holds(rows.truncate_when, looked)), names.OP_TRUNCATE).otherwise(does)
    return timed.select("*", *segments, does.alias("op"), _time(rows).alias("commit_ts"))


def _looked(row: Column, rows: RowsSpec, zone: str) -> Looked:
    """The row as conditions look at it: a column's times are told by its declared type, else by that of the file."""
    digits, kinds = dict(rows.digits), dict(rows.kinds)

    def is_time(name: str) -> Column:
        return F.lit(kinds[name] == "time") if name in kinds else says_time(F.col("row_schema_json"), name)

    def time(name: str, text: Column) -> Column:
        return _time_segment(text, _moment(text, zone, digits.get(name)), digits.get(name))

    return Looked(row, is_time, time)


def _completed(ordered: DataFrame, rows: RowsSpec) -> DataFrame:
    """The columns of every envelope."""
    text, row = F.col("text"), F.col("_row")
    problems = [_problem(row[name], name, kind, i) for i, (name, kind) in enumerate(rows.sequence_by)]
    untimed = F.when(F.col("commit_ts").isNull(), _untimed(rows))
    broken = F.when(F.col("_broken"), own_method(_broken_reason(text)))
    reason = F.coalesce(F.col("_problem"), broken, *problems, untimed)
    place = position.rows([F.col(f"_segment_{i}") for i in range(len(rows.sequence_by))], _tie(rows))
    is_delete = F.col("op") == names.OP_DELETE
    made = {
        "kind": F.when(reason.isNotNull(), REJECT).otherwise(CHANGE),
        "reason": reason,
        "connector": F.lit(CONNECTOR),
        "source": F.lit(f"{CONNECTOR}:{rows.table}"),
        "table": F.lit(rows.table),
        "origin": F.lit(names.ORIGIN_STREAM),
        "before_json": F.when(is_delete, text),
        "after_json": F.when(F.col("op") == names.OP_UPDATE, text),
        "schema_hash": F.when(F.col("row_schema_json").isNotNull(), F.xxhash64("row_schema_json")),
        "position": place,
    }
    kept = {name: F.col(name) for name in ("file", "line", "text", "row_schema_json", "op", "commit_ts")}
    return ordered.select(
        *[
            (kept | made).get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
            for field in ENVELOPE_SCHEMA
        ]
    )


def _tie(rows: RowsSpec) -> Column | None:
    """What stands last among the changes of a key at one place in the sequence; None: the order of all changes says."""
    removes = F.col("op") != names.OP_UPDATE
    if rows.ties == "order":
        return None
    return F.when(removes if rows.ties == "delete" else ~removes, 1).otherwise(0)


def _instant(text: Column, zone: str) -> Column:
    """A date, or a date and time; without a zone of its own it is in the source's."""
    told = own_method(F.when(text.rlike(TIME), text.try_cast("timestamp")))
    usual = F.timestamp_micros(plainly_written(text))
    if zone in ("UTC", "Z"):
        return F.coalesce(usual, told)
    others = own_method(F.when(says_zone(text), told).otherwise(F.to_utc_timestamp(told, zone)))
    return F.when(text.endswith("Z"), F.coalesce(usual, others)).otherwise(others)


def _moment(text: Column, zone: str, digits: int | None) -> Column:
    """A time, be it a number, where the column's type says by the digits of a second what it counts since 1970."""
    written = _instant(text, zone)
    return written if digits is None else F.coalesce(written, moment(_count(text), unit_of(digits)))


def _sequenced(text: Column, zone: str, digits: int | None) -> Column:
    """The same of a column that orders. A number is no time, but where it counts one."""
    moment_of = _moment(text, zone, digits)
    return moment_of if digits is not None else F.when(~position.is_plain_number(text), moment_of)


def _count(text: Column) -> Column:
    """A whole number; null where the text is none."""
    return F.regexp_replace(plain_number(text), NO_FRACTION, "").try_cast("bigint")


def _bytes(text: Column, name: str, kind: SequenceKind, source: SourceSpec) -> Column:
    """The bytes that a text stands for; null where the column is none of bytes, as far as spec and file tell."""
    if kind not in ("any", "bytes"):
        return F.lit(None).cast("binary")
    base64 = F.try_to_binary(text, F.lit("base64"))
    told = own_method(F.when(says_bytes(F.col("row_schema_json"), name), base64))
    if kind == "any":
        return told
    by_spec = {"hex": F.try_to_binary(text, F.lit("hex")), "base64_url": base64_url(text)}
    return F.coalesce(told, own_method(by_spec.get(binary_encoding(source).kind, base64)))


def _has_parts(text: Column) -> Column:
    """Whether a text is the JSON of an object or a list: their texts are in no order."""
    keys, items = F.json_object_keys(text), F.json_array_length(text)
    return F.when(text.startswith("{"), keys.isNotNull()).when(text.startswith("["), items.isNotNull()).otherwise(False)


def _segment(text: Column, kind: SequenceKind, index: int, digits: int | None) -> Column:
    """The value as a segment of the position; null where it is not of its kind."""
    number, instant = F.col(f"_number_{index}"), F.col(f"_instant_{index}")
    as_number = F.when(number.isNotNull(), position.number_segment(number))
    as_time = _time_segment(text, instant, digits)
    as_text, as_bytes = position.text_segment(text), position.bytes_segment(F.col(f"_bytes_{index}"))
    by_kind = {"number": as_number, "time": as_time, "text": as_text, "bytes": as_bytes}
    as_it_looks = F.coalesce(as_bytes, as_number, as_time, F.when(~_has_parts(text), as_text))
    return own_method(by_kind.get(kind, as_it_looks))


def _time_segment(text: Column, instant: Column, digits: int | None) -> Column:
    """A time to its last nanosecond; null where there is no instant."""
    nanos = F.rpad(F.regexp_extract(text, _NANOS, 1), 3, "0")
    if digits is not None and unit_of(digits) == "nanos":
        nanos = F.coalesce(F.lpad(F.pmod(_count(text), F.lit(1_000)).cast("string"), 3, "0"), nanos)
    return F.when(instant.isNotNull(), position.time_segment(instant, nanos))


def _told(rows: RowsSpec, row: Column, zone: str) -> Column:
    """What `time_by` says, as a time; null where it says none, or counts one."""
    if rows.time_by is None:
        return F.lit(None).cast("timestamp")
    return _moment(row[rows.time_by], zone, dict(rows.digits).get(rows.time_by))


def _told_number(rows: RowsSpec, row: Column) -> Column:
    """The number that `time_by` says; null where it says none."""
    return F.lit(None).cast("string") if rows.time_by is None else plain_number(row[rows.time_by])


def _time(rows: RowsSpec) -> Column:
    """When the change was: as `time_by` says, else the first time in the sequence, else its first number counts it.

    What is beyond the calendar in UTC is its end: position decides order, time only labels it.
    """
    if rows.time_by is not None:
        return F.coalesce(_bounded(F.col("_told")), _counted(F.col("_told_number"), rows.time_unit))
    indexes = range(len(rows.sequence_by))
    instants = [_bounded(F.col(f"_instant_{i}")) for i in indexes]
    counts = [_counted(F.col(f"_number_{i}"), rows.time_unit) for i in indexes]
    return F.coalesce(*instants, *counts)


def _bounded(instant: Column) -> Column:
    first, last = (F.timestamp_micros(F.lit(micros)) for micros in (_FIRST_MICROS, _LAST_MICROS))
    return F.when(instant.isNotNull(), F.greatest(F.least(instant, last), first))


def _counted(number: Column, unit: str) -> Column:
    a_microsecond = {"seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}.get(unit)
    exact = number.try_cast("decimal(38,9)")
    micros = exact / 1_000 if a_microsecond is None else F.try_multiply(exact, F.lit(a_microsecond))
    last, first = F.lit(_LAST_MICROS), F.lit(_FIRST_MICROS)
    beyond = F.when(number.startswith("-"), first).otherwise(last)
    bounded = F.greatest(F.least(F.floor(micros), last), first).cast("bigint")
    counts = ~number.endswith("Infinity")  # that orders rows, but dates none
    return own_method(F.when(counts, F.timestamp_micros(F.coalesce(bounded, beyond))))


def _problem(text: Column, name: str, kind: SequenceKind, index: int) -> Column:
    """Why a row has no place in the sequence; null where it has one."""
    kinds = {
        "number": "a number",
        "time": "a time",
        "text": "text",
        "bytes": "bytes",
        "any": "a number, a time or text",
    }
    unfit = F.lit(f'sequence column "{name}": the value is not {kinds[kind]}')
    return F.when(text.isNull(), f'sequence column "{name}" is null or missing').when(
        F.col(f"_segment_{index}").isNull(), unfit
    )


def _untimed(rows: RowsSpec) -> Column:
    if rows.time_by is not None:
        return F.lit(f'time column "{rows.time_by}": the value is no time')
    return F.lit("no sequence column tells a time or a number; name a column with the time under source.time_by")


def _broken_reason(text: Column) -> Column:
    """Why a line could not be parsed as a row."""
    in_table = F.col("row_schema_json").isNotNull()  # only a CSV file can bring a text that is no row
    return F.coalesce(
        F.when(~F.is_valid_utf8(text), NOT_TEXT).when(in_table, "not as many values as the file has columns"),
        no_json_reason(text),
        F.lit("not a JSON object"),
    )
