"""From an encoding and a stored type to the column functions that lead from one to the other.

A value is read by the JSON reader (`read_type`), or from text where the reader refuses it (`loosened`); made ready
once (`prepared`); converted (`convert`). `as_text` leads back to what the event carried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode import values, written
from engine.decode.methods import own_method
from engine.decode.shape import SINGLE, ColumnShape, Encoding, EncodingKind
from engine.json_text import from_json

MILLIS_DIGITS, MICROS_DIGITS = 3, 6
ROOM: Final = 18
MARKED: Final = ("marked", "unsure")
BARE: Final = "#"
"""Stands before the text of a value without quotes in JSON, where quotes hold base64: 1234 could be base64, too."""
BYTES_MARK: Final = "\x00bytes:"
"""Stands before the base64 of bytes where texts and bytes can be in one column: no text of a source begins with it."""
_READ: Final[dict[EncodingKind, T.DataType]] = {
    "boolean": T.BooleanType(),
    "unsigned": T.StringType(),  # a decimal of no places would round
    "decimal_base64": T.BinaryType(), "decimal_either": T.BinaryType(),
    "base64": T.BinaryType(),
    "days": T.IntegerType(),
    "millis": T.LongType(), "micros": T.LongType(), "nanos": T.LongType(),
    "time_millis": T.LongType(), "time_micros": T.LongType(), "time_nanos": T.LongType(),
}  # fmt: skip
CALENDAR: Final = frozenset(
    {"days", "date", "millis", "micros", "nanos", "moment", "instant", "zoned_text", "local_text", "written_moment"}
)
DECIMALS: Final = frozenset({"decimal_base64", "decimal_text", "decimal_any", "decimal_either", "decimal_number"})
_DIGITS: Final = ("decimal_base64", "decimal_either")  # prepared, hexadecimal ones
_COUNTS: Final = frozenset({"days", "millis", "micros", "nanos", "time_millis", "time_micros", "time_nanos"})
NO_FRACTION: Final = r"\.0+$"
"""How a whole number ends where its writer only knows fractions: of a column with nulls, pandas writes 10 as 10.0."""
_WHOLE: Final = T.DecimalType(values.DECIMAL_DIGITS, 0)
_FAMILIES: Final = ((T.NumericType, T.BooleanType), (T.DateType, T.TimestampType, T.TimestampNTZType), (T.BinaryType,))


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a conversion needs beside the value: the zone of zoneless times, and columns of the event."""

    time_zone: str
    schema_hash: Column
    mysql: Column  # whether the event is from MySQL or MariaDB


# --- reading --------------------------------------------------------------------------------------------------------


def read_type(column: ColumnShape) -> T.DataType:
    """The type the JSON reader gives the column's values; text where its encodings differ in it."""
    kinds = {_read_type(encoding, column.value_type) for _, encoding in column.encodings}
    return kinds.pop() if len(kinds) == 1 else T.StringType()


def _read_type(encoding: Encoding, kind: T.DataType) -> T.DataType:
    if isinstance(kind, T.StringType) and not encoding.kind.startswith(("time", "decimal")):
        return T.StringType()
    if encoding.kind == "decimal_number" and isinstance(kind, T.DecimalType):
        # All places that there is room for, so that too many are seen and not rounded away; as text, where there is
        # not much.
        room = values.DECIMAL_DIGITS - kind.precision
        return T.StringType() if room < ROOM else T.DecimalType(values.DECIMAL_DIGITS, room + kind.scale)
    if encoding.kind == "integer":
        return kind if isinstance(kind, T.IntegerType | T.LongType) else T.LongType()
    if encoding.kind == "floating":
        single = encoding.size == SINGLE or isinstance(kind, T.FloatType)
        return T.FloatType() if single else T.DoubleType()
    return _READ.get(encoding.kind, T.StringType())


