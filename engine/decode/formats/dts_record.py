"""Parses records of DTS from their bytes with fastavro.

A record is read in three parts. The second part, the names and types of the columns, has the same bytes in most records
of a table: equal bytes are parsed once.
"""

from __future__ import annotations

import io
from typing import Any, Final, cast

import msgspec
from fastavro import parse_schema, schemaless_reader

from siltstone.engine.decode.bounded_cache import keep
from siltstone.engine.decode.dts_schema import message_schema
from siltstone.engine.decode.event_batch import signed_hash
from siltstone.engine.decode.json_value import text_of

_FIELDS: Final = "fields"
_IMAGES: Final = ("beforeImages", "afterImages")
_DECIMALS: Final = frozenset({0, 2, 246, 1700})
"""The numbers of decimal types, over all sources."""
_MOST_CACHED: Final = 1_000


class Columns(msgspec.Struct, gc=False):
    """The columns of a record's rows.

    `encoded`: their bytes in the record. `schema`: the text of the row's schema, up to the facts that the values show;
    `schemas`: complete schemas, by those facts. `decimals`: the places of decimal columns.
    """

    encoded: bytes
    names: list[str]
    numbers: list[int]
    schema: str
    schema_hash: int
    decimals: frozenset[int]
    schemas: dict[Any, str]


class DtsRecord(msgspec.Struct, gc=False):
    """One record. `head`: the fields before the columns.

    An image has a value per column: None, or the name of the kind of value and its fields; for an EmptyObject, NULL or
    NONE. If the record has a statement, the image is its text.
    """

    head: dict[str, Any]
    columns: Columns | None
    before: list[Any] | str | None
    after: list[Any] | str | None


def _part(*names: str) -> Any:
    """The schema of some consecutive fields of a record."""
    whole = message_schema(born=False)
    return parse_schema(whole | {"fields": [field for field in whole["fields"] if field["name"] in names]})


_names: Final = [field["name"] for field in message_schema(born=False)["fields"]]
_HEAD: Final = _part(*_names[: _names.index(_FIELDS)])
_COLUMNS: Final = _part(_FIELDS)
_VALUES: Final = _part(*_IMAGES)


class DtsReader:
    """Reads records. It remembers the columns of each table."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str | None], Columns] = {}

    def read(self, value: bytes) -> DtsRecord | None:
        """The record in a message; None if the whole message is not exactly one record."""
        body = io.BytesIO(value)
        try:
            head = cast("dict[str, Any]", schemaless_reader(body, _HEAD, None))
            table, start = (head["source"]["sourceType"], head["objectName"]), body.tell()
            columns, listed = self._known.get(table), None
            if columns is not None and value.startswith(columns.encoded, start):
                body.seek(start + len(columns.encoded))
            else:
                columns, listed = None, cast("dict[str, Any]", schemaless_reader(body, _COLUMNS, None))[_FIELDS]
            encoded = value[start : body.tell()]
            images = cast("dict[str, Any]", schemaless_reader(body, _VALUES, None, return_named_type=True))
            if body.tell() < len(value):
                schemaless_reader(body, "long", None)  # bornTimestamp, which only newer records have
        except Exception:  # noqa: BLE001  # bytes that are not a record can raise any error in fastavro
            return None
        if body.tell() != len(value):
            return None
        if isinstance(listed, list):
            columns = keep(self._known, table, _columns(encoded, table[0], listed), _MOST_CACHED)
        return DtsRecord(head, columns, images[_IMAGES[0]], images[_IMAGES[1]])


def _columns(encoded: bytes, source: str, listed: list[dict[str, Any]]) -> Columns:
    numbers = [field["dataTypeNumber"] for field in listed]
    schema = f'{{"dts":"{source}","fields":{text_of(listed).decode()},"facts":"'
    return Columns(
        encoded=encoded,
        names=[field["name"] for field in listed],
        numbers=numbers,
        schema=schema,
        schema_hash=signed_hash(schema.encode()),
        decimals=frozenset(at for at, number in enumerate(numbers) if number in _DECIMALS),
        schemas={},
    )
