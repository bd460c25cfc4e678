"""Summaries of columns: equal for any merge, with types that keep every digit."""

import json
import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import types as T

from siltstone.engine.decode.columns_seen import (
    NO_END,
    ColumnsSeen,
    Seen,
    SummaryRules,
    Wanted,
    encoded,
    merged,
    regions_of,
    summarize,
)
from siltstone.engine.decode.event import Change, Event, Reject
from siltstone.engine.decode.json_kinds import kind_of, type_of_kinds
from siltstone.engine.decode.json_value import parse
from siltstone.engine.decode.row_shape import ColumnShape
from siltstone.engine.decode.types import column_reader


def change(after: Any = None, key: Any = None, line: int = 1, **more: Any) -> Change:
    images = {
        name: None if value is None else json.dumps(value).encode() for name, value in (("after", after), ("key", key))
    }
    fields: dict[str, Any] = {"file": "f", "line": line, "text": None, "table": "t"} | images | more
    return Change(**fields)


def seen(*changes: Change) -> Seen:
    found = ColumnsSeen()
    found.add(changes)
    return found.seen()


def connect_schema(**fields: str) -> str:
    listed = [{"field": name, "type": kind} for name, kind in fields.items()]
    return json.dumps({"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": listed}]})


def dts_schema(*facts: str) -> str:
    numbers = [{"name": f"c{at}", "dataTypeNumber": 246} for at in range(len(facts))]
    return json.dumps({"dts": "MySQL", "fields": numbers, "facts": ";".join(facts)}, separators=(",", ":"))


MIXED = [
    change({"id": 1, "b": 1.5, "c": None}, {"id": 1}, 1),
    change({"id": 2, "a": "x", "b": {"scale": 1, "value": "AA=="}}, {"id": 2}, 2),
    change({"id": 2}, row_schema=connect_schema(id="int32"), schema_hash=5, key_schema='{"keys":["id"]}', line=3),
    change({"id": 2}, row_schema=connect_schema(id="int64", x="string"), schema_hash=6, line=4),
    change({"c0": "1"}, row_schema=dts_schema("3,1", ""), schema_hash=7, line=5),
    change({"c0": "1"}, row_schema=dts_schema("9,2", "4,0"), schema_hash=7, line=6),
    change(None, {"id": 9}, 7, op="truncate"),
    change({"Id": 1, "id": 2}, {"ID": 1}, 8),
]


def test_summaries_are_the_same_in_any_order_of_merging() -> None:
    whole = seen(*MIXED)
    draw = random.Random(7)
    for _ in range(50):
        parts = [ColumnsSeen() for _ in range(draw.randint(1, 4))]
        for one in draw.sample(MIXED, len(MIXED)):
            draw.choice(parts).add([one])
        found = merged(encoded({"t": part}) for part in draw.sample(parts, len(parts)))
        assert found["t"].seen() == whole


def texts_of(*events: Event) -> list[bytes]:
    return [event.columns for event in events if event.columns is not None]


def test_each_region_has_one_summary_with_the_columns_of_every_table() -> None:
    """Consumer A takes all lines of f and g, consumer B only those of f after the second one."""
    first, second = change({"id": 1}, line=1, text=b"1"), change({"id": 1, "a": 1}, line=2, text=b"2")
    third, more = change({"c": 1}, line=3, text=b"3"), change({"b": "x"}, line=3, table="other")
    broken, elsewhere = Reject(file="f", line=4, text=b"4", reason="empty"), change({"d": 1}, text=b"5")
    elsewhere.file = "g"
    events = [first, second, third, more, broken, elsewhere]
    spans = [("A", "f", 1, NO_END), ("A", "g", 1, NO_END), ("B", "f", 3, NO_END)]
    summarize(events, SummaryRules(regions=regions_of(spans)))
    assert len(texts_of(*events)) == 2
    of_both, of_a = (merged(texts_of(*events[2:5])), merged(texts_of(first, second, elsewhere)))
    assert {table: one.seen().fields for table, one in of_both.items()} == {"t": ("c",), "other": ("b",)}
    assert {table: one.seen().fields for table, one in of_a.items()} == {"t": ("id", "a", "d")}
    assert merged(texts_of(*events))["t"].seen() == seen(first, second, third, elsewhere)


def test_lines_that_no_consumer_takes_are_a_region_of_their_own() -> None:
    before, new, context = (change({name: 1}, line=line, text=b"x") for name, line in (("a", 5), ("b", 6), ("c", 1)))
    context.file = "context"
    summarize([context, before, new], SummaryRules(regions=regions_of([("A", "f", 6, NO_END)])))
    assert merged(texts_of(new))["t"].seen().fields == ("b",)
    assert {*merged(texts_of(context, before))["t"].seen().fields} == {"a", "c"}


def test_spans_of_consumers_divide_a_file_into_regions() -> None:
    (starts, takers), other = regions_of([("A", "f", 1, 4), ("B", "f", 3, 6), ("A", "g", 2, 2)]).values()
    assert [(start, *sorted(each)) for start, each in zip(starts, takers, strict=True)] == [
        (1, "A"), (3, "A", "B"), (5, "B"), (7,),
    ]  # fmt: skip
    assert other == ([2, 3], [frozenset({"A"}), frozenset()])
    adjacent = regions_of([("A", "f", 1, 4), ("A", "f", 5, 6)])["f"]
    assert adjacent == ([1, 5, 7], [frozenset({"A"}), frozenset({"A"}), frozenset()])


