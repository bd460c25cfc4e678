"""Bytes and bits: base64, hexadecimal digits, bytes written as characters, and bits as digits of 0 and 1."""

from __future__ import annotations

import binascii
import re
from typing import Any, Final

from siltstone.engine.decode.types.converter import each

MOST_BITS: Final = 2**20
"""The greatest width of padding. Debezium reports 2^31 - 1 for PostgreSQL's `bit varying` without a length."""
_UNPADDED: Final = re.compile("[A-Za-z0-9+/]*")
_BLANKS: Final = re.compile(r"\s+")
_DIGITS: Final = re.compile("[0-9]{1,40}")
_WORD: Final = 2**64
_FLAGS: Final = {"true": 1, "false": 0}

# --- bytes ----------------------------------------------------------------------------------------------------------


def base64_bytes(text: str) -> bytes | None:
    """The bytes of base64, with or without blanks and padding. None if it is not base64."""
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
    """The bytes of a base64 string. A number without quotes is not base64, even if its digits could be."""
    return base64_bytes(value) if type(value) is str else None


BASE64: Final = each(base64_value)


def base64_url_value(value: Any) -> bytes | None:
    """The bytes of URL-safe base64."""
    return base64_bytes(value.replace("-", "+").replace("_", "/")) if type(value) is str else None


def hex_bytes(text: str) -> bytes | None:
    """The bytes of hexadecimal digits, with an optional 0x. The first byte may have one digit."""
    text = text.removeprefix("0x")
    try:
        return binascii.unhexlify("0" + text if len(text) % 2 else text)
    except (binascii.Error, ValueError):
        return None


def latin_bytes(text: str, size: int | None) -> bytes | None:
    """Bytes that are written as characters. The source omits trailing zeros of values of `size` bytes."""
    try:
        return text.encode("latin-1").ljust(size or 0, b"\0")
    except UnicodeEncodeError:
        return None


# --- bits -----------------------------------------------------------------------------------------------------------


def little_endian_bits(value: Any) -> int | None:
    """The number of bits that are true or false, or base64 of bytes in little-endian order."""
    if type(value) is bool:
        return int(value)
    if value in ("true", "false"):
        return _FLAGS[value]
    data = base64_value(value)
    return None if data is None else int.from_bytes(data, "little")


def word_bits(text: str) -> int | None:
    """The unsigned number of at most 64 bits from a text."""
    if not _DIGITS.fullmatch(text):
        return None
    number = int(text)
    return number if number < _WORD else None


def any_bits(text: str, size: int | None) -> int | None:
    """The same, also from true, false, and `size` digits of 0 and 1."""
    if text in _FLAGS:
        return _FLAGS[text]
    if has_width(size) and len(text) == size and not text.strip("01"):
        return int(text, 2)
    return word_bits(text)


def has_width(size: int | None) -> bool:
    """Whether values are padded to a number of bits."""
    return size is not None and size <= MOST_BITS


def bit_digits(number: int, size: int | None) -> str | None:
    """The number as `size` digits of 0 and 1, highest bit first. None if it needs more digits. Without a width, it has
    as many digits as it needs."""
    digits = format(number, "b")
    if size is None or not has_width(size):
        return digits
    return digits.rjust(size, "0") if len(digits) <= size else None
