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
from engine.formats import format_of
from engine.inputs.compression import DAMAGED, plain_stream
from engine.inputs.globs import exactly
from engine.inputs.lines import place, record_of
from engine.inputs.listing import NO_FILE, InputFile, is_compressed
from engine.inputs.quotes import with_open_quotes
from engine.inputs.store import read_bytes, store_of
from engine.inputs.tables import table_parts
from engine.names import apart, quoted
from engine.spec.model import SourceSpec

Kind = Literal["json", "csv", "parquet", "avro", "table"]

HEAD_BYTES = 1 << 16
MALFORMED = "__siltstone_malformed"
EMPTY = "\x00siltstone empty"
LINE_END = "siltstone.line_end"  # in the metadata of a CSV file's last column, where it is this one:
CRLF = "\r\n"
BYTES = "ISO-8859-1"  # in which every byte is a sign: so none is lost, whatever it is
ENDINGS: tuple[tuple[tuple[str, ...], Kind], ...] = (
    ((".csv", ".csv.gz", ".csv.bz2"), "csv"),
    ((".parquet",), "parquet"),
    ((".avro",), "avro"),
)


@dataclass(frozen=True)
class Part:
    """Files of one description. `columns`: their names, as files have them. `make`: of `rows`."""

    columns: Sequence[str]
    make: Callable[[], DataFrame]

    @property
    def rows(self) -> DataFrame:
        """Their records: file, start, row, record; ends_open, where a quote can be open at the end."""
        return self.make()


def kind_of(path: str, source: SourceSpec) -> Kind:
    """How a file of a source is written."""
    if source.table is not None:
        return "table"
    if source.rows is not None and source.rows.file_type is not None:
        return source.rows.file_type
    written = format_of(source.format).containers
    by_name = kind_by_name(path)
    return by_name if by_name in written else "json" if "json" in written else "avro"


def kind_by_name(path: str) -> Kind:
    """How a file is written as its name ends."""
    return next((kind for ends, kind in ENDINGS if path.lower().endswith(ends)), "json")


def read_parts(spark: SparkSession, files: Sequence[InputFile], source: SourceSpec, catalog: str) -> list[Part]:
    """The records of the files that Spark reads, a part for each description.

    Raises: SourceError: a file is not what it should be.
    """
    if source.table is not None and files:
        return [
            Part(part.columns.names, partial(part.rows, spark))
            for part in table_parts(spark, source, catalog, [file.path for file in files])
        ]
    groups: dict[str, list[str]] = {}
    for file in files:
        groups.setdefault(csv_schema(file, source), []).append(file.path)
    return [
        Part(names_in(schema), partial(csv_records, spark, schema, [exactly(path) for path in paths], source))
        for schema, paths in groups.items()
    ]


def names_in(schema: str) -> list[str]:
    """The names of the columns that `csv_schema` gives."""
    return [field["name"] for field in json.loads(schema)["fields"]]


def placed(rows: DataFrame) -> DataFrame:
    """What a reader gives as records with their places."""
    return rows.select(*place(), record_of(name for name in rows.columns if name != "_metadata"))


def csv_schema(file: InputFile, source: SourceSpec) -> str:
    """The columns that the first line names, all text; the last one has in its metadata that lines end in CRLF.

    Raises: SourceError: it names none, or one twice.
    """
    assert source.rows is not None
    lines = io.StringIO(head(file).decode("utf-8-sig", "replace"))
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


def head(file: InputFile) -> bytes:
    """The beginning of a file, unpacked.

    Raises: SourceError: it cannot be unpacked.
    """
    if not is_compressed(file.path):
        return read_bytes(file.path, 0, min(file.size, HEAD_BYTES))
    try:
        with store_of(file.path).open(file.path) as packed:
            begin = plain_stream(file.path, packed).read(HEAD_BYTES)
    except DAMAGED as error:
        raise SourceError(f"Cannot read {file.path}: it cannot be unpacked.", NO_FILE) from error
    return begin
