"""The bytes of messages, in every form that lines can have."""

from typing import Any

import pytest

from siltstone.engine.decode.event import Message
from siltstone.engine.decode.formats.base64_messages import (
    NO_BASE64_KEY,
    NO_BASE64_VALUE,
    NO_BYTES,
    WRONG_TYPE,
    Base64Message,
    read_base64,
)

EMPTY = Base64Message(is_empty=True)
BYTES = Base64Message(value=b"\0\0\0")

CASES: dict[bytes, Base64Message] = {
    b"AAAA": BYTES,
    b'\t"AAAA"\r': BYTES,
    b"AAA": Base64Message(value=b"\0\0"),
    b'"QUJ\\u0044"': Base64Message(value=b"ABC"),
    b'{"value": "QUJ\\u0044"}': Base64Message(value=b"ABC"),
    b'"null"': EMPTY,
    b'""': Base64Message(value=b""),
    b"null": EMPTY,
    b" null\r": EMPTY,
    b'{"value": "AAAA"}': BYTES,
    b'{"value": "AA\\/A"}': Base64Message(value=b"\0\x0f\xc0"),
    b'{"value": null, "key": "AA=="}': Base64Message(key=b"\0", is_empty=True),
    b'{"value_avro": null, "value": {"a": 1}}': EMPTY,
    b'{"value_avro": "AAAA", "value": {"a": 1}, "key_avro": "AA==", "key": {"b": 2}}': Base64Message(
        value=b"\0\0\0", key=b"\0"
    ),
    b'{"value": "AAAA", "key": " A A = = ", "destination": "t", "partition": 1, "offset": 7, "headers": [{"a": 1}]}': (
        Base64Message(b"\0\0\0", b"\0", "t", 1, 7, b'[{"a": 1}]')
    ),
    b'{"value": "AAAA", "topic": 5}': Base64Message(value=b"\0\0\0", topic="5"),
}
PROBLEMS: dict[bytes, str] = {
    b"no base64!": NO_BASE64_VALUE,
    b"a b c d": NO_BASE64_VALUE,
    b"A": NO_BASE64_VALUE,
    b"QUJ\\u0044": NO_BASE64_VALUE,
    b'"QUJ\\\\u0044"': NO_BASE64_VALUE,
    b'{"value": "QUJ\\\\u0044"}': NO_BASE64_VALUE,
    b'{"value": "AAAA", "key": "QUJ\\\\u0044"}': NO_BASE64_KEY,
    b'"AAAA': NO_BASE64_VALUE,
    b"AA=": NO_BASE64_VALUE,
    b'{"value": "no"}x': "not JSON",
    b'{"value": "not base64"}': NO_BASE64_VALUE,
    b'{"value": "AAAA", "key": "!"}': NO_BASE64_KEY,
    b'{"value": {"a": 1}}': NO_BYTES,
    b"{}": NO_BYTES,
    b'{"key": "AAAA"}': NO_BYTES,
    b'{"value": "AAAA", "offset": "7"}': WRONG_TYPE,
    b'{"value": "AAAA", "partition": 2147483648}': WRONG_TYPE,
    b'{"value": "AAAA", "more": "\\ud800"}': "not JSON",
    b'{"value": "AAAA", "more": "\xff"}': "not UTF-8 text",
    b"{": "not JSON",
}


@pytest.mark.parametrize(("line", "wanted"), CASES.items())
def test_a_line_is_a_message(line: bytes, wanted: Base64Message) -> None:
    assert read_base64(Message("f", 1, line)) == wanted


@pytest.mark.parametrize(("line", "problem"), PROBLEMS.items())
def test_a_line_without_a_message_has_a_reason(line: bytes, problem: Any) -> None:
    found = read_base64(Message("f", 1, line))
    assert (found.problem, found.is_empty) == (problem, False)
