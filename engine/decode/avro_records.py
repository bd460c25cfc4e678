"""Records of Avro files as JSON text, with a description of their columns: plain rows, and events.

Values are read as they are encoded (`avro_files`). The logical types come from the writer's schema. A logical type
counts only inside the type; on the field it is ignored, and values stay numbers. A field whose only type is null is not
a column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from pyspark.sql import types as T

from siltstone.engine.decode import typed_values as text
from siltstone.engine.decode.avro_files import json_text
from siltstone.engine.decode.avro_names import Named, with_full_names
from siltstone.engine.decode.avro_types import (
    EVENT_TIMES,
    array_of_scalars,
    clock_unit,
    name_of,
    only_type,
    scalar,
    type_of,
    value_field,
)
from siltstone.engine.decode.connect import Typed
from siltstone.engine.decode.file_schema import file_schema
from siltstone.engine.decode.json_value import Number
from siltstone.engine.decode.row_shape import Encoding

Make = Callable[[Any], Any]
Column = tuple[Make, T.DataType, Encoding]
_PAYLOAD: Final = "payload"
_NESTED, _ELEMENT = "nestedArray", "elementValue"
_NULL: Final[tuple[Any, ...]] = ("null", [])
_MEMBER: Final = "member"
_TEXT: Final = Encoding("text")
_JSON_TYPES: Final = ("null", "boolean", "int", "long", "string", "enum")


class RecordTexts:
    """Makes the JSON text of the records of one schema. `row_schema` describes the columns of their rows.

    `is_event`: the records are events of Datastream, with the row in `payload`.
    """

    def __init__(self, schema: Any, is_event: bool) -> None:
        written, named = with_full_names(schema)
        if is_event:
            self._make, columns = _event(written, named)
        else:
            self._make, columns = _row(written, named, as_text=True)
        self.row_schema = file_schema(columns)

    def text(self, record: Mapping[str, Any]) -> bytes:
        """The JSON text of a record that `avro_files` has read."""
        return json_text(self._make(record))


def _row(written: Any, named: Named, *, as_text: bool) -> tuple[Make, dict[str, Typed]]:
    """A record whose fields are columns. `as_text`: dates, times and decimals become text that can be read without
    the column's type."""
    kind = type_of(written, named)
    fields = kind.get("fields", ()) if isinstance(kind, Mapping) else ()
    columns = {
        field["name"]: _column(field["type"], named, as_text)
        for field in fields
        if only_type(field["type"]) not in _NULL
    }
    makers = {name: made[0] for name, made in columns.items()}
    return _of_fields(makers), {name: (stored, encoding) for name, (_, stored, encoding) in columns.items()}


def _event(written: Any, named: Named) -> tuple[Make, dict[str, Typed]]:
    """An event of Datastream: its times as text in UTC, its payload as a row, all other fields unchanged."""
    kind = type_of(written, named)
    makers: dict[str, Make] = {}
    columns: dict[str, Typed] = {}
    for field in kind.get("fields", ()) if isinstance(kind, Mapping) else ():
        name, of = field["name"], field["type"]
        if name in EVENT_TIMES:
            makers[name] = partial(_time_of_event, unit=clock_unit(only_type(of)))
        elif name == _PAYLOAD:
            makers[name], columns = _row(of, named, as_text=False)
        else:
            makers[name] = _same if _is_json(of, named) else as_it_is
    return _of_fields(makers), columns


def _of_fields(makers: Mapping[str, Make]) -> Make:
    """Makes an object from these fields of a record, in their order. Most values do not change."""
    names = tuple(makers)
    if not names:  # the value is no record
        return lambda _: {}
    others = [(name, make) for name, make in makers.items() if make is not _same]

    def make_object(record: Mapping[str, Any] | None) -> dict[str, Any] | None:
        if record is None:
            return None
        made = dict(zip(names, map(record.get, names), strict=True))
        for name, make in others:
            value = made[name]
            if value is not None:
                made[name] = make(value)
        return made

    return make_object


