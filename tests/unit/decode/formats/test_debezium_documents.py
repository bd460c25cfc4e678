"""Events of MongoDB: documents as rows, and updates that name the changed fields."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from siltstone.engine.decode.change_rows import TableDecoder
from siltstone.engine.decode.columns_seen import ColumnsSeen
from siltstone.engine.decode.event import Event
from siltstone.engine.decode.event_batch import event_batch
from siltstone.engine.decode.formats.debezium_documents import plain_document, plain_key, updated_fields
from siltstone.engine.decode.table_shape import shape_of
from siltstone.engine.spec.model import ChecksSpec, HistorySpec, SnapshotSpec, SourceSpec, TableSpec, TargetSpec
from tests.unit.decode.formats.debezium_events import decoded, outcome

SOURCE = {
    "version": "3.4.0.Final", "connector": "mongodb", "name": "fulfillment", "ts_ms": 1_558_965_508_000,
    "snapshot": False, "db": "inventory", "rs": "rs0", "collection": "customers", "ord": 1, "h": None, "tord": None,
    "lsid": '{"id": {"$binary": "FA7YEzXgQXSX9OxmzllH2w==","$type": "04"}}', "txnNumber": 1,
}  # fmt: skip
ANNE = '{"_id": {"$numberLong": "1004"},"first_name": "Anne Marie","last_name": "Kretchmar"}'


def line(op: str, number: int = 1, key: str = "1004", source: Any = None, **value: Any) -> str:
    event = {"op": op, "ts_ms": 1_465_491_461_815, "source": SOURCE | {"ord": number} | (source or {}), **value}
    return json.dumps({"topic": "t", "key": {"id": key}, "value": event})


def changed(updated: str | None, removed: Any = None, cut: Any = None) -> dict[str, Any]:
    return {"updateDescription": {"removedFields": removed, "updatedFields": updated, "truncatedArrays": cut}}


def rows_of(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The decoded changes of a table whose spec declares nothing."""
    target = TargetSpec("a.customers", "a.customers_history", "a.customers_changes")
    spec = TableSpec(
        file=None, table="inventory.customers", source=SourceSpec("debezium-json", "x"), keys=None, columns=None,
        target=target, history=HistorySpec(), snapshot=SnapshotSpec(), lateness=None, evolution="additive",
        rejects_max_fraction=0.01, quality=ChecksSpec((), {}),
    )  # fmt: skip

    seen = ColumnsSeen()
    seen.add(events)
    return TableDecoder(shape_of(spec, None, seen.seen()), spec).decode(event_batch(events)).to_pylist()


def one(text: str) -> Event:
    (found,) = decoded([text])
    return found


def test_the_documented_update_is_a_change_of_a_whole_document() -> None:
    found = one(
        line("u", before=ANNE.replace("Anne Marie", "unknown"), after=ANNE, **changed('{"first_name": "Anne Marie"}'))
    )
    assert outcome(found) == ("update", "stream")
    assert (found.source, found.table) == ("mongodb:fulfillment", "inventory.customers")
    assert (found.key, found.after) == (
        b'{"_id":1004}',
        b'{"_id":1004,"first_name":"Anne Marie","last_name":"Kretchmar"}',
    )
    assert found.position == "0000-0000016AF995D7A0-00000001"
    assert found.tx_id == f"{SOURCE['lsid']}:1"
    assert found.is_whole


def test_event_schemas_give_no_fields_of_documents() -> None:
    record = json.loads(line("c", after=ANNE))
    texts = [{"field": name, "type": "string", "name": "io.debezium.data.Json"} for name in ("before", "after")]
    record["key"] = {
        "schema": {"type": "struct", "fields": [{"field": "id", "type": "string"}]},
        "payload": record["key"],
    }
    record["value"] = {"schema": {"type": "struct", "fields": texts}, "payload": record["value"]}
    found = one(json.dumps(record))
    assert (found.row_schema, found.key_schema, found.schema_hash, found.key) == (None, None, None, b'{"_id":1004}')


KEYS = {
    "1234": 1234,
    "12.34": 12.34,
    '"1234"': "1234",
    '{"hi" : "kafka", "nums" : [10.0, 100.0, 1000.0]}': {"hi": "kafka", "nums": [10.0, 100.0, 1000.0]},
    '{"$oid" : "596e275826f08b2730779e1f"}': "596e275826f08b2730779e1f",
    '{"$binary" : "a2Fma2E=", "$type" : "00"}': "a2Fma2E=",
}


@pytest.mark.parametrize(("written", "wanted"), KEYS.items())
def test_documented_keys_equal_the_keys_of_their_documents(written: str, wanted: Any) -> None:
    found = plain_key(json.dumps({"id": written}).encode())
    assert json.loads(found) == {"_id": wanted}
    assert found == plain_document(b'{"_id":%b}' % written.replace(" ", "").encode())


