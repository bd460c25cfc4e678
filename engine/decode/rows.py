"""The changes of one table with their rows decoded: the same for every format whose images are JSON text."""

from __future__ import annotations

from collections.abc import Iterable
from json import dumps

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine import names
from engine.decode import fractions, outcome
from engine.decode.conversion import (
    Circumstances,
    as_text,
    beyond_calendar,
    convert,
    counts,
    loosened,
    prepared,
    read_type,
    unkept,
)
from engine.decode.cut import can_be_cut, is_cut
from engine.decode.outcome import FATES, UNAVAILABLE, UNFIT, UNKEPT
from engine.decode.plain import is_ever_plain, plain_row, row_and_fields
from engine.decode.reading import at_once, exact_texts, from_texts, step_by_step
from engine.decode.shape import ColumnShape, TableShape
from engine.decode.unavailable import can_be_unavailable, is_unavailable
from engine.decode.values import let
from engine.schema.change import change_fields
from engine.spec.model import TableSpec

BINLOG_CONNECTORS = ("mysql", "mariadb")
HALVED = ("canal-json", "dts-avro", "shareplex-json")
"""The formats of which one record becomes both halves of a key change, each with the other's row beside it."""
_BESIDE = ("_key", "_old_key", "_new_key")  # the keys beside the images; behind _json their text
_ENVELOPE = (
    "source", "table", "op", "position", "commit_ts", "ingest_ts", "event_id", "tx_id", "tx_order", "origin",
    "channel", "kafka_partition", "kafka_offset", "file", "line",
)  # fmt: skip


def decode_rows(envelopes: DataFrame, shape: TableShape, spec: TableSpec, sooner: bool = True) -> DataFrame:
    """The changes of one table, decoded. `sooner`: images of plain rows are not taken through all steps.

    Needs: envelopes of the table, kind change; the columns of ENVELOPE_COLUMNS.
    Gives: the columns of `change_fields(shape.key_type, shape.row_type)`, then `reason` (null: good).
    Rows: 1:1.

        op      before, after                   row          present   before   reason
        insert  null, {id: 1, a: 2}             {1, 2}       null      null     null
        update  {id: 1, a: 2}, {id: 1, a: 3}    {1, 3}       null      {1, 2}   null
        update  null, {id: 1, a: unavailable}   {1, null}    [id]      null     null
        delete  {id: 1, a: null}, null          {1, null}    [id]      null     null
        insert  null, {id: 1, a: "x"}           {1, null}    null      null     column "a": the value does not fit int
    """
    zone, is_exact = spec.source.time_zone, spec.source.format in fractions.FORMATS
    images = envelopes.transform(_images, shape, zone, sooner)
    # Where most images are plain, the others are read within one projection: each one more copies every row.
    read = at_once if sooner and is_ever_plain(shape, zone) else step_by_step
    carried = images.transform(read, shape, is_exact)
    given = Circumstances(zone, F.col("schema_hash"), F.col("_mysql"))
    values = carried.transform(_values, shape, given)
    found = values.transform(_findings, shape, given).transform(_details, shape)
    other = _of_other_half(shape, given) if spec.source.format in HALVED else F.lit(None).cast("string")
    return found.select("*", other.alias("_of_other_half")).transform(_changes, shape)


def _images(envelopes: DataFrame, shape: TableShape, time_zone: str, sooner: bool = True) -> DataFrame:
    """The images as text, and what `plain_row` gives of them."""
    image = F.when(F.col("op") == names.OP_DELETE, F.col("before_json")).otherwise(F.col("after_json"))
    before = F.when(F.col("op") == names.OP_UPDATE, F.col("before_json"))
    nothing = F.lit(None).cast(row_and_fields(shape))
    plain, plain_before = (
        plain_row(json, F.col("schema_hash"), shape, time_zone) if sooner else nothing for json in (image, before)
    )
    return envelopes.select(
        F.struct(*_ENVELOPE).alias("_envelope"),
        "op",
        "schema_hash",
        F.col("connector").isin(*BINLOG_CONNECTORS).alias("_mysql"),
        F.col("key_json").alias("_key_json"),
        F.col("old_key_json").alias("_old_key_json"),
        F.col("new_key_json").alias("_new_key_json"),
        image.alias("_image_json"),
        before.alias("_before_json"),
        plain.alias("_look"),
        plain_before.alias("_look_before"),
    )


