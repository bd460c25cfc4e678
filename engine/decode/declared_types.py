"""Column types as a spec declares them, and how events without a schema of their own carry their values."""

from __future__ import annotations

from pyspark.sql import types as T

from siltstone.engine.decode import written_types
from siltstone.engine.decode.json_encoding import binary_encoding, clock_encoding, natural_encoding
from siltstone.engine.decode.row_shape import Encoding, EncodingKind
from siltstone.engine.decode.types.dates_and_times import unit_of
from siltstone.engine.formats import format_of
from siltstone.engine.spec.columns import ColumnType, SourceEncoding
from siltstone.engine.spec.model import SourceSpec

_TEXT_KINDS: dict[str, EncodingKind] = {"json": "text", "uuid": "text", "enum": "text", "xml": "text"}
_SAME_KINDS: dict[str, EncodingKind] = {
    "boolean": "boolean", "integer": "integer", "floating": "floating", "unsigned": "unsigned",
    "date": "date", "map": "text", "struct": "text",
}  # fmt: skip
_COUNTED: dict[str, EncodingKind] = {"millis": "millis", "micros": "micros", "nanos": "nanos"}
_DIGITS = {"connect": 3, "microseconds": 6, "nanoseconds": 9}
"""Modes in which every time is counted in one unit, and the digits of a second that the unit has."""
_CLOCKS: dict[str, Encoding] = {
    "connect": Encoding("time_millis"),
    "adaptive_time_microseconds": Encoding("time_micros"),
    "microseconds": Encoding("time_micros"),
    "nanoseconds": Encoding("time_nanos"),
}


def stored_type(declared: ColumnType) -> T.DataType:
    """The stored type. Maps and structs are kept as JSON text."""
    kind = declared.source_encoding.kind
    if kind in ("map", "struct"):
        return T.StringType()
    if kind == "array":
        return T.ArrayType(stored_type(declared.children[0][1]))
    return declared.data_type()


def schemaless_encoding(declared: ColumnType, source: SourceSpec, any_scale: bool = False) -> Encoding:
    """How an event without a schema carries a value of the declared type.

    `any_scale`: the events may hold numbers that say their own scale, as PostgreSQL's unconstrained numerics do.
    """
    if format_of(source.format).values == "natural":
        return natural_encoding(declared, source)
    if format_of(source.format).values == "written":
        return written_types.encoding_of(declared, source)
    return _debezium_encoding(declared, source, any_scale)


def _debezium_encoding(declared: ColumnType, source: SourceSpec, any_scale: bool) -> Encoding:
    said = declared.source_encoding
    if said.kind == "array":
        return Encoding("array", items=_debezium_encoding(declared.children[0][1], source, any_scale))
    if said.kind == "decimal":
        return _decimal(declared.data_type(), source, any_scale)
    if said.kind == "string":
        return Encoding("any_text" if any_scale else "text")
    if said.kind == "binary":
        return binary_encoding(source)
    if said.kind in ("timestamp", "timestamp_ntz"):
        return _moment(said, source)
    if said.kind == "date" and source.times != "isostring":
        return Encoding("days")
    if said.kind == "time":
        return _CLOCKS.get(source.times) or Encoding("time", said.precision)
    if said.kind == "bits":
        return Encoding("bits", said.precision)
    return Encoding({**_TEXT_KINDS, **_SAME_KINDS}[said.kind])


def corrected_encoding(carried: Encoding, said: SourceEncoding, source: SourceSpec) -> Encoding:
    """The encoding of an event's own schema, with what only the declared type knows: signs, text that is bytes."""
    if format_of(source.format).values == "written":
        return written_types.corrected(carried, said, source)
    if said.kind == "unsigned" and carried.kind == "integer":
        return Encoding("unsigned")
    if said.kind == "bits":
        return _bits(carried, said, source)
    if said.kind == carried.kind == "floating":
        return Encoding("floating")  # whatever the source's own width
    if said.kind == "binary" and carried.kind == "text":
        return binary_encoding(source)
    if said.kind == "decimal" and carried.kind in ("text", "floating", "integer"):
        return Encoding("decimal_text")
    if said.kind in ("timestamp", "timestamp_ntz") and carried.kind in ("text", "integer"):
        return Encoding("moment", said.precision)
    if said.kind == "date" and carried.kind in ("text", "integer"):
        return Encoding("date")
    if said.kind == "time" and carried.kind in ("text", "integer") and format_of(source.format).values == "natural":
        return clock_encoding("time_text" if carried.kind == "text" else "time_either", said, source)
    return carried


def _bits(carried: Encoding, said: SourceEncoding, source: SourceSpec) -> Encoding:
    if carried.kind in ("integer", "text") and format_of(source.format).values == "natural":
        return Encoding("written_any_bits", said.precision)
    return Encoding("bits", said.precision) if carried.kind in ("bits", "boolean") else carried


def _moment(said: SourceEncoding, source: SourceSpec) -> Encoding:
    """A count in the unit of the mode or of the column, or text: that of an instant in every mode."""
    digits = _DIGITS.get(source.times, said.precision)
    if said.kind == "timestamp_ntz" and digits is not None and source.times != "isostring":
        return Encoding(_COUNTED[unit_of(digits)])
    return Encoding("moment", digits)


def _decimal(kind: T.DataType, source: SourceSpec, any_scale: bool) -> Encoding:
    if source.decimals == "precise" and isinstance(kind, T.DecimalType):
        return Encoding("decimal_either" if any_scale else "decimal_base64", kind.scale)
    return Encoding("decimal_text")
