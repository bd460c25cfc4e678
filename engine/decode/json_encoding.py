"""The encodings of plain JSON, without a connector's own encodings: numbers as numbers, times as ISO text."""

from __future__ import annotations

from typing import Final

from siltstone.engine.decode.row_shape import Encoding, EncodingKind
from siltstone.engine.formats import format_of
from siltstone.engine.spec.columns import ColumnType, SourceEncoding
from siltstone.engine.spec.model import SourceSpec

_KINDS: Final[dict[str, EncodingKind]] = {
    "boolean": "boolean", "integer": "integer", "floating": "floating",
    "decimal": "decimal_number", "unsigned": "decimal_number", "date": "date",
}  # fmt: skip


def plain_json_encoding(declared: ColumnType, source: SourceSpec) -> Encoding:
    """The encoding of a declared type's values. Text of a time without a zone is in the source's zone; a number counts
    since 1970 in UTC. A format that counts clocks has microseconds, whatever the digits of the column."""
    wanted = declared.source_encoding
    if wanted.kind == "array":
        return Encoding("array", items=plain_json_encoding(declared.children[0][1], source))
    if wanted.kind == "binary":
        return binary_encoding(source)
    if wanted.kind in ("timestamp", "timestamp_ntz"):
        return Encoding("instant", wanted.precision)
    if wanted.kind == "time":
        return clock_encoding("time_either", wanted, source)
    if wanted.kind == "bits":
        return Encoding("written_any_bits" if format_of(source.format).counts_clocks else "bits", wanted.precision)
    return Encoding(_KINDS.get(wanted.kind, "text"))


def clock_encoding(kind: EncodingKind, wanted: SourceEncoding, source: SourceSpec) -> Encoding:
    """The encoding of a time of day, as a count or as text."""
    return Encoding(kind, None if format_of(source.format).counts_clocks else wanted.precision)


def binary_encoding(source: SourceSpec) -> Encoding:
    """How binary values are written as text: as the spec declares, else as the format does."""
    if source.binaries == "base64-url-safe":
        return Encoding("base64_url")
    by_format = source.binaries == "bytes" and format_of(source.format).counts_clocks
    return Encoding("hex" if source.binaries == "hex" or by_format else "base64")