def _values(prepared: DataFrame, shape: TableShape, given: Circumstances) -> DataFrame:
    """Structs of stored values beside those of what the event carried, and the keys beside the images. Masks come
    later."""
    nothing = F.col("_plain").isNull() & F.col("_image").isNull()
    lacking = outcome.some(F.col("_plain")[key].isNull() & F.col("_image")[key].isNull() for key in shape.keys)
    keys = {name: from_texts(F.col(f"{name}_json"), shape.key_columns) for name in _BESIDE}
    keys["_key"] = F.when(lacking | nothing, keys["_key"])
    kept = [name for name in prepared.columns if name not in ("_plain", "_plain_before")]
    return prepared.select(
        *kept,
        F.col("_plain").isNotNull().alias("_is_plain"),
        F.coalesce(F.col("_plain"), _converted("_image", shape, shape.columns, given)).alias("_row"),
        F.coalesce(F.col("_plain_before"), _converted("_old_image", shape, shape.columns, given)).alias("_before"),
        *[key.alias(name) for name, key in keys.items()],
    )


def _converted(struct: str, shape: TableShape, columns: Iterable[ColumnShape], given: Circumstances) -> Column:
    def value(column: ColumnShape) -> Column:
        return _value(F.col(struct)[column.name], column, column.name in shape.keys, given)

    values = [value(column).alias(column.name) for column in columns]
    return F.when(F.col(struct).isNotNull(), F.struct(*values))


def _value(value: Column, column: ColumnShape, is_key: bool, given: Circumstances) -> Column:
    """What is stored of a value; null where it does not fit. No key does that would lose digits: two would be one."""
    converted = convert(value, column, given)
    refused = [is_unavailable(value, read_type(column))] if can_be_unavailable(column) else []
    refused += [is_cut(value, column)] if is_key and can_be_cut(column) else []
    return F.when(~outcome.some(refused), converted) if refused else converted


def _findings(values: DataFrame, shape: TableShape, given: Circumstances) -> DataFrame:
    """What is seldom so: a value that could not be stored, fields that are not those of the table; and whether images
    carry more than keys. The values of the keys beside the images."""
    others = [column.name for column in shape.columns if column.name not in shape.keys] or list(shape.keys)
    # A row of nulls alone is whole where no key stands beside it.
    any_image = F.lit(not shape.keys)

    def full(stored: str, carried: str) -> Column:
        told = outcome.some(F.col(image)[name].isNotNull() for image in (stored, carried) for name in others)
        return told | (any_image & F.col(stored).isNotNull())

    return values.select(
        "*",
        (F.col("_refused") | outcome.some(_lost("_image", "_row", c) for c in shape.columns)).alias("_lost"),
        outcome.some(_lost("_old_image", "_before", column) for column in shape.columns).alias("_before_lost"),
        (~F.col("_is_plain") & _unsure(shape)).alias("_unsure"),
        full("_row", "_image").alias("_full"),
        full("_before", "_old_image").alias("_before_full"),
        *[_converted(name, shape, shape.key_columns, given).alias(f"{name}_values") for name in _BESIDE],
    )


def _unsure(shape: TableShape) -> Column:
    """Whether an image may lack a column, or have a field beside them: nobody needs to look for what plainly is not so.

    An image without objects in it that says `"a":null` has the field a. One without blanks before its colons has no
    more fields than quotes with a colon behind them (texts can add some). So one of whose columns each has a value or
    is said to be null, and that has no more such quotes than there are columns, has these fields and no others.
    """
    json, nulls = F.col("_image_json"), [F.col("_image")[column.name].isNull() for column in shape.columns]
    if shape.silent_nulls:
        return outcome.some(nulls) | F.lit(not shape.closed)
    absent = outcome.some(
        null & ~_says_null(json, column.name) for null, column in zip(nulls, shape.columns, strict=True)
    )
    lacking = absent | (outcome.some(nulls) & F.ltrim(json, F.lit("{")).contains("{"))
    if shape.closed:
        return lacking
    many = F.octet_length(F.substring_index(json, '":', len(shape.columns) + 1)) < F.octet_length(json)
    return lacking | many | json.contains(" :") | json.contains("\t:")


def _says_null(json: Column, name: str) -> Column:
    """Whether an object says of a field that it is null; not of one whose name ends like it."""
    said = dumps(name, ensure_ascii=False) + ":null"
    return json.contains(said) & ~json.contains("\\" + said)


def _lost(carried: str, values: str, column: ColumnShape) -> Column:
    return F.col(carried)[column.name].isNotNull() & F.col(values)[column.name].isNull()


