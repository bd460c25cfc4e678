"""The columns of DTS's records, from the type numbers of each kind of source.

A number does not define the type completely. It does not show whether a BLOB is a BLOB or a TEXT, or how many digits a
decimal has. The values of the table's records show this; `facts` of a schema collects it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain, repeat, zip_longest
from typing import Any, Final

from pyspark.sql import types as T

from siltstone.engine.decode.connect import MAX_DIGITS, Typed
from siltstone.engine.decode.row_shape import Encoding, EncodingKind

PRIMARY: Final = "primary"
"""The name of the primary key among the keys of a table, in lower case."""
EITHER: Final = "/"
"""Separates the facts of two values of one column."""
_TEXT: Final[Typed] = (T.StringType(), Encoding("written_text"))
UNSURE: Final[Typed] = (T.StringType(), Encoding("unsure"))
"""Probably text. A column of bytes with only nulls looks the same."""
_BYTES: Final[Typed] = (T.BinaryType(), Encoding("marked"))


def _plain(kind: T.DataType, encoding: EncodingKind) -> Typed:
    return kind, Encoding.of(kind, encoding)


_INT, _LONG = _plain(T.IntegerType(), "written_integer"), _plain(T.LongType(), "written_integer")
_SINGLE, _DOUBLE = _plain(T.FloatType(), "written_floating"), _plain(T.DoubleType(), "written_floating")
_DATE, _TIME = _plain(T.DateType(), "date"), _plain(T.StringType(), "written_time")
_LOCAL, _INSTANT = _plain(T.TimestampNTZType(), "written_moment"), _plain(T.TimestampType(), "written_moment")
_FLAG, _WIDE = _plain(T.BooleanType(), "written_boolean"), _plain(T.DecimalType(20, 0), "written_integer")

# An INT of MySQL can be unsigned, which the number does not show. A long holds both.
_MYSQL: Final[dict[int, Typed]] = {
    1: _INT, 2: _INT, 3: _LONG, 4: _SINGLE, 5: _DOUBLE, 7: _INSTANT, 8: _LONG, 9: _INT, 10: _DATE, 11: _TIME,
    12: _LOCAL, 13: _INT, 14: _DATE, 16: _WIDE, 17: _INSTANT, 18: _LOCAL, 19: _TIME, 245: _TEXT, 247: _TEXT, 248: _TEXT,
}  # fmt: skip
_ORACLE: Final[dict[int, Typed]] = {
    1: _TEXT, 8: _TEXT, 12: _LOCAL, 23: _BYTES, 24: _BYTES, 58: _TEXT, 69: _TEXT, 96: _TEXT, 100: _SINGLE, 101: _DOUBLE,
    112: _TEXT, 113: _BYTES, 180: _LOCAL, 181: _INSTANT, 182: _TEXT, 183: _TEXT, 208: _TEXT, 231: _INSTANT,
}  # fmt: skip
_POSTGRESQL: Final[dict[int, Typed]] = {
    16: _FLAG, 17: _BYTES, 20: _LONG, 21: _INT, 23: _INT, 26: _LONG, 700: _SINGLE, 701: _DOUBLE, 1082: _DATE,
    1083: _TIME, 1114: _LOCAL, 1184: _INSTANT,
}  # fmt: skip
_TYPES: Final = {
    "MySQL": _MYSQL, "DRDS": _MYSQL, "Oracle": _ORACLE, "PostgreSQL": _POSTGRESQL, "PPAS": _POSTGRESQL,
}  # fmt: skip
_DECIMALS: Final = {"MySQL": (0, 246), "DRDS": (0, 246), "Oracle": (2,), "PostgreSQL": (1700,), "PPAS": (1700,)}


def row_columns(schema_json: str) -> dict[str, Typed]:
    """The columns, in their order.

    A decimal without any value so far has no type and is not a column yet.
    """
    schema = json.loads(schema_json)
    columns = {}
    for field, facts in zip(schema["fields"], chain(schema["facts"].split(";"), repeat("")), strict=False):
        typed = _typed(schema["dts"], field["dataTypeNumber"], {*facts.split(EITHER)} - {""})
        if typed is not None:
            columns[field["name"]] = typed
    return columns


def merged(one: str, other: str) -> str:
    """A schema with the facts of both schemas. Both have the same list of fields."""
    schema = json.loads(one)
    facts = [json.loads(text)["facts"].split(";") for text in (one, other)]
    both = [
        {fact for listed in pair for fact in listed.split(EITHER)} - {""} for pair in zip_longest(*facts, fillvalue="")
    ]
    schema["facts"] = ";".join(EITHER.join(sorted(found)) for found in both)
    return json.dumps(schema, separators=(",", ":"))


def key_columns(key_schema: Any) -> tuple[str, ...]:
    """The columns of the primary key, or of the only unique key."""
    keys = {str(name): columns for name, columns in key_schema.items() if columns}
    primary = [columns for name, columns in keys.items() if name.lower() == PRIMARY]
    chosen = primary or (list(keys.values()) if len(keys) == 1 else [()])
    return tuple(chosen[0])


def _typed(source: str, number: int, seen: set[str]) -> Typed | None:
    if "b" in seen:
        return _BYTES
    if number in _DECIMALS.get(source, ()):
        return _decimal(seen)
    return _TYPES.get(source, {}).get(number, UNSURE)


def _decimal(seen: Iterable[str]) -> Typed | None:
    """A decimal type for the digits of every value. Text if it is too long, or if a value has no digits."""
    facts = set(seen)
    if not facts:
        return None
    digits = [(int(precision), int(scale)) for precision, scale in (f.split(",") for f in facts - {"i", "t"})]
    scale = max((scale for _, scale in digits), default=0)
    whole = max((precision - scale for precision, scale in digits), default=0)
    whole = MAX_DIGITS - scale if "i" in facts else whole
    known = all(0 <= scale <= precision and precision > 0 for precision, scale in digits) and "t" not in facts
    if not known or whole + scale > MAX_DIGITS:
        return T.StringType(), Encoding("written_text")
    return T.DecimalType(whole + scale, scale), Encoding("decimal_text")
