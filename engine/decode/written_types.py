"""Encodings of declared types in formats whose values are text, or are read as text."""

from __future__ import annotations

from typing import Final

from siltstone.engine.decode.json_encoding import binary_encoding
from siltstone.engine.decode.row_shape import Encoding, EncodingKind
from siltstone.engine.formats import format_of
from siltstone.engine.spec.columns import ColumnType, Kind, SourceEncoding
from siltstone.engine.spec.model import SourceSpec

_KINDS: Final[dict[Kind, EncodingKind]] = {
    "boolean": "written_boolean",
    "integer": "written_integer",
    "unsigned": "written_integer",
    "floating": "written_floating",
    "decimal": "decimal_text",
    "date": "date",
    "timestamp": "written_moment",
    "timestamp_ntz": "written_moment",
    "time": "written_time",
    "bits": "written_bits",
}
_LABELLED: Final = ("written_enum", "written_set")


def encoding_of(declared: ColumnType, source: SourceSpec) -> Encoding:
    """The encoding of a declared type's values in an event without types."""
    wanted = declared.source_encoding
    if wanted.kind == "array":
        return Encoding("array", items=encoding_of(declared.children[0][1], source))
    return _plain(wanted, source)


def corrected(actual: Encoding, wanted: SourceEncoding, source: SourceSpec) -> Encoding:
    """The encoding from the event's own types, for a column that is declared with another type."""
    if wanted.kind == "array" or actual.kind == "array":
        return actual if wanted.kind == "array" else Encoding("written_text")
    if wanted.kind in ("string", "enum") and actual.kind in _LABELLED:
        return actual
    if wanted.kind == "binary" and actual.kind in ("written_bytes", "base64"):
        return actual
    return _plain(wanted, source)


def _plain(wanted: SourceEncoding, source: SourceSpec) -> Encoding:
    if format_of(source.format).marks_values and wanted.kind not in _KINDS:
        return Encoding("marked")
    if wanted.kind == "binary":
        return Encoding("written_bytes") if format_of(source.format).bytes_are_text else binary_encoding(source)
    return Encoding(_KINDS.get(wanted.kind, "written_text"), wanted.precision if wanted.kind == "bits" else None)
