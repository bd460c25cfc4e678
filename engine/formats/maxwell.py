"""Maxwell's daemon: rows of MySQL's binlog as JSON."""

from __future__ import annotations

import re
from typing import Final

from siltstone.engine.formats.base import MANY_LOGS, NO_BEATS, NO_SIZE, NO_SNAPSHOTS, ONE_WAY, Format, SourceKind

FORMATS: Final = (
    Format(
        "maxwell-json",
        "siltstone.engine.decode.formats.maxwell:MaxwellDecoder",
        (
            SourceKind(
                "maxwell",
                unavailable_checks=NO_SNAPSHOTS
                | {"incomplete_transaction": NO_SIZE, "log_gap": MANY_LOGS, "stalled_source": NO_BEATS},
                commits_in_order=True,
                notation="siltstone.engine.decode.formats.maxwell:notation",
            ),
        ),
        "position, then xoffset, if all rows have a position, else the place of the rows",
        of_topics=True,
        marks=re.compile(rb'(?s)\A(?=.*"database\\?"\s*:)(?=.*"type\\?"\s*:)(?=.*"(?:data|def|old|charset)\\?"\s*:)'),
        looks_for="database, table, type, ts and data",
        needs_marks=True,
        no_key="siltstone.engine.decode.formats.maxwell:shows_no_key",
        settings=frozenset({"order"}),
        refuses=dict.fromkeys(("binaries", "decimals", "times"), ONE_WAY),
        orders=("auto", "coordinates"),
        values="written",
        fans_out=True,
        can_turn_to_coordinates=True,
        splits_key_changes=True,
        omits_columns=True,
    ),
)
