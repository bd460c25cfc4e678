"""Spanner's records in every shape: their control events, rejects, images, and order."""

import json
import pickle
import random
from collections import Counter
from typing import Any

import pytest

from siltstone.engine.decode.event import Event, Message
from siltstone.engine.decode.formats.spanner import (
    NO_LINE,
    NO_MODS,
    NO_OBJECT,
    NO_RECORD,
    NO_SEQUENCE,
    NO_TABLE,
    NO_TIMESTAMP,
    NO_TRANSACTION,
    OF_MESSAGE,
    WRONG_TYPE,
    SpannerDecoder,
)
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.spec.model import SourceSpec
from tests.recordings import DATA

SOURCE = SourceSpec("spanner-json", "/data/spanner")
TYPES = [
    {"name": "b", "type": {"code": "STRING"}, "is_primary_key": True, "ordinal_position": 2},
    {"name": "a", "type": {"code": "INT64"}, "is_primary_key": True, "ordinal_position": 1},
    {"name": "v", "type": {"code": "STRING"}, "is_primary_key": False, "ordinal_position": 3},
]
KEYS = {"a": "1", "b": "x"}
MODS: list[dict[str, Any]] = [
    {"keys": KEYS, "new_values": {"v": "new"}, "old_values": {"v": "old"}},
    {"keys": {"a": "2", "b": "x"}, "new_values": {"v": None}},
]
MESSAGE = {
    "commit_timestamp": "2023-02-24T17:17:00Z",
    "table": "T",
    "column_metadata": [{"name": "a", "type": {"code": "INT64"}, "is_primary_key": True, "ordinal_position": 1}],
    "mods": [{"keys": [{"column_metadata_index": 0, "value": "1"}], "new_values": [], "old_values": []}],
    "mod_type": "INSERT",
}
BAD_MODS = [
    MODS[0] | part
    for part in ({"new_values": [1]}, {"new_values": "x"}, {"old_values": 3}, {"keys": "1"}, {"keys": [1]})
]


def record(**more: Any) -> dict[str, Any]:
    return {
        "commit_timestamp": "2023-02-24T17:17:00.678847001-08:00",
        "record_sequence": "00000003",
        "server_transaction_id": "tx",
        "table_name": "T",
        "column_types": TYPES,
        "mods": MODS,
        "mod_type": "UPDATE",
        "value_capture_type": "OLD_AND_NEW_VALUES",
        "number_of_records_in_transaction": 1,
        "number_of_partitions_in_transaction": 1,
    } | more


def decoded(*values: Any) -> list[Event]:
    texts = [value if isinstance(value, bytes) else as_text(value).encode("utf-8", "surrogatepass") for value in values]
    messages = [Message("events.jsonl", line, text) for line, text in enumerate(texts, 1)]
    return decode_messages(messages, SOURCE, {})


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def loaded(text: bytes | str | None) -> Any:
    return None if text is None else json.loads(text)


def camel(value: dict[str, Any]) -> dict[str, Any]:
    def camel_name(name: str) -> str:
        first, *others = name.split("_")
        return first + "".join(part.capitalize() for part in others)

    return {camel_name(name): part for name, part in value.items()}


def all_camel(value: Any) -> Any:
    """The value with camelCase names in every object inside."""
    if isinstance(value, list):
        return [all_camel(one) for one in value]
    return camel({name: all_camel(part) for name, part in value.items()}) if isinstance(value, dict) else value


