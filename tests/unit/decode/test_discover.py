"""Shapes: from the spec, from schemas, from values; and what the policy refuses."""

import json
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode import TableShape, discover, envelopes
from engine.decode.carried import carried_schema
from engine.decode.look import tell_types
from engine.decode.rows import decode_rows
from engine.decode.shape import Encoding
from engine.errors import SchemaEvolutionError, SpecError
from engine.spec.model import ColumnSpec, SourceSpec, TableSpec, TrackSpec
from engine.spec.predicates import parse_predicate
from engine.spec.rows import RowsSpec
from tests.unit.decode.given import changes_of, event, field, lines, parsed, spec, with_schema

DECIMAL = "org.apache.kafka.connect.data.Decimal"
NARROW = [
    field("id", "int32"),
    field("a", "int32"),
    field("d", "bytes", DECIMAL, scale="2", **{"connect.decimal.precision": "12"}),
]
WIDE = [
    field("id", "int32"),
    field("a", "int64"),
    field("d", "bytes", DECIMAL, scale="2", **{"connect.decimal.precision": "16"}),
    field("e", "string"),
]
OTHER = [field("id", "int32"), field("a", "string")]
LINE = event("c", after={"id": 1, "a": 2})


def shape_of(spark: SparkSession, texts: list[str], table_spec: TableSpec, known: str | None = None) -> TableShape:
    stored = None if known is None else T.StructType.fromDDL(known)
    return discover(changes_of(parsed(spark, texts, table_spec.source)), table_spec, stored)


def types(shape: TableShape) -> dict[str, str]:
    return {column.name: column.type.simpleString() for column in shape.columns}


def test_declared_columns_without_schemas_are_all_there_is(spark: SparkSession) -> None:
    shape = shape_of(
        spark,
        [LINE],
        spec(
            {
                "id": "bigint",
                "at": "timestamp(3)",
                "ssn": ColumnSpec("int", "sha256", salt="s"),
                "x": ColumnSpec("string", "drop"),
            }
        ),
    )
    assert types(shape) == {"id": "bigint", "at": "timestamp", "ssn": "string"}
    assert (shape.keys, shape.dropped, shape.closed) == (("id",), frozenset({"x"}), False)
    assert [field.name for field in shape.key_type] == ["id"]


def test_strict_refuses_a_new_field_of_events_without_types(spark: SparkSession) -> None:
    declared = spec({"id": "int", "a": "int"}, evolution="strict")
    assert types(shape_of(spark, [LINE], declared)) == {"id": "int", "a": "int"}
    more = event("u", before={"id": 1}, after={"id": 1, "a": 2, "b": None})
    with pytest.raises(SchemaEvolutionError, match=r"new columns \(b\)"):
        shape_of(spark, [LINE, more], declared)
    assert types(shape_of(spark, [LINE, more], replace(declared, evolution="ignore"))) == {"id": "int", "a": "int"}


def test_schemas_of_one_batch_are_widened_and_their_keys_taken(spark: SparkSession) -> None:
    shape = shape_of(spark, [with_schema(LINE, NARROW), with_schema(LINE, WIDE)], spec(keys=None))
    assert types(shape) == {"id": "int", "a": "bigint", "d": "decimal(16,2)", "e": "string"}
    assert (shape.keys, shape.closed) == (("id",), True)
    assert len({number for number, _ in shape.columns[1].encodings}) == 2


def test_types_that_no_type_holds_are_refused_unless_one_is_declared(spark: SparkSession) -> None:
    texts = [with_schema(LINE, NARROW), with_schema(LINE, OTHER)]
    with pytest.raises(SchemaEvolutionError, match="column a changes its type"):
        shape_of(spark, texts, spec())
    assert types(shape_of(spark, texts, spec({"a": "string"})))["a"] == "string"


