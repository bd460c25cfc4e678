"""Debezium events as JSON lines: `{"key", "value", "topic" or "destination", "headers"}`, or the bare value.

Keys and values come with or without `{"schema", "payload"}` around them. One parse of the line reads the envelope; row
images and keys stay JSON text for the decoding of their table.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine.decode import debezium_kinds, debezium_places, values
from engine.decode.envelope import CHANGE, CONTROL, ENVELOPE_COLUMNS, REJECT
from engine.decode.images import Declared
from engine.decode.json_lines import is_malformed
from engine.decode.methods import own_method
from engine.decode.parsing import line_of, struct_of
from engine.jvm import CATALOG
from engine.schema import control_kinds
from engine.spec.model import SourceSpec

_VALUE_FIELDS: Final = {
    "before": "string",
    "after": "string",
    "op": "string",
    "source": f"struct<{debezium_places.SOURCE_FIELDS}>",
    "transaction": "struct<id string, total_order bigint>",
    "ts_ms": "string",  # a text in Debezium's own documentation
    "ts_us": "bigint",
    "status": "string",
    "id": "string",
    "aggregate_type": "string",
    "ddl": "string",
    "tableChanges": "string",
}
_VALUE: Final = ", ".join(f"{name} {kind}" for name, kind in _VALUE_FIELDS.items())
_ANY_VALUE: Final = f"{_VALUE}, schema string, payload struct<{_VALUE}>"
VALUE_TYPE: Final = f"struct<{_VALUE}>"
"""Of what is read of an event."""
_RECORD: Final = "key string, topic string, destination string, partition int, offset bigint, headers string"
_LINE: Final = f"{_RECORD}, value struct<{_ANY_VALUE}>, {_ANY_VALUE}"
_SCHEMA_AND_PAYLOAD: Final = "schema string, payload string"
_SAID_APART: Final = ("record", "problem", "row_schema", "schema_hash", "key_schema")
HEADER_VALUE: Final = f"{CATALOG}.header_value"
_OLD_KEY: Final = "__debezium.oldkey"
_NEW_KEY: Final = "__debezium.newkey"


def envelopes(lines: DataFrame, source: SourceSpec, declared: Declared) -> DataFrame:
    """What each line is, and what every kind of event has in common.

    Needs: file, line, text; where another format turned its messages into these lines: record (the message), problem
        (why it is no event), row_schema, its schema_hash, key_schema; event (a VALUE_TYPE that tells alone that it is a
        change), event_key (JSON), headers, topic, partition, offset, which count where the text does not say them.
        `declared`: the tables that specs name.
    Gives: the columns of ENVELOPE_COLUMNS, and record, where it is there.
    Rows: 1:1 with the lines.
    """
    picked = lines.transform(_picked)
    return picked.transform(_judged, source, declared).transform(_completed, source)


def _picked(lines: DataFrame) -> DataFrame:
    """The line as a struct, with one value, wherever the line has it.

    Within one projection: Spark generates no stage around columns of more than a hundred fields, as the whole line is.
    """
    json = line_of(F.col("text"), _LINE)
    line = json.getField("_line")
    wrapped = line.getField("value")
    value = (
        F.when(wrapped.getField("payload").isNotNull(), wrapped.getField("payload"))
        .when(wrapped.isNotNull(), _fields_of(wrapped))
        .when(line.getField("payload").isNotNull(), line.getField("payload"))
        .otherwise(_fields_of(line))
    )
    schema = F.when(wrapped.isNotNull(), wrapped.getField("schema")).otherwise(line.getField("schema"))

    def said(name: str, *read: Column) -> Column:
        return F.coalesce(*read, F.col(name)) if "event" in lines.columns else F.coalesce(*read)

    broken = line.isNull() & (F.trim("text") != "null") | is_malformed(json)
    if "event" in lines.columns:  # what is read already is neither broken nor a control event
        value, broken = F.coalesce("event", value), F.when(F.col("event").isNull(), broken)
    return lines.select(
        "file",
        "line",
        "text",
        *[name for name in _SAID_APART if name in lines.columns],
        broken.alias("_broken"),
        own_method(value).alias("_value"),
        schema.alias("_schema"),
        own_method(_unwrapped(said("event_key", line.getField("key")))).alias("_key"),
        said("headers", line.getField("headers")).alias("_headers"),
        said("topic", line.getField("topic"), line.getField("destination")).alias("channel"),
        said("partition", line.getField("partition")).alias("kafka_partition"),
        said("offset", line.getField("offset")).alias("kafka_offset"),
    )


def _fields_of(struct: Column) -> Column:
    return F.struct(*[struct.getField(name).alias(name) for name in _VALUE_FIELDS])


def _judged(picked: DataFrame, spec: SourceSpec, declared: Declared) -> DataFrame:
    """Where and when it stands; which control event, if any; what describes the row."""
    value = F.col("_value")
    source = value.getField("source")
    described = F.when(F.col("_schema").contains('"fields"'), F.col("_schema"))  # one that describes nothing is none
    told = F.coalesce("row_schema", described) if "row_schema" in picked.columns else described
    table = debezium_places.table(source, declared)
    key = F.col("_key").getField("payload")
    control = debezium_kinds.control_kind(value, F.col("text"), key, table.isin(*declared))
    return picked.select(
        "*",
        told.alias("_row_schema"),
        own_method(_commit_ts(value)).alias("commit_ts"),
        _ingest_ts(value).alias("ingest_ts"),
        table.alias("table"),
        own_method(debezium_places.place(source, value.getField("op"), spec)).alias("position"),
        F.when(~F.col("_broken"), own_method(control)).alias("control_kind"),
    )


def _completed(judged: DataFrame, spec: SourceSpec) -> DataFrame:
    """The columns of every envelope."""
    value, text, control = F.col("_value"), F.col("text"), F.col("control_kind")
    problem, said_key, said_hash = (
        F.col(name) if name in judged.columns else F.lit(None).cast(kind)
        for name, kind in {"problem": "string", "key_schema": "string", "schema_hash": "bigint"}.items()
    )
    is_timeless = F.col("commit_ts").isNull() & F.col("ingest_ts").isNull()
    refused = debezium_kinds.reject_reason(value, F.col("table"), F.col("position"), is_timeless, spec)
    reason = (
        F.when(problem.isNotNull(), problem)
        .when(F.col("_broken"), debezium_kinds.broken_reason(text))
        .when(control.isNull(), own_method(refused))
    )
    source, transaction = value.getField("source"), value.getField("transaction")
    row_schema, key = F.col("_row_schema"), F.col("_key")
    closes = debezium_places.close_place(source, F.col("position"), spec)
    made = {
        "kind": F.when(reason.isNotNull(), REJECT).when(control.isNotNull(), CONTROL).otherwise(CHANGE),
        "reason": reason,
        "connector": debezium_places.connector(source),
        "source": debezium_places.source_name(source),
        "op": debezium_kinds.op(value.getField("op")),
        "origin": debezium_kinds.origin(value.getField("op")),
        "key_json": key.getField("payload"),
        "before_json": value.getField("before"),
        "after_json": value.getField("after"),
        "row_schema_json": F.when(control.isNull(), row_schema),
        "key_schema_json": F.when(control.isNull(), F.coalesce(said_key, key.getField("schema"))),
        "schema_hash": F.when(control.isNull() & row_schema.isNotNull(), F.coalesce(said_hash, F.xxhash64(row_schema))),
        "position": F.when(control == control_kinds.WINDOW_CLOSE, own_method(closes)).otherwise(F.col("position")),
        "event_id": own_method(debezium_kinds.event_id(value, control)),
        "tx_id": own_method(_transaction_id(value)),
        "tx_order": transaction.getField("total_order"),
        "old_key_json": _header(value, "c", _OLD_KEY),
        "new_key_json": _header(value, "d", _NEW_KEY),
        "control_json": F.when(control.isNotNull(), own_method(debezium_kinds.payload(text))),
    }
    columns = [*ENVELOPE_COLUMNS, *[name for name in _SAID_APART[:1] if name in judged.columns]]
    return judged.select(*[made[name].alias(name) if name in made else F.col(name) for name in columns])


def _unwrapped(key: Column) -> Column:
    """A struct (schema, payload) of a key that may have both around it, or the payload alone: no key is an object."""
    parts = struct_of(key, _SCHEMA_AND_PAYLOAD)
    bare = F.struct(F.lit(None).cast("string").alias("schema"), key.alias("payload"))
    looks_wrapped = key.startswith('{"schema":') | key.startswith('{"payload":')
    told, payload = parts.getField("schema"), parts.getField("payload")
    is_wrapped = told.startswith("{") | (told.isNull() & payload.startswith("{"))
    return F.when(looks_wrapped & is_wrapped, parts).otherwise(bare)


def _header(value: Column, op: str, name: str) -> Column:
    """The key in a header: headers are an object, or an array of objects with key and value."""
    headers = F.col("_headers")
    found = F.call_function(HEADER_VALUE, headers, F.lit(name))
    there = (value.getField("op") == op) & headers.contains(f'"{name}"')
    return F.when(there, own_method(_unwrapped(found).getField("payload")))


def _commit_ts(value: Column) -> Column:
    """The source's time of the change; a transaction's boundary has its time outside of a source block.

    Zero is no time: READs of connectors that know none say so (embedded ones, and MySQL's before 1.5).
    """
    source = value.getField("source")
    nanos = F.floor(source.getField("ts_ns").cast("decimal(20,0)") / 1_000).cast("bigint")
    boundary = F.when(value.getField("status").isNotNull(), _taken_ms(value))
    millis = F.try_multiply(F.coalesce(source.getField("ts_ms"), boundary), F.lit(1_000))
    committed = F.try_multiply(debezium_places.committed_ms(source), F.lit(1_000))
    told = [F.nullif(micros, F.lit(0)) for micros in (committed, source.getField("ts_us"), nanos, millis)]
    return values.moment(F.coalesce(*told), "micros")


def _ingest_ts(value: Column) -> Column:
    """When the connector took the event."""
    millis = F.try_multiply(_taken_ms(value), F.lit(1_000))
    return values.moment(F.coalesce(value.getField("ts_us"), millis), "micros")


def _taken_ms(value: Column) -> Column:
    return value.getField("ts_ms").try_cast("bigint")


def _transaction_id(value: Column) -> Column:
    """PostgreSQL's ids are `txId:lsn` and differ inside one transaction: the part before the colon is the same. SQL
    Server's are the LSNs of commits."""
    boundary = F.when(value.getField("status").isNotNull(), value.getField("id"))
    whole = F.coalesce(value.getField("transaction").getField("id"), boundary)
    common = F.when(whole.rlike("^[0-9]+:[0-9]+$"), F.substring_index(whole, ":", 1)).otherwise(whole)
    source = value.getField("source")
    by_commit = F.when(source.getField("connector") == debezium_places.SQLSERVER, source.getField("commit_lsn"))
    return F.coalesce(common, source.getField("txId"), by_commit)
