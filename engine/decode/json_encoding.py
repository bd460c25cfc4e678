"""How JSON carries values where no connector chose an encoding for them: numbers as numbers, times as ISO text."""

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


def natural_encoding(declared: ColumnType, source: SourceSpec) -> Encoding:
    """How a value of the declared type is written. Text of a time without a zone is in the source's; a number counts
    since 1970 in UTC. A format that counts clocks gives microseconds, whatever the digits of the column."""
    said = declared.source_encoding
    if said.kind == "array":
        return Encoding("array", items=natural_encoding(declared.children[0][1], source))
    if said.kind == "binary":
        return binary_encoding(source)
    if said.kind in ("timestamp", "timestamp_ntz"):
        return Encoding("instant", said.precision)
    if said.kind == "time":
        return clock_encoding("time_either", said, source)
    if said.kind == "bits":
        return Encoding("written_any_bits" if format_of(source.format).counts_clocks else "bits", said.precision)
    return Encoding(_KINDS.get(said.kind, "text"))


def clock_encoding(kind: EncodingKind, said: SourceEncoding, source: SourceSpec) -> Encoding:
    """A time of day, counted or written."""
    return Encoding(kind, None if format_of(source.format).counts_clocks else said.precision)


def binary_encoding(source: SourceSpec) -> Encoding:
    """How binary values are written as text: as the spec says, else as the format does."""
    if source.binaries == "base64-url-safe":
        return Encoding("base64_url")
    by_format = source.binaries == "bytes" and format_of(source.format).counts_clocks
    return Encoding("hex" if source.binaries == "hex" or by_format else "base64")
