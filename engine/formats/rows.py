"""Plain rows: each record is the row after a change. The spec declares their order and which ones are deletes."""

from __future__ import annotations

from typing import Final

from siltstone.engine.formats.base import (
    NO_BEATS,
    NO_BEFORE,
    NO_FILES,
    NO_LANE,
    NO_SIZE,
    NO_SNAPSHOTS,
    Format,
    SourceKind,
)

ROWS: Final = "rows"
_TIMED: Final = "its snapshot READs have only a time"
_UPSERTS: Final = "rows do not show whether they are new"

FORMATS: Final = (
    Format(
        ROWS,
        "siltstone.engine.decode.formats.rows:RowsDecoder",
        (
            SourceKind(
                "rows",
                unavailable_checks=NO_SNAPSHOTS
                | {
                    "chain_break": NO_BEFORE,
                    "orphan": _UPSERTS,
                    "double_insert": _UPSERTS,
                    "incomplete_transaction": NO_SIZE,
                    "log_gap": NO_FILES,
                    "positions_backwards": NO_LANE,
                    "stalled_source": NO_BEATS,
                    "snapshot_reads": _TIMED,
                },
                notation="siltstone.engine.decode.formats.rows:notation",
            ),
        ),
        "the column under sequence_by",
        containers=("json", "csv", "avro", "parquet"),
        holds="rows",
        refuses=dict.fromkeys(("decimals", "times"), "its values have one form"),
        values="json",
    ),
)
