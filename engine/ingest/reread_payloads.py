"""The texts of changes, which are not kept beside them: read again for the few that are asked for."""

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
    changes: DataFrame, again: Callable[[DataFrame], DataFrame] | None, most: int | None = None
) -> DataFrame:
    """The texts of changes: as they are kept, or where their hashes are, read by `again`. `most`: of no more changes.

    Needs: the frame of events; text_hash, where `again` is given.
    Gives: file, line, text.
    Rows: one a line.
    """
    kept = "text" if again is None else TEXT_HASH
    told = changes.where(F.col(kept).isNotNull()).select(*PLACE, kept)
    one = (told if most is None else told.limit(most)).dropDuplicates(PLACE)
    return one if again is None else again(one.transform(checkpointed))


def reread_texts(spark: SparkSession, source_batch: SourceBatch, catalog: str, asked: DataFrame) -> DataFrame:
    """The texts of changes, read again from their files: from their first lines, of topics from the first new record.

    Needs: asked: file, line, text_hash; without duplicates.
    Gives: file, line, text. Computed.
    Rows: 1:1.
    Raises: SourceError: a file has other lines now, or cannot be read any more.
    """
    paths = {row["file"] for row in asked.select("file").distinct().collect()}
    files = [from_first_line(entry.pending) for path, entry in source_batch.counted.items() if path in paths]
    try:
        lines, _ = read_records(spark, source_batch.source, files, catalog)
        records = lines.frame().join(asked.select(*PLACE), on=PLACE, how="left_semi").select(*PLACE, "text")
        same = records.withColumn(TEXT_HASH, F.xxhash64("text")).join(asked, on=[*PLACE, TEXT_HASH], how="left_semi")
        found = computed(same.select(*PLACE, "text"), files)
    except UNREADABLE as error:
        raise unreadable(files, error) from error
    other = asked.join(found, on=PLACE, how="left_anti").first()
    if other is not None:
        raise SourceError(
            f"Cannot tell what is wrong in {other['file']}:{other['line']}: the file became another one while it was"
            " taken. Nothing of this batch was taken.",
            WHOLE_HINT,
        )
    return found
