"""The type that holds the values of two types."""

import pytest
from pyspark.sql import types as T

from siltstone.engine.errors import SchemaEvolutionError
from siltstone.engine.schema.evolve import promotes, widened
from siltstone.engine.table.changes_table import refuse_rewrites

INT, LONG, FLOAT, DOUBLE, TEXT = T.IntegerType(), T.LongType(), T.FloatType(), T.DoubleType(), T.StringType()


def decimal(precision: int, scale: int) -> T.DecimalType:
    return T.DecimalType(precision, scale)


@pytest.mark.parametrize(
    ("one", "other", "wide"),
    [
        (INT, INT, INT),
        (INT, LONG, LONG),
        (FLOAT, DOUBLE, DOUBLE),
        (decimal(12, 2), decimal(16, 2), decimal(16, 2)),
        (decimal(12, 2), decimal(12, 4), decimal(14, 4)),
        (decimal(38, 0), decimal(38, 10), None),
        (INT, decimal(12, 2), decimal(12, 2)),
        (LONG, decimal(12, 2), decimal(21, 2)),
        (LONG, DOUBLE, None),
        (INT, TEXT, None),
        (T.ArrayType(INT), T.ArrayType(LONG), T.ArrayType(LONG)),
        (T.ArrayType(INT), T.ArrayType(TEXT), None),
        (T.TimestampType(), T.TimestampNTZType(), None),
    ],
)
def test_the_wider_type_holds_both_types_in_any_order(
    one: T.DataType, other: T.DataType, wide: T.DataType | None
) -> None:
    assert widened(one, other) == wide
    assert widened(other, one) == wide


def test_a_stored_column_is_promoted_only_if_no_data_is_rewritten() -> None:
    assert promotes(INT, LONG)
    assert promotes(decimal(12, 2), decimal(16, 2))
    assert promotes(T.ArrayType(INT), T.ArrayType(LONG))
    assert not promotes(T.ArrayType(LONG), T.ArrayType(INT))
    assert not promotes(LONG, INT)
    assert not promotes(decimal(12, 2), decimal(14, 4))
    assert not promotes(INT, decimal(12, 2))


@pytest.mark.parametrize(
    ("kept", "wanted", "way_out"),
    [
        (decimal(12, 2), decimal(12, 4), "declare price as decimal(14,4) under columns, which holds both, and run"),
        (INT, decimal(12, 2), "declare price as int under columns; or declare the other type and run"),
        (INT, TEXT, "declare price as int under columns; or declare the other type and run"),
    ],
)
def test_an_impossible_type_change_is_rejected_with_a_solution(
    kept: T.DataType, wanted: T.DataType, way_out: str
) -> None:
    known = T.StructType([T.StructField("price", kept)])
    with pytest.raises(SchemaEvolutionError) as refused:
        refuse_rewrites("shop.items_changes", known, [T.StructField("price", wanted)])
    hint = refused.value.hint or ""
    assert hint.startswith(way_out)
    assert "siltstone rebuild --reread" in hint
