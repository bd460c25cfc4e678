"""Arrow columns as plain values without loss: values that JSON cannot hold exactly become text.

decimal    its digits as text, with the scale     timestamp   ISO 8601, microseconds; `Z` if it has a zone
binary     base64                                 date, time  ISO 8601
NaN, inf   "NaN", "Infinity", "-Infinity"         map         an object if its keys are text, else pairs
text       unchanged; bytes from a source that are not UTF-8 are escaped: caf\\xe9
"""

import base64
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MICROS_PER_SECOND = 1_000_000
SECONDS_PER_DAY = 86_400


def rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """The rows of a batch as plain dictionaries, with the columns in order."""
    names = batch.schema.names
    for values in zip(*(plain(column) for column in batch.columns), strict=True):
        yield dict(zip(names, values, strict=True))


def plain(array: pa.Array) -> list[Any]:
    """The values of an Arrow array as JSON-ready Python values."""
    kind = array.type
    for fits, convert in _CONVERSIONS:
        if fits(kind):
            return convert(array)
    return list(array.to_pylist())


def records(table: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows with Arrow's Python values. Text that is not UTF-8, on which Arrow fails, is escaped."""
    columns = [_texts(column) if _is_text(column.type) else column.to_pylist() for column in table.columns]
    names = table.schema.names
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def json_line(row: Mapping[str, Any]) -> str:
    """One row as one line of JSON."""
    return text(row)


def csv_line(values: Iterable[Any]) -> str:
    """One line of CSV (RFC 4180); null is an empty field, empty text is a quoted empty field."""
    return ",".join(_csv_field(value) for value in values)


def text(value: Any) -> str:
    """A plain value as text: text unchanged, all other values as compact JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def iso_timestamp(micros: int, zone: str) -> str:
    """Microseconds since 1970 as ISO 8601, for any year; years outside 0000-9999 carry a sign."""
    days, rest = divmod(micros, SECONDS_PER_DAY * MICROS_PER_SECOND)
    return f"{iso_date(days)}T{iso_time(rest)}{zone}"


def iso_time(micros: int) -> str:
    """Microseconds since midnight as ISO 8601, with a fraction only if there is one."""
    seconds, fraction = divmod(micros, MICROS_PER_SECOND)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{clock}.{fraction:06d}" if fraction else clock


def iso_date(days: int) -> str:
    """Days since 1970-01-01 as ISO 8601, proleptic Gregorian; Python's own dates end at year 9999."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    return f"{year:04d}-{month:02d}-{day:02d}" if 0 <= year <= 9999 else f"{year:+05d}-{month:02d}-{day:02d}"


def _csv_field(value: Any) -> str:
    if value is None:
        return ""
    field = text(value)
    if field and not any(mark in field for mark in ',"\r\n'):
        return field
    return '"' + field.replace('"', '""') + '"'


def _integers(array: pa.Array) -> list[int | None]:
    """The integers of a temporal array."""
    width = pa.int32() if array.type.bit_width == 32 else pa.int64()
    return list(array.cast(width).to_pylist())


def _timestamps(array: pa.Array) -> list[str | None]:
    zone = "Z" if array.type.tz else ""
    micros = _integers(array.cast(pa.timestamp("us", array.type.tz)))
    return [None if value is None else iso_timestamp(value, zone) for value in micros]


def _dates(array: pa.Array) -> list[str | None]:
    return [None if value is None else iso_date(value) for value in _integers(array.cast(pa.date32()))]


def _times(array: pa.Array) -> list[str | None]:
    return [None if value is None else iso_time(value) for value in _integers(array.cast(pa.time64("us")))]


def _decimals(array: pa.Array) -> list[str | None]:
    return [None if value is None else format(value, "f") for value in array.to_pylist()]


def _binaries(array: pa.Array) -> list[str | None]:
    return [None if value is None else base64.b64encode(value).decode() for value in array.to_pylist()]


def _texts(array: pa.Array | pa.ChunkedArray) -> list[str | None]:
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        kept = array.cast(pa.large_binary()).to_pylist()
        return [None if value is None else value.decode("utf-8", "backslashreplace") for value in kept]


def _floats(array: pa.Array) -> list[float | str | None]:
    """Each value as the shortest number that gives the same value in its own type: a FLOAT of 0.1 is 0.1."""
    if not pa.types.is_float64(array.type):
        values = array.to_pylist()
        shortest = [None if value is None else float(_shortest(value, array.type)) for value in values]
        array = pa.array(shortest, pa.float64())
    return [value if value is None or math.isfinite(value) else _not_finite(value) for value in array.to_pylist()]


def _shortest(value: float, kind: pa.DataType) -> str:
    return str((np.float32 if pa.types.is_float32(kind) else np.float16)(value))


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _structs(array: pa.StructArray) -> list[dict[str, Any] | None]:
    names = [field.name for field in array.type]
    columns = [plain(child) for child in array.flatten()]
    present = array.is_valid().to_pylist()
    values = zip(*columns, strict=True) if columns else (() for _ in present)
    return [dict(zip(names, row, strict=True)) if valid else None for row, valid in zip(values, present, strict=True)]


def _lists(array: pa.Array) -> list[list[Any] | None]:
    return _split(array, plain(array.flatten()))


def _maps(array: pa.MapArray) -> list[Any]:
    # A sliced map array has the children of the whole array, and its offsets point into them.
    entries = list(zip(plain(array.keys), plain(array.items), strict=True))
    parts = [entries[start:end] for start, end in pairwise(array.offsets.to_pylist())]
    named = _is_text(array.type.key_type)
    made = [dict(part) if named else [list(entry) for entry in part] for part in parts]
    return [part if valid else None for part, valid in zip(made, array.is_valid().to_pylist(), strict=True)]


def _split(array: pa.Array, values: list[Any]) -> list[list[Any] | None]:
    """Cut a list array's flattened values by the length of each list."""
    made: list[list[Any] | None] = []
    start = 0
    for length in pc.list_value_length(array).to_pylist():
        made.append(None if length is None else values[start : start + length])
        start += length or 0
    return made


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_binary(kind: pa.DataType) -> bool:
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(test(kind) for test in tests)


_CONVERSIONS: tuple[tuple[Callable[[Any], bool], Callable[[Any], list[Any]]], ...] = (
    (_is_text, _texts),
    (pa.types.is_timestamp, _timestamps),
    (pa.types.is_date, _dates),
    (pa.types.is_time, _times),
    (pa.types.is_decimal, _decimals),
    (pa.types.is_floating, _floats),
    (_is_binary, _binaries),
    (pa.types.is_struct, _structs),
    (pa.types.is_map, _maps),
    (_is_list, _lists),
)
