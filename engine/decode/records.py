"""Records of typed files as rows of JSON text, beside the description of their columns.

Values take the form in which JSON loses nothing of them: times as counts or with their zone, bytes as base64, numbers
of any length as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.decode import values
from engine.decode.avro import avro_columns, metadata
from engine.decode.avro_names import with_full_names
from engine.decode.carried import carried_schema
from engine.decode.shape import Encoding, EncodingKind
from engine.errors import SourceError
from engine.inputs.lines import IS_SAID, is_said
from engine.json_text import KEEP_NULLS, MICROS
from engine.jvm import CATALOG
from engine.names import COUNTS, INSTANT_NANOS, LOCAL_NANOS, NOTHING, TIMES_OF_DAY, apart

WRITE_JSON: Final = f"{CATALOG}.write_json"
Told = tuple[Column, T.DataType, Encoding]

_KINDS: Final[dict[type[T.DataType], tuple[T.DataType, EncodingKind]]] = {
    T.BooleanType: (T.BooleanType(), "boolean"),
    T.ByteType: (T.IntegerType(), "integer"),
    T.ShortType: (T.IntegerType(), "integer"),
    T.IntegerType: (T.IntegerType(), "integer"),
    T.LongType: (T.LongType(), "integer"),
    T.FloatType: (T.FloatType(), "floating"),
    T.DoubleType: (T.DoubleType(), "floating"),
    T.StringType: (T.StringType(), "text"),
    T.BinaryType: (T.BinaryType(), "base64"),
    T.DateType: (T.DateType(), "date"),
}
_ALWAYS_WRITTEN: Final = (
    T.BooleanType,
    T.IntegerType,
    T.LongType,
    T.FloatType,
    T.DoubleType,
    T.StringType,
    T.BinaryType,
)
_OF_MESSAGES: Final = ("topic", "partition", "offset", "headers")
_IN_ARRAYS: Final = (T.BooleanType, T.IntegerType, T.LongType, T.DoubleType, T.StringType)


def row_records(rows: DataFrame, schema: str, avro: bool, malformed: str) -> DataFrame:
    """Plain rows.

    Needs: file, start, row, record; schema: what the files say of the record; malformed: the field that holds the text
        of what is no row.
    Gives: file, start, row, text, row_schema, IS_SAID, ends_open (false where the rows do not have it).
    Rows: 1:1.
    """
    record = rows.schema["record"].dataType
    assert isinstance(record, T.StructType)
    if avro:
        columns = avro_columns(*with_full_names(json.loads(schema)), record, F.col("record"), clocks=True)
    else:
        described = T.StructType.fromJson(json.loads(schema))
        fields = zip(described, apart(described.names), strict=True)
        columns = {field.name: _column(F.col("record")[own], field) for field, own in fields}
    ends_open = F.col("ends_open") if "ends_open" in rows.columns else F.lit(False)
    told = rows.select("*", F.struct(*_fields(columns)).alias("_told"))
    text, is_no_blank = whole_json(told, "_told"), F.lit(True)
    if malformed in record.names:
        no_row = F.col("record")[malformed]
        text, is_no_blank = F.coalesce(no_row, _exact(text, columns)), no_row.isNull() | is_said(no_row)
    return _texts(told, text, columns, is_no_blank, ends_open.alias("ends_open"))


def datastream_records(rows: DataFrame, schema: str) -> DataFrame:
    """Datastream's events: the metadata as JSON carries it, the payload as a row.

    Needs, Gives, Rows: as `row_records`.
    """
    written, named = with_full_names(json.loads(schema))
    record = rows.schema["record"].dataType
    assert isinstance(record, T.StructType)
    payload = next((field for field in written["fields"] if field["name"] == "payload"), None)
    columns: dict[str, Told] = {}
    parts: list[Column] = metadata(written, record, F.col("record"))
    if payload is not None:
        inside = record["payload"].dataType
        assert isinstance(inside, T.StructType)
        columns = avro_columns(payload["type"], named, inside, F.col("record")["payload"])
        parts.append(F.struct(*_fields(columns)).alias("payload"))
    told = rows.select("*", F.struct(*parts).alias("_told"))
    return _texts(told, whole_json(told, "_told"), columns, F.lit(True))


def message_records(rows: DataFrame) -> DataFrame:
    """Messages of a topic as lines of JSON, bytes in base64: the columns of Kafka's records, or one of bytes alone.

    Needs, Gives, Rows: as `row_records`, without a schema; what messages hold they say themselves.
    Raises: SourceError: no column, or more than one, can be the message.
    """
    record = rows.schema["record"].dataType
    assert isinstance(record, T.StructType)
    binary = [field.name for field in record if isinstance(field.dataType, T.BinaryType)]
    texts = [field.name for field in record if isinstance(field.dataType, T.StringType)]
    named = [name for name in ("value_avro", "value") if name in (*binary, *texts)] or binary
    if len(named) != 1 and named == binary:
        listed = ", ".join(record.names)
        raise SourceError(
            f"Cannot read messages from columns ({listed}): none is called value, and {len(binary)} hold bytes.",
            "name the column with the messages value",
        )
    value = F.col("record")[named[0]].alias("value")
    others = [F.col("record")[name].alias(name) for name in _OF_MESSAGES if name in record.names]
    keys = [F.col("record")[name].alias("key") for name in ("key_avro", "key") if name in (*binary, *texts)][:1]
    told = rows.select("*", F.struct(value, *keys, *others).alias("_told"))
    text, nothing = whole_json(told, "_told"), F.lit(None).cast("string")
    return told.select(
        "file", "start", "row", text.alias("text"), nothing.alias("row_schema"), F.lit(True).alias(IS_SAID)
    )


def _fields(columns: dict[str, Told]) -> Iterable[Column]:
    return [value.alias(name) for name, (value, _, _) in columns.items()]


def _exact(text: Column, columns: dict[str, Told]) -> Column:
    """The row as JSON; its values as they came where they are not UTF-8, of which JSON would lose what is not."""
    values = F.concat_ws(",", *[F.coalesce(value, F.lit("")) for value, _, _ in columns.values()])
    return F.when(F.is_valid_utf8(values), text).otherwise(values)


def _texts(rows: DataFrame, text: Column, columns: dict[str, Told], is_no_blank: Column, *more: Column) -> DataFrame:
    described = carried_schema({name: (kind, encoding) for name, (_, kind, encoding) in columns.items()})
    made = (text.alias("text"), F.lit(described).alias("row_schema"), is_no_blank.alias(IS_SAID))
    return rows.select("file", "start", "row", *made, *more)


def _column(value: Column, field: T.StructField) -> Told:
    """A column of a file; counts for which Spark has no type as what they count."""
    counts = field.metadata.get(COUNTS)
    if counts == NOTHING:
        return value, T.NullType(), Encoding("text")
    if counts in TIMES_OF_DAY:
        return values.time_of_day(value, TIMES_OF_DAY[counts]), T.StringType(), Encoding("text")
    if counts == INSTANT_NANOS:
        return F.concat(values.nine_digits(value), F.lit("Z")), T.TimestampType(), Encoding("zoned_text")
    if counts == LOCAL_NANOS:
        return values.nine_digits(value), T.TimestampNTZType(), Encoding("local_text")
    return _told(value, field.dataType)


def _told(value: Column, kind: T.DataType) -> Told:
    """A value of Spark's as JSON carries it, the type it is stored as, and the encoding between them."""
    if type(kind) in _KINDS:
        stored, encoding = _KINDS[type(kind)]
        return value, stored, Encoding.of(stored, encoding)
    if isinstance(kind, T.DecimalType):
        return value.cast("string"), kind, Encoding("decimal_text")  # the JSON reader makes doubles of fractions
    if isinstance(kind, T.TimestampType):
        return F.concat(value.cast("timestamp_ntz").cast("string"), F.lit("Z")), kind, Encoding("zoned_text")
    if isinstance(kind, T.TimestampNTZType):
        return value.cast("string"), kind, Encoding("local_text")
    if isinstance(kind, T.ArrayType) and isinstance(kind.elementType, _IN_ARRAYS):
        stored, encoding = _KINDS[type(kind.elementType)]
        return value, T.ArrayType(stored), Encoding("array", items=Encoding.of(stored, encoding))
    nested = isinstance(kind, T.StructType | T.ArrayType | T.MapType)
    return (F.to_json(value, KEEP_NULLS | MICROS) if nested else value.cast("string")), T.StringType(), Encoding("text")


def whole_json(rows: DataFrame, name: str) -> Column:
    """What `to_json` gives of a column of structs, nulls kept; sooner, where siltstone's own writer knows its types."""
    struct = F.col(name)
    written = F.call_function(WRITE_JSON, struct)
    if _is_always_written(rows.schema[name].dataType):
        return written
    return F.coalesce(written, F.to_json(struct, KEEP_NULLS))


def _is_always_written(kind: T.DataType) -> bool:
    """Whether the writer knows every value of a type; of a date it does not, and of some types none."""
    if isinstance(kind, T.StructType):
        return all(_is_always_written(field.dataType) for field in kind)
    if isinstance(kind, T.ArrayType):
        return _is_always_written(kind.elementType)
    return type(kind) in _ALWAYS_WRITTEN


def all_parts(parts: Sequence[DataFrame]) -> DataFrame:
    """The records of all parts."""
    first, *others = parts
    for other in others:
        first = first.unionByName(other)
    return first
