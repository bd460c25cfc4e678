"""Values that are stored as text: unchanged, or as the label of a number, or as the base64 of bytes."""

from __future__ import annotations

import re
from typing import Any, Final

from siltstone.engine.decode.json_value import plain_text
from siltstone.engine.decode.types.binary import base64_bytes
from siltstone.engine.decode.types.converter import Convert, Converter, each
from siltstone.engine.decode.types.decimals import variable_scale_digits

BYTES_MARK: Final = "\x00bytes:"
"""The mark before the base64 of bytes, where a column can have texts and bytes. No text of a source begins with it."""
_ORDINAL: Final = re.compile("[0-9]{1,18}")
_BIT_MASK: Final = re.compile("[0-9]{1,20}")  # of 64 bits
_VARIABLE_SCALE: Final = re.compile(r'\{"scale":-?[0-9]+,"value":"[A-Za-z0-9+/]+=*"\}')


def _all_texts(values: list[Any]) -> list[Any]:
    return [value if type(value) is str or value is None else plain_text(value) for value in values]


TEXT: Final = Converter(plain_text, _all_texts)
"""Text, unchanged."""


def digits_or_text(value: Any) -> str | None:
    """Text. A number with its own scale, which is an object, becomes its digits."""
    text = plain_text(value)
    if text.startswith('{"scale":') and _VARIABLE_SCALE.fullmatch(text):
        return variable_scale_digits(value)
    return text


def _all_digits_or_texts(values: list[Any]) -> list[Any]:
    return [
        value if value is None or (type(value) is str and value[:1] != "{") else digits_or_text(value)
        for value in values
    ]


DIGITS_OR_TEXT: Final = Converter(digits_or_text, _all_digits_or_texts)


# --- labels ---------------------------------------------------------------------------------------------------------


def enum_label(labels: tuple[str, ...]) -> Converter:
    """The label of an ordinal: 1 is the first label, 0 is MySQL's empty error value. Other text is a label."""
    known = ("", *labels)

    def one(value: Any) -> str | None:
        text = plain_text(value)
        if not _ORDINAL.fullmatch(text):
            return text
        ordinal = int(text)
        return known[ordinal] if ordinal < len(known) else None

    return each(one)


def set_labels(labels: tuple[str, ...]) -> Converter:
    """The labels of a bit mask, lowest bit first, separated by commas. Other text already has the labels."""

    def one(value: Any) -> str | None:
        text = plain_text(value)
        if not _BIT_MASK.fullmatch(text):
            return text
        mask = int(text)
        if mask >> len(labels):
            return None
        return ",".join(label for at, label in enumerate(labels) if mask >> at & 1)

    return each(one)


# --- text and bytes in one column -----------------------------------------------------------------------------------


def marked_bytes(value: Any) -> bytes | None:
    """The bytes whose base64 follows BYTES_MARK. None for text without the mark."""
    if type(value) is str and value.startswith(BYTES_MARK):
        return base64_bytes(value[len(BYTES_MARK) :])
    return None


def unmarked(then: Convert) -> Converter:
    """Applies `then` to a text, or to the base64 after BYTES_MARK."""

    def one(value: Any) -> Any:
        text = plain_text(value)
        return then(text[len(BYTES_MARK) :] if text.startswith(BYTES_MARK) else text)

    return each(one)


def unmarked_texts() -> Converter:
    """Texts, and bytes as their base64."""
    slow = unmarked(plain_text).one

    def convert_all(values: list[Any]) -> list[Any]:
        return [
            value if value is None or (type(value) is str and value[:1] != "\x00") else slow(value) for value in values
        ]

    return Converter(slow, convert_all)
