"""Messages of AWS DMS to Kafka and Kinesis: their kinds, their order, and the row before a change."""

import json
import random
from typing import Any

import pytest

from siltstone.engine.decode.event import Event, Message
from siltstone.engine.decode.formats.dms import log_segment
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.spec.model import SourceSpec

# Messages that DMS wrote for a table of PostgreSQL, with transaction details, control details and before images.
CREATE = {
    "control": {
        "table-def": {
            "columns": {
                "age": {"nullable": True, "type": "INT32"},
                "attributes": {"nullable": True, "type": "STRING"},
                "id": {"nullable": False, "type": "INT32"},
                "name": {"nullable": True, "type": "STRING"},
            },
            "primary-key": ["id"],
        }
    },
    "metadata": {
        "operation": "create-table",
        "partition-key-type": "task-id",
        "partition-key-value": "serv-res-id-1722195358878-yhru",
        "record-type": "control",
        "schema-name": "public",
        "table-name": "foo",
        "timestamp": "2024-07-29T00:30:47.266581Z",
    },
}
LOAD = {
    "data": {"age": 30, "attributes": '{"foo": "bar"}', "id": 42, "name": "John"},
    "metadata": {
        "operation": "load",
        "partition-key-type": "primary-key",
        "partition-key-value": "public.foo.42",
        "record-type": "data",
        "schema-name": "public",
        "table-name": "foo",
        "timestamp": "2024-07-29T00:57:35.691762Z",
    },
}
INSERT = {
    "data": {"age": 31, "attributes": '{"baz": "qux"}', "id": 46, "name": "Jane"},
    "metadata": {
        "commit-timestamp": "2024-07-29T00:58:17.974340Z",
        "operation": "insert",
        "partition-key-type": "schema-table",
        "record-type": "data",
        "schema-name": "public",
        "stream-position": "00000002/7C007178.3.00000002/7C007178",
        "table-name": "foo",
        "timestamp": "2024-07-29T00:58:17.983670Z",
        "transaction-id": 1139,
        "transaction-record-id": 1,
    },
}
UPDATE = {
    "before-image": {},
    "data": {"age": 33, "attributes": '{"foo": "bar"}', "id": 42, "name": "John"},
    "metadata": INSERT["metadata"]
    | {
        "commit-timestamp": "2024-07-29T00:58:44.886717Z",
        "operation": "update",
        "prev-transaction-id": 1139,
        "prev-transaction-record-id": 1,
        "stream-position": "00000002/7C007328.2.00000002/7C007328",
        "timestamp": "2024-07-29T00:58:44.895275Z",
        "transaction-id": 1140,
    },
}
NEW_KEY = {
    "before-image": {"id": 46},
    "data": {"age": 31, "attributes": '{"baz": "qux"}', "id": 45, "name": "Jane"},
    "metadata": UPDATE["metadata"]
    | {
        "commit-timestamp": "2024-07-29T00:59:07.678294Z",
        "stream-position": "00000002/7C0073F8.2.00000002/7C0073F8",
        "timestamp": "2024-07-29T00:59:07.686557Z",
        "transaction-id": 1141,
    },
}
DELETE = {
    "data": {"age": None, "attributes": None, "id": 45, "name": None},
    "metadata": UPDATE["metadata"]
    | {
        "commit-timestamp": "2024-07-29T01:09:25.366257Z",
        "operation": "delete",
        "stream-position": "00000002/840001D8.2.00000002/840001D8",
        "timestamp": "2024-07-29T01:09:25.375525Z",
        "transaction-id": 1144,
    },
}
MYSQL = [f"mysql-bin-changelog.{place}" for place in ("000024:373", "000024:1975", "000025:4", "999999:4", "1000000:4")]
SQL_SERVER = ["0000002B:00000D3C:0003.0.0", "0000002B:00000D3C:000A.0.0", "0000002C:00000001:0001.0.0"]
ORACLE = ["9.1", "99.1", "100.1", "1374891.2", "1374891.10"]


def decoded(*messages: Any, order: Any = "auto", keys: Any = ("id",)) -> list[Event]:
    texts = [message if isinstance(message, bytes) else json.dumps(message).encode() for message in messages]
    lines = [Message("file:/in/a.jsonl", line, text) for line, text in enumerate(texts, 1)]
    return decode_messages(lines, SourceSpec("dms-json", "/in/*.jsonl", order=order), {"public.foo": keys})


def test_the_messages_of_a_table_are_its_changes() -> None:
    events = decoded(CREATE, LOAD, INSERT, UPDATE, NEW_KEY, DELETE)
    assert [(e.kind, e.op, e.origin, e.table) for e in events] == [
        ("control", None, None, "public.foo"),
        ("change", "read", "snapshot", "public.foo"),
        ("change", "insert", "stream", "public.foo"),
        ("change", "update", "stream", "public.foo"),
        ("change", "update", "stream", "public.foo"),
        ("change", "delete", "stream", "public.foo"),
    ]
    assert (events[0].control_kind, json.loads(events[0].control or b"")) == ("ddl", CREATE)
    assert [e.tx_id for e in events] == [None, None, "1139", "1140", "1141", "1144"]
    assert [e.tx_order for e in events] == [None, None, 1, 1, 1, 1]
    assert events[1].commit_us == events[1].ingest_us == 1722214655691762
    assert (events[2].commit_us, events[2].ingest_us) == (1722214697974340, 1722214697983670)


