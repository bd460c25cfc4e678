"""Records and events as frames, decoded as in a run. Tests of the steps in Spark start from them."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from siltstone.engine.decode.row_shape import TableShape
from siltstone.engine.ingest.event_frames import decode_rows, discover
from siltstone.engine.ingest.source_records import Records
from siltstone.engine.spec.model import SourceSpec
from siltstone.engine.steps.batch_ledgers import transaction_rows, watermark_rows
from siltstone.engine.steps.control_events import control_rows


def envelopes(
    lines: DataFrame, source: SourceSpec, declared: Mapping[str, tuple[str, ...] | None] | None = None
) -> DataFrame:
    """The events of records in a frame (file, line, text, and other columns)."""
    return Records(lines.sparkSession, frames=[lines]).events(source, declared or {})


__all__ = [
    "TableShape",
    "control_rows",
    "decode_rows",
    "discover",
    "envelopes",
    "transaction_rows",
    "watermark_rows",
]