# --- columns --------------------------------------------------------------------------------------------------------


def _column(written: Any, named: Named, as_text: bool) -> Column:
    """How a column's values become JSON, their stored type, and their encoding."""
    kind = type_of(written, named)
    found = scalar(kind)
    if found is None:
        return _of_parts(kind, named, as_text)
    return (_converted_to_text(*found) if as_text else None) or _plain(kind, *found)


def _plain(kind: Any, stored: T.DataType, encoding: Encoding) -> Column:
    return _PLAIN.get(name_of(kind), _same), stored, encoding


def _converted_to_text(stored: T.DataType, encoding: Encoding) -> Column | None:
    """A value as text that can be read without its type. None if the type needs no conversion."""
    if encoding.kind == "decimal_base64":
        return partial(text.unscaled_digits, scale=encoding.size or 0), stored, Encoding("decimal_text")
    if isinstance(stored, T.DateType):
        return text.day, stored, Encoding("date")
    if isinstance(stored, T.TimestampType):
        return partial(text.instant, unit=encoding.kind), stored, Encoding("zoned_text")
    if isinstance(stored, T.TimestampNTZType):
        return partial(text.local_moment, unit=encoding.kind), stored, Encoding("local_text")
    return None


def _of_parts(kind: Any, named: Named, as_text: bool) -> Column:
    """Records of one value, and arrays of plain values. All other nested types become JSON text."""
    name = value_field(kind)
    if name is not None:
        fields = {field["name"]: field["type"] for field in kind["fields"]}
        make, stored, encoding = _column(fields[name], named, as_text)
        return (lambda value: None if value is None else make(value.get(name))), stored, encoding
    if (
        isinstance(kind, Mapping)
        and kind["type"] == "record"
        and {f["name"] for f in kind["fields"]} == {_NESTED, _ELEMENT}
    ):
        inside = _inside(next(f["type"] for f in kind["fields"] if f["name"] == _ELEMENT), named)
        return (lambda value: text.json_text(_nested(value, inside))), T.StringType(), _TEXT
    if isinstance(kind, list):
        return _union(kind, named)
    found = array_of_scalars(kind)
    if found is not None:
        return _floats_in_array if only_type(kind["items"]) == "double" else _same, *found
    inside = _inside(kind, named)
    return (lambda value: text.json_text(inside(value))), T.StringType(), _TEXT


def _union(parts: list[Any], named: Named) -> Column:
    """Several types at once: numbers of one kind are numbers, everything else is text."""
    kinds = {name_of(type_of(part, named)) if not isinstance(part, list) else "" for part in parts}
    if kinds == {"int", "long"}:
        return _bare, T.LongType(), Encoding("integer")
    if kinds == {"float", "double"}:
        return (lambda value: text.floating(_bare(value))), T.DoubleType(), Encoding("floating")
    makers = [_later(part, named) for part in parts]
    return (lambda value: None if value is None else _member_text(value, makers)), T.StringType(), _TEXT


def _inside(written: Any, named: Named) -> Make:
    """A value inside of JSON text: numbers and times as what they mean, bytes as base64."""
    kind = type_of(written, named)
    if isinstance(kind, list):
        return _union(kind, named)[0]
    if kind in _NULL:
        return _same
    found = scalar(kind)
    if found is not None:
        return _semantic_value(kind, *found)
    if kind["type"] == "array":
        item = _inside(kind["items"], named)
        return lambda value: None if value is None else [item(one) for one in value]
    if kind["type"] == "map":
        one = _inside(kind["values"], named)
        return lambda value: None if value is None else {key: one(each) for key, each in value.items()}
    name = value_field(kind)
    fields = {field["name"]: field["type"] for field in kind["fields"]}
    if name is not None:
        make = _inside(fields[name], named)
        return lambda value: None if value is None else make(value.get(name))
    if set(fields) == {_NESTED, _ELEMENT}:
        element = _inside(fields[_ELEMENT], named)
        return lambda value: text.json_text(_nested(value, element))
    makers = [(field, _later(kind, named)) for field, kind in fields.items()]
    return lambda value: None if value is None else {field: make(value.get(field)) for field, make in makers}


