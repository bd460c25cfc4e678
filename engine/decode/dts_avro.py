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
from engine.decode.images import Declared, declared_keys, in_halves
from engine.decode.messages import messages
from engine.decode.methods import interpreted
from engine.decode.steps import Of, Step, within
from engine.decode.values import in_struct
from engine.decode.wire import END, END_SIZE, ended, from_avro, readable
from engine.json_text import KEEP_NULLS, from_json
from engine.jvm import BETWEEN_WORDS, CATALOG
from engine.schema import control_kinds
from engine.spec.model import SourceSpec

DTS_ROW: Final = f"{CATALOG}.dts_row"
_ENDS: Final = tuple(bytearray(END[start : start + END_SIZE]) for start in range(2))
_IN_MICROS: Final = ("MySQL", "PostgreSQL")
_NO_TRANSACTION: Final = ("", "0")
_AROUND: Final = ("id", "source_type", "transaction", "gtid", "read_ms", "key_info")
_KEPT: Final = ("file", "line", "text", "table", "commit_ts", "control_kind", "control_json")
_LAST_SECOND: Final = 253_402_300_799  # 9999-12-31T23:59:59Z
_FIRST_SECOND: Final = -62_135_596_800


def envelopes(lines: DataFrame, source: SourceSpec, declared: Declared) -> DataFrame:  # noqa: ARG001  # every format's decoder gets the source
    """What each record is.

    Needs: file, line, text. `declared`: keys by table; where a spec names none, the record does.
    Gives: the columns of ENVELOPE_COLUMNS.
    Rows: 1:1, 1:2 for an update that changes the key.
    """
    with readable():
        told = lines.transform(messages).transform(_looked_at, declared).transform(_told, declared)
    return told.transform(_halves).transform(_completed)


def _looked_at(taken: DataFrame, declared: Declared) -> DataFrame:
    """Which messages are fillers of the transport; what one look gives of the others (`usual_row`)."""
    is_filler = F.octet_length("value") <= dts_kinds.FILLER_BYTES
    return taken.select(
        "*",
        F.coalesce(is_filler, F.lit(False)).alias("_filler"),
        usual_row(F.when(~is_filler, F.col("value")), declared).alias("_look"),
    )


def usual_row(value: Column, declared: Declared) -> Column:
    """What a record says of a change of a row, where nothing in it is seldom met; null of every other message."""
    keys = "\n".join(BETWEEN_WORDS.join([table, *columns]) for table, columns in declared.items() if columns)
    return F.call_function(DTS_ROW, value, F.lit(keys))


def _told(looked: DataFrame, declared: Declared) -> DataFrame:
    """What each message says. What one look knows nothing of takes all steps, interpreted: each projection more copies
    every row.

    Gives: file, line, text, topic, partition, offset; _op, control_kind, table, _place, commit_ts; reason; the images
    as JSON, and what is told of them and around them.
    """
    steps: list[Step] = [_read, _whole, _judged, _reasoned, lambda of: _opened(of, declared), _texts]
    look, others = F.col("_look"), interpreted(looked, within(steps, lambda of: in_struct(_checked(of))))
    found = looked.select("*", F.when(look.isNull(), others).alias("_other"))
    other = F.col("_other")
    listed = ("old_json", "new_json", "old_partial", "moved", "row_schema", "schema_hash", *_AROUND)
    return found.select(
        *("file", "line", "text", "topic", "partition", "offset"),
        _either("op").alias("_op"),
        other["control_kind"].alias("control_kind"),
        _either("table").alias("table"),
        F.coalesce(position.dts_numbers(look["file"], look["offset"]), other["place"]).alias("_place"),
        F.timestamp_seconds(_either("seconds")).alias("commit_ts"),
        F.coalesce("problem", other["reason"]).alias("reason"),
        other["control_json"].alias("control_json"),
        *[_either(name).alias(f"_{name}") for name in listed],
    )


def _either(name: str) -> Column:
    """What one look gave, else what the steps did."""
    return F.coalesce(F.col("_look")[name], F.col("_other")[name])


def _read(of: Of) -> dict[str, Column]:
    """What Spark reads, with what it read behind the record."""
    record = F.when(~of("_filler"), of("value"))
    return {"_read": from_avro(ended(record), record_schema())}


def _whole(of: Of) -> dict[str, Column]:
    """The record; null where the message is none, up to its last byte."""
    ends = [F.lit(end) for end in _ENDS]
    return {"_record": F.when(of("_read")["end"].isin(*ends), of("_read"))}