def loosened(text: Column, kind: T.DataType, counts: bool = False) -> Column:
    """A text as the JSON reader's type: numbers in quotes, whole numbers written as fractions (of 12345678.0 the reader
    makes 1.2345678E7), flags as numbers and numbers as flags. A number that `counts` days or fractions of a second is
    no flag; days, which are the small numbers, can be written as a date."""
    if isinstance(kind, T.BinaryType):
        return F.try_to_binary(F.when(~text.startswith(BARE), text), F.lit("base64"))
    if isinstance(kind, T.BooleanType):
        return values.boolean(text)
    if isinstance(kind, T.IntegerType | T.LongType):
        number = _whole(text, kind)
        if counts:
            is_days = isinstance(kind, T.IntegerType)
            return F.coalesce(number, F.unix_date(values.iso_date(text))) if is_days else number
        return F.coalesce(number, F.when(text == "true", 1).when(text == "false", 0).cast(kind))
    return _as(text, kind, T.StringType)


def _whole(text: Column, kind: T.DataType) -> Column:
    """A whole number, be it written as a fraction or with a power of ten."""
    whole = F.regexp_replace(text, NO_FRACTION, "").try_cast(kind)
    powered = values.decimal_text(F.when(text.contains("E") | text.contains("e"), text), _WHOLE).try_cast(kind)
    return F.coalesce(whole, own_method(powered))


def counts(column: ColumnShape) -> bool:
    """Whether the column's numbers count days or fractions of a second."""
    return all(encoding.kind in _COUNTS for _, encoding in column.encodings)


def prepared(value: Column, column: ColumnShape) -> Column:
    """The value in the form that conversions want: bytes of a number as hexadecimal digits."""
    return F.hex(value) if _is_digits(column) else value


def of_text(text: Column, column: ColumnShape) -> Column:
    """A text as conversions want it. BARE before it says that it stood in no quotes: a number can, but no bytes."""
    kind = read_type(column)
    ready = prepared(loosened(text, kind, counts(column)), column)
    if column.guessed and isinstance(kind, T.BooleanType):  # by values that were no numbers
        return F.when(~text.rlike(values.A_NUMBER) | text.try_cast("double").isin(0.0, 1.0), ready)
    return F.when(_is_no_base64(text), text).otherwise(ready) if _is_digits(column) else ready


def as_text(value: Column, column: ColumnShape) -> Column:
    """What the event carried, from the prepared value."""
    kind = read_type(column)
    if _is_digits(column):
        told = F.when(_is_no_base64(value), F.regexp_replace(value, f"^{BARE}", ""))
        return F.coalesce(told, F.base64(F.unhex(value)))
    return F.base64(value) if isinstance(kind, T.BinaryType) else value.cast("string")


def _is_digits(column: ColumnShape) -> bool:
    is_number = all(encoding.kind in _DIGITS for _, encoding in column.encodings)
    return is_number and isinstance(read_type(column), T.BinaryType)


def _is_no_base64(text: Column) -> Column:
    """Whether a number stood there, or an object with one and its scale."""
    return text.startswith(BARE) | text.startswith("{")


# --- converting -----------------------------------------------------------------------------------------------------


def convert(value: Column, column: ColumnShape, given: Circumstances) -> Column:
    """The stored value before its mask, from the prepared one; null where it does not fit."""
    by_encoding: dict[Encoding, list[int | None]] = {}
    for schema_hash, encoding in column.encodings:
        by_encoding.setdefault(encoding, []).append(schema_hash)
    *others, (usual, _) = sorted(by_encoding.items(), key=lambda item: None in item[1])
    result = _as_encoded(value, usual, column, given)
    for encoding, hashes in others:
        listed = given.schema_hash.isin(*[number for number in hashes if number is not None])
        result = F.when(listed, _as_encoded(value, encoding, column, given)).otherwise(result)
    return result


def _as_encoded(value: Column, encoding: Encoding, column: ColumnShape, given: Circumstances) -> Column:
    kind = _read_type(encoding, column.value_type)
    if kind != read_type(column):
        return _from_text(value, encoding, column.value_type, given)
    if encoding.kind in _DIGITS and not _is_digits(column):  # beside bytes that are no number's
        return _convert(F.hex(value), encoding, column.value_type, given)
    return _convert(value, encoding, column.value_type, given)