def test_only_wanted_tables_fields_and_keys_are_collected() -> None:
    one, other = change({"id": 1, "x": {"scale": 1}}, {"id": 1}, text=b"1"), change({"z": 1}, table="other")
    summarize([one, other], SummaryRules({"t": Wanted(fields=False, keys=False)}))
    found = merged(texts_of(one, other))
    assert [*found] == ["t"]
    assert found["t"].seen() == replace(Seen.nothing(), has_schemaless=True, any_scale=frozenset({"x"}))


def test_half_of_a_change_has_no_summary() -> None:
    half, whole = change({"a": 1}, text=b"1", control_kind="update_after"), change({"b": 1}, line=2, text=b"2")
    summarize([whole, half])
    assert merged(texts_of(whole))["t"].seen().fields == ("b",)
    assert half.columns is None


def test_all_schemas_keys_and_fields_are_found() -> None:
    found = seen(*MIXED)
    assert [(number, [*columns]) for number, columns in found.schemas] == [
        (5, ["id"]), (6, ["id", "x"]), (7, ["c0", "c1"]),
    ]  # fmt: skip
    assert found.schemas[2][1]["c0"][0] == T.DecimalType(9, 2)
    assert (found.keys, found.has_schemaless, [*found.any_scale]) == ((("ID",), ("id",)), True, ["b"])
    assert [*found.inferred] == ["id", "b", "c", "Id", "a"]
    assert found.fields == ("id", "x", "c0", "c1", "b", "c", "Id", "a")
    assert found.variants == {"id"}


def test_fields_with_known_types_are_collected_by_name_only() -> None:
    found = ColumnsSeen(Wanted(typed=frozenset({"id"})))
    found.add(MIXED)
    declared, usual = found.seen(), seen(*MIXED)
    assert (declared.fields, declared.variants) == (usual.fields, usual.variants)
    assert {name for name in usual.inferred if declared.inferred[name] != usual.inferred[name]} == {"id"}


def test_a_schema_that_cannot_be_read_names_no_columns() -> None:
    good = change({"id": 1}, row_schema=connect_schema(id="int32"), schema_hash=1)
    bad = change({"id": 1}, row_schema='{"fields":7}', schema_hash=2)
    assert seen(good).has_readable_schemas
    assert not seen(good, bad).has_readable_schemas
    assert not seen(change({"id": 1}, schema_hash=3)).has_readable_schemas


def test_a_key_whose_schema_names_no_column_is_read_itself() -> None:
    for schema in ('{"type":"struct"}', "{", '{"fields":5}'):
        assert seen(change({"id": 1}, {"id": 1}, key_schema=schema)).keys == (("id",),)
    assert seen(change({"id": 1}, {"other": 1}, key_schema='{"keys":["id"]}')).keys == (("id",),)


def test_numbers_that_carry_their_scale_are_found_in_lists_and_with_blanks() -> None:
    scaled = b'{"a": [ { "scale" : 1, "value": "AA==" } ], "b": {"x": {"scale": 1}}, "c": "\\"scale\\""}'
    assert seen(change(), Change(file="f", line=1, text=None, after=scaled)).any_scale == {"a"}


def test_images_and_keys_of_another_shape_are_ignored() -> None:
    for text in (b"[1]", b'"x"', b"{", b"null"):
        one = Change(file="f", line=1, text=None, after=text, key=text)
        assert seen(one) == replace(Seen.nothing(), has_schemaless=True)


KINDS: dict[str, str] = {
    "[true, null]": "boolean",
    "[1, -7]": "bigint",
    "[1, 4611686018427387904]": "bigint",
    "[1, 1.5]": "double",
    "[1.0]": "double",
    "[1e5, -2E-3, 0.0]": "double",
    "[0.30000000000000004, 9007199254740.992, 1.2345678901234567]": "double",
    "[1e23, 5e-324]": "double",
    "[9007199254740.993]": "decimal(38,3)",
    "[9007199254740.993, 1.5, 1]": "decimal(38,3)",
    "[9007199254740993.0]": "decimal(38,0)",
    "[0.10000000000000001]": "decimal(38,17)",
    "[9.007199254740993e15]": "string",
    "[1e-400]": "string",
    "[9223372036854775808, 1]": "decimal(38,0)",
    "[9007199254740993, 1.5]": "decimal(38,1)",
    "[123456789012345678.25]": "decimal(38,2)",
    "[123456789012345678.25, 1e5]": "string",
    "[1.00000000000000000000000000000000000000000]": "double",
    f"[{'7' * 39}]": "string",
    "[1.2345678901234567890e5]": "string",
    "[1e999]": "string",
    '["a", null]': "string",
    '[1, "a"]': "string",
    "[{}]": "string",
    "[[1]]": "string",
    "[null]": "string",
    "[]": "string",
}


@pytest.mark.parametrize("values", KINDS)
def test_a_type_holds_every_digit_of_the_values(values: str) -> None:
    assert type_of_kinds({*map(kind_of, parse(values))})[0].simpleString() == KINDS[values]


@pytest.mark.parametrize("values", KINDS)
def test_the_inferred_type_takes_the_values_that_it_is_inferred_from(values: str) -> None:
    found = parse(values)
    kind, encoding = type_of_kinds({*map(kind_of, found)})
    made = column_reader(ColumnShape("a", kind, ((None, encoding),), is_guessed=True), None, False, "UTC", False)
    assert None not in [made.convert(value) for value in found if value is not None]


def test_fields_are_in_the_order_of_the_first_image_then_by_name() -> None:
    images: Iterable[tuple[int, dict[str, int]]] = (
        (2, {"z": 1, "y": 1, "x": 1}),
        (1, {"id": 1, "b": 1}),
        (3, {"a": 1}),
    )
    assert [*seen(*(change(image, line=line) for line, image in images)).inferred] == ["id", "b", "a", "x", "y", "z"]
