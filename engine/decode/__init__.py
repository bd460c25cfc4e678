"""From lines of text to changes. One file a format, all with the same face; `spec.source.format` chooses.

`lines -> envelopes -> control_rows`, and for each table `envelopes -> discover -> decode_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine.decode import (
    canal_json,
    datastream,
    debezium_avro,
    debezium_json,
    dts_avro,
    key_changes,
    pairs,
    plain_rows,
    rows,
    shareplex_json,
    spanner_json,
)
from engine.decode.control import control_rows
from engine.decode.debezium_places import seen_by_scn
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


@dataclass(frozen=True)
class Format:
    """How a format is read, and what its readers have to know of it.

    `needs_keys`: an event does not always say that it changes a key, or which table it is about. `fans_out`: one line
    can hold several changes. `reads_whole`: a line's meaning can depend on the lines before it in its file; `reads_on`:
    on those of other files, too; whether the lines on one side of new ones are enough. `by_coordinates`: a change's
    place by where it was delivered, where that orders all changes from one on whose own place is not told.
    `seen_by_scn`: the source of a record that shows that SCNs alone order it, as nothing else said; null of the others.
    """

    envelopes: Callable[..., DataFrame]
    needs_keys: bool = False
    fans_out: bool = False
    reads_whole: bool = False
    reads_on: Callable[[DataFrame, DataFrame], bool] | None = None
    by_coordinates: Callable[[SourceSpec], Column] | None = None
    seen_by_scn: Callable[[], Column] | None = None

    @property
    def withdraws(self) -> bool:
        """Whether files that come later can show that a change which was taken is none: it was sent again."""
        return self.reads_on is not None


FORMATS: Final[Mapping[str, Format]] = {
    "debezium-json": Format(debezium_json.envelopes, needs_keys=True, seen_by_scn=seen_by_scn),
    "debezium-avro": Format(debezium_avro.envelopes, needs_keys=True, seen_by_scn=seen_by_scn),
    "canal-json": Format(
        canal_json.envelopes, needs_keys=True, fans_out=True, reads_whole=True, reads_on=canal_json.are_enough
    ),
    "dts-avro": Format(dts_avro.envelopes, needs_keys=True, fans_out=True),
    "spanner-json": Format(spanner_json.envelopes, fans_out=True),
    "shareplex-json": Format(
        shareplex_json.envelopes,
        needs_keys=True,
        fans_out=True,
        reads_whole=True,
        by_coordinates=shareplex_json.by_coordinates,
    ),
    "datastream-json": Format(datastream.envelopes),
    "datastream-avro": Format(datastream.envelopes),
    "rows": Format(plain_rows.envelopes),
}


def envelopes(
    lines: DataFrame, source: SourceSpec, declared: Mapping[str, tuple[str, ...] | None] | None = None
) -> DataFrame:
    """What each line is, read as the source's format says. `declared`: the tables that specs name, and their keys.

    Needs: file string, line bigint, text string.
    Gives: the columns of ENVELOPE_COLUMNS, then announced. Where a line is many changes, not all of them bring its
        text; the first one of a table does.
    Rows: 1:1; 1:n for the formats that fan out.
    Raises: SpecError for a format that has no decoder.
    """
    form = FORMATS.get(source.format)
    if form is None:
        listed = ", ".join(FORMATS)
        raise SpecError(f"Cannot decode {source.format}: no decoder for it ({listed} has one).")
    keys = (declared or {},) if form.needs_keys else ()
    found = form.envelopes(lines, source, *keys)
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


def tell_moves(form: str, declared: Mapping[str, tuple[str, ...] | None]) -> Column:
    """Whether a record says, by itself or with another one, that a row gets another key, and decoding has to look for
    it: asked of all records before any is decoded.

    Needs: the columns of ENVELOPE_COLUMNS. `declared`: the tables that specs name, and their keys.
    """
    return pairs.is_first() if form in pairs.FORMATS else key_changes.is_untold(form, declared)


def decode_rows(
    envelopes: DataFrame, shape: TableShape, spec: TableSpec, sooner: bool = True, moves: bool = True
) -> DataFrame:
    """The changes of one table, decoded: see `engine.decode.rows`. `moves`: false where it is known that no
    record of them tells a move (`tell_moves`)."""
    told = pairs.with_pairs(envelopes) if moves and spec.source.format in pairs.FORMATS else envelopes
    return rows.decode_rows(told, shape, spec, sooner)


__all__ = [
    "envelopes",
    "discover",
    "tell_moves",
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
    "Format",
]