def _from_text(text: Column, encoding: Encoding, kind: T.DataType, given: Circumstances) -> Column:
    read = loosened(text, _read_type(encoding, kind), encoding.kind in _COUNTS)
    if encoding.kind in _DIGITS:
        digits = F.when(text.startswith("{"), text).otherwise(F.hex(read))
        return values.let(digits, lambda told: _convert(told, encoding, kind, given))
    return _convert(read, encoding, kind, given)


def _convert(value: Column, encoding: Encoding, kind: T.DataType, given: Circumstances) -> Column:
    if encoding.kind == "array":
        return _array(value, encoding, kind, given)
    if encoding.kind in MARKED:
        return _marked(value, kind)
    if encoding.kind.startswith("written"):
        return _written(value, encoding, kind, given)
    if encoding.kind in DECIMALS:
        return _decimal(value, encoding, kind)
    if encoding.kind.startswith("time"):
        return _as(_time(value, encoding, given), kind, T.StringType)
    if isinstance(kind, T.StringType) and encoding.kind not in ("any_text", "bits"):
        return value
    if encoding.kind in CALENDAR:
        return _calendar(value, encoding, kind, given)
    return _plain(value, encoding, kind)


def _written(text: Column, encoding: Encoding, kind: T.DataType, given: Circumstances) -> Column:
    """Values that are text whatever their type."""
    match encoding.kind:
        case "written_integer" if isinstance(kind, T.IntegerType | T.LongType | T.DecimalType):
            return _exact(text, kind) if isinstance(kind, T.DecimalType) else _whole(text, kind)
        case "written_boolean":
            return _as(values.boolean(text), kind, T.BooleanType)
        case "written_bits" | "written_any_bits":
            read = written.bits if encoding.kind == "written_bits" else written.any_bits
            return _as(read(text, encoding.size), kind, T.StringType)
        case "written_bytes":
            return _as(written.latin_bytes(text, encoding.size), kind, T.BinaryType)
        case "written_time":
            return _as(written.time_of_day(text), kind, T.StringType)
        case "written_enum":
            return _as(written.enum_label(text, encoding.labels), kind, T.StringType)
        case "written_set":
            return _as(written.set_labels(text, encoding.labels), kind, T.StringType)
        case "written_floating" if encoding.size == SINGLE:
            return _as(values.of_text(text, T.FloatType()), kind, T.FloatType)
        case "written_moment":
            return _written_moment(text, kind, given)
    return _as(text, kind, T.StringType)


def _marked(text: Column, kind: T.DataType) -> Column:
    """Text, or bytes as base64 behind a mark; text is no bytes, but bytes can be kept as their base64."""
    is_bytes, base64 = text.startswith(BYTES_MARK), F.substring(text, len(BYTES_MARK) + 1, values.LONGEST)
    if isinstance(kind, T.BinaryType):
        return F.when(is_bytes, F.try_to_binary(base64, F.lit("base64")))
    return _as(F.when(is_bytes, base64).otherwise(text), kind, T.StringType)


def _written_moment(text: Column, kind: T.DataType, given: Circumstances) -> Column:
    """A time that says its zone, or one of the source's zone."""
    local = _local(values.local_moment(text), kind, given, text)
    if isinstance(kind, T.TimestampNTZType):
        return local
    zoned = _as(values.zoned_moment(text), kind, T.TimestampType)
    return zoned if given.time_zone == "UTC" else F.when(values.says_zone(text), zoned).otherwise(local)


