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
from engine.decode import canal_kinds, numbers, position, values
from engine.decode.canal_resent import holds_batches, resent_messages
from engine.decode.coordinates import file_name
from engine.decode.envelope import CHANGE, CONTROL, ENVELOPE_COLUMNS, REJECT
from engine.decode.images import Declared, changes_key, declared_keys, in_halves, joined, overlaid
from engine.decode.json_lines import is_malformed
from engine.decode.outcome import some
from engine.decode.parsing import first_at, line_of
from engine.frames import checkpointed
from engine.schema import control_kinds
from engine.spec.model import SourceSpec

_MESSAGE_FIELDS: Final = {
    "id": "bigint",
    "database": "string",
    "table": "string",
    "type": "string",
    "isDdl": "boolean",
    "es": "bigint",
    "ts": "bigint",
    "gtid": "string",
    "sql": "string",
    "mysqlType": "string",
    "pkNames": "array<string>",
    "data": "array<string>",
    "old": "array<string>",
}
_COUNTS: Final = ("id", "es", "ts")
_TOLD_OF_ROWS: Final = (*_COUNTS, "gtid", "mysqlType", "pkNames")


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
    # Kept: which messages were sent again is found by looking at all of them, and nobody wants to parse them twice.
    messages = lines.transform(_parsed).transform(_picked).transform(checkpointed, eager=False)
    resent = F.broadcast(resent_messages(messages, tuple(_MESSAGE_FIELDS)))
    known = messages.transform(_judged).join(resent, on=["file", "line"], how="left")  # one a (file, line)
    return known.transform(_rows, source).transform(_halves, declared, source).transform(_completed, source)


def are_enough(lines: DataFrame, new: DataFrame) -> bool:
    """Whether lines of files on one side of `new` ones tell which messages were sent before.

    Needs: lines, new: file, line, text.
    """
    beside, asked = (part.transform(_parsed).transform(_picked) for part in (lines, new))
    return holds_batches(beside, tuple(_MESSAGE_FIELDS), asked)


def _parsed(lines: DataFrame) -> DataFrame:
    """The line as a struct, and the message in its `value`. Wrapped, the parser sees what stands behind an object."""
    gap = F.col("after_gap") if "after_gap" in lines.columns else F.lit(False).alias("after_gap")
    told = lines.select("file", "line", "text", gap)
    outer = told.transform(_read, F.col("text"), _LINE_FIELDS, "_json")
    return outer.transform(_read, F.col("_json._line.value"), _MESSAGE_FIELDS, "_inner")


def _read(lines: DataFrame, text: Column, fields: Mapping[str, str], name: str) -> DataFrame:
    """The object in a text, in a column of this name. Counts can be text: what has a field of another type, as seldom a
    message has, is read a second time."""
    read = lines.select("*", line_of(text, _fields_of(fields)).alias(name))
    as_texts = {field: "string" if field in _COUNTS else kind for field, kind in fields.items()}
    again = _counted(text, line_of(text, _fields_of(as_texts)))
    others = [F.col(column) for column in lines.columns]
    return read.select(*others, F.when(F.col(name)["_malformed"].isNotNull(), again).otherwise(F.col(name)).alias(name))


def _counted(text: Column, json: Column) -> Column:
    """The same with the texts of counts as numbers; malformed where one is none."""
    line = json["_line"]
    counted = line
    for field in _COUNTS:
        counted = counted.withField(field, numbers.whole_number(line[field]))
    uncounted = some(line[field].isNotNull() & counted[field].isNull() for field in _COUNTS)
    malformed = F.when(uncounted, text).otherwise(json["_malformed"])
    return F.struct(counted.alias("_line"), json["_end"].alias("_end"), malformed.alias("_malformed"))


def _picked(parsed: DataFrame) -> DataFrame:
    """One message, wherever the line has it."""
    line, inner = F.col("_json._line"), F.col("_inner._line")
    is_inner = line["value"].isNotNull()
    flat = F.struct(*[line[name].alias(name) for name in _MESSAGE_FIELDS])
    malformed = is_malformed(F.col("_json")) | (is_inner & is_malformed(F.col("_inner")))
    nothing = F.trim("text") == "null"
    return parsed.select(
        "file",
        "line",
        "text",
        "after_gap",
        ((line.isNull() & ~nothing) | malformed | (is_inner & inner.isNull())).alias("_broken"),
        F.when(is_inner, inner).otherwise(flat).alias("_message"),
        line["topic"].alias("channel"),
        line["partition"].alias("kafka_partition"),
        line["offset"].alias("kafka_offset"),
    )


def _judged(picked: DataFrame) -> DataFrame:
    """Which control event, if any; why rejected, if so."""
    message = F.col("_message")
    typed = picked.select("*", canal_kinds.op(message).alias("_op"), canal_kinds.table(message).alias("table"))
    control = canal_kinds.control_kind(message, F.col("_op"), F.col("text"))
    reason = canal_kinds.reject_reason(message, F.col("_op"), F.col("table"))
    return typed.select("*", control.alias("_control")).select(
        "*",
        F.when(F.col("_broken"), canal_kinds.broken_reason(F.col("text")))
        .when(F.col("_control").isNull(), reason)
        .alias("reason"),
    )


