"""Debezium's events in CloudEvents, in the form that the documentation of the converter shows."""

import json
from typing import Any

import pytest

from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import Event
from siltstone.engine.decode.formats.debezium import DebeziumDecoder
from siltstone.engine.spec.model import SourceSpec
from tests.unit.decode.formats.debezium_events import decoded, event, outcome, with_schema

CLOUD = {
    "id": "name:test_server;lsn:29274832;txId:565", "source": "/debezium/postgresql/test_server", "specversion": "1.0",
    "type": "io.debezium.connector.postgresql.DataChangeEvent", "time": "2020-01-13T13:55:39.738Z",
    "datacontenttype": "application/json", "iodebeziumop": "r", "iodebeziumversion": "3.4.0.Final",
    "iodebeziumconnector": "postgresql", "iodebeziumname": "test_server", "iodebeziumtsms": "1578923739738",
    "iodebeziumsnapshot": "true", "iodebeziumdb": "postgres", "iodebeziumschema": "s1", "iodebeziumtable": "a",
    "iodebeziumlsn": "29274832", "iodebeziumxmin": None, "iodebeziumtxid": "565", "iodebeziumtxtotalorder": "1",
    "iodebeziumtxdatacollectionorder": "1", "data": {"before": None, "after": {"pk": 1, "name": "Bob"}},
}  # fmt: skip
NO_DATA = "the data of the CloudEvent is not a JSON object"


def one(value: Any, **more: Any) -> Event:
    text = json.dumps({"topic": "t", "key": {"pk": 1}, "value": value} if more.pop("is_record", True) else value)
    (found,) = decoded([text], **more)
    return found


def cloud_of(line: str) -> dict[str, Any]:
    """The CloudEvent that Debezium's converter makes from an event of PostgreSQL."""
    value = json.loads(line)["value"]
    inner = value.get("payload", value)
    attributes = {f"iodebezium{name.replace('_', '')}": part for name, part in inner["source"].items()}
    texts = {name: str(part) if isinstance(part, int) else part for name, part in attributes.items()}
    data = {name: inner[name] for name in ("before", "after")}
    if "schema" in value:
        data = {"schema": value["schema"], "payload": data}
    return {"specversion": "1.0", "source": "/x", "iodebeziumop": inner["op"], **texts, "data": data}


@pytest.mark.parametrize("is_record", [True, False])
def test_the_documented_event_is_a_read(is_record: bool) -> None:
    found = one(CLOUD, is_record=is_record)
    assert outcome(found) == ("read", "snapshot")
    assert (found.source, found.table, found.after) == ("postgresql:test_server", "s1.a", b'{"pk":1,"name":"Bob"}')
    assert (found.position, found.commit_us) == ("0000-0000000001BEB2D0-0000000001BEB2D0", 1_578_923_739_738_000)
    assert (found.tx_id, found.tx_order) == ("565", 1)
    assert found.key == (b'{"pk":1}' if is_record else None)


SAME = ("op", "origin", "table", "source", "position", "commit_us", "connector", "row_schema", "schema_hash", "tx_id")


@pytest.mark.parametrize("is_described", [True, False])
def test_an_event_in_a_cloud_event_is_the_same_change(is_described: bool) -> None:
    whole = event("u", before={"id": 1}, after={"id": 1}, source={"txId": 7, "file": None})
    whole = with_schema(whole, [{"field": "id", "type": "int32"}]) if is_described else whole
    (wanted,) = decoded([whole])
    found = one(cloud_of(whole))
    mine, other = ({name: getattr(each, name) for name in SAME} for each in (found, wanted))
    if is_described:  # the same schema, as text without blanks
        assert json.loads(mine.pop("row_schema")) == json.loads(other.pop("row_schema"))
        mine.pop("schema_hash"), other.pop("schema_hash")
    assert mine == other
    assert (json.loads(found.before or b""), json.loads(found.after or b"")) == ({"id": 1}, {"id": 1})


REJECTED = {
    json.dumps(CLOUD | {"datacontenttype": "application/avro", "data": "AAAAAAEAAgICAg=="}): (
        "the data of the CloudEvent is application/avro: only JSON is supported"
    ),
    json.dumps(CLOUD | {"data": "x"}): NO_DATA,
    json.dumps({name: part for name, part in CLOUD.items() if name != "data"} | {"data_base64": "AA=="}): NO_DATA,
    json.dumps({name: part for name, part in CLOUD.items() if not name.startswith("iodebezium")}): "op is missing",
    json.dumps(CLOUD | {"iodebeziumlsn": "here", "iodebeziumop": "u"}): (
        "a field of the envelope has a type that Debezium does not write"
    ),
    json.dumps(CLOUD | {"iodebeziumtsms": "now"}): "a field of the envelope has a type that Debezium does not write",
}


@pytest.mark.parametrize(("value", "reason"), REJECTED.items())
def test_unsupported_cloud_events_are_rejected_with_a_reason(value: str, reason: str) -> None:
    assert outcome(one(json.loads(value))) == reason


def test_a_row_can_have_columns_with_names_of_cloud_event_attributes() -> None:
    row = {"id": 1, "specversion": "1.0", "data": {"a": 1}}
    (found,) = decoded([event("c", after=row)])
    assert json.loads(found.after or b"") == row


def test_epochs_find_the_server_of_a_cloud_event() -> None:
    declared: Declared = {}
    decoder = DebeziumDecoder(SourceSpec("debezium-json", "x"), declared)
    text = json.dumps({"value": CLOUD | {"iodebeziumserverid": "7", "iodebeziumgtid": "a:1"}}).encode()
    assert decoder.source_block(text) == {"server_id": 7, "gtid": "a:1"}
    assert decoder.source_block(json.dumps({"value": {"source": {"server_id": 8}}}).encode()) == {"server_id": 8}