def _plain(value: Column, encoding: Encoding, kind: T.DataType) -> Column:
    if encoding.kind == "unsigned":
        return _as(values.unsigned(_exact(value, _WHOLE)), kind, T.DecimalType)
    if encoding.kind == "bits":
        return _as(values.bits(value, encoding.size or 1), kind, T.StringType)
    if encoding.kind == "hex":
        return _as(F.try_to_binary(value, F.lit("hex")), kind, T.BinaryType)
    if encoding.kind == "base64_url":
        return _as(values.base64_url(value), kind, T.BinaryType)
    if encoding.kind == "any_text":
        return _as(_digits_or_text(value), kind, T.StringType)
    if encoding.kind == "text" and isinstance(kind, T.IntegerType | T.LongType):
        return F.coalesce(value.try_cast(kind), loosened(value, kind))
    carried = _read_type(encoding, kind)
    return value if kind == carried else _as(value, kind, type(carried))


def _exact(text: Column, kind: T.DecimalType) -> Column:
    """A number that the decimal holds to its last digit."""
    return own_method(values.let(text, lambda digits: values.decimal_text(digits, kind)))


def _digits_or_text(text: Column) -> Column:
    """Text; a number of no fixed scale, which arrives as an object, becomes its digits."""
    is_number = text.startswith('{"scale":') & text.rlike(r'^\{"scale":-?[0-9]+,"value":"[A-Za-z0-9+/]+=*"\}$')
    return F.when(is_number, values.variable_scale_digits(text)).otherwise(text)


def _decimal(value: Column, encoding: Encoding, kind: T.DataType) -> Column:
    scale = encoding.size or 0
    if encoding.kind == "decimal_number" and isinstance(_read_type(encoding, kind), T.DecimalType):
        return F.when(value.try_cast(kind) == value, value.try_cast(kind))
    if encoding.kind == "decimal_base64":
        if isinstance(kind, T.DecimalType):
            bare = _exact(F.when(value.startswith(BARE), F.substring(value, 2, values.LONGEST)), kind)
            return F.coalesce(values.decimal_hex(F.when(~value.startswith(BARE), value), scale, kind), bare)
        exact = values.decimal_digits(value, F.lit(scale))
    elif encoding.kind == "decimal_either":
        return _either(value, scale, kind)
    else:
        exact = values.variable_scale_digits(value) if encoding.kind == "decimal_any" else value
    if isinstance(kind, T.DecimalType):
        decimal = kind
        return values.let(exact, lambda digits: values.decimal_text(digits, decimal))
    return _as(exact, kind, T.StringType)


def _either(value: Column, scale: int, kind: T.DataType) -> Column:
    """Of a fixed scale, or an object that says its own."""
    is_object = value.startswith("{")
    fixed = _decimal(F.when(~is_object, value), Encoding("decimal_base64", scale), kind)
    return F.when(is_object, _decimal(value, Encoding("decimal_any"), kind)).otherwise(fixed)


def _calendar(value: Column, encoding: Encoding, kind: T.DataType, given: Circumstances) -> Column:
    match encoding.kind:
        case "days":
            return _day(values.days(value), kind, given)
        case "date":
            return _day(F.coalesce(values.iso_date(value), values.days(value.try_cast("int"))), kind, given)
        case "zoned_text":
            return _as(values.zoned_moment(value), kind, T.TimestampType)
        case "local_text":
            return _local(values.local_moment(value), kind, given, value)
        case "moment" | "instant":
            return _any_moment(value, encoding, kind, given)
        case unit:
            return _local(values.moment(value, unit).cast("timestamp_ntz"), kind, given)


def _day(date: Column, kind: T.DataType, given: Circumstances) -> Column:
    """A date; where times are stored, its midnight, which is one of no zone."""
    if isinstance(kind, T.TimestampType):
        return _local(date.cast("timestamp_ntz"), kind, given)
    return _as(date, kind, T.DateType)


