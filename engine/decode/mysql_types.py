"""MySQL's column types as text (`decimal(12,2)`, `int(10) unsigned`, `enum('a','b')`): stored types and encodings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import types as T

from siltstone.engine.decode.connect import MAX_DIGITS, Typed
from siltstone.engine.decode.row_shape import Encoding, EncodingKind

_TYPE: Final = re.compile(r"\s*([a-z]+)\s*(?:\((.*)\))?(.*)", re.DOTALL | re.IGNORECASE)
_LABEL: Final = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_INTEGERS: Final = ("tinyint", "smallint", "mediumint", "int", "integer", "bigint", "year")
_LONG_WHEN_UNSIGNED: Final = ("int", "integer")
_SPATIAL: Final = (
    *("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon"),
    *("geometrycollection", "geomcollection"),
)
_SINGLE_DIGITS: Final = 24
_MOST_DIGITS: Final = 3  # of a length: 64 bits, 255 bytes


def row_columns(types: Mapping[str, object]) -> dict[str, Typed]:
    """The columns of a row image, in their order. A column without a type becomes text."""
    return {name: typed(text if isinstance(text, str) else "") for name, text in types.items()}


def typed(text: str) -> Typed:
    """The stored type and encoding of a column. An unknown type becomes text."""
    match = _TYPE.fullmatch(text)
    if match is None:
        return T.StringType(), Encoding("written_text")
    word, inside, rest = match[1].lower(), match[2] or "", match[3].lower()
    if word in _INTEGERS:
        return _integer(word, "unsigned" in rest or "zerofill" in rest)
    made = _MADE.get(word)
    return (T.StringType(), Encoding("written_text")) if made is None else made(inside)


def _integer(word: str, unsigned: bool) -> Typed:
    encoding = Encoding("written_integer")
    if word == "bigint":
        return (T.DecimalType(20, 0) if unsigned else T.LongType()), encoding
    return (T.LongType() if unsigned and word in _LONG_WHEN_UNSIGNED else T.IntegerType()), encoding


def _decimal(inside: str) -> Typed:
    """A decimal without precision and scale is stored as text, which keeps all digits."""
    numbers = [int(number) for number in re.findall(r"\d+", inside)]
    precision, scale = (*numbers, 0, 0)[:2]
    if not max(scale, 1) <= precision <= MAX_DIGITS:
        return T.StringType(), Encoding("written_text")
    return T.DecimalType(precision, scale), Encoding("decimal_text")


def _float(inside: str) -> Typed:
    double = "," not in inside and (_size(inside) or 0) > _SINGLE_DIGITS
    kind = T.DoubleType() if double else T.FloatType()
    return kind, Encoding.of(kind, "written_floating")


def _size(inside: str) -> int | None:
    """A length, if MySQL allows it."""
    return int(inside) if inside.strip().isdecimal() and len(inside.strip()) <= _MOST_DIGITS else None


def _bits(inside: str) -> Typed:
    """MySQL's `bit` has one bit. But types can lack their parameters here, so that a bare `bit` can have any width."""
    if not inside.strip():
        return T.StringType(), Encoding("written_bits")
    size = _size(inside)
    if size is None:
        return T.StringType(), Encoding("written_text")
    if size == 1:
        return T.BooleanType(), Encoding("written_boolean")
    return T.StringType(), Encoding("written_bits", size)


def _fixed_bytes(inside: str) -> Typed:
    return T.BinaryType(), Encoding("written_bytes", _size(inside))


def _labelled(kind: EncodingKind, inside: str) -> Typed:
    """An enum or set. Without labels its number is stored."""
    labels = tuple(re.sub(r"''|\\(.)", lambda at: at[1] or "'", label) for label in _LABEL.findall(inside))
    return T.StringType(), Encoding(kind, labels=labels) if labels else Encoding("written_text")


_MADE: Final[dict[str, Callable[[str], Typed]]] = {
    **dict.fromkeys(("decimal", "numeric", "dec", "fixed"), _decimal),
    "float": _float,
    **dict.fromkeys(("double", "real"), lambda _: (T.DoubleType(), Encoding("written_floating"))),
    "serial": lambda _: _integer("bigint", unsigned=True),
    **dict.fromkeys(("bool", "boolean"), lambda _: (T.BooleanType(), Encoding("written_boolean"))),
    "bit": _bits,
    "date": lambda _: (T.DateType(), Encoding("date")),
    "datetime": lambda _: (T.TimestampNTZType(), Encoding("written_moment")),
    "timestamp": lambda _: (T.TimestampType(), Encoding("written_moment")),
    "time": lambda _: (T.StringType(), Encoding("written_time")),
    "enum": lambda inside: _labelled("written_enum", inside),
    "set": lambda inside: _labelled("written_set", inside),
    "binary": _fixed_bytes,
    **dict.fromkeys(
        ("varbinary", "blob", "tinyblob", "mediumblob", "longblob", *_SPATIAL),  # spatial: SRID and WKB
        lambda _: (T.BinaryType(), Encoding("written_bytes")),
    ),
}