def test_the_before_image_is_complete_or_has_the_key() -> None:
    whole = NEW_KEY | {"before-image": {"age": 1, "attributes": None, "id": 46, "name": "x"}}
    changed = UPDATE | {"before-image": {"age": 30}}
    events = decoded(UPDATE, NEW_KEY, whole, changed, DELETE)
    befores = [None if e.before is None else json.loads(e.before) for e in events]
    assert befores == [None, {"id": 46}, whole["before-image"], None, DELETE["data"]]
    (event,) = decoded(NEW_KEY, keys=("name", "id"))
    assert json.loads(event.before or b"") == {"name": "Jane", "id": 46}


def test_a_load_shows_its_key_column_by_the_key_value() -> None:
    twice = LOAD | {"data": LOAD["data"] | {"age": 42}}
    events = decoded(LOAD, twice, INSERT)
    assert [e.key_schema for e in events] == ['{"keys":["id"]}', None, None]


@pytest.mark.parametrize("places", [MYSQL, SQL_SERVER, ORACLE])
def test_log_positions_have_the_order_of_their_numbers(places: list[str]) -> None:
    shuffled = random.Random(1).sample(places, len(places))
    assert sorted(shuffled, key=log_segment) == places


def test_changes_have_the_order_of_their_commits_in_any_order_of_delivery() -> None:
    second = INSERT | {"metadata": INSERT["metadata"] | {"transaction-record-id": 2}}
    tenth = INSERT | {"metadata": INSERT["metadata"] | {"transaction-record-id": "10"}}
    events = decoded(DELETE, NEW_KEY, tenth, second, UPDATE, INSERT)
    assert [json.loads(e.text or b"") for e in sorted(events, key=lambda e: e.position or "")] == [
        INSERT, second, tenth, UPDATE, NEW_KEY, DELETE,
    ]  # fmt: skip


def test_without_transaction_details_the_order_of_delivery_counts() -> None:
    details = ("commit-timestamp", "stream-position", "transaction-record-id")
    bare = [m | {"metadata": {k: v for k, v in m["metadata"].items() if k not in details}} for m in (DELETE, INSERT)]
    first, second, by_log = decoded(*bare, INSERT)
    assert (by_log.position or "") < (first.position or "") < (second.position or "")
    assert first.commit_us == first.ingest_us
    ordered = decoded(DELETE, INSERT, order="coordinates")
    assert [e.position for e in ordered] == [e.position for e in decoded(*bare)]
    record = {"topic": "t", "partition": 1}
    in_topic = decoded(record | {"value": INSERT, "offset": 9}, record | {"value": DELETE, "offset": 10})
    assert [(e.channel, e.kafka_partition, e.kafka_offset) for e in in_topic] == [("t", 1, 9), ("t", 1, 10)]


def test_the_value_of_a_topic_record_is_a_message_as_text_or_as_an_object() -> None:
    bare, inside, as_text, null = decoded(
        INSERT, {"value": INSERT}, {"value": json.dumps(INSERT)}, {"value": None, "topic": "t"}
    )
    assert bare.position == inside.position == as_text.position
    assert (null.kind, null.control_kind) == ("control", "null_message")
    assert [event.control_kind for event in decoded(b"null")] == ["null_message"]


def test_numbers_keep_all_digits() -> None:
    text = json.dumps(INSERT).replace("31", "12345678901234567890.1234567890123456789")
    (event,) = decoded(text.encode())
    assert b"12345678901234567890.1234567890123456789" in (event.after or b"")


def test_malformed_messages_are_rejected_with_a_reason() -> None:
    def without(*names: str, **others: Any) -> dict[str, Any]:
        metadata = {k: v for k, v in INSERT["metadata"].items() if k not in names}
        return INSERT | {"metadata": metadata | {k.replace("_", "-"): v for k, v in others.items()}}

    wrong = [
        b"{", b"[1]", b'"x"', b'{"data": {"a": "\xff"}}', {"data": {}}, INSERT | {"metadata": 7}, without("operation"),
        without(operation="upsert"), without("table-name"), without("schema-name"), without("timestamp"),
        without(timestamp="soon"), without(commit_timestamp="soon"), INSERT | {"data": None}, INSERT | {"data": [1]},
    ]  # fmt: skip
    events = decoded(*wrong)
    table = "metadata.schema-name or metadata.table-name is missing"
    assert [event.reason for event in events] == [
        "not JSON", "not a JSON object", "not a JSON object", "not UTF-8 text", "metadata is missing",
        "a field of the message has a type that DMS does not write", "metadata.operation is missing",
        'unknown operation "upsert"', table, table, "metadata.timestamp is missing", "metadata.timestamp is not a time",
        "metadata.commit-timestamp is not a time", 'operation "insert" without data', 'operation "insert" without data',
    ]  # fmt: skip
    assert {event.kind for event in events} == {"reject"}


def test_a_truncate_has_no_row() -> None:
    metadata = INSERT["metadata"] | {"operation": "truncate-table", "record-type": "control"}
    (event,) = decoded({"control": {}, "metadata": metadata})
    assert (event.kind, event.op, event.before, event.after) == ("change", "truncate", None, None)
