"""Readers of one column, for the tests."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from pyspark.sql import types as T

from siltstone.engine.decode.json_value import parse
from siltstone.engine.decode.row_shape import ColumnShape, Encoding
from siltstone.engine.decode.types import ColumnReader, column_reader

LOCAL, ZONED = T.TimestampNTZType(), T.TimestampType()
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def column(encoding: Encoding | str, kind: T.DataType, is_guessed: bool = False) -> ColumnShape:
    """A column with one encoding."""
    made = encoding if isinstance(encoding, Encoding) else Encoding(encoding)  # type: ignore[arg-type]
    return ColumnShape("a", kind, ((None, made),), is_guessed=is_guessed)


def reader(
    encoding: Encoding | str,
    kind: T.DataType,
    time_zone: str = "UTC",
    is_mysql: bool = False,
    is_key: bool = False,
    is_guessed: bool = False,
) -> ColumnReader:
    """The reader of a column with one encoding."""
    return column_reader(column(encoding, kind, is_guessed), None, is_mysql, time_zone, is_key)


def converted(found: ColumnReader, values: list[Any]) -> list[Any]:
    """The stored values, which must be equal one by one and all at once, also with a null among them."""
    alone = [None if value is None else found.convert(value) for value in values]
    for value, stored in zip(values, alone, strict=True):
        assert repr(found.convert_all([value, None, value])) == repr([stored, None, stored]), value
    assert repr(found.convert_all(values)) == repr(alone)
    return alone


def json_values(texts: list[str]) -> list[Any]:
    """The values of JSON texts."""
    return [parse(text) for text in texts]


def micros(*moment: int) -> int:
    """Microseconds since 1970 of a date and time."""
    return (datetime(*moment, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)  # type: ignore[misc, arg-type]


def days(*day: int) -> int:
    """Days since 1970."""
    return (date(*day) - date(1970, 1, 1)).days


def decimals(*texts: str | None) -> list[Decimal | None]:
    """Decimals of these digits."""
    return [None if text is None else Decimal(text) for text in texts]
