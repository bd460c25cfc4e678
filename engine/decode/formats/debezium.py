"""Debezium events as JSON lines: a record with key, value, topic and headers, or the bare value.

    {"topic": "srv.shop.items", "key": {"id": 1}, "headers": {...}, "value": {
      "before": {...}, "after": {...}, "op": "c", "ts_ms": ..., "source": {...}, "transaction": {"id", "total_order"}}}

    https://debezium.io/documentation/reference/stable/connectors/

Keys and values can have `{"schema", "payload"}` around them. Values can be CloudEvents (`cloud_events`). `destination`
is another name of `topic`. Row images, keys and schemas stay JSON text here.

op: c insert, u update, d delete, r READ, t truncate; m is a logical message, a control event. Only the op shows a READ:
after a restart inside a snapshot, streamed changes have `source.snapshot: true`, too. A key change is a delete with the
header `__debezium.newkey` and an insert with the header `__debezium.oldkey`, both at one position.

`debezium_envelope` reads the fields, `debezium_positions` has the connectors and the layout of their positions,
`debezium_kinds` has the control events, and `debezium_event` builds the events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.epoch_rules import source_block_of
from siltstone.engine.decode.event import Event, Message, Reject, rejected
from siltstone.engine.decode.formats.cloud_events import HEADER_MARK, may_be_around, unwrapped
from siltstone.engine.decode.formats.debezium_envelope import WRONG_TYPE, Line, line_of
from siltstone.engine.decode.formats.debezium_event import EventBuilder, Record
from siltstone.engine.decode.json_value import PARSE_ERRORS, broken_reason, is_utf8, parse_object, raw_fields, text_of
from siltstone.engine.names import OP_TRUNCATE
from siltstone.engine.spec.model import SourceSpec

_NULL: Final = b"null"
_line: Final = msgspec.json.Decoder(Line[msgspec.Raw])


class DebeziumDecoder:
    """Decodes the lines of one source."""

    def __init__(self, source: SourceSpec, declared: Declared) -> None:
        self._builder = EventBuilder(source, declared)

    def events(self, message: Message) -> Sequence[Event]:
        """The event of a message."""
        return [self._event(message)]

    def source_block(self, text: bytes) -> Mapping[str, Any]:
        """The source block of the event in a message."""
        if not may_be_around(text):
            return source_block_of(text)
        try:
            found = unwrapped(parse_object(text))
        except PARSE_ERRORS:
            return {}
        return source_block_of(text if found is None else text_of(found[0]))

    def _event(self, message: Message) -> Event:
        text = message.text
        if message.problem is not None:
            return rejected(message, message.problem)
        try:
            line: Line[Any] = _line.decode(text)
        except PARSE_ERRORS:
            return self._unusual(message)
        if line.headers is not None and HEADER_MARK in bytes(line.headers):
            return self._unusual(message)
        if not is_utf8(text):  # msgspec checks the escapes of all strings, but not all bytes
            return _broken(message)
        return self._builder.event(message, Record(line, lambda: parse_object(text)))

    def _unusual(self, message: Message) -> Event:
        """The event of a line that is not a usual record.

        It can be null, a CloudEvent (its source is text, or its attributes are headers), or a record with other types
        than connectors write. All other lines are rejected.
        """
        if message.text.strip(b" ") == _NULL:
            return self._builder.event(message, Record(Line(), lambda: None))
        try:
            fields = parse_object(message.text)
        except PARSE_ERRORS:
            return _broken(message)
        found = unwrapped(fields) if may_be_around(message.text) else None
        opened, reason = (fields, None) if found is None else found
        if reason is not None:
            return rejected(message, reason)
        line, is_fit = line_of(opened)
        return self._builder.event(message, Record(line, lambda: opened, None if is_fit else WRONG_TYPE))


def _broken(message: Message) -> Reject:
    return rejected(message, broken_reason(message.text, WRONG_TYPE))


def shows_no_key(event: Event, text: bytes) -> bool | None:
    """Whether a change shows that its table has no key: its message has a field for the key, and the key is null."""
    if event.op == OP_TRUNCATE:  # it has no key, whatever the table
        return None
    return event.key is None and _has_null_key(text)


def _has_null_key(text: bytes) -> bool:
    try:
        fields = raw_fields(text)
    except PARSE_ERRORS:  # a message that is bare base64
        return False
    return bytes(fields.get("key", b"")) == b"null"
