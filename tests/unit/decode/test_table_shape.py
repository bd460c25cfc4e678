"""Shapes: from the spec, from schemas, from values. Columns that the policy forbids, and spellings of columns."""

import json
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import types as T

from siltstone.engine.decode.columns_seen import ColumnsSeen, Seen
from siltstone.engine.decode.event import Change
from siltstone.engine.decode.event_batch import signed_hash
from siltstone.engine.decode.file_schema import file_schema
from siltstone.engine.decode.row_shape import Encoding, TableShape
from siltstone.engine.decode.table_shape import shape_of
from siltstone.engine.errors import SchemaEvolutionError, SpecError
from siltstone.engine.spec.columns import parse_column_type
from siltstone.engine.spec.model import ColumnSpec, SourceSpec, TableSpec, TrackSpec
from siltstone.engine.spec.predicates import parse_predicate
from siltstone.engine.spec.rows_format import RowsSpec
from tests.unit.decode.given import field, spec

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


def change(after: Any, key: Any = None, fields: Any = None, schema: str | None = None) -> Change:
    """A change, with a schema of Kafka Connect if it has `fields`. The default key is {"id": ...}."""
    if fields is not None:
        schema = json.dumps({"fields": [{"field": "after", "fields": fields}]})
    found = {"id": after["id"]} if key is None and after and "id" in after else key
    return Change(
        file="f",
        line=1,
        text=None,
        after=json.dumps(after).encode(),
        key=json.dumps(found).encode(),
        row_schema=schema,
        schema_hash=None if schema is None else signed_hash(schema.encode()),
    )


LINE = change({"id": 1, "a": 2})
WITH_WIDE = change({"id": 1, "a": 2}, fields=WIDE)


def seen(*changes: Change) -> Seen:
    found = ColumnsSeen()
    found.add(changes)
    return found.seen()


def shaped(changes: list[Change], table_spec: TableSpec, known: str | None = None) -> TableShape:
    """`known`: as "id int; d decimal(12,2)"."""
    return shape_of(table_spec, None if known is None else stored(known), seen(*changes))


def stored(known: str) -> T.StructType:
    pairs = [one.split() for one in known.split(";")]
    return T.StructType([T.StructField(name, parse_column_type(kind).data_type()) for name, kind in pairs])


def types(shape: TableShape) -> dict[str, str]:
    return {column.name: column.type.simpleString() for column in shape.columns}


def spellings(shape: TableShape) -> dict[str, set[str]]:
    return {column.name: set(column.spellings) for column in shape.columns if column.spellings}


def rows_spec(declared: dict[str, str | ColumnSpec], evolution: Any = "additive", **rows: Any) -> TableSpec:
    table = spec(declared, table="r", evolution=evolution)
    settings: dict[str, Any] = {"sequence_by": (("id", "any"),)} | rows
    return replace(table, source=SourceSpec("rows", "x", rows=RowsSpec("r", **settings)))


# --- declared columns, and others -----------------------------------------------------------------------------------


def test_undeclared_fields_are_inferred_next_to_declared_ones() -> None:
    shape = shaped(
        [LINE],
        spec(
            {
                "id": "int",
                "at": "timestamp(3)",
                "ssn": ColumnSpec("int", "sha256", salt="s"),
                "x": ColumnSpec("string", "drop"),
            }
        ),
    )
    assert types(shape) == {"id": "int", "at": "timestamp", "ssn": "string", "a": "bigint"}
    assert (shape.keys, shape.dropped, shape.is_closed) == (("id",), frozenset({"x"}), True)
    assert [field.name for field in shape.key_type] == ["id"]


@pytest.mark.parametrize("keys", [None, ("id",)])
@pytest.mark.parametrize("evolution", ["additive", "ignore"])
def test_keys_need_no_declared_type(keys: Any, evolution: str) -> None:
    row = change({"id": 1, "balance": "1.50", "more": True})
    shape = shaped([row], spec({"balance": "decimal(12,2)"}, keys=keys, evolution=evolution))
    more = {"more": "boolean"} if evolution == "additive" else {}
    assert types(shape) == {"balance": "decimal(12,2)", "id": "bigint"} | more
    assert (shape.keys, shape.is_closed) == (("id",), evolution == "additive")


def test_strict_allows_declared_fields_only() -> None:
    declared = spec({"id": "int", "a": "int"}, evolution="strict")
    assert types(shaped([LINE], declared)) == {"id": "int", "a": "int"}
    more = change({"id": 1, "a": 2, "c": 1, "b": None})
    with pytest.raises(SchemaEvolutionError, match=r"new columns \(b, c\)") as raised:
        shaped([LINE, more], declared)
    assert "evolution: ignore, which keeps them in _rescued" in (raised.value.hint or "")
    assert types(shaped([LINE, more], replace(declared, evolution="ignore"))) == {"id": "int", "a": "int"}