def _details(findings: DataFrame, shape: TableShape) -> DataFrame:
    """What is behind the findings, looked for only where there are any; the row and the key as they are stored."""
    look = F.col("_lost") | F.col("_unsure")
    return findings.select(
        "*",
        F.coalesce("_plain_fields", F.when(F.col("_image").isNotNull() & look, _told(shape))).alias("_fields"),
        F.when(F.col("_lost"), _losses(shape)).alias("_losses"),
        (F.col("_before_lost") & _spoilt(shape)).alias("_before_spoilt"),
        outcome.row(shape).alias("_stored"),
        outcome.key(shape).alias("_stored_key"),
    )


def _losses(shape: TableShape) -> Column:
    """The texts of all values, and of which columns the value is lost, by why. Few rows have any: interpreted."""
    columns = shape.columns

    def texts(loose: Column) -> Column:
        carried = F.col("_image")
        return F.struct(*[F.coalesce(loose[c.name], as_text(carried[c.name], c)).alias(c.name) for c in columns])

    def fate(column: ColumnShape, text: Column) -> Column:
        unavailable = is_unavailable(text) if can_be_unavailable(column) else F.lit(False)
        kind = F.when(unavailable, UNAVAILABLE).when(unkept(text, column), UNKEPT).otherwise(UNFIT)
        return F.when(text.isNotNull() & F.col("_row")[column.name].isNull(), kind)

    def sorted_out(texts: Column) -> Column:
        fates = F.struct(*[fate(column, texts[column.name]).alias(column.name) for column in columns])
        return let(fates, lambda found: F.struct(texts.alias("text"), *[named(found, kind) for kind in FATES]))

    def named(fates: Column, kind: str) -> Column:
        return outcome.names_where((c.name, fates[c.name] == kind) for c in columns).alias(kind)

    loose = exact_texts(F.when(F.col("_refused"), F.col("_image_json")), columns)
    return let(let(loose, texts), sorted_out)


def _told(shape: TableShape) -> Column:
    """The fields of the image that say something."""
    fields = F.json_object_keys("_image_json")
    if not shape.silent_nulls:
        return fields
    carried = F.col("_image")
    return F.array_except(
        fields, outcome.names_where((name, carried[name].isNull()) for name in sorted(shape.silent_nulls))
    )


def _spoilt(shape: TableShape) -> Column:
    """Whether the before image lacks a value for another reason than that no calendar holds it."""

    def spoilt(column: ColumnShape) -> Column:
        carried = as_text(F.col("_old_image")[column.name], column)
        return _lost("_old_image", "_before", column) & ~beyond_calendar(carried, column)

    return outcome.some(spoilt(column) for column in shape.columns)


def _of_other_half(shape: TableShape, given: Circumstances) -> Column:
    """What is wrong with the other half of a key change: neither is taken then, or the row would be gone. Few rows are
    halves: interpreted."""

    def problem(texts: Column) -> Column:
        found = F.array(*[_misfit(texts[c.name], c, c.name in shape.keys, given) for c in shape.columns])
        told = F.array_join(F.array_compact(found.cast("array<string>")), "; ")
        return F.when(told != "", F.concat(told, F.lit(" (in the other half of the key change)")))

    json = F.coalesce("_new_key_json", "_old_key_json")
    return F.when(json.isNotNull(), let(exact_texts(json, shape.columns), problem))


def _misfit(text: Column, column: ColumnShape, is_key: bool, given: Circumstances) -> Column:
    """What is wrong with one value of an image all of whose values are read as texts; null where it can be stored."""
    stored = _value(prepared(loosened(text, read_type(column), counts(column)), column), column, is_key, given)
    problem = f'column "{column.name}": {outcome.unlike(column)}'
    if is_key:
        return F.when(text.isNull(), f'key column "{column.name}" is null').when(stored.isNull(), problem)
    excused = is_unavailable(text) if can_be_unavailable(column) else F.lit(False)
    return F.when(text.isNotNull() & stored.isNull() & ~excused & ~unkept(text, column), problem)


def _changes(details: DataFrame, shape: TableShape) -> DataFrame:
    """The columns of a change, and the reason against it."""
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
    made |= {name: F.col("_envelope")[name] for name in _ENVELOPE}
    fields = change_fields(shape.key_type, shape.row_type)
    return details.select(
        *[made[field.name].cast(field.dataType).alias(field.name) for field in fields],
        F.coalesce(outcome.reason(shape), "_of_other_half").alias("reason"),
    )
