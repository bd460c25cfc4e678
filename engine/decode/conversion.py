"""From an encoding and a stored type to the column function that leads from one to the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode import values
from engine.decode.shape import ColumnShape, Encoding, EncodingKind

MILLIS_DIGITS, MICROS_DIGITS = 3, 6
_NUMBERED: dict[EncodingKind, str] = {"millis": "millis", "micros": "micros", "nanos": "nanos"}
_CALENDAR: frozenset[EncodingKind] = frozenset(
    {"days", "date", "millis", "micros", "nanos", "moment", "zoned_text", "local_text"}
)
_DECIMALS: frozenset[EncodingKind] = frozenset({"decimal_base64", "decimal_text", "decimal_any"})


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a conversion needs beside the value: the zone of zoneless times, and the columns of the event."""

    time_zone: str
    schema_hash: Column
    mysql: Column  # whether the event is from MySQL or MariaDB


def prepared(text: Column, column: ColumnShape) -> Column | None:
    """What a conversion needs many times and is worth a column of its own: the digits of an unscaled decimal."""
    kinds = {encoding.kind for _, encoding in column.encodings}
    needed = "decimal_base64" in kinds and isinstance(column.value_type, T.DecimalType)
    return values.base64_digits(text) if needed else None


def convert(text: Column, column: ColumnShape, given: Circumstances, digits: Column | None = None) -> Column:
    """The value before its mask; null where the text does not fit. `digits`: what `prepared` gives for the text."""
    by_encoding: dict[Encoding, list[int | None]] = {}
    for schema_hash, encoding in column.encodings:
        by_encoding.setdefault(encoding, []).append(schema_hash)
    *others, (usual, _) = sorted(by_encoding.items(), key=lambda item: None in item[1])
    value = _convert(text, usual, column.value_type, given, digits)
    for encoding, hashes in others:
        listed = given.schema_hash.isin(*[number for number in hashes if number is not None])
        value = F.when(listed, _convert(text, encoding, column.value_type, given, digits)).otherwise(value)
    return value


def unkept(text: Column, column: ColumnShape) -> Column:
    """Whether a text that does not fit is a value of the source that no stored type can hold: rescued, not rejected.

    Infinity, years before 1 or after 9999, numbers of more digits than a decimal has.
    """
    kinds = {encoding.kind for _, encoding in column.encodings}
    conditions: list[Column] = []
    if kinds & _CALENDAR:
        conditions.append(text.rlike(values.OUT_OF_CALENDAR) | text.rlike(values.WHOLE))
    if kinds & _DECIMALS and isinstance(column.value_type, T.DecimalType):
        conditions += [
            _well_formed(text, encoding) & _convert_decimal(text, encoding, _widest(column.value_type)).isNull()
            for _, encoding in column.encodings
        ]
    result = F.lit(False)
    for condition in conditions:
        result = result | F.coalesce(condition, F.lit(False))
    return result


def _widest(kind: T.DecimalType) -> T.DecimalType:
    return T.DecimalType(values.DECIMAL_DIGITS, kind.scale)


def _well_formed(text: Column, encoding: Encoding) -> Column:
    if encoding.kind == "decimal_text":
        return text.rlike(values.NUMBER)
    if encoding.kind == "decimal_any":
        return values.variable_scale_digits(text).isNotNull()
    return values.base64_digits(text) != ""


def _convert(
    text: Column, encoding: Encoding, kind: T.DataType, given: Circumstances, digits: Column | None = None
) -> Column:
    if encoding.kind == "array":
        return _array(text, encoding, kind, given)
    if encoding.kind in _DECIMALS:
        return _convert_decimal(text, encoding, kind, digits)
    if encoding.kind in _CALENDAR:
        return _calendar(text, encoding, kind, given)
    if encoding.kind.startswith("time"):
        return _time(text, encoding, given)
    return _plain(text, encoding, kind)


def _plain(text: Column, encoding: Encoding, kind: T.DataType) -> Column:
    size = encoding.size or 1
    functions: dict[EncodingKind, Callable[[], Column]] = {
        "boolean": lambda: values.boolean(text),
        "integer": lambda: values.whole(text, kind),
        "unsigned": lambda: values.unsigned(text),
        "floating": lambda: text.try_cast(kind),
        "text": lambda: text,
        "any_text": lambda: _digits_or_text(text),
        "base64": lambda: values.base64_bytes(text),
        "hex": lambda: values.hex_bytes(text),
        "bits": lambda: values.bits(text, size),
    }
    if isinstance(kind, T.StringType) and encoding.kind in ("boolean", "integer", "floating", "base64", "hex"):
        return text
    value = functions[encoding.kind]()
    return value if encoding.kind in _NATURAL and isinstance(kind, _NATURAL[encoding.kind]) else value.try_cast(kind)


_NATURAL: dict[EncodingKind, tuple[type[T.DataType], ...]] = {
    "boolean": (T.BooleanType,),
    "integer": (T.DataType,),
    "floating": (T.DataType,),
    "text": (T.StringType,),
    "any_text": (T.StringType,),
    "base64": (T.BinaryType,),
    "hex": (T.BinaryType,),
    "bits": (T.StringType,),
}


