"""JSON by msgspec, with every digit: numbers with a fraction or an exponent stay the text that they are.

An integer is a Python int, a number with a fraction or an exponent is a `Number`, everything else is what Python has.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

NOT_TEXT: Final = "not UTF-8 text"
NOT_JSON: Final = "not JSON"
EMPTY: Final = "empty line"
BLANKS: Final = b" \t\r\n"
MISFIT: Final = (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for text that is not JSON, or not of the type that is wanted."""


class Number:
    """A JSON number with a fraction or an exponent, as it is written."""

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

    Raises: one of MISFIT.
    """
    return _any.decode(text)


def parse_object(text: bytes | str) -> dict[str, Any]:
    """The fields of a JSON object.

    Raises: one of MISFIT, also where the text is another JSON value.
    """
    return _object.decode(text)


def raw_fields(text: bytes | str) -> dict[str, msgspec.Raw]:
    """The fields of a JSON object, each value as the JSON text that it is.

    Raises: one of MISFIT. Strings in the values are not looked into: `broken_reason` does that.
    """
    return _raw_fields.decode(text)


def text_of(value: Any) -> bytes:
    """The shortest JSON text of a value; numbers keep their digits."""
    return _encoder.encode(value)


def plain_text(value: Any) -> str:
    """A JSON value as text: a string's content, the digits of a number as they are written, else its JSON text."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is Number:
        return value.text  # type: ignore[no-any-return]
    if kind is int:
        return str(value)
    return text_of(value).decode()


def is_sound(text: bytes) -> bool:
    """Whether a text that msgspec has read is UTF-8 throughout: it does not look into a value that is taken as
    `msgspec.Raw` for that, but rejects half a surrogate pair there, too."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def broken_reason(text: bytes, misfit: str, opening: bytes = b"{", wanted: str = "not a JSON object") -> str:
    """Why a line could not be read as an event. `misfit`: it begins with a character of `opening`, as it should, so a
    field has another type; `wanted`: it is another JSON value."""
    bare = text.strip(BLANKS)
    if not bare:
        return EMPTY
    try:
        text.decode()
    except UnicodeDecodeError:
        return NOT_TEXT
    try:
        _any.decode(bare)
    except MISFIT:
        return NOT_JSON
    return misfit if bare[:1] in opening else wanted
