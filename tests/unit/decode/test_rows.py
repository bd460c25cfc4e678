"""Rows of one table: values, presence, before images, rescues, masks and reasons."""

import base64
import hashlib
import json
import random
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.decode import decode_rows, discover
from engine.schema.change import change_fields
from engine.spec.model import ColumnSpec
from tests.unit.decode.given import changes_of, decoded, event, field, parsed, spec, with_schema

PLACEHOLDER = "__debezium_unavailable_value"
PLACEHOLDER_BYTES = base64.b64encode(PLACEHOLDER.encode()).decode()
FULL = {"id": 1, "a": 2, "b": "x"}
ABC = {"id": "int", "a": "int", "b": "string"}


def test_the_columns_are_those_of_a_change_then_reason(spark: SparkSession) -> None:
    table_spec = spec(ABC)
    changes = changes_of(parsed(spark, [event("c", after=FULL)], table_spec.source))
    shape = discover(changes, table_spec)
    found = decode_rows(changes, shape, table_spec).schema
    expected = [(f.name, f.dataType) for f in change_fields(shape.key_type, shape.row_type)]
    assert [(f.name, f.dataType) for f in found][:-1] == expected
    assert found.fieldNames()[-1] == "reason"


def test_rows_images_and_presence_follow_the_op(spark: SparkSession) -> None:
    keys_only = {"id": 1, "a": None, "b": None}
    cases: list[tuple[str, Any, Any, Any]] = [  # event, row, present, before
        (event("c", after=FULL), FULL, None, None),
        (event("r", after=FULL), FULL, None, None),
        (event("u", before=FULL, after={**FULL, "a": None}), {**FULL, "a": None}, None, FULL),
        (event("u", before=keys_only, after=FULL), FULL, None, None),
        (event("u", before={**FULL, "b": PLACEHOLDER}, after=FULL), FULL, None, None),
        (event("u", after={"id": 1, "a": 2}), {**FULL, "b": None}, ["id", "a"], None),
        (event("u", after={**FULL, "b": PLACEHOLDER}), {**FULL, "b": None}, ["id", "a"], None),
        (event("d", before=FULL), FULL, None, FULL),
        (event("d", before=keys_only), keys_only, ["id"], None),
        (event("d", key={"id": 1}), keys_only, ["id"], None),
        (event("d", before={**FULL, "b": PLACEHOLDER}), {**FULL, "b": None}, ["id", "a"], None),
        (event("t"), None, None, None),
    ]
    rows = decoded(spark, [case[0] for case in cases], spec(ABC))
    for found, (_, row, present, before) in zip(rows, cases, strict=True):
        assert found.reason is None
        assert (found.row and found.row.asDict(), found.present) == (row, present)
        assert (found.before and found.before.asDict()) == before
        assert found.key == (None if row is None else (1,))


def test_placeholders_of_every_form_are_not_present(spark: SparkSession) -> None:
    columns = {
        "id": "int",
        "t": "string",
        "b": "binary",
        "l": "array<string>",
        "n": "array<int>",
        "m": "string",
        "j": "json",
    }
    row = {
        "id": 1, "t": PLACEHOLDER, "b": PLACEHOLDER_BYTES, "l": [PLACEHOLDER], "n": list(PLACEHOLDER.encode()),
        "m": {PLACEHOLDER: PLACEHOLDER}, "j": PLACEHOLDER,
    }  # fmt: skip
    (found,) = decoded(spark, [event("u", after=row)], spec(columns))
    assert (found.present, found.reason, found.rescued) == (["id"], None, None)
    assert found.row.asDict() == dict.fromkeys(columns) | {"id": 1}


def test_key_changes_link_both_keys(spark: SparkSession) -> None:
    texts = [
        event("d", before=FULL, headers={"__debezium.newkey": {"id": 9}}),
        event("c", after={**FULL, "id": 9}, headers=[{"key": "__debezium.oldkey", "value": {"id": 1}}]),
    ]
    delete, insert = decoded(spark, texts, spec(ABC))
    assert (delete.key, delete.old_key, delete.new_key) == ((1,), None, (9,))
    assert (insert.key, insert.old_key, insert.new_key) == ((9,), (1,), None)


