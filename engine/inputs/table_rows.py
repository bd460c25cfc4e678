"""Rows of Iceberg tables, read by Spark, with their coordinates: the data file and the number in it."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siltstone.engine.errors import SourceError
from siltstone.engine.frames import checkpointed, local_frame
from siltstone.engine.inputs.counting import CountedFile
from siltstone.engine.inputs.listing import listed
from siltstone.engine.inputs.pending_files import PendingFile
from siltstone.engine.inputs.task_errors import raised_in_task
from siltstone.engine.names import deduplicated, quoted

UNREADABLE = (PySparkException,)
_WHILE_READING: Final = re.compile(r"error while reading file (?:file:)?/*(/.*?|\w+:.*?)\.? *(?:SQLSTATE|$)")


def numbered(rows: DataFrame, pending: Sequence[PendingFile]) -> tuple[DataFrame, list[CountedFile]]:
    """The new rows of data files, with their numbers.

    Needs: file, row (consecutive numbers from any start), perhaps more columns.
    Gives: file, line (1-based), is_last (the last row of its file), the other columns.
    Rows: filters to rows after `after_line`.

    Raises: SourceError: a file cannot be read to its end.
    """
    try:
        found = rows.groupBy("file").agg(F.min("row").alias("first"), F.count("*").alias("lines")).collect()
    except UNREADABLE as error:
        raise unreadable(pending, error) from error
    after = {entry.file.path: entry.after_line for entry in pending}
    counts = {row["file"]: row["lines"] for row in found}
    placed = [row.asDict() | {"after_line": after[row["file"]]} for row in found]
    schema = "file string, first bigint, lines bigint, after_line bigint"
    located = rows.join(F.broadcast(local_frame(rows.sparkSession, placed, schema)), on="file", how="inner")
    line = F.col("row") - F.col("first") + 1
    more = [name for name in rows.columns if name not in ("file", "row")]
    lines = located.where(line > F.col("after_line")).select(
        "file", line.alias("line"), (line == F.col("lines")).alias("is_last"), *more
    )
    return lines, [CountedFile(entry, counts.get(entry.file.path, 0)) for entry in pending]


def computed(records: DataFrame, pending: Sequence[PendingFile]) -> DataFrame:
    """The records, checkpointed: counting the rows has not read the pages of all files.

    Raises: SourceError: a file cannot be read to its end.
    """
    try:
        return records.transform(checkpointed)
    except UNREADABLE as error:
        raised = raised_in_task(error)
        if raised is not None:
            raise raised from error
        if "FAILED_READ_FILE" not in str(error):
            raise
        raise unreadable(pending, error) from error


def record_of(columns: Iterable[str]) -> Column:
    """Columns as one struct `record`, with field names that are unique for Spark."""
    names = list(columns)
    fields = zip(names, deduplicated(names), strict=True)
    return F.struct(*[F.col(quoted(name)).alias(own) for name, own in fields]).alias("record")


def unreadable(pending: Sequence[PendingFile], error: Exception) -> SourceError:
    """The error for a file that cannot be read to its end."""
    gone = next((entry.file.path for entry in pending if listed(entry.file.path, entry.file.store) is None), None)
    if gone is not None:
        return SourceError(
            f"Cannot read {gone}: it is gone since it was listed. Nothing of this batch was taken.",
            "put it back and retry: a file can be moved away after a run has ended",
        )
    reason = str(error).splitlines()[0]
    named = _WHILE_READING.search(reason)
    if named is not None:
        return SourceError(
            f"Cannot read {named[1]}: it is damaged, was cut short, is still being written, or may not be read. Nothing"
            " of this batch was taken.",
            "deliver the whole file (or grant read permission) and retry, or move it away",
        )
    return SourceError(f"Cannot read the source's files: {reason[:300]}.", "check the files and the permissions")
