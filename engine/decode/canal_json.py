"""Canal's flat messages as JSON lines, of the open-source Canal and of Alibaba DTS; bare, or `{"value", "topic", ...}`.

A message holds the rows of one statement: each becomes a change, a row that gets another key two of them. There is no
log position: the order is that of the channel (partition and offset, else file and line). `old` holds the columns that
an update changed; before 2022-03-20 DTS had the images the other way round (`source.images: swapped`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine import names
from engine.decode import canal_kinds, position, values
from engine.decode.canal_resent import holds_batches, resent_messages
from engine.decode.coordinates import file_name
from engine.decode.envelope import CHANGE, CONTROL, ENVELOPE_COLUMNS, REJECT
from engine.decode.images import Declared, declared_keys
from engine.decode.methods import held, interpreted
from engine.decode.parsing import CORRUPT, first_at
from engine.decode.records import WRITE_JSON
from engine.json_text import options_text
from engine.jvm import CATALOG
from engine.schema import control_kinds
from engine.spec.model import SourceSpec

CANAL_MESSAGE: Final = f"{CATALOG}.canal_message"
CANAL_CONTENT: Final = f"{CATALOG}.canal_content"
CANAL_ROWS: Final = f"{CATALOG}.canal_rows"
_MESSAGE_FIELDS: Final = {
    "data": "array<string>",
    "database": "string",
    "es": "bigint",
    "gtid": "string",
    "id": "bigint",
    "isDdl": "boolean",
    "mysqlType": "string",
    "old": "array<string>",
    "pkNames": "array<string>",
    "sql": "string",
    "table": "string",
    "ts": "bigint",
    "type": "string",
}
"""In the order in which Canal writes them: the reader looks for the next one first."""
_TOLD_OF_ROWS: Final = ("id", "es", "ts", "gtid", "mysqlType", "pkNames")


def _fields_of(fields: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in fields.items())


_LINE_FIELDS: Final = {"value": "string", "topic": "string", "partition": "int", "offset": "bigint"} | _MESSAGE_FIELDS


def envelopes(lines: DataFrame, source: SourceSpec, declared: Declared) -> DataFrame:
    """What each message is, and each of its rows.

    Needs: file, line, text; all lines of a file and of those beside it that are needed (`are_enough`), or what was
        sent in the missing ones is not known; after_gap: whether a file follows one that was not read (absent: none
        does). `declared`: keys by table; where a spec names none, the message does.
    Gives: the columns of ENVELOPE_COLUMNS; the text of a message with its first row alone.
    Rows: 1:n, one a row of a message, two for a row that changes its key; one for a message without rows.
    """
    # Two looks at each line, of which the first keeps a few numbers: what is parsed takes as long to keep.
    resent = F.broadcast(resent_messages(lines.transform(_contents)))
    known = lines.transform(_picked).transform(_judged).join(resent, on=["file", "line"], how="left")  # one a line
    return known.transform(_rows, source, declared).transform(_completed, source)


def are_enough(lines: DataFrame, new: DataFrame) -> bool:
    """Whether lines of files on one side of `new` ones tell which messages were sent before.

    Needs: lines, new: file, line, text.
    """
    return holds_batches(lines.transform(_contents), new.transform(_contents))


def _contents(lines: DataFrame) -> DataFrame:
    """Where each message stands in its topic, and a hash of what of it is the same when it is sent again.

    Gives: file, line, after_gap, channel, kafka_partition, kafka_offset, id, es, content.
    """
    gap = F.col("after_gap") if "after_gap" in lines.columns else F.lit(False).alias("after_gap")
    found = F.col("_found")
    return lines.select("file", "line", gap, held(_of_line(CANAL_CONTENT)).alias("_found")).select(
        "file",
        "line",
        "after_gap",
        found["topic"].alias("channel"),
        found["partition"].alias("kafka_partition"),
        found["offset"].alias("kafka_offset"),
        *[found[name].alias(name) for name in ("id", "es", "content")],
    )


def _picked(lines: DataFrame) -> DataFrame:
    """The message that a line is, or holds in its `value`."""
    found = F.col("_found")
    return lines.select("file", "line", "text", _of_line(CANAL_MESSAGE).alias("_found")).select(
        "file",
        "line",
        "text",
        found["broken"].alias("_broken"),
        found["message"].alias("_message"),
        F.upper(found["message"]["type"]).alias("_type"),
        found["topic"].alias("channel"),
        found["partition"].alias("kafka_partition"),
        found["offset"].alias("kafka_offset"),
    )


def _of_line(function: str) -> Column:
    """What a function of engine/jvm gives of a line. Wrapped, Spark's parser sees what stands behind an object."""
    line, message = (F.lit(None).cast(f"struct<{_fields_of(fields)}>") for fields in (_LINE_FIELDS, _MESSAGE_FIELDS))
    return F.call_function(function, F.col("text"), line, message, F.lit(options_text(CORRUPT)))