def test_reasons_name_the_columns_and_never_a_value(spark: SparkSession) -> None:
    cases = {
        event("c", after={**FULL, "a": "secret"}): 'column "a": the value does not fit int',
        event("c", after={**FULL, "a": 3_000_000_000}): 'column "a": the value does not fit int',
        event("c", after={**FULL, "a": 1.5}): 'column "a": the value does not fit int',
        event("c", after={**FULL, "id": None}, key={"id": None}): 'key column "id" is null',
        event("c", after={"a": 1}, key={"other": 1}): 'key column "id" is missing',
        event("c", after={"a": 1}, key=5): 'key column "id" is missing',
        event("d", key={"id": None}): 'key column "id" is null',
        event(
            "c", after={**FULL, "id": "x", "a": []}
        ): 'column "id": the value does not fit int; column "a": the value does not fit int',
        event("c", after={**FULL, "a": "7", "b": 7}): None,
    }
    rows = decoded(spark, list(cases), spec(ABC))
    assert [row.reason for row in rows] == list(cases.values())
    assert rows[-1].row.asDict() == {"id": 1, "a": 7, "b": "7"}


def test_a_number_is_no_base64_though_its_digits_could_be(spark: SparkSession) -> None:
    columns = {"id": "int", "n": "decimal(12,2)", "wide": "decimal(38,0)", "blob": "binary"}
    base64_of = {"n": "BNI=", "blob": "1234"}  # 12.34
    cases: list[tuple[dict[str, Any], Any]] = [
        (base64_of, (Decimal("12.34"), None, b"\xd7m\xf8")),
        ({"n": 1234}, (Decimal("1234.00"), None, None)),
        ({"n": -1234.5, "blob": "1234"}, (Decimal("-1234.50"), None, b"\xd7m\xf8")),
        ({"n": "1234"}, (Decimal("-26588.24"), None, None)),  # base64, as this mode has it
        ({"wide": 2**63}, (None, Decimal(2**63), None)),
        ({"wide": 2**127}, "wide"),
        ({"n": 1.005}, "n"),
        ({"n": True}, "n"),
        ({"n": {"scale": 2}}, "n"),
        ({"blob": 1234}, "blob"),
        ({"blob": True}, "blob"),
    ]
    rows = decoded(spark, [event("c", after={"id": 1, **told}) for told, _ in cases], spec(columns))
    for row, (told, wanted) in zip(rows, cases, strict=True):
        if isinstance(wanted, str):
            assert (row.reason or "").startswith(f'column "{wanted}": the value does not fit'), (told, row)
        else:
            assert (row.reason, row.row.n, row.row.wide, row.row.blob) == (None, *wanted), told


def test_a_number_without_a_sign_is_whole(spark: SparkSession) -> None:
    told = [2.5, "5.50", 12.0, "7", 2**64 - 1, -1, 1e3, 1767225600123.5]
    rows = decoded(
        spark, [event("c", after={"id": 1, "n": n}) for n in told], spec({"id": "int", "n": "bigint unsigned"})
    )
    assert [row.reason or int(row.row.n) for row in rows] == [
        *['column "n": the value does not fit decimal(20,0)'] * 2, 12, 7, 2**64 - 1, 2**64 - 1, 1000,
        'column "n": the value does not fit decimal(20,0)',
    ]  # fmt: skip


