"""Messages of a topic whose values are bytes, as lines: base64 alone, or a JSON object with base64 in its fields.

    AAAAAAIAAqAB...                                                                the value alone
    {"topic": "t", "partition": 0, "offset": 7, "key": "AAAA...", "value": "AAAA..."}
    {"topic": "t", "key_avro": "AAAA...", "value_avro": "AAAA...", "key": {...}, "value": {...}}

Records of Parquet and Avro files with such columns have the second form. `destination` is another name of `topic`.
A field that ends with `_avro` has the bytes; the field without that ending may repeat them as JSON.

A value alone can be a JSON string. Only JSON has escapes: outside of it a backslash is no base64.

Base64 may lack its padding. A key may have blanks between its digits; a value may not, for a text with blanks is most
often a sentence, and a short one could be decoded.
"""

from __future__ import annotations

import binascii
import re
from typing import Final

import msgspec

from siltstone.engine.decode.event import Message
from siltstone.engine.decode.formats.json_fields import Int, Long, content_of
from siltstone.engine.decode.json_value import BLANKS, MISFIT, broken_reason, is_sound

NO_BYTES: Final = "a JSON object without a value in base64"
NO_BASE64_VALUE: Final = "the value is not base64"
NO_BASE64_KEY: Final = "the key is not base64"
WRONG_TYPE: Final = "a field of the message has a type that a topic's messages do not give it"

_NULL: Final = b"null"
_SPACES: Final = re.compile(rb"[ \t\n\x0b\f\r]+")
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]*={0,2}\Z")


class Base64Message(msgspec.Struct, gc=False):
    """The bytes of one message, and its position in its topic.

    `headers` is JSON text. `is_empty`: the message has no value (a null message). `problem`: why the line is no
    message; None where it is one.
    """

    value: bytes | None = None
    key: bytes | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    headers: bytes | None = None
    is_empty: bool = False
    problem: str | None = None


class _UsualLine(msgspec.Struct, gc=False):
    value: bytes
    key: bytes | None = None
    topic: str | None = None
    destination: str | None = None
    partition: Int | None = None
    offset: Long | None = None
    headers: msgspec.Raw = msgspec.Raw()
    value_avro: None = None
    key_avro: None = None


class _AnyLine(msgspec.Struct, gc=False):
    value: msgspec.Raw = msgspec.Raw()
    value_avro: msgspec.Raw = msgspec.Raw()
    key: msgspec.Raw = msgspec.Raw()
    key_avro: msgspec.Raw = msgspec.Raw()
    topic: msgspec.Raw = msgspec.Raw()
    destination: msgspec.Raw = msgspec.Raw()
    partition: Int | None = None
    offset: Long | None = None
    headers: msgspec.Raw = msgspec.Raw()


_usual: Final = msgspec.json.Decoder(_UsualLine)
_any: Final = msgspec.json.Decoder(_AnyLine)
_bytes: Final = msgspec.json.Decoder(bytes)


def read_base64(message: Message) -> Base64Message:
    """The bytes of a message, and its position in its topic."""
    text = message.text
    if message.problem is not None:
        return Base64Message(problem=message.problem)
    bare = text.strip(BLANKS)
    if bare[:1] == b"{":
        return _of_object(text)
    if bare[:1] == b'"':
        try:
            bare = content_of(msgspec.Raw(bare)) or b""
        except MISFIT:
            return Base64Message(problem=NO_BASE64_VALUE)
    if bare == _NULL:  # four digits of base64, but a null message
        return Base64Message(is_empty=True)
    value = _from_base64(bare)
    if value is None or _is_sentence(bare):
        return Base64Message(value=value, problem=NO_BASE64_VALUE)
    return Base64Message(value=value)


def _of_object(text: bytes) -> Base64Message:
    try:
        line = _usual.decode(text)
    except MISFIT:
        return _of_any_object(text)
    if not text.isascii() and not is_sound(text):
        return Base64Message(problem=broken_reason(text, WRONG_TYPE))
    topic = line.topic if line.topic is not None else line.destination
    return Base64Message(line.value, line.key, topic, line.partition, line.offset, _json(line.headers))


def _of_any_object(text: bytes) -> Base64Message:
    """An object with the bytes in fields that end with `_avro`, without a value, or with base64 in an unusual form."""
    try:
        line = _any.decode(text)
        if not is_sound(text):
            return Base64Message(problem=broken_reason(text, WRONG_TYPE))
        topic = content_of(line.topic) or content_of(line.destination)
    except MISFIT:
        return Base64Message(problem=broken_reason(text, WRONG_TYPE))
    written, written_key = _chosen(line.value_avro, line.value), _chosen(line.key_avro, line.key)
    value, key = _from_base64(written), _from_base64(written_key)
    is_empty = written is None and _NULL in (bytes(line.value), bytes(line.value_avro))
    return Base64Message(
        value=value,
        key=key,
        topic=topic.decode() if topic is not None else None,
        partition=line.partition,
        offset=line.offset,
        headers=_json(line.headers),
        is_empty=is_empty,
        problem=None if is_empty else _problem(written, value, written_key, key),
    )


def _chosen(in_avro: msgspec.Raw, plain: msgspec.Raw) -> bytes | None:
    """The text of the field that ends with `_avro`, be it null; else of the field without that ending, unless this one
    repeats the value as JSON."""
    content = content_of(in_avro)
    if content is not None:
        return content
    repeated = content_of(plain)
    is_repeated = bool(bytes(in_avro)) and repeated is not None and repeated.startswith(b"{")
    return None if is_repeated else repeated


def _json(value: msgspec.Raw) -> bytes | None:
    """The JSON text of a value; None for null, and where there is none."""
    text = bytes(value)
    return None if text in (b"", _NULL) else text


def _problem(written: bytes | None, value: bytes | None, written_key: bytes | None, key: bytes | None) -> str | None:
    """Why a message with a value is none; None where it is one."""
    if written is None or written.startswith(b"{"):
        return NO_BYTES
    if value is None or _is_sentence(written):
        return NO_BASE64_VALUE
    return NO_BASE64_KEY if written_key is not None and key is None else None


def _from_base64(text: bytes | None) -> bytes | None:
    """The bytes of base64, perhaps with blanks in it and without its padding; None where the text is none."""
    if text is None:
        return None
    if b"\\" not in text:  # it would be an escape in the JSON string, and base64 has none
        try:
            return _bytes.decode(b'"%b"' % text)
        except MISFIT:
            pass
    digits = _SPACES.sub(b"", text)
    length = len(digits.rstrip(b"="))
    has_end = len(digits) % 4 == 0 if length < len(digits) else length % 4 != 1
    if not has_end or not _BASE64.match(digits):
        return None
    return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4))


def _is_sentence(text: bytes) -> bool:
    return b" " in text
