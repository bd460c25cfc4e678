"""Bytes and bits: base64, hexadecimal digits, bytes written as characters, and bits as digits of 0 and 1."""

from __future__ import annotations

import binascii
import re
from typing import Any, Final

from siltstone.engine.decode.types.converter import each

MOST_BITS: Final = 2**20
"""That a value is filled up to. PostgreSQL's `bit varying` without a length is said to have 2^31 - 1."""
_UNPADDED: Final = re.compile("[A-Za-z0-9+/]*")
_BLANKS: Final = re.compile(r"\s+")
_DIGITS: Final = re.compile("[0-9]{1,40}")
_WORD: Final = 2**64
_FLAGS: Final = {"true": 1, "false": 0}

# --- bytes ----------------------------------------------------------------------------------------------------------


def base64_bytes(text: str) -> bytes | None:
    """The bytes of base64, also with blanks in it or without its padding. None where it is not base64."""
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError):
        return _loose_base64(text)


def _loose_base64(text: str) -> bytes | None:
    bare = _BLANKS.sub("", text)
    if _UNPADDED.fullmatch(bare):
        bare += "=" * (-len(bare) % 4)
    try:
        return binascii.a2b_base64(bare, strict_mode=True)
    except (binascii.Error, ValueError):
        return None


def base64_value(value: Any) -> bytes | None:
    """A number without quotes is not base64, though its digits could be."""
    return base64_bytes(value) if type(value) is str else None


BASE64: Final = each(base64_value)


def base64_url_value(value: Any) -> bytes | None:
    """Base64 in the alphabet of file names and URLs."""
    return base64_bytes(value.replace("-", "+").replace("_", "/")) if type(value) is str else None


def hex_bytes(text: str) -> bytes | None:
    """Two hexadecimal digits a byte, perhaps with 0x before them; the first byte may have one."""
    text = text.removeprefix("0x")
    try:
        return binascii.unhexlify("0" + text if len(text) % 2 else text)
    except (binascii.Error, ValueError):
        return None


def latin_bytes(text: str, size: int | None) -> bytes | None:
    """Bytes, each written as the character of its number. The source cuts zeros at the end of `size` bytes."""
    try:
        return text.encode("latin-1").ljust(size or 0, b"\0")
    except UnicodeEncodeError:
        return None


# --- bits -----------------------------------------------------------------------------------------------------------


def little_endian_bits(value: Any) -> int | None:
    """The number whose bits are true or false, or base64 of bytes, the lowest first."""
    if type(value) is bool:
        return int(value)
    if value in ("true", "false"):
        return _FLAGS[value]
    data = base64_value(value)
    return None if data is None else int.from_bytes(data, "little")


def word_bits(text: str) -> int | None:
    """The number of at most 64 bits that a text is; it has no sign."""
    if not _DIGITS.fullmatch(text):
        return None
    number = int(text)
    return number if number < _WORD else None


def any_bits(text: str, size: int | None) -> int | None:
    """The same of true, false, and `size` digits of 0 and 1."""
    if text in _FLAGS:
        return _FLAGS[text]
    if has_width(size) and len(text) == size and not text.strip("01"):
        return int(text, 2)
    return word_bits(text)


def has_width(size: int | None) -> bool:
    """Whether values are filled up to a number of bits."""
    return size is not None and size <= MOST_BITS


def bit_digits(number: int, size: int | None) -> str | None:
    """The number as `size` digits of 0 and 1, highest bit first; None where it needs more. Without a width, as many
    as it needs."""
    digits = format(number, "b")
    if size is None or not has_width(size):
        return digits
    return digits.rjust(size, "0") if len(digits) <= size else None
