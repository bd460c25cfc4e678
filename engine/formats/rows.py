"""Plain rows: each record is the row after its change; the spec says what orders them and which ones are deletes."""

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
_TIMED: Final = "its snapshot READs carry a time only"
_UPSERTS: Final = "rows do not say whether they are new"

FORMATS: Final = (
    Format(
        ROWS,
        "siltstone.engine.decode.formats.rows:RowsDecoder",
        (
            SourceKind(
                "rows",
                not_carried=NO_SNAPSHOTS
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
        "a column that you name under sequence_by",
        containers=("json", "csv", "avro", "parquet"),
        holds="rows",
        refuses=dict.fromkeys(("decimals", "times"), "rows carry values as they are"),
        values="natural",
    ),
)
