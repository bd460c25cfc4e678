"""Records of files that are no lines of text: CSV with a header, Parquet, Avro, and the data files of Iceberg tables
(`tables`).

Files that describe their records alike are read together; each part knows the description.
"""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from engine.errors import SourceError
from engine.frames import checkpointed
from engine.inputs.avro import HEAD_BYTES, avro_rows, avro_schema
from engine.inputs.globs import exactly
from engine.inputs.lines import UNREADABLE, place, record_of, unreadable
from engine.inputs.listing import NO_FILE, InputFile, is_compressed, read_bytes
from engine.inputs.parquet import parquet_schema
from engine.inputs.quotes import with_open_quotes
from engine.inputs.tables import table_parts
from engine.names import apart, quoted
from engine.spec.model import SourceSpec

Kind = Literal["json", "csv", "parquet", "avro", "table"]

CASES = "spark.sql.caseSensitive"
MALFORMED = "__siltstone_malformed"
EMPTY = "\x00siltstone empty"
LINE_END = "siltstone.line_end"  # in the metadata of a CSV file's last column, where it is this one:
CRLF = "\r\n"
BYTES = "ISO-8859-1"  # in which every byte is a sign: so none is lost, whatever it is
OF_MESSAGES = ("debezium-avro", "dts-avro")  # messages are lines of text, or bytes in a column
ENDINGS: tuple[tuple[tuple[str, ...], Kind], ...] = (
    ((".csv", ".csv.gz", ".csv.bz2"), "csv"),
    ((".parquet",), "parquet"),
    ((".avro",), "avro"),
)


@dataclass(frozen=True)
class Part:
    """Files of one description. `schema`: the Avro writer's, or Spark's, as JSON. `make`: of `rows`."""

    kind: Kind
    schema: str
    paths: Sequence[str]
    make: Callable[[], DataFrame]

    @property
    def rows(self) -> DataFrame:
        """Their records: file, start, row, record."""
        return self.make()


def kind_of(path: str, source: SourceSpec) -> Kind:
    """How a file of a source is written."""
    if source.table is not None:
        return "table"
    if source.format == "datastream-avro":
        return "avro"
    by_name = kind_by_name(path)
    if source.format in OF_MESSAGES:
        return by_name if by_name in ("parquet", "avro") else "json"
    return "json" if source.rows is None else source.rows.file_type or by_name


def kind_by_name(path: str) -> Kind:
    """How a file is written as its name ends."""
    return next((kind for ends, kind in ENDINGS if path.lower().endswith(ends)), "json")


def read_parts(spark: SparkSession, files: Sequence[InputFile], source: SourceSpec, catalog: str) -> list[Part]:
    """The records of the files, a part for each description.

    Raises: SourceError: a file is not what it should be.
    """
    if source.table is not None and files:
        return [
            Part("table", str(part.columns.json()), part.paths, partial(part.rows, spark))
            for part in table_parts(spark, source, catalog, [file.path for file in files])
        ]
    groups: dict[tuple[Kind, str], list[str]] = {}
    for file in files:
        kind = kind_of(file.path, source)
        groups.setdefault((kind, described(spark, file, kind, source)), []).append(file.path)
    return [
        Part(kind, schema, paths, partial(file_rows, spark, kind, schema, paths, source))
        for (kind, schema), paths in groups.items()
    ]


def described(spark: SparkSession, file: InputFile, kind: Kind, source: SourceSpec) -> str:
    """What a file says of its records."""
    if kind == "avro":
        return avro_schema(spark, file)
    if kind == "csv":
        return csv_schema(spark, file, source)
    return parquet_schema(spark, file)


def file_rows(spark: SparkSession, kind: Kind, schema: str, paths: Sequence[str], source: SourceSpec) -> DataFrame:
    """The records of files with the places Spark read them at."""
    places = [exactly(path) for path in paths]
    if kind == "avro":
        return placed(avro_rows(spark, schema, places, names_apart=source.rows is not None))
    if kind == "csv":
        return csv_records(spark, schema, places, source)
    return parquet_rows(spark, T.StructType.fromJson(json.loads(schema)), places)


def parquet_rows(spark: SparkSession, columns: T.StructType, paths: Sequence[str]) -> DataFrame:
    """The records of Parquet files with their places; computed at once where names of columns differ only in upper and
    lower case, for Spark can read such only as long as it tells them apart.

    Raises: SourceError: such a file cannot be read.
    """
    reader = spark.read.schema(columns)
    if apart(columns.names) == columns.names:
        return placed(reader.parquet(*paths))
    usual = str(spark.conf.get(CASES))
    spark.conf.set(CASES, "true")
    try:
        return placed(reader.parquet(*paths)).transform(checkpointed)
    except UNREADABLE as error:
        raise unreadable(spark, [], error) from error
    finally:
        spark.conf.set(CASES, usual)


