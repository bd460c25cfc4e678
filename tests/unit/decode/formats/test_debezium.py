"""The kind of each line of Debezium, the reasons of rejects, and the content of events."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from siltstone.engine.decode.event import Message
from siltstone.engine.decode.formats.debezium_positions import CONNECTORS
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.spec.model import SourceSpec
from tests.unit.decode.formats.debezium_events import SOURCE, decoded, event, outcome, with_schema, wrapped

SIGNAL = {"schema": "debezium", "table": "signal"}
MARKER = "0b6f1c3e-7d42-4f7b-9a55-2f0e4f0c9d11"
USUAL = ("id", "type", "data")
ORACLE = ("ID", "TYPE", "DATA")
OTHERS = ("mark", "what", "more")
EXTRACTS = Path(__file__).parents[3] / "data"


def signal(op: str, row_id: str, kind: str | None, names: Sequence[str] = USUAL, **more: Any) -> str:
    row = dict(zip(names, (row_id, kind, None), strict=True))
    return event(op, before=row, source=SIGNAL, **more) if op == "d" else event(op, after=row, source=SIGNAL, **more)


CONTROL = {
    wrapped({"status": "BEGIN", "id": "571:53195829", "event_count": None, "ts_ms": 5}): "transaction_begin",
    wrapped({"status": "END", "id": "0-7001-30", "event_count": 2, "ts_ms": 5}): "transaction_end",
    wrapped({"ts_ms": 5}): "heartbeat",
    '{"ts_ms": 5}': "heartbeat",
    wrapped({"source": SOURCE, "ts_ms": 5, "databaseName": "d", "ddl": "CREATE TABLE t", "tableChanges": []}): "ddl",
    wrapped({"id": "1", "type": "STARTED", "aggregate_type": "Initial Snapshot", "timestamp": 5}): "notification",
    wrapped({"op": "m", "ts_ms": 5, "source": {**SOURCE, "table": ""}, "message": {"prefix": "p"}}): "message",
    wrapped({"ts_ms": 5, "added": "x"}, key={"serverName": "srv"}): "heartbeat",
    wrapped({"schema": {"type": "struct"}, "payload": {"ts_ms": 5}}): "heartbeat",
    wrapped({"status": "BEGIN", "id": "571:53195829", "ts_ms": 5}): "transaction_begin",
    wrapped({"source": {"server": "d"}, "position": {}, "databaseName": "d", "ddl": "CREATE TABLE t"}): "ddl",
    wrapped({"source": SOURCE, "ts_ms": 5, "databaseName": "d", "ddl": None, "tableChanges": [{}]}): "ddl",
    wrapped({"id": "1", "type": "STARTED", "aggregate_type": "x", "additional_data": {}, "added": 1}): "notification",
    json.dumps({"key": {"id": 1}, "payload": None}): "null_message",
    wrapped(None, key={"id": 1}): "null_message",
    wrapped(None): "null_message",
    wrapped({"schema": {"type": "struct"}, "payload": None}): "null_message",
    '{"schema": {"type": "struct"}, "payload": null}': "null_message",
    "null": "null_message",
    signal("c", "u-open", "snapshot-window-open"): "window_open",
    signal("c", "u-close", "snapshot-window-close"): "window_close",
    signal("d", "u-open", "snapshot-window-open"): "window_close",
    signal("d", "u-open", None): "window_close",
    signal("d", "u-open", ""): "window_close",  # the column cannot be null, and the log has only the key
    signal("c", "a", "execute-snapshot"): "signal",
    signal("r", "u-open", "snapshot-window-open"): "signal",
    signal("d", "a", "execute-snapshot"): "signal",
    signal("c", "u-open", "snapshot-window-open", ORACLE): "window_open",
    signal("d", "u-open", None, ORACLE): "window_close",
    signal("c", "a", "execute-snapshot", ORACLE): "signal",
    signal("c", f"{MARKER}-open", "snapshot-window-open", OTHERS): "window_open",
    signal("c", f"{MARKER}-close", "snapshot-window-close", OTHERS): "window_close",
    signal("d", f"{MARKER}-open", None, OTHERS): "window_close",
}  # fmt: skip

FLAT = "neither a change nor a control event of Debezium"
MISFIT = "a field of the envelope has a type that Debezium does not write"
COLUMNS: list[dict[str, Any]] = [
    {"ts_ms": 1_790_000_000_000}, {"status": "BEGIN"}, {"status": "END", "ts_ms": 5}, {"ddl": "x"}, {"value": None},
    {"aggregate_type": "order", "type": "created"}, {"payload": None}, {"tableChanges": "3"},
]  # fmt: skip
"""Columns that rows without an envelope can have, as control events do."""

REJECTED = {
    **{wrapped({"id": 1, "v": "x"} | row, key={"id": 1}): FLAT for row in COLUMNS},
    **{json.dumps({"id": 1, "v": "x"} | row): FLAT for row in COLUMNS},
    wrapped({"id": 1, "op": "m"}): 'unknown op "m"',
    "": "empty line",
    "{": "not JSON",
    '{"op": "c"} and more': "not JSON",
    event("c", after={"id": 1}) + event("c", after={"id": 2}): "not JSON",
    event("c", after={"id": 1})[:-30]: "not JSON",
    "[1]": "not a JSON object",
    '"text"': "not a JSON object",
    "12": "not a JSON object",
    "{}": FLAT,
    wrapped({"hello": 1}): FLAT,
    event("x", after={"id": 1}): 'unknown op "x"',
    wrapped({"before": None, "after": {"id": 1}, "source": SOURCE}): "op is missing",
    wrapped({"after": {"id": 1}, "op": "c"}): "source is missing",
    event("c", after={"id": 1}, source={"connector": None}): "source.connector is missing",
    event("c", after={"id": 1}, source={"connector": "cassandra"}): (
        f'connector "cassandra" is not supported; supported: {", ".join(sorted(CONNECTORS, key=str.lower))}'
    ),
    event("c", after={"id": 1}, source={"table": None}): "source.table is missing",
    event("u", before={"id": 1}): 'op "u" without an after image',
    event("c", after=[1]): "after is not an object",
    event("u", before="x", after={"id": 1}): "before is not an object",
    event("c", after={"id": 1}, source={"lsn": None, "sequence": None}): "a streamed change without a position",
    event("t", key={}, source={"lsn": -(2**63), "sequence": None}): "a streamed change without a position",
    event("c", after={"id": 1}, source={"lsn": "abc"}): MISFIT,
    event("c", after={"id": 1}, source={"lsn": 2**63}): MISFIT,
    event("c", after={"id": 1}, source={"lsn": 1.0}): MISFIT,
    event("c", after={"id": 1}, partition=2**31): MISFIT,
    event("c", after={"id": 1}, source={"ts_ms": 10**17, "ts_us": None}).replace("1700000001000", "null"): (
        "neither source.ts_ms, the time of the change, nor ts_ms, when it was read, is a time"
    ),
    event("c", after={"id": 1}, note="\ud800"): "not JSON",
    event("c", after={"id": 1, "note": "\udc00"}): "not JSON",
    event("c", after={"id": 1, "\ud800\ud800": "x"}): "not JSON",
    event("c", after={"id": 1, "note": "é"}).replace("\\u00e9", "\udce9"): "not UTF-8 text",
    event("c", after={"id": 1}, key={"é": 1}).replace("\\u00e9", "\udce9"): "not UTF-8 text",
}  # fmt: skip

CHANGES = {
    event("c", after={"id": 1}): ("insert", "stream"),
    event("u", after={"id": 1}): ("update", "stream"),
    event("d", before={"id": 1}): ("delete", "stream"),
    event("t"): ("truncate", "stream"),
    event("r", after={"id": 1}): ("read", "snapshot"),
    event("r", after={"id": 1}, source={"lsn": None, "sequence": None}): ("read", "snapshot"),
    event("c", after={"id": 1}, source={"snapshot": "true"}): ("insert", "stream"),
    event("u", after={"id": 1}, source={"snapshot": True}): ("update", "stream"),
    event("c", after={"id": "a", "type": "log", "data": "d", "more": 1}): ("insert", "stream"),
    event("c", after={"id": "a", "type": "other", "data": "d"}): ("insert", "stream"),
    event("c", after={"id": 1, "smile": "\U0001f600"}): ("insert", "stream"),
    signal("c", "a", "log", OTHERS): ("insert", "stream"),
    signal("c", "front-door-open", "snapshot-window-open", OTHERS): ("insert", "stream"),
    signal("d", "front-door-open", None, OTHERS): ("delete", "stream"),
    json.dumps(json.loads(event("c", after={"id": 1}))["value"]): ("insert", "stream"),
    json.dumps({"schema": {}, "payload": json.loads(event("c", after={"id": 1}))["value"]}): ("insert", "stream"),
}  # fmt: skip


def test_every_line_is_a_change_a_control_event_or_a_reject_with_a_reason() -> None:
    cases = {**CONTROL, **REJECTED, **CHANGES}
    found = decoded(list(cases))
    assert [(text, outcome(one)) for text, one in zip(cases, found, strict=True)] == list(cases.items())
    assert [one.text for one in found] == [text.encode("utf-8", "surrogateescape") for text in cases]


def test_a_change_has_its_position_its_time_and_its_transaction() -> None:
    source = {"ts_us": 1_700_000_000_123_456}
    plain = json.loads(event("c", after={"id": 12345678901234567}, source=source))
    plain["value"]["transaction"] = {"id": "571:53195829", "total_order": 3, "data_collection_order": 1}
    plain |= {"partition": 2, "offset": 77}
    destination = {("destination" if name == "topic" else name): part for name, part in plain.items()}
    one, other = decoded([json.dumps(plain), json.dumps(destination)])
    other.line, other.text = one.line, one.text
    assert one == other
    assert (one.source, one.connector, one.table, one.channel) == ("postgresql:srv", "postgresql", "shop.items", "t")
    assert (one.kafka_partition, one.kafka_offset) == (2, 77)
    assert (one.tx_id, one.tx_order, one.event_id) == ("571", 3, None)
    assert one.position == "0000-0000000000000010-0000000000000020"
    assert (one.commit_us, one.ingest_us) == (1_700_000_000_123_456, 1_700_000_001_000_000)
    assert one.key == b'{"id": 12345678901234567}'


def test_a_bare_value_and_other_fields_next_to_the_event_give_the_same_event() -> None:
    whole = event("u", before={"id": 1, "n": 1}, after={"id": 1, "n": 2}, rec={"at": 3, "by": "a recorder"}, seen=[1])
    value = json.loads(whole)["value"]
    forms = [value, {"schema": {}, "payload": value}, {"value": value}, {"rec": 7, **value}, {"payload": value, "x": 1}]
    found = decoded([whole, *map(json.dumps, forms)])
    assert {(one.op, one.before, one.after, one.position) for one in found} == {
        ("update", b'{"id": 1, "n": 1}', b'{"id": 1, "n": 2}', "0000-0000000000000010-0000000000000020")
    }


def test_numbers_of_images_keep_all_digits() -> None:
    line = event("c", after={"id": 1, "n": 0}).replace('"n": 0', '"n": 0.10000000000000000000000001e2')
    odd = line.replace('"topic": "t"', '"topic": 7')
    assert [b"0.10000000000000000000000001e2" in (one.after or b"") for one in decoded([line, odd])] == [True, True]
    assert [one.channel for one in decoded([line, odd])] == ["t", "7"]


def test_key_changes_are_found_in_headers_of_every_form() -> None:
    key = {"id": 7}
    with_its_schema = {"schema": {"type": "struct"}, "payload": key}
    headers: list[Any] = [
        {"__debezium.newkey": key, "a": "b"},
        {"__debezium.newkey": with_its_schema},
        {"__debezium.newkey": {"payload": key}},
        {"__debezium.newkey": {"schema": None, "payload": key}},
        {"__debezium.newkey": json.dumps(key)},
        {"__debezium.newkey": "eyJpZCI6N30="},
        [{"key": "a", "value": "b"}, "c", {"key": [1]}, {"key": "__debezium.newkey", "value": key}],
        [{"key": "__debezium.newkey", "value": with_its_schema}],
        json.dumps({"__debezium.newkey": key}),
        json.dumps([{"key": "__debezium.newkey", "value": key}]),
    ]
    olds = [json.loads(json.dumps(header).replace("newkey", "oldkey")) for header in headers]
    deletes = decoded([event("d", before={"id": 1}, headers=header) for header in headers])
    inserts = decoded([event("c", after={"id": 1}, headers=header) for header in olds])
    assert [(one.old_key, json.loads(one.new_key or b"0")) for one in deletes] == [(None, key)] * len(headers)
    assert [(json.loads(one.old_key or b"0"), one.new_key) for one in inserts] == [(key, None)] * len(headers)
    (lookalike,) = decoded([event("c", after={"id": 1, "note": "__debezium.oldkey"}, headers=[])])
    assert lookalike.old_key is None


def test_a_key_can_be_inside_its_schema_or_have_columns_with_such_names() -> None:
    key, other = {"id": 7}, {"schema": "dbo", "payload": 5}  # columns with these names
    keys = [key, {"schema": {"type": "struct"}, "payload": key}, {"payload": key}, {"schema": None, "payload": key}]
    found = decoded([event("d", key=each) for each in [*keys, other, "7", json.dumps(key)]])
    assert [json.loads(one.key or b"0") for one in found] == [key] * 4 + [other, "7", key]


def test_schemas_are_identified_by_their_hash() -> None:
    narrow: list[dict[str, Any]] = [{"field": "id", "type": "int32"}, {"field": "a", "type": "int32"}]
    wide = [narrow[0], {"field": "a", "type": "int64"}]
    line = event("c", after={"id": 1, "a": 2})
    one, same, other, none = decoded(
        [with_schema(line, narrow), with_schema(line, narrow), with_schema(line, wide), line]
    )
    assert one.schema_hash == same.schema_hash != other.schema_hash
    assert (none.schema_hash, none.row_schema, none.key_schema) == (None, None, None)
    assert json.loads(other.row_schema or "")["fields"][1]["fields"] == wide
    assert json.loads(one.key_schema or "")["fields"] == narrow[:1]
    assert (one.key, one.after) == (none.key, none.after)


def test_an_empty_schema_is_ignored() -> None:
    value = json.loads(event("c", after={"id": 1}))["value"]
    schemas: list[Any] = [{"type": "struct"}, None, "x"]
    assert {one.row_schema for one in decoded([wrapped({"schema": s, "payload": value}) for s in schemas])} == {None}


def test_control_events_keep_the_fields_that_checks_need() -> None:
    begin = {"status": "BEGIN", "id": "571:53195829", "event_count": None, "ts_ms": 1_700_000_000_000}
    opened = signal("c", "u-open", "snapshot-window-open")
    forms = [wrapped(begin), wrapped({"schema": {"type": "struct"}, "payload": begin}), json.dumps(begin), opened]
    *begins, mark = decoded(forms)
    for one in begins:
        assert (one.tx_id, one.commit_us, json.loads(one.control or b"")) == ("571", 1_700_000_000_000_000, begin)
    assert (mark.event_id, mark.table, mark.op) == ("u-open", "debezium.signal", "insert")
    assert mark.position == "0000-0000000000000010-0000000000000020"
    assert mark.commit_us == SOURCE["ts_us"]
    marks = [signal("c", f"{MARKER}-open", "snapshot-window-open", names) for names in (ORACLE, OTHERS)]
    assert [one.event_id for one in decoded(marks)] == [f"{MARKER}-open"] * 2


def test_rows_of_a_declared_signal_table_are_changes_except_debeziums_markers() -> None:
    markers = [("c", "-open", "snapshot-window-open"), ("c", "-close", "snapshot-window-close"), ("d", "-open", None)]
    own = [
        ("c", "1", "log"),
        ("u", "1", "execute-snapshot"),
        ("d", "front-door-open", None),
        ("c", "x-close", "snapshot-window-close"),
    ]
    spelled = (USUAL, ORACLE, OTHERS)
    marks = [signal(op, MARKER + end, kind, names) for names in spelled for op, end, kind in markers]
    rows = [signal(op, row_id, kind, names) for names in spelled for op, row_id, kind in own]
    kinds = [one.control_kind for one in decoded(marks + rows, ["debezium.signal"])]
    assert kinds == ["window_open", "window_close", "window_close"] * 3 + [None] * len(rows)


def test_a_time_of_zero_is_missing() -> None:
    never = {"ts_ms": 0, "ts_us": 0, "ts_ns": 0}
    read, half = decoded([event("r", after={"id": 1}, source=never), event("c", after={"id": 1}, source={"ts_us": 0})])
    assert (read.kind, read.commit_us, read.ingest_us) == ("change", None, 1_700_000_001_000_000)
    assert half.commit_us == 1_700_000_000_000_000


@pytest.mark.parametrize(
    ("time", "taken"),
    [("1620393591654", 1_620_393_591_654_000), (" 5 ", 5_000), ("soon", None), ({}, None), (1.5, None)],
)
def test_the_time_of_an_event_can_be_text(time: Any, taken: int | None) -> None:
    plain = json.loads(event("c", after={"id": 1}))
    (one,) = decoded([json.dumps(plain | {"value": plain["value"] | {"ts_ms": time}})])
    assert (one.kind, one.ingest_us) == ("change", taken)


def test_the_time_of_a_transaction_boundary_can_be_text() -> None:
    (end,) = decoded([wrapped({"status": "END", "id": "571", "event_count": 1, "ts_ms": "1700000000000"})])
    assert (end.control_kind, end.commit_us) == ("transaction_end", 1_700_000_000_000_000)


def test_objects_that_are_nested_too_deep_are_rejected() -> None:
    depths = range(900, 1_100)
    headers = ['{"__debezium.oldkey":' * depth + "1" + "}" * depth for depth in depths]
    lines = [event("c", after={"id": 1}, headers=0).replace('"headers": 0', f'"headers": {text}') for text in headers]
    assert {one.reason for one in decoded(lines)} <= {None, "not JSON"}


def test_a_record_with_a_read_problem_is_rejected_with_it() -> None:
    message = Message("f", 1, event("c", after={"id": 1}).encode(), problem="the file is damaged")
    (one,) = decode_messages([message], SourceSpec("debezium-json", "x"), {})
    assert one.reason == "the file is damaged"


def test_a_reject_of_a_field_with_a_wrong_type_names_its_table() -> None:
    (one,) = decoded([event("c", after={"id": 1}, source={"ts_ms": "yesterday"})])
    assert (one.reason, one.source, one.table) == (MISFIT, "postgresql:srv", "shop.items")


@pytest.mark.parametrize("name", ["postgresql.noschema", "postgresql.schema", "mariadb.noschema", "mariadb.schema"])
def test_recorded_lines_have_no_rejects_and_every_change_has_a_position(name: str) -> None:
    found = decoded((EXTRACTS / f"{name}.jsonl").read_bytes().split(b"\n")[:-1])
    assert {one.reason for one in found} == {None}
    assert all(one.position for one in found if one.kind == "change")
    assert all((one.schema_hash is not None) == name.endswith(".schema") for one in found if one.kind == "change")
    assert {"window_open", "window_close", "transaction_begin", "null_message"} <= {one.control_kind for one in found}


# --- control events without values of rows --------------------------------------------------------------------------


def stored(line: str) -> Any:
    """The payload of a control event."""
    (control,) = decoded([line])
    assert control.control is not None
    return json.loads(control.control)


def test_a_notification_is_stored_without_the_keys_of_rows() -> None:
    details = {"connector_name": "srv", "current_collection_in_progress": "shop.items"}
    keys = {"maximum_key": "secret", "last_processed_key": "secret"}
    notice = {"id": "1", "type": "IN_PROGRESS", "aggregate_type": "Incremental Snapshot", "timestamp": 5}
    with_keys = notice | {"additional_data": details | keys}
    for line in (wrapped(with_keys), wrapped({"schema": {"type": "struct"}, "payload": with_keys})):
        assert stored(line) == notice | {"additional_data": details}
    assert stored(wrapped(notice)) == notice
    assert stored(wrapped(notice | {"additional_data": None})) == notice | {"additional_data": None}


def test_a_logical_message_is_stored_without_its_content() -> None:
    message = {"op": "m", "ts_ms": 5, "source": {**SOURCE, "table": ""}}
    written = message | {"message": {"prefix": "p", "content": "c2VjcmV0"}}
    assert stored(wrapped(written)) == message | {"message": {"prefix": "p"}}


@pytest.mark.parametrize("names", [USUAL, ORACLE])
@pytest.mark.parametrize(("setting", "empty"), [("additional-conditions", []), ("additional-condition", None)])
def test_a_signal_is_stored_without_the_conditions_on_rows(names: Sequence[str], setting: str, empty: Any) -> None:
    request = {"type": "incremental", "data-collections": ["shop.items"]}
    for op, image in (("c", "after"), ("d", "before")):
        data = json.dumps(request | {setting: [{"filter": "ssn = 'secret'"}]})
        row = dict(zip(names, ("a", "execute-snapshot", data), strict=True))
        payload = stored(event(op, **{image: row}, source=SIGNAL))
        assert json.loads(payload[image].pop(names[2])) == request | {setting: empty}
        assert payload[image] == {names[0]: "a", names[1]: "execute-snapshot"}


def test_the_data_of_a_signal_stay_if_they_have_no_conditions() -> None:
    for data in ('{"data-collections":  ["shop.items"]}', None, "no object", '["no object"]'):
        row = {"id": "a", "type": "execute-snapshot", "data": data}
        assert stored(event("c", after=row, source=SIGNAL))["after"] == row


def test_the_data_of_a_signal_are_dropped_if_they_seem_to_have_conditions_and_are_no_object() -> None:
    row = {"id": "a", "type": "execute-snapshot", "data": '{"additional-conditions": [{"filter": "id = 1"'}
    assert stored(event("c", after=row, source=SIGNAL))["after"] == row | {"data": "{}"}
