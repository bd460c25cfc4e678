"""Google Spanner: records of change streams, as JSON and in the Avro files that Dataflow writes."""

from __future__ import annotations

import re
from typing import Final

from siltstone.engine.formats.base import (
    NO_BEATS,
    NO_FILES,
    NO_LANE,
    NO_READS,
    NO_SNAPSHOTS,
    ONE_WAY,
    OWN_TIME,
    Container,
    Format,
    SourceKind,
)

_UNAVAILABLE_CHECKS: Final = NO_SNAPSHOTS | {
    "log_gap": NO_FILES,
    "time_against_order": OWN_TIME,
    "snapshot_reads": NO_READS,
}


def _format(name: str, container: Container, decoder: str, source: SourceKind, unit: str) -> Format:
    return Format(
        name,
        f"siltstone.engine.decode.formats.spanner:{decoder}",
        (source,),
        f"commit time in {unit}, transaction, record in the transaction",
        containers=(container,),
        marks=re.compile(rb'(?is)"data_?change_?record\\?"|\A(?=.*"mods\\?")(?=.*"table_?name\\?")'),
        looks_for="data_change_record, or mods with a table_name",
        refuses=dict.fromkeys(("binaries", "decimals", "times"), ONE_WAY),
        has_bare_tables=True,
        has_null_keys=True,
        values="written",
        fans_out=True,
    )


FORMATS: Final = (
    _format(
        "spanner-json",
        "json",
        "SpannerDecoder",
        SourceKind(
            "spanner",
            unavailable_checks=_UNAVAILABLE_CHECKS,
            has_partitions=True,
            notation="siltstone.engine.decode.formats.spanner:notation",
        ),
        "nanoseconds",
    ),
    _format(
        "spanner-avro",
        "avro",
        "SpannerAvroDecoder",
        SourceKind(
            "dataflow-spanner",
            unavailable_checks=_UNAVAILABLE_CHECKS | {"positions_backwards": NO_LANE, "stalled_source": NO_BEATS},
            notation="siltstone.engine.decode.formats.spanner:notation",
        ),
        "microseconds",
    ),
)