def placed(rows: DataFrame) -> DataFrame:
    """What a reader gives as records with their places."""
    return rows.select(*place(), record_of(name for name in rows.columns if name != "_metadata"))


def csv_schema(spark: SparkSession, file: InputFile, source: SourceSpec) -> str:
    """The columns that the first line names, all text; the last one has in its metadata that lines end in CRLF.

    Raises: SourceError: it names none, or one twice.
    """
    assert source.rows is not None
    lines = io.StringIO(head(spark, file).decode("utf-8-sig", "replace"))
    try:
        names = next(csv.reader(lines, delimiter=source.rows.delimiter), [])
    except csv.Error:  # a carriage return alone
        names = []
    if not names or any(not name.strip() for name in names) or len(set(names)) < len(names):
        raise SourceError(
            f"Cannot read {file.path}: its first line must name each column once, and does not.",
            "check the file, source.file_type and source.delimiter",
        )
    fields = [T.StructField(name, T.StringType()) for name in names]
    if lines.getvalue()[: lines.tell()].endswith(CRLF):
        fields[-1].metadata = {LINE_END: CRLF}
    return str(T.StructType(fields).json())


def csv_records(spark: SparkSession, schema: str, paths: Sequence[str], source: SourceSpec) -> DataFrame:
    """The records of CSV files with their places, and whether a quote is open at the end of those that end a file."""
    assert source.rows is not None
    *names, last = apart(field["name"] for field in json.loads(schema)["fields"])
    ends = json.loads(schema)["fields"][-1]["metadata"].get(LINE_END, "\n")
    rows, record = placed(csv_rows(spark, schema, paths, source)), F.col("record")
    some = F.coalesce(*[record[name] for name in (last, *reversed(names))])
    value = F.when(record[MALFORMED].isNull(), record[last]).otherwise(some)
    return with_open_quotes(spark, rows, paths, value, source.rows.delimiter, ends)


def csv_rows(spark: SparkSession, schema: str, paths: Sequence[str], source: SourceSpec) -> DataFrame:
    """Values without quotes and nothing in them are null; with quotes they are empty text. What is not UTF-8 stays the
    bytes that it is.

    Gives: the columns; in MALFORMED the text of a line that has not as many values as the header.
    """
    assert source.rows is not None
    delimiter = source.rows.delimiter.encode().decode(BYTES)
    described = T.StructType.fromJson(json.loads(schema))
    columns = T.StructType([T.StructField(name, T.StringType()) for name in apart(described.names)])
    ends = described.fields[-1].metadata.get(LINE_END)
    reader = spark.read.schema(columns.add(MALFORMED, T.StringType())).options(
        header=True, multiLine=True, columnNameOfCorruptRecord=MALFORMED, encoding=BYTES
    )
    if ends is not None:  # a line end that Spark has to find by itself it makes a line feed, in quotes, too
        reader = reader.option("lineSep", ends)
    rows = reader.options(sep=delimiter, escape='"', emptyValue=EMPTY).csv(list(paths))
    # Spark takes an empty text for a null, quoted or not, unless quoted ones are given another name.
    texts = [F.when(F.col(quoted(name)) == EMPTY, "").otherwise(text_of(F.col(quoted(name)))) for name in rows.columns]
    return rows.select(*[text.alias(name) for text, name in zip(texts, rows.columns, strict=True)], "_metadata")


def text_of(value: Column) -> Column:
    """The bytes that were read as one sign each, as text; most texts have none that means another sign."""
    is_ascii = F.octet_length(value) == F.length(value)
    return F.when(is_ascii, value).otherwise(F.encode(value, BYTES).cast("string"))


def head(spark: SparkSession, file: InputFile) -> bytes:
    """The beginning of a file; the first line of one that is compressed.

    Raises: SourceError: it cannot be unpacked.
    """
    if not is_compressed(file.path):
        return read_bytes(spark, file.path, 0, min(file.size, HEAD_BYTES))
    try:
        line = spark.read.option("lineSep", "\n").text(exactly(file.path)).first()
    except UNREADABLE as error:
        raise SourceError(f"Cannot read {file.path}: it cannot be unpacked.", NO_FILE) from error
    return b"" if line is None else f"{line['value']}\n".encode()
