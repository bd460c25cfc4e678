"""Arrow arrays as arrays of JSON values: whole columns at once, with Arrow's own functions.

Values without a JSON form become text: bytes as base64, dates and times in ISO form (instants in UTC, with Z), NaN and
the infinities as their names. Times of day and nanoseconds are counts here; `clocks` and `nine_digits` turn them into
text. Texts that are not UTF-8 keep their bytes.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from siltstone.engine.decode.json_value import text_of
from siltstone.engine.decode.types.clocks import clock_of
from siltstone.engine.decode.types.dates_and_times import A_DAY, FIRST, FIRST_DAY, LAST, LAST_DAY

Make = Callable[[pa.Array], pa.Array]
"""Makes a JSON value, as bytes, from each value of an array. Null stays null."""

_TEXT: Final = pa.large_binary()
_NAIVE: Final = pa.timestamp("us")
_MICROS: Final = {"s": 1_000_000, "ms": 1_000, "us": 1}
_SPECIAL: Final = r'["\\\x00-\x1f]'
_FRACTION: Final = "[.e]"
_DOCUMENT: Final = "arrow.json"
_DAYS_OF_400_YEARS: Final = 146_097
_LAST_YEAR: Final = 9_999
_WIDER: Final = {
    pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(), pa.null(): pa.int32(),
}  # fmt: skip
"""Types that siltstone stores as wider types. The items of a list with only nulls become whole numbers."""


# --- types ----------------------------------------------------------------------------------------------------------


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type that this module uses for this type and all its variants."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if getattr(kind, "extension_name", "") == _DOCUMENT:
        return pa.string()
    if pa.types.is_date64(kind):
        return pa.date32()
    return pa.int64() if pa.types.is_duration(kind) else _WIDER.get(kind, kind)


def is_list(kind: pa.DataType) -> bool:
    """Whether values are lists, of any length or of a fixed length."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def has_parts(kind: pa.DataType) -> bool:
    """Whether values become JSON objects or arrays. `kind`: a result of `plain_type`."""
    return bool(is_list(kind) or pa.types.is_struct(kind) or pa.types.is_map(kind))


def is_bare_count(kind: pa.DataType) -> bool:
    """Whether nested values of this type stay counts: times of day and nanoseconds."""
    return bool(pa.types.is_time(kind) or (pa.types.is_timestamp(kind) and kind.unit == "ns"))


# --- JSON values ----------------------------------------------------------------------------------------------------


def json_values(kind: pa.DataType) -> Make:
    """The function that makes the JSON values of a type, at the top level of a record or nested in a value."""
    plain = plain_type(kind)
    if pa.types.is_null(kind):
        return nothing
    if pa.types.is_struct(plain):
        return _structs({field.name: json_values(field.type) for field in plain})
    if pa.types.is_map(plain):
        return _maps(plain)
    if is_list(plain):
        return _lists(json_values(plain.value_type))
    if is_bare_count(plain):
        counts = pa.int32() if pa.types.is_time32(plain) else pa.int64()
        return lambda array: _written(array.cast(counts))
    if pa.types.is_timestamp(plain):
        end = b'"' if plain.tz is None else b'Z"'
        return lambda array: joined(b'"', _moments(array, b"T"), end)
    make = digits if pa.types.is_decimal(plain) else _MAKERS.get(plain, _any_text)
    return lambda array: make(array.cast(plain))


def nothing(array: pa.Array) -> pa.Array:
    """Nulls."""
    return pa.nulls(len(array), _TEXT)


def _written(array: pa.Array) -> pa.Array:
    """Flags and whole numbers."""
    return array.cast(pa.string()).cast(_TEXT)


def _floats(array: pa.Array) -> pa.Array:
    """Numbers with the fewest digits that identify them, always with a point: a whole number cannot be minus zero."""
    texts = array.cast(pa.string()).cast(_TEXT)
    is_whole = pc.and_(pc.is_finite(array), pc.invert(pc.match_substring_regex(texts, _FRACTION)))
    texts = pc.if_else(is_whole, joined(texts, b".0"), texts)
    return _patched(texts, pc.invert(pc.is_finite(array)), array, _endless)


