"""The changes of one table with their rows decoded: the same for every format whose images are JSON text."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine import names
from engine.decode import outcome
from engine.decode.conversion import Circumstances, convert, prepared, unkept
from engine.decode.shape import ColumnShape, TableShape
from engine.decode.unavailable import can_be_unavailable, is_unavailable
from engine.schema.change import change_fields
from engine.spec.model import TableSpec

BINLOG_CONNECTORS = ("mysql", "mariadb")
_ENVELOPE = (
    "source", "table", "op", "position", "commit_ts", "ingest_ts", "event_id", "tx_id", "tx_order", "origin",
    "channel", "kafka_partition", "kafka_offset", "file", "line", "text",
)  # fmt: skip


def decode_rows(envelopes: DataFrame, shape: TableShape, spec: TableSpec) -> DataFrame:
    """The changes of one table, decoded.

    Needs: envelopes of the table, kind change; the columns of ENVELOPE_COLUMNS.
    Gives: the columns of `change_fields(shape.key_type, shape.row_type)`, then `reason` (null: good) and `text`.
    Rows: 1:1.

        op      before, after                   row          present   before   reason
        insert  null, {id: 1, a: 2}             {1, 2}       null      null     null
        update  {id: 1, a: 2}, {id: 1, a: 3}    {1, 3}       null      {1, 2}   null
        update  null, {id: 1, a: unavailable}   {1, null}    [id]      null     null
        delete  {id: 1, a: null}, null          {1, null}    [id]      null     null
        insert  null, {id: 1, a: "x"}           {1, null}    null      null     column "a": the value does not fit int
    """
    texts = envelopes.transform(_texts, shape)
    values = texts.transform(_values, shape, spec.source.time_zone)
    return values.transform(_findings, shape).transform(_details, shape).transform(_changes, shape)


def _texts(envelopes: DataFrame, shape: TableShape) -> DataFrame:
    """The images as structs of text, a column a field: a delete's image is the one before."""
    image = F.when(F.col("op") == names.OP_DELETE, F.col("before_json")).otherwise(F.col("after_json"))
    before = F.when(F.col("op") == names.OP_UPDATE, F.col("before_json"))
    row = _text_type(shape.columns)
    return envelopes.select(
        *_ENVELOPE,
        "schema_hash",
        F.col("connector").isin(*BINLOG_CONNECTORS).alias("_mysql"),
        F.col("key_json").alias("_key_json"),
        F.col("old_key_json").alias("_old_key_json"),
        F.col("new_key_json").alias("_new_key_json"),
        image.alias("_image_json"),
        F.from_json(image, row).alias("_image"),
        F.from_json(before, row).alias("_old_image"),
    )


def _text_type(columns: Iterable[ColumnShape]) -> T.StructType:
    return T.StructType([T.StructField(column.name, T.StringType()) for column in columns])


def _values(texts: DataFrame, shape: TableShape, time_zone: str) -> DataFrame:
    """Structs of values beside the structs of text. Masks come later."""
    given = Circumstances(time_zone, F.col("schema_hash"), F.col("_mysql"))

    def values(struct: str, columns: Iterable[ColumnShape]) -> Column:
        made = [_value(struct, column, given).alias(column.name) for column in columns]
        return F.when(F.col(struct).isNotNull(), F.struct(*made))

    keys = _text_type(shape.key_columns)
    lacking = outcome.some(F.col("_image")[name].isNull() for name in shape.keys)
    completed = texts.select(
        "*",
        F.from_json(F.when(lacking, F.col("_key_json")), keys).alias("_key"),
        F.from_json("_old_key_json", keys).alias("_old_key"),
        F.from_json("_new_key_json", keys).alias("_new_key"),
    )
    digits = [_digits(struct, shape.columns) for struct in ("_image", "_old_image")]
    return completed.select("*", *digits).select(
        "*",
        values("_image", shape.columns).alias("_row"),
        values("_old_image", shape.columns).alias("_before"),
        values("_key", shape.key_columns).alias("_key_values"),
        values("_old_key", shape.key_columns).alias("_old_key_values"),
        values("_new_key", shape.key_columns).alias("_new_key_values"),
    )


