"""Debezium: changes of many databases, as JSON and in Confluent's frames."""

from __future__ import annotations

import re
from typing import Final

from siltstone.engine.formats import ticdc
from siltstone.engine.formats.base import (
    BY_LOG,
    BY_SCHEMA,
    NO_BEATS,
    NO_BEFORE,
    NO_FILES,
    NO_LANE,
    NO_SIZE,
    NO_SNAPSHOTS,
    Format,
    SourceKind,
)

_MARKS: Final = re.compile(rb'(?s)\A(?=.*"op"\s*:)(?=.*"source"\s*:\s*\{)')
_NOTATIONS: Final = "siltstone.engine.decode.formats.debezium_notations"
_NO_KEY: Final = "siltstone.engine.decode.formats.debezium:shows_no_key"
_NO_LOG_FILES: Final = {"log_gap": NO_FILES}
_MANY_TABLETS: Final = "each tablet has a log of its own, and events do not number the changes across tablets"
_UPSERTS: Final = "its rows do not always show whether they are new"
# A metadata field of a row, or an event about a transaction, which the transform passes on unchanged.
_FLAT: Final = re.compile(rb'"(?:__(?:op|deleted|table|db|lsn|source_[a-z_]+|ts_ms)|data_collections)\\?"\s*:')
_PROGRESS_EVENTS: Final = {"heartbeat": "heartbeat", "transaction_end": "transaction end"}

SOURCES: Final = (
    SourceKind(
        "postgresql:",
        "PostgreSQL",
        snapshot_segment=4,
        counts_transactions=True,
        stamps_commits=True,
        names_previous_commit=True,
        separates_key_changes=True,
        notation=f"{_NOTATIONS}:postgresql",
    ),
    SourceKind(
        "mysql:",
        "MySQL",
        has_numbered_log=True,
        commits_in_order=True,
        counts_transactions=True,
        has_mysql_values=True,
        notation=f"{_NOTATIONS}:binlog",
    ),
    SourceKind(
        "mariadb:",
        "MariaDB",
        has_numbered_log=True,
        commits_in_order=True,
        counts_transactions=True,
        counts_commits=True,
        has_mysql_values=True,
        notation=f"{_NOTATIONS}:binlog",
    ),
    SourceKind(
        "oracle:", "Oracle", _NO_LOG_FILES, commit_segment=2, counts_transactions=True, notation=f"{_NOTATIONS}:oracle"
    ),
    SourceKind(
        "sqlserver:",
        "SQL Server",
        _NO_LOG_FILES,
        counts_transactions=True,
        stamps_commits=True,
        notation=f"{_NOTATIONS}:sqlserver",
    ),
    ticdc.IN_DEBEZIUM,
    SourceKind(
        "db2:", "Db2", _NO_LOG_FILES, counts_transactions=True, stamps_commits=True, notation=f"{_NOTATIONS}:db2"
    ),
    SourceKind("informix:", "Informix", _NO_LOG_FILES, counts_transactions=True, notation=f"{_NOTATIONS}:informix"),
    SourceKind(
        "vitess:",
        "Vitess",
        _NO_LOG_FILES | {"incomplete_transaction": "the END events of its transactions do not name the shard"},
        stamps_commits=True,
        has_mysql_values=True,
        notation=f"{_NOTATIONS}:vitess",
    ),
    SourceKind(
        "yugabytedb:",
        "YugabyteDB (gRPC)",
        _NO_LOG_FILES | dict.fromkeys(("incomplete_transaction", "positions_backwards"), _MANY_TABLETS),
        stamps_commits=True,
        notation=f"{_NOTATIONS}:yugabytedb",
    ),
    SourceKind(
        "mongodb:",
        "MongoDB",
        _NO_LOG_FILES,
        counts_transactions=True,
        stamps_commits=True,
        notation=f"{_NOTATIONS}:mongodb",
    ),
)
FLAT: Final = SourceKind(
    "debezium-flat:",
    "rows without log positions or without operations",
    NO_SNAPSHOTS
    | {
        "chain_break": NO_BEFORE,
        "orphan": _UPSERTS,
        "double_insert": _UPSERTS,
        "incomplete_transaction": NO_SIZE,
        "log_gap": NO_FILES,
        "positions_backwards": NO_LANE,
        "stalled_source": NO_BEATS,
    },
    notation="siltstone.engine.decode.formats.coordinates:notation",
)

FORMATS: Final = (
    Format(
        "debezium-json",
        "siltstone.engine.decode.formats.debezium:DebeziumDecoder",
        SOURCES,
        BY_LOG,
        of_topics=True,
        marks=_MARKS,
        looks_for="op and a source block around before and after",
        no_key=_NO_KEY,
        settings=frozenset({"order"}),
        orders=("auto", "scn"),
        several="disjoint",  # a connector reads one log
        names_source=True,
        can_turn_to_scns=True,
        splits_declared_keys=True,
        progress_events=_PROGRESS_EVENTS,
    ),
    Format(
        "debezium-avro",
        "siltstone.engine.decode.formats.debezium_avro:DebeziumAvroDecoder",
        SOURCES,
        BY_LOG,
        containers=("json", "text", "avro", "parquet"),
        holds="messages",
        of_topics=True,
        looks_for="messages in base64 or bytes, in Confluent's frames",
        no_key=_NO_KEY,
        settings=frozenset({"order", "registry", "schemas"}),
        refuses={"decimals": BY_SCHEMA, "times": BY_SCHEMA},
        orders=("auto", "scn"),
        several="disjoint",
        names_source=True,
        needs_schemas=True,
        can_turn_to_scns=True,
        splits_declared_keys=True,
        progress_events=_PROGRESS_EVENTS,
    ),
    Format(
        "debezium-flat-json",
        "siltstone.engine.decode.formats.debezium_flat:FlatDecoder",
        (*SOURCES, FLAT),
        "the source's log, where rows have its position fields; else the place of the messages",
        of_topics=True,
        marks=_FLAT,
        looks_for="rows with fields such as __op, __deleted or __source_ts_ms",
        needs_marks=True,
        no_key=_NO_KEY,
        settings=frozenset({"order", "metadata_prefix"}),
        orders=("auto", "scn", "coordinates"),
        several="disjoint",
        names_source=True,
        can_turn_to_scns=True,
        progress_events=_PROGRESS_EVENTS,
    ),
)
