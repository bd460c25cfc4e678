"""The rows of a message of Canal: complete images, and whether an update changes the key.

Images stay JSON text. The row before an update is `data` followed by the fields of `old`: a column can be in it twice,
and readers use the second one.

    data  {"id":"1","a":"y","b":"z"}        old  {"a":null}
    before {"id":"1","a":"y","b":"z","a":null}
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

from siltstone.engine import names
from siltstone.engine.decode.event_batch import signed_hash
from siltstone.engine.decode.formats.row_images import joined
from siltstone.engine.decode.json_value import PARSE_ERRORS, parse, parse_object, plain_text, text_of


class Keys(NamedTuple):
    """Key columns, as names and as an image writes them. `schema`: the JSON text of the names."""

    names: tuple[str, ...] = ()
    quoted: tuple[bytes, ...] = ()
    schema: str | None = None


class RowSchema(NamedTuple):
    """The columns that `mysqlType` names. `text` and `hash`: the row schema."""

    text: str | None = None
    hash: int | None = None
    columns: tuple[str, ...] = ()


NO_KEYS: Final = Keys()
_NULL: Final = b"null"
Images = list[bytes]
"""The rows of `data` or of `old`: objects or null; empty if a message has none."""
Row = tuple[int, str, bytes | None, bytes | None, bytes | None, bytes | None]
"""A change: its row in the message, operation, images before and after, images of the old and of the new key."""


@lru_cache(maxsize=1_000)
def keys_of(columns: tuple[str | None, ...]) -> Keys:
    """The key columns with these names."""
    known = tuple(name for name in columns if name is not None)
    schema = text_of({"keys": columns}).decode() if columns else None
    return Keys(known, tuple(text_of(name) for name in known), schema)


@lru_cache(maxsize=1_000)
def row_schema(types: bytes) -> RowSchema:
    """The row schema of `mysqlType`; without text if `mysqlType` is not an object."""
    if types.startswith(b'"'):
        types = parse(types).encode()
    try:
        columns = parse_object(types)
    except PARSE_ERRORS:
        return RowSchema()
    text = f'{{"mysqlType":{types.decode()}}}'
    return RowSchema(text, signed_hash(text.encode()), tuple(columns))


# --- changes --------------------------------------------------------------------------------------------------------


def rows_of(op: str, data: Images, old: Images, schema: RowSchema, keys: Keys, is_swapped: bool) -> list[Row]:
    """The changes of a message: one per row, two for a row whose key changes.

    `is_swapped`: `data` and `old` are swapped.
    """
    if op == names.OP_UPDATE:
        rows: list[Row] = []
        for at, image in enumerate(data):
            rows += _updated(at, complete(image, schema, keys), old[at] if old else _NULL, keys, is_swapped)
        return rows
    if op == names.OP_TRUNCATE:
        return [(0, op, None, None, None, None)]
    images = (old or data) if is_swapped else (data or old)
    known = [None if image == _NULL else complete(image, schema, keys) for image in images]
    if op == names.OP_DELETE:
        return [(at, op, image, None, None, None) for at, image in enumerate(known)]
    return [(at, op, None, image, None, None) for at, image in enumerate(known)]


def _updated(at: int, image: bytes, other: bytes, keys: Keys, is_swapped: bool) -> list[Row]:
    """`other`: the changed columns before the update; with swapped images, after it."""
    if other == _NULL:
        return [(at, names.OP_UPDATE, image if is_swapped else None, image, None, None)]
    whole = joined(image, other)
    before, after = (image, whole) if is_swapped else (whole, image)
    if not changes_key(keys, image, other):
        return [(at, names.OP_UPDATE, before, after, None, None)]
    return [(at, names.OP_DELETE, before, None, None, after), (at, names.OP_INSERT, None, after, before, None)]


# --- images ---------------------------------------------------------------------------------------------------------


def complete(image: bytes, schema: RowSchema, keys: Keys) -> bytes:
    """An image with null for the columns of the schema that it lacks: old versions of Canal omit nulls.

    A key column is never null: if it is missing, the image stays without it.
    """
    if not schema.columns or _has_fields(image, len(schema.columns)):
        return image
    fields = parse_object(image)
    lacking = [name for name in schema.columns if name not in fields and name not in keys.names]
    return joined(image, text_of(dict.fromkeys(lacking))) if lacking else image


def _has_fields(image: bytes, number: int) -> bool:
    """Whether an image certainly has this number of fields: a quote and a colon end a name, if the quote is not escaped
    and there is no nested object."""
    names_seen = image.count(b'":')
    if b"\\" in image:
        names_seen -= image.count(b'\\":')
    return names_seen == number and image.find(b"{", 1) < 0


def changes_key(keys: Keys, image: bytes, other: bytes) -> bool:
    """Whether `other` and the image have different values of a key column."""
    for name in keys.quoted:
        if name in other:
            break
    else:
        if b"\\" not in other:  # a name can also be written with escapes
            return False
    above = parse_object(other)
    named = [name for name in keys.names if name in above]
    if not named:
        return False
    below = parse_object(image)
    return any(_text(above[name]) != _text(below.get(name)) for name in named)


def _text(value: Any) -> str | None:
    """A value as text: keys are equal with and without quotes."""
    return None if value is None else plain_text(value)
