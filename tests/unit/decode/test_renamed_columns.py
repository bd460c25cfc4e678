"""Renamed columns: one column for all its names in events."""

import hashlib
from dataclasses import replace
from typing import Any

from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.decode.change_rows import TableDecoder
from siltstone.engine.decode.row_shape import TableShape
from siltstone.engine.spec.model import ColumnSpec, TableSpec
from tests.unit.decode.given import field, spec
from tests.unit.decode.test_change_rows import batch, event
from tests.unit.decode.test_table_shape import change, seen, shape_of

RENAMES = {"title": ("name", "label"), "thing_id": ("id",)}
ID_NAME = [field("id", "int32"), field("name", "string")]
ID_TITLE = [field("thing_id", "int32"), field("title", "string")]


def things(
    columns: dict[str, Any] | None = None, keys: tuple[str, ...] | None = ("thing_id",), **more: Any
) -> TableSpec:
    return replace(spec(columns, keys), renames=RENAMES, **more)


def shaped(table: TableSpec, *changes: Any, known: T.StructType | None = None) -> TableShape:
    return shape_of(table, known, seen(*changes))


def rows(table: TableSpec, shape: TableShape, *events: dict[str, Any]) -> list[dict[str, Any]]:
    return TableDecoder(shape, table).decode(batch(events)).to_pylist()  # type: ignore[no-any-return]


def test_all_names_of_a_column_give_one_column() -> None:
    table = things()
    shape = shaped(
        table,
        change({"id": 1, "name": "a"}, fields=ID_NAME),
        change({"thing_id": 1, "title": "b"}, fields=ID_TITLE),
        change({"thing_id": 1, "LABEL": "c"}),
    )
    assert {column.name: column.type for column in shape.columns} == {
        "thing_id": T.IntegerType(),
        "title": T.StringType(),
    }
    assert shape.keys == ("thing_id",)
    assert [column.hash_name for column in shape.columns] == ["id", "name"]
    found = rows(
        table,
        shape,
        event(after={"id": 1, "name": "a"}, key={"id": 1}),
        event(after={"thing_id": 2, "title": "b"}, key={"thing_id": 2}),
        event(after={"thing_id": 3, "LABEL": "c"}),
        event(after={"thing_id": 4}),
        event(names.OP_DELETE, before={"id": 5, "name": None}, key={"id": 5}),
    )
    assert [(one["row"]["title"], one["present"], one["reason"]) for one in found] == [
        ("a", None, None),
        ("b", None, None),
        ("c", None, None),
        (None, ["thing_id"], None),
        (None, ["thing_id"], None),
    ]
    assert [one["key"]["thing_id"] for one in found] == [1, 2, 3, 4, 5]


def test_keys_that_only_events_declare_have_their_new_names() -> None:
    shape = shaped(
        things(keys=None),
        change({"id": 1, "name": "a"}, {"id": 1}),
        change({"thing_id": 1, "title": "a"}, {"thing_id": 1}),
    )
    assert shape.keys == ("thing_id",)


def test_in_an_event_with_both_names_the_new_one_counts_and_the_old_one_is_rescued() -> None:
    table = things({"thing_id": "int", "title": "string"})
    both = {"thing_id": 1, "name": "old", "title": "new"}
    for shape in (
        shaped(table, change(both)),
        shaped(table, change(both, fields=[*ID_TITLE, field("name", "string")])),
    ):
        (found,) = rows(table, shape, event(after=both))
        assert (found["row"]["title"], found["rescued"], found["present"]) == ("new", '{"name":"old"}', None)
    masked = things({"thing_id": "int", "title": ColumnSpec("string", "sha256")})
    (found,) = rows(masked, shaped(masked, change(both)), event(after=both))
    assert found["rescued"] == f'{{"name":"{hashlib.sha256(b"old").hexdigest()}"}}'


def test_a_dropped_column_is_dropped_under_every_name() -> None:
    table = things({"thing_id": "int", "title": ColumnSpec("string", "drop")})
    shape = shaped(table, change({"id": 1, "name": "a"}), change({"thing_id": 1, "title": "b"}))
    assert [column.name for column in shape.columns] == ["thing_id"]
    found = rows(table, shape, event(after={"id": 1, "name": "a"}), event(after={"thing_id": 1, "title": "b"}))
    assert [one["rescued"] for one in found] == [None, None]


def test_rescued_values_keep_the_name_in_the_event() -> None:
    table = things({"thing_id": "int", "title": "date"})
    shape = shaped(table, change({"id": 1, "name": 4_000_000_000}))
    found = rows(table, shape, event(after={"id": 1, "name": 2**30}), event(after={"thing_id": 1, "title": 2**30}))
    rescued = [one["rescued"] for one in found]
    assert rescued == [f'{{"name":"{2**30}"}}', f'{{"title":"{2**30}"}}']


def test_an_update_of_a_renamed_key_is_split_under_every_name() -> None:
    table = things({"thing_id": "int", "title": "string"})
    shape = shaped(table, change({"id": 1, "name": "a"}), change({"thing_id": 1, "title": "a"}))
    moved = event(names.OP_UPDATE, before={"id": 1, "name": "a"}, after={"id": 2, "name": "a"}, key={"other": 1})
    named = event(names.OP_UPDATE, before={"id": 1, "name": "a"}, after={"id": 2, "name": "a"}, key={"id": 2})
    found = TableDecoder(shape, table, splits_keys=True).decode(batch([moved, named])).to_pylist()
    assert [(one["op"], one["key"]["thing_id"]) for one in found] == [("delete", 1), ("insert", 2), ("update", 2)]
