"""Spanner's records in every shape, their control events and rejects, their types, and their order."""

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from pyspark.sql import Row, SparkSession

from engine.decode import discover, envelopes
from engine.decode.rows import decode_rows
from engine.decode.schemas import key_columns, row_columns
from engine.decode.spanner_kinds import OF_MESSAGE
from engine.spec.model import SourceSpec
from tests.unit.decode.given import changes_of, lines, spec

SOURCE = SourceSpec("spanner-json", "/data/spanner")
TYPES = [
    {"name": "b", "type": {"code": "STRING"}, "is_primary_key": True, "ordinal_position": 2},
    {"name": "a", "type": {"code": "INT64"}, "is_primary_key": True, "ordinal_position": 1},
    {"name": "v", "type": {"code": "STRING"}, "is_primary_key": False, "ordinal_position": 3},
]
MODS = [
    {"keys": {"a": "1", "b": "x"}, "new_values": {"v": "new"}, "old_values": {"v": "old"}},
    {"keys": {"a": "2", "b": "x"}, "new_values": {"v": None}},
]
WITHOUT_MODS = "a data change record without mods"
NO_OBJECT = "keys, new_values or old_values in mods is not an object"
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


def read(spark: SparkSession, values: list[Any]) -> list[Row]:
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    return envelopes(lines(spark, texts), SOURCE).orderBy("line", "position").collect()


def camel(value: dict[str, Any]) -> dict[str, Any]:
    def turned(name: str) -> str:
        first, *others = name.split("_")
        return first + "".join(part.capitalize() for part in others)

    return {turned(name): part for name, part in value.items()}


def all_camel(value: Any) -> Any:
    """The same of every object inside."""
    if isinstance(value, list):
        return [all_camel(one) for one in value]
    return camel({name: all_camel(part) for name, part in value.items()}) if isinstance(value, dict) else value


SPELLINGS = [
    {"new_values": "newValues", "old_values": "oldValues"},
    {"keys": "keys_json", "new_values": "new_values_json", "old_values": "old_values_json"},
    {"keys": "keysJson"},
]


