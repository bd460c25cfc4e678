"""The types and keys an event carries, in the form of its format: Kafka Connect's schema, or lists of columns.

Every form is JSON text of its own shape, so that one reading tells them apart.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from siltstone.engine.decode import connect, dts_types, file_schema, mysql_types, spanner_types
from siltstone.engine.decode.connect import Typed

KNOWN_FROM_VALUES: Final = '{"dts":'
"""How schemas begin of which one hash has several: what their values say differs, and all of it counts."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
MISSHAPEN: Final = (AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What reading values of another shape than a format's ends in: events come from outside, and can hold anything."""


def row_columns(schema_json: str) -> dict[str, Typed]:
    """The columns of the row images, in their order; none where what the event carries is no schema."""
    try:
        found = _row_columns(schema_json)
    except MISSHAPEN:
        return {}
    return found if all(map(_is_name, found)) else {}


def _row_columns(schema_json: str) -> dict[str, Typed]:
    if schema_json.startswith(KNOWN_FROM_VALUES):
        return dts_types.row_columns(schema_json)
    schema = json.loads(schema_json)
    if "mysqlType" in schema:
        return mysql_types.row_columns(schema["mysqlType"])
    if "column_types" in schema:
        return spanner_types.row_columns(schema["column_types"])
    if "columns" in schema:
        return file_schema.file_columns(schema_json)
    return connect.row_columns(schema_json)


def key_columns(schema_json: str) -> tuple[str, ...]:
    """The columns of the key, in their order; none where the key is no struct, or what the event carries no schema."""
    try:
        found = _key_columns(schema_json)
    except MISSHAPEN:
        return ()
    return found if all(map(_is_name, found)) else ()


def _is_name(name: Any) -> bool:
    """Whether it is a text, and not one that only JSON can write: with half of a pair of surrogates in it."""
    return isinstance(name, str) and not _SURROGATE.search(name)


def _key_columns(schema_json: str) -> tuple[str, ...]:
    schema = json.loads(schema_json)
    if "pk_uk_info" in schema:
        return dts_types.key_columns(schema["pk_uk_info"])
    if "keys" in schema:
        return tuple(schema["keys"])
    if "column_types" in schema:
        return spanner_types.key_columns(schema["column_types"])
    return tuple(connect.key_columns(schema_json))