def _digits(struct: str, columns: Iterable[ColumnShape]) -> Column:
    """What conversions of the struct's texts use many times."""
    made = [(column.name, prepared(F.col(struct)[column.name], column)) for column in columns]
    fields = [value.alias(name) for name, value in made if value is not None]
    return F.when(F.col(struct).isNotNull(), F.struct(F.lit(True).alias(""), *fields)).alias(f"{struct}_digits")


def _value(struct: str, column: ColumnShape, given: Circumstances) -> Column:
    text = F.col(struct)[column.name]
    staged = struct in ("_image", "_old_image") and prepared(text, column) is not None
    value = convert(text, column, given, F.col(f"{struct}_digits")[column.name] if staged else None)
    return F.when(~is_unavailable(text), value) if can_be_unavailable(column) else value


def _findings(values: DataFrame, shape: TableShape) -> DataFrame:
    """What is seldom so: a null, a text that did not become a value; and whether images carry more than keys."""
    others = [column.name for column in shape.columns if column.name not in shape.keys] or list(shape.keys)
    return values.select(
        "*",
        outcome.some(_lost("_image", "_row", column) for column in shape.columns).alias("_lost"),
        outcome.some(_lost("_key", "_key_values", column) for column in shape.key_columns).alias("_key_lost"),
        outcome.some(_lost("_old_image", "_before", column) for column in shape.columns).alias("_before_lost"),
        outcome.some(F.col("_image")[column.name].isNull() for column in shape.columns).alias("_nulls"),
        outcome.some(F.col("_image")[name].isNotNull() for name in others).alias("_full"),
        outcome.some(F.col("_old_image")[name].isNotNull() for name in others).alias("_before_full"),
    )


def _lost(texts: str, values: str, column: ColumnShape) -> Column:
    return F.col(texts)[column.name].isNotNull() & F.col(values)[column.name].isNull()


def _details(findings: DataFrame, shape: TableShape) -> DataFrame:
    """The names behind the findings, looked for only where there are any."""
    look = F.lit(not shape.closed) | F.col("_lost") | F.col("_nulls")

    def why(column: ColumnShape) -> Column:
        text = F.col("_image")[column.name]
        unavailable = is_unavailable(text) if can_be_unavailable(column) else F.lit(False)
        kind = F.when(unavailable, "unavailable").when(unkept(text, column), "unkept").otherwise("unfit")
        return F.when(_lost("_image", "_row", column), kind).alias(column.name)

    def named(kind: str) -> Column:
        return F.when(
            F.col("_lost"), outcome.names_where((c.name, F.col("_why")[c.name] == kind) for c in shape.columns)
        )

    def spoilt(column: ColumnShape) -> Column:
        text = F.col("_old_image")[column.name]
        return _lost("_old_image", "_before", column) & (is_unavailable(text) | ~unkept(text, column))

    explained = findings.select("*", F.when(F.col("_lost"), F.struct(*[why(c) for c in shape.columns])).alias("_why"))
    return explained.select(
        "*",
        F.when(F.col("_image").isNotNull() & look, F.json_object_keys("_image_json")).alias("_fields"),
        named("unavailable").alias("_unavailable"),
        named("unkept").alias("_unkept"),
        named("unfit").alias("_unfit"),
        (F.col("_before_lost") & outcome.some(spoilt(column) for column in shape.columns)).alias("_before_spoilt"),
    )


def _changes(details: DataFrame, shape: TableShape) -> DataFrame:
    """The columns of a change, the reason against it, and its text."""
    stored = details.select("*", outcome.row(shape).alias("_stored"), outcome.key(shape).alias("_stored_key"))
    made = {
        "key": F.col("_stored_key"),
        "row": F.col("_stored"),
        "present": outcome.present(shape),
        "before": outcome.before(shape),
        "old_key": outcome.masked_struct("_old_key_values", shape.key_columns),
        "new_key": outcome.masked_struct("_new_key_values", shape.key_columns),
        "content_hash": outcome.content_hash(shape),
        "rescued": outcome.rescued(shape),
    }
    fields = change_fields(shape.key_type, shape.row_type)
    return stored.select(
        *[made.get(field.name, F.col(field.name)).cast(field.dataType).alias(field.name) for field in fields],
        outcome.reason(shape).alias("reason"),
        "text",
    )
