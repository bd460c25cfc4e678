"""Formats whose values are text, or become text by reading them as such: which encoding a column's type asks for."""

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
    """How an event that says nothing of its types carries a value of the declared one."""
    said = declared.source_encoding
    if said.kind == "array":
        return Encoding("array", items=encoding_of(declared.children[0][1], source))
    return _plain(said, source)


def corrected(carried: Encoding, said: SourceEncoding, source: SourceSpec) -> Encoding:
    """The encoding that the event's own types give, where a column is declared with another type."""
    if said.kind == "array" or carried.kind == "array":
        return carried if said.kind == "array" else Encoding("written_text")
    if said.kind in ("string", "enum") and carried.kind in _LABELLED:
        return carried
    if said.kind == "binary" and carried.kind in ("written_bytes", "base64"):
        return carried
    return _plain(said, source)


def _plain(said: SourceEncoding, source: SourceSpec) -> Encoding:
    if format_of(source.format).marks_values and said.kind not in _KINDS:
        return Encoding("marked")
    if said.kind == "binary":
        return Encoding("written_bytes") if format_of(source.format).bytes_are_text else binary_encoding(source)
    return Encoding(_KINDS.get(said.kind, "written_text"), said.precision if said.kind == "bits" else None)