def test_what_no_type_holds_is_null_and_rescued(spark: SparkSession) -> None:
    columns = {"id": "int", "at": "timestamp_ntz(6)", "tz": "timestamp", "day": "date", "n": "decimal(38,2)"}
    huge = base64.b64encode((10**40).to_bytes(18, "big", signed=True)).decode()
    good = {"id": 1, "at": 0, "tz": "2020-01-01T00:00:00Z", "day": 0, "n": "AQ=="}
    odd = [
        {"at": 9223372036825200000},
        {"at": -9223372036832400000},
        {"tz": "infinity"},
        {"tz": "-0044-03-15T00:00:00Z"},
        {"tz": "+12345-01-01T00:00:00Z"},
        {"day": 2147483647},
        {"day": 106751991167},
        {"day": 2932897, "at": 2**63 - 1},
        {"n": huge},
    ]
    rows = decoded(spark, [event("c", after={**good, **change}) for change in odd], spec(columns))
    for found, change in zip(rows, odd, strict=True):
        assert (found.reason, found.present) == (None, None)
        assert json.loads(found.rescued) == {name: str(value) for name, value in change.items()}
        assert all(found.row[name] is None for name in change)
        assert all(found.row[name] is not None for name in good if name not in change)
    counted = {"type": "int64", "optional": True, "name": "io.debezium.time.NanoTimestamp", "field": "at"}
    image = {"type": "struct", "optional": True, "field": "after"}
    image["fields"] = [{"type": "int64", "field": "id"}, counted]
    schema = {"type": "struct", "fields": [image]}
    rows = decoded(
        spark,
        [
            json.dumps({"schema": schema, "payload": json.loads(event("c", after={"id": 1, "at": at}))["value"]})
            for at in (9223372036825200000, -9223372036832400000, 9223372036825200001)
        ],
        spec(None),
    )
    assert [row.row.at is None for row in rows] == [row.rescued is not None for row in rows] == [True, True, False]
    (key,) = decoded(spark, [event("c", after={"id": 2932897})], spec({"id": "date"}))
    assert key.reason == 'key column "id": the value does not fit date'


def test_what_no_source_holds_is_rejected_and_not_made_null(spark: SparkSession) -> None:
    columns = {
        "id": "int",
        "at": "timestamp_ntz(6)",
        "tz": "timestamp",
        "day": "date",
        "n": "decimal(7,2)",
        "u": "bigint unsigned",
        "f": "float",
        "d": "double",
    }
    odd = [
        {"day": "2026-13-01"},
        {"day": "2026-01-32"},
        {"day": "2026-01-31 garbage"},
        {"day": True},
        {"day": "yes"},
        {"tz": "2026-01-01T25:00:00Z"},
        {"tz": "2026-99-01T00:00:00Z"},
        {"at": "2026-01-01T00:61:00"},
        {"at": True},
        {"n": "1.005"},
        {"n": "123456.78"},
        {"n": ".005"},
        {"n": " -123456.7 "},
        {"u": 2**64},
        {"id": "y"},
        {"id": 10.5},
        {"f": 1e300},
        {"f": "-3.5e38"},
        {"d": "1e999"},
    ]
    texts = [event("c", after={"id": 1} | change) for change in odd]
    rows = decoded(spark, texts, spec(columns, decimals="string"))
    assert [
        row.reason is not None and f'"{next(iter(change))}"' in row.reason
        for row, change in zip(rows, odd, strict=True)
    ] == [True] * len(odd)
    written = [{"day": "2024-02-29"}, {"day": 19782}, {"day": "2024-02-29T00:00:00Z"}]
    days = decoded(spark, [event("c", after={"id": 1} | change) for change in written], spec(columns))
    assert [row.row.day for row in days] == [date(2024, 2, 29)] * 3
    endless = {"id": 1, "f": "-Infinity", "d": "Infinity"}
    (most,) = decoded(spark, [event("c", after=endless)], spec({"id": "int", "f": "float", "d": "double"}))
    assert (most.reason, most.row.f, most.row.d) == (None, float("-inf"), float("inf"))
    (whole,) = decoded(spark, [event("c", after={"id": 10.0, "u": "-7.00"})], spec({"id": "int", "u": "bigint"}))
    assert (whole.reason, whole.row.id, whole.row.u) == (None, 10, -7)