def _judged(picked: DataFrame) -> DataFrame:
    """Which control event, if any; why rejected, if so."""
    message = F.col("_message")
    op, truncated = canal_kinds.op(message, F.col("_type")), canal_kinds.truncated(message, F.col("_type"))
    table = canal_kinds.table(message, interpreted(picked, truncated))
    typed = picked.select("*", op.alias("_op"), table.alias("table"))
    control = canal_kinds.control_kind(message, F.col("_type"), F.col("_op"), F.col("text"))
    reason = canal_kinds.reject_reason(message, F.col("_op"), F.col("table"))
    return typed.select("*", control.alias("_control")).select(
        "*",
        F.when(F.col("_broken"), canal_kinds.broken_reason(F.col("text")))
        .when(F.col("_control").isNull(), reason)
        .alias("reason"),
    )


def _rows(known: DataFrame, source: SourceSpec, declared: Declared) -> DataFrame:
    """The changes of each message. A message can have thousands: its text stands at the first of them alone, and of its
    fields only those that are told of each row.

    Rows: 1:n, two for a row that gets another key; one without images for a message that is no change of rows.
    """
    message = F.col("_message")
    control = F.when(F.col("_resent") & F.col("reason").isNull() & F.col("_control").isNull(), control_kinds.REDELIVERY)
    told = known.select("*", F.coalesce("_control", control).alias("control_kind"))
    is_rows = F.col("reason").isNull() & F.col("control_kind").isNull() & (F.col("_op") != names.OP_TRUNCATE)
    keys = F.coalesce(declared_keys(F.col("table"), declared), message["pkNames"], F.array().cast("array<string>"))
    is_swapped = F.lit(source.images == "swapped")
    changes = F.call_function(
        CANAL_ROWS, F.col("_op"), F.coalesce(is_rows, F.lit(False)), message["data"], message["old"], keys, is_swapped
    )
    kept = ("reason", "control_kind", "table", "channel", "kafka_partition", "kafka_offset", "_reached")
    opened = told.select(
        "file",
        "line",
        "text",
        *kept,
        *[message[name].alias(f"_{name}") for name in _TOLD_OF_ROWS],
        F.explode(changes).alias("_row"),
    )
    return opened.withColumn("text", F.when(F.col("_row.at") == 0, F.col("text")))


def _completed(rows: DataFrame, source: SourceSpec) -> DataFrame:
    """The columns of every envelope."""
    control, row = F.col("control_kind"), F.col("_row")
    is_change = F.col("reason").isNull() & control.isNull()
    types = F.when(F.col("_mysqlType").startswith("{"), F.col("_mysqlType"))
    row_schema = F.when(is_change, F.concat(F.lit('{"mysqlType":'), types, F.lit("}")))
    keys = F.call_function(WRITE_JSON, F.struct(F.col("_pkNames").alias("keys")))
    made = {
        "kind": F.when(F.col("reason").isNotNull(), REJECT).when(control.isNotNull(), CONTROL).otherwise(CHANGE),
        "connector": F.lit("canal"),
        "source": F.lit("canal"),
        "op": F.when(is_change, row["op"]),
        "origin": F.when(is_change, F.when(row["op"] == names.OP_READ, "snapshot").otherwise("stream")),
        "before_json": row["before"],
        "after_json": row["after"],
        "row_schema_json": row_schema,
        "key_schema_json": F.when(is_change & (F.size("_pkNames") > 0), keys),
        "schema_hash": F.xxhash64(row_schema),
        "position": F.when(is_change & (row["op"] != names.OP_READ), _place(source)),
        "commit_ts": values.moment(F.col("_es"), "millis"),
        "ingest_ts": values.moment(F.col("_ts"), "millis"),
        "event_id": F.col("_id").cast("string"),
        "tx_id": F.when(F.col("_gtid") != "", F.col("_gtid")),
        "tx_order": F.when(is_change, row["at"].cast("bigint")),
        "old_key_json": row["old_key"],
        "new_key_json": row["new_key"],
        "control_json": F.when(control.isNotNull(), first_at(F.col("text"), "value")),
    }
    made["schema_hash"] = F.when(row_schema.isNotNull(), made["schema_hash"])
    there = {name for name in rows.columns if not name.startswith("_")}
    return rows.select(
        *[
            (made[name] if name in made else F.col(name) if name in there else F.lit(None).cast("string")).alias(name)
            for name in ENVELOPE_COLUMNS
        ]
    )


def _place(source: SourceSpec) -> Column:
    """The coordinates of a row."""
    millis = F.coalesce(F.col("_reached"), F.col("_es"))
    in_kafka = position.kafka_record(millis, F.col("kafka_partition"), F.col("kafka_offset"), F.col("_row.at"))
    return F.coalesce(in_kafka, position.file_line(file_name(F.col("file"), source), F.col("line"), F.col("_row.at")))
