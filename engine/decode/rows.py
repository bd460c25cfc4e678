"""The changes of one table with their rows decoded: the same for every format whose images are JSON text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from json import dumps
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine import names
from engine.decode import fractions, outcome
from engine.decode.conversion import (
    Circumstances,
    as_text,
    convert,
    of_text,
    read_type,
)
from engine.decode.cut import can_be_cut, is_cut
from engine.decode.methods import interpreted, own_method
from engine.decode.outcome import FATES, UNAVAILABLE, UNFIT, UNKEPT
from engine.decode.plain import is_ever_plain, plain_row, row_and_fields
from engine.decode.reading import exact_texts, from_texts, reading
from engine.decode.shape import ColumnShape, TableShape
from engine.decode.steps import Of, Step, by_projections, within
from engine.decode.unavailable import can_be_unavailable, is_unavailable
from engine.decode.unkept import beyond_calendar, unkept
from engine.decode.values import in_struct, let
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

_DECIDED = ("key", "row", "present", "before", "old_key", "new_key", "content_hash", "rescued", "reason")


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
    zone = spec.source.time_zone
    images = envelopes.transform(_images, shape, zone, sooner)
    steps = _steps(shape, spec)
    if sooner and is_ever_plain(shape, zone):
        return images.transform(_mostly_plain, shape, steps)
    return by_projections(images, steps).transform(_completed, _decided(F.col, shape), shape)


def _steps(shape: TableShape, spec: TableSpec) -> list[Step]:
    """What decides about the images, from their texts on."""
    given = Circumstances(spec.source.time_zone, F.col("schema_hash"), F.col("_mysql"))
    is_halved = spec.source.format in HALVED

    def details(of: Of) -> dict[str, Column]:
        other = _of_other_half(of, shape, given) if is_halved else F.lit(None).cast("string")
        return _details(of, shape) | {"_of_other_half": other}

    read = reading(shape, is_exact=spec.source.format in fractions.FORMATS)
    return [*read, lambda of: _values(of, shape, given), lambda of: _findings(of, shape, given), details]


def _mostly_plain(images: DataFrame, shape: TableShape, steps: Sequence[Step]) -> DataFrame:
    """The changes, of which those that are plain take no steps: each projection more copies every row. The others take
    them within one, interpreted.

    Needs: what `_images` gives. Rows: 1:1.
    """
    row, before = F.col("_look")["row"], F.col("_look_before")["row"]
    is_plain = _is_plain(shape)
    others = interpreted(images, within(steps, lambda of: in_struct(_decided(of, shape))))
    looked = images.select(
        "_envelope",
        "op",
        "schema_hash",
        F.when(is_plain, outcome.masked_struct(row, shape.columns)).alias("_stored"),
        F.when(is_plain, F.col("_look")["fields"]).alias("_fields"),
        F.when(is_plain, before).alias("_before"),
        F.when(is_plain, _is_full(shape, row)).alias("_full"),
        F.when(is_plain, _is_full(shape, before)).alias("_before_full"),
        F.when(is_plain, None).otherwise(others).alias("_other"),
    )
    plainly = _plainly_decided(shape)
    made = {name: F.col("_other")[name] for name in _DECIDED}
    made |= {
        name: F.coalesce(made[name], F.when(F.col("_stored").isNotNull(), plain)) for name, plain in plainly.items()
    }
    return looked.transform(_completed, made, shape)


def _is_plain(shape: TableShape) -> Column:
    """Whether a change has no more to it than plain images."""
    row = F.col("_look")["row"]
    whole = [row[key].isNotNull() for key in shape.keys]
    known = F.col("_before_json").isNull() | F.col("_look_before").isNotNull()
    one_key = F.col("_old_key_json").isNull() & F.col("_new_key_json").isNull()
    found = reduce(and_, whole, row.isNotNull() & known & one_key & (F.col("op") != names.OP_TRUNCATE))
    return F.coalesce(found, F.lit(False))


def _plainly_decided(shape: TableShape) -> dict[str, Column]:
    """The columns of a change that is plain, but for those that are null: what `_decided` gives of it."""
    known = {
        "_plain_fields": F.col("_fields"),
        "_losses": F.lit(None).cast(outcome.losses_type(shape)),
        "_before_spoilt": F.lit(False),
    }

    def plain(name: str) -> Column:
        return known[name] if name in known else F.col(name)

    return {
        "key": in_struct({column.name: F.col("_stored")[column.name] for column in shape.key_columns}),
        "row": F.col("_stored"),
        "present": own_method(outcome.present(plain, shape)),
        "before": outcome.before(plain, shape),
        "content_hash": own_method(outcome.content_hash(plain, shape)),
    }


def _images(envelopes: DataFrame, shape: TableShape, time_zone: str, sooner: bool = True) -> DataFrame:
    """The images as text, and what `plain_row` gives of them."""
    is_delete, is_update = F.col("op") == names.OP_DELETE, F.col("op") == names.OP_UPDATE
    image = F.when(is_delete, F.col("before_json")).otherwise(F.col("after_json"))
    before = F.when(is_update, F.col("before_json"))
    plain = plain_before = F.lit(None).cast(row_and_fields(shape))
    if sooner:
        # An image after that lacks what the source left out is whole: present tells. One before is not (`before`).
        lacking = plain_row(F.col("after_json"), F.col("schema_hash"), shape, time_zone, may_lack=True)
        whole = plain_row(F.col("before_json"), F.col("schema_hash"), shape, time_zone)
        plain, plain_before = F.when(is_delete, whole).otherwise(lacking), F.when(is_update, whole)
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


def _values(of: Of, shape: TableShape, given: Circumstances) -> dict[str, Column]:
    """Structs of stored values beside those of what the event carried, and the keys beside the images. Masks come
    later."""
    plain, image = of("_plain"), of("_image")
    lacking = outcome.some(plain[key].isNull() & image[key].isNull() for key in shape.keys)
    keys = {name: from_texts(of(f"{name}_json"), shape.key_columns) for name in _BESIDE}
    keys["_key"] = F.when(lacking | (plain.isNull() & image.isNull()), keys["_key"])
    return keys | {
        "_row": F.coalesce(plain, _converted(image, shape, shape.columns, given)),
        "_before": F.coalesce(of("_plain_before"), _converted(of("_old_image"), shape, shape.columns, given)),
    }


def _converted(struct: Column, shape: TableShape, columns: Iterable[ColumnShape], given: Circumstances) -> Column:
    def value(column: ColumnShape) -> Column:
        return _value(struct[column.name], column, column.name in shape.keys, given)

    return F.when(struct.isNotNull(), F.struct(*[value(column).alias(column.name) for column in columns]))


def _value(value: Column, column: ColumnShape, is_key: bool, given: Circumstances) -> Column:
    """What is stored of a value; null where it does not fit. No key does that would lose digits: two would be one."""
    converted = convert(value, column, given)
    refused = [is_unavailable(value, read_type(column))] if can_be_unavailable(column) else []
    refused += [is_cut(value, column)] if is_key and can_be_cut(column) else []
    return F.when(~outcome.some(refused), converted) if refused else converted


def _findings(of: Of, shape: TableShape, given: Circumstances) -> dict[str, Column]:
    """What is seldom so: a value that could not be stored, fields that are not those of the table; and whether images
    carry more than keys. The values of the keys beside the images."""
    keys = {f"{name}_values": _converted(of(name), shape, shape.key_columns, given) for name in _BESIDE}
    return keys | {
        "_lost": of("_refused") | outcome.some(_lost(of("_image"), of("_row"), c) for c in shape.columns),
        "_before_lost": outcome.some(_lost(of("_old_image"), of("_before"), c) for c in shape.columns),
        "_unsure": of("_plain").isNull() & _unsure(of, shape),
        "_full": _is_full(shape, of("_row"), of("_image")),
        "_before_full": _is_full(shape, of("_before"), of("_old_image")),
    }


def _is_full(shape: TableShape, stored: Column, carried: Column | None = None) -> Column:
    """Whether an image carries more than keys."""
    others = [column.name for column in shape.columns if column.name not in shape.keys] or list(shape.keys)
    images = [stored] if carried is None else [stored, carried]
    told = outcome.some(image[name].isNotNull() for image in images for name in others)
    # A row of nulls alone is whole where no key stands beside it.
    return told | (F.lit(not shape.keys) & stored.isNotNull())


def _unsure(of: Of, shape: TableShape) -> Column:
    """Whether an image may lack a column, or have a field beside them: nobody needs to look for what plainly is not so.

    An image without objects in it that says `"a":null` has the field a. One without blanks before its colons has no
    more fields than quotes with a colon behind them (texts can add some). So one of whose columns each has a value or
    is said to be null, and that has no more such quotes than there are columns, has these fields and no others.
    """
    json, nulls = of("_image_json"), [of("_image")[column.name].isNull() for column in shape.columns]
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


def _lost(carried: Column, values: Column, column: ColumnShape) -> Column:
    return carried[column.name].isNotNull() & values[column.name].isNull()


def _details(of: Of, shape: TableShape) -> dict[str, Column]:
    """What is behind the findings, looked for only where there are any; the row and the key as they are stored."""
    look = of("_lost") | of("_unsure")
    return {
        "_fields": F.coalesce(of("_plain_fields"), F.when(of("_image").isNotNull() & look, _told(of, shape))),
        "_losses": F.when(of("_lost"), _losses(of, shape)),
        "_before_spoilt": of("_before_lost") & _spoilt(of, shape),
        "_stored": outcome.row(of, shape),
        "_stored_key": outcome.key(of, shape),
    }


def _losses(of: Of, shape: TableShape) -> Column:
    """The texts of all values, and of which columns the value is lost, by why. Few rows have any: interpreted."""
    columns = shape.columns

    def texts(loose: Column) -> Column:
        carried = of("_image")
        return F.struct(*[F.coalesce(loose[c.name], as_text(carried[c.name], c)).alias(c.name) for c in columns])

    def fate(column: ColumnShape, text: Column) -> Column:
        unavailable = is_unavailable(text) if can_be_unavailable(column) else F.lit(False)
        kind = F.when(unavailable, UNAVAILABLE).when(unkept(text, column), UNKEPT).otherwise(UNFIT)
        return F.when(text.isNotNull() & of("_row")[column.name].isNull(), kind)

    def sorted_out(texts: Column) -> Column:
        fates = F.struct(*[fate(column, texts[column.name]).alias(column.name) for column in columns])
        return let(fates, lambda found: F.struct(texts.alias("text"), *[named(found, kind) for kind in FATES]))

    def named(fates: Column, kind: str) -> Column:
        return outcome.names_where((c.name, fates[c.name] == kind) for c in columns).alias(kind)

    loose = exact_texts(F.when(of("_refused"), of("_image_json")), columns)
    return let(let(loose, texts), sorted_out)


def _told(of: Of, shape: TableShape) -> Column:
    """The fields of the image that say something."""
    fields = F.json_object_keys(of("_image_json"))
    if not shape.silent_nulls:
        return fields
    carried = of("_image")
    return F.array_except(
        fields, outcome.names_where((name, carried[name].isNull()) for name in sorted(shape.silent_nulls))
    )


def _spoilt(of: Of, shape: TableShape) -> Column:
    """Whether the before image lacks a value for another reason than that no calendar holds it."""

    def spoilt(column: ColumnShape) -> Column:
        carried = as_text(of("_old_image")[column.name], column)
        return _lost(of("_old_image"), of("_before"), column) & ~beyond_calendar(carried, column)

    return outcome.some(spoilt(column) for column in shape.columns)


def _of_other_half(of: Of, shape: TableShape, given: Circumstances) -> Column:
    """What is wrong with the other half of a key change: neither is taken then, or the row would be gone. Few rows are
    halves: interpreted."""

    def problem(texts: Column) -> Column:
        found = F.array(*[_misfit(texts[c.name], c, c.name in shape.keys, given) for c in shape.columns])
        told = F.array_join(F.array_compact(found.cast("array<string>")), "; ")
        return F.when(told != "", F.concat(told, F.lit(" (in the other half of the key change)")))

    json = F.coalesce(of("_new_key_json"), of("_old_key_json"))
    return F.when(json.isNotNull(), let(exact_texts(json, shape.columns), problem))


def _misfit(text: Column, column: ColumnShape, is_key: bool, given: Circumstances) -> Column:
    """What is wrong with one value of an image all of whose values are read as texts; null where it can be stored."""
    stored = _value(of_text(text, column), column, is_key, given)
    problem = f'column "{column.name}": {outcome.unlike(column)}'
    if is_key:
        return F.when(text.isNull(), f'key column "{column.name}" is null').when(stored.isNull(), problem)
    excused = is_unavailable(text) if can_be_unavailable(column) else F.lit(False)
    return F.when(text.isNotNull() & stored.isNull() & ~excused & ~unkept(text, column), problem)


def _decided(of: Of, shape: TableShape) -> dict[str, Column]:
    """The columns of a change that its images decide, and the reason against it."""
    made = {
        "key": of("_stored_key"),
        "row": of("_stored"),
        "present": outcome.present(of, shape),
        "before": outcome.before(of, shape),
        "old_key": outcome.masked_struct(of("_old_key_values"), shape.key_columns),
        "new_key": outcome.masked_struct(of("_new_key_values"), shape.key_columns),
        "content_hash": outcome.content_hash(of, shape),
        "rescued": outcome.rescued(of, shape),
    }
    return made | {"reason": F.coalesce(outcome.reason(of, shape), of("_of_other_half"))}


def _completed(decided: DataFrame, made: dict[str, Column], shape: TableShape) -> DataFrame:
    """The columns of a change, and the reason against it.

    Needs: _envelope, and what `made` is made of. Rows: 1:1.
    """
    columns = {name: F.col("_envelope")[name] for name in _ENVELOPE} | made
    fields = change_fields(shape.key_type, shape.row_type)
    return decided.select(
        *[columns[field.name].cast(field.dataType).alias(field.name) for field in fields],
        columns["reason"].alias("reason"),
    )