def _judged(of: Of) -> dict[str, Column]:
    """What it does, or which control event it is; its table, its place, its time; why it is no record."""
    record = of("_record")
    op, seconds = dts_kinds.op(record), record["sourceTimestamp"]
    control = (
        F.when(of("is_empty"), control_kinds.NULL_MESSAGE)
        .when(of("_filler"), control_kinds.FILLER)
        .otherwise(dts_kinds.control_kind(record))
    )
    unread = F.when(record.isNull() & control.isNull(), dts_kinds.unread_reason(of("value")))
    return {
        "_problem": F.coalesce(of("problem"), unread),
        "_op": op,
        "_control": control,
        "_table": dts_kinds.table(record),
        "_place": F.when(op.isNotNull(), position.dts(record["sourcePosition"])),
        "_seconds": F.when(seconds.between(_FIRST_SECOND, _LAST_SECOND), seconds),
    }


def _reasoned(of: Of) -> dict[str, Column]:
    """Why a record is no change; whether it tells of a row as it should."""
    record = of("_record")
    is_judged = of("_control").isNull() & record.isNotNull()
    against = dts_kinds.reject_reason(record, of("_table"), of("_place"), of("_seconds"))
    reason = F.coalesce(of("_problem"), F.when(is_judged, against))
    return {"_reason": reason, "_is_row": is_judged & reason.isNull() & (of("_op") != names.OP_TRUNCATE)}


def _opened(of: Of, declared: Declared) -> dict[str, Column]:
    """Columns and values, where the record tells of a row as it should; the key columns of what is updated."""
    record, is_row = of("_record"), of("_is_row")
    kind = record["source"]["sourceType"]
    is_update = record.isNotNull() & (of("_op") == names.OP_UPDATE)
    old, new = dts_kinds.before(record), dts_kinds.after(record)
    keys = F.when(is_update, F.coalesce(declared_keys(of("_table"), declared), _told_keys(record)))
    lacking = is_update & old.isNotNull() & dts_values.is_partial(new)
    keyed = F.when(lacking, dts_values.with_keys(keys, dts_kinds.fields(record), old, new)).otherwise(new)
    return {
        "_fields": F.when(is_row, dts_kinds.fields(record)),
        "_nanos": ~kind.isin(*_IN_MICROS) | record["sourcePosition"].contains("<->"),
        "_keys": keys,
        "_old": F.when(is_row, old),
        "_new": F.when(is_row, keyed),
    }


def _texts(of: Of) -> dict[str, Column]:
    """The texts of the values."""
    return {f"{n}_texts": dts_values.texts(of("_fields"), of(n), of("_nanos")) for n in ("_old", "_new")}


def _checked(of: Of) -> dict[str, Column]:
    """The images as JSON; the reason against values that cannot be read; whether the key changes; what else there is
    to say of a record that no look knows."""
    record, fields, is_update = of("_record"), of("_fields"), of("_op") == names.OP_UPDATE
    old, new = of("_old"), of("_new")
    unread = [dts_values.unread(of(image), of(f"{image}_texts")) for image in ("_old", "_new")]
    some = [F.coalesce(F.array_contains(flags, True), F.lit(False)) for flags in unread]
    named = F.concat_ws(", ", *[_where(fields["name"], flags) for flags in unread])
    misread = F.when(some[0] | some[1], F.concat(F.lit("a value cannot be read: "), named))
    moved = F.when(is_update, _differ(of, fields["name"])).otherwise(False)
    before = F.when(is_update | (of("_op") == names.OP_DELETE), old)
    after = F.when(of("_op") != names.OP_DELETE, new)
    told, kind = dts_values.told(fields, before, after), record["source"]["sourceType"]
    row_schema = F.concat(
        F.lit('{"dts":"'), kind, F.lit('","fields":'), F.to_json(fields), F.lit(',"told":"'), told, F.lit('"}')
    )
    return {
        "op": of("_op"),
        "control_kind": of("_control"),
        "table": of("_table"),
        "place": of("_place"),
        "seconds": of("_seconds"),
        "reason": F.coalesce(of("_reason"), misread),
        "control_json": F.when(of("_control").isNotNull(), _payload(record)),
        "old_json": dts_values.image_json(fields, old, of("_old_texts")),
        "new_json": dts_values.image_json(fields, new, of("_new_texts")),
        "old_partial": dts_values.is_partial(old),
        "moved": F.coalesce(moved, F.lit(False)),
        "row_schema": row_schema,
        "schema_hash": F.when(fields.isNotNull(), F.xxhash64(kind, fields)),
    } | _around(record)


