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
from engine.decode.wire import END, END_SIZE, ended, from_avro, readable
from engine.json_text import KEEP_NULLS, from_json
from engine.jvm import BETWEEN_WORDS, CATALOG
from engine.schema import control_kinds
from engine.spec.model import SourceSpec

DTS_ROW: Final = f"{CATALOG}.dts_row"
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
        read = lines.transform(messages).transform(_read, declared)
    return (
        read.transform(_judged)
        .transform(_imaged, declared)
        .transform(_checked)
        .transform(_halves)
        .transform(_completed)
    )


def _read(taken: DataFrame, declared: Declared) -> DataFrame:
    """The record, null where there is none; which messages are fillers of the transport.

    A change of every day is read in one look, by a reader of siltstone's own: `_look` then has what all steps would
    give of it, and `_record` is null.
    """
    is_filler = F.octet_length("value") <= dts_kinds.FILLER_BYTES
    record = F.when(~is_filler, F.col("value"))
    looked = taken.select(
        "*",
        F.coalesce(is_filler, F.lit(False)).alias("_filler"),
        usual_row(record, declared).alias("_look"),
    )
    unread = F.when(F.col("_look").isNull(), record)
    read = looked.select("*", from_avro(ended(unread), record_schema()).alias("_read"))
    return read.select(
        *looked.columns,
        F.when(F.col("_read")["end"].isin(*[F.lit(end) for end in _ENDS]), F.col("_read")).alias("_record"),
    )


def usual_row(value: Column, declared: Declared) -> Column:
    """What a record says of a change of a row, where nothing in it is seldom met; null of every other message."""
    keys = "\n".join(BETWEEN_WORDS.join([table, *columns]) for table, columns in declared.items() if columns)
    return F.call_function(DTS_ROW, value, F.lit(keys))


def _looked(name: str, otherwise: Column) -> Column:
    """What one look gave, else what the steps do: of a record that was read in one look they give null, or false."""
    return F.coalesce(F.col("_look")[name], otherwise)


def _judged(read: DataFrame) -> DataFrame:
    """What it does, or which control event it is; its table, its place, its time; why it is no record."""
    record = F.col("_record")
    seconds = record["sourceTimestamp"]
    known = F.when(seconds.between(_FIRST_SECOND, _LAST_SECOND), seconds)
    control = (
        F.when(F.col("is_empty"), control_kinds.NULL_MESSAGE)
        .when(F.col("_filler"), control_kinds.FILLER)
        .otherwise(dts_kinds.control_kind(record))
    )
    unread = F.col("_look").isNull() & record.isNull() & control.isNull()
    problem = F.coalesce("problem", F.when(unread, dts_kinds.unread_reason(F.col("value"))))
    numbers = position.dts_numbers(F.col("_look")["file"], F.col("_look")["offset"])
    place = F.when(dts_kinds.op(record).isNotNull(), position.dts(record["sourcePosition"]))
    return read.select(
        *("file", "line", "text", "topic", "partition", "offset", "_look", "_record"),
        problem.alias("problem"),
        _looked("op", dts_kinds.op(record)).alias("_op"),
        control.alias("control_kind"),
        _looked("table", dts_kinds.table(record)).alias("table"),
        F.coalesce(numbers, place).alias("_place"),
        F.timestamp_seconds(_looked("seconds", known)).alias("commit_ts"),
    )


def _imaged(judged: DataFrame, declared: Declared) -> DataFrame:
    """The texts of the values, where the record tells of a row as it should; the key columns of what is updated."""
    record = F.col("_record")
    is_judged = F.col("control_kind").isNull() & record.isNotNull()
    against = dts_kinds.reject_reason(record, F.col("table"), F.col("_place"), F.col("commit_ts"))
    reason = F.coalesce("problem", F.when(is_judged, against))
    told = judged.select("*", reason.alias("_reason"))
    kind = record["source"]["sourceType"]
    nanos = ~kind.isin(*_IN_MICROS) | record["sourcePosition"].contains("<->")
    is_row = is_judged & F.col("_reason").isNull() & (F.col("_op") != names.OP_TRUNCATE)
    fields = F.when(is_row, dts_kinds.fields(record))
    is_update = record.isNotNull() & (F.col("_op") == names.OP_UPDATE)
    old, new = dts_kinds.before(record), dts_kinds.after(record)
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
    told, kind = dts_values.told(fields, before, after), F.col("_record")["source"]["sourceType"]
    row_schema = F.concat(
        F.lit('{"dts":"'), kind, F.lit('","fields":'), F.to_json(fields), F.lit(',"told":"'), told, F.lit('"}')
    )
    schema_hash = F.when(fields.isNotNull(), F.xxhash64(kind, fields))
    return imaged.select(
        *("file", "line", "text", "topic", "partition", "offset", "_record", "_op", "control_kind", "table", "_place"),
        "commit_ts",
        reason.alias("reason"),
        *[_looked(name.removeprefix("_"), json).alias(name) for name, json in jsons.items()],
        _looked("old_partial", dts_values.is_partial(F.col("_old"))).alias("_old_partial"),
        _looked("moved", F.coalesce(moved, F.lit(False))).alias("_moved"),
        _looked("row_schema", row_schema).alias("_row_schema"),
        _looked("schema_hash", schema_hash).alias("_schema_hash"),
        *[_looked(name, value).alias(f"_{name}") for name, value in _around(F.col("_record")).items()],
    )


def _around(record: Column) -> dict[str, Column]:
    """What a record says around the row."""
    tags = record["tags"]
    return {
        "id": record["id"],
        "source_type": record["source"]["sourceType"],
        "transaction": record["sourceTxid"],
        "gtid": F.try_element_at(tags, F.lit("GTID")),
        "read_ms": F.try_element_at(tags, F.lit("readerThroughoutTime")),
        "key_info": _pk_uk_info(),
    }


def _where(names_: Column, flags: Column) -> Column:
    zipped = F.filter(F.arrays_zip(names_.alias("name"), flags.alias("flag")), lambda entry: entry["flag"])
    return F.array_join(F.transform(zipped, lambda entry: F.concat(F.lit('column "'), entry["name"], F.lit('"'))), ", ")


def _pk_uk_info() -> Column:
    return F.try_element_at(F.col("_record")["tags"], F.lit("pk_uk_info"))


def _told_keys() -> Column:
    """The key columns that the record names: the primary key's, else those of the only unique one."""
    listed = F.map_filter(from_json(_pk_uk_info(), "map<string,array<string>>"), lambda _, names_: F.size(names_) > 0)
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
    moves = F.col("reason").isNull() & F.col("_moved")
    return checked.select("*", F.explode(in_halves(moves, F.col("_op"))).alias("op"))


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
        "control_json": F.when(control.isNotNull(), _payload(F.col("_record"))),
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