def _digits_or_text(text: Column) -> Column:
    """Text; a number of no fixed scale, which arrives as an object, becomes its digits."""
    is_number = text.startswith('{"scale":') & text.rlike(r'^\{"scale":-?[0-9]+,"value":"[A-Za-z0-9+/]+=*"\}$')
    return F.when(is_number, values.variable_scale_digits(text)).otherwise(text)


def _convert_decimal(text: Column, encoding: Encoding, kind: T.DataType, digits: Column | None = None) -> Column:
    scale = encoding.size or 0
    if not isinstance(kind, T.DecimalType):
        exact = {
            "decimal_base64": lambda: values.decimal_digits(text, scale),
            "decimal_any": lambda: values.variable_scale_digits(text),
        }.get(encoding.kind, lambda: text)()
        return exact if isinstance(kind, T.StringType) else exact.try_cast(kind)
    if encoding.kind == "decimal_text":
        return values.decimal_text(text, kind)
    variable = values.let(values.variable_scale_digits(text), lambda exact: values.decimal_text(exact, kind))
    if encoding.kind == "decimal_any":
        return variable
    if digits is None:
        fixed = values.let(values.base64_digits(text), lambda found: values.decimal_hex(found, scale, kind))
    else:
        fixed = values.decimal_hex(digits, scale, kind)
    return F.when(text.startswith("{"), variable).otherwise(fixed)


def _calendar(text: Column, encoding: Encoding, kind: T.DataType, given: Circumstances) -> Column:
    if encoding.kind == "days":
        return _as(values.days(text), kind)
    if encoding.kind == "date":
        return _as(F.when(text.contains("-") & text.contains(":"), None).otherwise(_any_date(text)), kind)
    if encoding.kind == "zoned_text":
        return _as(values.zoned_moment(text), kind)
    if encoding.kind == "local_text":
        return _local(values.local_moment(text), kind, given)
    if encoding.kind in _NUMBERED:
        return _local(values.moment(text, _NUMBERED[encoding.kind]).cast("timestamp_ntz"), kind, given)
    return _any_moment(text, encoding, kind, given)


def _any_date(text: Column) -> Column:
    return F.coalesce(values.days(text), values.iso_date(text))


def _any_moment(text: Column, encoding: Encoding, kind: T.DataType, given: Circumstances) -> Column:
    """A number in the unit of the declared digits, or text; only text of an instant says its zone."""
    if encoding.size is None:
        number = F.when(given.mysql, values.moment(text, "millis")).otherwise(values.moment(text, "micros"))
    else:
        number = values.moment(text, unit_of(encoding.size))
    zoneless = isinstance(kind, T.TimestampNTZType)
    written = values.local_moment(text) if zoneless else values.zoned_moment(text)
    return F.when(text.contains(":"), written).otherwise(_local(number.cast("timestamp_ntz"), kind, given))


def unit_of(digits: int) -> str:
    """The unit in which Debezium counts a time of so many digits of a second."""
    return "millis" if digits <= MILLIS_DIGITS else "micros" if digits <= MICROS_DIGITS else "nanos"


def _local(moment: Column, kind: T.DataType, given: Circumstances) -> Column:
    """A time of no zone; where an instant is stored, the source's zone says which."""
    if isinstance(kind, T.TimestampType) and given.time_zone != "UTC":
        return F.to_utc_timestamp(moment.cast("timestamp"), given.time_zone)
    return _as(moment, kind)


def _as(value: Column, kind: T.DataType) -> Column:
    return value.try_cast(kind)


def _time(text: Column, encoding: Encoding, given: Circumstances) -> Column:
    """Numbers become HH:MM:SS.ffffff; text stays as it is."""
    if encoding.kind != "time":
        return values.time_of_day(text, encoding.kind.removeprefix("time_"))
    micros = values.time_of_day(text, "micros")
    unit = unit_of(MICROS_DIGITS if encoding.size is None else encoding.size)
    number = (
        F.when(given.mysql, micros).otherwise(values.time_of_day(text, unit))
        if unit == "millis"
        else (values.time_of_day(text, unit))
    )
    return F.when(text.contains(":"), text).otherwise(number)


def _array(text: Column, encoding: Encoding, kind: T.DataType, given: Circumstances) -> Column:
    if not isinstance(kind, T.ArrayType) or encoding.items is None:
        return text if isinstance(kind, T.StringType) else F.lit(None).cast(kind)
    items, element = encoding.items, kind.elementType
    texts = F.from_json(text, T.ArrayType(T.StringType()))
    made = F.transform(texts, lambda item: _convert(item, items, element, given))
    complete = ~F.exists(F.arrays_zip(texts.alias("t"), made.alias("v")), _lost)
    return F.when(complete, made)


def _lost(pair: Column) -> Column:
    return pair.getField("t").isNotNull() & pair.getField("v").isNull()
