"""Records that Spark reads (CSV, and the rows of Iceberg tables) with their coordinates: which file, which number."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from engine.errors import SourceError
from engine.frames import checkpointed, local_frame
from engine.inputs.counting import CountedFile
from engine.inputs.listing import listed
from engine.inputs.pending import PendingFile
from engine.inputs.tasks import raised_in_task
from engine.names import apart, quoted

UNREADABLE = (PySparkException,)
IS_SAID = "is_said"
"""The column that says whether a text is not blank, of texts that are made: asking them would make them twice."""
BAD_NAME = "Relative path in absolute URI"
"""What Hadoop says where it takes a part of a name for a scheme."""
_WHILE_READING: Final = re.compile(r"error while reading file (?:file:)?/*(/.*?|\w+:.*?)\.? *(?:SQLSTATE|$)")


@dataclass(frozen=True)
class Piece:
    """A piece of a file, as Spark splits it for its tasks.

    `file`: the file as Spark names it; `start`: the byte at which the piece begins; `row`: the running number of its
    first record; `path`: the file as it was listed; `first`: the number in the file (1-based) of its first record;
    `rows`: how many it has; `lines`: how many the file has; `after_line`: which of them are not new.
    """

    file: str
    start: int
    row: int
    path: str
    first: int
    rows: int
    lines: int
    after_line: int


def numbered(text: DataFrame, pending: Sequence[PendingFile]) -> tuple[DataFrame, list[CountedFile]]:
    """The new records of files, with their numbers.

    Needs: file, start of the piece, running number `row`, text, IS_SAID, perhaps more.
    Gives: file, line (1-based), is_last (its file has no other after it), text, what there is more; blank texts are
        passed over but counted.
    Rows: one a record after `after_line`.

    Spark numbers the rows of each piece of a file it reads; a first pass counts the rows of each piece, and so the
    second one, split the same way, knows every record's number in its file without sorting anything.

    Raises: SourceError: a file cannot be read to its end.
    """
    pieces, counted = counted_pieces(text, pending)
    placed = [
        {
            "file": piece.file,
            "start": piece.start,
            "path": piece.path,
            "shift": piece.first - piece.row,
            "after_line": piece.after_line,
            "lines": piece.lines,
        }
        for piece in pieces
    ]
    schema = "file string, start bigint, path string, shift bigint, after_line bigint, lines bigint"
    located = text.join(F.broadcast(local_frame(text.sparkSession, placed, schema)), on=["file", "start"], how="inner")
    line = F.col("row") + F.col("shift")
    more = [name for name in text.columns if name not in ("file", "start", "row", "text", IS_SAID)]
    # A record that was added since the first pass is taken by the next run, whose first pass counts it.
    is_new = (line > F.col("after_line")) & (line <= F.col("lines"))
    lines = located.where(is_new & F.col(IS_SAID)).select(
        F.col("path").alias("file"),
        line.alias("line"),
        (line == F.col("lines")).alias("is_last"),
        "text",
        *more,
    )
    return lines, counted


def counted_pieces(rows: DataFrame, pending: Sequence[PendingFile]) -> tuple[list[Piece], list[CountedFile]]:
    """The pieces of files that have records, and how many each file has.

    Needs: file, start, row.
    Raises: SourceError: a file cannot be read to its end.
    """
    try:
        found = rows.groupBy("file", "start").agg(F.min("row").alias("first"), F.count("*").alias("rows")).collect()
    except UNREADABLE as error:
        raise unreadable(pending, error) from error
    by_path = {entry.file.path: entry for entry in pending}
    names = {row["file"]: match_path(row["file"], by_path) for row in found}
    pieces, totals = [], dict.fromkeys(by_path, 0)
    for row in sorted(found, key=lambda row: (row["file"], row["start"])):
        path = names[row["file"]]
        first, after = totals[path] + 1, by_path[path].after_line
        pieces.append(Piece(row["file"], row["start"], row["first"], path, first, row["rows"], 0, after))
        totals[path] += row["rows"]
    counted = [CountedFile(entry, totals[entry.file.path]) for entry in pending]
    return [replace(piece, lines=totals[piece.path]) for piece in pieces], counted


def computed(records: DataFrame, pending: Sequence[PendingFile]) -> DataFrame:
    """The records, read and kept: counting them has not looked into every file's pages.

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


def place() -> tuple[Column, Column, Column]:
    """Where Spark read a row: file, start of the piece, running number."""
    return (
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.file_block_start").alias("start"),
        F.monotonically_increasing_id().alias("row"),
    )


def record_of(columns: Iterable[str]) -> Column:
    """Columns as one, `record`, by names that Spark tells apart."""
    names = list(columns)
    fields = zip(names, apart(names), strict=True)
    return F.struct(*[F.col(quoted(name)).alias(own) for name, own in fields]).alias("record")


def match_path(reported: str, known: Any) -> str:
    """The listed path of a file that Spark reports with another spelling (``file:///a%20b``).

    Spark's readers encode every path as a URI does. Decoded comes first, for there can be both ``a b`` and ``a%20b``;
    the data files of a table are reported as they are listed.
    """
    decoded = unquote(reported)
    for spelling in (decoded, decoded.replace(":///", ":/"), reported, reported.replace(":///", ":/")):
        if spelling in known:
            return str(spelling)
    raise SourceError(f"Cannot place lines of {reported}: no listed file has this name.", "report this path")


def unreadable(pending: Sequence[PendingFile], error: Exception) -> SourceError:
    """Which file cannot be read to its end."""
    gone = next((entry.file.path for entry in pending if listed(entry.file.path) is None), None)
    if gone is not None:
        return SourceError(
            f"Cannot read {gone}: it is gone since it was listed. Nothing of this batch was taken.",
            "bring it back and run again: a file can be moved away when a run has ended",
        )
    reason = str(error).splitlines()[0]
    named = _WHILE_READING.search(reason)
    if named is not None and BAD_NAME in str(error):
        return SourceError(
            f"Cannot read {named[1]}: Spark's executors cannot open a name with a colon. Nothing of this batch was"
            " taken.",
            "deliver the file under a name without one",
        )
    if named is not None:
        return SourceError(
            f"Cannot read {named[1]}: it is damaged, was cut short, is still being written, or may not be read. Nothing"
            " of this batch was taken.",
            "deliver the whole file (or give the permission) and run again, or move it away",
        )
    return SourceError(f"Cannot read the source's files: {reason[:300]}.", "check the files and the permissions")
