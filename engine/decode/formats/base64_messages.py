"""Messages of a topic whose values are bytes, one per line: bare base64, or a JSON object with base64 in its fields.

    AAAAAAIAAqAB...                                                                a bare value
    {"topic": "t", "partition": 0, "offset": 7, "key": "AAAA...", "value": "AAAA..."}
    {"topic": "t", "key_avro": "AAAA...", "value_avro": "AAAA...", "key": {...}, "value": {...}}

Records of Parquet and Avro files with such columns have the second form. `destination` is another name of `topic`.
A field that ends with `_avro` has the bytes; the field without that ending can repeat them as JSON.

A bare value can be a JSON string. Only JSON strings have escapes: elsewhere, a backslash is not valid base64.

The padding of base64 is optional. A key can have blanks between its digits. A value cannot: a text with blanks is
usually a sentence, and a short sentence can be decoded by accident.
"""

from __future__ import annotations

import binascii
import re
from typing import Final

import msgspec

from siltstone.engine.decode.event import Message
from siltstone.engine.decode.formats.json_fields import Int, Long, content_of
from siltstone.engine.decode.json_value import BLANKS, PARSE_ERRORS, broken_reason, is_utf8

NO_BYTES: Final = "a JSON object without a value in base64"
NO_BASE64_VALUE: Final = "the value is not base64"
NO_BASE64_KEY: Final = "the key is not base64"
WRONG_TYPE: Final = "a field of the message has an unexpected type"

_NULL: Final = b"null"
_SPACES: Final = re.compile(rb"[ \t\n\x0b\f\r]+")
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]*={0,2}\Z")


class Base64Message(msgspec.Struct, gc=False):
    """The bytes of one message, and its position in its topic.

    `headers` is JSON text. `is_empty`: the message has no value (a null message). `problem`: why the line is not a
    message; None if it is one.
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
        except PARSE_ERRORS:
            return Base64Message(problem=NO_BASE64_VALUE)
    if bare == _NULL:  # valid base64 by its letters, but a null message
        return Base64Message(is_empty=True)
    value = _from_base64(bare)
    if value is None or _is_sentence(bare):
        return Base64Message(value=value, problem=NO_BASE64_VALUE)
    return Base64Message(value=value)


def _of_object(text: bytes) -> Base64Message:
    try:
        line = _usual.decode(text)
    except PARSE_ERRORS:
        return _of_any_object(text)
    if not text.isascii() and not is_utf8(text):
        return Base64Message(problem=broken_reason(text, WRONG_TYPE))
    topic = line.topic if line.topic is not None else line.destination
    return Base64Message(line.value, line.key, topic, line.partition, line.offset, _json(line.headers))


def _of_any_object(text: bytes) -> Base64Message:
    """An object with its bytes in `_avro` fields, without a value, or with base64 in an unusual form."""
    try:
        line = _any.decode(text)
        if not is_utf8(text):
            return Base64Message(problem=broken_reason(text, WRONG_TYPE))
        topic = content_of(line.topic) or content_of(line.destination)
    except PARSE_ERRORS:
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
    """The text of the `_avro` field, if there is one. Otherwise the text of the field without that ending.

    If there is an `_avro` field, the other field can be the value as JSON: then it does not count.
    """
    content = content_of(in_avro)
    if content is not None:
        return content
    repeated = content_of(plain)
    is_repeated = bool(bytes(in_avro)) and repeated is not None and repeated.startswith(b"{")
    return None if is_repeated else repeated


def _json(value: msgspec.Raw) -> bytes | None:
    """The JSON text of a value; None if it is null or missing."""
    text = bytes(value)
    return None if text in (b"", _NULL) else text


def _problem(written: bytes | None, value: bytes | None, written_key: bytes | None, key: bytes | None) -> str | None:
    """Why a line with a value is not a message; None if it is one."""
    if written is None or written.startswith(b"{"):
        return NO_BYTES
    if value is None or _is_sentence(written):
        return NO_BASE64_VALUE
    return NO_BASE64_KEY if written_key is not None and key is None else None


def _from_base64(text: bytes | None) -> bytes | None:
    """The bytes of base64, also with blanks in it or without padding; None if the text is not base64."""
    if text is None:
        return None
    if b"\\" not in text:  # a backslash would start an escape in the JSON string; base64 has no backslash
        try:
            return _bytes.decode(b'"%b"' % text)
        except PARSE_ERRORS:
            pass
    digits = _SPACES.sub(b"", text)
    length = len(digits.rstrip(b"="))
    has_end = len(digits) % 4 == 0 if length < len(digits) else length % 4 != 1
    if not has_end or not _BASE64.match(digits):
        return None
    return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4))


def _is_sentence(text: bytes) -> bool:
    return b" " in text
