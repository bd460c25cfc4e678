"""Lines of files with their coordinates: which file, which line."""

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from engine.errors import SourceError
from engine.frames import checkpointed, local_frame
from engine.inputs.globs import exactly
from engine.inputs.listing import BAD_NAME, InputFile, file_system, first_line, is_compressed
from engine.inputs.pending import PendingFile
from engine.jvm import CATALOG
from engine.names import apart, quoted

# Spark's own errors, and those of the readers beneath it, which reach Python as Java's.
UNREADABLE = (PySparkException, Py4JJavaError)
BLANKS = " \t\r"
"""What a line may hold and still be blank: the line ends of Windows leave a carriage return."""
IS_SAID = "is_said"
"""The column that says whether a text is not blank, of texts that are made: asking them would make them twice."""
APART: Final = f"{CATALOG}.apart"
"""A function that gives the number it is given. What is built on the projection where it stands is a generated stage of
its own: of more than 8000 bytes HotSpot compiles none, and Spark copies each row from operator to operator then."""
_WHILE_READING: Final = re.compile(r"error while reading file (?:file:)?/*(/.*?|\w+:.*?)\.? *(?:SQLSTATE|$)")


@dataclass(frozen=True)
class CountedFile:
    """A pending file and how many lines it has; lines after `after_line` are new.

    `said`: how many of all its lines are not blank; None where they were not looked at for that.
    """

    pending: PendingFile
    lines: int
    said: int | None = None

    @property
    def to_line(self) -> int:
        """The last line that counts as taken: a half line is looked at again when the file has grown."""
        return max(self.lines - 1, 0) if self.pending.half_line else self.lines


def read_lines(spark: SparkSession, pending: Sequence[PendingFile]) -> tuple[DataFrame, list[CountedFile]]:
    """The new lines of text files.

    Gives: file, line (1-based), is_last, text; blank lines are passed over but counted.
    Rows: one a line after `after_line`.
    Raises: SourceError: a file cannot be read to its end.
    """
    return numbered(spark, scan(spark, [entry.file.path for entry in pending]), pending, count_said=True)


def is_said(text: Column) -> Column:
    """True for a text that is not blank: looked at from one side, no further than the first other sign."""
    return F.ltrim(text, F.lit(BLANKS)) != ""


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


def numbered(
    spark: SparkSession, text: DataFrame, pending: Sequence[PendingFile], count_said: bool = False
) -> tuple[DataFrame, list[CountedFile]]:
    """The new records of files, with their numbers.

    Needs: file, start of the piece, running number `row`, text, perhaps IS_SAID, perhaps more.
    Gives: file, line (1-based), is_last (its file has no other behind it), text, what there is more; blank texts are
        passed over but counted.
    Rows: one a record after `after_line`.

    Spark numbers the rows of each piece of a file it reads; a first pass counts the rows of each piece, and so the
    second one, split the same way, knows every line's number in its file without sorting anything.

    Raises: SourceError: a file cannot be read to its end.
    """
    pieces, counted = counted_pieces(spark, text, pending, count_said)
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
    located = text.join(F.broadcast(local_frame(spark, placed, schema)), on=["file", "start"], how="inner")
    line = F.col("row") + F.col("shift")
    more = [name for name in text.columns if name not in ("file", "start", "row", "text", IS_SAID)]
    # A line that was appended since the first pass is taken by the next run, whose first pass counts it.
    is_new = (line > F.col("after_line")) & (line <= F.col("lines"))
    lines = located.where(is_new & _is_not_blank(text)).select(
        F.col("path").alias("file"),
        F.call_function(APART, line).alias("line"),
        (line == F.col("lines")).alias("is_last"),
        "text",
        *more,
    )
    return lines, counted


