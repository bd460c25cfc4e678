"""Debezium events as Avro in Confluent's frames: a zero byte, the number of the writer's schema, the body.

A body is read with the schema that wrote it, each number by itself, into the JSON that Debezium's JSON converter gives
for the same event; from there on it is decoded as that. So both formats give the same changes.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from engine.decode import connect_avro, debezium_json, values
from engine.decode.carried import carried_keys, carried_schema
from engine.decode.debezium_kinds import is_change_alone
from engine.decode.images import Declared
from engine.decode.messages import messages
from engine.decode.methods import interpreted
from engine.decode.schemas import key_columns, row_columns
from engine.decode.wire import (
    END,
    END_SIZE,
    can_read,
    end_field,
    ended,
    from_avro,
    readable,
    record_json,
    record_struct,
)
from engine.inputs.avro import without_logical_types
from engine.inputs.lines import APART
from engine.inputs.registry import NO_SCHEMA, Unusable, writer_schemas
from engine.json_text import KEEP_NULLS, from_json
from engine.jvm import CATALOG
from engine.spec.model import SourceSpec

FRAME: Final = 5
FRAME_NUMBER: Final = f"{CATALOG}.frame_number"
_PARTS: Final = ("value", "key")
_AROUND: Final = ("schema", "payload")
_HEAD: Final = '{"body":'
_TAIL: Final = f',"end":"{base64.b64encode(END[:END_SIZE]).decode()}"}}'
_REST: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Writer:
    """One schema of the registry: how to read a body, and what it says of rows and keys."""

    schema: Any
    row_schema: str | None
    key_schema: str


def envelopes(lines: DataFrame, source: SourceSpec, declared: Declared) -> DataFrame:
    """What each message is. One look at the messages finds the numbers of their schemas.

    Needs: file, line, text. `declared`: the tables that specs name.
    Gives: the columns of ENVELOPE_COLUMNS, and record: the message as it came; text is the event as JSON.
    Rows: 1:1 with the lines.
    Raises: SourceError, SpecError: the schemas cannot be had.
    """
    framed = lines.transform(messages).transform(_framed)
    used = _numbers(framed)
    found = writer_schemas(source, sorted({number for numbers in used.values() for number in numbers}))
    told = {number: _writer(lines.sparkSession, schema) for number, schema in found.items()}
    writers = {number: writer for number, writer in told.items() if isinstance(writer, Writer)}
    unusable = {number: writer.reason for number, writer in told.items() if isinstance(writer, Unusable)}
    with readable():
        read = framed.transform(_read, writers, used, alone=not source.epochs)
    events = read.transform(_events, writers, used, unusable)
    return debezium_json.envelopes(events, source, declared)


def _numbers(framed: DataFrame) -> dict[str, list[int]]:
    """The numbers of schemas in the values, and in the keys."""
    both = [F.struct(F.lit(part).alias("part"), F.col(f"{part}_number").alias("number")) for part in _PARTS]
    rows = framed.select(F.explode(F.array(*both)).alias("used")).select("used.*").distinct().collect()
    return {part: sorted(row.number for row in rows if row.part == part and row.number is not None) for part in _PARTS}


def _writer(spark: SparkSession, schema: Any) -> Writer | Unusable:
    """What a schema says; why it says nothing."""
    if isinstance(schema, Unusable):
        return schema
    try:
        fields = [{"name": "body", "type": without_logical_types(schema)}, end_field()]
        body = {"type": "record", "name": "siltstone_body", "fields": fields}
        writer = Writer(body, *_described(schema))
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):  # what is anything but a schema
        return Unusable(NO_SCHEMA)
    return writer if can_read(spark, body) else Unusable("is none that Spark can read")


def _described(schema: Any) -> tuple[str | None, str]:
    """What a schema says of rows and of keys, short: it stands beside every envelope."""
    rows, keys = connect_avro.row_schema(schema), connect_avro.key_schema(schema)
    columns = row_columns(rows) if rows is not None else {}
    return (carried_schema(columns) if columns else rows), carried_keys(key_columns(keys))


def _framed(taken: DataFrame) -> DataFrame:
    """The number and the body in each frame, null where it is none."""
    numbers = [F.call_function(FRAME_NUMBER, F.col(part)).alias(f"_{part}") for part in _PARTS]
    parts = []
    for part in _PARTS:
        number = F.col(f"_{part}")
        parts += [
            F.when(number >= 0, number).alias(f"{part}_number"),
            F.when(number >= 0, F.substring(part, FRAME + 1, _REST)).alias(f"{part}_body"),
        ]
    return taken.select("*", *numbers).select(*taken.columns, *parts)


def _read(framed: DataFrame, writers: Mapping[int, Writer], used: Mapping[str, list[int]], alone: bool) -> DataFrame:
    """The bodies, used up to their last byte, their schema known: as JSON text, or where a value tells alone that it is
    a change, as the struct that is read of that text. `alone`: whether nobody asks for the text then, as epochs do.

    What siltstone's reader is not sure of is read by Spark's, interpreted, with END behind it, which stands at the end
    of its text: a source can have a schema for each of a hundred tables, and no stage would hold a reader for each.
    """
    known = {part: {each: writers[each].schema for each in used[part] if each in writers} for part in _PARTS}
    bare = {part: {n: schema["fields"][0]["type"] for n, schema in known[part].items()} for part in _PARTS}
    plain = {number: schema for number, schema in bare["value"].items() if alone and not _has_field(schema, *_AROUND)}
    event = record_struct(F.col("value_body"), F.col("value_number"), plain, debezium_json.VALUE_TYPE)
    looked = framed.select("*", event.alias("_event")).select(
        *framed.columns, F.when(is_change_alone(F.col("_event")), F.col("_event")).alias("event")
    )
    texts = []
    for part in _PARTS:
        number, unread = F.col(f"{part}_number"), F.col(f"{part}_body")
        body = F.when(F.col("event").isNull(), unread) if part == "value" else unread
        read = {n: F.to_json(from_avro(ended(body), schema), KEEP_NULLS) for n, schema in known[part].items()}
        others = interpreted(looked, values.let(_by_number(number, read), _inside))
        text = F.coalesce(record_json(body, number, bare[part]), F.when(body.isNotNull(), others))
        texts.append(text.alias(f"{part}_json"))
    return looked.select("*", *texts)


def _has_field(schema: Any, *names: str) -> bool:
    return connect_avro.is_record(schema) and any(field["name"] in names for field in schema["fields"])


def _inside(text: Column) -> Column:
    """The body in the text of a body with END behind it; null where END is not there."""
    inside = F.substring(text, F.lit(len(_HEAD) + 1), F.length(text) - (len(_HEAD) + len(_TAIL)))
    return F.when(text.endswith(_TAIL), inside)


def _events(
    read: DataFrame, writers: Mapping[int, Writer], used: Mapping[str, list[int]], unusable: Mapping[int, str]
) -> DataFrame:
    """The events as lines of JSON, where they are not read yet; the reasons against those that are none, and what the
    schemas say of rows and keys.

    Gives: file, line, text, record, problem, row_schema, schema_hash, key_schema; event, event_key, headers, topic,
        partition, offset.
    """
    known = [number for number, writer in writers.items() if connect_avro.is_record(writer.schema["fields"][0]["type"])]
    problem = F.coalesce(
        F.col("problem"),
        _problem("value", list(writers), known, unusable),
        _problem("key", list(writers), list(writers), unusable),
    )
    place = F.to_json(F.struct("topic", "partition", "offset"), KEEP_NULLS)
    nothing = F.lit("null")
    text = F.concat(
        F.lit('{"value":'),
        F.coalesce("value_json", nothing),
        F.lit(',"key":'),
        F.coalesce("key_json", nothing),
        F.lit(',"headers":'),
        F.coalesce("_headers", nothing),
        F.lit(","),
        F.substring(place, 2, _REST),
    )
    told = read.select("*", problem.alias("_problem"), _headers(read).alias("_headers"))
    rows = {number: writers[number].row_schema for number in used["value"] if number in writers}
    keys = {number: writers[number].key_schema for number in used["key"] if number in writers}
    events = told.select(
        "file",
        F.call_function(APART, F.col("line")).alias("line"),
        F.when(F.col("_problem").isNull() & F.col("event").isNull(), text).alias("text"),
        F.col("text").alias("record"),
        F.col("_problem").alias("problem"),
        F.when(F.col("_problem").isNull(), F.col("event")).alias("event"),
        F.col("key_json").alias("event_key"),
        F.col("_headers").alias("headers"),
        *("topic", "partition", "offset", "value_number", "key_number"),
    )
    # Behind where the stages part: what schemas say of rows is longer than most messages.
    return events.select(
        "*",
        _told_of(F.col("value_number"), rows).alias("row_schema"),
        _told_of(F.col("value_number"), rows, F.xxhash64).alias("schema_hash"),
        _told_of(F.col("key_number"), keys).alias("key_schema"),
    )


def _headers(read: DataFrame) -> Column:
    """The headers as JSON; the keys in them, where they came as bytes, as the JSON that these are."""
    listed = from_json("headers", "array<struct<key string, value string>>")

    def opened(header: Column) -> Column:
        text = F.try_to_binary(header["value"], F.lit("base64")).cast("string")
        value = F.when(text.startswith("{"), text).otherwise(header["value"])
        return F.struct(header["key"].alias("key"), value.alias("value"))

    is_listed = F.col("headers").startswith("[") & F.col("headers").contains("__debezium.")
    in_text = interpreted(read, F.to_json(F.transform(listed, opened)))
    return F.when(is_listed, in_text).otherwise(F.col("headers"))


def _by_number(number: Column, made: Mapping[int, Column]) -> Column:
    """The column of a number; null for every other."""
    return F.coalesce(*[F.when(number == known, column) for known, column in made.items()], F.lit(None).cast("string"))


def _told_of(
    number: Column, told: Mapping[int, str | None], of: Callable[[Column], Column] = lambda text: text
) -> Column:
    """The text of a number, or what is made `of` it, once for all rows; null for every other."""
    known = [(F.lit(each).cast("bigint"), of(F.lit(text))) for each, text in told.items() if text is not None]
    if not known:
        return F.when(F.lit(False), of(F.lit("")))
    return F.try_element_at(F.create_map(*itertools.chain(*known)), number)


def _problem(part: str, known: list[int], records: list[int], unusable: Mapping[int, str]) -> Column:
    """Why a frame could not be read; null where it could, or there is none."""
    data, number = F.col(part), F.col(f"{part}_number")
    is_unread = F.col("event").isNull() if part == "value" else F.lit(True)
    first = F.hex(F.substring(data, 1, 1))
    named = F.concat(F.lit(f"the {part}: schema "), number.cast("string"))
    return (
        F.when(data.isNull(), None)
        .when(F.octet_length(data) == 0, f"the {part}: empty, where a Confluent frame should be")
        .when(first != "00", F.concat(F.lit(f"the {part}: no Confluent frame, its first byte is 0x"), first))
        .when(number.isNull(), f"the {part}: a Confluent frame cut short")
        .when(number.isin(list(unusable)), F.concat(named, F.lit(" "), _told_of(number, unusable)))
        .when(~number.isin(known), F.concat(named, F.lit(" is not known")))
        .when(~number.isin(records), F.concat(named, F.lit(" describes no record")))
        .when(F.col(f"{part}_json").isNull() & is_unread, F.concat(named, F.lit(" does not fit the body")))
    )