def renamed(mod: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The mod with other names; what they call JSON is text."""
    parts = {names.get(name, name): part for name, part in mod.items()}
    return {name: json.dumps(part) if "json" in name.lower() else part for name, part in parts.items()}


def test_one_record_is_the_same_in_every_shape(spark: SparkSession) -> None:
    plain, unused = record(), {"heartbeat_record": [], "child_partitions_record": []}
    nothing = {"commit_timestamp": None, "mods": [], "table_name": None}
    tool = camel({k: v for k, v in plain.items() if k not in ("mods", "column_types", "commit_timestamp")}) | {
        "commitTimestamp": {"seconds": 1677287820, "nanos": 678847001},
        "rowType": [camel(column) | {"type": {"code": json.dumps(column["type"])}} for column in TYPES],
        "mods": [{f"{name}Json": json.dumps(v) for name, v in camel(mod).items()} for mod in MODS],
    }
    shapes = [
        plain,
        {"data_change_record": plain},
        {"partition_token": "p", "change_record": [{"data_change_record": [plain], **unused}]},
        {"ChangeRecord": [{"data_change_record": [nothing, plain], "heartbeat_record": [{"timestamp": None}]}]},
        [{"data_change_record": [plain], **unused}],
        {"topic": "t", "partition": 1, "offset": 2, "value": {"data_change_record": plain}},
        {"value": json.dumps({"change_record": [{"data_change_record": [plain], **unused}]})},
        {"value": json.dumps([{"data_change_record": [plain], **unused}])},
        " \t" + json.dumps([{"data_change_record": [plain], **unused}]),
        {"value": "\n" + json.dumps([{"data_change_record": [plain], **unused}])},
        record(mods=json.dumps(MODS), column_types=json.dumps(TYPES), partition_token="p"),
        *[record(mods=[renamed(mod, names) for mod in MODS]) for names in SPELLINGS],
        record(
            mods=[{n: f" {json.dumps(p)}\n" for n, p in mod.items()} for mod in MODS],
            column_types=f" {json.dumps(TYPES)}",
        ),
        record(mods=[json.dumps(MODS[0]), MODS[1]], column_types=[json.dumps(column) for column in TYPES]),
        {"data_change_record": {("rowType" if k == "column_types" else k): v for k, v in plain.items()}},
        tool,
    ]
    found = read(spark, shapes)
    assert [e.line for e in found] == [n for n in range(1, len(shapes) + 1) for _ in MODS]
    told = {
        (e.kind, e.table, e.op, e.position, e.commit_ts, e.tx_id, e.tx_order, e.before_json, image(e)) for e in found
    }
    assert {tuple(row_columns(e.row_schema_json)) for e in found} == {("b", "a", "v")}
    assert {key_columns(e.key_schema_json) for e in found} == {("a", "b")}
    assert {(t[0], t[1], t[2], t[5], t[6], t[7]) for t in told} == {("change", "T", "update", "tx", 3, None)}
    assert sorted(t[8] for t in told) == ['{"a": "1", "b": "x", "v": "new"}', '{"a": "2", "b": "x", "v": null}']
    assert len(told) == 2, told


def image(envelope: Row) -> str:
    return json.dumps(json.loads(envelope.after_json))


def test_control_events_and_rejects_are_told(spark: SparkSession) -> None:
    child = {"start_timestamp": "2023-01-01T00:00:00Z", "record_sequence": "1", "child_partitions": []}
    cases: list[tuple[Any, str, str]] = [
        ({"heartbeat_record": {"timestamp": "2023-01-01T00:00:00Z"}}, "control", "heartbeat"),
        ({"child_partitions_record": child}, "control", "child_partitions"),
        ({"partition_start_record": {"start_timestamp": "2023-01-01T00:00:00Z"}}, "control", "partition_start"),
        ({"partition_end_record": {"end_timestamp": "2023-01-01T00:00:00Z"}}, "control", "partition_end"),
        ({"partition_event_record": {"commit_timestamp": "2023-01-01T00:00:00Z"}}, "control", "partition_event"),
        (record(mod_type="UPSERT"), "reject", 'unknown mod_type "UPSERT"'),
        (record(table_name=None), "reject", "table_name is missing"),
        (camel(record(table_name="")), "reject", "table_name is missing"),
        *[(spelled({"data_change_record": MESSAGE}), "reject", OF_MESSAGE) for spelled in (dict, all_camel)],
        (record(commit_timestamp="yesterday"), "reject", "commit_timestamp is no timestamp"),
        (record(server_transaction_id=None), "reject", "server_transaction_id is missing"),
        (record(record_sequence="x"), "reject", "record_sequence is missing, or no number"),
        (record(mods=[]), "reject", WITHOUT_MODS),
        *[(record(mods=[MODS[0], mod]), "reject", NO_OBJECT) for mod in BAD_MODS],
        *[(record(mods=[MODS[0], mod]), "reject", WITHOUT_MODS) for mod in ("x", '["keys"]', '{"keys": {}', "{} {}")],
        *[
            (camel(record(mods=[{"keysJson": keys, "newValuesJson": new}])), "reject", NO_OBJECT)
            for keys, new in (('{"a":"1"}', "[1]"), ('{"a":"1"}}', '{"v":"w"}'), ('{"a":"1"}', '{"v":"w"'))
        ],
        ({"change_record": []}, "reject", "neither a data change, a heartbeat nor a partition record of Spanner"),
        ('{"data_change_record": {', "reject", "not JSON"),
        ("3", "reject", "neither a JSON object nor an array of them"),
    ]
    found = read(spark, [value for value, _, _ in cases])
    assert [(e.kind, e.control_kind or e.reason) for e in found] == [(kind, told) for _, kind, told in cases]
    assert all(e.commit_ts for e in found if e.kind == "control")


def test_positions_are_in_the_order_of_nanoseconds_transaction_record_and_mod(spark: SparkSession) -> None:
    one = [{"keys": {"a": "1", "b": "x"}, "new_values": {}}]
    stamps = [
        record(commit_timestamp="2023-02-25T01:17:00.678847Z", mods=one),
        record(mods=one, record_sequence="00000009"),
        record(mods=one, record_sequence="00000010"),
        record(commit_timestamp="2023-02-25T01:17:00.678847002Z", record_sequence="00000000"),
        record(commit_timestamp="2023-02-25T09:17:00.67885+08:00", mods=one),
    ]
    places = [e.position for e in read(spark, stamps)]
    assert places == sorted(places)
    assert len(set(places)) == len(places) == 6


def test_rows_are_whole_or_partial_as_the_capture_type_says(spark: SparkSession) -> None:
    changes = [
        record(value_capture_type="NEW_ROW_AND_OLD_VALUES", mods=MODS[:1]),
        record(value_capture_type="NEW_VALUES", mods=[{"keys": {"a": "1", "b": "x"}, "new_values": {"w": "1"}}]),
        record(mod_type="DELETE", mods=[{"keys": {"a": "1", "b": "x"}, "old_values": {"v": "old", "w": None}}]),
        record(mod_type="DELETE", mods=[{"keys": {"a": "1", "b": "x"}}]),
    ]
    wide = [*TYPES, {"name": "w", "type": {"code": "INT64"}, "ordinal_position": 4}]
    whole, partial, deleted, keys = decoded(spark, [change | {"column_types": wide} for change in changes])
    assert (whole.row.v, whole.before.v, whole.present) == ("new", "old", ["b", "a", "v"])
    assert (partial.row.w, sorted(partial.present), partial.before) == (1, ["a", "b", "w"], None)
    assert (deleted.row.v, deleted.before.v, deleted.present) == ("old", "old", None)
    assert (sorted(keys.present), keys.before) == (["a", "b"], None)
    assert whole.key.asDict() == {"a": 1, "b": "x"}


def decoded(spark: SparkSession, values: list[dict[str, Any]]) -> list[Row]:
    table = replace(spec(keys=None), table="T", source=SOURCE)
    changes = changes_of(envelopes(lines(spark, [json.dumps(v) for v in values]), SOURCE).localCheckpoint(), "T")
    return decode_rows(changes, discover(changes, table), table).orderBy("line").collect()


def test_values_of_every_type(spark: SparkSession) -> None:
    values = {
        "BOOL": (True, True),
        "INT64": ("-9223372036854775808", -(2**63)),
        "INT": (1000, 1000),
        "FLOAT64": ("-Infinity", float("-inf")),
        "FLOAT32": (1.5, 1.5),
        "NUMERIC": ("-99999999999999999999999999999.999999999", Decimal("-99999999999999999999999999999.999999999")),
        "STRING": ("😀\u0000é", "😀\u0000é"),
        "BYTES": ("AP8=", b"\0\xff"),
        "DATE": ("0001-01-01", date(1, 1, 1)),
        "JSON": ('{"x": [1, "é"]}', '{"x": [1, "é"]}'),
        "UUID": ("00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000a"),
    }
    arrays = {code: ([given, None], [stored, None]) for code, (given, stored) in values.items()}
    columns = [{"name": "id", "type": {"code": "INT64"}, "is_primary_key": True, "ordinal_position": 1}]
    columns += [{"name": code, "type": {"code": code}} for code in values]
    columns += [{"name": f"a_{c}", "type": {"code": "ARRAY", "array_element_type": {"code": c}}} for c in arrays]
    columns += [{"name": "pg", "type": {"code": "NUMERIC", "type_annotation": "PG_NUMERIC"}}]
    given = {code: pair[0] for code, pair in values.items()} | {f"a_{c}": pair[0] for c, pair in arrays.items()}
    mod = {"keys": {"id": "1"}, "new_values": given | {"pg": "NaN"}}
    (found,) = decoded(spark, [record(column_types=columns, mods=[mod], mod_type="INSERT")])
    assert found.reason is None
    stored = {code: pair[1] for code, pair in values.items()} | {f"a_{c}": pair[1] for c, pair in arrays.items()}
    row = {name: plain(value) for name, value in found.row.asDict().items()}
    assert row == stored | {"id": 1, "pg": "NaN"}


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(item) for item in value]
    return bytes(value) if isinstance(value, bytearray) else value
