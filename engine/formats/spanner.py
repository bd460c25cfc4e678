"""Google Spanner: records of change streams."""

from __future__ import annotations

import re
from typing import Final

from engine.formats.base import NO_FILES, NO_READS, NO_SNAPSHOTS, ONE_WAY, OWN_TIME, Format, SourceKind

FORMATS: Final = (
    Format(
        "spanner-json",
        "engine.decode.formats.spanner:SpannerDecoder",
        (
            SourceKind(
                "spanner",
                not_carried=NO_SNAPSHOTS
                | {"log_gap": NO_FILES, "time_against_order": OWN_TIME, "snapshot_reads": NO_READS},
                has_partitions=True,
            ),
        ),
        "commit time in nanoseconds, transaction, record in it",
        marks=re.compile(rb'(?is)"data_?change_?record\\?"|\A(?=.*"mods\\?")(?=.*"table_?name\\?")'),
        looks_for="data_change_record, or mods with a table_name",
        refuses=dict.fromkeys(("binaries", "decimals", "times"), ONE_WAY),
        has_bare_tables=True,
        values="written",
        fans_out=True,
    ),
)
