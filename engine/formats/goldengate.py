"""Oracle GoldenGate for Big Data: operations of a trail as JSON."""

from __future__ import annotations

import re
from typing import Final

from siltstone.engine.formats.base import (
    NO_BEATS,
    NO_FILES,
    NO_READS,
    NO_SIZE,
    NO_SNAPSHOTS,
    ONE_WAY,
    Format,
    SourceKind,
)

FORMATS: Final = (
    Format(
        "goldengate-json",
        "siltstone.engine.decode.formats.goldengate:GoldenGateDecoder",
        (
            SourceKind(
                "goldengate",
                unavailable_checks=NO_SNAPSHOTS
                | {
                    "incomplete_transaction": NO_SIZE,
                    "log_gap": NO_FILES,
                    "stalled_source": NO_BEATS,
                    "snapshot_reads": NO_READS,
                },
                commits_in_order=True,
                stamps_commits=True,
                notation="siltstone.engine.decode.formats.goldengate:notation",
            ),
        ),
        "pos, the place in the trail, if all operations have it, else the place of the operations",
        of_topics=True,
        marks=re.compile(rb'(?s)\A(?=.*"op_type\\?"\s*:)(?=.*"table\\?"\s*:)'),
        looks_for="table, op_type, op_ts and pos, with before and after, or with the columns",
        settings=frozenset({"order"}),
        no_key="siltstone.engine.decode.formats.goldengate:shows_no_key",
        refuses=dict.fromkeys(("decimals", "times"), ONE_WAY),
        orders=("auto", "coordinates"),
        values="written",
        fans_out=True,
        can_turn_to_coordinates=True,
        splits_key_changes=True,
        omits_columns=True,
    ),
)