def test_a_key_is_rejected_where_two_keys_would_become_one(spark: SparkSession) -> None:
    kinds = {"at": "timestamp", "count": "timestamp_ntz(9)"}
    fine = {"at": "2024-01-01T00:00:00.000001Z", "count": 1_700_000_000_000_001_000}
    finer = [{"at": "2024-01-01T00:00:00.000001001Z"}, {"count": fine["count"] + 1}]
    events = [event("c", after=fine | odd) for odd in ({}, *finer)]
    good, *bad = decoded(spark, events, spec(kinds, keys=tuple(kinds)))
    assert good.reason is None
    assert [f'"{name}": the value does not fit' in row.reason for row, name in zip(bad, kinds, strict=True)] == [
        True
    ] * 2
    assert "declare it as string" in bad[0].reason
    kept = decoded(spark, events, spec(kinds, keys=("at",)))
    assert [row.reason is None for row in kept] == [True, False, True]  # what is no key loses them
    (text,) = decoded(spark, events[1:2], spec(kinds | {"at": "string"}, keys=("at",)))
    assert (text.reason, text.row["at"]) == (None, finer[0]["at"])


def test_fields_that_are_no_columns_are_rescued(spark: SparkSession) -> None:
    extra = {**FULL, "new": {"x": [1]}, "none": None}
    insert, delete, plain = decoded(
        spark, [event("c", after=extra), event("d", before=extra), event("c", after=FULL)], spec(ABC)
    )
    assert json.loads(insert.rescued) == {"new": '{"x":[1]}', "none": None}
    assert (insert.rescued, insert.present) == (delete.rescued, None)
    assert plain.rescued is None
    fields = [field("id", "int32"), field("a", "int32"), field("b", "string"), field("new", "string")]
    line = with_schema(event("c", after={**FULL, "new": "y"}), fields)
    (ignored,) = decoded(spark, [line], spec(ABC, evolution="ignore"))
    assert json.loads(ignored.rescued) == {"new": "y"}
    (added,) = decoded(spark, [line], spec(ABC))
    assert (added.rescued, added.row["new"]) == (None, "y")
    taken = {"_file": "x", "_POS": "y", "_siltstone_refused": "z"}
    (kept,) = decoded(
        spark,
        [
            with_schema(
                event("c", after={"id": 1} | taken), [field("id", "int32"), *[field(name, "string") for name in taken]]
            )
        ],
        spec({}),
    )
    assert (list(kept.row.asDict()), json.loads(kept.rescued)) == (["id"], taken)


def test_which_fields_an_image_has_is_known_whatever_its_texts_and_names_look_like(spark: SparkSession) -> None:
    columns = ["id", "a", "b", 'q"b']
    values = [
        None, "x", "", 'b":null', '"b":null', '\\"b":null', '{"b":null}', 'said "later":', "C:\\", '"', "{",
        '":":"', '":',
    ]  # fmt: skip
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
    found = decoded(spark, [event("c", after=image) for image in images], spec(dict.fromkeys(columns, "string")))
    for image, row in zip(images, found, strict=True):
        there = [name for name in columns if name in image]
        assert row.present == (None if there == columns else there), image
        rescued = json.loads(row.rescued or "{}")
        assert rescued == {name: value for name, value in image.items() if name not in columns}, image
        assert row.row.asDict() == {name: "1" if name == "id" else image.get(name) for name in columns}, image


