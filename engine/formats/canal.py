"""Canal: messages of MySQL's binlog as flat JSON, also as Alibaba DTS writes them."""

from __future__ import annotations

import re
from typing import Final

from siltstone.engine.formats.base import NO_FILES, NO_SIZE, NO_SNAPSHOTS, ONE_WAY, OWN_PLACE, Format, SourceKind

FORMATS: Final = (
    Format(
        "canal-json",
        "siltstone.engine.decode.formats.canal:CanalDecoder",
        (
            SourceKind(
                "canal",
                unavailable_checks=NO_SNAPSHOTS
                | {"incomplete_transaction": NO_SIZE, "log_gap": NO_FILES, "positions_backwards": OWN_PLACE},
                notation="siltstone.engine.decode.formats.coordinates:notation",
            ),
        ),
        "the place of the messages: partition and offset, else file and line",
        of_topics=True,
        marks=re.compile(rb'"(?:isDdl|mysqlType|MHEARTBEAT)\\?"'),
        looks_for="database, table, type and isDdl or mysqlType",
        needs_marks=True,  # rows can have a column `type` as well
        no_key="siltstone.engine.decode.formats.canal:shows_no_key",
        settings=frozenset({"images"}),
        refuses=dict.fromkeys(("binaries", "decimals", "times"), ONE_WAY),
        values="written",
        bytes_are_text=True,
        fans_out=True,
        reads_whole=True,
        resends=True,
        splits_key_changes=True,
    ),
)
