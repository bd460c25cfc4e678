"""The rows of an Iceberg table's data files, which Spark reads, as JSON text."""

from collections.abc import Sequence
from functools import partial, reduce
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from siltstone.engine.decode.typed_records import text_batches
from siltstone.engine.inputs.counting import CountedFile
from siltstone.engine.inputs.iceberg_files import TablePart, table_parts
from siltstone.engine.inputs.pending_files import PendingFile
from siltstone.engine.inputs.table_rows import numbered
from siltstone.engine.spec.model import SourceSpec

_KEPT: Final = ("file", "row")


def read_table(
    spark: SparkSession, pending: Sequence[PendingFile], source: SourceSpec, catalog: str
) -> tuple[DataFrame, list[CountedFile]]:
    """The new rows of a table's data files.

    Gives: file, line (1-based), is_last, text, row_schema.
    Rows: one per row.
    Raises: SourceError: a file cannot be read to its end.
    """
    parts = table_parts(spark, source, catalog, [entry.file.path for entry in pending])
    frames = [with_texts(spark, part) for part in parts]
    return numbered(reduce(DataFrame.unionByName, frames), pending)


def with_texts(spark: SparkSession, part: TablePart) -> DataFrame:
    """The rows of data files with the same schema and settings, as JSON text.

    Gives: file, row, text, row_schema.
    Rows: 1:1.
    """
    rows = part.rows(spark)
    text = [T.StructField(name, T.StringType()) for name in ("text", "row_schema")]
    schema = T.StructType([*rows.select(*_KEPT).schema, *text])
    return rows.select(*_KEPT, "record").mapInArrow(partial(text_batches, part.columns.names, _KEPT), schema)
