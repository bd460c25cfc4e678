"""Row images of one table, read column by column with one pass over the values of each column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import pyarrow as pa

from siltstone.engine.decode.json_value import PARSE_ERRORS, parse_object
from siltstone.engine.decode.row_shape import TableShape
from siltstone.engine.decode.types import ColumnReader

Readers = Mapping[str, ColumnReader]
"""The reader of each column, in the order of the columns."""
Object = dict[str, Any]


@dataclass(frozen=True)
class ImageColumns:
    """The images of some events.

    `objects`: the images as JSON values, None for an event without an image. `broken`: the events whose image is not a
    JSON object. `stored`: each column's stored values. `arrays`: the same values as Arrow arrays. `lost`: the columns
    with a value that is not stored, by event. `irregular`: the events whose image lacks a column or has another field.
    """

    objects: list[Object | None]
    broken: frozenset[int]
    stored: dict[str, list[Any]]
    arrays: dict[str, pa.Array]
    lost: dict[int, list[str]]
    irregular: set[int]


def read_images(
    texts: Sequence[bytes | None], readers: Readers, shape: TableShape, row_type: pa.StructType
) -> ImageColumns:
    """The images of some events, with converted values. `row_type`: the type of the stored values."""
    objects, broken = parsed_images(texts, shape)
    for name in shape.dropped:
        for image in objects:
            if image is not None:
                image.pop(name, None)
    empty: Object = dict.fromkeys(readers)
    rows = [empty if image is None else image for image in objects]
    missing = objects.count(None)
    stored: dict[str, list[Any]] = {}
    arrays: dict[str, pa.Array] = {}
    lost: dict[int, list[str]] = {}
    lacks_columns = False
    for name, reader in readers.items():
        try:
            values = list(map(itemgetter(name), rows))
        except KeyError:
            values, lacks_columns = [row.get(name) for row in rows], True
        converted = stored[name] = reader.convert_all(values)
        array = arrays[name] = pa.array(converted, row_type.field(name).type)
        if array.null_count > missing:
            for at in _lost(values, converted):
                lost.setdefault(at, []).append(name)
    irregular = _irregular(rows, readers, lacks_columns) | _silent(objects, shape)
    return ImageColumns(objects, broken, stored, arrays, lost, irregular)


def parsed_images(texts: Sequence[bytes | None], shape: TableShape) -> tuple[list[Object | None], frozenset[int]]:
    """The images as JSON values, with the names of their columns; and the places of images that are not JSON objects,
    which have no value."""
    broken: frozenset[int] = frozenset()
    try:
        objects = [None if text is None else parse_object(text) for text in texts]
    except PARSE_ERRORS:
        objects = [None if text is None else object_or_none(text) for text in texts]
        both = enumerate(zip(texts, objects, strict=True))
        broken = frozenset(at for at, (text, found) in both if text is not None and found is None)
    _rename_fields(objects, shape.other_spellings)
    return objects, broken


def _rename_fields(objects: Sequence[Object | None], columns: Mapping[str, str]) -> None:
    """Rename fields to their columns. `columns`: the columns by the other spellings in events."""
    for found in filter(None, objects if columns else ()):
        for name in columns.keys() & found.keys():
            if columns[name] not in found:  # otherwise the new name's value counts, and the other is rescued
                found[columns[name]] = found.pop(name)


def object_or_none(text: bytes) -> Object | None:
    """The fields of a JSON object. None for another text."""
    try:
        return parse_object(text)
    except PARSE_ERRORS:
        return None


def _lost(values: Sequence[Any], converted: Sequence[Any]) -> Iterator[int]:
    """The places with a value in the event but none in the result."""
    pairs = enumerate(zip(values, converted, strict=True))
    return (at for at, (value, result) in pairs if result is None and value is not None)


def _irregular(rows: Sequence[Object], readers: Readers, lacks_columns: bool) -> set[int]:
    """The rows whose fields differ from the columns. `lacks_columns`: some row lacks a column."""
    number, columns = len(readers), readers.keys()
    if lacks_columns:
        return {at for at, row in enumerate(rows) if len(row) != number or row.keys() != columns}
    return {at for at, row in enumerate(rows) if len(row) != number}


def _silent(objects: Sequence[Object | None], shape: TableShape) -> set[int]:
    """The images with a null in a column of `silent_nulls`, which counts as absent."""
    if not shape.silent_nulls:
        return set()
    silent = tuple(shape.silent_nulls)
    return {
        at for at, image in enumerate(objects) if image is not None and any(image.get(name) is None for name in silent)
    }
