"""Fields of JSON objects whose types differ between tools: a text field accepts any JSON value as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec

from siltstone.engine.decode.json_value import parse, plain_text
from siltstone.engine.decode.position_text import LONGEST_NUMBER

NOTHING: Final = msgspec.Raw(b"null")
Int = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Fields = Mapping[str, msgspec.Raw]
_NULL: Final = b"null"
_NUMBER_STARTS: Final = b"-0123456789"
_WHOLE: Final = re.compile(r"\s*[+-]?[0-9]{1,40}\s*", re.ASCII)
_SHORTEST_LONG: Final = 18
_int: Final[msgspec.json.Decoder[int | None]] = msgspec.json.Decoder(Int | None)
_long: Final[msgspec.json.Decoder[int | None]] = msgspec.json.Decoder(Long | None)


def content_of(raw: msgspec.Raw | None) -> bytes | None:
    """The content of a JSON string, or the JSON text of another value; None if it is null or missing."""
    text = _NULL if raw is None else bytes(raw)
    if text.startswith(b'"'):
        return str(parse(text)).encode()
    return None if text in (b"", _NULL) else text


def text_field(fields: Fields, *names: str) -> str | None:
    """The first of the fields that is not null, as text.

    It is the content of a string, the digits of a number, or the JSON text of another value.
    """
    for name in names:
        text = text_of_field(fields[name]) if name in fields else None
        if text is not None:
            return text
    return None


def text_of_field(raw: msgspec.Raw) -> str | None:
    """The content of a string, the digits of a number, or the JSON text of another value; None for null."""
    text = bytes(raw)
    if text[:1] in _NUMBER_STARTS:
        return text.decode()
    value = parse(text)
    return None if value is None else plain_text(value)


def int_field(fields: Fields, name: str) -> int | None:
    """A whole number of 32 bits.

    Raises: msgspec.ValidationError: the field has another value.
    """
    return _int.decode(fields.get(name, NOTHING))


def long_field(fields: Fields, name: str) -> int | None:
    """A whole number of 64 bits.

    Raises: msgspec.ValidationError: the field has another value.
    """
    return _long.decode(fields.get(name, NOTHING))


def whole_number(text: str | int | None) -> int | None:
    """A text as a whole number of 64 bits, also with blanks around it; None if it is not one."""
    if isinstance(text, str):
        if text.isdecimal() and text.isascii() and len(text) <= _SHORTEST_LONG:
            return int(text)
        text = int(text) if _WHOLE.fullmatch(text) else None
    return text if text is not None and -LONGEST_NUMBER <= text <= LONGEST_NUMBER else None
