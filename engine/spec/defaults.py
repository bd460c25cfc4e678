"""The default of a column: whether it fits the type, and the value that is stored."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, tzinfo
from decimal import Context, Decimal
from hashlib import sha256
from typing import Final
from zoneinfo import ZoneInfo

from siltstone.engine.names import REDACTED
from siltstone.engine.spec.columns import ColumnType, Kind
from siltstone.engine.spec.interpolation import like
from siltstone.engine.spec.model import ColumnDefault, Mask
from siltstone.engine.spec.wording import shown

_BITS: Final = {
    "tinyint": 8, "byte": 8, "smallint": 16, "short": 16, "int": 32, "integer": 32, "bigint": 64, "long": 64,
}  # fmt: skip
_GREATEST_FLOAT: Final = 3.4028234663852886e38
_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT: Final = re.compile(
    _DATE.pattern + r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)
_CLOCK: Final = re.compile(r"(-?[0-9]{2,}:[0-5][0-9]:[0-5][0-9])(?:\.([0-9]{1,6}))?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?")


def default_problem(value: ColumnDefault, column: ColumnType, time_zone: str = "UTC") -> str | None:
    """What is wrong with the default, or None."""
    if value is not None and column.source_encoding.kind in ("array", "map", "struct", "binary"):
        return f"a column of type {column.spark_type} cannot have a default"
    try:
        stored_default(value, column, time_zone)
    except (ValueError, OverflowError) as error:
        why = f": {error}" if isinstance(error, _MisfitError) else ""
        return f"the default {shown(value)} does not fit the type {column.text}{why}"
    return None


def stored_default(value: ColumnDefault, column: ColumnType, time_zone: str) -> ColumnDefault:
    """The default in the form in which values of events are stored: a decimal as its digits, an instant in UTC.

    `time_zone`: the zone of an instant that is written without one.

    Raises: ValueError, OverflowError: it does not fit the type.
    """
    if value is None:
        return None
    kind = column.source_encoding.kind
    if kind in _OTHER:
        stored = _OTHER[kind](value, column)
    elif not isinstance(value, str):
        raise _MisfitError("write it as text, in quotes")
    else:
        stored = _moment(value, time_zone) if kind == "timestamp" else _TEXTS.get(kind, _any)(value, column)
    return like(value, stored) if isinstance(value, str) and isinstance(stored, str) else stored


def masked_default(value: ColumnDefault, mask: Mask | None, salt: str | None) -> ColumnDefault:
    """The default after its mask. It must equal the stored value of an event, which would open a version otherwise."""
    if value is None or mask is None:
        return value
    return REDACTED if mask == "redact" else sha256(f"{salt or ''}{value}".encode()).hexdigest()


class _MisfitError(ValueError):
    """Why a default does not fit, in words for the user."""


def _boolean(value: ColumnDefault, _: ColumnType) -> ColumnDefault:
    if not isinstance(value, bool):
        raise _MisfitError("write true or false")
    return value


def _integer(value: ColumnDefault, column: ColumnType) -> ColumnDefault:
    word, *unsigned = column.text.lower().split()
    low, high = (0, 2 ** _BITS[word] - 1) if unsigned else (-(2 ** (_BITS[word] - 1)), 2 ** (_BITS[word] - 1) - 1)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _MisfitError(f"write a whole number from {low} to {high}")
    return value


def _floating(value: ColumnDefault, column: ColumnType) -> ColumnDefault:
    number = float(_number(value))
    if abs(number) > (_GREATEST_FLOAT if column.spark_type == "float" else sys.float_info.max):
        raise _MisfitError("the number is too large")
    return number if isinstance(value, float) else value


def _decimal(value: ColumnDefault, column: ColumnType) -> ColumnDefault:
    precision, scale = (int(digits) for digits in re.findall(r"[0-9]+", column.spark_type))
    number = _number(value)
    shortest = number.normalize(Context(prec=len(number.as_tuple().digits)))
    places = -int(shortest.as_tuple().exponent)
    if number and (number.adjusted() >= precision - scale or places > scale):
        raise _MisfitError(f"write at most {precision - scale} digits before the decimal point and {scale} after it")
    return f"{number:f}"


def _unsigned(value: ColumnDefault, column: ColumnType) -> ColumnDefault:
    number = _number(value)
    if not 0 <= number < 2**64 or number != int(number):
        raise _MisfitError(f"write a whole number from 0 to {2**64 - 1}")
    return _decimal(value, column)


def _number(value: ColumnDefault) -> Decimal:
    if isinstance(value, bool) or not _NUMBER.fullmatch(str(value)):
        raise _MisfitError("write a number")
    return Decimal(str(value))


def _bits(text: str, column: ColumnType) -> str:
    size = column.source_encoding.precision or 1
    if len(text) != size or text.strip("01"):
        raise _MisfitError(f"write {size} digits 0 and 1")
    return text


def _date(text: str, _: ColumnType) -> str:
    if not _DATE.fullmatch(text):
        raise _MisfitError("write it like 2020-12-31")
    return date.fromisoformat(text).isoformat()


def _moment(text: str, time_zone: str) -> str:
    found = _written_moment(text)
    return (found if found.tzinfo else found.replace(tzinfo=_zone(time_zone))).astimezone(UTC).isoformat()


def _local_moment(text: str, _: ColumnType) -> str:
    found = _written_moment(text)
    if found.tzinfo:
        raise _MisfitError("write it without a zone")
    return found.isoformat()


def _written_moment(text: str) -> datetime:
    if not _MOMENT.fullmatch(text):
        raise _MisfitError("write it like 2020-12-31T23:59:59.999999")
    return datetime.fromisoformat(text)


def _zone(name: str) -> tzinfo:
    of_offset = datetime.fromisoformat(f"2000-01-01T00:00:00{name}").tzinfo if name[0] in "+-" else None
    return of_offset or ZoneInfo("UTC" if name == "Z" else name)


def _time(text: str, _: ColumnType) -> str:
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise _MisfitError("write it like 23:59:59.999999")
    clock, fraction, zone = found.groups()
    return text if zone else f"{clock}.{(fraction or '').ljust(6, '0')}"


def _any(text: str, _: ColumnType) -> str:
    return text


_OTHER: Final[dict[Kind, Callable[[ColumnDefault, ColumnType], ColumnDefault]]] = {
    "boolean": _boolean, "integer": _integer, "floating": _floating, "decimal": _decimal, "unsigned": _unsigned,
}  # fmt: skip
_TEXTS: Final[dict[Kind, Callable[[str, ColumnType], str]]] = {
    "bits": _bits, "date": _date, "timestamp_ntz": _local_moment, "time": _time,
}  # fmt: skip
