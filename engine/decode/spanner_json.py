"""Change records of Spanner change streams as JSON lines, in the shapes in which queries and connectors hand them on.

An array of change records, each with arrays of data, heartbeat and partition records (GoogleSQL); an object with one of
the kinds (PostgreSQL); a data record alone; any of them under `value`, and with the names of other tools (camelCase,
`keysJson`). A data record holds the changes of one statement to one table, its mods: each becomes a change. Its value
capture type says which images it carries; with NEW_VALUES and OLD_AND_NEW_VALUES the row of an update is partial.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine import names
from engine.decode import position, spanner_kinds
from engine.decode.envelope import ANNOUNCED, CHANGE, CONTROL, ENVELOPE_COLUMNS, REJECT
from engine.decode.images import joined
from engine.decode.instants import nanos, seconds, unix_micros
from engine.decode.json_lines import is_malformed, is_unread
from engine.decode.parsing import line_of, struct_of, wrapped
from engine.decode.spanner_kinds import DATA_CHANGE
from engine.decode.values import in_struct, let
from engine.json_text import from_json
from engine.jvm import CATALOG
from engine.spec.model import SourceSpec

_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "commit_timestamp": ("commitTimestamp",),
    "record_sequence": ("recordSequence",),
    "server_transaction_id": ("serverTransactionId",),
    "table_name": ("tableName",),
    "column_types": ("columnTypes", "rowType"),
    "mods": (),
    "mod_type": ("modType",),
    "value_capture_type": ("valueCaptureType",),
    "partition_token": ("partitionToken",),
    "number_of_records_in_transaction": ("numberOfRecordsInTransaction",),
    "number_of_partitions_in_transaction": ("numberOfPartitionsInTransaction",),
    "is_last_record_in_transaction_in_partition": ("isLastRecordInTransactionInPartition",),
    "timestamp": (),
    "start_timestamp": ("startTimestamp",),
    "end_timestamp": ("endTimestamp",),
}
_MOD_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "keys": ("keysJson", "keys_json"),
    "new_values": ("newValues", "newValuesJson", "new_values_json"),
    "old_values": ("oldValues", "oldValuesJson", "old_values_json"),
}
_CAPTURES_ROW_AND_OLD: Final = "NEW_ROW_AND_OLD_VALUES"

_USUAL_MODS: Final = f"array<struct<{', '.join(f'{name}: string' for name in _MOD_FIELDS)}>>"
_USUAL: Final = ", ".join(f"`{name}`: {_USUAL_MODS if name == 'mods' else 'string'}" for name in _FIELDS)
_OTHER_KINDS: Final = tuple(spelled[0] for kind, spelled in spanner_kinds.RECORDS.items() if kind != DATA_CHANGE)
_OTHERS: Final = ", ".join(f"{name}: string" for name in _OTHER_KINDS)
_USUAL_LINE: Final = (
    f"{_USUAL}, data_change_record: struct<{_USUAL}>, {_OTHERS}, "
    f"change_record: array<struct<data_change_record: array<struct<{_USUAL}>>, {_OTHERS}>>"
)

_USUAL_FIELDS: Final[dict[str, str]] = {
    "kind": "string",
    "record": f"struct<{_USUAL}>",
    "micros": "bigint",
    "sequence": "bigint",
    "at": "int",
    **dict.fromkeys(_MOD_FIELDS, "string"),
    "json": "string",
    "text": "string",
}
_USUAL_MOD: Final = f"struct<{', '.join(f'{name}: {kind}' for name, kind in _USUAL_FIELDS.items())}>"
SPANNER_MODS: Final = f"{CATALOG}.spanner_mods"


def _schema(fields: dict[str, tuple[str, ...]]) -> str:
    return ", ".join(f"`{name}` string" for field, others in fields.items() for name in (field, *others))


def _known_as(struct: Column, fields: dict[str, tuple[str, ...]]) -> list[Column]:
    """The fields under their own names, whatever the struct calls them."""
    return [F.coalesce(*[struct[name] for name in (field, *others)]).alias(field) for field, others in fields.items()]


_KINDS: Final = ", ".join(f"`{name}` string" for spelled in spanner_kinds.RECORDS.values() for name in spelled)
_LINE: Final = (
    f"value string, topic string, partition int, offset bigint, change_record string, {_KINDS}, {_schema(_FIELDS)}"
)


def envelopes(lines: DataFrame, source: SourceSpec) -> DataFrame:  # noqa: ARG001  # every format's decoder gets it
    """What each record is, and each of its mods.

    Needs: file, line, text.
    Gives: the columns of ENVELOPE_COLUMNS, the text of a line with the first mod of each data record alone; then
        announced.
    Rows: 1:n, one a mod of a data record, one for every other record; one for a line without any.
    """
    parsed = lines.transform(_usual).transform(_parsed)
    return parsed.transform(_records).transform(_judged).transform(_mods).transform(_completed)


def _usual(lines: DataFrame) -> DataFrame:
    """The mods and heartbeats of a line that holds nothing else, spelled and written as Spanner does: one look gives
    all there is (`SpannerMods` in `engine/jvm`).

    `_usual` is null for every other line, which is then read piece by piece.
    """
    line, mods = (F.lit(None).cast(kind) for kind in (f"struct<{_USUAL_LINE}>", f"array<{_USUAL_MOD}>"))
    usual = F.call_function(SPANNER_MODS, _object(F.col("text")), line, mods, F.col("text"))
    return lines.select("file", "line", "text", usual.alias("_usual"))


def _parsed(lines: DataFrame) -> DataFrame:
    """The line as a struct, or what stands in its `value`; an array of change records as the object around it."""
    is_unusual = F.col("_usual").isNull()
    unusual = F.when(is_unusual, _object(F.col("text")))
    read = lines.select("*", line_of(unusual, _LINE).alias("_json"))
    value = F.ltrim(F.col("_json._line.value"), F.lit(spanner_kinds.BLANKS))
    framed = value.startswith("{") | value.startswith("[")
    inner = line_of(F.when(framed, _object(value)), _LINE).alias("_inner")
    broken = (F.col("_json._line").isNull() & (F.trim("text") != "null")) | is_malformed(F.col("_json"))
    broken = broken | F.coalesce(framed & is_unread(F.col("_inner")), F.lit(False))
    return read.select("*", inner).select(
        "file",
        "line",
        "text",
        "_usual",
        F.col("_json._line.partition_token").alias("_token"),
        (is_unusual & broken).alias("_broken"),
        F.when(framed, F.col("_inner._line")).otherwise(F.col("_json._line")).alias("_line"),
        F.when(framed, _object(value)).when(is_unusual, _object(F.col("text"))).alias("_body"),
        F.col("_json._line.topic").alias("_topic"),
        F.col("_json._line.partition").alias("kafka_partition"),
        F.col("_json._line.offset").alias("kafka_offset"),
    )


def _object(text: Column) -> Column:
    listed = ~text.startswith("{") & F.ltrim(text, F.lit(spanner_kinds.BLANKS)).startswith("[")
    return F.when(listed, F.concat(F.lit('{"change_record":'), text, F.lit("}"))).otherwise(text)


def _records(parsed: DataFrame) -> DataFrame:
    """Every record of the line with its kind; of a usual line every mod and heartbeat. A record can have thousands of
    mods: none but the first one brings the text.

    Rows: 1:n; one without a record for a line that holds none.
    """
    line, body = F.col("_line"), F.col("_body")
    told = F.coalesce(line["change_record"], F.when(body.contains('"ChangeRecord"'), _any_spelling(body)))
    listed = from_json(told, f"array<struct<{_KINDS}>>")
    found = F.when(told.isNotNull(), F.flatten(F.transform(listed, _kinds_of))).otherwise(_kinds_of(line))
    alone = F.coalesce(*[line[name] for name in ("table_name", "tableName", "mods", "modType", "mod_type")]).isNotNull()
    bare = F.array(_of_kind(DATA_CHANGE)(body))
    none = F.array(_of_kind(None)(F.lit(None).cast("string")))
    unusual = let(F.when(alone, bare).otherwise(found), lambda told: F.when(F.size(told) > 0, told).otherwise(none))
    records = F.coalesce("_usual", F.when(F.col("_usual").isNull(), unusual))
    kept = [name for name in parsed.columns if name not in ("_usual", "text")]
    # No array is empty, but of one that may be Spark does not ask for its size in a filter below all this.
    exploded = parsed.select(*kept, records.alias("_found")).select(*kept, F.explode_outer("_found").alias("_found"))
    is_usual = F.col("_found.record").isNotNull()
    spelled = struct_of(F.when(~is_usual, F.col("_found.json")), _schema(_FIELDS))
    read = exploded.select("*", is_usual.alias("_is_usual"), spelled.alias("_spelled"))
    known = F.when(F.col("_spelled").isNotNull(), F.struct(*_read_record(F.col("_spelled"))))
    parts = [
        F.col("_found")[name].alias(f"_{name}") for name in ("kind", "micros", "sequence", "at", *_MOD_FIELDS, "json")
    ]
    record = F.coalesce("_found.record", known).alias("_record")
    return read.select(*kept, F.col("_found.text").alias("text"), "_is_usual", record, *parts)


def _read_record(spelled: Column) -> list[Column]:
    """The fields of a record, its mods read."""
    mods = F.transform(_listed_mods(spelled["mods"]), lambda mod: F.struct(*_known_as(mod, _MOD_FIELDS)))
    plain = {name: others for name, others in _FIELDS.items() if name != "mods"}
    named = dict(zip(plain, _known_as(spelled, plain), strict=True)) | {"mods": mods.alias("mods")}
    return [named[name] for name in _FIELDS]


def _listed_mods(mods: Column) -> Column:
    """The mods, each an object or the JSON text of one; null where one is neither."""
    fields = f"struct<{_schema(_MOD_FIELDS)}>"
    texts = from_json(mods, "array<string>")
    opened = F.transform(texts, lambda text: from_json(wrapped(text), f"struct<_line: {fields}, _end: int>"))
    is_whole = F.forall(opened, lambda mod: mod["_line"].isNotNull() & mod["_end"].isNotNull())
    told = F.when(is_whole, F.transform(opened, lambda mod: mod["_line"]))
    return F.coalesce(from_json(mods, f"array<{fields}>"), told)


def _any_spelling(body: Column) -> Column:
    return F.get_json_object(body, "$.ChangeRecord")


def _kinds_of(change_record: Column) -> Column:
    """An array of (kind, json). A kind that is not used is absent, null, an empty array, or an object of nulls."""
    parts = []
    for kind, spelled in spanner_kinds.RECORDS.items():
        text = F.coalesce(*[change_record[name] for name in spelled])
        several = F.when(text.startswith("["), from_json(text, "array<string>")).otherwise(F.array(text))
        named = F.transform(several, _of_kind(kind))
        empty = F.array().cast(f"array<{_USUAL_MOD}>")
        parts.append(F.when(text.isNotNull(), F.filter(named, _is_used)).otherwise(empty))
    return F.concat(*parts)


def _of_kind(kind: str | None) -> Callable[[Column], Column]:
    """What is found of a record that is not read yet, in the type in which usual ones come."""
    told = {name: F.lit(None).cast(type_) for name, type_ in _USUAL_FIELDS.items()}
    told |= {"kind": F.lit(kind).cast("string"), "text": F.col("text")}
    return lambda json: in_struct(told | {"json": json})


def _is_used(record: Column) -> Column:
    return record["json"].isNotNull() & ~record["json"].rlike(spanner_kinds.NOTHING_IN_IT)


def _judged(records: DataFrame) -> DataFrame:
    """Which control event, if any; why rejected, if so; where in the source's order."""
    record, line = F.col("_record"), F.col("_line")
    token = F.coalesce(record["partition_token"], "_token", line["partition_token"], line["partitionToken"])
    stamp = F.coalesce(
        *[record[name] for name in ("commit_timestamp", "timestamp", "start_timestamp", "end_timestamp")]
    )
    fielded = records.select(
        "*",
        token.alias("_partition"),
        F.coalesce(F.when(token != "", token), "_topic", token).alias("channel"),
        F.when(F.col("_kind") != DATA_CHANGE, F.col("_kind")).alias("control_kind"),
        F.coalesce("_micros", unix_micros(stamp)).alias("_commit"),
        F.coalesce("_sequence", record["record_sequence"].try_cast("bigint")).alias("_place"),
        record["mods"].alias("_mods"),
    )
    refused = spanner_kinds.reject_reason(F.col("_kind"), record, F.col("_commit"), F.col("_mods"))
    return fielded.select(
        "*",
        F.when(F.col("_broken"), spanner_kinds.broken_reason(F.col("text")))
        .when(~F.col("_is_usual"), refused)
        .alias("reason"),
    )