def test_strict_allows_the_columns_of_the_rows_settings() -> None:
    row = change({"id": 1, "seq": 2, "op": "U", "other": 1})
    rows: dict[str, Any] = {"sequence_by": (("seq", "any"),), "delete_when": parse_predicate("op = 'D'")}
    listed = TrackSpec("except", ("other",))
    assert types(shaped([row], rows_spec({"id": "int"}, evolution="strict", columns=listed, **rows))) == {"id": "int"}
    with pytest.raises(SchemaEvolutionError, match=r"new columns \(other\)"):
        shaped([row], rows_spec({"id": "int"}, evolution="strict", **rows))


def test_declared_types_win_and_other_fields_of_a_schema_become_columns() -> None:
    shape = shaped([WITH_WIDE], spec({"id": "bigint", "d": "decimal(20,4)"}))
    assert types(shape) == {"id": "bigint", "d": "decimal(20,4)", "a": "bigint", "e": "string"}


# --- schemas --------------------------------------------------------------------------------------------------------


def test_schemas_of_one_batch_give_the_wider_types_and_the_keys() -> None:
    shape = shaped([change({"id": 1}, fields=NARROW), WITH_WIDE], spec(keys=None))
    assert types(shape) == {"id": "int", "a": "bigint", "d": "decimal(16,2)", "e": "string"}
    assert (shape.keys, shape.is_closed) == (("id",), True)
    assert len({number for number, _ in shape.columns[1].encodings}) == 2


def test_types_without_a_common_type_are_an_error_unless_one_is_declared() -> None:
    both = [change({"id": 1}, fields=NARROW), change({"id": 1}, fields=OTHER)]
    with pytest.raises(SchemaEvolutionError, match="column a changes its type"):
        shaped(both, spec())
    assert types(shaped(both, spec({"a": "string"})))["a"] == "string"


def test_the_policy_decides_on_new_columns_and_wider_types() -> None:
    known = "id int; a int; d decimal(12,2); gone string"
    assert types(shaped([WITH_WIDE], spec(), known)) == {
        "id": "int", "a": "bigint", "d": "decimal(16,2)", "gone": "string", "e": "string",
    }  # fmt: skip
    ignoring = shaped([WITH_WIDE], spec(evolution="ignore"), known)
    assert types(ignoring) == {"id": "int", "a": "int", "d": "decimal(12,2)", "gone": "string"}
    assert not ignoring.is_closed
    with pytest.raises(SchemaEvolutionError, match="new columns \\(e\\)"):
        shaped([WITH_WIDE], spec(evolution="strict"), known)
    with pytest.raises(SchemaEvolutionError, match="column a changes its type"):
        shaped([WITH_WIDE], spec(evolution="strict"), known + "; e string")


def test_a_column_of_nulls_gets_its_type_from_another_schema() -> None:
    text = (T.StringType(), Encoding("text"))
    nulls = (T.NullType(), Encoding("text"))
    schemas = [file_schema({"id": text, "a": (T.IntegerType(), Encoding("integer"))}), file_schema({"a": nulls})]
    shape = shaped([change({"id": 1}, schema=schema) for schema in schemas], spec())
    assert types(shape) == {"id": "string", "a": "int"}
    assert {encoding.kind for _, encoding in shape.columns[1].encodings} == {"integer"}


# --- settings of rows -----------------------------------------------------------------------------------------------


def test_a_setting_with_an_unknown_column_is_an_error_with_the_nearest_name() -> None:
    table_spec = rows_spec(
        {"to_come": "int"},
        delete_when=parse_predicate("opp = 'D' AND v"),
        ignore_nulls=TrackSpec("columns", ("ID", "to_come")),
        columns=TrackSpec("except", ("op", "secrett")),
    )
    schemas = [file_schema(dict.fromkeys(names, (T.StringType(), Encoding("text")))) for names in (
        ("id", "op", "secret"), ("id", "op", "v"))]  # fmt: skip
    changes = [change({"id": "1", "op": "D"}, schema=schema) for schema in schemas]
    with pytest.raises(SpecError) as raised:
        shaped(changes, table_spec)
    names = "source.delete_when names opp, source.ignore_nulls names ID, source.columns names secrett"
    assert f"{names}, and no file has" in raised.value.message
    assert (raised.value.hint or "").startswith("did you mean op, id, secret?")
    later = shaped(changes, table_spec, "id string")
    assert {*types(later)} == {"id", "to_come", "v", "secret"}
    assert shaped([change({"id": "1", "op": "D"})], replace(table_spec, columns={"id": ColumnSpec("string")})).keys


# --- values ---------------------------------------------------------------------------------------------------------


