"""Count the lines of text files once, before they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession

from siltstone.engine.inputs import line_files
from siltstone.engine.inputs.csv_records import CsvLayout
from siltstone.engine.inputs.line_files import Piece, pieces_of
from siltstone.engine.inputs.listing import is_compressed
from siltstone.engine.inputs.pending_files import PendingFile
from siltstone.engine.inputs.task_errors import task_errors

ON_DRIVER_BYTES: Final = 32 << 20
"""Up to this size the driver counts by itself: a Spark job takes longer to start."""
PACKED: Final = 10
"""A compressed byte counts as this many."""
_COUNTED: Final = ("lines", "filled", "digest")
"""The fields of a piece that are counted."""


@dataclass(frozen=True)
class CountedFile:
    """A pending file and its number of records; those after `after_line` are new.

    `filled`: how many of all its lines are not blank; None if unknown.
    """

    pending: PendingFile
    lines: int
    filled: int | None = None

    @property
    def to_line(self) -> int:
        """The last line that counts as taken. An incomplete last line is re-read when the file has grown."""
        return max(self.lines - 1, 0) if self.pending.half_line else self.lines


def counted_lines(
    spark: SparkSession, pending: Sequence[PendingFile], layouts: Mapping[str, CsvLayout]
) -> tuple[list[Piece], list[CountedFile]]:
    """The pieces of text files, and the number of lines of each file. `layouts`: of the CSV files, by path.

    Raises: SourceError: a file cannot be read to its end.
    """
    pieces = [piece for entry in pending for piece in pieces_of(entry.file, csv=layouts.get(entry.file.path))]
    found = line_files.numbered(_counted(spark, pieces))
    lines, filled = dict.fromkeys((e.file.path for e in pending), 0), dict.fromkeys((e.file.path for e in pending), 0)
    for piece in found:
        lines[piece.path] += piece.lines
        filled[piece.path] += piece.filled
    return found, [CountedFile(entry, lines[entry.file.path], filled[entry.file.path]) for entry in pending]


def _counted(spark: SparkSession, pieces: Sequence[Piece]) -> list[Piece]:
    size = sum((piece.end - piece.start) * (PACKED if is_compressed(piece.path) else 1) for piece in pieces)
    if size <= ON_DRIVER_BYTES:
        return [line_files.counted(piece) for piece in pieces]
    schema = ", ".join(f"{name} bigint" for name in ("piece", *_COUNTED))
    frame = spark.range(0, len(pieces), 1, len(pieces)).mapInArrow(partial(_count, pieces), schema)
    with task_errors():
        rows = frame.collect()
    found = {row["piece"]: {name: row[name] for name in _COUNTED} for row in rows}
    return [replace(piece, **found[at]) for at, piece in enumerate(pieces)]


def _count(pieces: Sequence[Piece], ids: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in ids:
        numbers = batch.column(0).to_pylist()
        found = [line_files.counted(pieces[at]) for at in numbers]
        columns = {name: [getattr(piece, name) for piece in found] for name in _COUNTED}
        yield pa.RecordBatch.from_pydict({"piece": numbers} | columns)
