"""Google Datastream's events: `{"uuid", "read_method", "source_metadata", "payload", ...}` as JSON lines or Avro files.

MySQL, Oracle, PostgreSQL and SQL Server differ in `source_metadata`, and by it they are told apart; names of methods
changed over the years. An event without a position in the source's log is a READ of a backfill, whatever its file is
called. All times are UTC.

    source       order of streamed changes                               READs
    MySQL        binlog file, position, time                             only a time
    Oracle       SCN, rs_id, ssn                                         the SCN of the backfill, where it is told
    PostgreSQL   time, LSN                                               only a time
    SQL Server   time, LSN, physical location                            only a time

A key change is an UPDATE-DELETE and an UPDATE-INSERT at one position, the delete first.

Streams of MySQL with GTIDs call the place in the log `binlog_file` and `binlog_position`, and their method `cdc`: so in
the recording `mysql-BookSeries.avro` of Google's Dataflow templates (2025). It is a place of the server
`datastream_master_server_id`, which another one can follow: `gtid` and that number tell epochs, not the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine import names
from engine.decode import fractions, position, values
from engine.decode.envelope import CHANGE, ENVELOPE_SCHEMA, REJECT
from engine.decode.instants import plainly_written
from engine.decode.json_lines import is_unread, no_json_reason, whole
from engine.decode.methods import own_method
from engine.decode.parsing import exact_line_of, line_of
from engine.jvm import CATALOG
from engine.spec.model import SourceSpec

MYSQL, ORACLE, POSTGRESQL, SQLSERVER = "mysql", "oracle", "postgresql", "sqlserver"

_METADATA: Final = (
    "schema", "table", "database", "row_id", "scn", "ssn", "rs_id", "tx_id", "log_file", "log_position", "lsn",
    "physical_location", "change_type", "is_deleted", "primary_keys", "replication_index", "binlog_file",
    "binlog_position",
)  # fmt: skip
_EVENT: Final = ("uuid", "read_timestamp", "source_timestamp", "read_method", "stream_name", "payload")
_FIELDS: Final = ", ".join(f"{name} string" for name in _EVENT)
_LINE: Final = f"{_FIELDS}, source_metadata struct<{', '.join(f'`{name}` string' for name in _METADATA)}>"
_CHANGES: Final = ("INSERT", "UPDATE", "UPDATE-INSERT", "UPDATE-DELETE", "DELETE", "READ")
_REMOVES: Final = ("UPDATE-DELETE", "DELETE")
_UNTIL_PAYLOAD: Final = r'(?s)^.*?(?<!\\)"payload"\s*:\s*'
_ROW_ID: Final = "ROW_ID"
_ORACLE_FIELDS: Final = ("scn", "rs_id", "row_id", "ssn")
_SQLSERVER_FIELDS: Final = ("physical_location", "replication_index", "lsn")  # of tables that name a database, too


def envelopes(lines: DataFrame, source: SourceSpec) -> DataFrame:  # noqa: ARG001  # every format's decoder gets it
    """What each event is.

    Needs: file, line, text; row_schema: the payload's columns, where the file describes them.
    Gives: the columns of ENVELOPE_COLUMNS.
    Rows: 1:1 with the lines.
    """
    return lines.transform(_parsed).transform(_placed).transform(_keyed).transform(_completed)


def _parsed(lines: DataFrame) -> DataFrame:
    """The event as a struct of texts."""
    schemas = F.col("row_schema") if "row_schema" in lines.columns else F.lit(None).cast("string")
    exact = exact_line_of(F.col("text"), _LINE)
    read = lines.select("file", "line", "text", schemas.alias("row_schema_json"), exact.alias("_exact"))
    parsed = read.select(
        "*",
        F.coalesce("_exact", line_of(F.col("text"), _LINE)).alias("_json"),
        F.when(F.col("_exact").isNull() & F.col("row_schema_json").isNull(), own_method(_uncut(F.col("text")))).alias(
            "_uncut"
        ),
    )
    event, meta = F.col("_json")["_line"], F.col("_json")["_line"]["source_metadata"]
    told, read_at = _clock(event["source_timestamp"]), _clock(event["read_timestamp"])
    payload = event["payload"]
    # Not the event itself: it holds the payload and the metadata, and every step would carry both twice.
    return parsed.select(
        "file",
        "line",
        "text",
        "row_schema_json",
        event["uuid"].alias("_uuid"),
        event["stream_name"].alias("_stream"),
        F.coalesce(_object("_uncut"), payload).alias("_payload"),
        F.when(payload.isNull(), "payload is missing")
        .when(~payload.startswith("{"), "payload is not an object")
        .alias("_payload_problem"),
        meta.alias("_meta"),
        is_unread(F.col("_json")).alias("_broken"),
        own_method(_source_kind(event, meta)).alias("_kind"),
        F.upper(F.trim(meta["change_type"])).alias("_change"),
        event["read_method"].alias("_method"),
        told.alias("_told_ts"),
        F.coalesce(told, read_at).alias("commit_ts"),
        read_at.alias("ingest_ts"),
    )


def _uncut(text: Column) -> Column:
    """The payload as it stands in the line, where it is the last field of it and a number in it is long.

    The JSON reader makes doubles of fractions inside a value that it hands on as text. They cannot be cut in what was
    read exactly, nor in what was no line but a record of an Avro file: there they are doubles already, or text.
    """
    behind = F.regexp_replace(F.when(fractions.has_long_number(text), text), _UNTIL_PAYLOAD, "")
    return F.regexp_replace(behind, r"\}\s*$", "")


def _object(name: str) -> Column:
    """A text, where it is a JSON object."""
    return F.when(whole(F.col(name)).startswith("{"), F.col(name))


def _source_kind(event: Column, meta: Column) -> Column:
    """Which database it is, by the metadata it has, else by the name of the method, else by how tables are named, else
    by the metadata that it could have."""
    method = F.lower(event["read_method"])
    some_oracle = F.coalesce(*[meta[name] for name in _ORACLE_FIELDS]).isNotNull()
    some_sqlserver = meta["physical_location"].isNotNull() | meta["replication_index"].isNotNull()
    return (
        F.when(meta["lsn"].contains(":") | some_sqlserver, SQLSERVER)
        .when(meta["lsn"].contains("/"), POSTGRESQL)
        .when(some_oracle, ORACLE)
        .when(F.coalesce(meta["log_position"], meta["binlog_position"]).isNotNull(), MYSQL)
        .when(method.startswith("mysql"), MYSQL)
        .when(method.startswith("oracle"), ORACLE)
        .when(method.startswith("postgres"), POSTGRESQL)
        .when(method.startswith("sqlserver"), SQLSERVER)
        .when(meta["database"].isNotNull() & meta["schema"].isNull(), MYSQL)
        .when(meta["database"].isNull() & meta["schema"].isNotNull(), POSTGRESQL)
        .when(meta["database"].isNotNull() & meta["lsn"].isNotNull(), SQLSERVER)
        .when(meta["database"].isNotNull() & meta["log_file"].isNotNull(), ORACLE)
        .otherwise(_kind_of_fields(F.json_object_keys(F.get_json_object("text", "$.source_metadata"))))
    )


def _kind_of_fields(fields: Column) -> Column:
    """Which database it is, by the names of metadata that are all null: a plain backfill has no place in the log."""
    return F.when(F.arrays_overlap(fields, _array((*_ORACLE_FIELDS, "log_file"))), ORACLE).when(
        F.arrays_overlap(fields, _array(_SQLSERVER_FIELDS)), SQLSERVER
    )


def _array(texts: Sequence[str]) -> Column:
    return F.array(*[F.lit(text) for text in texts])


def _clock(text: Column) -> Column:
    """Text in UTC, with or without a zone, a T or a blank; or milliseconds since 1970."""
    others = F.when(text.rlike("^[0-9]+$"), values.moment(text.try_cast("bigint"), "millis")).otherwise(
        values.zoned_moment(text)
    )
    return F.coalesce(F.timestamp_micros(plainly_written(text)), own_method(others))


def _placed(parsed: DataFrame) -> DataFrame:
    """Is it a READ; what it does; where it stands."""
    meta, kind = F.col("_meta"), F.col("_kind")
    half = F.when(F.col("_change") == "UPDATE-DELETE", 0).otherwise(1)
    log_file, log_position = _binlog(meta)
    nowhere = (
        F.when(kind == MYSQL, _blank(log_file) | ~_positive(log_position))
        .when(kind == ORACLE, ~_positive(meta["scn"]) | (_is_unlogged(meta) & ~_is_logged()))
        .otherwise(_blank(meta["lsn"]))
    )
    moment = F.col("_told_ts")  # the time of reading would order changes by when they were ingested
    never = F.timestamp_micros(F.lit(0))
    streamed = (
        F.when(
            kind == MYSQL,
            own_method(position.datastream_mysql(log_file, log_position, F.coalesce("_told_ts", never), half)),
        )
        .when(kind == ORACLE, own_method(position.datastream_oracle(meta["scn"], meta["rs_id"], meta["ssn"], half)))
        .when(kind == POSTGRESQL, own_method(position.datastream_postgresql(moment, meta["lsn"], half)))
        .when(
            kind == SQLSERVER,
            own_method(position.datastream_sqlserver(moment, meta["lsn"], meta["physical_location"], half)),
        )
    )
    is_read = nowhere & (F.coalesce("_change", F.lit("READ")).isin("INSERT", "READ", "")) & ~_is_deleted(meta)
    seen = F.when(kind == ORACLE, position.datastream_oracle_read(meta["scn"]))
    return parsed.select("*", own_method(is_read).alias("_is_read"), own_method(nowhere).alias("_nowhere")).select(
        "*", F.when(F.col("_is_read"), seen).when(~F.col("_nowhere"), streamed).alias("position")
    )


def _binlog(meta: Column) -> tuple[Column, Column]:
    """The file of MySQL's log and the position in it, whichever names the stream has for them."""
    is_renamed = _blank(meta["log_file"])
    return (
        F.when(is_renamed, meta["binlog_file"]).otherwise(meta["log_file"]),
        F.when(is_renamed, meta["binlog_position"]).otherwise(meta["log_position"]),
    )


