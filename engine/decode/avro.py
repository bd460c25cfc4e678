"""Columns of Avro records, read as they are encoded, without logical types: what each is stored as, and its encoding.

The logical types stand in the writer's schema. They count where they belong, inside the type; on the field instead of
the type they mean nothing, and values stay numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode import values
from engine.decode.avro_names import Named
from engine.decode.connect import Typed, decimal
from engine.decode.shape import Encoding, EncodingKind
from engine.json_text import INSTANT, KEEP_NULLS, LOCAL, MICROS
from engine.jvm import CATALOG
from engine.names import apart

MOMENT_TEXT: Final = f"{CATALOG}.moment_text"
DECIMAL_TEXT: Final = f"{CATALOG}.decimal_text"
Told = tuple[Column, T.DataType, Encoding]

_PLAIN: Final[dict[str, tuple[T.DataType, EncodingKind]]] = {
    "boolean": (T.BooleanType(), "boolean"),
    "int": (T.IntegerType(), "integer"),
    "long": (T.LongType(), "integer"),
    "float": (T.FloatType(), "floating"),
    "double": (T.DoubleType(), "floating"),
    "string": (T.StringType(), "text"),
    "enum": (T.StringType(), "text"),
    "bytes": (T.BinaryType(), "base64"),
    "fixed": (T.BinaryType(), "base64"),
}
_LOGICAL: Final[dict[tuple[str, str], tuple[T.DataType, EncodingKind]]] = {
    ("int", "date"): (T.DateType(), "days"),
    ("int", "time-millis"): (T.StringType(), "time_millis"),
    ("long", "time-micros"): (T.StringType(), "time_micros"),
    ("long", "time-interval-micros"): (T.StringType(), "time_micros"),
    ("long", "timestamp-millis"): (T.TimestampType(), "millis"),
    ("long", "timestamp-micros"): (T.TimestampType(), "micros"),
    ("long", "timestamp-nanos"): (T.TimestampType(), "nanos"),
    ("long", "local-timestamp-millis"): (T.TimestampNTZType(), "millis"),
    ("long", "local-timestamp-micros"): (T.TimestampNTZType(), "micros"),
    ("long", "local-timestamp-nanos"): (T.TimestampNTZType(), "nanos"),
}
_IN_ARRAYS: Final = ("boolean", "int", "long", "double", "string")
_OF_PARTS: Final = (T.StructType, T.ArrayType, T.MapType)
_ONE_VALUE: Final = (("value", "length"), ("timestamp", "offset"))
"""The fields of records that stand for one value, that of the first one."""
_NESTED: Final = "nestedArray"
_ELEMENT: Final = "elementValue"
EVENT_TIMES: Final = ("read_timestamp", "source_timestamp")
EVENT_FIELDS: Final = ("uuid", "object", "read_method", "stream_name", "schema_key", "source_metadata")


def avro_columns(
    schema: Any, named: Named, record: T.StructType, value: Column, clocks: bool = False
) -> dict[str, Told]:
    """The columns of a record: `record` its type as Spark reads it, `value` the record itself.

    `named`: the named types of all of the schema, whose names are full. `clocks`: dates, times and decimals as
    text, which says what it is to somebody who does not know the column's type.
    """
    kinds = {field.name: field.dataType for field in record}
    fields = type_of(schema, named)["fields"]
    own_names = zip(fields, apart(field["name"] for field in fields), strict=True)
    places = [(field, own if own in kinds else field["name"]) for field, own in own_names]
    columns = {
        field["name"]: _column(field["type"], kinds[place], value[place], named)
        for field, place in places
        if place in kinds  # Spark leaves out a field that is always null
    }
    return {name: _read_off(*told) for name, told in columns.items()} if clocks else columns


class Telling(NamedTuple):
    """How a value is told by a text that says what it is: a word of `AvroType` and its number; the encoding of that."""

    word: Literal["digits", "days", "instant", "local"]
    number: int
    encoding: Encoding


def telling(kind: T.DataType, encoding: Encoding) -> Telling | None:
    """How a value is told so; None where it is told as it is."""
    if encoding.kind == "decimal_base64":
        return Telling("digits", encoding.size or 0, Encoding("decimal_text"))
    if isinstance(kind, T.DateType):
        return Telling("days", 0, Encoding("date"))
    if isinstance(kind, T.TimestampType):
        return Telling("instant", values.A_SECOND[encoding.kind], Encoding("zoned_text"))
    if isinstance(kind, T.TimestampNTZType):
        return Telling("local", values.A_SECOND[encoding.kind], Encoding("local_text"))
    return None


def _read_off(value: Column, kind: T.DataType, encoding: Encoding) -> Told:
    """A value as it is told; a count that is beyond the calendar stays one."""
    told = telling(kind, encoding)
    if told is None:
        return value, kind, encoding
    if told.word == "digits":
        digits = F.call_function(DECIMAL_TEXT, value, F.lit(told.number))
        return F.coalesce(digits, F.base64(value)), kind, told.encoding
    if told.word == "days":
        text = values.days(value).cast("string")
    else:
        moment = _moment(value, told.number)
        text = F.concat(moment, F.lit("Z")) if told.word == "instant" else moment
    return F.coalesce(text, value.cast("string")), kind, told.encoding


def _moment(count: Column, a_second: int) -> Column:
    """A count of time as text without a zone; null of what is beyond the calendar. `a_second`: its units in one."""
    return F.call_function(MOMENT_TEXT, count, F.lit(a_second).cast("bigint"))


def metadata(schema: Mapping[str, Any], record: T.StructType, value: Column) -> list[Column]:
    """What Datastream says around the payload, as its JSON does: times as text in UTC."""
    fields = {field["name"]: field["type"] for field in schema["fields"] if field["name"] in record.names}
    times = [_clock(value[name], only_type(fields[name])).alias(name) for name in EVENT_TIMES if name in fields]
    return [*times, *[value[name].alias(name) for name in EVENT_FIELDS if name in fields]]


def _clock(count: Column, kind: Any) -> Column:
    return F.concat(_moment(count, values.A_SECOND[clock_unit(kind)]), F.lit("Z"))


def clock_unit(kind: Any) -> str:
    """What a time of an event counts."""
    logical = kind.get("logicalType") if isinstance(kind, Mapping) else None
    return "micros" if logical == "timestamp-micros" else "millis"


def only_type(kind: Any) -> Any:
    """The one type of a union with null; the union where there are more."""
    parts = [part for part in kind if part != "null"] if isinstance(kind, list) else [kind]
    return parts[0] if len(parts) == 1 else parts


def type_of(written: Any, named: Named) -> Any:
    """The same, and what a name stands for, or a type inside a type."""
    kind = only_type(written)
    inside = kind.get("type") if isinstance(kind, Mapping) else None
    if isinstance(inside, list | Mapping):
        return type_of(inside, named)
    return named[kind] if isinstance(kind, str) and kind in named else kind


def name_of(kind: Any) -> Any:
    """What kind of type it is; a union stays what it is."""
    return kind["type"] if isinstance(kind, Mapping) else kind


def scalar(kind: Any) -> Typed | None:
    """How a type of no parts is stored, and its encoding; None of another one. `kind`: as `type_of` gives it."""
    name = name_of(kind)
    logical = str(kind.get("logicalType")) if isinstance(kind, Mapping) else ""
    if not isinstance(name, str):
        return None
    if logical == "decimal" and name in ("bytes", "fixed") and "precision" in kind:  # without it, Avro reads bytes
        return decimal(int(kind.get("scale", 0)), int(kind["precision"]))
    found = _LOGICAL.get((name, logical)) or _PLAIN.get(name)
    return None if found is None else (found[0], Encoding.of(*found))


def array_of_scalars(kind: Any) -> Typed | None:
    """The same of an array of what is stored as it is; None of another type."""
    if not (isinstance(kind, Mapping) and kind["type"] == "array" and only_type(kind["items"]) in _IN_ARRAYS):
        return None
    stored, encoding = _PLAIN[only_type(kind["items"])]
    return T.ArrayType(stored), Encoding("array", items=Encoding.of(stored, encoding))


def stands_for(kind: Any) -> str | None:
    """The name of the field that a record stands for; None of another type."""
    if not (isinstance(kind, Mapping) and kind["type"] == "record"):
        return None
    names = {field["name"] for field in kind["fields"]}
    return next((fields[0] for fields in _ONE_VALUE if names == set(fields)), None)


def _column(written: Any, read: T.DataType, value: Column, named: Named) -> Told:
    kind = type_of(written, named)
    found = scalar(kind)
    return _made_of(kind, read, value, named) if found is None else (value, *found)


def _made_of(kind: Any, read: T.DataType, value: Column, named: Named) -> Told:
    """Records that stand for one value; everything else that has parts is kept as JSON text."""
    told = _of_one_value(kind, read, value, named)
    if told is not None:
        return told
    if isinstance(read, T.LongType):
        return value, read, Encoding("integer")
    if isinstance(read, T.DoubleType):
        return value, read, Encoding("floating")
    found = array_of_scalars(kind)
    if found is not None:
        return value, *found
    if isinstance(read, T.BinaryType):  # as text, what is not UTF-8 would be lost
        return value, read, Encoding("base64")
    text = _text(kind, read, value, named) if isinstance(read, _OF_PARTS) else value.cast("string")
    return text, T.StringType(), Encoding("text")


def _of_one_value(kind: Any, read: T.DataType, value: Column, named: Named) -> Told | None:
    """A record that stands for one value; None for another one."""
    if not (isinstance(kind, Mapping) and kind["type"] == "record" and isinstance(read, T.StructType)):
        return None
    fields = {field["name"]: field["type"] for field in kind["fields"]}
    if set(fields) == {_NESTED, _ELEMENT}:
        text = _array_text(fields[_ELEMENT], value, read, named)
        return F.when(value.isNotNull(), text), T.StringType(), Encoding("text")
    name = stands_for(kind)
    return None if name is None else _column(fields[name], read[name].dataType, value[name], named)


def _text(written: Any, read: T.DataType, value: Column, named: Named) -> Column:
    """JSON text of what has parts; the text of any other value."""
    kind, inside = type_of(written, named), _inside(written, read, value, named)
    is_one = isinstance(kind, list) or _of_one_value(kind, read, value, named) is not None
    return (
        inside.cast("string") if is_one or not isinstance(read, _OF_PARTS) else F.to_json(inside, KEEP_NULLS | MICROS)
    )


def _inside(written: Any, read: T.DataType, value: Column, named: Named) -> Column:
    """A value as JSON text around it tells it: numbers and times as what they mean, bytes as base64. Of a union of
    several types, the text of the value."""
    kind = type_of(written, named)
    if isinstance(read, T.ArrayType):
        item = read.elementType
        return F.transform(value, lambda one: _inside(kind["items"], item, one, named))
    if isinstance(read, T.MapType):
        item = read.valueType
        return F.transform_values(value, lambda _, one: _inside(kind["values"], item, one, named))
    if isinstance(read, T.StructType) and isinstance(kind, list):
        members = zip(kind, read.fields, strict=True)
        return F.coalesce(*[_text(part, member.dataType, value[member.name], named) for part, member in members])
    if isinstance(read, T.StructType) and _of_one_value(kind, read, value, named) is None:
        types = {field["name"]: field["type"] for field in kind["fields"]}
        fields = [_inside(types[f.name], f.dataType, value[f.name], named).alias(f.name) for f in read]
        return F.when(value.isNotNull(), F.struct(*fields))
    return _meant(*_column(kind, read, value, named))


def _meant(value: Column, kind: T.DataType, encoding: Encoding) -> Column:
    """A value of no parts; a count of time that is beyond the calendar stays a count."""
    if encoding.kind == "decimal_base64":
        digits, scale = F.hex(value), encoding.size or 0
        if isinstance(kind, T.DecimalType):
            return values.decimal_hex(digits, scale, kind)
        return values.decimal_digits(digits, F.lit(scale))
    if encoding.kind.startswith("time_"):
        return values.time_of_day(value, encoding.kind.removeprefix("time_"))
    if isinstance(kind, T.DateType):
        return F.coalesce(values.days(value).cast("string"), value.cast("string"))
    if isinstance(kind, T.TimestampType | T.TimestampNTZType):
        form = INSTANT if isinstance(kind, T.TimestampType) else LOCAL
        return F.coalesce(F.date_format(values.moment(value, encoding.kind), form), value.cast("string"))
    return F.base64(value) if isinstance(kind, T.BinaryType) else value


def _array_text(leaf: Any, value: Column, read: T.StructType, named: Named) -> Column:
    """An array of arrays, written as records that contain themselves, as the JSON array it stands for."""
    element = F.array(_inside(leaf, read[_ELEMENT].dataType, value[_ELEMENT], named))
    text = F.coalesce(F.regexp_extract(F.to_json(element, KEEP_NULLS | MICROS), r"(?s)^\[(.*)\]$", 1), F.lit("null"))
    inside = read[_NESTED].dataType if _NESTED in read.names else None
    if not isinstance(inside, T.ArrayType) or not isinstance(inside.elementType, T.StructType):
        return text
    part = inside.elementType
    parts = F.transform(value[_NESTED], lambda one: F.coalesce(_array_text(leaf, one, part, named), F.lit("null")))
    joined = F.concat(F.lit("["), F.array_join(parts, ","), F.lit("]"))
    return F.when(value[_NESTED].isNotNull(), joined).otherwise(text)
