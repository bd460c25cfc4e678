"""Records of topics have the same text as lines of files, so that decoders see no difference."""

import base64
import json
from dataclasses import dataclass
from typing import Any

import pytest

from siltstone.engine.decode.event import Message
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.decode.topic_records import around_of, texts, topic_pieces
from siltstone.engine.formats import format_of
from siltstone.engine.inputs.topic_partitions import partition
from siltstone.engine.spec.model import SourceSpec
from tests.e2e.streams import insert, row


@dataclass
class Given:
    """A record of the Kafka client."""

    content: bytes | None
    name: bytes | None = None
    more: list[tuple[str, bytes | None]] | None = None

    def value(self) -> bytes | None:
        return self.content

    def key(self) -> bytes | None:
        return self.name

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.more

    def offset(self) -> int:
        return 7

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_700_000_000_000


def text(record: Given, form: str = "debezium-json") -> bytes:
    return texts("t", 3, around_of(format_of(form)))(record)


def parsed(record: Given, form: str = "debezium-json") -> dict[str, Any]:
    found = json.loads(text(record, form))
    assert {name: found.pop(name) for name in ("topic", "partition", "offset", "timestamp")} == {
        "topic": "t", "partition": 3, "offset": 7, "timestamp": 1_700_000_000_000,
    }  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b'{"a": [1, 2.50]}', {"a": [1, 2.5]}),
        (b" 1 ", 1),
        (None, None),
        (b"", ""),
        (b"{broken", "{broken"),
        (b'{"a":1},"offset":9', '{"a":1},"offset":9'),
        (b"\xff\x00", "\\xff\x00"),
    ],
)
def test_values_are_json_or_texts_that_are_not_events(content: bytes | None, value: Any) -> None:
    assert parsed(Given(content, content)) == {"key": value, "value": value}


def test_numbers_keep_all_digits() -> None:
    assert b'"value":{"n":1.10}' in text(Given(b'{"n":1.10}'))


def test_headers_are_a_list_because_names_can_repeat() -> None:
    headers = [("a", b'{"id":1}'), ("a", b"text"), ("b", None), ("c", b"\x00\xff")]
    assert parsed(Given(b"1", None, headers))["headers"] == [
        {"key": "a", "value": {"id": 1}},
        {"key": "a", "value": "text"},
        {"key": "b", "value": None},
        {"key": "c", "value": base64.b64encode(b"\x00\xff").decode()},
    ]


def test_byte_formats_have_base64_and_rows_stay_unchanged() -> None:
    assert parsed(Given(b"\x00\x01", b"\x02"), "dts-avro") == {"key": "Ag==", "value": "AAE="}
    assert parsed(Given(None), "debezium-avro") == {"key": None, "value": None}
    assert text(Given(b'{"id": 1}'), "rows") == b'{"id": 1}'
    assert text(Given(None), "rows") == b"null"


CLOUD = [
    ("ce_specversion", b"1.0"),
    ("ce_id", b"1"),
    ("content-type", b"application/json"),
    ("ce_iodebeziumop", b"c"),
    ("ce_iodebeziumconnector", b"mysql"),
    ("ce_iodebeziumname", b"srv"),
    ("ce_iodebeziumdb", b"shop"),
    ("ce_iodebeziumtable", b"things"),
    ("ce_iodebeziumtsms", b"1704067201000"),
    ("ce_iodebeziumfile", b"binlog.000001"),
    ("ce_iodebeziumpos", b"1"),
    ("ce_iodebeziumrow", b"0"),
]


def test_attributes_of_cloud_events_can_be_headers() -> None:
    event = json.loads(insert(1, row(1, "Ann")))
    data = json.dumps({"before": None, "after": event["after"]}).encode()
    source = SourceSpec("debezium-json", "kafka://t/*")
    records = [Given(data, b'{"id":1}', CLOUD), Given(json.dumps(event).encode(), b'{"id":1}')]
    messages = [Message("kafka://t/3", 8, text(record)) for record in records]
    cloud, plain = decode_messages(messages, source, {"shop.things": None})
    assert (cloud.kind, cloud.reason) == ("change", None)
    assert json.loads(cloud.after or b"") == json.loads(plain.after or b"")
    for name in ("table", "op", "key", "position", "commit_us", "kafka_partition", "kafka_offset", "channel"):
        assert getattr(cloud, name) == getattr(plain, name), name
    (null,) = decode_messages([Message("f", 1, text(Given(None, b'{"id":1}', CLOUD)))], source, {})
    assert null.control_kind == "null_message"


def test_the_unread_part_of_a_partition_is_split_into_pieces() -> None:
    pieces = topic_pieces(partition("t", 0, "id", 5, 12), 3)
    assert [(piece.read_from, piece.end) for piece in pieces] == [(5, 8), (8, 11), (11, 12)]
    assert topic_pieces(partition("t", 0, "id", 5, 5)) == []
