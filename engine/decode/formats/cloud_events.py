"""CloudEvents around Debezium's events, as its CloudEventsConverter and Debezium Server write them.

    {"id", "source": "/debezium/postgresql/srv", "specversion": "1.0", "datacontenttype": "application/json",
     "type": "io.debezium.connector.postgresql.DataChangeEvent", "time": "2020-01-13T13:55:39.738Z",
     "iodebeziumop": "u", "iodebeziumconnector": "postgresql", "iodebeziumname": "srv",
     "iodebeziumtsms": "1578923739738", "iodebeziumtable": "a", "iodebeziumlsn": "29274832", "iodebeziumtxId": "565",
     "iodebeziumtxid": "565:29274832", "iodebeziumtxtotalorder": "1", "data": {"before": null, "after": {"pk": 1}}}

    https://debezium.io/documentation/reference/stable/integrations/cloudevents.html

Attributes that begin with `iodebezium` are the fields of the source block (`iodebeziumtsms` is `ts_ms`). Those that
begin with `iodebeziumtx` and a lower-case name are the fields of the transaction. Numbers of 64 bits are text. `data`
is the rest of the event, with or without a schema around it. In Kafka's binary content mode, the attributes are headers
(`ce_specversion`, `ce_iodebeziumop`), and the value is the data.
"""

from __future__ import annotations

from typing import Any, Final, get_args

import msgspec

from siltstone.engine.decode.formats.debezium_envelope import Object, Source, Transaction
from siltstone.engine.decode.formats.json_fields import whole_number

MARK: Final = b'"specversion"'
"""The text of every CloudEvent contains this."""
HEADER_MARK: Final = b'"ce_specversion"'
"""The headers of a record contain this, if its value is only the data (Kafka's binary content mode)."""
_HEADER: Final = "ce_"
_CONTENT_HEADER: Final = "content-type"
_VERSION: Final = "specversion"
_DATA: Final = ("data", "data_base64")
_CONTENT: Final = "datacontenttype"
_JSON: Final = "json"
_OP: Final = "iodebeziumop"
_WRAPPED: Final = frozenset(("schema", "payload"))


def _attributes(struct: type[msgspec.Struct], prefix: str) -> dict[str, tuple[str, bool]]:
    """The fields of a part of an event, by the names of their attributes, and whether they are numbers."""
    fields = msgspec.structs.fields(struct)
    return {
        prefix + field.encode_name.replace("_", ""): (field.encode_name, str not in get_args(field.type))
        for field in fields
    }


_SOURCE: Final = _attributes(Source, "iodebezium") | {"iodebeziumserverid": ("server_id", True)}
_SOURCE["iodebeziumgtid"] = ("gtid", False)
_TRANSACTION: Final = _attributes(Transaction, "iodebeziumtx")


def unwrapped(record: Object) -> tuple[Object, str | None] | None:
    """A record with the event instead of its CloudEvent, and why the CloudEvent cannot be read.

    None if the record has no CloudEvent.
    """
    value = record.get("value")
    around = value if isinstance(value, dict) else record
    if isinstance(around.get("payload"), dict) and around.keys() <= _WRAPPED:
        around = around["payload"]
    if _VERSION not in around or not any(name in around for name in _DATA):
        around = {**_of_headers(record), "data": value}
        if _VERSION not in around or value is None:
            return None
    reason = _unreadable(around)
    event = {} if reason is not None else _event(around)
    return (event if around is record else {**record, "value": event}), reason


def may_be_around(text: bytes) -> bool:
    """Whether the text of a record can contain a CloudEvent."""
    return MARK in text or HEADER_MARK in text


def _of_headers(record: Object) -> dict[str, Any]:
    """The attributes in the headers of a record. Headers are an object or an array of objects."""
    headers = record.get("headers")
    listed = headers if isinstance(headers, list) else ()
    pairs = {one.get("key"): one.get("value") for one in listed if isinstance(one, dict)}
    by_name = headers if isinstance(headers, dict) else pairs
    found = {str(name)[len(_HEADER) :]: value for name, value in by_name.items() if str(name).startswith(_HEADER)}
    return found | ({_CONTENT: by_name[_CONTENT_HEADER]} if _CONTENT_HEADER in by_name else {})


def _unreadable(cloud: Object) -> str | None:
    content = str(cloud.get(_CONTENT) or f"application/{_JSON}")
    if _JSON not in content:
        return f"the data of the CloudEvent is {content[:40]}: only JSON is supported"
    return None if isinstance(cloud.get("data"), dict) else "the data of the CloudEvent is not a JSON object"


def _event(cloud: Object) -> Object:
    """The whole event, with the schema of its data around it, if there is one."""
    data = cloud["data"]
    is_wrapped = isinstance(data.get("payload"), dict) and data.keys() <= _WRAPPED
    rest = data["payload"] if is_wrapped else data
    source, transaction = _part(cloud, _SOURCE), _part(cloud, _TRANSACTION)
    event = {"op": cloud.get(_OP), "source": source or None, **rest}
    if transaction.get("id") is not None:
        event["transaction"] = transaction
    return {"schema": data["schema"], "payload": event} if is_wrapped and "schema" in data else event


def _part(cloud: Object, attributes: dict[str, tuple[str, bool]]) -> dict[str, Any]:
    return {
        field: _value(cloud[attribute], is_number)
        for attribute, (field, is_number) in attributes.items()
        if attribute in cloud
    }


def _value(value: Any, is_number: bool) -> Any:
    number = whole_number(value) if is_number and isinstance(value, str) else None
    return value if number is None else number
