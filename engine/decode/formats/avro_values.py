"""Bodies of Avro records outside of Avro files: read to their last byte, with values as JSON has them.

    Avro                        JSON
    boolean, int, long, null    the same
    float, double               a number; "NaN", "Infinity", "-Infinity"
    bytes, fixed                base64
    string, enum                text
    record, map                 an object
    array                       an array
    a union with null           null or the value
    a union of several types    {"member0": ..., "member1": ...}: the member of the value's type, null for the others

Logical types are not interpreted: a date is its number of days, a decimal is its bytes. `msgspec` writes bytes as
base64, so this module converts only the other values of the list.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any, Final

import fastavro
from fastavro.schema import SchemaParseException

from siltstone.engine.decode.avro_names import with_full_names
from siltstone.engine.decode.typed_values import floating, single

Convert = Callable[[Any], Any]
UNREADABLE: Final = (SchemaParseException, LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""The errors that an invalid schema causes."""
_IGNORED: Final = ("logicalType", "default")
_SAME: Final = ({"int", "long"}, {"float", "double"})
_KINDS: Final[dict[type, tuple[str, ...]]] = {
    bool: ("boolean",),
    int: ("int", "long"),
    float: ("float", "double"),
    str: ("string", "enum"),
    bytes: ("bytes", "fixed"),
    dict: ("record", "map"),
    list: ("array",),
}


class UnfitBodyError(Exception):
    """The bytes do not fit the schema."""


class BodyReader:
    """Reads bodies of one schema.

    Raises: one of UNREADABLE: it is not an Avro schema, or one of its records contains itself.
    """

    def __init__(self, schema: Any) -> None:
        full, named = with_full_names(_plain(schema))
        self._schema = fastavro.parse_schema(full)
        self._convert = _converter(full, named, frozenset())
        self.is_record = isinstance(full, Mapping) and full.get("type") == "record"

    def read(self, body: bytes) -> Any:
        """The value in a body.

        Raises: UnfitBodyError.
        """
        stream = io.BytesIO(body)
        try:
            value = fastavro.schemaless_reader(stream, self._schema, None)
        except Exception as error:  # fastavro has no error class for bytes that do not fit
            raise UnfitBodyError from error
        if stream.tell() != len(body):
            raise UnfitBodyError
        return value if self._convert is None else self._convert(value)


def _plain(schema: Any) -> Any:
    """The schema without logical types and without defaults, which can be wrong."""
    if isinstance(schema, Mapping):
        return {name: _plain(inside) for name, inside in schema.items() if name not in _IGNORED}
    return [_plain(part) for part in schema] if isinstance(schema, list) else schema


# --- values ---------------------------------------------------------------------------------------------------------


def _converter(schema: Any, named: Mapping[str, Any], around: frozenset[str]) -> Convert | None:
    """Converts fastavro's values to JSON's; None if they are equal. `around`: the records that contain the type."""
    if isinstance(schema, list):
        return _union(schema, named, around)
    kind = schema["type"] if isinstance(schema, Mapping) else schema
    if isinstance(kind, list | Mapping) or (isinstance(kind, str) and kind in named):
        return _converter(named[kind] if isinstance(kind, str) else kind, named, around)
    if kind == "float":
        return single
    if kind == "double":
        return floating
    if kind in ("array", "map"):
        return _items(_converter(schema["items" if kind == "array" else "values"], named, around), kind)
    if kind != "record":
        return None
    if schema["name"] in around:
        raise ValueError("a record contains itself")
    inside = around | {schema["name"]}
    found = {field["name"]: _converter(field["type"], named, inside) for field in schema["fields"]}
    return _fields({name: convert for name, convert in found.items() if convert is not None})


def _fields(converters: Mapping[str, Convert]) -> Convert | None:
    if not converters:
        return None

    def convert(record: Any) -> Any:
        for name, one in converters.items():
            value = record[name]
            if value is not None:
                record[name] = one(value)
        return record

    return convert


def _items(item: Convert | None, kind: str) -> Convert | None:
    if item is None:
        return None
    if kind == "array":
        return lambda values: [None if value is None else item(value) for value in values]
    return lambda values: {name: None if value is None else item(value) for name, value in values.items()}


def _union(branches: list[Any], named: Mapping[str, Any], around: frozenset[str]) -> Convert | None:
    types = [branch for branch in branches if branch != "null"]
    if len(types) == 1:
        return _converter(types[0], named, around)
    if any({_kind(branch, named) for branch in types} <= same for same in _SAME):
        return floating if _kind(types[0], named) in _SAME[1] else None
    members = [(_is_of(branch, named), _converter(branch, named, around)) for branch in types]

    def convert(value: Any) -> Any:
        chosen = next(number for number, (is_of, _) in enumerate(members) if is_of(value))
        made = members[chosen][1]
        found = value if made is None else made(value)
        return {f"member{number}": found if number == chosen else None for number in range(len(members))}

    return convert


def _kind(branch: Any, named: Mapping[str, Any]) -> str:
    whole = named.get(branch, branch) if isinstance(branch, str) else branch
    kind = whole["type"] if isinstance(whole, Mapping) else whole
    return str(kind["type"] if isinstance(kind, Mapping) else kind)


def _is_of(branch: Any, named: Mapping[str, Any]) -> Callable[[Any], bool]:
    """Whether a value that is not null belongs to this branch of a union."""
    whole = named.get(branch, branch) if isinstance(branch, str) else branch
    kind = _kind(branch, named)
    names = {field["name"] for field in whole["fields"]} if kind == "record" else None

    def is_of(value: Any) -> bool:
        return kind in _KINDS.get(type(value), ()) and (names is None or names == value.keys())

    return is_of