def test_masks_come_before_anything_is_stored(spark: SparkSession) -> None:
    def hashed(text: str) -> str:
        return hashlib.sha256(f"salt{text}".encode()).hexdigest()

    columns = {
        "id": ColumnSpec("int", "sha256", salt="salt"),
        "a": ColumnSpec("int", "redact"),
        "b": ColumnSpec("string", "redact"),
        "c": ColumnSpec("decimal(5,2)", "sha256", salt="salt"),
        "d": ColumnSpec("string", "drop"),
        "at": ColumnSpec("timestamp_ntz(6)", "sha256", salt="salt"),
    }
    row = {"id": 1, "a": 2, "b": "secret", "c": "ew==", "d": "secret", "at": 2**62}
    texts = [
        event("u", before=row, after=row),
        event("d", before=row, headers={"__debezium.newkey": {"id": 2}}),
        event("c", after=dict.fromkeys(row) | {"id": 1}),
    ]
    update, delete, nulls = decoded(spark, texts, spec(columns))
    stored = {"id": hashed("1"), "a": None, "b": "***", "c": hashed("1.23"), "at": None}
    assert (update.row.asDict(), update.before.asDict(), update.key) == (stored, stored, (hashed("1"),))
    assert (delete.row.asDict(), delete.new_key) == (stored, (hashed("2"),))
    assert json.loads(update.rescued) == {"at": hashed(str(2**62))}
    assert nulls.row.asDict() == dict.fromkeys(stored) | {"id": hashed("1")}
    assert "secret" not in str([row.asDict() | {"text": ""} for row in (update, delete, nulls)])
    other = {"id": 1, "A": 2, "B": "secret", "C": "x", "D": "secret", "e": 5}
    found = decoded(spark, [event("c", after=other), event("c", after={"id": 1, "D": "secret"})], spec(columns))
    rescued = [row.rescued and json.loads(row.rescued) for row in found]
    assert rescued == [{"A": "***", "B": "***", "C": hashed("x"), "e": "5"}, None]


def test_each_schema_of_a_batch_decodes_its_own_values(spark: SparkSession) -> None:
    decimal = "org.apache.kafka.connect.data.Decimal"
    first = [
        field("id", "int32"),
        field("d", "bytes", decimal, scale="2", **{"connect.decimal.precision": "12"}),
        field("t", "int64", "io.debezium.time.Timestamp"),
        field("f", "float"),
    ]
    second = [
        field("id", "int64"),
        field("d", "bytes", decimal, scale="4", **{"connect.decimal.precision": "16"}),
        field("t", "int64", "io.debezium.time.MicroTimestamp"),
        field("f", "double"),
    ]
    row = {"f": 0.1, "id": 1, "d": base64.b64encode((12345).to_bytes(2, "big")).decode(), "t": 1_000_000}
    one, other = decoded(
        spark, [with_schema(event("c", after=row), fields) for fields in (first, second)], spec(keys=None)
    )
    single = 0.10000000149011612  # what Iceberg makes of a float that is there when its column becomes a double
    assert one.row.asDict() == {"id": 1, "d": Decimal("123.4500"), "t": datetime(1970, 1, 1, 0, 16, 40), "f": single}
    assert other.row.asDict() == {"id": 1, "d": Decimal("1.2345"), "t": datetime(1970, 1, 1, 0, 0, 1), "f": 0.1}
    narrow = [field("id", "int32"), field("f", "float")]
    wide = [[field("id", "int32"), field("f", "double")], [*narrow, field("z", "string")]]
    texts = [with_schema(event("c", after={"id": 1, "f": 0.1}), fields) for fields in (narrow, *wide)]
    alone, among, *_ = (decoded(spark, given, spec(keys=None))[0] for given in (texts[:1], texts))
    assert (alone.row.f, among.row.f) == (pytest.approx(0.1), single)
    assert alone.content_hash == among.content_hash  # it is delivered again when the column is a double


def test_zoneless_times_are_read_in_the_source_zone_where_instants_are_stored(spark: SparkSession) -> None:
    columns = {"id": "int", "local": "timestamp_ntz(3)", "at": "timestamp(3)", "text": "timestamp"}
    row = {"id": 1, "local": 1_720_000_000_000, "at": 1_720_000_000_000, "text": "2024-07-03T09:46:40Z"}
    (found,) = decoded(spark, [event("c", after=row)], spec(columns, time_zone="Asia/Seoul"))
    assert found.row.local == datetime(2024, 7, 3, 9, 46, 40)
    assert found.row["at"] == datetime(2024, 7, 3, 0, 46, 40)
    assert found.row.text == datetime(2024, 7, 3, 9, 46, 40)
    first_second = {"local": -62_135_596_800_000, "at": -62_135_596_800_000, "text": "0001-01-01T00:00:00"}
    (found,) = decoded(spark, [event("c", after={"id": 1, **first_second})], spec(columns, time_zone="Asia/Seoul"))
    assert found.row.asDict() == {"id": 1, "local": datetime(1, 1, 1), "at": None, "text": None}
    assert json.loads(found.rescued).keys() == {"at", "text"}