def _later(kind: Any, named: Named) -> Make:
    """A maker that is built at its first use, because a record type can contain itself."""
    made: list[Make] = []

    def make(value: Any) -> Any:
        if value is None:
            return None
        if not made:
            made.append(_inside(kind, named))
        return made[0](value)

    return make


def _semantic_value(kind: Any, stored: T.DataType, encoding: Encoding) -> Make:
    if encoding.kind == "decimal_base64":
        return partial(_decimal_number, scale=encoding.size or 0)
    if encoding.kind.startswith("time_"):
        return partial(text.clock, unit=encoding.kind.removeprefix("time_"))
    if isinstance(stored, T.DateType):
        return text.day
    if isinstance(stored, T.TimestampType | T.TimestampNTZType):
        zone = "Z" if isinstance(stored, T.TimestampType) else ""
        return lambda value: None if value is None else text.iso_moment(value, encoding.kind, zone)
    return _plain(kind, stored, encoding)[0]


def _nested(value: Any, inside: Make) -> Any:
    """An array of Datastream, which has elements or nested arrays."""
    if isinstance(value, Mapping):
        deeper = value.get(_NESTED)
        return inside(value.get(_ELEMENT)) if deeper is None else _nested(deeper, inside)
    return None if value is None else [_nested(one, inside) for one in value]


# --- values ---------------------------------------------------------------------------------------------------------


def _same(value: Any) -> Any:
    return value


_PLAIN: Final[dict[str, Make]] = {
    "bytes": text.in_base64,
    "fixed": text.in_base64,
    "float": text.single,
    "double": text.floating,
}


def _decimal_number(value: bytes | None, scale: int) -> Any:
    digits = text.unscaled_digits(value, scale)
    return None if digits is None else Number(digits)


def _floats_in_array(value: Any) -> Any:
    return None if value is None else [text.floating(one) for one in value]


def _bare(value: Any) -> Any:
    """The value of a union without the wrapper that names its type."""
    return next(iter(value.values())) if isinstance(value, dict) else value


def _member_text(value: dict[str, Any], makers: Sequence[Make]) -> str | None:
    """The value of a union as text. `makers`: one for each of its types."""
    ((name, inside),) = value.items()
    made = makers[int(name.removeprefix(_MEMBER))](inside)
    return text.json_text(made) if isinstance(made, dict | list) else text.as_text(made)


def _time_of_event(count: int | None, unit: str) -> str | None:
    """A time of an event. None if it is outside of the years 1 to 9999."""
    found = text.instant(count, unit)
    return found if found is None or found.endswith("Z") else None


def _is_json(written: Any, named: Named) -> bool:
    """Whether all values of a type are JSON values as they are: no bytes, no NaN, and no wrapper of a union."""
    kind = type_of(written, named)
    name = name_of(kind)
    if name == "record":
        others = {each: one for each, one in named.items() if one is not kind}  # a type can contain itself
        return all(_is_json(field["type"], others) for field in kind["fields"])
    if name in ("array", "map"):
        return _is_json(kind["items" if name == "array" else "values"], named)
    return name in _JSON_TYPES


def as_it_is(value: Any) -> Any:
    """A value of any type in its encoded form: bytes as base64, NaN and infinities as text, union values unwrapped."""
    if value is None or type(value) is str:
        return value
    if isinstance(value, float):
        return text.floating(value)
    if isinstance(value, bytes):
        return text.in_base64(value)
    if isinstance(value, dict):
        only = next(iter(value)) if len(value) == 1 else ""
        if only.removeprefix(_MEMBER).isdecimal() and only.startswith(_MEMBER):
            return as_it_is(value[only])
        return {name: as_it_is(one) for name, one in value.items()}
    return [as_it_is(one) for one in value] if isinstance(value, list) else value