def _endless(number: float) -> str:
    return '"NaN"' if math.isnan(number) else '"Infinity"' if number > 0 else '"-Infinity"'


def digits(array: pa.Array) -> pa.Array:
    """Decimals with all their digits, without an exponent."""
    texts = array.cast(pa.string()).cast(_TEXT)
    return _patched(texts, pc.match_substring(texts, "E"), array, lambda number: f"{number:f}")


def _strings(array: pa.Array) -> pa.Array:
    return quoted(array.cast(pa.binary()).cast(_TEXT))


def _base64(array: pa.Array) -> pa.Array:
    values = array.to_pylist()
    return pa.array([None if value is None else b'"%b"' % b64encode(value) for value in values], _TEXT)


def _dates(array: pa.Array) -> pa.Array:
    days = array.cast(pa.int32())
    is_beyond = _is_beyond(days, FIRST_DAY, LAST_DAY)
    return in_quotes(_patched(array.cast(pa.string()).cast(_TEXT), is_beyond, days, _far_date))


def _any_text(array: pa.Array) -> pa.Array:
    """Values of rare types, as their text."""
    return pa.array([None if value is None else text_of(str(value)) for value in array.to_pylist()], _TEXT)


_MAKERS: Final[Mapping[pa.DataType, Make]] = {
    pa.bool_(): _written, pa.int8(): _written, pa.int16(): _written, pa.int32(): _written, pa.int64(): _written,
    pa.float32(): _floats, pa.float64(): _floats, pa.string(): _strings, pa.binary(): _base64, pa.date32(): _dates,
}  # fmt: skip


# --- values with parts ----------------------------------------------------------------------------------------------


def objects(makers: Mapping[str, Make], arrays: Sequence[pa.Array]) -> pa.Array:
    """A JSON object for each row of the arrays."""
    parts: list[Any] = []
    for (name, make), array in zip(makers.items(), arrays, strict=True):
        parts += [(b"," if parts else b"{") + text_of(name) + b":", make(array)]
    return joined(*parts, b"}", nulls="replace")


def _structs(makers: Mapping[str, Make]) -> Make:
    def make(array: pa.Array) -> pa.Array:
        texts = objects(makers, array.flatten()) if makers else pa.array([b"{}"] * len(array), _TEXT)
        return _where_valid(array, texts)

    return make


def _lists(item: Make) -> Make:
    """Makes JSON arrays of lists."""

    def make(array: pa.Array) -> pa.Array:
        lengths = pc.if_else(array.is_valid(), pc.list_value_length(array), 0).cast(pa.int64())
        ends = pc.fill_null(pc.cumulative_sum(lengths), 0)
        offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends])
        items = pc.fill_null(item(array.flatten()), pa.scalar(b"null", _TEXT))
        inside = pc.binary_join(pa.LargeListArray.from_arrays(offsets, items), pa.scalar(b",", _TEXT))
        return _where_valid(array, joined(b"[", inside, b"]"))

    return make


def _maps(kind: pa.MapType) -> Make:
    """Makes JSON objects of maps, with their keys as text."""
    pairs = pa.list_(pa.struct([pa.field("key", kind.key_type), pa.field("value", kind.item_type)]))
    key_of, value_of = json_values(kind.key_type), json_values(kind.item_type)

    def pair(array: pa.StructArray) -> pa.Array:
        keys, values = array.flatten()
        names = key_of(keys)
        bare = pc.invert(pc.starts_with(names, '"'))
        names = pc.if_else(bare, quoted(names), names)
        return joined(names, b":", pc.fill_null(value_of(values), pa.scalar(b"null", _TEXT)))

    lists = _lists(pair)

    def make(array: pa.Array) -> pa.Array:
        inside = pc.binary_slice(lists(array.cast(pairs)), 1, -1)
        return joined(b"{", inside, b"}")

    return make


def _where_valid(array: pa.Array, texts: pa.Array) -> pa.Array:
    return pc.if_else(array.is_valid(), texts, pa.scalar(None, _TEXT))


# --- times ----------------------------------------------------------------------------------------------------------