def test_the_policy_decides_on_new_columns_and_wider_types(spark: SparkSession) -> None:
    known = "id int, a int, d decimal(12,2), gone string"
    texts = [with_schema(LINE, WIDE)]
    assert types(shape_of(spark, texts, spec(), known)) == {
        "id": "int", "a": "bigint", "d": "decimal(16,2)", "gone": "string", "e": "string",
    }  # fmt: skip
    ignoring = shape_of(spark, texts, spec(evolution="ignore"), known)
    assert types(ignoring) == {"id": "int", "a": "int", "d": "decimal(12,2)", "gone": "string"}
    assert not ignoring.closed
    with pytest.raises(SchemaEvolutionError, match="new columns \\(e\\)"):
        shape_of(spark, texts, spec(evolution="strict"), known)
    with pytest.raises(SchemaEvolutionError, match="column a changes its type"):
        shape_of(spark, texts, spec(evolution="strict"), known + ", e string")


def test_events_that_tell_no_types_need_no_look(spark: SparkSession) -> None:
    told = spec({"id": "bigint", "a": "decimal(20,4)"})
    plain = changes_of(parsed(spark, [LINE, event("d", before={"id": 1, "a": None})], told.source))
    schemas = changes_of(parsed(spark, [LINE, with_schema(LINE, WIDE)], told.source))
    scales = changes_of(parsed(spark, [event("c", after={"id": 1, "a": {"scale": 2, "value": "AA=="}})], told.source))
    asked = [changes.agg(F.max(tell_types())).first()[0] for changes in (plain, schemas, scales)]
    assert asked == [False, True, True]
    assert discover(plain, told, tell_types=False) == discover(plain, told)
    # What the spec leaves to the events is looked for all the same.
    for open_spec in (spec(), spec({"id": "bigint", "a": "int"}, keys=None)):
        keyed = changes_of(parsed(spark, [event("c", after={"id": 1, "a": 2}, key={"id": 1})], open_spec.source))
        assert discover(keyed, open_spec, tell_types=False) == discover(keyed, open_spec)


def test_declared_types_win_and_other_fields_of_a_schema_become_columns(spark: SparkSession) -> None:
    shape = shape_of(spark, [with_schema(LINE, WIDE)], spec({"id": "bigint", "d": "decimal(20,4)"}))
    assert types(shape) == {"id": "bigint", "d": "decimal(20,4)", "a": "bigint", "e": "string"}


def test_a_name_that_no_file_has_is_refused_with_the_nearest_one(spark: SparkSession) -> None:
    rows = RowsSpec(
        "r", (("id", "any"),), parse_predicate("opp = 'D' AND v"), None, TrackSpec("columns", ("ID", "to_come")),
        TrackSpec("except", ("op", "secrett")),
    )  # fmt: skip
    table_spec = replace(spec({"to_come": "int"}, table="r"), source=SourceSpec("rows", "x", rows=rows), keys=("id",))
    schemas = [carried_schema(dict.fromkeys(names, (T.StringType(), Encoding("text")))) for names in (
        ("id", "op", "secret"), ("id", "op", "v"))]  # fmt: skip
    told = lines(spark, ['{"id":"1","op":"D"}']).select("*", F.explode(F.lit(schemas)).alias("row_schema"))
    events = envelopes(told, table_spec.source).localCheckpoint()
    with pytest.raises(SpecError) as refused:
        discover(events, table_spec)
    names = "source.delete_when names opp, source.ignore_nulls names ID, source.columns names secrett"
    assert f"{names}, and no file has" in refused.value.message
    assert (refused.value.hint or "").startswith("did you mean op, id, secret?")
    later = discover(events, table_spec, T.StructType.fromDDL("id string"))
    assert [column.name for column in later.columns] == ["id", "to_come", "v", "secret"]
    bare = envelopes(lines(spark, ['{"id":"1","op":"D"}']), table_spec.source)
    assert discover(bare, replace(table_spec, columns={"id": ColumnSpec("string")})).keys == ("id",)


