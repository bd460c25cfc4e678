"""Converts Arrow records of typed files and tables to JSON texts, with a description of their columns.

The JSON keeps the complete values:

    numbers            unchanged; decimals are text with all their digits
    dates, times       text; a time without a zone has none, an instant is in UTC and ends with Z
    nanoseconds        text with all nine digits of the second
    times of day       text, HH:MM:SS.ffffff
    bytes              base64
    UUIDs, JSON        text
    arrays             of flags, whole numbers, doubles and texts: arrays; of other items: JSON text, as a string
    other nested types JSON text, as a string

`arrow_json` makes the JSON of whole columns. A record is joined from the values of its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.sql import types as T

from siltstone.engine.decode.arrow_json import (
    Make,
    clocks,
    digits,
    has_parts,
    in_quotes,
    is_bare_count,
    is_list,
    joined,
    json_values,
    nine_digits,
    nothing,
    objects,
    plain_type,
    quoted,
    short_moments,
)
from siltstone.engine.decode.connect import Typed
from siltstone.engine.decode.file_schema import file_schema
from siltstone.engine.decode.row_shape import Encoding, EncodingKind

_STORED: Final[dict[pa.DataType, tuple[T.DataType, EncodingKind]]] = {
    pa.bool_(): (T.BooleanType(), "boolean"),
    pa.int8(): (T.IntegerType(), "integer"),
    pa.int16(): (T.IntegerType(), "integer"),
    pa.int32(): (T.IntegerType(), "integer"),
    pa.int64(): (T.LongType(), "integer"),
    pa.float32(): (T.FloatType(), "floating"),
    pa.float64(): (T.DoubleType(), "floating"),
    pa.string(): (T.StringType(), "text"),
    pa.binary(): (T.BinaryType(), "base64"),
    pa.date32(): (T.DateType(), "date"),
}
_IN_ARRAYS: Final = (pa.bool_(), pa.int32(), pa.int64(), pa.float64(), pa.string())
_AS_TEXT: Final = (T.StringType(), Encoding("text"))


class Column(NamedTuple):
    """How a column's values become JSON, their stored type, and their encoding."""

    make: Make
    stored: T.DataType
    encoding: Encoding


class ArrowTexts:
    """Makes the JSON texts of records with these columns. `row_schema` describes them."""

    def __init__(self, columns: Mapping[str, pa.DataType]) -> None:
        known = {name: _column(kind) for name, kind in columns.items()}
        self.row_schema = file_schema({name: (column.stored, column.encoding) for name, column in known.items()})
        self._makers = {name: column.make for name, column in known.items()}

    def array(self, arrays: Sequence[pa.Array]) -> pa.Array:
        """The records, as an array of bytes. `arrays`: the columns, in their order."""
        return objects(self._makers, arrays)

    def texts(self, arrays: Sequence[pa.Array]) -> list[bytes]:
        """The records. `arrays`: the columns, in their order."""
        return self.array(arrays).to_pylist()  # type: ignore[no-any-return]


class MessageTexts:
    """Makes the JSON texts of a topic's messages. `columns`: the types of the fields of the text; see
    `message_columns`. Bytes become base64. Nested values, such as headers, stay nested JSON."""

    def __init__(self, columns: Mapping[str, pa.DataType]) -> None:
        self._makers = {name: json_values(kind) for name, kind in columns.items()}

    def texts(self, arrays: Sequence[pa.Array]) -> list[bytes]:
        """The messages. `arrays`: the columns, in their order."""
        return objects(self._makers, arrays).to_pylist()  # type: ignore[no-any-return]


def text_batches(
    names: Sequence[str], kept: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Converts the column `record` to JSON texts. Gives the columns of `kept`, then text and row_schema. `names`: the
    columns of a record."""
    made: ArrowTexts | None = None
    for batch in batches:
        arrays = batch.column("record").flatten()
        made = made or ArrowTexts(dict(zip(names, (array.type for array in arrays), strict=True)))
        texts = made.array(arrays).cast(pa.binary()).view(pa.string())
        schemas = pa.array([made.row_schema] * len(batch), pa.string())
        yield pa.RecordBatch.from_arrays([*map(batch.column, kept), texts, schemas], [*kept, "text", "row_schema"])


def message_columns(names: Sequence[str], binary: Iterable[str], texts: Iterable[str]) -> dict[str, str]:
    """The columns of a topic's messages in a typed file, by their names in a line of JSON. Empty if no column, or more
    than one, can be the message."""
    only = list(binary)
    readable = {*only, *texts}
    value = next((name for name in ("value_avro", "value") if name in readable), only[0] if len(only) == 1 else None)
    if value is None:
        return {}
    key = next((name for name in ("key_avro", "key") if name in readable), None)
    others = {name: name for name in ("topic", "partition", "offset", "headers") if name in names}
    return {"value": value} | ({} if key is None else {"key": key}) | others


# --- columns --------------------------------------------------------------------------------------------------------


def _column(kind: pa.DataType) -> Column:
    """The conversion, stored type and encoding of a column of a file."""
    if pa.types.is_dictionary(kind):
        of_values = _column(kind.value_type)
        return of_values._replace(make=lambda array: of_values.make(array.cast(kind.value_type)))
    plain = plain_type(kind)
    if pa.types.is_null(kind):
        return Column(nothing, T.NullType(), Encoding("text"))
    if pa.types.is_decimal(plain):
        fits = plain.precision <= T.DecimalType(38).precision
        stored = (T.DecimalType(plain.precision, plain.scale), Encoding("decimal_text")) if fits else _AS_TEXT
        return Column(lambda array: in_quotes(digits(array.cast(plain))), *stored)
    if pa.types.is_time(plain):
        return Column(clocks, *_AS_TEXT)
    if pa.types.is_timestamp(plain):
        return _moment_column(nine_digits if plain.unit == "ns" else short_moments, plain.tz is not None)
    if plain in _STORED:
        return Column(json_values(kind), *_typed(plain))
    if is_list(plain) and _item_type(plain) in _IN_ARRAYS:
        item, items = _typed(_item_type(plain))
        return Column(json_values(plain), T.ArrayType(item), Encoding("array", items=items))
    make = json_values(plain)
    return Column((lambda array: quoted(make(array))) if has_parts(plain) else make, *_AS_TEXT)


def _typed(kind: pa.DataType) -> Typed:
    stored, encoding = _STORED[kind]
    return stored, Encoding.of(stored, encoding)


def _moment_column(make: Make, is_instant: bool) -> Column:
    """Times as text. Instants end with Z."""
    if is_instant:
        return Column(lambda array: joined(b'"', make(array), b'Z"'), T.TimestampType(), Encoding("zoned_text"))
    return Column(lambda array: in_quotes(make(array)), T.TimestampNTZType(), Encoding("local_text"))


def _item_type(kind: pa.DataType) -> pa.DataType:
    """The type of an array's items. Times of day and nanoseconds are counts."""
    item = plain_type(kind.value_type)
    if is_bare_count(item):
        return pa.int32() if pa.types.is_time32(item) else pa.int64()
    return item