def test_sources_may_send_text_for_decimals_times_and_bytes(spark: SparkSession) -> None:
    columns = {"id": "int", "d": "decimal(12,2)", "day": "date", "at": "timestamp_ntz", "b": "binary", "t": "time(3)"}
    row = {"id": 1, "d": "123.40", "day": "2020-02-29", "at": "2020-02-29T12:00:00.5Z", "b": "00ff", "t": "10:00:00"}
    table_spec = spec(columns, decimals="string", times="isostring", binaries="hex")
    (found,) = decoded(spark, [event("c", after=row)], table_spec)
    assert found.row.asDict() == {
        "id": 1, "d": Decimal("123.40"), "day": date(2020, 2, 29), "at": datetime(2020, 2, 29, 12, 0, 0, 500000),
        "b": b"\x00\xff", "t": "10:00:00",
    }  # fmt: skip


def test_keyless_rows_are_their_own_key(spark: SparkSession) -> None:
    row = {"a": 1, "b": "x"}
    texts = [event("c", after=row), event("u", before=row, after={**row, "a": 2}), event("d", before=row), event("t")]
    insert, update, delete, truncate = decoded(spark, texts, spec({"a": "int", "b": "string"}, keys=()))
    assert insert.key == insert.row == (1, "x")
    assert (update.key, update.before) == ((2, "x"), (1, "x"))
    assert delete.key == delete.row == delete.before == (1, "x")
    assert (truncate.key, truncate.row, truncate.reason) == (None, None, None)


def test_the_content_hash_tells_rows_apart_and_copies_not(spark: SparkSession) -> None:
    table_spec = spec({"id": "int", "a": "int", "b": "int"})
    rows = [
        {"id": 1, "a": None, "b": 2},
        {"id": 1, "a": 2, "b": None},
        {"id": 1, "a": None, "b": 2},
        {"b": 2, "a": None, "id": 1},
    ]
    hashes = [row.content_hash for row in decoded(spark, [event("c", after=row) for row in rows], table_spec)]
    assert hashes[0] != hashes[1]
    assert hashes[0] == hashes[2] == hashes[3]


def test_the_content_hash_stays_when_the_table_gets_columns_and_wider_ones(spark: SparkSession) -> None:
    before = {"id": "int", "a": "float", "d": "decimal(6,2)", "l": "array<int>"}
    after = {
        "id": "bigint", "_first": "string", "a": "double", "d": "decimal(20,2)", "l": "array<bigint>", "z": "string",
    }  # fmt: skip
    rows = [{"id": 1, "a": 0.1, "d": "1.20", "l": [1, None]}, {"id": 1, "a": None, "d": None, "l": None}]
    narrow, wide = (
        [
            found.content_hash
            for found in decoded(spark, [event("c", after=row) for row in rows], spec(columns, decimals="string"))
        ]
        for columns in (before, after)
    )
    assert narrow == wide
    assert narrow[0] != narrow[1]


def test_names_with_dots_quotes_and_blanks_are_ordinary_names(spark: SparkSession) -> None:
    names = ["a.b", 'say "x"', "two words", "`tick`", "한글", "_refused", "_READ"]
    row = {"id": 1} | {name: number for number, name in enumerate(names)}
    (found,) = decoded(spark, [event("u", before=row, after=row)], spec({"id": "int"} | dict.fromkeys(names, "int")))
    assert found.row.asDict() == found.before.asDict() == row
    assert found.reason is None
