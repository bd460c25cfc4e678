"""Quest SharePlex: operations of Oracle's redo log as JSON, also as Alibaba DTS writes them."""

from __future__ import annotations

import re
from typing import Final

from siltstone.engine.formats.base import NO_BEATS, NO_FILES, NO_READS, NO_SNAPSHOTS, ONE_WAY, Format, SourceKind

FORMATS: Final = (
    Format(
        "shareplex-json",
        "siltstone.engine.decode.formats.shareplex:SharePlexDecoder",
        (
            SourceKind(
                "shareplex",
                unavailable_checks=NO_SNAPSHOTS
                | {"log_gap": NO_FILES, "stalled_source": NO_BEATS, "snapshot_reads": NO_READS},
                notation="siltstone.engine.decode.formats.shareplex:notation",
            ),
        ),
        "SCN, transaction and operation, if all changes have an SCN, else the place of the operations",
        of_topics=True,
        marks=re.compile(rb'(?s)"meta\\?"\s*:\s*\{.*"op\\?"\s*:'),
        looks_for="meta with an op, and data",
        settings=frozenset({"order"}),
        refuses=dict.fromkeys(("decimals", "times"), ONE_WAY),
        orders=("auto", "scn", "coordinates"),
        values="written",
        fans_out=True,
        reads_whole=True,
        joins_lines=True,
        is_complete="siltstone.engine.decode.formats.shareplex:is_complete",
        can_turn_to_coordinates=True,
        splits_key_changes=True,
    ),
)
