"""From lines of text to changes. One file a format, all with the same face; `spec.source.format` chooses.

`lines -> envelopes -> control_rows`, and for each table `envelopes -> discover -> decode_rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import DataFrame

from engine.decode import datastream, debezium_json, plain_rows
from engine.decode.control import control_rows
from engine.decode.discover import discover
from engine.decode.envelope import CHANGE, CONTROL, ENVELOPE_COLUMNS, ENVELOPE_SCHEMA, REJECT
from engine.decode.rows import decode_rows
from engine.decode.shape import ColumnShape, Encoding, TableShape
from engine.errors import SpecError
from engine.spec.model import SourceSpec

FORMATS: Final[dict[str, Callable[[DataFrame, SourceSpec], DataFrame]]] = {
    "debezium-json": debezium_json.envelopes,
    "rows": plain_rows.envelopes,
    "datastream-json": datastream.envelopes,
    "datastream-avro": datastream.envelopes,
}


def envelopes(lines: DataFrame, source: SourceSpec) -> DataFrame:
    """What each line is, read as the source's format says.

    Needs: file string, line bigint, text string.
    Gives: the columns of ENVELOPE_COLUMNS.
    Rows: 1:1.
    Raises: SpecError for a format that has no decoder.
    """
    decoder = FORMATS.get(source.format)
    if decoder is None:
        listed = ", ".join(FORMATS)
        raise SpecError(f"Cannot decode {source.format}: no decoder for it ({listed} has one).")
    return decoder(lines, source)


__all__ = [
    "envelopes",
    "discover",
    "decode_rows",
    "control_rows",
    "TableShape",
    "ColumnShape",
    "Encoding",
    "ENVELOPE_COLUMNS",
    "ENVELOPE_SCHEMA",
    "CHANGE",
    "CONTROL",
    "REJECT",
    "FORMATS",
]
