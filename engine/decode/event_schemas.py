"""The types and keys in an event's own schema: Kafka Connect's schema, or a format's list of columns.

Each form is JSON text with its own fields, so that parsing it once shows the form.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from siltstone.engine.decode import connect, dts_types, file_schema, mysql_types, spanner_types
from siltstone.engine.decode.connect import Typed

KNOWN_FROM_VALUES: Final = '{"dts":'
"""The beginning of schemas with facts from values. Schemas of one hash can differ in these facts and are merged."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
SHAPE_ERRORS: Final = (AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""The errors of reading values that do not have a format's shape. Events are external input and can have any value."""


def row_columns(schema_json: str) -> dict[str, Typed]:
    """The columns of the row images, in their order. Empty if the text is not a valid schema."""
    try:
        found = _row_columns(schema_json)
    except SHAPE_ERRORS:
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
    """The columns of the key, in their order. Empty if the key is not a struct or the text is not a valid schema."""
    try:
        found = _key_columns(schema_json)
    except SHAPE_ERRORS:
        return ()
    return found if all(map(_is_name, found)) else ()


def _is_name(name: Any) -> bool:
    """Whether a name is valid text: a string without half of a surrogate pair, which only JSON can write."""
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
