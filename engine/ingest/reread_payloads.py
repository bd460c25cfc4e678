"""Reread the texts of changes. They are not kept in the frame of events, and few of them are needed."""

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siltstone.engine.decode.event_batch import TEXT_HASH
from siltstone.engine.errors import SourceError
from siltstone.engine.frames import checkpointed
from siltstone.engine.ingest.source_batch import SourceBatch
from siltstone.engine.ingest.source_records import from_first_line, read_records
from siltstone.engine.inputs.file_store import WHOLE_HINT
from siltstone.engine.inputs.table_rows import UNREADABLE, computed, unreadable
from siltstone.engine.names import PLACE


def payloads_of(
    changes: DataFrame, reread: Callable[[DataFrame], DataFrame] | None, most: int | None = None
) -> DataFrame:
    """The texts of changes: the kept texts, or those that `reread` finds by their hashes. `most`: a limit of changes.

    Needs: the frame of events; text_hash, if `reread` is given.
    Gives: file, line, text.
    Rows: one per line.
    """
    kept = "text" if reread is None else TEXT_HASH
    rows = changes.where(F.col(kept).isNotNull()).select(*PLACE, kept)
    one = (rows if most is None else rows.limit(most)).dropDuplicates(PLACE)
    return one if reread is None else reread(one.transform(checkpointed))


def reread_texts(spark: SparkSession, source_batch: SourceBatch, catalog: str, requested: DataFrame) -> DataFrame:
    """The texts of changes, reread from their files. Files are read from line 1, topics from the first new record.

    Needs: requested: file, line, text_hash; without duplicates.
    Gives: file, line, text. Computed.
    Rows: 1:1.
    Raises: SourceError: a file has other lines now, or cannot be read any more.
    """
    paths = {row["file"] for row in requested.select("file").distinct().collect()}
    files = [from_first_line(entry.pending) for path, entry in source_batch.counted.items() if path in paths]
    try:
        lines, _ = read_records(spark, source_batch.source, files, catalog)
        records = lines.frame().join(requested.select(*PLACE), on=PLACE, how="left_semi").select(*PLACE, "text")
        same = records.withColumn(TEXT_HASH, F.xxhash64("text")).join(
            requested, on=[*PLACE, TEXT_HASH], how="left_semi"
        )
        found = computed(same.select(*PLACE, "text"), files)
    except UNREADABLE as error:
        raise unreadable(files, error) from error
    other = requested.join(found, on=PLACE, how="left_anti").first()
    if other is not None:
        raise SourceError(
            f"Cannot report what is wrong in {other['file']}:{other['line']}: the file was replaced while it was"
            " taken. Nothing of this batch was taken.",
            WHOLE_HINT,
        )
    return found
