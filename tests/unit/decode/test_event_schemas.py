"""Invalid schemas in events: any shape gives columns with Spark types, or no columns."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import types as T

from siltstone.engine.decode.connect import decimal
from siltstone.engine.decode.event_schemas import key_columns, row_columns
from siltstone.engine.decode.mysql_types import typed
from tests.conformance.hostile import with_changed_values
from tests.unit.decode.given import field

IMAGE = [
    field("id", "int64"),
    field("price", "bytes", "org.apache.kafka.connect.data.Decimal", scale="2", **{"connect.decimal.precision": "12"}),
    field("flags", "bytes", "io.debezium.data.Bits", length="12"),
    {"field": "tags", "type": "array", "items": {"type": "string"}},
]
COLUMNS = [
    {"name": "id", "type": {"code": "INT64"}, "is_primary_key": True, "ordinal_position": 1},
    {"name": "tags", "type": '{"code":"ARRAY","array_element_type":{"code":"NUMERIC"}}', "ordinal_position": 2},
]
SCHEMAS: dict[str, dict[str, Any]] = {
    "connect": {"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": IMAGE}]},
    "canal": {"mysqlType": {"id": "bigint(20)", "price": "decimal(12,2)", "e": "enum('a')", "b": "binary(16)"}},
    "spanner": {"column_types": COLUMNS},
    "dts": {"dts": "MySQL", "fields": [{"name": "id", "dataTypeNumber": 246}], "facts": "12,2"},
    "keys": {"keys": ["id"]},
    "pk_uk_info": {"pk_uk_info": {"PRIMARY": ["id"]}},
    "key": {"type": "struct", "fields": [field("id", "int64")]},
}


@pytest.mark.parametrize("form", SCHEMAS)
def test_a_schema_of_any_shape_gives_columns_or_nothing(form: str) -> None:
    draw, text, found = random.Random(form), json.dumps(SCHEMAS[form], separators=(",", ":")), set()
    for _ in range(2_000):
        schema = json.dumps(json.loads(with_changed_values(draw, text)), separators=(",", ":"))
        columns = row_columns(schema)
        found.add(len(columns))
        assert all(isinstance(name, str) for name in [*columns, *key_columns(schema)])
        assert all(is_storable(part) for kind, _ in columns.values() for part in parts(kind)), schema
    assert form in ("keys", "pk_uk_info", "key") or len(found) > 1  # some are valid, some are not
    assert row_columns(text) or key_columns(text)


def parts(kind: T.DataType) -> Iterator[T.DataType]:
    yield kind
    if isinstance(kind, T.ArrayType):
        yield from parts(kind.elementType)


def is_storable(kind: T.DataType) -> bool:
    return not isinstance(kind, T.DecimalType) or 0 <= kind.scale <= kind.precision <= 38


def test_decimals_have_room_for_all_scales_of_oracle() -> None:
    """NUMBER(2,5) has values such as 0.00099, NUMBER(5,-2) has hundreds."""
    sizes = {(5, 2): "decimal(5,2)", (2, 5): "decimal(5,5)", (5, -2): "decimal(7,0)", (38, 40): "string"}
    assert {(p, s): decimal(s, p)[0].simpleString() for p, s in sizes} == sizes


def test_lengths_beyond_those_of_mysql_are_ignored() -> None:
    sizes = {"bit(64)": 64, "bit(99999999999)": None, "binary(255)": 255, "binary(99999999999)": None}
    assert {text: typed(text)[1].size for text in sizes} == sizes
    assert typed("bit(99999999999)")[0] == T.StringType()
    assert typed("decimal(5,10)")[0] == T.StringType()


@pytest.mark.parametrize("form", SCHEMAS)
def test_names_never_contain_a_lone_surrogate(form: str) -> None:
    text = json.dumps(SCHEMAS[form], separators=(",", ":"))
    for good, bad in (('"id"', '"i\\ud800"'), ('"id"', '"i\\ud83d\\ude00"')):
        schema = text.replace(good, bad)
        names = {*row_columns(schema), *key_columns(schema)} - {"after"}
        assert ("i\U0001f600" in names) == ("ude00" in bad)
        assert "".join(names).encode() or not names  # Java accepts every name
