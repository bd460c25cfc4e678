"""Records that Spark reads, as JSON text: CSV files, and the data files of Iceberg tables."""

from collections.abc import Sequence
from functools import partial, reduce
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from engine.decode.typed_records import text_batches
from engine.inputs.containers import MALFORMED, Part, read_parts
from engine.inputs.counting import CountedFile
from engine.inputs.lines import IS_SAID, numbered
from engine.inputs.pending import PendingFile
from engine.inputs.quotes import ENDS_OPEN, OPEN_QUOTE
from engine.spec.model import SourceSpec

_MADE: Final = pa.schema([("text", pa.string()), (IS_SAID, pa.bool_()), ("row_schema", pa.string())])


def read_by_spark(
    spark: SparkSession, pending: Sequence[PendingFile], source: SourceSpec, catalog: str
) -> tuple[DataFrame, list[CountedFile]]:
    """The new records of CSV files or of a table's data files.

    Gives: file, line (1-based), is_last, text, row_schema, problem (what is wrong with a record that its text does not
        show).
    Rows: one a record.
    Raises: SourceError: a file cannot be read to its end.
    """
    parts = read_parts(spark, [entry.file for entry in pending], source, catalog)
    frames = [with_texts(part) for part in parts]
    lines, counted = numbered(reduce(DataFrame.unionByName, frames), pending)
    problem = F.when(F.col("is_last") & F.col(ENDS_OPEN), OPEN_QUOTE).alias("problem")
    return lines.select("file", "line", "is_last", "text", "row_schema", problem), counted


def with_texts(part: Part) -> DataFrame:
    """The records of one description as JSON text.

    Gives: file, start, row, ends_open, text, is_said, row_schema.
    Rows: 1:1.
    """
    rows = part.rows
    if ENDS_OPEN not in rows.columns:
        rows = rows.withColumn(ENDS_OPEN, F.lit(False))
    kept = ["file", "start", "row", ENDS_OPEN]
    schema = T.StructType([*rows.select(*kept).schema, *from_arrow_schema(_MADE)])
    record = rows.schema["record"].dataType
    assert isinstance(record, T.StructType)
    has_malformed = MALFORMED in record.names
    return rows.select(*kept, "record").mapInArrow(partial(text_batches, part.columns, has_malformed, _MADE), schema)
