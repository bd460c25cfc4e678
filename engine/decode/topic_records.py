r"""Converts records of topics to messages: each has the text of a line in a file of such records.

    {"topic": "srv.shop.items", "partition": 0, "offset": 7, "timestamp": 1578923739801, "headers": {...},
     "key": {"id": 1}, "value": {...}}

So the decoders, the rejects and their replay use one form of records, from files and from topics. Keys, values and
headers that are JSON stay JSON; other text becomes a JSON string, which no decoder accepts as an event. If the messages
of a format are bytes, keys and values are base64. If the events of a format have no record around them, the text is
only the value. A record without a value is a null message.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import msgspec

from siltstone.engine.decode.event import Message
from siltstone.engine.decode.json_value import PARSE_ERRORS
from siltstone.engine.formats.base import Format
from siltstone.engine.inputs.kafka import Reader
from siltstone.engine.inputs.topic_partitions import Partition
from siltstone.engine.spec.model import KafkaSpec

RECORDS: Final = 2_000
PIECE_RECORDS: Final = 50_000
"""The number of records of a partition that one task reads."""
Around = Literal["json", "base64", "nothing"]

_NULL: Final = b"null"
_raw: Final = msgspec.json.Decoder(msgspec.Raw)
_text: Final = msgspec.json.Encoder()


@dataclass(frozen=True)
class TopicsToRead:
    """Ranges of offsets in partitions: from `read_from` to before `end` of each piece."""

    kafka: KafkaSpec
    pieces: Sequence[Partition]
    around: Around

    @property
    def sizes(self) -> Sequence[int]:
        """The approximate size of each piece, in bytes."""
        return [piece.work_bytes for piece in self.pieces]

    def messages(self, index: int) -> Iterator[list[Message]]:
        """The records of one piece, as lists."""
        piece = self.pieces[index]
        make = texts(piece.topic, piece.number, self.around)
        reader = Reader(self.kafka, piece.path)
        try:
            for records in reader.read(piece.topic, piece.number, piece.read_from, piece.end, RECORDS):
                yield [Message(piece.path, record.offset() + 1, make(record)) for record in records]
        finally:
            reader.close()


def topic_pieces(partition: Partition, most: int = PIECE_RECORDS) -> list[Partition]:
    """The pieces of the unread part of a partition, in their order."""
    starts = range(partition.read_from, partition.end, most)
    return [replace(partition, read_from=at, size=min(at + most, partition.end)) for at in starts]


def around_of(form: Format) -> Around:
    """The form of the record around a value of this format."""
    if form.holds == "messages":
        return "base64"
    return "json" if form.of_topics else "nothing"


def texts(topic: str, partition: int, around: Around) -> Callable[[Any], bytes]:
    """A function that gives the text of a record."""
    if around == "nothing":
        return lambda record: _NULL if record.value() is None else record.value()
    head = b'{"topic":%b,"partition":%d,"offset":' % (_text.encode(topic), partition)
    part = _json if around == "json" else _base64

    def text(record: Any) -> bytes:
        _, millis = record.timestamp()
        headers = record.headers()
        parts = [head, b'%d,"timestamp":%d' % (record.offset(), millis)]
        if headers:
            parts += [b',"headers":', _headers(headers)]
        parts += [b',"key":', part(record.key()), b',"value":', part(record.value()), b"}"]
        return b"".join(parts)

    return text


def _json(content: bytes | None) -> bytes:
    """JSON unchanged, other text as a string. Bytes that are not UTF-8 are escaped, so that they are no event."""
    if content is None:
        return _NULL
    try:
        _raw.decode(content)
    except PARSE_ERRORS:
        return _text.encode(content.decode("utf-8", "backslashreplace"))
    return content


def _base64(content: bytes | None) -> bytes:
    return _NULL if content is None else b'"%b"' % base64.b64encode(content)


def _headers(headers: Sequence[tuple[str, bytes | None]]) -> bytes:
    """The headers as an array of objects, because a name can occur more than once."""
    listed = [b'{"key":%b,"value":%b}' % (_text.encode(name), _header(value)) for name, value in headers]
    return b"[%b]" % b",".join(listed)


def _header(value: bytes | None) -> bytes:
    """JSON and text as in `_json`, other bytes as base64."""
    if value is None:
        return _NULL
    try:
        value.decode()
    except UnicodeDecodeError:
        return _base64(value)
    return _json(value)
