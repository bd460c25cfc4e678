"""Keys given on the command line, as values of their columns."""

import pytest
from pyiceberg.expressions.literals import literal
from pyiceberg.types import IcebergType, TimestampType, TimestamptzType

from engine.errors import SpecError
from engine.look.reading import key_value


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
def test_a_time_is_found_as_show_prints_it(text: str, kind: IcebergType, micros: int) -> None:
    assert literal(str(key_value("at", text, kind))).to(kind).value == micros


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("yesterday", TimestamptzType()),
        ("9999-12-31T23:59:59-01:00", TimestamptzType()),
        ("1970-01-01T00:00:00Z", TimestampType()),
    ],
)
def test_what_is_no_time_of_the_column_is_refused(text: str, kind: IcebergType) -> None:
    with pytest.raises(SpecError, match="Cannot look up at"):
        key_value("at", text, kind)