def _any_moment(text: Column, encoding: Encoding, kind: T.DataType, given: Circumstances) -> Column:
    """A number in the unit of the declared digits, or text; only text of an instant says its zone. What the number
    counts from is 1970 in the source's zone; in UTC, where no connector made it."""
    count = text.try_cast("bigint")
    if encoding.size is None:
        number = F.when(given.mysql, values.moment(count, "millis")).otherwise(values.moment(count, "micros"))
    else:
        number = values.moment(count, unit_of(encoding.size))
    written = values.local_moment(text) if isinstance(kind, T.TimestampNTZType) else values.zoned_moment(text)
    if isinstance(kind, T.TimestampType) and given.time_zone != "UTC":
        here = _local(values.local_moment(text), kind, given, text)
        written = F.when(values.says_zone(text), written).otherwise(here)
    is_text = text.contains(":") | values.is_bare_date(text)
    of_no_zone = number.cast("timestamp_ntz")
    counted = (
        _as(of_no_zone, kind, T.TimestampNTZType) if encoding.kind == "instant" else _local(of_no_zone, kind, given)
    )
    return F.when(is_text, _as(written, kind, T.TimestampNTZType)).otherwise(counted)


def unit_of(digits: int) -> str:
    """The unit in which Debezium counts a time of so many digits of a second."""
    return "millis" if digits <= MILLIS_DIGITS else "micros" if digits <= MICROS_DIGITS else "nanos"


def _local(moment: Column, kind: T.DataType, given: Circumstances, text: Column | None = None) -> Column:
    """A time of no zone, written as `text` where it is; where an instant is stored, the source's zone says which."""
    if not isinstance(kind, T.TimestampType) or given.time_zone == "UTC":
        return _as(moment, kind, T.TimestampNTZType)
    instant = F.to_utc_timestamp(moment.cast("timestamp"), given.time_zone)
    bounded = values.in_calendar(instant)
    return bounded if text is None else F.when(values.far_from_its_ends(text), instant).otherwise(bounded)


def _as(value: Column, kind: T.DataType, natural: type[T.DataType]) -> Column:
    """The value as the stored type, from the type that it has. Null where the one is never the other."""
    if isinstance(kind, natural) and natural is not T.DecimalType:
        return value
    if natural is T.StringType:
        return values.of_text(value, kind)
    alike = any(issubclass(natural, family) and isinstance(kind, family) for family in _FAMILIES)
    return value.try_cast(kind) if alike or isinstance(kind, T.StringType) else F.lit(None).cast(kind)


def _time(value: Column, encoding: Encoding, given: Circumstances) -> Column:
    """Numbers become HH:MM:SS.ffffff. Text does where no connector wrote it (`time_either`), else stays as it is; what
    is neither a number nor a clock has no value, but in a column of texts (`time_text`)."""
    if encoding.kind in _COUNTS:
        return values.time_of_day(value, encoding.kind.removeprefix("time_"))
    unit = unit_of(MICROS_DIGITS if encoding.size is None else encoding.size)
    number = value.try_cast("bigint")
    clock = values.time_of_day(number, unit)
    if unit == "millis":  # MySQL's TIME counts microseconds whatever its digits
        clock = F.when(given.mysql, values.time_of_day(number, "micros")).otherwise(clock)
    shown = value if encoding.kind == "time" else written.clock_or_text(value)
    told = F.when(value.contains(":"), shown).otherwise(clock)
    return F.coalesce(told, value) if encoding.kind == "time_text" else told


def _array(text: Column, encoding: Encoding, kind: T.DataType, given: Circumstances) -> Column:
    if not isinstance(kind, T.ArrayType) or encoding.items is None:
        return text if isinstance(kind, T.StringType) else F.lit(None).cast(kind)
    items, element = encoding.items, kind.elementType
    texts = from_json(text, T.ArrayType(T.StringType()))
    if isinstance(element, T.StringType) and items.kind == "text":
        return texts

    def made(found: Column) -> Column:
        return F.transform(found, lambda item: _from_text(item, items, element, given))

    def complete(found: Column) -> Column:
        return values.let(made(found), lambda done: F.when(_nulls(done) == _nulls(found), done))

    return values.let(texts, complete)


def _nulls(array: Column) -> Column:
    return F.size(F.filter(array, lambda item: item.isNull()))
