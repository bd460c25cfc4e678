"""Selects the converter from an encoding in events to a stored type.

There are three families: columns of text, columns of times, and all others. The stored type decides how a value is
read: a number that is stored as a decimal never becomes a float.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pyspark.sql import types as T

from siltstone.engine.decode.json_value import plain_text
from siltstone.engine.decode.row_shape import Encoding
from siltstone.engine.decode.types import binary, clocks, dates_and_times, decimals, numbers, text, time_texts
from siltstone.engine.decode.types.arrays import array
from siltstone.engine.decode.types.converter import NOTHING, Converter, chained, each
from siltstone.engine.decode.types.dates_and_times import Clock

MARKED: Final = frozenset({"marked", "unsure"})
COUNTS: Final = {"millis": "millis", "micros": "micros", "nanos": "nanos"}
CLOCKS: Final = {"time_millis": "millis", "time_micros": "micros", "time_nanos": "nanos"}
CALENDAR: Final = frozenset(
    {"days", "date", "moment", "instant", "zoned_text", "local_text", "written_moment", *COUNTS}
)
DECIMALS: Final = frozenset({"decimal_base64", "decimal_text", "decimal_any", "decimal_either", "decimal_number"})
_BASE64_DIGITS: Final = frozenset({"decimal_base64", "decimal_any", "decimal_either"})
_BITS: Final = frozenset({"bits", "written_bits", "written_any_bits"})
_TEXT_TYPES: Final = frozenset({"text", "any_text", "written_text"})


def converter(encoding: Encoding, kind: T.DataType, clock: Clock, is_guessed: bool = False) -> Converter:
    """The converter of an encoding to a stored type. `is_guessed`: the type is inferred from the first values."""
    if isinstance(kind, T.ArrayType):
        if encoding.kind != "array" or encoding.items is None:
            return NOTHING
        return array(converter(encoding.items, kind.elementType, clock))
    if encoding.kind in MARKED:
        return _marked(kind)
    if isinstance(kind, T.StringType):
        return _of_text_column(encoding, clock)
    if encoding.kind in CALENDAR:
        return _of_calendar(encoding, kind, clock)
    return _of_other(encoding, kind, is_guessed)


def _marked(kind: T.DataType) -> Converter:
    """Text, or bytes as base64 after a mark. Text is not bytes, but bytes can be stored as their base64."""
    if isinstance(kind, T.BinaryType):
        return each(text.marked_bytes)
    return text.unmarked_texts() if isinstance(kind, T.StringType) else text.unmarked(_read_from_text(kind).one)


# --- columns of text ------------------------------------------------------------------------------------------------


def _of_text_column(encoding: Encoding, clock: Clock) -> Converter:
    """Text is stored unchanged. Times of day, bits, labels and decimals become text of one form."""
    match encoding.kind:
        case "any_text":
            return text.DIGITS_OR_TEXT
        case "written_enum":
            return text.enum_label(encoding.labels)
        case "written_set":
            return text.set_labels(encoding.labels)
        case "written_time":
            return clocks.WRITTEN_CLOCK
        case "time" | "time_either" | "time_text":
            return clocks.clock(encoding.kind, encoding.size, clock.is_mysql)
        case "time_millis" | "time_micros" | "time_nanos":
            return clocks.counted_clock(CLOCKS[encoding.kind])
        case "bits" | "written_bits" | "written_any_bits":
            return _bits_as_text(encoding)
        case "decimal_base64" | "decimal_any" | "decimal_either":
            return each(_digits(encoding))
    return text.TEXT


def _digits(encoding: Encoding) -> Callable[[Any], str | None]:
    """A function that gives the exact digits of a number from its bytes."""
    if encoding.kind == "decimal_any":
        return decimals.variable_scale_digits
    of_scale = decimals.fixed_scale_digits if encoding.kind == "decimal_base64" else decimals.either_digits
    return of_scale(encoding.size or 0)


def _bits(encoding: Encoding) -> Callable[[Any], int | None]:
    """A function that gives the number of some bits."""
    if encoding.kind == "bits":
        return binary.little_endian_bits
    if encoding.kind == "written_bits":
        return lambda value: binary.word_bits(plain_text(value))
    return lambda value: binary.any_bits(plain_text(value), encoding.size)


def _bits_as_text(encoding: Encoding) -> Converter:
    number_of = _bits(encoding)
    size = encoding.size or 1 if encoding.kind == "bits" else encoding.size

    def one(value: Any) -> str | None:
        number = number_of(value)
        return None if number is None else binary.bit_digits(number, size)

    return each(one)


# --- columns of times -----------------------------------------------------------------------------------------------


def _of_calendar(encoding: Encoding, kind: T.DataType, clock: Clock) -> Converter:
    zone = clock.zone if isinstance(kind, T.TimestampType) else None
    match encoding.kind:
        case "days":
            return dates_and_times.midnights(dates_and_times.days(dates_and_times.counted_day), kind, zone)
        case "date":
            return dates_and_times.midnights(dates_and_times.days(dates_and_times.any_day), kind, zone)
        case "zoned_text":
            return dates_and_times.as_stored(time_texts.instants(None), kind)
        case "local_text":
            return dates_and_times.as_stored(time_texts.local_moments(), kind, zone)
        case "written_moment":
            if isinstance(kind, T.TimestampNTZType):
                return time_texts.local_moments()
            return dates_and_times.as_stored(time_texts.instants(zone), kind)
        case "moment" | "instant":
            moments = time_texts.moment_or_count(kind, encoding.size, encoding.kind == "instant", clock)
            return dates_and_times.as_stored(moments, kind)
    return dates_and_times.as_stored(dates_and_times.counted(COUNTS[encoding.kind]), kind, zone)


# --- all others -----------------------------------------------------------------------------------------------------


def _of_other(encoding: Encoding, kind: T.DataType, is_guessed: bool) -> Converter:
    """Numbers, flags, bytes, and texts that are read as the stored type."""
    if isinstance(kind, T.BinaryType):
        return _of_bytes(encoding)
    if not numbers.is_number(kind):
        return _read_from_text(kind) if encoding.kind in _TEXT_TYPES else NOTHING
    if encoding.kind == "decimal_base64" and isinstance(kind, T.DecimalType):
        return decimals.fixed_scale(encoding.size or 0, kind.precision, kind.scale)
    if encoding.kind == "boolean" and isinstance(kind, T.BooleanType):
        return each(numbers.guessed_boolean) if is_guessed else numbers.BOOLEAN
    if encoding.kind == "text" and isinstance(kind, T.BooleanType):
        return each(numbers.flag)
    read = _number(kind, encoding.is_single, has_flags=encoding.kind != "written_integer")
    if is_guessed and isinstance(kind, T.DoubleType):
        read = numbers.GUESSED_DOUBLE
    if encoding.kind in ("base64", "base64_url", "hex", "written_bytes") or encoding.kind.startswith("time"):
        return NOTHING
    if encoding.kind in _BASE64_DIGITS:
        return _either(encoding, read)
    if encoding.kind == "unsigned":
        return chained(each(decimals.unsigned), read)
    return chained(each(_bits(encoding)), read) if encoding.kind in _BITS else read


def _either(encoding: Encoding, read: Converter) -> Converter:
    """Numbers from bytes. In a column with a scale, a number without quotes is the value itself."""
    digits_of = _digits(encoding)

    def one(value: Any) -> Any:
        if encoding.kind != "decimal_any" and type(value) is not str and not decimals.is_object(value):
            return read.one(value)
        digits = digits_of(value)
        return None if digits is None else read.one(digits)

    return each(one)


def _of_bytes(encoding: Encoding) -> Converter:
    match encoding.kind:
        case "base64":
            return binary.BASE64
        case "base64_url":
            return each(binary.base64_url_value)
        case "hex":
            return each(lambda value: binary.hex_bytes(plain_text(value)))
        case "written_bytes":
            return each(lambda value: binary.latin_bytes(plain_text(value), encoding.size))
        case "text" | "any_text" | "written_text":
            return each(lambda value: plain_text(value).encode())
    return NOTHING


def _number(kind: T.DataType, is_single: bool = False, has_flags: bool = True) -> Converter:
    """Numbers and flags as the stored type, from numbers and from texts. `has_flags`: true is 1 and false is 0."""
    if isinstance(kind, T.IntegerType | T.LongType):
        return numbers.whole(*(numbers.INT if isinstance(kind, T.IntegerType) else numbers.LONG), has_flags)
    if isinstance(kind, T.FloatType | T.DoubleType):
        return numbers.floating(is_single or isinstance(kind, T.FloatType))
    if isinstance(kind, T.DecimalType):
        return decimals.decimal(kind.precision, kind.scale)
    return numbers.BOOLEAN if isinstance(kind, T.BooleanType) else NOTHING


def _read_from_text(kind: T.DataType) -> Converter:
    """The converter from text to the stored type."""
    if isinstance(kind, T.TimestampType):
        return each(lambda value: time_texts.instant(plain_text(value), None))
    if isinstance(kind, T.TimestampNTZType):
        return each(lambda value: time_texts.local_moment(plain_text(value)))
    if isinstance(kind, T.DateType):
        return dates_and_times.days(dates_and_times.any_day)
    return each(numbers.flag) if isinstance(kind, T.BooleanType) else _number(kind)
