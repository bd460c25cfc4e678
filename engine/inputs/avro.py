"""Avro files: the schema that one was written with, its records as Spark reads them, or as texts of JSON."""

import io
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from engine.errors import SourceError, SpecError
from engine.inputs import magic
from engine.inputs.globs import exactly
from engine.inputs.lines import Piece, place
from engine.inputs.listing import NO_FILE, InputFile, first_line, read_bytes
from engine.jars import SPARK_AVRO
from engine.names import apart

HEAD_BYTES: Final = 1 << 16
LONGEST_HEAD: Final = 1 << 24
AVRO_TEXTS: Final = "siltstone.AvroTexts"
DIMENSIONS: Final = "8"  # of arrays that contain themselves; PostgreSQL has six


def avro_rows(spark: SparkSession, schema: str, paths: Sequence[str], *, names_apart: bool) -> DataFrame:
    """The records of Avro files, every value as it is encoded. `schema`: the writer's, as JSON. `paths`: as Spark reads
    them. `names_apart`: fields by names that Spark tells apart.

    Raises: SpecError: the session, which somebody else started, has no reader for them.
    """
    written = without_logical_types(json.loads(schema))
    reader = spark.read.format("avro").option("recursiveFieldMaxDepth", DIMENSIONS)
    reader = reader.option("avroSchema", json.dumps(with_fields_apart(written) if names_apart else written))
    try:
        return reader.load(list(paths))
    except AnalysisException as error:
        if "Failed to find data source" not in str(error):
            raise
        hint = f"start it with {SPARK_AVRO.file} (spark-submit --jars, or spark.jars)"
        raise SpecError("Cannot read Avro files: the Spark session has no reader for them.", hint) from error


def is_told(spark: SparkSession, schema: str) -> bool:
    """Whether siltstone's own reader knows for certain what `to_json` makes of records that Spark reads by a schema."""
    jvm: Any = spark._jvm
    return bool(jvm.siltstone.AvroTexts.canRead(schema))


def avro_places(spark: SparkSession, schema: str, paths: Sequence[str]) -> DataFrame:
    """Where Spark reads the records of Avro files, of which it counts no more than what the heads of their blocks say.
    `schema`, `paths`: as of `avro_lines`.

    Gives: file, start, row.
    """
    return _records(spark, schema, paths, []).select(*place())


def avro_lines(spark: SparkSession, schema: str, paths: Sequence[str], pieces: Iterable[Piece]) -> DataFrame:
    """The records of Avro files as texts of JSON, by siltstone's own reader, which numbers them. `schema`: one that it
    knows, the writer's with what is to be told otherwise than it was written. `paths`: the files. `pieces`: what was
    counted where `avro_places` of them says; that a file has changed since then is an error when it is read.

    Gives: file, line (1-based), is_last, text.
    """
    return _records(spark, schema, paths, pieces).select("file", "line", "is_last", "text")


def _records(spark: SparkSession, schema: str, paths: Sequence[str], pieces: Iterable[Piece]) -> DataFrame:
    """The records by the reader, as `AvroTexts` describes it."""
    known = set(paths)
    told = [[p.file, p.start, p.path, p.first, p.rows, p.lines] for p in pieces if p.path in known]
    reader = spark.read.format(AVRO_TEXTS).options(records=schema, pieces=json.dumps(told))
    return reader.load([exactly(path) for path in paths])


def avro_schema(spark: SparkSession, file: InputFile) -> str:
    """The writer's schema in the header of an Avro file.

    Raises: SourceError: it is no Avro file, or ends inside its header.
    """
    size = HEAD_BYTES
    while True:
        found = avro_header(read_bytes(spark, file.path, 0, min(file.size, size)))
        if found is not None:
            try:
                schema = json.loads(found)
                without_logical_types(schema)  # or it is none
                text = json.dumps(schema, separators=(",", ":"))
                parsed(spark, text)
            except (ValueError, LookupError, TypeError) as error:  # no JSON, or no text at all, or no schema
                raise SourceError(f"Cannot read {file.path}: the schema in its header is damaged.", NO_FILE) from error
            except Py4JJavaError as error:
                reason = (
                    f"Cannot read {file.path}: the schema in its header is none that Avro takes ({first_line(error)})."
                )
                raise SourceError(reason, NO_FILE) from error
            return text
        if size >= min(file.size, LONGEST_HEAD):
            raise SourceError(
                f"Cannot read {file.path}: it is no Avro file, or was cut short inside its header.",
                NO_FILE,
            )
        size *= 16


def parsed(spark: SparkSession, schema: str) -> None:
    """See that Avro's own parser takes a schema, as Spark will ask it.

    Raises: Py4JJavaError: it does not.
    """
    jvm: Any = spark._jvm
    jvm.org.apache.avro.Schema.Parser().setValidateDefaults(False).parse(schema)


def avro_header(data: bytes) -> bytes | None:
    """`avro.schema` of the header's metadata; None where the data is no header, or ends before it."""
    if not data.startswith(magic.AVRO):
        return None
    stream = io.BytesIO(data[len(magic.AVRO) :])
    found: dict[bytes, bytes] = {}
    try:
        while count := avro_long(stream):
            if count < 0:
                avro_long(stream)  # the size of the block, for who wants to skip it
            for _ in range(abs(count)):
                key = avro_bytes(stream)
                found[key] = avro_bytes(stream)
    except EOFError:
        return None
    return found.get(b"avro.schema")


def avro_long(stream: io.BytesIO) -> int:
    """A number in zig-zag base 128."""
    value = shift = 0
    while True:
        byte = stream.read(1)
        if not byte:
            raise EOFError
        value |= (byte[0] & 0x7F) << shift
        shift += 7
        if not byte[0] & 0x80:
            return (value >> 1) ^ -(value & 1)


def avro_bytes(stream: io.BytesIO) -> bytes:
    """A length, and so many bytes."""
    size = avro_long(stream)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def without_logical_types(schema: Any) -> Any:
    """The schema that reads every value as it is encoded: decimals of any size as bytes, times as their counts."""
    if isinstance(schema, list):
        return [without_logical_types(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in ("logicalType", "precision", "scale", "default")}
    if "fields" in kept:
        kept["fields"] = [{"name": f["name"], "type": without_logical_types(f["type"])} for f in kept["fields"]]
    for inside in ("type", "items", "values"):
        if isinstance(kept.get(inside), (dict, list)):
            kept[inside] = without_logical_types(kept[inside])
    return kept


def with_fields_apart(schema: Any) -> Any:
    """The schema of a record that reads its fields by names that Spark tells apart."""
    if not isinstance(schema, dict) or "fields" not in schema:
        return schema
    fields = zip(schema["fields"], apart(field["name"] for field in schema["fields"]), strict=True)
    return schema | {
        "fields": [f if f["name"] == own else f | {"name": own, "aliases": [f["name"]]} for f, own in fields]
    }
