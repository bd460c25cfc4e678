"""Google Datastream: backfills and changes of four databases, as JSON and Avro."""

from __future__ import annotations

import re
from typing import Final

from siltstone.engine.formats.base import (
    NO_BEATS,
    NO_BEFORE,
    NO_FILES,
    NO_LANE,
    NO_SIZE,
    NO_SNAPSHOTS,
    OWN_TIME,
    Container,
    Format,
    SourceKind,
)

_UNAVAILABLE_CHECKS: Final = NO_SNAPSHOTS | {
    "chain_break": NO_BEFORE,
    "incomplete_transaction": NO_SIZE,
    "positions_backwards": NO_LANE,
    "stalled_source": NO_BEATS,
}
_NO_LOG_FILES: Final = _UNAVAILABLE_CHECKS | {"log_gap": NO_FILES}
_BY_TIME: Final = _NO_LOG_FILES | {"time_against_order": OWN_TIME}
_POSITIONS: Final = "siltstone.engine.decode.formats.datastream_positions"
_AS_IT_IS: Final = "its values have one form, and its times are in UTC"

SOURCES: Final = (
    SourceKind(
        "datastream-mysql:",
        "MySQL",
        _UNAVAILABLE_CHECKS,
        has_numbered_log=True,
        commit_time_is_transaction=True,
        omits_server=True,
        stamps_pairs=True,
        notation=f"{_POSITIONS}:mysql_notation",
    ),
    SourceKind(
        "datastream-oracle:",
        "Oracle",
        _NO_LOG_FILES,
        orders_statements=True,
        commit_time_is_transaction=True,
        omits_server=True,
        notation=f"{_POSITIONS}:oracle_notation",
    ),
    SourceKind(
        "datastream-postgresql:",
        "PostgreSQL",
        _BY_TIME,
        commit_time_is_transaction=True,
        omits_server=True,
        notation=f"{_POSITIONS}:postgresql_notation",
    ),
    SourceKind(
        "datastream-sqlserver:",
        "SQL Server",
        _BY_TIME,
        commit_time_is_transaction=True,
        omits_server=True,
        notation=f"{_POSITIONS}:sqlserver_notation",
    ),
)


def _format(name: str, container: Container) -> Format:
    return Format(
        name,
        "siltstone.engine.decode.formats.datastream:DatastreamDecoder",
        SOURCES,
        "the source's log: binlog position, SCN, or time and LSN",
        containers=(container,),
        marks=re.compile(rb'(?s)\A(?=.*"source_metadata"\s*:)(?=.*"payload"\s*:)'),
        looks_for="source_metadata and a payload",
        no_key="siltstone.engine.decode.formats.datastream:shows_no_key",
        refuses=dict.fromkeys(("decimals", "times", "time_zone"), _AS_IT_IS),
        names_source=True,
        values="json",
        counts_clocks=True,
        pairs_key_changes=True,
        is_unordered=True,
    )


FORMATS: Final = (_format("datastream-json", "json"), _format("datastream-avro", "avro"))