def test_types_are_inferred_where_nobody_says_them(spark: SparkSession) -> None:
    rows = [
        {"id": 1, "flag": True, "n": 1, "f": 1.5, "t": "x", "o": {"a": 1}, "l": [1], "nothing": None, "mixed": 1,
         "big": 2**63, "exact": 2**53 + 1},
        {"id": 2, "flag": None, "n": -(2**62), "f": 1, "t": "1", "o": {"b": 1}, "l": [], "nothing": None, "mixed": "a",
         "big": 1, "exact": 1.5},
    ]  # fmt: skip
    shape = shape_of(spark, [event("c", after=row) for row in rows], spec(keys=None))
    assert types(shape) == {
        "id": "bigint", "flag": "boolean", "n": "bigint", "f": "double", "t": "string", "o": "string", "l": "string",
        "nothing": "string", "mixed": "string", "big": "decimal(38,0)", "exact": "decimal(38,1)",
    }  # fmt: skip
    assert (shape.keys, shape.closed) == (("id",), True)


def test_a_table_without_keys_has_its_whole_row_as_key(spark: SparkSession) -> None:
    shape = shape_of(spark, [event("c", after={"a": 1, "b": "x"})], spec(keys=None))
    assert shape.keys == ()
    assert shape.key_type == shape.row_type


def test_keys_that_cannot_be_told_are_refused(spark: SparkSession) -> None:
    with pytest.raises(SpecError, match="no column is known for its keys \\(id\\)"):
        shape_of(spark, [LINE], spec({"a": "int"}))
    with pytest.raises(SchemaEvolutionError, match="several keys \\(a / id\\)"):
        shape_of(spark, [LINE, event("c", after={"a": 1}, key={"a": 1})], spec(keys=None))
    with pytest.raises(SpecError, match="columns called as its key is \\(_Pos\\)"):
        shape_of(spark, [event("c", after={"_Pos": 1}, key={"_Pos": 1})], spec(keys=None))


def test_names_that_tables_cannot_have_are_no_columns(spark: SparkSession) -> None:
    """Reserved ones, and those that only upper and lower case tell from another: what they hold is rescued."""
    row = {"id": 1, "a": 2, "A": 3, "Id": 4, "_batch": 5, "": 6}
    told = [field(name, "int32") for name in row]
    line = event("c", after=row)
    for text in (line, with_schema(line, told)):
        changes = changes_of(parsed(spark, [text], spec().source))
        shape = discover(changes, spec())
        assert (set(types(shape)), shape.closed) == ({"id", "a"}, False)
        (found,) = decode_rows(changes, shape, spec()).collect()
        assert (found.reason, found.row.asDict()) == (None, {"id": 1, "a": 2})
        assert json.loads(found.rescued) == {"A": "3", "Id": "4", "_batch": "5", "": "6"}


def test_a_value_unlike_the_first_ones_is_rejected_with_a_way_out(spark: SparkSession) -> None:
    guess = "(no type is declared for it, and its first values were of this one: columns can say another)"
    changes = changes_of(parsed(spark, [event("c", after={"id": 1, "a": "x"})], spec().source))
    known = T.StructType.fromDDL("id bigint, a bigint")
    (guessed,) = decode_rows(changes, discover(changes, spec(), known), spec()).collect()
    assert guessed.reason == f'column "a": the value does not fit bigint {guess}'
    declared = spec({"id": "bigint", "a": "bigint"})
    (told,) = decode_rows(changes, discover(changes, declared, known), declared).collect()
    assert told.reason == 'column "a": the value does not fit bigint'
    flags = T.StructType.fromDDL("id bigint, a boolean")
    numbers = [event("c", after={"id": 1, "a": number}) for number in (0, 1, 1.0, 7, -1)]
    changes = changes_of(parsed(spark, numbers, spec().source))
    rows = decode_rows(changes, discover(changes, spec(), flags), spec()).orderBy("line").collect()
    assert [row.reason or row.row.a for row in rows] == [
        False, True, True, *[f'column "a": the value does not fit boolean {guess}'] * 2,
    ]  # fmt: skip
    declared = spec({"id": "bigint", "a": "boolean"})  # as MySQL and others have it, of which somebody knows
    rows = decode_rows(changes, discover(changes, declared, flags), declared).orderBy("line").collect()
    assert [row.row.a for row in rows] == [False, True, True, True, True]
