"""Reads the values of one column in events of one schema, and explains why a value is not stored."""

from __future__ import annotations

from typing import Any, Final, Literal

from siltstone.engine.decode.json_value import plain_text
from siltstone.engine.decode.row_shape import ColumnShape, Encoding
from siltstone.engine.decode.types import encodings, unrepresentable
from siltstone.engine.decode.types.converter import Convert, ConvertAll, Converter, each
from siltstone.engine.decode.types.dates_and_times import Clock
from siltstone.engine.decode.types.zones import source_zone

LossReason = Literal["unavailable", "unrepresentable", "invalid"]
UNAVAILABLE: Final = "unavailable"
"""The source did not send the value."""
UNREPRESENTABLE: Final = "unrepresentable"
"""No stored type holds the value."""
INVALID: Final = "invalid"
"""The value does not fit the column's type."""


def column_reader(
    column: ColumnShape, schema_hash: int | None, is_mysql: bool, time_zone: str, is_key: bool
) -> ColumnReader:
    """The reader of a column's values in events of one schema.

    `schema_hash`: None for events without their own schema. `is_mysql`: they come from MySQL or MariaDB. `time_zone`:
    the zone of times without a zone. `is_key`: a time that would lose digits does not fit.
    """
    encoding = _encoding_of(column, schema_hash)
    clock = Clock(source_zone(time_zone), is_mysql)
    is_schemaless = all(number != schema_hash or number is None for number, _ in column.encodings)
    converter = encodings.converter(encoding, column.value_type, clock, column.is_guessed and is_schemaless)
    if is_key and unrepresentable.can_lose_digits(column):
        converter = _without_lost_digits(converter, encoding)
    if unrepresentable.can_be_unavailable(column):
        converter = _without_unavailable(converter)
    return ColumnReader(column, converter, encoding, is_schemaless)


def _encoding_of(column: ColumnShape, schema_hash: int | None) -> Encoding:
    """The encoding of this schema. The encoding of None is for every schema that is not listed."""
    known = dict(reversed(column.encodings))
    if schema_hash in known:
        return known[schema_hash]
    return known.get(None, column.encodings[-1][1])


def _without_lost_digits(converter: Converter, encoding: Encoding) -> Converter:
    loses_digits = unrepresentable.loses_digits(encoding)

    def one(value: Any) -> Any:
        return None if loses_digits(value) else converter.one(value)

    return each(one)


def _without_unavailable(converter: Converter) -> Converter:
    is_unavailable, placeholders = unrepresentable.is_unavailable, unrepresentable.PLACEHOLDERS

    def one(value: Any) -> Any:
        return None if is_unavailable(value) else converter.one(value)

    def convert_all(values: list[Any]) -> list[Any]:
        try:
            has_none = placeholders.isdisjoint(values)
        except TypeError:  # an array or an object is among them
            has_none = False
        return converter.all(values) if has_none else [None if value is None else one(value) for value in values]

    return Converter(one, convert_all)


class ColumnReader:
    """Converts a column's values, and explains why a value is not stored.

    `convert` gives the stored value of a JSON value, or None if it does not fit. `convert_all` does this for a whole
    column, and keeps None.
    """

    __slots__ = (
        "_can_be_unavailable", "_can_lose_digits", "_column", "_encoding", "_is_schemaless", "convert", "convert_all",
    )  # fmt: skip

    def __init__(self, column: ColumnShape, converter: Converter, encoding: Encoding, is_schemaless: bool) -> None:
        self.convert: Convert = converter.one
        self.convert_all: ConvertAll = converter.all
        self._column = column
        self._can_be_unavailable = unrepresentable.can_be_unavailable(column)
        self._can_lose_digits = unrepresentable.can_lose_digits(column)
        self._encoding = encoding
        self._is_schemaless = is_schemaless

    def loss_reason(self, value: Any) -> LossReason:
        """Why `convert` gives None for a value."""
        if self._can_be_unavailable and unrepresentable.is_unavailable(value):
            return UNAVAILABLE
        return UNREPRESENTABLE if unrepresentable.is_unrepresentable(value, self._column) else INVALID

    def is_unrepresentable_time(self, value: Any) -> bool:
        """Whether a value that does not fit is a date or time outside of the years 1 to 9999."""
        return unrepresentable.is_unrepresentable_time(value, self._column)

    def is_too_fine(self, value: Any) -> bool:
        """Whether a time has digits after the microsecond, which a key must not lose."""
        return self._can_lose_digits and unrepresentable.BEYOND_MICROS.search(plain_text(value)) is not None

    def need(self, value: Any) -> str | None:
        """The type or digits that a number needs to fit. None if that is not known."""
        return unrepresentable.need(value, self._column.value_type, self._encoding)

    def is_written_out(self, value: Any) -> bool:
        """Whether a decimal is written as digits that fit, although events without a schema have decimals as bytes."""
        is_base64 = self._is_schemaless and self._encoding.kind == "decimal_base64"
        return is_base64 and unrepresentable.is_written_out(value) and self.need(value) is None
