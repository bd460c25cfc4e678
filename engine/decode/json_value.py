"""JSON by msgspec without a loss of digits: numbers with a fraction or an exponent keep their text.

An integer is a Python int, a number with a fraction or an exponent is a `Number`. All other values are the usual Python
values.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

NOT_TEXT: Final = "not UTF-8 text"
NOT_JSON: Final = "not JSON"
EMPTY: Final = "empty line"
BLANKS: Final = b" \t\r\n"
PARSE_ERRORS: Final = (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors that msgspec raises for text that is not JSON, or not of the expected type."""


class Number:
    """A JSON number with a fraction or an exponent, in its original spelling."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Number({self.text})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


def _written(value: Any) -> Any:
    if isinstance(value, Number):
        return msgspec.Raw(value.text.encode())
    raise TypeError(f"no JSON value: {type(value).__name__}")


_any: Final = msgspec.json.Decoder(float_hook=Number)
_object: Final = msgspec.json.Decoder(dict[str, Any], float_hook=Number)
_raw_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encoder: Final = msgspec.json.Encoder(enc_hook=_written)


def parse(text: bytes | str) -> Any:
    """The value of a JSON text.

    Raises: one of PARSE_ERRORS.
    """
    return _any.decode(text)


def parse_object(text: bytes | str) -> dict[str, Any]:
    """The fields of a JSON object.

    Raises: one of PARSE_ERRORS, also if the text is another JSON value.
    """
    return _object.decode(text)


def raw_fields(text: bytes | str) -> dict[str, msgspec.Raw]:
    """The fields of a JSON object, each value as its JSON text.

    Raises: one of PARSE_ERRORS. Strings in the values are not checked; `broken_reason` checks them.
    """
    return _raw_fields.decode(text)


def text_of(value: Any) -> bytes:
    """The shortest JSON text of a value; numbers keep their digits."""
    return _encoder.encode(value)


def plain_text(value: Any) -> str:
    """A JSON value as text: the content of a string, the original digits of a number, else its JSON text."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is Number:
        return value.text  # type: ignore[no-any-return]
    if kind is int:
        return str(value)
    return text_of(value).decode()


def is_utf8(text: bytes) -> bool:
    """Whether a text that msgspec has read is completely UTF-8. Inside `msgspec.Raw` values msgspec rejects half of a
    surrogate pair, but does not check that the bytes are UTF-8."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def broken_reason(text: bytes, type_reason: str, opening: bytes = b"{", wanted: str = "not a JSON object") -> str:
    """The reason why a line cannot be read as an event. `type_reason`: the reason for a line that begins with a
    character of `opening`, so that one of its fields has another type. `wanted`: the reason for another JSON value."""
    bare = text.strip(BLANKS)
    if not bare:
        return EMPTY
    try:
        text.decode()
    except UnicodeDecodeError:
        return NOT_TEXT
    try:
        _any.decode(bare)
    except PARSE_ERRORS:
        return NOT_JSON
    return type_reason if bare[:1] in opening else wanted
