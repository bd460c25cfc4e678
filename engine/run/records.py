"""The records of a source, whatever they are written in, and the events in them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, pairwise
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession

from engine.decode.decoder import Declared
from engine.decode.record_files import (
    NO_MESSAGES,
    AvroToRead,
    LinesToRead,
    ParquetToRead,
    Reading,
    avro_pieces,
    parquet_groups,
)
from engine.decode.spark import events_of, events_of_files, records_frame
from engine.errors import SourceError
from engine.formats import format_of
from engine.formats.rows import ROWS
from engine.init import looks_like, other_than
from engine.inputs.containers import csv_layout, head, kind_of
from engine.inputs.counting import CountedFile, counted_lines
from engine.inputs.csv_records import CsvLayout
from engine.inputs.listing import InputFile, list_files
from engine.inputs.pending import PendingFile, between_new, by_path
from engine.inputs.tables import data_files
from engine.neighbours import canal_step
from engine.run.events import in_context
from engine.run.table_records import read_table
from engine.spec.model import SourceSpec

WRITTEN_AS = {"avro": "an Avro file", "parquet": "a Parquet file"}
"""What files of a kind look like."""
SAMPLE_RECORDS = 50
BESIDE = (1, 8, 64)
"""How many files on each side of a new one are looked at: the first is most often enough."""


@dataclass(frozen=True)
class Records:
    """New records of a source: files that tasks read themselves, and records that Spark reads as a frame.

    `frame_of_spark`: file, line, is_last, text, row_schema.
    """

    spark: SparkSession
    files: Sequence[Reading] = ()
    frame_of_spark: DataFrame | None = None

    def events(self, source: SourceSpec, declared: Declared, kept: DataFrame | None = None) -> DataFrame:
        """The events in them. `kept`: more records, as a frame (file, line, text).

        Gives: the frame of events.
        """
        found = [events_of_files(self.spark, read, source, declared) for read in self.files]
        found += [events_of(frame, source, declared) for frame in (self.frame_of_spark, kept) if frame is not None]
        return in_context(all_of(found), source)

    def frame(self) -> DataFrame:
        """The records as they are.

        Gives: file, line, is_last, text, row_schema, problem.
        """
        found = [records_frame(self.spark, read) for read in self.files]
        return all_of([*found, *([] if self.frame_of_spark is None else [self.frame_of_spark])])


def all_of(frames: Sequence[DataFrame]) -> DataFrame:
    """The rows of all frames."""
    first, *others = frames
    for other in others:
        first = first.unionByName(other, allowMissingColumns=True)
    return first


def source_files(spark: SparkSession, source: SourceSpec, catalog: str, until_ms: int | None) -> list[InputFile]:
    """The files of a source: those its path names, or the data files of its table.

    One that cannot grow line by line, and has nothing in it yet, is passed over: it is still to be written.

    Raises: SourceError: there are none.
    """
    if source.table is not None:
        return data_files(spark, source, catalog, until_ms)
    files = list_files(source.path, until_ms)
    known = [file if kind_of(file.path, source) == "json" else replace(file, whole=True) for file in files]
    return [file for file in known if file.size or file.can_grow()]


def read_beside(
    spark: SparkSession, source: SourceSpec, files: Sequence[InputFile], read: Sequence[PendingFile], catalog: str
) -> tuple[Records, list[CountedFile]]:
    """The records of some of the source's `files`. Where the format's meaning goes on over files, they know whether a
    file follows one that is not read.

    Gives, Raises: as `read_records`.
    """
    if not format_of(source.format).resends:
        return read_records(spark, source, read, catalog)
    paths = {entry.file.path for entry in read}
    neighbours = pairwise(sorted(files, key=by_path))
    after_gap = {file.path for before, file in neighbours if file.path in paths and before.path not in paths}
    return read_records(spark, source, read, catalog, after_gap)


def read_records(
    spark: SparkSession,
    source: SourceSpec,
    pending: Sequence[PendingFile],
    catalog: str,
    after_gap: Collection[str] = (),
) -> tuple[Records, list[CountedFile]]:
    """The new records of the files, and how many records each file has.

    Raises: SourceError: a file cannot be read to its end.
    """
    kinds: dict[str, list[PendingFile]] = {}
    for entry in pending:
        kinds.setdefault(kind_of(entry.file.path, source), []).append(entry)
    files: list[Reading] = []
    counted: list[CountedFile] = []
    frame = None
    for kind, entries in kinds.items():
        if kind == "table":
            frame, found = read_table(spark, entries, source, catalog)
        else:
            read, found = read_files(spark, kind, entries, source, after_gap)
            files.append(read)
        counted += found
    return Records(spark, files, frame), counted


def read_files(
    spark: SparkSession, kind: str, pending: Sequence[PendingFile], source: SourceSpec, after_gap: Collection[str]
) -> tuple[Reading, list[CountedFile]]:
    """The new records of files of one kind that tasks read themselves.

    Raises: SourceError: a file cannot be read to its end.
    """
    files = [entry.file for entry in pending]
    if kind in ("json", "csv"):
        layouts = {file.path: csv_layout(file, source) for file in files} if kind == "csv" else {}
        return read_lines(spark, pending, after_gap, layouts)
    try:
        return read_avro(pending, source) if kind == "avro" else read_parquet(pending, source)
    except SourceError as error:
        if not error.message.startswith(NO_MESSAGES):
            raise with_likeness(error, source, files) from error
        form = typed_likeness(source, files)
        raise SourceError(f"{error.message} They look like {form}." if form else error.message, error.hint) from error


def read_avro(pending: Sequence[PendingFile], source: SourceSpec) -> tuple[AvroToRead, list[CountedFile]]:
    """The new records of Avro files."""
    holds = format_of(source.format).holds
    pieces = {e.file.path: avro_pieces(e.file, e.after_line, holds == "messages") for e in pending}
    counted = [CountedFile(entry, sum(piece.records for piece in pieces[entry.file.path])) for entry in pending]
    listed = [piece for of_file in pieces.values() for piece in of_file if piece.records]
    return AvroToRead(listed, holds), counted


def read_parquet(pending: Sequence[PendingFile], source: SourceSpec) -> tuple[ParquetToRead, list[CountedFile]]:
    """The new records of Parquet files."""
    holds_messages = format_of(source.format).holds == "messages"
    groups = {e.file.path: parquet_groups(e.file, e.after_line, holds_messages) for e in pending}
    counted = [CountedFile(entry, sum(group.records for group in groups[entry.file.path])) for entry in pending]
    listed = [group for of_file in groups.values() for group in of_file if group.records]
    return ParquetToRead(listed, holds_messages), counted


def read_lines(
    spark: SparkSession,
    pending: Sequence[PendingFile],
    after_gap: Collection[str] = (),
    layouts: Mapping[str, CsvLayout] = MappingProxyType({}),
) -> tuple[LinesToRead, list[CountedFile]]:
    """The new lines of text files; blank lines are passed over but counted. `layouts`: of the CSV files, by path.

    Raises: SourceError: a file cannot be read to its end.
    """
    pieces, counted = counted_lines(spark, pending, layouts)
    after = {entry.pending.file.path: entry.pending.after_line for entry in counted}
    total = {entry.pending.file.path: entry.lines for entry in counted}
    new = [piece for piece in pieces if piece.first + piece.lines - 1 > after[piece.path]]
    return LinesToRead(new, after, total, after_gap), counted


def with_likeness(error: SourceError, source: SourceSpec, files: Sequence[InputFile]) -> SourceError:
    """The error of a file that is not what it should be, with what it looks like, where that is known."""
    file = next((file for file in files if source.table is None and f" {file.path}:" in error.message), None)
    if file is None:
        return error
    form = looks_like(head(file).decode("utf-8", "replace").splitlines())
    if form is None or form == WRITTEN_AS.get(kind_of(file.path, source)):
        return error
    return SourceError(f"{error.message} It looks like {form}.", error.hint)


def context_of(
    spark: SparkSession, source: SourceSpec, files: Sequence[InputFile], new: Sequence[PendingFile]
) -> list[PendingFile]:
    """The files next to new ones of which the meaning of either can depend on the other's: as many on each side as
    their format needs, up to BESIDE."""
    if not format_of(source.format).resends:
        return []

    @cache
    def lanes() -> Collection[canal_step.Lane]:
        return canal_step.lanes_of(scanned(spark, [entry.file for entry in new]))

    def are_enough(lines: DataFrame) -> bool:
        return canal_step.are_enough(lines, lanes)

    found: dict[str, InputFile] = {}
    for stretch, is_after, is_before in between_new(files, new):
        for is_beside, nearest_first in ((is_after, stretch), (is_before, stretch[::-1])):
            near = nearest(spark, are_enough, nearest_first) if is_beside else []
            found |= {file.path: file for file in near}
    return [PendingFile(found[path], "", 0, False) for path in sorted(found)]


def nearest(
    spark: SparkSession, are_enough: Callable[[DataFrame], bool], files: Sequence[InputFile]
) -> Sequence[InputFile]:
    """As many of the first files as are enough. `files`: on one side of a new one, the nearest first."""
    for most in BESIDE:
        if most >= len(files) or are_enough(scanned(spark, files[:most])):
            return files[:most]
    return files[: BESIDE[-1]]


def scanned(spark: SparkSession, files: Sequence[InputFile]) -> DataFrame:
    """All lines of files: file, line, text."""
    read, _ = read_lines(spark, [PendingFile(file, "", 0, False) for file in files])
    return records_frame(spark, read).select("file", "line", "text")


def typed_likeness(source: SourceSpec, files: Sequence[InputFile]) -> str | None:
    """The format that the records of a source's typed files look like; None where it is the source's, or not known."""
    typed = [file for file in files if kind_of(file.path, source) in WRITTEN_AS][:1]
    if not typed:
        return None
    kind = kind_of(typed[0].path, source)
    pending = [PendingFile(typed[0], "", 0, False)]
    as_rows = replace(source, format=ROWS)
    read: Reading = (read_avro if kind == "avro" else read_parquet)(pending, as_rows)[0]
    first = read.messages(0) if read.sizes else iter(())
    texts = [message.text.decode("utf-8", "replace") for some in islice(first, 1) for message in some]
    return other_than(source, texts[:SAMPLE_RECORDS], "avro" if kind == "avro" else "json")
