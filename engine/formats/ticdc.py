"""TiCDC: changes of TiDB, as Canal's messages with the TiDB extension, and as a source of Debezium's events."""

from __future__ import annotations

import re
from typing import Final

from siltstone.engine.formats.base import (
    NO_FILES,
    NO_READS,
    NO_SIZE,
    NO_SNAPSHOTS,
    ONE_WAY,
    OWN_TIME,
    Format,
    SourceKind,
)

_MANY_NODES: Final = "several nodes can send the changes of one table, each in its own order"
_NO_PARTITION: Final = "its watermarks do not name their partition"
_UNAVAILABLE_CHECKS: Final = NO_SNAPSHOTS | {
    "incomplete_transaction": NO_SIZE,
    "log_gap": NO_FILES,
    "positions_backwards": _MANY_NODES,
    "time_against_order": OWN_TIME,
    "snapshot_reads": NO_READS,
}

IN_DEBEZIUM: Final = SourceKind(
    "TiCDC:",
    "TiCDC",
    _UNAVAILABLE_CHECKS | {"stalled_source": _NO_PARTITION},
    has_mysql_values=True,
    notation="siltstone.engine.decode.formats.tso:notation",
)
"""TiCDC's events in the protocol of Debezium."""

FORMATS: Final = (
    Format(
        "ticdc-json",
        "siltstone.engine.decode.formats.ticdc:TicdcDecoder",
        (
            SourceKind(
                "ticdc",
                unavailable_checks=_UNAVAILABLE_CHECKS,
                has_partitions=True,
                notation="siltstone.engine.decode.formats.tso:notation",
            ),
        ),
        "the TSO of the commit (_tidb.commitTs)",
        of_topics=True,
        marks=re.compile(rb'"_tidb\\?"\s*:'),
        looks_for="a message of Canal with _tidb",
        needs_marks=True,  # a message without `_tidb` is Canal's
        no_key="siltstone.engine.decode.formats.canal:shows_no_key",
        refuses=dict.fromkeys(("binaries", "decimals", "times"), ONE_WAY),
        values="written",
        bytes_are_text=True,
        fans_out=True,
        splits_key_changes=True,
    ),
)