def _is_unlogged(meta: Column) -> Column:
    """Oracle tells an SCN for rows of a backfill too; they have no record in the log, and no transaction."""
    return _blank(meta["rs_id"]) & _blank(meta["log_file"]) & _blank(meta["tx_id"])


def _is_logged() -> Column:
    """Whether Oracle's event is from the log by its own word, whatever it tells of its record there: nothing else
    updates or deletes, and methods of reading are called by it."""
    does = F.col("_change")
    by_name = F.lower("_method").rlike("logminer|cdc|supplementation") & ~does.isin("", "READ")
    return F.coalesce(by_name, F.lit(False)) | F.coalesce(does.rlike("UPDATE|DELETE"), F.lit(False))


def _is_deleted(meta: Column) -> Column:
    return F.coalesce(meta["is_deleted"] == "true", F.lit(False))


def _positive(text: Column) -> Column:
    return F.coalesce(text.try_cast("bigint") > 0, F.lit(False))


def _blank(text: Column) -> Column:
    return text.isNull() | (F.trim(text) == "")


def _keyed(placed: DataFrame) -> DataFrame:
    """The names of the key columns."""
    return placed.select("*", _key(F.col("_meta")).alias("key_json"))


def _completed(placed: DataFrame) -> DataFrame:
    """The columns of every envelope."""
    meta, kind = F.col("_meta"), F.col("_kind")
    owner = F.when(kind == MYSQL, meta["database"]).otherwise(meta["schema"])
    table = F.when(~_blank(meta["table"]), F.concat_ws(".", owner, meta["table"]))
    op = _op()
    reason = F.when(F.col("_broken"), _broken_reason(F.col("text"))).otherwise(own_method(_reject_reason(op)))
    payload, is_delete = F.col("_payload"), op == names.OP_DELETE
    made = {
        "kind": F.when(reason.isNotNull(), REJECT).otherwise(CHANGE),
        "reason": reason,
        "connector": F.concat(F.lit("datastream-"), kind),
        "source": F.concat(F.lit("datastream-"), kind, F.lit(":"), F.coalesce("_stream", F.lit(""))),
        "table": table,
        "op": op,
        "origin": F.when(F.col("_is_read"), names.ORIGIN_SNAPSHOT).otherwise(names.ORIGIN_STREAM),
        "before_json": F.when(is_delete, payload),
        "after_json": F.when(~is_delete, payload),
        "schema_hash": F.when(F.col("row_schema_json").isNotNull(), F.xxhash64("row_schema_json")),
        "event_id": F.col("_uuid"),
        "tx_id": meta["tx_id"],
    }
    kept = ("file", "line", "text", "row_schema_json", "position", "commit_ts", "ingest_ts", "key_json")
    carried = {name: F.col(name) for name in kept} | made
    return placed.select(
        *[carried.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in ENVELOPE_SCHEMA]
    )