def renamed(mod: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The mod with other names. Its objects become JSON text."""
    parts = {names.get(name, name): part for name, part in mod.items()}
    return {name: json.dumps(part) if "json" in name.lower() else part for name, part in parts.items()}


SPELLINGS = [
    {"new_values": "newValues", "old_values": "oldValues"},
    {"keys": "keys_json", "new_values": "new_values_json", "old_values": "old_values_json"},
    {"keys": "keysJson"},
]
UNUSED: dict[str, Any] = {"heartbeat_record": [], "child_partitions_record": []}
NOTHING: dict[str, Any] = {"commit_timestamp": None, "mods": [], "table_name": None}
TOOL = camel({k: v for k, v in record().items() if k not in ("mods", "column_types", "commit_timestamp")}) | {
    "commitTimestamp": {"seconds": 1677287820, "nanos": 678847001},
    "rowType": [camel(column) | {"type": {"code": json.dumps(column["type"])}} for column in TYPES],
    "mods": [{f"{name}Json": json.dumps(v) for name, v in camel(mod).items()} for mod in MODS],
}
SHAPES: dict[str, Any] = {
    "a data record": record(),
    "an object with one": {"data_change_record": record()},
    "change records": {"partition_token": "p", "change_record": [{"data_change_record": [record()], **UNUSED}]},
    "change records of a tool": {
        "ChangeRecord": [{"data_change_record": [NOTHING, record()], "heartbeat_record": [{"timestamp": None}]}]
    },
    "an array": [{"data_change_record": [record()], **UNUSED}],
    "an array after blanks": " \t" + json.dumps([{"data_change_record": [record()], **UNUSED}]),
    "in a value": {"topic": "t", "partition": 1, "offset": 2, "value": {"data_change_record": record()}},
    "change records in a text": {"value": json.dumps({"change_record": [{"data_change_record": [record()]}]})},
    "an array in a text": {"value": "\n" + json.dumps([{"data_change_record": [record()], **UNUSED}])},
    "mods and types in texts": record(mods=json.dumps(MODS), column_types=f" {json.dumps(TYPES)}"),
    "parts in texts": record(mods=[{n: f" {json.dumps(p)}\n" for n, p in mod.items()} for mod in MODS]),
    "some mods in texts": record(mods=[json.dumps(MODS[0]), MODS[1]], column_types=[json.dumps(c) for c in TYPES]),
    "rowType": {"data_change_record": {("rowType" if k == "column_types" else k): v for k, v in record().items()}},
    "numbers": record(record_sequence=3, number_of_records_in_transaction="1"),
    "camel case": TOOL,
    **{str(names): record(mods=[renamed(mod, names) for mod in MODS]) for names in SPELLINGS},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_one_record_is_the_same_in_every_shape(shape: str) -> None:
    found, usual = decoded(SHAPES[shape]), decoded(record())
    assert [
        (e.kind, e.table, e.op, e.position, e.commit_us, e.tx_id, e.tx_order, e.before, loaded(e.after)) for e in found
    ] == [("change", "T", "update", u.position, u.commit_us, "tx", 3, None, loaded(u.after)) for u in usual]
    assert [loaded(e.after) for e in found] == [KEYS | {"v": "new"}, {"a": "2", "b": "x", "v": None}]
    assert [e.announced and (e.announced.size, e.announced.partitions) for e in found] == [(1, 1)] * 2
    columns = [json.loads(c) if isinstance(c, str) else c for c in loaded(found[0].row_schema)["column_types"]]
    assert [column["name"] for column in columns] == ["b", "a", "v"]
    assert found[0].row_schema == found[0].key_schema
    assert [e.text is not None for e in found] == [True, False]


def test_a_record_has_its_partition_or_its_place_in_a_topic() -> None:
    value = {"data_change_record": record()}
    (first, _), (second, _) = (
        decoded(line)
        for line in (
            {"topic": "t", "partition": 1, "offset": 2, "value": value},
            {"partition_token": "p", "change_record": [value]},
        )
    )
    assert (first.channel, first.kafka_partition, first.kafka_offset) == ("t", 1, 2)
    assert (second.channel, second.announced and second.announced.partition) == ("p", "p")
    assert decoded(record(partition_token=""))[0].channel == ""


CHILD = {"start_timestamp": "2023-01-01T00:00:00Z", "record_sequence": "1", "child_partitions": []}
MOMENT = "2023-01-01T00:00:00Z"
KINDS: list[tuple[Any, str, str]] = [
    ({"heartbeat_record": {"timestamp": MOMENT}}, "control", "heartbeat"),
    ({"child_partitions_record": CHILD}, "control", "child_partitions"),
    ({"partition_start_record": {"start_timestamp": MOMENT}}, "control", "partition_start"),
    ({"partition_end_record": {"end_timestamp": MOMENT}}, "control", "partition_end"),
    ({"partition_event_record": {"commit_timestamp": MOMENT}}, "control", "partition_event"),
    (all_camel({"heartbeat_record": {"timestamp": MOMENT}}), "control", "heartbeat"),
    (record(mod_type="UPSERT"), "reject", 'unknown mod_type "UPSERT"'),
    (record(table_name=None), "reject", NO_TABLE),
    (camel(record(table_name="")), "reject", NO_TABLE),
    *[(spelled({"data_change_record": MESSAGE}), "reject", OF_MESSAGE) for spelled in (dict, all_camel)],
    (record(commit_timestamp="yesterday"), "reject", NO_TIMESTAMP),
    (record(server_transaction_id=None), "reject", NO_TRANSACTION),
    *[(record(record_sequence=number), "reject", NO_SEQUENCE) for number in ("x", "1.5", 1.0, "9" * 19)],
    (record(mods=[]), "reject", NO_MODS),
    *[(record(mods=[MODS[0], mod]), "reject", NO_OBJECT) for mod in BAD_MODS],
    *[(record(mods=[MODS[0], mod]), "reject", NO_MODS) for mod in ("x", '["keys"]', '{"keys": {}', "{} {}")],
    *[
        (camel(record(mods=[{"keysJson": keys, "newValuesJson": new}])), "reject", NO_OBJECT)
        for keys, new in (('{"a":"1"}', "[1]"), ('{"a":"1"}}', '{"v":"w"}'), ('{"a":"1"}', '{"v":"w"'), ("{x}", "{}"))
    ],
    ({"change_record": []}, "reject", NO_RECORD),
    ("null", "reject", NO_RECORD),
    ({"partition": "x"} | record(), "reject", WRONG_TYPE),
    ('{"data_change_record": {', "reject", "not JSON"),
    ("[", "reject", "not JSON"),
    ("", "reject", "empty line"),
    (b'{"table_name": "\xff"}', "reject", "not UTF-8 text"),
    (record(table_name="\ud800"), "reject", "not JSON"),
    ("3", "reject", NO_LINE),
]


@pytest.mark.parametrize(("value", "kind", "why"), KINDS)
def test_records_without_changes_are_control_events_or_rejects_with_a_reason(value: Any, kind: str, why: str) -> None:
    (event,) = decoded(value)
    assert (event.kind, event.control_kind or event.reason) == (kind, why)
    assert event.text is not None
    assert event.commit_us == 1_672_531_200_000_000 or kind != "control"


def test_a_bad_record_does_not_reject_the_other_records_of_its_line() -> None:
    line = {"change_record": [{"data_change_record": [record(), record(mod_type="?"), record(table_name="U")]}]}
    found = decoded(line)
    assert Counter((e.kind, e.table) for e in found) == {("change", "T"): 2, ("reject", "T"): 1, ("change", "U"): 2}
    # The first change of each table and each reject have the text.
    assert [e.text is not None for e in found] == [True, False, True, True, False]


def test_positions_have_the_order_of_time_transaction_record_and_mod() -> None:
    one = [{"keys": KEYS, "new_values": {}}]
    places = [
        e.position
        for e in decoded(
            record(commit_timestamp="2023-02-25T01:17:00.678847Z", mods=one),
            record(record_sequence="00000003"),
            record(mods=one, record_sequence="00000009"),
            record(mods=one, record_sequence="00000010"),
            record(commit_timestamp="2023-02-25T01:17:00.678847002Z", record_sequence="00000000", mods=one),
            record(commit_timestamp="2023-02-25T09:17:00.67885+08:00", mods=one),
        )
    ]
    known = [place for place in places if place is not None]
    assert known == sorted(set(known))
    assert len(known) == len(places) == 7


@pytest.mark.parametrize(
    ("op", "capture", "mod", "before", "after"),
    [
        ("UPDATE", "NEW_ROW_AND_OLD_VALUES", MODS[0], KEYS | {"v": "old"}, KEYS | {"v": "new"}),
        ("UPDATE", "NEW_ROW_AND_OLD_VALUES", MODS[0] | {"old_values": {}}, None, KEYS | {"v": "new"}),
        ("UPDATE", "OLD_AND_NEW_VALUES", MODS[0], None, KEYS | {"v": "new"}),
        ("UPDATE", "NEW_VALUES", {"keys": KEYS, "new_values": {"w": "1"}}, None, KEYS | {"w": "1"}),
        ("INSERT", "NEW_ROW", {"keys": KEYS, "new_values": {"v": None}}, None, KEYS | {"v": None}),
        ("DELETE", "NEW_ROW", {"keys": KEYS, "old_values": {"v": "old"}}, KEYS | {"v": "old"}, None),
        ("DELETE", "NEW_ROW", {"keys": KEYS}, KEYS, None),
        ("INSERT", "NEW_ROW", {"new_values": {"v": "new"}}, None, {"v": "new"}),
    ],
)
def test_the_capture_type_determines_the_images(op: str, capture: str, mod: Any, before: Any, after: Any) -> None:
    (event,) = decoded(record(mod_type=op, value_capture_type=capture, mods=[mod]))
    assert (loaded(event.before), loaded(event.after)) == (before, after)


def test_without_types_the_keys_of_the_mods_give_the_key() -> None:
    (event,) = decoded(record(column_types=None, mods=MODS[:1]))
    assert (loaded(event.key), event.row_schema, event.schema_hash) == (KEYS, None, None)
    assert decoded(record(mods=MODS[:1]))[0].key is None


def test_numbers_and_nulls_stay_unchanged() -> None:
    text = json.dumps(record(mods=[{"keys": {"a": None}, "new_values": {"v": "N"}}])).replace(
        '"N"', "1.00000000000000000001"
    )
    assert decoded(text)[0].after == b'{"a": null,"v": 1.00000000000000000001}'


def test_a_count_of_more_than_64_bits_is_ignored() -> None:
    (event,) = decoded(record(number_of_records_in_transaction=2**64, mods=MODS[:1]))
    assert event.announced is not None
    assert (event.announced.size, event.announced.partitions) == (None, 1)


def test_equal_schemas_have_equal_hashes() -> None:
    one, same, other = (decoded(record(column_types=types))[0] for types in (TYPES, list(TYPES), TYPES[:2]))
    assert one.schema_hash == same.schema_hash != other.schema_hash


def test_damaged_lines_neither_raise_nor_are_lost() -> None:
    draw = random.Random(29)
    whole = [as_text(shape) for shape in SHAPES.values()] + [as_text(value) for value, _, _ in KINDS[:6]]
    texts = []
    for _ in range(4_000):
        text = draw.choice(whole)
        at = draw.randrange(len(text))
        texts.append(text[:at] + draw.choice(["", '"', ",", "}", "]", "\\", "0", "null", "\ud800"]) + text[at + 1 :])
    found = decoded(*texts)
    assert {e.line for e in found} == set(range(1, len(texts) + 1))
    assert Counter(e.kind for e in found).keys() == {"change", "control", "reject"}


def test_a_decoder_can_be_pickled() -> None:
    decoder = pickle.loads(pickle.dumps(SpannerDecoder(SOURCE, {})))
    assert len(decoder.events(Message("f", 1, json.dumps(record()).encode()))) == 2


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the recordings are not there: {DATA}")
def test_recordings_have_no_reject() -> None:
    kinds: Counter[str] = Counter()
    for file in sorted((DATA / "spanner").glob("*.jsonl")):
        kinds += Counter(e.kind for e in decoded(*file.read_bytes().splitlines()))
    assert kinds["reject"] == 0
    assert kinds["change"] > 50