VALUES = {
    '{"$date": 1783101585729}': "2026-07-03T17:59:45.729Z",
    '{"$date": "2026-07-03T17:59:45.729Z"}': "2026-07-03T17:59:45.729Z",
    '{"$date": {"$numberLong": "1783101585729"}}': "2026-07-03T17:59:45.729Z",
    '{"$date": "2026-07-03T17:59:45Z"}': "2026-07-03T17:59:45.000Z",
    '{"$date": {"$numberLong": "253402300800000"}}': 253402300800000,
    '{"$numberInt": "7"}': 7,
    '{"$numberLong": "9223372036854775807"}': 9223372036854775807,
    '{"$numberDouble": "1.5"}': 1.5,
    '{"$numberDouble": "NaN"}': "NaN",
    '{"$numberDecimal": "12.50"}': 12.5,
    '{"$binary": {"base64": "a2Fma2E=", "subType": "00"}}': "a2Fma2E=",
    '{"$uuid": "5f8a1c2e-3b4d-4e6f-8a9b-1c2d3e4f5a6b"}': "5f8a1c2e-3b4d-4e6f-8a9b-1c2d3e4f5a6b",
    '{"$symbol": "s"}': "s",
    '{"$undefined": true}': None,
    '{"$regex": "a", "$options": "i"}': {"$regex": "a", "$options": "i"},
    '{"$ref": "c", "$id": {"$oid": "5"}}': {"$ref": "c", "$id": "5"},
    '[{"$numberLong": "1"}, {"a": {"$date": 0}}]': [1, {"a": "1970-01-01T00:00:00.000Z"}],
    '{"$date": "yesterday"}': {"$date": "yesterday"},
}


@pytest.mark.parametrize(("written", "wanted"), VALUES.items())
def test_extended_json_of_every_mode_becomes_plain_json(written: str, wanted: Any) -> None:
    assert json.loads(plain_document(b'{"v":%b}' % written.encode())) == {"v": wanted}


def test_numbers_of_documents_keep_all_digits() -> None:
    text = b'{"v": {"$numberDecimal": "12345678901234567890.123456789012"}, "w": 1.10}'
    assert plain_document(text) == b'{"v":12345678901234567890.123456789012,"w":1.10}'


def test_an_update_without_a_document_has_only_the_changed_columns() -> None:
    described = changed(
        '{"email": "a@b", "n": {"$numberLong": "5"}, "a.b": 1}', ["old", "c.d"], [{"field": "tags", "newSize": 1}]
    )
    found = one(line("u", **described))
    assert outcome(found) == ("update", "stream")
    assert not found.is_whole
    assert json.loads(found.after or b"") == {
        "_id": 1004, "email": "a@b", "n": 5, "old": None, "_unknown": ["a.b", "c.d", "tags"],
    }  # fmt: skip


def test_an_update_without_a_document_or_changed_fields_is_rejected() -> None:
    lines = [line("u"), line("u", **changed("no JSON")), line("u", after="12")]
    assert [outcome(found) for found in decoded(lines)] == [
        'op "u" without an after image',
        'op "u" without an after image',
        "after is not an object",
    ]
    for broken in (b"[]", b'{"removedFields":[1]}', b'{"truncatedArrays":[{}]}', b'{"updatedFields":"[1]"}', b"{"):
        assert updated_fields(broken, None) is None


def test_a_field_absent_from_a_document_is_null_and_one_absent_from_an_update_is_unknown() -> None:
    lines = [
        line("c", 1, after='{"_id": 1004, "a": 1, "b": {"c": 2}, "at": {"$date": 0}}'),
        line("u", 2, after='{"_id": 1004, "a": 2}'),
        line("u", 3, **changed('{"a": 3}', ["b"])),
        line("u", 4, **changed('{"b.c": 3}')),
        line("d", 5),
        line("r", 6, after='{"_id": 1004}'),
    ]
    rows = rows_of(decoded(lines))
    assert [row["row"] for row in rows] == [
        {"_id": 1004, "a": 1, "b": '{"c":2}', "at": "1970-01-01T00:00:00.000Z"},
        {"_id": 1004, "a": 2, "b": None, "at": None},
        {"_id": 1004, "a": 3, "b": None, "at": None},
        {"_id": 1004, "a": None, "b": None, "at": None},
        {"_id": 1004, "a": None, "b": None, "at": None},
        {"_id": 1004, "a": None, "b": None, "at": None},
    ]
    assert [row["present"] for row in rows] == [None, None, ["_id", "a", "b"], ["_id"], ["_id"], None]
    assert [row["rescued"] for row in rows] == [None, None, None, '{"_unknown":"[\\"b.c\\"]"}', None, None]
    assert [row["reason"] for row in rows] == [None] * 6


def test_control_events_and_null_messages_are_not_rejected() -> None:
    null = json.dumps({"topic": "t", "key": {"id": "1004"}, "value": None})
    begin = json.dumps(
        {"topic": "t", "key": None, "value": {"status": "BEGIN", "id": "1", "event_count": None, "ts_ms": 5}}
    )
    assert [outcome(found) for found in decoded([null, begin])] == ["null_message", "transaction_begin"]


def test_positions_are_the_time_and_the_number_in_it() -> None:
    later = {"ts_ms": 1_558_965_509_000}
    lines = [line("c", 2, after=ANNE), line("u", 10, after=ANNE), line("u", 1, source=later, after=ANNE)]
    places = [one(text).position for text in lines]
    assert places == sorted(places, key=str)
    assert outcome(one(line("u", after=ANNE, source={"ts_ms": None}))) == "a streamed change without a position"