def _moments(array: pa.Array, between: bytes) -> pa.Array:
    """Times with six digits of the second, without quotes and zone. `between`: what separates date and time."""
    micros = _MICROS[array.type.unit]
    counts = array.cast(pa.int64())
    is_beyond = _is_beyond(counts, FIRST // micros, LAST // micros)
    within = pc.if_else(is_beyond, None, counts).cast(pa.timestamp(array.type.unit)).cast(_NAIVE)
    texts = within.cast(pa.string()).cast(_TEXT)
    texts = _patched(texts, is_beyond, counts, lambda count: _far_moment(count * micros))
    return texts if between == b" " else pc.replace_substring(texts, " ", between.decode(), max_replacements=1)


def short_moments(array: pa.Array) -> pa.Array:
    """Times as 2020-12-31 23:59:59.5: without trailing zeros, quotes and zone."""
    texts = _moments(array, b" ").cast(pa.large_string())
    return pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), ".").cast(_TEXT)


def nine_digits(array: pa.Array) -> pa.Array:
    """Times in nanoseconds as 2020-12-31 23:59:59.999999999."""
    return array.cast(pa.int64()).cast(pa.timestamp("ns")).cast(pa.string()).cast(_TEXT)


def clocks(array: pa.Array) -> pa.Array:
    """Times of day with six digits of the second."""
    unit = array.type.unit
    counts = array.cast(pa.int32() if pa.types.is_time32(array.type) else pa.int64()).cast(pa.int64())
    micros = pc.divide(counts, 1_000) if unit == "ns" else pc.multiply(counts, _MICROS[unit])
    is_beyond = _is_beyond(micros, 0, A_DAY - 1)
    texts = pc.if_else(is_beyond, None, micros).cast(pa.time64("us")).cast(pa.string()).cast(_TEXT)
    return in_quotes(_patched(texts, is_beyond, micros, lambda count: str(clock_of(count, "micros"))))


def _is_beyond(counts: pa.Array, first: int, last: int) -> pa.BooleanArray:
    return pc.or_(pc.less(counts, first), pc.greater(counts, last))


def _far_date(day: int) -> str:
    """A date of any year as Spark writes it: +10000-01-01, -0043-03-15."""
    cycles, rest = divmod(day - FIRST_DAY, _DAYS_OF_400_YEARS)
    at = date.fromordinal(rest + 1)
    year = at.year + 400 * cycles
    sign = "+" if year > _LAST_YEAR else "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{at.month:02d}-{at.day:02d}"


def _far_moment(micros: int) -> str:
    day, of_day = divmod(micros, A_DAY)
    return f"{_far_date(day)} {clock_of(of_day, 'micros')}"


# --- texts ----------------------------------------------------------------------------------------------------------


def joined(*parts: Any, nulls: str = "emit_null") -> pa.Array:
    """The parts, arrays and bytes, joined. `nulls`: "emit_null" gives null for a null part, "replace" the text null."""
    columns = [pa.scalar(part, _TEXT) if isinstance(part, bytes) else part for part in parts]
    return pc.binary_join_element_wise(*columns, pa.scalar(b"", _TEXT), null_handling=nulls, null_replacement="null")


def in_quotes(texts: pa.Array) -> pa.Array:
    """Texts without characters that need an escape, in quotes."""
    return joined(b'"', texts, b'"')


def quoted(texts: pa.Array) -> pa.Array:
    """Any texts as JSON strings."""
    plain, is_special = in_quotes(texts), pc.match_substring_regex(texts, _SPECIAL)
    return _patched(plain, is_special, texts, _escaped)


def _escaped(text: bytes) -> bytes:
    try:
        return msgspec.json.encode(text.decode())
    except UnicodeDecodeError:
        return json.dumps(text.decode("utf-8", "surrogateescape"), ensure_ascii=False).encode(
            "utf-8", "surrogateescape"
        )


def _patched(texts: pa.Array, where: pa.BooleanArray, values: pa.Array, make: Callable[[Any], Any]) -> pa.Array:
    """The texts; at the places `where`, the results of `make` for their values instead."""
    if not pc.any(where).as_py():
        return texts
    made = [make(value) for value in values.filter(where).to_pylist()]
    return pc.replace_with_mask(texts, pc.fill_null(where, False), pa.array(made, _TEXT))
