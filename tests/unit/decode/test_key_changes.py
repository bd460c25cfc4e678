"""Updates that change a key which only the spec names: Debezium splits those alone that change its own."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from engine.decode import decode_rows, discover
from engine.decode.key_changes import is_untold, split_key_changes, with_old_keys
from engine.spec.model import ColumnSpec, SourceSpec, TableSpec
from tests.framed import frame, message, schemas_file
from tests.unit.decode.given import TABLE, changes_of, event, parsed, spec
from tests.unit.decode.test_debezium_avro import ROWS, SCHEMAS, value
from tests.unit.decode.test_rows import PLACEHOLDER

COLUMNS: dict[str, str | ColumnSpec] = {"code": "string", "n": "int", "text": "string"}
A = {"code": "A", "n": 1, "text": "x"}
C = A | {"code": "C"}


def moved(before: Any, after: Any, key: Any = None) -> str:
    return event("u", before, after, key=key)


def split(spark: SparkSession, texts: Sequence[str], table_spec: TableSpec) -> tuple[list[bool], list[Row]]:
    """Which lines may change a key, as a run asks before it decodes them; and the changes."""
    assert table_spec.keys
    changes = changes_of(parsed(spark, texts, table_spec.source), table_spec.table)
    shape = discover(changes, table_spec)
    may = is_untold(table_spec.source.format, {"shop.other": ("n",), TABLE: table_spec.keys, "shop.none": None})
    found = decode_rows(with_old_keys(changes, shape.keys), shape, table_spec)
    rows = split_key_changes(found, shape).orderBy("line", "op").collect()
    return [row.may for row in changes.orderBy("line").select(may.alias("may")).collect()], rows


def told(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    return [(row.op, row.key and tuple(row.key), row.old_key and tuple(row.old_key), row.new_key) for row in rows]


def test_an_update_of_a_key_that_only_the_spec_names_is_two_changes(spark: SparkSession) -> None:
    texts = [moved(A, C), moved(A, C, key={"id": 7}), moved(A, C, key=5)]
    may, rows = split(spark, texts, spec(COLUMNS, keys=("code",)))
    assert may == [True] * 3
    for delete, insert in zip(rows[::2], rows[1::2], strict=True):
        assert told([delete, insert]) == [("delete", ("A",), None, ("C",)), ("insert", ("C",), ("A",), None)]
        assert (delete.row.asDict(), delete.before.asDict(), delete.present) == (A, A, None)
        assert (insert.row.asDict(), insert.before, insert.present) == (C, None, None)
    written = [event("d", A), event("c", after=C)]
    alone = split(spark, written, spec(COLUMNS, keys=("code",)))[1]
    assert [row.content_hash for row in rows[:2]] == [row.content_hash for row in alone]


def test_an_update_that_does_not_plainly_change_the_key_stays_one(spark: SparkSession) -> None:
    cases = {
        moved(A, A | {"n": 2}): False,
        moved(A, C, key={"code": "C"}): False,  # Debezium splits those itself
        moved(A, C, key={"x": 1, "code": "C"}): False,
        moved(None, C): False,
        moved({"text": "x"}, C): True,
        moved(A | {"code": None}, C): True,
        moved(A | {"code": PLACEHOLDER}, C): True,
        event("c", after=C): False,
        event("r", after=C): False,
        event("d", A): False,
        event("t"): False,
    }
    table_spec = spec(COLUMNS, keys=("code",))
    may, rows = split(spark, list(cases), table_spec)
    assert may == list(cases.values())
    changes = changes_of(parsed(spark, list(cases), table_spec.source))
    plain = decode_rows(changes, discover(changes, table_spec), table_spec).orderBy("line").collect()
    assert rows == plain


def test_a_row_before_that_is_only_its_key_is_enough(spark: SparkSession) -> None:
    columns = COLUMNS | {"n": "decimal(4,1)"}
    table_spec = spec(columns, keys=("n", "code"), decimals="string")
    texts = [
        moved({"code": "A", "n": "1.0", "text": None}, {"code": "A", "n": "2", "text": PLACEHOLDER}),
        moved({"code": "A", "n": "1.0", "text": None}, {"code": "A", "n": "1", "text": "y"}),  # told in another way
    ]
    _, (delete, insert, same) = split(spark, texts, table_spec)
    assert (delete.row.text, delete.present, delete.before) == (None, ["n", "code"], None)
    assert (insert.row.text, insert.present, insert.old_key) == (None, ["code", "n"], delete.key)
    assert (same.op, same.old_key, same.row.text) == ("update", None, "y")


def test_masked_keys_move_as_they_are_stored(spark: SparkSession) -> None:
    hashed = {text: hashlib.sha256(f"salt{text}".encode()).hexdigest() for text in "AC"}
    columns = COLUMNS | {"code": ColumnSpec("string", "sha256", salt="salt")}
    _, (delete, insert) = split(spark, [moved(A, C)], spec(columns, keys=("code",)))
    assert (delete.key.code, delete.row.code, delete.new_key.code) == (hashed["A"], hashed["A"], hashed["C"])
    assert (insert.key.code, insert.row.code, insert.old_key.code) == (hashed["C"], hashed["C"], hashed["A"])


def test_an_update_that_is_rejected_is_rejected_once(spark: SparkSession) -> None:
    texts = [moved(A, C | {"n": "many"}), moved(A, A | {"code": None}), moved(A, A | {"code": PLACEHOLDER})]
    _, rows = split(spark, texts, spec(COLUMNS, keys=("code",)))
    assert [row.op for row in rows] == ["update"] * 3
    assert all(row.reason for row in rows)


def test_other_formats_and_keys_of_the_events_ask_nothing(spark: SparkSession) -> None:
    table_spec = spec(COLUMNS, keys=("code",))
    changes = changes_of(parsed(spark, [moved(A, C)], table_spec.source))
    asked = [is_untold("debezium-json", {TABLE: keys}) for keys in (None, ())]
    asked += [is_untold(form, {TABLE: ("code",)}) for form in ("canal-json", "debezium-avro")]
    assert list(changes.select(*[F.max(may) for may in asked]).collect()[0]) == [False, False, False, True]


def test_messages_in_frames_are_asked_as_lines_are(spark: SparkSession, tmp_path: Path) -> None:
    first, second = ROWS[2] | {"id": 1}, ROWS[2] | {"id": 2}
    source = SourceSpec("debezium-avro", "x", schemas=schemas_file(tmp_path, SCHEMAS))
    update = frame(2, SCHEMAS[2], value("u", first, second))
    texts = [message(update), message(update, frame(1, SCHEMAS[1], {"id": 2}))]
    may, rows = split(spark, texts, replace(spec({"id": "bigint"}, keys=("id",)), source=source))
    assert may == [True, False]
    assert told(rows) == [
        ("delete", (1,), None, (2,)),
        ("insert", (2,), (1,), None),
        ("update", (2,), None, None),
    ]