def _op() -> Column:
    """What the change does: the change type decides, where there is one.

    MySQL's ordinary update is one UPDATE-INSERT; elsewhere it is UPDATE, and UPDATE-INSERT takes a new key.
    """
    change = F.col("_change")
    return (
        F.when(F.col("_is_read"), names.OP_READ)
        .when(change.isin(*_REMOVES), names.OP_DELETE)
        .when((change == "UPDATE") | ((change == "UPDATE-INSERT") & (F.col("_kind") == MYSQL)), names.OP_UPDATE)
        .when(change.isin("INSERT", "UPDATE-INSERT"), names.OP_INSERT)
        .when(
            change.isNull() | (change == ""), F.when(_is_deleted(F.col("_meta")), names.OP_DELETE).otherwise("update")
        )
    )


def _key(meta: Column) -> Column:
    """The names of the key columns, as the payload spells them; an Oracle table without a key has the row's id."""
    named = F.call_function(f"{CATALOG}.key_names", meta["primary_keys"], meta["replication_index"], F.col("_payload"))
    row_id = F.to_json(F.struct(meta["row_id"].alias(_ROW_ID)))
    return F.coalesce(named, F.when((F.col("_kind") == ORACLE) & ~_blank(meta["row_id"]), row_id))


def _reject_reason(op: Column) -> Column:
    """Why an event cannot be a change; null where it can."""
    meta = F.col("_meta")
    return (
        F.when(meta.isNull(), "source_metadata is missing: no event of Datastream")
        .when(F.col("_kind").isNull(), "source_metadata does not tell which database it is")
        .when(_blank(meta["table"]), "source_metadata.table is missing")
        .when(op.isNull(), F.concat(F.lit('unknown change_type "'), F.substring(F.col("_change"), 1, 20), F.lit('"')))
        .when(F.col("_payload_problem").isNotNull(), F.col("_payload_problem"))
        .when(F.col("commit_ts").isNull(), "source_timestamp is missing or no time")
        .when(_is_untimed(), "a streamed change whose source_timestamp, which orders changes, is missing or no time")
        .when(~F.col("_is_read") & F.col("position").isNull(), "a streamed change without a position")
    )


def _is_untimed() -> Column:
    """Whether times order the changes of the database, and a change that has a place in the log does not tell its."""
    is_streamed = ~F.col("_is_read") & ~F.col("_nowhere")
    return is_streamed & F.col("_kind").isin(POSTGRESQL, SQLSERVER) & F.col("_told_ts").isNull()


def _broken_reason(text: Column) -> Column:
    """Why a line could not be parsed as an event."""
    return F.coalesce(no_json_reason(text), F.lit("not a JSON object"))
