"""Alibaba DTS's Avro records, one a message, without frames and without a registry; see `dts_schema`.

The order is that of `sourcePosition` (file, position), then of `id`; a READ (INIT) carries only a time. An update that
takes another key is a delete and an insert. Values are text whatever their type; the numbers of types say what they
are, and for decimals and bytes the values themselves. `bornTimestamp`, which only newer records have, is read over.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine import names
from engine.decode import dts_kinds, dts_types, dts_values, position, values
from engine.decode.dts_schema import record_schema
from engine.decode.envelope import CHANGE, CONTROL, ENVELOPE_SCHEMA, REJECT
from engine.decode.images import Declared, declared_keys
from engine.decode.messages import messages
from engine.decode.wire import END, END_SIZE, ended, from_avro, readable
from engine.json_text import KEEP_NULLS
from engine.schema import control_kinds
from engine.spec.model import SourceSpec

_ENDS: Final = tuple(bytearray(END[start : start + END_SIZE]) for start in range(2))
_IN_MICROS: Final = ("MySQL", "PostgreSQL")
_NO_TRANSACTION: Final = ("", "0")
_LAST_SECOND: Final = 253_402_300_799  # 9999-12-31T23:59:59Z
_FIRST_SECOND: Final = -62_135_596_800


def envelopes(lines: DataFrame, source: SourceSpec, declared: Declared) -> DataFrame:  # noqa: ARG001  # every format's decoder gets the source
    """What each record is.

    Needs: file, line, text. `declared`: keys by table; where a spec names none, the record does.
    Gives: the columns of ENVELOPE_COLUMNS.
    Rows: 1:1, 1:2 for an update that changes the key.
    """
    with readable():
        read = lines.transform(messages).transform(_read)
    return (
        read.transform(_judged)
        .transform(_imaged, declared)
        .transform(_checked)
        .transform(_halves)
        .transform(_completed)
    )


def _read(taken: DataFrame) -> DataFrame:
    """The record, null where there is none; which messages are fillers of the transport."""
    is_filler = F.octet_length("value") <= dts_kinds.FILLER_BYTES
    read = from_avro(ended(F.when(~is_filler, F.col("value"))), record_schema())
    return taken.select("*", F.coalesce(is_filler, F.lit(False)).alias("_filler"), read.alias("_read")).select(
        *taken.columns,
        "_filler",
        F.when(F.col("_read")["end"].isin(*[F.lit(end) for end in _ENDS]), F.col("_read")).alias("_record"),
    )


def _judged(read: DataFrame) -> DataFrame:
    """What it does, or which control event it is; its table, its place, its time."""
    record = F.col("_record")
    seconds = record["sourceTimestamp"]
    known = F.when(seconds.between(_FIRST_SECOND, _LAST_SECOND), seconds)
    return read.select(
        *("file", "line", "text", "value", "topic", "partition", "offset", "problem", "is_empty", "_filler", "_record"),
        dts_kinds.op(record).alias("_op"),
        F.when(F.col("is_empty"), control_kinds.NULL_MESSAGE)
        .when(F.col("_filler"), control_kinds.FILLER)
        .otherwise(dts_kinds.control_kind(record))
        .alias("control_kind"),
        dts_kinds.table(record).alias("table"),
        position.dts(record["sourcePosition"]).alias("_place"),
        F.timestamp_seconds(known).alias("commit_ts"),
    )


def _imaged(judged: DataFrame, declared: Declared) -> DataFrame:
    """The texts of the values, where the record tells of a row as it should; the key columns of what is updated."""
    record = F.col("_record")
    reason = F.coalesce(
        F.col("problem"),
        F.when(
            F.col("control_kind").isNull(),
            F.when(record.isNull(), dts_kinds.unread_reason(F.col("value"))).otherwise(
                dts_kinds.reject_reason(record, F.col("table"), F.col("_place"), F.col("commit_ts"))
            ),
        ),
    )
    told = judged.select("*", reason.alias("_reason"))
    kind = record["source"]["sourceType"]
    nanos = ~kind.isin(*_IN_MICROS) | record["sourcePosition"].contains("<->")
    is_row = F.col("_reason").isNull() & F.col("control_kind").isNull() & (F.col("_op") != names.OP_TRUNCATE)
    fields = F.when(is_row, dts_kinds.fields(record))
    is_update, old, new = F.col("_op") == names.OP_UPDATE, dts_kinds.before(record), dts_kinds.after(record)
    keys = F.when(is_update, F.coalesce(declared_keys(F.col("table"), declared), _told_keys()))
    lacking = is_update & old.isNotNull() & dts_values.is_partial(new)
    keyed = F.when(lacking, dts_values.with_keys(keys, dts_kinds.fields(record), old, new)).otherwise(new)
    images = {"_old": old, "_new": keyed}
    opened = told.select(
        "*",
        *(fields.alias("_fields"), nanos.alias("_nanos"), keys.alias("_keys")),
        *[F.when(is_row, v).alias(n) for n, v in images.items()],
    )
    return opened.select(
        "*", *[dts_values.texts(F.col("_fields"), F.col(n), F.col("_nanos")).alias(f"{n}_texts") for n in images]
    )


def _checked(imaged: DataFrame) -> DataFrame:
    """The images as JSON; the reason against values that cannot be read; whether the key changes."""
    fields, is_update = F.col("_fields"), F.col("_op") == names.OP_UPDATE
    unread = [dts_values.unread(F.col(image), F.col(f"{image}_texts")) for image in ("_old", "_new")]
    some = [F.coalesce(F.array_contains(flags, True), F.lit(False)) for flags in unread]
    named = F.concat_ws(", ", *[_where(fields["name"], flags) for flags in unread])
    reason = F.coalesce("_reason", F.when(some[0] | some[1], F.concat(F.lit("a value cannot be read: "), named)))
    jsons = {
        f"{image}_json": dts_values.image_json(fields, F.col(image), F.col(f"{image}_texts"))
        for image in ("_old", "_new")
    }
    moved = F.when(is_update, _differ(F.col("_keys"), fields["name"])).otherwise(False)
    before = F.when(is_update | (F.col("_op") == names.OP_DELETE), F.col("_old"))
    after = F.when(F.col("_op") != names.OP_DELETE, F.col("_new"))
    return imaged.select(
        *("file", "line", "text", "topic", "partition", "offset", "_record", "_op", "control_kind", "table", "_place"),
        *("commit_ts", "_fields"),
        reason.alias("reason"),
        *[json.alias(name) for name, json in jsons.items()],
        dts_values.is_partial(F.col("_old")).alias("_old_partial"),
        F.coalesce(moved, F.lit(False)).alias("_moved"),
        dts_values.told(fields, before, after).alias("_told"),
    )


def _where(names_: Column, flags: Column) -> Column:
    zipped = F.filter(F.arrays_zip(names_.alias("name"), flags.alias("flag")), lambda entry: entry["flag"])
    return F.array_join(F.transform(zipped, lambda entry: F.concat(F.lit('column "'), entry["name"], F.lit('"'))), ", ")


def _pk_uk_info() -> Column:
    return F.try_element_at(F.col("_record")["tags"], F.lit("pk_uk_info"))


def _told_keys() -> Column:
    """The key columns that the record names: the primary key's, else those of the only unique one."""
    listed = F.map_filter(F.from_json(_pk_uk_info(), "map<string,array<string>>"), lambda _, names_: F.size(names_) > 0)
    primary = F.map_filter(listed, lambda name, _: F.lower(name) == dts_types.PRIMARY)
    only = F.when(F.size(listed) == 1, F.get(F.map_values(listed), F.lit(0)))
    return F.coalesce(F.get(F.map_values(primary), F.lit(0)), only)