def _mods(judged: DataFrame) -> DataFrame:
    """The mods of each data record, with their images.

    Rows: 1:n; one without images for every other record.
    """
    is_change = F.col("reason").isNull() & (F.col("_kind") == DATA_CHANGE)
    is_listed = is_change & ~F.col("_is_usual") & (F.size("_mods") > 0)
    text, record = F.col("text"), F.col("_record")

    def one(mod: Column, at: Column) -> Column:
        return F.struct(at.alias("at"), mod.alias("mod"), F.when(at == 0, text).alias("text"))

    done = ("_token", "_broken", "_line", "_body", "_topic", "_is_usual", "_kind", "_micros", "_sequence", "_mods")
    kept = [name for name in judged.columns if name not in (*done, "text", "_record", "_json")]
    opened = judged.select(
        *kept,
        is_change.alias("_is_change"),
        F.when(is_listed, record.withField("mods", F.lit(None).cast(_USUAL_MODS))).otherwise(record).alias("_record"),
        F.when(is_listed, None).otherwise(text).alias("_text"),
        F.when(is_listed, None).otherwise(F.col("_json")).alias("_json"),
        F.when(is_listed, F.transform("_mods", one)).alias("_others"),
    )
    kept += ["_is_change", "_record", "_text", "_json"]
    opened = opened.select(*kept, F.explode_outer("_others").alias("_other"))
    images = [
        F.coalesce(F.col(f"_{name}"), spanner_kinds.image(F.col("_other.mod")[name])).alias(name)
        for name in _MOD_FIELDS
    ]
    told = (F.coalesce("_at", "_other.at").alias("_mod_at"), F.coalesce("_text", "_other.text").alias("text"))
    named = opened.select("*", *images, *told)
    keys, new, old = F.coalesce("keys", F.lit("{}")), F.col("new_values"), F.col("old_values")
    return named.select(
        "*",
        F.when(new.isNotNull(), joined(keys, new)).otherwise(keys).alias("_after"),
        F.when(old.isNotNull(), joined(keys, old)).otherwise(keys).alias("_deleted"),
        old.alias("_old"),
    )


