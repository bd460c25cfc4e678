"""Row images as JSON text, built from parts."""

from __future__ import annotations

from typing import Final

import msgspec

from siltstone.engine import names
from siltstone.engine.decode.event import Event
from siltstone.engine.decode.formats.json_fields import content_of
from siltstone.engine.decode.json_value import PARSE_ERRORS, is_utf8, raw_fields

_OBJECT: Final = b"{"


def image_of(part: msgspec.Raw) -> bytes | None:
    """The JSON text of a row; None if the part is neither an object nor the text of one."""
    text = bytes(part)
    if text.startswith(_OBJECT):
        return text
    content = content_of(part)
    if content is None or not content.startswith(_OBJECT):
        return None
    try:
        raw_fields(content)
    except PARSE_ERRORS:
        return None
    return content if is_utf8(content) else None


def halves(update: Event, before: bytes | None, after: bytes | None) -> list[Event]:
    """An update that changes the key, as the delete of the old key and the insert of the new key."""
    replaced = msgspec.structs.replace
    delete = replaced(update, op=names.OP_DELETE, before=before, after=None, new_key=after)
    return [delete, replaced(update, text=None, op=names.OP_INSERT, before=None, after=after, old_key=before)]


def is_empty(image: bytes) -> bool:
    """Whether a JSON object has no fields."""
    return image[1:2] != b'"' and not image[1:-1].strip()


def joined(under: bytes, over: bytes) -> bytes:
    """The fields of two JSON objects in one text. A field of both is in it twice, and readers use the second one."""
    if is_empty(over):
        return under
    if is_empty(under):
        return over
    return b"%b,%b" % (under[:-1].rstrip(), over[1:])
