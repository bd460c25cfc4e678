"""GoldenGate's operations: both layouts, values that were not logged, key changes, and positions in the trail."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from siltstone.engine.decode.event import Event, Message
from siltstone.engine.decode.formats.goldengate import (
    NO_OBJECT,
    NO_OP,
    NO_TABLE,
    NO_TIME,
    WRONG_PLACE,
    WRONG_TIME,
    WRONG_TYPE,
    shows_no_key,
)
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.decode.types.dates_and_times import iso_date
from siltstone.engine.decode.types.time_texts import local_moment
from siltstone.engine.spec.model import SourceSpec

SOURCE = SourceSpec("goldengate-json", "/data/ogg/*.jsonl")
TABLE = "QASOURCE.TCUSTORD"
DECLARED = {TABLE: ("ORDER_ID",)}
# Operations of the documentation of the JSON formatter.
INSERT = (
    '{"table":"QASOURCE.TCUSTORD","op_type":"I","op_ts":"2015-11-05 18:45:36.000000",'
    '"current_ts":"2016-10-05T10:15:51.267000","pos":"00000000000000002928","after":{"CUST_CODE":"WILL",'
    '"ORDER_DATE":"1994-09-30:15:33:00","PRODUCT_CODE":"CAR","ORDER_ID":144,"PRODUCT_PRICE":17520.00,'
    '"PRODUCT_AMOUNT":3,"TRANSACTION_ID":100}}'
)
ROW_INSERT = (
    '{"table":"QASOURCE.TCUSTORD","op_type":"I","op_ts":"2015-11-05 18:45:36.000000",'
    '"current_ts":"2016-04-21T19:31:35.126000","pos":"00000000000000002928","CUST_CODE":"WILL",'
    '"ORDER_DATE":"1994-09-30:15:33:00","PRODUCT_CODE":"CAR","ORDER_ID":144,"PRODUCT_PRICE":17520.00,'
    '"PRODUCT_AMOUNT":3,"TRANSACTION_ID":100}'
)
DELETE = (
    '{"table":"GG.TCUSTORD","op_type":"D","op_ts":"2013-06-02 22:14:41.000000",'
    '"current_ts":"2015-09-18T10:17:49.899000","pos":"00000000000000004338",'
    '"primary_keys":["CUST_CODE","ORDER_DATE","PRODUCT_CODE","ORDER_ID"],'
    '"tokens":{"6":"9.0.80330","L":"206080450","R":"AADPkvAAEAAEqLzAAC"},'
    '"before":{"CUST_CODE":"DAVE","CUST_CODE_isMissing":false,"ORDER_ID":"600","ORDER_ID_isMissing":false,'
    '"PRODUCT_PRICE":null,"PRODUCT_PRICE_isMissing":true},"after":null}'
)
BEFORE, AFTER = {"ORDER_ID": 1, "A": "x"}, {"ORDER_ID": 1, "A": "y"}


def operation(op: str | None = "I", **fields: Any) -> str:
    whole = {"table": TABLE, "op_type": op, "op_ts": "2015-11-05 18:45:36.000000", "pos": "00000000000000002928"}
    return json.dumps({name: value for name, value in (whole | fields).items() if value is not ...})


def decoded(*texts: str | bytes, source: SourceSpec = SOURCE, declared: Any = DECLARED) -> list[Event]:
    lines = [text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass") for text in texts]
    messages = [Message("/data/ogg/a.jsonl", line, text) for line, text in enumerate(lines, 1)]
    return decode_messages(messages, source, declared)


def loaded(text: bytes | None) -> Any:
    return None if text is None else json.loads(text)


@pytest.mark.parametrize("text", [INSERT, ROW_INSERT])
def test_a_documented_insert_is_the_same_in_both_layouts(text: str) -> None:
    (event,) = decoded(text)
    assert (event.table, event.op, event.origin, event.connector, event.source) == (
        TABLE, "insert", "stream", "goldengate", "goldengate",
    )  # fmt: skip
    assert event.after is not None
    assert b"17520.00" in event.after
    assert list(loaded(event.after)) == [
        "CUST_CODE", "ORDER_DATE", "PRODUCT_CODE", "ORDER_ID", "PRODUCT_PRICE", "PRODUCT_AMOUNT", "TRANSACTION_ID",
    ]  # fmt: skip
    assert (event.commit_us, event.ingest_us) == (1446749136_000000, None)
    assert event.position == "0000-0000000000000000-0000000000000B70"


def test_a_documented_delete_omits_missing_columns() -> None:
    (event,) = decoded(DELETE, declared={})
    assert (event.op, loaded(event.before), event.tx_id) == (
        "delete", {"CUST_CODE": "DAVE", "ORDER_ID": "600"}, "9.0.80330",
    )  # fmt: skip
    assert event.key_schema == '{"keys":["CUST_CODE","ORDER_DATE","PRODUCT_CODE","ORDER_ID"]}'


KINDS = [
    (operation("I", after=AFTER, before=None), "insert"),
    (operation("INSERT", **AFTER), "insert"),
    (operation("U", before=BEFORE, after=AFTER), "update"),
    (operation("U", **AFTER), "update"),
    (operation("D", before=BEFORE, after=None), "delete"),
    (operation("D", **BEFORE), "delete"),
    (operation("T"), "truncate"),
    (operation("T", before=None, after=None), "truncate"),
    (operation(None, after=AFTER), NO_OP),
    (operation("X", after=AFTER), 'unknown op_type "X"'),
    (operation("I"), 'op_type "I" without its row'),
    (operation("D", after=AFTER), 'op_type "D" without its row'),
    (operation("U", before=BEFORE), 'op_type "U" without its row'),
    (operation("I", after=[AFTER]), NO_OBJECT),
    (operation("I", after=AFTER, op_ts=...), NO_TIME),
    (operation("I", after=AFTER, op_ts="yesterday"), WRONG_TIME),
    (operation("I", after=AFTER, pos="trail 1"), WRONG_PLACE),
    (operation("I", after=AFTER, primary_keys="ORDER_ID"), WRONG_TYPE),
    (json.dumps({"value": "x"}), WRONG_TYPE),
    (json.dumps({"value": operation("I", after=AFTER), "offset": "x"}), WRONG_TYPE),
    (json.dumps({"value": None, "topic": "ogg"}), "null_message"),
    ("null", "null_message"),
    ("[]", "not a JSON object"),
    ("{", "not JSON"),
    (" ", "empty line"),
    (b'{"op_type": "\xff"}', "not UTF-8 text"),
    (operation("I", after={"ORDER_ID": "\ud800"}), "not JSON"),
]


@pytest.mark.parametrize(("text", "what"), KINDS)
def test_every_message_is_a_change_a_control_event_or_a_reject_with_a_reason(text: str, what: str) -> None:
    (event,) = decoded(text)
    assert (event.op or event.control_kind or event.reason) == what
    assert event.table == (TABLE if TABLE in str(text) and what not in (WRONG_TYPE, "not JSON") else None)


def test_an_operation_without_a_table_is_rejected() -> None:
    assert [event.reason for event in decoded(operation("I", table=..., after=AFTER))] == [NO_TABLE]


UPDATES = [
    ({"before": BEFORE, "after": AFTER}, [("update", BEFORE, AFTER)]),
    ({"before": None, "after": AFTER}, [("update", None, AFTER)]),
    ({"before": {"ORDER_ID": 1}, "after": AFTER}, [("update", None, AFTER)]),
    ({"before": BEFORE | {"B": 5}, "after": AFTER}, [("update", BEFORE | {"B": 5}, AFTER | {"B": 5})]),
    ({"before": {"A": "x"}, "after": AFTER}, [("update", None, AFTER)]),  # an absent key did not change
    (
        {"before": BEFORE, "after": {"ORDER_ID": 2}},
        [("delete", BEFORE, None), ("insert", None, {"ORDER_ID": 2, "A": "x"})],
    ),
    (AFTER, [("update", None, AFTER)]),
    ({"A": "y"}, [("update", None, {"A": "y"})]),
]


@pytest.mark.parametrize("op", ["U", "K"])
@pytest.mark.parametrize(("fields", "changes"), UPDATES)
def test_an_update_has_the_logged_columns(op: str, fields: Any, changes: list[Any]) -> None:
    found = decoded(operation(op, **fields))
    assert [(e.op, loaded(e.before), loaded(e.after)) for e in found] == changes
    assert len({e.position for e in found}) == 1
    if len(found) == 2:
        assert loaded(found[0].new_key) == loaded(found[1].after)
        assert loaded(found[1].old_key) == loaded(found[0].before)


def test_declared_keys_override_the_keys_of_an_operation() -> None:
    text = operation("U", before=BEFORE, after=AFTER, primary_keys=["A"])
    assert [len(decoded(text, declared=tables)) for tables in (DECLARED, {TABLE: None}, {})] == [1, 2, 2]


def test_metadata_fields_are_not_columns_in_the_row_layout() -> None:
    more = {"current_ts": "x", "primary_keys": ["ORDER_ID"], "tokens": {"TXID": "1.2"}, "csn": "9", "txind": "WHOLE"}
    (event,) = decoded(operation("I", **more, value=1, offset="o", B_isMissing=True, B=None, C_isMissing=True))
    assert loaded(event.after) == {"value": 1, "offset": "o", "C_isMissing": True}
    assert event.tx_id == "1.2"
    assert decoded(operation("I", xid="3.4", **more, **AFTER))[0].tx_id == "3.4"


def test_positions_in_the_trail_are_compared_as_numbers() -> None:
    places = ["00000000000000002928", "00000000009999999999", "00000000010000000010", "000000000020000000001", "42"]
    texts = [operation("I", after=AFTER, pos=pos) for pos in places]
    in_order = [4, 0, 1, 2, 3]
    shuffled = random.Random(1).sample(range(len(texts)), len(texts))
    found = sorted(zip([str(e.position) for e in decoded(*[texts[n] for n in shuffled])], shuffled, strict=True))
    assert [number for _, number in found] == in_order


def test_operations_without_a_position_get_the_place_of_delivery() -> None:
    text = operation("I", after=AFTER, pos=...)
    (event,) = decoded(text)
    assert event.position == f"0001-{b'a.jsonl'.hex().upper()}-0000000000000001-00000000"
    for value in (text, json.loads(text)):
        (in_topic,) = decoded(json.dumps({"value": value, "topic": "ogg", "partition": 1, "offset": 2}))
        assert in_topic.position == "0001-000000000000-00000001-0000000000000002-00000000"
        assert (in_topic.channel, in_topic.kafka_partition, in_topic.kafka_offset) == ("ogg", 1, 2)
    (other,) = decoded(operation("I", table="A.B", after=AFTER, pos=...))
    assert (other.op, other.position) == ("insert", None)


@pytest.mark.parametrize(
    ("time", "zone", "hour"),
    [
        ("2026-05-26T04:31:23.000000", "UTC", 4),
        ("2026-05-26 04:31:23.000000", "Europe/Berlin", 2),
        ("2026-05-26T04:31:23.000000Z", "Europe/Berlin", 4),
    ],
)
def test_a_time_without_a_zone_has_the_zone_of_the_source(time: str, zone: str, hour: int) -> None:
    (event,) = decoded(operation("I", op_ts=time, after=AFTER), source=replace(SOURCE, time_zone=zone))
    assert event.commit_us is not None
    assert event.commit_us // 3_600_000_000 % 24 == hour


def test_a_colon_can_be_between_a_date_and_its_time() -> None:
    assert local_moment("1994-09-30:15:33:00") == local_moment("1994-09-30 15:33:00")
    assert local_moment("1994-09-30:15:33:00.123456789") == local_moment("1994-09-30T15:33:00.123456")
    assert iso_date("1994-09-30:15:33:00") == iso_date("1994-09-30")


@pytest.mark.parametrize(("keys", "shown"), [(["ORDER_ID"], False), ([], True), (None, None), (..., None)])
def test_an_operation_shows_that_its_table_has_no_key(keys: Any, shown: bool | None) -> None:
    text = operation("I", after=AFTER, primary_keys=keys)
    assert shows_no_key(decoded(text)[0], text.encode()) is shown
