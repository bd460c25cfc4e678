"""Records and events as frames, decoded as in a run. Tests of the steps in Spark start from them."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from siltstone.engine.decode.columns_seen import Seen
from siltstone.engine.decode.row_shape import TableShape
from siltstone.engine.decode.table_shape import shape_of
from siltstone.engine.ingest.event_frames import columns_of, decode_rows
from siltstone.engine.ingest.source_records import Records
from siltstone.engine.spec.model import SourceSpec, TableSpec
from siltstone.engine.steps.batch_ledgers import transaction_rows, watermark_rows
from siltstone.engine.steps.control_events import control_rows


def envelopes(
    lines: DataFrame, source: SourceSpec, declared: Mapping[str, tuple[str, ...] | None] | None = None
) -> DataFrame:
    """The events of records in a frame (file, line, text, and other columns)."""
    return Records(lines.sparkSession, frames=[lines]).events(source, declared or {})


def discover(events: DataFrame, spec: TableSpec) -> TableShape:
    """The shape of a table's rows, from all events of its source, without filters."""
    return shape_of(spec, None, columns_of(events).get(spec.table, Seen.nothing()))


__all__ = [
    "TableShape",
    "control_rows",
    "decode_rows",
    "discover",
    "envelopes",
    "transaction_rows",
    "watermark_rows",
]
