"""What a Parquet file says of its columns, also of those for which Spark refuses the whole file.

Spark has no type for a time of day, nor for a time in nanoseconds, which is what pandas and Arrow write; as the counts
they are it reads both. Such a column is told as one of numbers, and its metadata say what they count. So is one of
nothing but nulls, which they write with no type at all: the numbers in it count nothing.
"""

import json
import re
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from engine.errors import SourceError
from engine.inputs.globs import exactly
from engine.inputs.lines import UNREADABLE
from engine.inputs.listing import NO_FILE, InputFile, file_system
from engine.names import COUNTS, INSTANT_NANOS, LOCAL_NANOS, NOTHING

_UNTYPED: Final = "UNKNOWN"
_CLOCK: Final = re.compile(r"(TIME|TIMESTAMP)\((MILLIS|MICROS|NANOS),(true|false)\)")


def parquet_schema(spark: SparkSession, file: InputFile) -> str:
    """The columns as Spark can read them, as JSON; under COUNTS, in its metadata, what the numbers of one count.

    Counts inside records and arrays are told as numbers alone.

    Raises: SourceError: it is no Parquet file, or Spark has no type for a column.
    """
    try:
        columns = spark.read.parquet(exactly(file.path)).schema
    except UNREADABLE as error:
        written = _written_columns(spark, file, error)
        return str(T.StructType([_told(spark, file, column) for column in written]).json())
    if any(isinstance(column.dataType, T.IntegerType) for column in columns):  # Spark takes what has no type for one
        untyped = {str(column.getName()) for column in _written_columns(spark, file) if _is_untyped(column)}
        columns = T.StructType([_of_nothing(column) if column.name in untyped else column for column in columns])
    return str(columns.json())


def _of_nothing(column: T.StructField) -> T.StructField:
    return T.StructField(column.name, column.dataType, metadata={COUNTS: NOTHING})


def _is_untyped(column: Any) -> bool:
    return str(column.getLogicalTypeAnnotation()) == _UNTYPED


def _written_columns(spark: SparkSession, file: InputFile, refusal: Exception | None = None) -> list[Any]:
    """The columns in the file's footer, as Parquet's own objects.

    Raises: SourceError: it has no footer.
    """
    jvm: Any = spark._jvm
    session: Any = spark._jsparkSession
    hadoop = jvm.org.apache.parquet.hadoop
    try:
        _, path = file_system(spark, file.path)
        place = hadoop.util.HadoopInputFile.fromPath(path, session.sessionState().newHadoopConf())
        reader = hadoop.ParquetFileReader.open(place)
        try:
            return list(reader.getFooter().getFileMetaData().getSchema().getFields())
        finally:
            reader.close()
    except UNREADABLE:
        raise SourceError(f"Cannot read {file.path}: it is no Parquet file, or is damaged.", NO_FILE) from refusal


def _told(spark: SparkSession, file: InputFile, column: Any) -> T.StructField:
    """One column, as Spark tells it when the numbers in it mean nothing.

    Raises: SourceError: it has no type for it.
    """
    jvm: Any = spark._jvm
    session: Any = spark._jsparkSession
    alone = jvm.org.apache.parquet.schema.MessageType("alone", _listed(jvm, [_as_counts(jvm, column)]))
    converter = jvm.org.apache.spark.sql.execution.datasources.parquet.ParquetToSparkSchemaConverter
    try:
        told = str(converter(session.sessionState().conf()).convert(alone).json())
    except UNREADABLE as error:
        kind = " ".join(str(column.toString()).split())[:200]
        raise SourceError(
            f'Cannot read {file.path}: Spark has no type for its column "{column.getName()}" ({kind}).',
            "write the column as text or as a common type, or leave it out",
        ) from error
    (field,) = T.StructType.fromJson(json.loads(told)).fields
    if _is_untyped(column):
        return _of_nothing(field)
    is_number = isinstance(field.dataType, T.IntegerType | T.LongType)
    counts = _what_it_counts(column) if is_number else None
    return field if counts is None else T.StructField(field.name, field.dataType, metadata={COUNTS: counts})


def _as_counts(jvm: Any, kind: Any) -> Any:
    """A Parquet type in which times that Spark does not know, at any depth, are numbers."""
    if not kind.isPrimitive():
        return kind.withNewFields(_listed(jvm, [_as_counts(jvm, field) for field in kind.getFields()]))
    if _what_it_counts(kind) is None:
        return kind
    return jvm.org.apache.parquet.schema.PrimitiveType(
        kind.getRepetition(), kind.asPrimitiveType().getPrimitiveTypeName(), kind.getName()
    )


def _what_it_counts(kind: Any) -> str | None:
    """What the numbers of a Parquet type count, where Spark has no type for it."""
    found = _CLOCK.fullmatch(str(kind.getLogicalTypeAnnotation()))
    if found is None:
        return None
    clock, unit, zoned = found.groups()
    if clock == "TIME":
        return f"time_{unit.lower()}"
    if unit != "NANOS":
        return None
    return INSTANT_NANOS if zoned == "true" else LOCAL_NANOS


def _listed(jvm: Any, values: list[Any]) -> Any:
    """A list of Java's."""
    found = jvm.java.util.ArrayList()
    for value in values:
        found.add(value)
    return found
