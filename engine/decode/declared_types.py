"""Column types that a spec declares, and the encoding of their values in events without a schema."""

from __future__ import annotations

from pyspark.sql import types as T

from siltstone.engine.decode import written_types
from siltstone.engine.decode.json_encoding import binary_encoding, clock_encoding, plain_json_encoding
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
"""Modes that count every time in one unit, and the digits of a second of that unit."""
_CLOCKS: dict[str, Encoding] = {
    "connect": Encoding("time_millis"),
    "adaptive_time_microseconds": Encoding("time_micros"),
    "microseconds": Encoding("time_micros"),
    "nanoseconds": Encoding("time_nanos"),
}


def stored_type(declared: ColumnType) -> T.DataType:
    """The stored type of a declared type. Maps and structs are stored as JSON text."""
    kind = declared.source_encoding.kind
    if kind in ("map", "struct"):
        return T.StringType()
    if kind == "array":
        return T.ArrayType(stored_type(declared.children[0][1]))
    return declared.data_type()


def schemaless_encoding(declared: ColumnType, source: SourceSpec, any_scale: bool = False) -> Encoding:
    """The encoding of a declared type's values in events without a schema.

    `any_scale`: the events can have numbers with their own scale, such as PostgreSQL's unconstrained numerics.
    """
    if format_of(source.format).values == "json":
        return plain_json_encoding(declared, source)
    if format_of(source.format).values == "written":
        return written_types.encoding_of(declared, source)
    return _debezium_encoding(declared, source, any_scale)


def _debezium_encoding(declared: ColumnType, source: SourceSpec, any_scale: bool) -> Encoding:
    wanted = declared.source_encoding
    if wanted.kind == "array":
        return Encoding("array", items=_debezium_encoding(declared.children[0][1], source, any_scale))
    if wanted.kind == "decimal":
        return _decimal(declared.data_type(), source, any_scale)
    if wanted.kind == "string":
        return Encoding("any_text" if any_scale else "text")
    if wanted.kind == "binary":
        return binary_encoding(source)
    if wanted.kind in ("timestamp", "timestamp_ntz"):
        return _moment(wanted, source)
    if wanted.kind == "date" and source.times != "isostring":
        return Encoding("days")
    if wanted.kind == "time":
        return _CLOCKS.get(source.times) or Encoding("time", wanted.precision)
    if wanted.kind == "bits":
        return Encoding("bits", wanted.precision)
    return Encoding({**_TEXT_KINDS, **_SAME_KINDS}[wanted.kind])


def corrected_encoding(actual: Encoding, wanted: SourceEncoding, source: SourceSpec) -> Encoding:
    """The encoding from an event's own schema, corrected by the declared type: signs, bytes written as text."""
    if format_of(source.format).values == "written":
        return written_types.corrected(actual, wanted, source)
    if wanted.kind == "unsigned" and actual.kind == "integer":
        return Encoding("unsigned")
    if wanted.kind == "bits":
        return _bits(actual, wanted, source)
    if wanted.kind == actual.kind == "floating":
        return Encoding("floating")  # whatever the width in the source
    if wanted.kind == "binary" and actual.kind == "text":
        return binary_encoding(source)
    if wanted.kind == "decimal" and actual.kind in ("text", "floating", "integer"):
        return Encoding("decimal_text")
    if wanted.kind in ("timestamp", "timestamp_ntz") and actual.kind in ("text", "integer"):
        return Encoding("moment", wanted.precision)
    if wanted.kind == "date" and actual.kind in ("text", "integer"):
        return Encoding("date")
    if wanted.kind == "time" and actual.kind in ("text", "integer") and format_of(source.format).values == "json":
        return clock_encoding("time_text" if actual.kind == "text" else "time_either", wanted, source)
    return actual


def _bits(actual: Encoding, wanted: SourceEncoding, source: SourceSpec) -> Encoding:
    if actual.kind in ("integer", "text") and format_of(source.format).values == "json":
        return Encoding("written_any_bits", wanted.precision)
    return Encoding("bits", wanted.precision) if actual.kind in ("bits", "boolean") else actual


def _moment(wanted: SourceEncoding, source: SourceSpec) -> Encoding:
    """A count in the unit of the mode or of the column, or text. An instant can be text in every mode."""
    digits = _DIGITS.get(source.times, wanted.precision)
    if wanted.kind == "timestamp_ntz" and digits is not None and source.times != "isostring":
        return Encoding(_COUNTED[unit_of(digits)])
    return Encoding("moment", digits)


def _decimal(kind: T.DataType, source: SourceSpec, any_scale: bool) -> Encoding:
    if source.decimals == "precise" and isinstance(kind, T.DecimalType):
        return Encoding("decimal_either" if any_scale else "decimal_base64", kind.scale)
    return Encoding("decimal_text")