def counted_pieces(
    spark: SparkSession, rows: DataFrame, pending: Sequence[PendingFile], count_said: bool = False
) -> tuple[list[Piece], list[CountedFile]]:
    """The pieces of files that have records, and how many each file has.

    Needs: file, start, row; with `count_said`, which counts those that are not blank, so that what becomes of them can
        be compared with it, text or IS_SAID, too: a text that has to be made first would be made twice for that.
    Raises: SourceError: a file cannot be read to its end.
    """
    said = F.count_if(_is_not_blank(rows)) if count_said else F.lit(None).cast("bigint")
    facts = (F.min("row").alias("first"), F.count("*").alias("rows"), said.alias("said"))
    try:
        found = rows.groupBy("file", "start").agg(*facts).collect()
    except UNREADABLE as error:
        raise unreadable(spark, pending, error) from error
    by_path = {entry.file.path: entry for entry in pending}
    names = {row["file"]: match_path(row["file"], by_path) for row in found}
    pieces, totals, spoken = [], dict.fromkeys(by_path, 0), dict.fromkeys(by_path, 0)
    for row in sorted(found, key=lambda row: (row["file"], row["start"])):
        path = names[row["file"]]
        first, after = totals[path] + 1, by_path[path].after_line
        pieces.append(Piece(row["file"], row["start"], row["first"], path, first, row["rows"], 0, after))
        totals[path] += row["rows"]
        spoken[path] += row["said"] or 0
    of_files = ((entry, entry.file.path) for entry in pending)
    counted = [
        CountedFile(settled(spark, entry), totals[path], spoken[path] if count_said else None)
        for entry, path in of_files
    ]
    return [replace(piece, lines=totals[piece.path]) for piece in pieces], counted


def _is_not_blank(rows: DataFrame) -> Column:
    return F.col(IS_SAID) if IS_SAID in rows.columns else is_said(F.col("text"))


def computed(spark: SparkSession, records: DataFrame, pending: Sequence[PendingFile]) -> DataFrame:
    """The records, read and kept: counting them has not looked into every file's pages.

    Raises: SourceError: a file cannot be read to its end.
    """
    try:
        return records.transform(checkpointed)
    except UNREADABLE as error:
        if "FAILED_READ_FILE" not in str(error):
            raise
        raise unreadable(spark, pending, error) from error


def settled(spark: SparkSession, entry: PendingFile) -> PendingFile:
    """A file as it was listed; if it has grown since, its last line may have been read before its end was there."""
    if entry.half_line or not entry.file.can_grow():
        return entry
    system, path = file_system(spark, entry.file.path)
    grew = int(system.getFileStatus(path).getLen()) != entry.file.size
    return replace(entry, half_line=True) if grew else entry


def scan(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The rows of text files as Spark splits them: file, start of the piece, running number, text."""
    return (
        spark.read.option("lineSep", "\n")
        .text([exactly(path) for path in paths])
        .select(*place(), F.col("value").alias("text"))
    )


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

    Spark's readers encode every path as a URI does. Decoded comes first, for ``a b`` and ``a%20b`` can be beside each
    other; the data files of a table are reported as they are listed.
    """
    decoded = unquote(reported)
    for spelling in (decoded, decoded.replace(":///", ":/"), reported, reported.replace(":///", ":/")):
        if spelling in known:
            return str(spelling)
    raise SourceError(f"Cannot place lines of {reported}: no listed file has this name.", "report this path")


def unreadable(spark: SparkSession, pending: Sequence[PendingFile], error: Exception) -> SourceError:
    """Which file cannot be read to its end, and how far it goes."""
    for entry in pending:
        system, path = file_system(spark, entry.file.path)
        if not system.exists(path):
            return SourceError(
                f"Cannot read {entry.file.path}: it is gone since it was listed. Nothing of this batch was taken.",
                "bring it back and run again: a file can be moved away when a run has ended",
            )
        if is_compressed(entry.file.path):
            try:
                spark.read.text(exactly(entry.file.path)).count()
            except UNREADABLE:
                return cut_short(spark, entry.file)
    reason = first_line(error) if isinstance(error, Py4JJavaError) else str(error).splitlines()[0]
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


def cut_short(spark: SparkSession, file: InputFile) -> SourceError:
    """The error for a compressed file that ends early."""
    from engine.inputs.listing import read_bytes

    lines = ""
    if file.path.endswith(".gz"):
        unpacked = zlib.decompressobj(wbits=31)
        try:
            text = unpacked.decompress(read_bytes(spark, file.path, 0, file.size))
            lines = f" after line {text.count(10)}"
        except zlib.error:
            lines = " (damaged, or not gzip at all)"
    return SourceError(
        f"Cannot read {file.path}: the compressed stream ends early{lines}. It was cut short, or is still being"
        " written. Nothing of this batch was taken.",
        "deliver the whole file and run again, or move it away",
    )