def _around(record: Column) -> dict[str, Column]:
    """What a record says around the row."""
    tags = record["tags"]
    return {
        "id": record["id"],
        "source_type": record["source"]["sourceType"],
        "transaction": record["sourceTxid"],
        "gtid": F.try_element_at(tags, F.lit("GTID")),
        "read_ms": F.try_element_at(tags, F.lit("readerThroughoutTime")),
        "key_info": _pk_uk_info(record),
    }


def _where(names_: Column, flags: Column) -> Column:
    zipped = F.filter(F.arrays_zip(names_.alias("name"), flags.alias("flag")), lambda entry: entry["flag"])
    return F.array_join(F.transform(zipped, lambda entry: F.concat(F.lit('column "'), entry["name"], F.lit('"'))), ", ")


def _pk_uk_info(record: Column) -> Column:
    return F.try_element_at(record["tags"], F.lit("pk_uk_info"))


def _told_keys(record: Column) -> Column:
    """The key columns that the record names: the primary key's, else those of the only unique one."""
    listed = F.map_filter(
        from_json(_pk_uk_info(record), "map<string,array<string>>"), lambda _, names_: F.size(names_) > 0
    )
    primary = F.map_filter(listed, lambda name, _: F.lower(name) == dts_types.PRIMARY)
    only = F.when(F.size(listed) == 1, F.get(F.map_values(listed), F.lit(0)))
    return F.coalesce(F.get(F.map_values(primary), F.lit(0)), only)


def _differ(of: Of, columns: Column) -> Column:
    """Whether one of the keys has another value after than before; what either image lacks says nothing."""
    old, new = of("_old_texts"), of("_new_texts")

    def other(key: Column) -> Column:
        at = F.array_position(columns, key).cast("int") - 1
        return values.let(at, lambda i: (i >= 0) & (F.get(old, i) != F.get(new, i)))

    return F.exists(of("_keys"), other)


def _halves(told: DataFrame) -> DataFrame:
    """An update that takes another key is a delete of the old one and an insert.

    Rows: 1:1, or 1:2.
    """
    moves = F.col("reason").isNull() & F.col("_moved")
    return told.select("*", F.explode(in_halves(moves, F.col("_op"))).alias("op"))


def _completed(halves: DataFrame) -> DataFrame:
    """The columns of every envelope."""
    op, control = F.col("op"), F.col("control_kind")
    is_change = F.col("reason").isNull() & control.isNull()
    connector = F.concat(F.lit("dts-"), F.lower("_source_type"))
    old, new = F.col("_old_json"), F.col("_new_json")
    known_before = (op == names.OP_DELETE) | ((op == names.OP_UPDATE) & ~F.col("_old_partial"))
    told, transaction = F.col("_key_info"), F.col("_transaction")
    key_info = F.when(told.startswith("{"), F.concat(F.lit('{"pk_uk_info":'), told, F.lit("}")))
    made = {
        "kind": F.when(F.col("reason").isNotNull(), REJECT).when(control.isNotNull(), CONTROL).otherwise(CHANGE),
        "reason": F.col("reason"),
        "connector": connector,
        "source": connector,
        "op": F.when(is_change, op),
        "origin": F.when(is_change, F.when(op == names.OP_READ, "snapshot").otherwise("stream")),
        "before_json": F.when(is_change & known_before, old),
        "after_json": F.when(is_change & (op != names.OP_DELETE), new),
        "row_schema_json": F.when(is_change, F.col("_row_schema")),
        "key_schema_json": F.when(is_change, key_info),
        "schema_hash": F.when(is_change, F.col("_schema_hash")),
        "position": F.when(is_change & (op != names.OP_READ), F.col("_place")),
        "ingest_ts": values.moment(F.col("_read_ms").try_cast("bigint"), "millis"),
        "event_id": F.col("_id").cast("string"),
        "tx_id": F.coalesce(F.when(~transaction.isin(*_NO_TRANSACTION), transaction), F.col("_gtid")),
        "tx_order": F.when(is_change, F.col("_id")),
        "old_key_json": F.when(is_change & F.col("_moved") & (op == names.OP_INSERT), old),
        "new_key_json": F.when(is_change & F.col("_moved") & (op == names.OP_DELETE), new),
        "channel": F.col("topic"),
        "kafka_partition": F.col("partition"),
        "kafka_offset": F.col("offset"),
    }
    kept = {name: F.col(name) for name in _KEPT}
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
