"""Moments from text: 2020-12-31T23:59:59.999999, with or without a zone. `dates_and_times` defines their stored form.

A blank can replace the T, or a colon, as GoldenGate writes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from siltstone.engine.decode.json_value import plain_text
from siltstone.engine.decode.types.converter import Converter
from siltstone.engine.decode.types.dates_and_times import (
    A_DAY,
    FIRST,
    LAST,
    ORDINAL_OF_1970,
    Clock,
    in_calendar,
    in_zone,
    moment_of,
    unit_of,
)
from siltstone.engine.decode.types.numbers import long_of
from siltstone.engine.decode.types.zones import offset_micros, zone_of

_BLANKS: Final = "".join(map(chr, range(0x21))) + "\x7f"
_WRITTEN: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T :]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?([^0-9.].*)?|(Z|[+-].*))?)?)?",
    re.DOTALL,
)
_NUMERIC_ZONE: Final = re.compile("Z|[+-][0-9]{2}:?[0-9]{2}")
_ZULU, _OFFSETS, _BARE = "Z", "+00:00", ""
_AN_OFFSET: Final = "[+-](?:0[0-9]|1[0-7]):[0-5][0-9]$"


# --- one text -------------------------------------------------------------------------------------------------------


def written(text: str) -> tuple[datetime, str | None] | None:
    """A date, or a date and time, and the name of the zone after it, if any."""
    match = _WRITTEN.fullmatch(text.rstrip(_BLANKS))
    if not match:
        return None
    year, month, day, hour, minute, second, fraction, zone, other_zone = match.groups()
    name = zone or other_zone
    if other_zone and not _NUMERIC_ZONE.fullmatch(other_zone):  # without seconds
        return None
    micros = int((fraction or "")[:6].ljust(6, "0"))
    try:
        moment = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), micros)
    except ValueError:
        return None
    return moment, name.strip(_BLANKS) if name else None


def _micros(moment: datetime) -> int:
    seconds = (moment.hour * 60 + moment.minute) * 60 + moment.second
    return (moment.toordinal() - ORDINAL_OF_1970) * A_DAY + seconds * 1_000_000 + moment.microsecond


def instant(text: str, zone: tzinfo | None) -> int | None:
    """The instant of a time with a zone. A time without a zone is in the source's zone."""
    micros = zoned_micros(text, zone)
    return None if micros is None else in_calendar(micros)


def zoned_micros(text: str, zone: tzinfo | None) -> int | None:
    """The same, also outside of the years that a table can store."""
    found = written(text)
    if found is None:
        return None
    moment, name = found
    its_zone = zone if name is None else zone_of(name)
    if its_zone is None and name is not None:
        return None
    offset = 0 if its_zone is None else offset_micros(moment, its_zone)
    return _micros(moment) - offset


def local_moment(text: str) -> int | None:
    """A time without a zone. A zone in the text is ignored, but must be valid."""
    found = written(text)
    if found is None:
        return None
    moment, name = found
    if name is not None and not _NUMERIC_ZONE.fullmatch(name) and zone_of(name) is None:
        return None
    return _micros(moment)


# --- columns ----------------------------------------------------------------------------------------------------


def _usual(values: list[Any], is_local: bool) -> tuple[list[Any], bool] | None:
    """The moments of a column in which all texts have the usual form, and whether they have a zone. None if some texts
    have another form, which can still be moments. Arrow reads the usual form ten times as fast.

    2020-12-31T23:59:59.999999, all with a zone or all without: Z or an offset. `is_local`: no zone counts.
    """
    try:
        texts = pa.array(values, pa.string())
        form = _form(texts, next(value for value in values if value is not None))
        if form is None or (is_local and form == _OFFSETS):
            return None
        found = _read_by_arrow(texts, pa.timestamp("us", None if form == _BARE else "UTC"))
    except (ValueError, TypeError, StopIteration):
        return None
    ends = pc.min_max(found)
    if ends["min"].as_py() < FIRST or ends["max"].as_py() > LAST:
        return None
    return found.to_pylist(), form != _BARE


def _form(texts: pa.Array, first: str) -> str | None:
    """The form of the zones of all texts. None if the forms may differ, or if a text has no seconds."""
    if not pc.all(pc.equal(pc.binary_slice(texts.cast(pa.binary()), 16, 17), b":")).as_py():
        return None
    if first.endswith("Z"):
        return _ZULU if pc.all(pc.ends_with(texts, "Z")).as_py() else None
    if first[-6:-5] in ("+", "-"):
        return _OFFSETS if pc.all(pc.match_substring_regex(texts, _AN_OFFSET)).as_py() else None
    return _BARE


def _read_by_arrow(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return texts.cast(kind).cast(pa.int64())
    except pa.ArrowInvalid:  # it does not read more than six digits
        cut = pc.replace_substring_regex(texts, r"(\.[0-9]{6})[0-9]+", r"\1")
        return cut.cast(kind).cast(pa.int64())


def instants(zone: tzinfo | None) -> Converter:
    """Times with a zone. Times without a zone are in `zone`."""
    return _texts(lambda text: instant(text, zone), zone, is_local=False)


def local_moments() -> Converter:
    """Times without a zone. A zone in the text is ignored."""
    return _texts(local_moment, None, is_local=True)


def _texts(moment_of_text: Callable[[str], int | None], zone: tzinfo | None, is_local: bool) -> Converter:
    instant_of = None if zone is None else in_zone(zone)

    def one(value: Any) -> int | None:
        return moment_of_text(plain_text(value))

    def convert_all(values: list[Any]) -> list[Any]:
        found = _usual(values, is_local)
        if found is None:
            return [None if value is None else one(value) for value in values]
        moments, have_zone = found
        if have_zone or instant_of is None:
            return moments
        return [None if micros is None else instant_of(micros) for micros in moments]

    return Converter(one, convert_all)


def moment_or_count(kind: T.DataType, digits: int | None, is_instant: bool, clock: Clock) -> Converter:
    """A number in the unit of the declared digits, or text. A number counts since 1970 in the source's zone, or in UTC
    if no connector wrote it (`is_instant`)."""
    zone = clock.zone if isinstance(kind, T.TimestampType) else None
    texts = local_moments() if isinstance(kind, T.TimestampNTZType) else instants(zone)
    unit = unit_of(digits) if digits is not None else "millis" if clock.is_mysql else "micros"
    instant_of = in_zone(zone) if zone is not None and not is_instant else None

    def one(value: Any) -> int | None:
        if type(value) is not int:
            text = plain_text(value)
            if ":" in text or (len(text) == 10 and text[4] == text[7] == "-"):
                return texts.one(text)  # type: ignore[no-any-return]
        count = long_of(value)
        moment = None if count is None else moment_of(count, unit)
        return moment if moment is None or instant_of is None else instant_of(moment)

    def convert_all(values: list[Any]) -> list[Any]:
        if all(value is None or (type(value) is str and ":" in value) for value in values):
            return texts.all(values)
        return [None if value is None else one(value) for value in values]

    return Converter(one, convert_all)
