"""Google Datastream: `{"uuid", "read_method", "source_metadata", "payload", ...}` as JSON lines or in Avro files.

Records of Avro files arrive as the same JSON, with the types of the payload's columns in `row_schema`.

    https://cloud.google.com/datastream/docs/events-and-streams

`source_metadata` has different fields for each database: they show which database it is. The names of methods changed
over the years. An event without a position in the source's log is a READ of a backfill, whatever the name of its file.
All times are UTC.

    database     position: epoch (4), then                                            READs
    MySQL        binlog file (8) - position in it (16) - time (16) - half             no position
    Oracle       SCN (16) - redo record (24) - number in it (8) - half                the SCN of the backfill, if known
    PostgreSQL   time (16) - LSN (16) - half                                          no position
    SQL Server   time (16) - LSN (20) - file, page and slot (48) - half               no position

A time is in microseconds since 1970. A key change is an UPDATE-DELETE (half 0) and an UPDATE-INSERT (half 1) at one
position; every other change has half 1. A READ of Oracle comes after all changes of its SCN.

Streams of MySQL with GTIDs have `binlog_file` and `binlog_position` for the log and the method `cdc`, as in the
recording `mysql-BookSeries.avro` of Google's Dataflow templates (2025). The position is in the log of the server
`datastream_master_server_id`, which another server can replace: `gtid` and that number decide epochs, not the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from siltstone.engine import names
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import Change, Event, Message, rejected
from siltstone.engine.decode.event_batch import signed_hash
from siltstone.engine.decode.formats.datastream_positions import is_logged, log_file, position, read_position
from siltstone.engine.decode.formats.datastream_record import (
    MYSQL,
    ORACLE,
    POSTGRESQL,
    SQLSERVER,
    Metadata,
    Record,
    as_text,
    is_blank,
    key_of,
    metadata_names,
    micros_of,
    read_record,
)
from siltstone.engine.decode.json_value import (
    EMPTY,
    NOT_JSON,
    PARSE_ERRORS,
    broken_reason,
    is_utf8,
    parse,
    raw_fields,
    text_of,
)
from siltstone.engine.spec.model import SourceSpec

NO_METADATA: Final = "source_metadata is missing: not an event of Datastream"
NO_DATABASE: Final = "source_metadata does not show which database it is"
NO_TABLE: Final = "source_metadata.table is missing"
NO_PAYLOAD: Final = "payload is missing"
NO_OBJECT: Final = "payload is not an object"
NO_TIME: Final = "source_timestamp is missing or not a time"
UNTIMED: Final = "a streamed change whose source_timestamp, which orders changes, is missing or not a time"
NO_POSITION: Final = "a streamed change without a position"
ROW_ID: Final = "ROW_ID"
"""The key column of an Oracle table without a key."""

_OPS: Final = {
    "INSERT": names.OP_INSERT, "UPDATE": names.OP_UPDATE, "UPDATE-INSERT": names.OP_INSERT,
    "UPDATE-DELETE": names.OP_DELETE, "DELETE": names.OP_DELETE,
}  # fmt: skip
_OF_READS: Final = ("INSERT", "READ", "")
_METHODS: Final = (("mysql", MYSQL), ("oracle", ORACLE), ("postgres", POSTGRESQL), ("sqlserver", SQLSERVER))
_ORACLE_FIELDS: Final = frozenset({"scn", "rs_id", "row_id", "ssn", "log_file"})
_NO_ORACLE: Final = (None, None, None, None)
_SQLSERVER_FIELDS: Final = frozenset({"physical_location", "replication_index", "lsn"})
_MOST_NAMED: Final = 20


class DatastreamDecoder:
    """Decodes events of Datastream."""

    def __init__(self, source: SourceSpec, declared: Declared) -> None:  # every decoder gets them
        """The decoder keeps nothing between messages."""

    def events(self, message: Message) -> Sequence[Event]:
        """The event of a message."""
        return [self._decoded(message)]

    def _decoded(self, message: Message) -> Event:
        text = message.text
        try:
            record = read_record(text)
        except PARSE_ERRORS:
            return rejected(message, _broken_reason(text))
        if not is_utf8(text):
            return rejected(message, _broken_reason(text))
        if record.source_metadata is None:
            return rejected(message, NO_METADATA)
        return self._event(message, record, record.source_metadata)

    def _event(self, message: Message, record: Record, metadata: Metadata) -> Event:
        database = _database(record, metadata) or _database_by_names(message.text)
        change_type = (metadata.change_type or "").strip(" ").upper()
        has_position = is_logged(database, metadata, record.read_method, change_type)
        op = _op(change_type, database, has_position, metadata.is_deleted in (True, "true"))
        source_us, ingest_us = micros_of(record.source_timestamp), micros_of(record.read_timestamp)
        place = None
        if op == names.OP_READ:
            place = read_position(database, metadata)
        elif has_position:
            place = position(database, metadata, source_us, is_first_half=change_type == "UPDATE-DELETE")
        payload = _payload(record.payload)
        is_untimed = has_position and source_us is None and database in (POSTGRESQL, SQLSERVER)
        connector, schema, is_delete = f"datastream-{database}", message.row_schema, op == names.OP_DELETE
        change = Change(
            file=message.file,
            line=message.line,
            text=message.text,
            connector=connector,
            source=f"{connector}:{record.stream_name or ''}",
            table=_table(database, metadata),
            op=op,
            origin=names.ORIGIN_SNAPSHOT if op == names.OP_READ else names.ORIGIN_STREAM,
            before=payload if is_delete else None,
            after=None if is_delete else payload,
            position=place,
            commit_us=ingest_us if source_us is None else source_us,
            ingest_us=ingest_us,
            event_id=record.uuid,
            tx_id=as_text(metadata.tx_id),
        )
        change.log_file = log_file(metadata)
        if schema is not None:
            change.row_schema, change.schema_hash = schema, _schema_hash(schema)
        reason = _reject_reason(change, payload, database, change_type) or _position_problem(change, is_untimed)
        if reason is not None:
            return rejected(message, reason, change.table)
        change.key = self._key(metadata, payload, database)
        return change

    def _key(self, metadata: Metadata, payload: bytes | None, database: str | None) -> bytes | None:
        """The names of the key columns; for an Oracle table without a key, the id of the row."""
        key = key_of(metadata, payload or b"{}")
        if key is None and database == ORACLE and not is_blank(metadata.row_id):
            return text_of({ROW_ID: metadata.row_id})
        return key


# --- kinds of events ------------------------------------------------------------------------------------------------


def _database(record: Record, metadata: Metadata) -> str | None:
    """The database: by the metadata that is there, else by the name of the method, else by the parts of table names."""
    lsn = metadata.lsn or ""
    if ":" in lsn or metadata.physical_location is not None or bytes(metadata.replication_index) != b"null":
        return SQLSERVER
    if "/" in lsn:
        return POSTGRESQL
    if (metadata.scn, metadata.rs_id, metadata.row_id, metadata.ssn) != _NO_ORACLE:
        return ORACLE
    if metadata.log_position is not None or metadata.binlog_position is not None:
        return MYSQL
    method = (record.read_method or "").lower()
    for beginning, database in _METHODS:
        if method.startswith(beginning):
            return database
    if (metadata.database is None) != (metadata.schema is None):
        return MYSQL if metadata.schema is None else POSTGRESQL
    if metadata.database is not None and metadata.lsn is not None:
        return SQLSERVER
    return ORACLE if metadata.database is not None and metadata.log_file is not None else None


def _database_by_names(text: bytes) -> str | None:
    """The database, by the names of metadata fields that are all null: a plain backfill has no position in the log."""
    fields = metadata_names(text)
    if fields & _ORACLE_FIELDS:
        return ORACLE
    return SQLSERVER if fields & _SQLSERVER_FIELDS else None


def _table(database: str | None, metadata: Metadata) -> str | None:
    owner = metadata.database if database == MYSQL else metadata.schema
    if is_blank(metadata.table):
        return None
    return metadata.table if owner is None else f"{owner}.{metadata.table}"


def _op(change_type: str, database: str | None, has_position: bool, is_deleted: bool) -> str | None:
    """The operation of a change. The change type decides, if there is one.

    MySQL's ordinary update is an UPDATE-INSERT. Other databases have UPDATE, and an UPDATE-INSERT inserts a new key.
    """
    if not has_position and not is_deleted and change_type in _OF_READS:
        return names.OP_READ
    if change_type == "UPDATE-INSERT" and database == MYSQL:
        return names.OP_UPDATE
    if not change_type:
        return names.OP_DELETE if is_deleted else names.OP_UPDATE
    return _OPS.get(change_type)


def _payload(payload: msgspec.Raw) -> bytes | None:
    """The JSON text of the row, which can be inside a string; None for null."""
    text = bytes(payload)
    if text[:1] != b'"':
        return None if text == b"null" else text
    content = str(parse(text)).encode()
    try:
        raw_fields(content)
    except PARSE_ERRORS:
        return text
    return content


def _reject_reason(change: Change, payload: bytes | None, database: str | None, change_type: str) -> str | None:
    """Why an event cannot be a change, without a check of its position; None if it can."""
    if database is None:
        return NO_DATABASE
    if change.table is None:
        return NO_TABLE
    if change.op is None:
        return f'unknown change_type "{change_type[:_MOST_NAMED]}"'
    if payload is None:
        return NO_PAYLOAD
    if not payload.startswith(b"{"):
        return NO_OBJECT
    return NO_TIME if change.commit_us is None else None


def _position_problem(change: Change, is_untimed: bool) -> str | None:
    """Why a change has no position. `is_untimed`: times order the database's changes, and it has no time."""
    if change.position is not None or change.op == names.OP_READ:
        return None
    return UNTIMED if is_untimed else NO_POSITION


@lru_cache(maxsize=1_000)
def _schema_hash(schema: str) -> int:
    return signed_hash(schema.encode())


def _broken_reason(text: bytes) -> str:
    reason = broken_reason(text, type_reason="not a JSON object")
    return NOT_JSON if reason == EMPTY else reason


def shows_no_key(event: Event, text: bytes) -> bool | None:
    """Whether a change shows that its table has no key: PostgreSQL's `primary_keys` is empty.

    An update does not show this, because it lacks the row before it.
    """
    if event.key is not None:
        return False
    metadata = read_record(text).source_metadata
    listed = b"null" if metadata is None else bytes(metadata.primary_keys)
    if listed == b"null":
        return None
    is_named = listed not in (b"[]", b'"[]"')
    return event.connector == f"datastream-{POSTGRESQL}" and not is_named and event.op != names.OP_UPDATE