def test_types_are_inferred_if_nothing_declares_them() -> None:
    rows = [
        {"id": 1, "flag": True, "n": 1, "f": 1.5, "t": "x", "o": {"a": 1}, "l": [1], "nothing": None, "mixed": 1,
         "big": 2**63, "exact": 2**53 + 1},
        {"id": 2, "flag": None, "n": -(2**62), "f": 1, "t": "1", "o": {"b": 1}, "l": [], "nothing": None, "mixed": "a",
         "big": 1, "exact": 1.5},
    ]  # fmt: skip
    shape = shaped([change(row) for row in rows], spec(keys=None))
    assert types(shape) == {
        "id": "bigint", "flag": "boolean", "n": "bigint", "f": "double", "t": "string", "o": "string", "l": "string",
        "nothing": "string", "mixed": "string", "big": "decimal(38,0)", "exact": "decimal(38,1)",
    }  # fmt: skip
    assert (shape.keys, shape.is_closed) == (("id",), True)
    assert all(column.is_guessed for column in shape.columns)


def test_the_stored_type_of_an_inferred_column_stays() -> None:
    shape = shaped([change({"id": 1, "a": "x"})], spec(), "id bigint; a bigint")
    assert types(shape) == {"id": "bigint", "a": "bigint"}


# --- keys -----------------------------------------------------------------------------------------------------------


def test_a_table_without_keys_has_its_whole_row_as_key() -> None:
    shape = shaped([change({"a": 1, "b": "x"}, key="none")], spec(keys=None))
    assert shape.keys == ()
    assert shape.key_type == shape.row_type


def test_a_key_that_the_row_lacks_becomes_a_column() -> None:
    assert types(shaped([change({"a": 1}, key={"ROW_ID": "x"})], spec(keys=None))) == {
        "a": "bigint",
        "ROW_ID": "string",
    }


def test_keys_that_cannot_be_determined_are_errors() -> None:
    with pytest.raises(SpecError, match="no column is known for its keys \\(id\\)"):
        shaped([change({"a": 1})], spec({"a": "int"}))
    with pytest.raises(SchemaEvolutionError, match="several keys \\(a / id\\)"):
        shaped([LINE, change({"a": 1}, key={"a": 1})], spec(keys=None))
    with pytest.raises(SpecError, match="reserves the names of the table's key columns \\(_Pos\\)"):
        shaped([change({"_Pos": 1}, key={"_Pos": 1})], spec(keys=None))


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_schema", [False, True])
def test_names_that_tables_cannot_have_do_not_become_columns(has_schema: bool) -> None:
    """Reserved names, and the second of two names in one change that differ only in case."""
    row = {"id": 1, "a": 2, "A": 3, "Id": 4, "_batch": 5, "": 6}
    fields = [field(name, "int32") for name in row] if has_schema else None
    shape = shaped([change(row, fields=fields)], spec())
    assert (set(types(shape)), shape.is_closed, spellings(shape)) == ({"id", "a"}, False, {})


@pytest.mark.parametrize("has_schema", [False, True])
def test_a_column_has_one_name_for_all_spellings(has_schema: bool) -> None:
    def row(name: str, kind: str) -> Change:
        fields = [field("id", "int32"), field(name, kind)] if has_schema else None
        return change({"id": 1, name: 2}, fields=fields)

    old, new = row("a", "int32"), row("A", "int64")
    for known in (None, "id int; a int"):
        shape = shaped([old, new], spec(), known)
        assert [*map(str.casefold, types(shape))] == ["id", "a"]
        assert len(spellings(shape)) == 1
    kept = shaped([new], spec(), "id int; a int")
    assert ([*types(kept)], spellings(kept), kept.is_closed) == (["id", "a"], {"a": {"A"}}, True)
    assert types(kept)["a"] == ("bigint" if has_schema else "int")
    declared = shaped([new], spec({"a": "decimal(5,2)"}))
    assert (types(declared)["a"], spellings(declared)) == ("decimal(5,2)", {"a": {"A"}})
    repeated = shaped([new], spec({"A": "bigint"}), "id int; a int")
    assert (types(repeated), spellings(repeated)) == ({"id": "int", "a": "bigint"}, {"a": {"A"}})
    both = shaped([change({"id": 1, "a": 1, "A": 2})], spec({"A": "bigint"}), "id int; a int")
    assert (types(both), spellings(both)) == ({"id": "int", "a": "bigint"}, {})


def test_a_key_has_one_name_for_all_spellings() -> None:
    both = [change({"id": 1}), change({"ID": 1}, key={"ID": 1})]
    assert shaped(both, spec(keys=None)).keys == ("id",)
    assert shaped(both[1:], spec(keys=None), "id bigint").keys == ("id",)
    named = shaped(both[:1], spec(keys=("ID",)))
    assert (named.keys, types(named), spellings(named)) == (("ID",), {"ID": "bigint"}, {"ID": {"id"}})
    assert shaped(both[:1], spec({"id": "int"}, keys=("ID",))).keys == ("id",)


def test_masked_values_are_hidden_in_every_spelling() -> None:
    masked = spec({"id": "int", "a": ColumnSpec("int", "drop"), "b": ColumnSpec("string", "redact")})
    assert shaped([change({"id": 1, "A": 1, "B": "x"})], masked).dropped == {"a", "A"}
    assert shaped([change({"id": 1, "a": 1, "A": 1, "b": "x", "B": "y"})], masked).dropped == {"a", "A", "B"}
