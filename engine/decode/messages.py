"""Messages of a topic whose values are bytes, as lines: base64 alone, or a JSON object with base64 in its fields.

    AAAAAAIAAqAB...                                                                the value alone
    {"topic": "t", "partition": 0, "offset": 7, "key": "AAAA...", "value": "AAAA..."}
    {"topic": "t", "key_avro": "AAAA...", "value_avro": "AAAA...", "key": {...}, "value": {...}}

Records of Parquet and Avro files with such columns come in the second form.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine.decode.json_lines import broken_reason, is_malformed
from engine.decode.methods import own_method
from engine.decode.parsing import line_of
from engine.inputs.lines import BLANKS
from engine.jvm import CATALOG

BASE64_BYTES: Final = f"{CATALOG}.base64_bytes"
VALUE, KEY = "value", "key"
IN_AVRO: Final = "_avro"
_FIELDS: Final = (
    "value string, value_avro string, key string, key_avro string, topic string, destination string, partition int,"
    " offset bigint, headers string"
)
_NO_BYTES: Final = "a JSON object without a value in base64"


def messages(lines: DataFrame) -> DataFrame:
    """The bytes of each message, and where it stood in its topic.

    Needs: file, line, text.
    Gives: file, line, text, value and key (binary), topic, partition, offset, headers (JSON text), is_empty (there is
        no value: a null message), problem (why the line is no message; null where it is one).
    Rows: 1:1.
    """
    alone = F.call_function(BASE64_BYTES, F.when(F.col("text") != "null", F.col("text")))  # the word is base64, too
    plainly = lines.select("file", "line", "text", alone.alias("_bytes"))
    is_json = F.col("_bytes").isNull() & F.col("text").rlike(r"^\s*\{")
    parsed = plainly.select(
        "*",
        is_json.alias("_is_json"),
        own_method(line_of(F.when(is_json, F.col("text")), _FIELDS)).alias("_json"),
    )
    line = F.col("_json._line")
    trimmed = F.trim("text", F.lit(BLANKS))
    bare = F.when(trimmed.startswith('"'), F.trim(trimmed, F.lit('"'))).otherwise(trimmed)
    chosen = F.when(F.col("_is_json"), _chosen(line, VALUE)).when(bare != "null", bare)
    texts = parsed.select(
        *("file", "line", "text", "_bytes", "_is_json"),
        line.alias("_line"),
        is_malformed(F.col("_json")).alias("_malformed"),
        F.when(F.col("_bytes").isNull(), chosen).alias("_value"),
        F.when(F.col("_is_json"), _chosen(line, KEY)).alias("_key"),
    )
    plain = F.coalesce("_bytes", F.call_function(BASE64_BYTES, F.col("_value")))
    read = texts.select("*", plain.alias("_plain"), _binary("_key").alias("key"))
    value = F.coalesce("_plain", own_method(F.try_to_binary("_value", F.lit("base64"))))
    binary = read.select("*", value.alias("value"))
    told = F.col("_line")
    is_nothing = F.col("_bytes").isNull() & F.col("_value").isNull()
    is_empty = is_nothing & (~F.col("_is_json") | F.col("text").rlike(r'"value(?:_avro)?"\s*:\s*null'))
    return binary.select(
        *("file", "line", "text", "value", "key"),
        F.coalesce(told["topic"], told["destination"]).alias("topic"),
        told["partition"].alias("partition"),
        told["offset"].alias("offset"),
        told["headers"].alias("headers"),
        is_empty.alias("is_empty"),
        own_method(_problem(is_empty)).alias("problem"),
    )


def _binary(text: str) -> Column:
    """The bytes of base64; null where it is none. Of plain base64 they are found sooner."""
    return F.coalesce(F.call_function(BASE64_BYTES, F.col(text)), own_method(F.try_to_binary(text, F.lit("base64"))))


def _chosen(line: Column, name: str) -> Column:
    """A field that says it is Avro comes before the one that holds the same as JSON, be it null."""
    avro, plain = line[f"{name}{IN_AVRO}"], line[name]
    # Base64 begins otherwise: of most lines nobody asks the whole text.
    is_told = plain.startswith("{") & F.col("text").contains(f'"{name}{IN_AVRO}"')
    return F.coalesce(avro, F.when(~is_told, plain))


def _problem(is_empty: Column) -> Column:
    """Why a line is no message; null where it is one."""
    misfit = "a field of the message has a type that a topic's messages do not give it"
    is_json, value = F.col("_is_json"), F.col("_value")
    unread = is_json & (F.col("_malformed") | F.col("_line").isNull())
    return (
        F.when(unread, broken_reason(F.col("text"), misfit))
        .when(is_empty, None)
        .when(is_json & value.isNull(), _NO_BYTES)
        .when(is_json & value.startswith("{"), _NO_BYTES)
        # Blanks between words are read over, and short texts are taken for fillers.
        .when(F.col("_plain").isNull() & (F.col("value").isNull() | value.contains(" ")), "the value is not base64")
        .when(F.col("_key").isNotNull() & F.col("key").isNull(), "the key is not base64")
    )