def _rows(known: DataFrame, source: SourceSpec) -> DataFrame:
    """The rows of each message, with the images as they were before and after. A message can have thousands: its text
    stands at the first of them alone, and of its fields only those that are told of each row.

    Rows: 1:n; one without images for a message that is no change of rows.
    """
    message = F.col("_message")
    resent = F.coalesce(F.col("_resent"), F.lit(False))
    control = F.when(resent & F.col("reason").isNull() & F.col("_control").isNull(), control_kinds.REDELIVERY)
    told = known.select("*", F.coalesce("_control", control).alias("control_kind"))
    is_rows = F.col("reason").isNull() & F.col("control_kind").isNull() & (F.col("_op") != names.OP_TRUNCATE)
    data, old = message["data"], message["old"]
    swapped = source.images == "swapped"
    only = F.coalesce(old, data) if swapped else F.coalesce(data, old)
    carried = F.when(F.col("_op") == names.OP_UPDATE, data).otherwise(only)
    nothing = F.array().cast("array<string>")
    images = F.coalesce(F.when(is_rows, carried), nothing).alias("image")
    others = F.coalesce(F.when(is_rows & (F.col("_op") == names.OP_UPDATE), old), nothing).alias("other")
    kept = ("reason", "control_kind", "table", "channel", "kafka_partition", "kafka_offset", "_op", "_reached")
    opened = told.select(
        "file",
        "line",
        *kept,
        F.struct(*[message[name].alias(name) for name in _TOLD_OF_ROWS]).alias("_message"),
        F.posexplode_outer(F.arrays_zip(F.array("text").alias("text"), images, others)).alias("_at", "_row"),
    )
    image, other = F.col("_row.image"), F.col("_row.other")
    other_side = F.when(other.isNotNull(), (overlaid if swapped else joined)(image, other))
    before, after = (image, F.coalesce(other_side, image)) if swapped else (other_side, image)
    is_update, is_delete = F.col("_op") == names.OP_UPDATE, F.col("_op") == names.OP_DELETE
    return opened.select(
        "*",
        F.col("_row.text").alias("text"),
        F.when(is_update, before).when(is_delete, image).alias("_before"),
        F.when(is_update, after).when(~is_delete, image).alias("_after"),
    )


def _halves(rows: DataFrame, declared: Declared, source: SourceSpec) -> DataFrame:
    """An update that changes the key is a delete of the old key and an insert of the new one.

    Rows: 1:1, or 1:2.
    """
    keys = F.coalesce(
        declared_keys(F.col("table"), declared), F.col("_message.pkNames"), F.array().cast("array<string>")
    )
    row = F.col("_row")
    moved = (F.col("_op") == names.OP_UPDATE) & changes_key(keys, row["image"], row["other"])
    told = rows.select("*", moved.alias("_moves"))
    nothing = F.lit(None).cast("string")
    whole = overlaid(row["image"], row["other"]) if source.images == "standard" else nothing
    told = told.select("*", F.coalesce(F.when(F.col("_moves"), whole), "_before").alias("_given_up"))
    # What is interpreted stands before it: Spark generates code for what makes rows of rows only where nothing is.
    halves = told.select("*", F.explode(in_halves(F.col("_moves"), F.col("_op"))).alias("op"))
    gives = F.col("_moves") & (F.col("op") == names.OP_DELETE)
    return halves.withColumn("_before", F.when(gives, F.col("_given_up")).otherwise(F.col("_before")))


def _completed(halves: DataFrame, source: SourceSpec) -> DataFrame:
    """The columns of every envelope."""
    message, op, control = F.col("_message"), F.col("op"), F.col("control_kind")
    is_update = F.col("_op") == names.OP_UPDATE
    is_change = F.col("reason").isNull() & control.isNull()
    before, after = F.col("_before"), F.col("_after")
    gives, takes = is_update & (op == names.OP_DELETE), is_update & (op == names.OP_INSERT)
    types = F.when(message["mysqlType"].startswith("{"), message["mysqlType"])
    row_schema = F.when(is_change, F.concat(F.lit('{"mysqlType":'), types, F.lit("}")))
    keys = F.when(F.size(message["pkNames"]) > 0, F.to_json(F.struct(message["pkNames"].alias("keys"))))
    made = {
        "kind": F.when(F.col("reason").isNotNull(), REJECT).when(control.isNotNull(), CONTROL).otherwise(CHANGE),
        "connector": F.lit("canal"),
        "source": F.lit("canal"),
        "op": F.when(is_change, op),
        "origin": F.when(is_change, F.when(op == names.OP_READ, "snapshot").otherwise("stream")),
        "before_json": F.when(op.isin(names.OP_UPDATE, names.OP_DELETE), before),
        "after_json": F.when(op != names.OP_DELETE, after),
        "row_schema_json": row_schema,
        "key_schema_json": F.when(is_change, keys),
        "schema_hash": F.xxhash64(row_schema),
        "position": F.when(is_change & (op != names.OP_READ), _place(source)),
        "commit_ts": values.moment(message["es"], "millis"),
        "ingest_ts": values.moment(message["ts"], "millis"),
        "event_id": message["id"].cast("string"),
        "tx_id": F.when(message["gtid"] != "", message["gtid"]),
        "tx_order": F.when(is_change, F.col("_at").cast("bigint")),
        "old_key_json": F.when(takes, before),
        "new_key_json": F.when(gives, after),
        "control_json": F.when(control.isNotNull(), first_at(F.col("text"), "value")),
    }
    made["schema_hash"] = F.when(row_schema.isNotNull(), made["schema_hash"])
    there = {name for name in halves.columns if not name.startswith("_")}
    return halves.select(
        *[
            (made[name] if name in made else F.col(name) if name in there else F.lit(None).cast("string")).alias(name)
            for name in ENVELOPE_COLUMNS
        ]
    )


def _place(source: SourceSpec) -> Column:
    """The coordinates of a row."""
    millis = F.coalesce(F.col("_reached"), F.col("_message.es"))
    in_kafka = position.kafka_record(millis, F.col("kafka_partition"), F.col("kafka_offset"), F.col("_at"))
    return F.coalesce(in_kafka, position.file_line(file_name(F.col("file"), source), F.col("line"), F.col("_at")))
