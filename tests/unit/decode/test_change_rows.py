"""Rows of one table: values, presence, before images, rescued values, masks, reasons, and updates that are split."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import pickle
import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.decode.change_rows import TableDecoder
from siltstone.engine.decode.event_batch import COLUMNS
from siltstone.engine.decode.row_reasons import BROKEN
from siltstone.engine.decode.row_shape import ColumnShape, Encoding, TableShape
from siltstone.engine.schema.change_row import change_fields
from siltstone.engine.spec.model import ChecksSpec, HistorySpec, SnapshotSpec, SourceSpec, TableSpec, TargetSpec

PLACEHOLDER = "__debezium_unavailable_value"
INT, LONG, TEXT, BYTES = T.IntegerType(), T.LongType(), T.StringType(), T.BinaryType()
AT, DAY = T.TimestampNTZType(), T.DateType()
Columns = Mapping[str, tuple[T.DataType, Encoding]]
WHOLE, TEXTS = Encoding("integer"), Encoding("text")
ABC: Columns = {"id": (INT, WHOLE), "a": (INT, WHOLE), "b": (TEXT, TEXTS)}
FULL = {"id": 1, "a": 2, "b": "x"}
KEY_ONLY = {"id": 1, "a": None, "b": None}


def column(name: str, kind: T.DataType, encoding: Encoding, **more: Any) -> ColumnShape:
    return ColumnShape(name, kind, ((None, encoding),), **more)


def shape(columns: Columns = ABC, keys: Sequence[str] = ("id",), **more: Any) -> TableShape:
    return TableShape(tuple(keys), tuple(column(name, *how) for name, how in columns.items()), **more)


def spec(form: str = "debezium-json") -> TableSpec:
    return TableSpec(
        file=None,
        table="shop.items",
        source=SourceSpec(form, "x"),
        keys=("id",),
        columns=None,
        target=TargetSpec("a.items", "a.items_history", "a.items_changes"),
        history=HistorySpec(),
        snapshot=SnapshotSpec(),
        lateness=None,
        evolution="additive",
        rejects_max_fraction=0.01,
        quality=ChecksSpec((), {}),
    )


def event(op: str = names.OP_INSERT, before: Any = None, after: Any = None, **more: Any) -> dict[str, Any]:
    """One event. A str or bytes image is already JSON text. `more`: key, old_key, new_key as values; other columns."""
    parts = {"before": before, "after": after, "key": None, "old_key": None, "new_key": None} | more
    images = {f"{name}_json": text(parts.pop(name)) for name in ("before", "after", "key", "old_key", "new_key")}
    return {"op": op, "connector": "postgresql", **images, **parts}


def text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def decoded(
    events: Sequence[Mapping[str, Any]], table: TableShape, form: str = "debezium-json", splits_keys: bool = False
) -> list[dict[str, Any]]:
    return TableDecoder(table, spec(form), splits_keys).decode(batch(events)).to_pylist()  # type: ignore[no-any-return]


def batch(events: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    numbered = [{"file": "f", "line": line, **one} for line, one in enumerate(events, 1)]
    arrays = [pa.array([one.get(name) for one in numbered], kind) for name, _, kind in COLUMNS]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _, _ in COLUMNS])


def insert(row: Any, **more: Any) -> dict[str, Any]:
    return event(names.OP_INSERT, after=row, **more)


# --- columns and places ---------------------------------------------------------------------------------------------


def test_the_columns_are_those_of_a_change_then_reason_schema_hash_and_is_half() -> None:
    table = shape()
    decoder = TableDecoder(table, spec())
    found = decoder.decode(batch([insert(FULL, position="p", source="s", commit_ts=5, kafka_offset=7)]))
    expected = [f.name for f in change_fields(table.key_type, table.row_type) if f.name != "content_hash"]
    assert found.schema.names == [*expected, "reason", "schema_hash", "is_half"]
    assert found.schema == decoder.schema
    (row,) = found.to_pylist()
    passed = {name: row[name] for name in ("position", "source", "kafka_offset", "file", "line", "is_half")}
    assert passed == {"position": "p", "source": "s", "kafka_offset": 7, "file": "f", "line": 1, "is_half": False}
    assert row["commit_ts"] == datetime.datetime(1970, 1, 1, microsecond=5, tzinfo=datetime.UTC)


def test_no_events_are_no_changes() -> None:
    decoder = TableDecoder(shape(), spec())
    assert decoder.decode(batch([])).num_rows == 0
    assert pickle.loads(pickle.dumps(TableDecoder(shape(), spec()))).schema == decoder.schema


def test_each_schema_and_connector_decodes_its_own_values_in_the_order_of_the_events() -> None:
    cents = ((7, Encoding("decimal_base64", 2)), (8, Encoding("decimal_base64", 4)), (None, Encoding("decimal_text")))
    at = Encoding("moment")  # milliseconds of MySQL, microseconds of others
    columns = (
        column("id", INT, WHOLE),
        ColumnShape("d", T.DecimalType(16, 4), cents),
        column("at", AT, at),
    )
    table = TableShape(("id",), columns)
    value = base64.b64encode((12345).to_bytes(2, "big")).decode()
    carried = [(7, "mysql"), (8, "postgresql"), (None, "mariadb"), (99, "postgresql"), (7, "mysql")]
    events = [
        insert({"id": i, "d": value if number in (7, 8) else "1.5", "at": 1_000_000}, schema_hash=number, connector=c)
        for i, (number, c) in enumerate(carried)
    ]
    rows = decoded(events, table)
    assert [row["line"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["schema_hash"] for row in rows] == [7, 8, None, 99, 7]
    hundred, one, half = Decimal("123.4500"), Decimal("1.2345"), Decimal("1.5000")
    assert [row["row"]["d"] for row in rows] == [hundred, one, half, half, hundred]
    assert [row["row"]["at"].minute for row in rows] == [16, 0, 16, 0, 16]


def test_names_with_dots_quotes_and_blanks_are_ordinary_names() -> None:
    odd = ["a.b", 'a "x"', "two words", "`tick`", "한글", "_refused", "_READ"]
    row = {"id": 1} | {name: number for number, name in enumerate(odd)}
    (found,) = decoded([event("update", row, row)], shape(dict.fromkeys(["id", *odd], (INT, WHOLE))))
    assert found["row"] == found["before"] == row
    assert found["reason"] is None


# --- images and presence --------------------------------------------------------------------------------------------

IMAGES: list[tuple[dict[str, Any], Any, Any, Any]] = [  # event, row, present, before
    (event("insert", after=FULL), FULL, None, None),
    (event("read", after=FULL), FULL, None, None),
    (event("update", FULL, {**FULL, "a": None}), {**FULL, "a": None}, None, FULL),
    (event("update", KEY_ONLY, FULL), FULL, None, None),
    (event("update", {**FULL, "b": PLACEHOLDER}, FULL), FULL, None, None),
    (event("update", {**FULL, "a": "many"}, FULL), FULL, None, None),
    (event("update", {"b": "x"}, FULL), FULL, None, {"id": None, "a": None, "b": "x"}),
    (event("update", "[]", FULL), FULL, None, None),
    (event("update", None, {"id": 1, "a": 2}), {**FULL, "b": None}, ["id", "a"], None),
    (event("update", None, {"a": 2}, key={"id": 1}), {**FULL, "b": None}, ["id", "a"], None),
    (event("update", None, {**FULL, "b": PLACEHOLDER}), {**FULL, "b": None}, ["id", "a"], None),
    (event("delete", FULL), FULL, None, FULL),
    (event("delete", KEY_ONLY), KEY_ONLY, ["id"], None),
    (event("delete", key={"id": 1}), KEY_ONLY, ["id"], None),
    (event("delete", {**FULL, "b": PLACEHOLDER}), {**FULL, "b": None}, ["id", "a"], None),
    (event("truncate"), None, None, None),
]


def test_rows_images_and_presence_follow_the_op() -> None:
    rows = decoded([case[0] for case in IMAGES], shape())
    for found, (_, row, present, before) in zip(rows, IMAGES, strict=True):
        assert (found["row"], found["present"], found["before"], found["reason"]) == (row, present, before, None)
        assert found["key"] == (None if row is None else {"id": 1})


@pytest.mark.parametrize(
    ("form", "is_whole"), [("canal-json", True), ("maxwell-json", False), ("goldengate-json", False)]
)
def test_an_image_that_lacks_a_column_is_incomplete_if_the_format_omits_columns(form: str, is_whole: bool) -> None:
    partial = {"id": 1, "a": 2}
    update, delete, whole = decoded(
        [
            event(names.OP_UPDATE, partial, partial | {"a": 3}),
            event(names.OP_DELETE, partial),
            event(names.OP_DELETE, FULL),
        ],
        shape(),
        form,
    )
    assert [update["before"] is not None, delete["before"] is not None] == [is_whole, is_whole]
    assert (update["present"], delete["present"]) == (["id", "a"], ["id", "a"])
    assert whole["before"] == FULL


def test_a_null_counts_as_absent_in_a_column_of_silent_nulls() -> None:
    table = shape(silent_nulls=frozenset({"b"}), has_before_images=False)
    events = [event("update", None, {**FULL, "a": None, "b": None}), event("delete", {**FULL, "b": None})]
    rows = decoded([*events, insert(FULL)], table)
    assert [(row["present"], row["before"]) for row in rows] == [(["id", "a"], None), (["id", "a"], None), (None, None)]


def test_an_absent_column_is_null_if_messages_omit_nulls() -> None:
    rows = [insert({"id": 1, "a": 2}), event(names.OP_UPDATE, after={"id": 1}), event(names.OP_DELETE, {"id": 1})]
    found = decoded([row | {"is_whole": True} for row in rows], shape())
    assert [(row["row"], row["present"]) for row in found] == [
        ({"id": 1, "a": 2, "b": None}, None), (KEY_ONLY, None), (KEY_ONLY, ["id"]),
    ]  # fmt: skip
    (unkeyed,) = decoded([insert({"a": 2})], shape())
    assert unkeyed["reason"] == 'key column "id" is missing'


def test_placeholders_of_every_form_are_not_present() -> None:
    arrays = (T.ArrayType(TEXT), Encoding("array", items=TEXTS)), (T.ArrayType(INT), Encoding("array", items=WHOLE))
    columns = {"id": ABC["id"], "t": ABC["b"], "b": (BYTES, Encoding("base64")), "l": arrays[0], "n": arrays[1]}
    encoded = base64.b64encode(PLACEHOLDER.encode()).decode()
    row = {"id": 1, "t": PLACEHOLDER, "b": encoded, "l": [PLACEHOLDER], "n": list(PLACEHOLDER.encode())}
    (found,) = decoded([event("update", after=row)], shape(columns))
    assert (found["present"], found["reason"], found["rescued"]) == (["id"], None, None)
    assert found["row"] == dict.fromkeys(columns) | {"id": 1}


def test_keyless_rows_are_their_own_key() -> None:
    row = {"a": 1, "b": "x"}
    nothing: dict[str, Any] = {"a": None, "b": None}
    events = [insert(row), event("update", row, {**row, "a": 2}), event("delete", row), event("delete", nothing)]
    first, update, delete, nulls, bare, truncate = decoded(
        [*events, event("delete"), event("truncate")], shape({"a": (INT, WHOLE), "b": (TEXT, TEXTS)}, keys=())
    )
    assert first["key"] == first["row"] == row
    assert (update["key"], update["before"]) == ({**row, "a": 2}, row)
    assert delete["key"] == delete["row"] == delete["before"] == row
    assert (nulls["before"], nulls["present"], nulls["key"]) == (nothing, None, nothing)
    assert (bare["before"], bare["present"], bare["key"]) == (None, [], nothing)
    assert (truncate["key"], truncate["row"], truncate["reason"]) == (None, None, None)


def test_old_and_new_keys_are_decoded_as_keys() -> None:
    events = [
        event("delete", FULL, new_key={"id": 9}),
        insert({**FULL, "id": 9}, old_key={"id": 1}),
        insert(FULL, old_key={"id": "x"}),
    ]
    rows = decoded(events, shape())
    assert [(row["key"]["id"], row["old_key"], row["new_key"]) for row in rows] == [
        (1, None, {"id": 9}),
        (9, {"id": 1}, None),
        (1, {"id": None}, None),
    ]


# --- values that cannot be stored -----------------------------------------------------------------------------------

INVALID = 'column "a": the value does not fit int'
REASONS: list[tuple[dict[str, Any], str | None]] = [
    (insert({**FULL, "a": "secret"}), INVALID),
    (insert({**FULL, "a": 3_000_000_000}), f"{INVALID} (it needs bigint)"),
    (insert({**FULL, "a": 1.5}), f"{INVALID} (it needs 1 digit after the point)"),
    (insert({**FULL, "id": None}, key={"id": None}), 'key column "id" is null'),
    (insert({"a": 1}, key={"id": None}), 'key column "id" is null'),
    (insert({"a": 1}, key={"other": 1}), 'key column "id" is missing'),
    (insert({"a": 1}, key=5), 'key column "id" is missing'),
    (event("delete", key={"id": None}), 'key column "id" is null'),
    (event("delete", key={"id": "x"}), 'key column "id": the value does not fit int'),
    (event("delete"), 'key column "id" is missing'),
    (insert({**FULL, "id": "x", "a": []}), f'column "id": the value does not fit int; {INVALID}'),
    (insert({"a": []}), f'key column "id" is missing; {INVALID}'),
    (insert('["id"]', key={"id": 1}), BROKEN),
    (insert('{"id":1,"a":2,"b":"\\ud800"}'), BROKEN),
    (insert({**FULL, "a": "7", "b": 7}), None),
    (event("truncate", after={"a": "x"}), None),
]


def test_reasons_name_the_columns_and_never_a_value() -> None:
    rows = decoded([case for case, _ in REASONS], shape())
    assert [row["reason"] for row in rows] == [reason for _, reason in REASONS]
    assert rows[-2]["row"] == {"id": 1, "a": 7, "b": "7"}


def test_a_null_in_a_key_is_a_value_if_the_format_has_null_keys() -> None:
    columns = {"a": (INT, WHOLE), "b": (TEXT, TEXTS), "v": (INT, WHOLE)}
    events = [
        insert({"a": None, "b": "x", "v": 1}),
        event("delete", {"a": None, "b": None, "v": 1}),
        insert({"v": 1}, key={"a": None, "b": None}),
        insert({"a": 1, "v": 1}),
        insert({"a": "no", "b": None, "v": 1}),
    ]
    rows = decoded(events, shape(columns, keys=("a", "b")), form="spanner-json")
    assert [(row["reason"], row["key"]) for row in rows] == [
        (None, {"a": None, "b": "x"}),
        (None, {"a": None, "b": None}),
        (None, {"a": None, "b": None}),
        ('key column "b" is missing', {"a": 1, "b": None}),
        ('column "a": the value does not fit int', {"a": None, "b": None}),
    ]


def test_reasons_name_the_setting_that_would_read_the_value() -> None:
    at = (T.TimestampType(), Encoding("zoned_text"))
    columns = (
        column("id", *at),
        column("n", T.DecimalType(7, 2), Encoding("decimal_base64", 2)),
        column("g", INT, WHOLE, is_guessed=True),
    )
    key = "2024-01-01T00:00:00.000001Z"
    events = [
        insert({"id": "2024-01-01T00:00:00.000001001Z"}),
        insert({"id": key, "n": "12.34"}),
        insert({"id": key, "n": 1.005}),
        insert({"id": key, "g": "x"}),
    ]
    invalid = [
        'column "id": the value does not fit timestamp',
        *['column "n": the value does not fit decimal(7,2)'] * 2,
    ]
    hints = [
        " (a key must keep all digits: declare it as string under columns in the spec)",
        " (its digits are text: set source.decimals: string in the spec)",
        " (it needs 3 digits after the point; decimal(7,2) holds 2)",
    ]
    guessed = " (the type is inferred from the first values: declare another type under columns in the spec)"
    found = [row["reason"] for row in decoded(events, TableShape(("id",), columns))]
    expected = [reason + hint for reason, hint in zip(invalid, hints, strict=True)]
    assert found == [*expected, f'column "g": the value does not fit int{guessed}']


def test_a_key_is_rejected_if_two_keys_would_become_one() -> None:
    columns = {"at": (T.TimestampType(), Encoding("zoned_text")), "count": (AT, Encoding("nanos"))}
    fine: dict[str, Any] = {"at": "2024-01-01T00:00:00.000001Z", "count": 1_700_000_000_000_001_000}
    finer: list[dict[str, Any]] = [{"at": "2024-01-01T00:00:00.000001001Z"}, {"count": 1_700_000_000_000_001_001}]
    events = [insert(fine | odd) for odd in ({}, *finer)]
    good, *bad = decoded(events, shape(columns, keys=tuple(columns)))
    assert good["reason"] is None
    assert [f'"{name}": the value does not fit' in row["reason"] for row, name in zip(bad, columns, strict=True)] == [
        True,
        True,
    ]
    kept = decoded(events, shape(columns, keys=("at",)))
    assert [row["reason"] is None for row in kept] == [True, False, True]  # other columns may lose digits


def test_an_unavailable_key_is_not_taken_from_another_place() -> None:
    columns = {"code": (TEXT, TEXTS), "n": (INT, WHOLE)}
    left_out = insert({"code": PLACEHOLDER, "n": 1}, key={"code": "A"})
    absent = insert({"n": 1}, key={"code": "A"})
    rows = decoded([left_out, absent], shape(columns, keys=("code",)))
    assert [(row["reason"], row["key"]["code"], row["present"]) for row in rows] == [
        ('key column "code": the value does not fit string', None, ["n"]),
        (None, "A", None),
    ]


def test_unrepresentable_values_are_null_and_rescued() -> None:
    columns = {
        "id": (INT, WHOLE),
        "at": (AT, Encoding("micros")),
        "tz": (T.TimestampType(), Encoding("zoned_text")),
        "day": (DAY, Encoding("days")),
        "n": (T.DecimalType(38, 2), Encoding("decimal_base64", 2)),
    }
    huge = base64.b64encode((10**40).to_bytes(18, "big", signed=True)).decode()
    good: dict[str, Any] = {"id": 1, "at": 0, "tz": "2020-01-01T00:00:00Z", "day": 0, "n": "AQ=="}
    odd: list[dict[str, Any]] = [
        {"at": 9223372036825200000},
        {"tz": "infinity"},
        {"tz": "-0044-03-15T00:00:00Z"},
        {"day": 106751991167},
        {"day": 2932897, "at": 2**63 - 1},
        {"n": huge},
    ]
    rows = decoded([event("update", good | change, good | change) for change in odd], shape(columns))
    for found, change in zip(rows, odd, strict=True):
        assert (found["reason"], found["present"]) == (None, None)
        assert json.loads(found["rescued"]) == {name: str(value) for name, value in change.items()}
        assert {name for name in good if found["row"][name] is None} == change.keys()
        assert (found["before"] is None) == ("n" in change)  # only a time outside of the calendar keeps it complete
    deletes = decoded([event("delete", good | odd[0])], shape(columns))
    assert [(row["before"] is None, row["present"]) for row in deletes] == [(False, None)]


# --- fields that are no columns -------------------------------------------------------------------------------------


def test_fields_that_are_no_columns_are_rescued() -> None:
    extra = {**FULL, "new": {"x": [1]}, "none": None, "n": 1, "t": True}
    events = [insert(extra), event("delete", extra), insert(FULL), insert(FULL | {"new": "y"})]
    first, delete, usual, last = decoded(events, shape())
    assert json.loads(first["rescued"]) == {"new": '{"x":[1]}', "none": None, "n": "1", "t": "true"}
    assert (first["rescued"], first["present"]) == (delete["rescued"], None)
    assert (usual["rescued"], last["rescued"]) == (None, '{"new":"y"}')
    assert [row["rescued"] for row in decoded(events, shape(is_closed=True))] == [None] * 4


def test_rescued_numbers_keep_their_digits() -> None:
    (row,) = decoded([insert('{"id":1,"a":2,"b":"x","n":1.10,"m":12345678901234567.892}')], shape())
    assert row["rescued"] == '{"n":"1.10","m":"12345678901234567.892"}'


def test_the_fields_of_an_image_are_found_with_any_texts_and_names() -> None:
    columns = ["id", "a", "b", 'q"b']
    values = [None, "x", "", 'b":null', '"b":null', '\\"b":null', '{"b":null}', "C:\\", '"', "{", '":":"', '":']
    others = ["z", 'z"b', 'z"a', "B2", 'x"id', "{", ":", '":', "null", "\\", 'a\\"b', ""]
    chance = random.Random(20261122)
    images: list[dict[str, Any]] = []
    for _ in range(1000):
        named = list(columns[1:])
        left_out = chance.choice([None, *named])
        if left_out is not None:
            named[named.index(left_out)] = chance.choice(others)  # as many fields as there are columns
        chance.shuffle(named)
        images.append({"id": 1} | {name: chance.choice([None, None, *values]) for name in named})
    rows = decoded([insert(image) for image in images], shape(dict.fromkeys(columns, (TEXT, TEXTS))))
    for image, row in zip(images, rows, strict=True):
        there = [name for name in columns if name in image]
        assert row["present"] == (None if there == columns else there), image
        rescued = json.loads(row["rescued"] or "{}")
        assert rescued == {name: value for name, value in image.items() if name not in columns}, image
        assert row["row"] == {name: "1" if name == "id" else image.get(name) for name in columns}, image


def test_rescued_values_are_masked_and_dropped_columns_are_nowhere() -> None:
    def hashed(value: str) -> str:
        return hashlib.sha256(f"salt{value}".encode()).hexdigest()

    columns = (
        column("id", INT, WHOLE),
        column("b", TEXT, TEXTS, mask="redact"),
        column("c", T.DecimalType(5, 2), Encoding("decimal_base64", 2), mask="sha256", salt="salt"),
        column("at", AT, Encoding("micros"), mask="sha256", salt="salt"),
    )
    table = TableShape(("id",), columns, dropped=frozenset({"d"}))
    images = [
        {"id": 1, "b": "secret", "c": "ew==", "d": "secret", "at": 2**62},
        {"id": 1, "B": "secret", "C": "x", "D": "secret", "e": 5, "AT": None},
        {"id": 1, "b": "x", "c": None, "at": None, "D": "secret"},
    ]
    rows = decoded([insert(image) for image in images], table)
    rescued = [row["rescued"] and json.loads(row["rescued"]) for row in rows]
    assert rescued == [{"at": hashed(str(2**62))}, {"B": "***", "C": hashed("x"), "e": "5", "AT": None}, None]
    assert [row["present"] for row in rows] == [None, ["id"], None]
    assert rows[0]["row"] == {"id": 1, "b": "secret", "c": Decimal("1.23"), "at": None}  # a later step masks columns


# --- halves of key changes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["canal-json", "debezium-json"])
def test_a_half_is_rejected_if_the_other_half_is_invalid(form: str) -> None:
    whole = {**FULL, "id": 9}
    cases: list[tuple[dict[str, Any], str | None]] = [
        (event("delete", FULL, new_key=whole), None),
        (event("delete", FULL, new_key=whole | {"a": "x"}), INVALID),
        (insert(FULL, old_key={"a": 1}), 'key column "id" is null'),
        (insert(FULL, old_key=whole | {"id": "x", "b": PLACEHOLDER}), 'column "id": the value does not fit int'),
    ]
    rows = decoded([case for case, _ in cases], shape(), form)
    reasons = [problem and f"{problem} (in the other half of the key change)" for _, problem in cases]
    assert [row["reason"] for row in rows] == (reasons if form == "canal-json" else [None] * 4)


def test_the_other_half_of_a_key_change_may_spell_a_column_in_another_way() -> None:
    table = TableShape(("id",), (column("id", INT, WHOLE, spellings=frozenset({"ID"})), column("a", INT, WHOLE)))
    delete = event("delete", {"ID": 1, "a": 2}, new_key={"ID": 9, "a": 2})
    (row,) = decoded([delete], table, "canal-json")
    assert (row["reason"], row["key"], row["new_key"]) == (None, {"id": 1}, {"id": 9})


def test_a_mask_applies_in_any_case_of_a_field_s_letters() -> None:
    columns = (column("id", INT, WHOLE), column("straße", TEXT, TEXTS, mask="redact"))
    (row,) = decoded([insert({"id": 1, "straße": "x", "STRASSE": "y"})], TableShape(("id",), columns))
    assert json.loads(row["rescued"]) == {"STRASSE": "***"}


# --- updates that change a key which only the spec declares ---------------------------------------------------------

CODES: Columns = {"code": (TEXT, TEXTS), "n": (INT, WHOLE), "text": (TEXT, TEXTS)}
A = {"code": "A", "n": 1, "text": "x"}
C = A | {"code": "C"}


def moved(before: Any, after: Any, key: Any = None, **more: Any) -> dict[str, Any]:
    return event(names.OP_UPDATE, before, after, key=key, **more)


def split(
    events: Sequence[Mapping[str, Any]], columns: Columns = CODES, keys: Sequence[str] = ("code",)
) -> list[dict[str, Any]]:
    return decoded(events, shape(columns, keys), splits_keys=True)


def test_an_update_of_a_key_that_only_the_spec_declares_becomes_two_changes() -> None:
    events = [moved(A, C), moved(A, C, key={"id": 7}), moved(A, C | {"extra": 1}, key=5), insert(A)]
    *halves, last = split(events)
    assert [row["line"] for row in halves] == [1, 1, 2, 2, 3, 3]
    for delete, inserted in zip(halves[::2], halves[1::2], strict=True):
        assert [row["op"] for row in (delete, inserted)] == [names.OP_DELETE, names.OP_INSERT]
        assert (delete["key"], delete["old_key"], delete["new_key"]) == ({"code": "A"}, None, {"code": "C"})
        assert (inserted["key"], inserted["old_key"], inserted["new_key"]) == ({"code": "C"}, {"code": "A"}, None)
        assert (delete["row"], delete["before"], delete["present"], delete["rescued"]) == (A, A, None, None)
        assert (inserted["row"], inserted["before"], inserted["present"]) == (C, None, None)
        assert (delete["is_half"], inserted["is_half"]) == (True, True)
    assert halves[-1]["rescued"] == '{"extra":"1"}'
    assert (last["op"], last["is_half"]) == (names.OP_INSERT, False)


def test_a_change_is_split_only_if_it_surely_changes_a_declared_key() -> None:
    cases = [
        moved(A, A | {"n": 2}),
        moved(A, C, key={"code": "C"}),  # Debezium splits those itself
        moved(A, C, key={"x": 1, "code": "C"}),
        moved(None, C),
        moved({"text": "x"}, C),
        moved(A | {"code": None}, C),
        moved(A | {"code": PLACEHOLDER}, C),
        insert(C),
        event("read", after=C),
        event("delete", A),
        event("truncate"),
        insert(C, old_key={"code": "A"}),
    ]
    assert split(cases) == decoded(cases, shape(CODES, ("code",)))


def test_a_before_image_with_only_the_key_is_enough() -> None:
    columns = dict(CODES) | {"n": (T.DecimalType(4, 1), Encoding("decimal_text"))}
    before = {"code": "A", "n": "1.0", "text": None}
    events = [
        moved(before, {"code": "A", "n": "2", "text": PLACEHOLDER}),
        moved(before, {"code": "A", "n": "1", "text": "y"}),  # the same key in another spelling
    ]
    delete, inserted, same = split(events, columns, ("n", "code"))
    assert (delete["row"]["text"], delete["present"], delete["before"]) == (None, ["n", "code"], None)
    assert (delete["row"]["code"], delete["row"]["n"]) == ("A", Decimal("1.0"))
    assert (inserted["row"]["text"], inserted["present"], inserted["old_key"]) == (None, ["code", "n"], delete["key"])
    assert (same["op"], same["old_key"], same["row"]["text"]) == (names.OP_UPDATE, None, "y")


def test_a_rejected_update_is_rejected_once() -> None:
    events = [moved(A, C | {"n": "many"}), moved(A, A | {"code": None}), moved(A, A | {"code": PLACEHOLDER})]
    rows = split(events)
    assert [row["op"] for row in rows] == [names.OP_UPDATE] * 3
    assert all(row["reason"] for row in rows)


def test_split_updates_keep_the_order_of_events_of_several_schemas() -> None:
    table = TableShape(
        ("code",), (ColumnShape("code", TEXT, ((1, TEXTS), (None, Encoding("any_text")))), column("n", INT, WHOLE))
    )
    events = [
        event("update", {"code": "A", "n": i}, {"code": "B" if i % 3 else "A", "n": i}, schema_hash=i % 2)
        for i in range(6)
    ]
    rows = decoded(events, table, splits_keys=True)
    assert [(row["line"], row["op"][0]) for row in rows] == [
        (1, "u"), (2, "d"), (2, "i"), (3, "d"), (3, "i"), (4, "u"), (5, "d"), (5, "i"), (6, "d"), (6, "i"),
    ]  # fmt: skip
