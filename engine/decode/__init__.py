"""From lines of text to changes. One file a format, all with the same face; `spec.source.format` chooses.

`lines -> envelopes -> control_rows`, and for each table `envelopes -> discover -> decode_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from engine.decode import (
    canal_json,
    datastream,
    debezium_avro,
    debezium_json,
    dts_avro,
    pairs,
    plain_rows,
    rows,
    shareplex_json,
    spanner_json,
)
from engine.decode.control import control_rows
from engine.decode.discover import discover
from engine.decode.envelope import (
    ANNOUNCED,
    ANNOUNCED_TYPE,
    CHANGE,
    CONTROL,
    ENVELOPE_COLUMNS,
    ENVELOPE_SCHEMA,
    REJECT,
)
from engine.decode.epochs import with_epochs
from engine.decode.ledgers import transaction_rows, watermark_rows
from engine.decode.shape import ColumnShape, Encoding, TableShape
from engine.errors import SpecError
from engine.spec.model import SourceSpec, TableSpec

FORMATS: Final[dict[str, Callable[..., DataFrame]]] = {
    "debezium-json": debezium_json.envelopes,
    "debezium-avro": debezium_avro.envelopes,
    "canal-json": canal_json.envelopes,
    "dts-avro": dts_avro.envelopes,
    "spanner-json": spanner_json.envelopes,
    "shareplex-json": shareplex_json.envelopes,
    "datastream-json": datastream.envelopes,
    "datastream-avro": datastream.envelopes,
    "rows": plain_rows.envelopes,
}
NEED_KEYS: Final = ("debezium-avro", "debezium-json", "canal-json", "dts-avro", "shareplex-json")
"""Formats of which an event does not always say that it changes a key, or which table it is about."""
FANNING_OUT: Final = ("canal-json", "dts-avro", "spanner-json", "shareplex-json")
"""Formats of which one line can hold several changes."""
READ_WHOLE: Final = ("canal-json", "shareplex-json")
"""Formats of which a line's meaning can depend on the lines before it in its file."""
READ_ON: Final = ("canal-json",)
"""Formats of which it can depend on the lines at the end of the file before, too."""


def envelopes(
    lines: DataFrame, source: SourceSpec, declared: Mapping[str, tuple[str, ...] | None] | None = None
) -> DataFrame:
    """What each line is, read as the source's format says. `declared`: the tables that specs name, and their keys.

    Needs: file string, line bigint, text string.
    Gives: the columns of ENVELOPE_COLUMNS, then announced.
    Rows: 1:1; 1:n for the formats in FANNING_OUT.
    Raises: SpecError for a format that has no decoder.
    """
    decoder = FORMATS.get(source.format)
    if decoder is None:
        listed = ", ".join(FORMATS)
        raise SpecError(f"Cannot decode {source.format}: no decoder for it ({listed} has one).")
    found = decoder(lines, source, declared or {}) if source.format in NEED_KEYS else decoder(lines, source)
    if ANNOUNCED not in found.columns:
        found = found.select("*", F.lit(None).cast(ANNOUNCED_TYPE).alias(ANNOUNCED))
    return as_delivered(with_epochs(found, source.epochs))


def as_delivered(envelopes: DataFrame) -> DataFrame:
    """The envelopes with the records as they came, where a format turned them into another one's text.

    Needs: the columns of ENVELOPE_COLUMNS; record, where the text is not what was delivered.
    Gives: the columns of ENVELOPE_COLUMNS.
    Rows: 1:1.
    """
    if "record" not in envelopes.columns:
        return envelopes
    kept = [name for name in envelopes.columns if name != "record"]
    return envelopes.select(*[F.col("record").alias(name) if name == "text" else F.col(name) for name in kept])


def decode_rows(envelopes: DataFrame, shape: TableShape, spec: TableSpec) -> DataFrame:
    """The changes of one table, decoded: see `engine.decode.rows`."""
    told = pairs.with_pairs(envelopes) if spec.source.format in pairs.FORMATS else envelopes
    return rows.decode_rows(told, shape, spec)


__all__ = [
    "envelopes",
    "discover",
    "decode_rows",
    "control_rows",
    "transaction_rows",
    "watermark_rows",
    "TableShape",
    "ColumnShape",
    "Encoding",
    "ANNOUNCED",
    "ENVELOPE_COLUMNS",
    "ENVELOPE_SCHEMA",
    "CHANGE",
    "CONTROL",
    "REJECT",
    "FORMATS",
    "FANNING_OUT",
    "READ_WHOLE",
    "READ_ON",
]
