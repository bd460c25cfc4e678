"""AWS Database Migration Service: the JSON messages that it writes to Kafka and Kinesis."""

from __future__ import annotations

import re
from typing import Final

from siltstone.engine.formats.base import (
    NO_BEATS,
    NO_FILES,
    NO_LANE,
    NO_SIZE,
    NO_SNAPSHOTS,
    ONE_WAY,
    Format,
    SourceKind,
)

FORMATS: Final = (
    Format(
        "dms-json",
        "siltstone.engine.decode.formats.dms:DmsDecoder",
        (
            SourceKind(
                "dms",
                unavailable_checks=NO_SNAPSHOTS
                | {
                    "incomplete_transaction": NO_SIZE,
                    "log_gap": NO_FILES,
                    "positions_backwards": NO_LANE,
                    "stalled_source": NO_BEATS,
                },
                notation="siltstone.engine.decode.formats.dms:notation",
            ),
        ),
        "commit time and position in the source's log, where messages have them, else the place of the messages",
        of_topics=True,
        marks=re.compile(rb'(?s)\A(?=.*"metadata\\?"\s*:)(?=.*"record-type\\?"\s*:)'),
        looks_for="data and metadata with a record-type",
        settings=frozenset({"order", "nulls"}),
        refuses=dict.fromkeys(("decimals", "times"), ONE_WAY),
        orders=("auto", "coordinates"),
        values="json",
        counts_clocks=True,
        splits_declared_keys=True,
    ),
)