def _differ(keys: Column, columns: Column) -> Column:
    """Whether one of the keys has another value after than before; what either image lacks says nothing."""
    old, new = F.col("_old_texts"), F.col("_new_texts")

    def other(key: Column) -> Column:
        at = F.array_position(columns, key).cast("int") - 1
        return values.let(at, lambda i: (i >= 0) & (F.get(old, i) != F.get(new, i)))

    return F.exists(keys, other)


def _halves(checked: DataFrame) -> DataFrame:
    """An update that takes another key is a delete of the old one and an insert.

    Rows: 1:1, or 1:2.
    """
    is_good = F.col("reason").isNull()
    both = F.array(F.lit(names.OP_DELETE), F.lit(names.OP_INSERT))
    return checked.select("*", F.explode(F.when(is_good & F.col("_moved"), both).otherwise(F.array("_op"))).alias("op"))


def _completed(halves: DataFrame) -> DataFrame:
    """The columns of every envelope."""
    record, op, control = F.col("_record"), F.col("op"), F.col("control_kind")
    is_change = F.col("reason").isNull() & control.isNull()
    kind, tags = F.lower(record["source"]["sourceType"]), record["tags"]
    old, new = F.col("_old_json"), F.col("_new_json")
    known_before = (op == names.OP_DELETE) | ((op == names.OP_UPDATE) & ~F.col("_old_partial"))
    fields = F.col("_fields")
    row_schema = F.concat(
        F.lit('{"dts":"'), record["source"]["sourceType"], F.lit('","fields":'), F.to_json(fields),
        F.lit(',"told":"'), F.col("_told"), F.lit('"}'),
    )  # fmt: skip
    key_info = F.when(_pk_uk_info().startswith("{"), F.concat(F.lit('{"pk_uk_info":'), _pk_uk_info(), F.lit("}")))
    transaction = record["sourceTxid"]
    made = {
        "kind": F.when(F.col("reason").isNotNull(), REJECT).when(control.isNotNull(), CONTROL).otherwise(CHANGE),
        "reason": F.col("reason"),
        "connector": F.concat(F.lit("dts-"), kind),
        "source": F.concat(F.lit("dts-"), kind),
        "op": F.when(is_change, op),
        "origin": F.when(is_change, F.when(op == names.OP_READ, "snapshot").otherwise("stream")),
        "before_json": F.when(is_change & known_before, old),
        "after_json": F.when(is_change & (op != names.OP_DELETE), new),
        "row_schema_json": F.when(is_change & fields.isNotNull(), row_schema),
        "key_schema_json": F.when(is_change, key_info),
        "schema_hash": F.when(is_change & fields.isNotNull(), F.xxhash64(record["source"]["sourceType"], fields)),
        "position": F.when(is_change & (op != names.OP_READ), F.col("_place")),
        "ingest_ts": values.moment(F.try_element_at(tags, F.lit("readerThroughoutTime")).try_cast("bigint"), "millis"),
        "event_id": record["id"].cast("string"),
        "tx_id": F.coalesce(
            F.when(~transaction.isin(*_NO_TRANSACTION), transaction), F.try_element_at(tags, F.lit("GTID"))
        ),
        "tx_order": F.when(is_change, record["id"]),
        "old_key_json": F.when(is_change & F.col("_moved") & (op == names.OP_INSERT), old),
        "new_key_json": F.when(is_change & F.col("_moved") & (op == names.OP_DELETE), new),
        "channel": F.col("topic"),
        "kafka_partition": F.col("partition"),
        "kafka_offset": F.col("offset"),
        "control_json": F.when(control.isNotNull(), _payload(record)),
    }
    kept = {name: F.col(name) for name in ("file", "line", "text", "table", "commit_ts", "control_kind")}
    return halves.select(
        *[
            (kept | made).get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
            for field in ENVELOPE_SCHEMA
        ]
    )


def _payload(record: Column) -> Column:
    """What a control event says, as JSON."""
    said = [record[name].alias(name) for name in ("operation", "objectName", "sourcePosition", "sourceTxid", "tags")]
    return F.to_json(F.struct(*said, dts_kinds.statement(record).alias("statement")), KEEP_NULLS)
