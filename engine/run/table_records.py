"""The rows of an Iceberg table's data files, which Spark reads, as JSON text."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from engine.decode.typed_records import ArrowTexts
from engine.inputs.counting import CountedFile
from engine.inputs.lines import numbered
from engine.inputs.pending import PendingFile
from engine.inputs.tables import TablePart, table_parts
from engine.spec.model import SourceSpec

_KEPT: Final = ("file", "row")


def read_table(
    spark: SparkSession, pending: Sequence[PendingFile], source: SourceSpec, catalog: str
) -> tuple[DataFrame, list[CountedFile]]:
    """The new rows of a table's data files.

    Gives: file, line (1-based), is_last, text, row_schema.
    Rows: one a row.
    Raises: SourceError: a file cannot be read to its end.
    """
    parts = table_parts(spark, source, catalog, [entry.file.path for entry in pending])
    frames = [with_texts(spark, part) for part in parts]
    return numbered(reduce(DataFrame.unionByName, frames), pending)


def with_texts(spark: SparkSession, part: TablePart) -> DataFrame:
    """The rows of data files of one description as JSON text.

    Gives: file, row, text, row_schema.
    Rows: 1:1.
    """
    rows = part.rows(spark)
    text = [T.StructField(name, T.StringType()) for name in ("text", "row_schema")]
    schema = T.StructType([*rows.select(*_KEPT).schema, *text])
    return rows.select(*_KEPT, "record").mapInArrow(partial(_texts, part.columns.names), schema)


def _texts(names: Sequence[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    made = None
    for batch in batches:
        arrays = batch.column("record").flatten()
        made = made or ArrowTexts(dict(zip(names, (array.type for array in arrays), strict=True)))
        texts = made.array(arrays).cast(pa.binary()).view(pa.string())
        schemas = pa.array([made.row_schema] * len(batch), pa.string())
        yield pa.RecordBatch.from_arrays([*map(batch.column, _KEPT), texts, schemas], [*_KEPT, "text", "row_schema"])
