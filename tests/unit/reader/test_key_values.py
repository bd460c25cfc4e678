"""Keys given on the command line, as values of their columns."""

from types import SimpleNamespace

import pytest
from pyiceberg.expressions import And, EqualTo, IsNull
from pyiceberg.expressions.literals import literal
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, LongType, NestedField, StringType, TimestampType, TimestamptzType

from siltstone.engine.errors import SpecError
from siltstone.engine.reader.table_reader import key_value, matching


def test_a_key_of_null_is_looked_up_as_a_null() -> None:
    table = SimpleNamespace(schema=lambda: Schema(NestedField(1, "a", LongType()), NestedField(2, "b", StringType())))
    assert matching(table, {"a": None, "b": "x"}) == And(IsNull("a"), EqualTo("b", "x"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "kind", "micros"),
    [
        ("1969-12-31T23:59:59.999999Z", TimestamptzType(), -1),
        ("1970-01-01T01:00:00+01:00", TimestamptzType(), 0),
        ("1970-01-01 00:00:00.5", TimestamptzType(), 500_000),
        ("1970-01-02", TimestamptzType(), 86_400_000_000),
        ("1970-01-01T00:00:00.000001", TimestampType(), 1),
        ("1970-01-01 00:00:01", TimestampType(), 1_000_000),
    ],
)
def test_a_time_is_found_in_the_form_that_show_prints(text: str, kind: IcebergType, micros: int) -> None:
    assert literal(str(key_value("at", text, kind))).to(kind).value == micros


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("yesterday", TimestamptzType()),
        ("9999-12-31T23:59:59-01:00", TimestamptzType()),
        ("1970-01-01T00:00:00Z", TimestampType()),
    ],
)
def test_a_value_that_is_not_a_time_of_the_column_is_refused(text: str, kind: IcebergType) -> None:
    with pytest.raises(SpecError, match="Cannot look up at"):
        key_value("at", text, kind)