def _completed(mods: DataFrame) -> DataFrame:
    """The columns of every envelope."""
    record, is_change, control = F.col("_record"), F.col("_is_change"), F.col("control_kind")
    op = F.when(is_change, spanner_kinds.op(record["mod_type"]))
    types = record["column_types"]
    listed = F.when(types.startswith("["), types).otherwise(F.ltrim(types, F.lit(spanner_kinds.BLANKS)))
    schema = F.when(is_change & listed.startswith("["), F.concat(F.lit('{"column_types":'), listed, F.lit("}")))
    whole_before = (record["value_capture_type"] == _CAPTURES_ROW_AND_OLD) & ~F.col("_old").rlike(r"^\{\s*\}$")
    before = F.when(op == names.OP_DELETE, F.col("_deleted")).when(
        (op == names.OP_UPDATE) & whole_before, joined(F.col("_after"), F.col("_old"))
    )
    micros = F.col("_commit")
    place = position.spanner(
        seconds(micros),
        nanos(record["commit_timestamp"], micros),
        record["server_transaction_id"],
        F.col("_place"),
        F.col("_mod_at"),
    )
    made = {
        "kind": F.when(F.col("reason").isNotNull(), REJECT).when(control.isNotNull(), CONTROL).otherwise(CHANGE),
        "connector": F.lit("spanner"),
        "source": F.lit("spanner"),
        "table": record["table_name"],
        "op": op,
        "origin": F.when(is_change, names.ORIGIN_STREAM),
        "key_json": F.when(is_change & schema.isNull(), F.col("keys")),
        "before_json": before,
        "after_json": F.when(op != names.OP_DELETE, F.col("_after")),
        "row_schema_json": schema,
        "key_schema_json": schema,
        "schema_hash": F.when(schema.isNotNull(), F.xxhash64(schema)),
        "position": F.when(is_change, place),
        "commit_ts": F.timestamp_micros(micros),
        "tx_id": record["server_transaction_id"],
        "tx_order": F.when(is_change, F.col("_place")),
        "control_json": F.when(control.isNotNull(), F.col("_json")),
    }
    there = set(mods.columns)
    absent = ("ingest_ts", "event_id", "old_key_json", "new_key_json")
    return mods.select(
        *[
            made[name].alias(name)
            if name in made
            else F.lit(None).cast("timestamp" if name == "ingest_ts" else "string").alias(name)
            if name in absent or name not in there
            else F.col(name)
            for name in ENVELOPE_COLUMNS
        ],
        F.when(F.col("reason").isNull(), _announced(record)).alias(ANNOUNCED),
    )


def _announced(record: Column) -> Column:
    """What a data record says of its transaction."""
    return F.struct(
        record["number_of_records_in_transaction"].try_cast("bigint").alias("size"),
        record["number_of_partitions_in_transaction"].try_cast("bigint").alias("partitions"),
        F.col("_partition").alias("partition"),
        record["is_last_record_in_transaction_in_partition"].try_cast("boolean").alias("is_last"),
    )
