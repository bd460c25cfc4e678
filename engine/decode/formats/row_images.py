"""Row images as JSON text, put together from parts."""

from __future__ import annotations


def is_empty(image: bytes) -> bool:
    """Whether a JSON object has no fields."""
    return image[1:2] != b'"' and not image[1:-1].strip()


def joined(under: bytes, over: bytes) -> bytes:
    """The fields of two JSON objects in one text; a field of both is in it twice, and readers take the second."""
    if is_empty(over):
        return under
    if is_empty(under):
        return over
    return b"%b,%b" % (under[:-1].rstrip(), over[1:])
