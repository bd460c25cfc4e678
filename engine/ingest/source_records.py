"""Read the records of a source, of whatever file kind, and decode the events in them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, pairwise
from types import MappingProxyType

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from siltstone.engine.decode.columns_seen import EVERYTHING, SummaryRules
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.record_files import (
    NO_MESSAGES,
    AvroToRead,
    LinesToRead,
    ParquetToRead,
    Reading,
    avro_pieces,
    parquet_groups,
)
from siltstone.engine.decode.spark import RECORD, Make, events_of, made_of_files, made_of_frame, records_as_they_are
from siltstone.engine.decode.topic_records import TopicsToRead, around_of, topic_pieces
from siltstone.engine.errors import SourceError
from siltstone.engine.formats import format_of
from siltstone.engine.formats.rows import ROWS
from siltstone.engine.ingest.table_records import read_table
from siltstone.engine.ingest.topic_offsets import topic_partitions
from siltstone.engine.init import looks_like, other_than
from siltstone.engine.inputs.containers import csv_layout, head, kind_of
from siltstone.engine.inputs.counting import CountedFile, counted_lines
from siltstone.engine.inputs.csv_records import CsvLayout
from siltstone.engine.inputs.file_store import changed
from siltstone.engine.inputs.iceberg_files import data_files
from siltstone.engine.inputs.listing import FileProbe, InputFile, list_files, listed
from siltstone.engine.inputs.pending_files import PendingFile, between_new, by_path
from siltstone.engine.inputs.topic_partitions import Partition
from siltstone.engine.neighbours import canal_step, shareplex_step
from siltstone.engine.spec.model import SourceSpec

WRITTEN_AS = {"avro": "an Avro file", "parquet": "a Parquet file"}
"""Descriptions of typed file kinds, as `looks_like` gives them."""
SAMPLE_RECORDS = 50
RECORDS_BEFORE = 10_000
"""How many records before the new ones of a topic are read, for formats whose records depend on earlier ones. Messages
that a tool resends after a restart, and the two halves of a change, are much closer together."""
NEIGHBOUR_COUNTS = (1, 8, 64)
"""How many files on each side of a new file are read, in growing steps: the first is mostly enough."""


@dataclass(frozen=True)
class Records:
    """New records of a source: files and topics that tasks read themselves, and frames.

    The columns of frames: file, line, text, optionally is_last, row_schema, problem.
    """

    spark: SparkSession
    files: Sequence[Reading] = ()
    frames: Sequence[DataFrame] = ()

    def events(
        self, source: SourceSpec, declared: Declared, rules: SummaryRules = EVERYTHING, keeps_texts: bool = True
    ) -> DataFrame:
        """The events in them, resolved with their neighbours: resent messages, halves on two lines, one order.

        `keeps_texts`: with the texts of changes; otherwise with their hashes (text_hash).

        Gives: the frame of events.
        """
        events = self.made(*events_of(source, declared, rules, keeps_texts))
        form = format_of(source.format)
        if form.resends:
            return canal_step.resolved(events, self.made(canal_step.sent_batches, canal_step.SENT))
        if form.joins_lines or form.can_turn_to_coordinates:
            signs = self.made(shareplex_step.signs_of(source, declared), shareplex_step.SIGNS)
            return shareplex_step.resolved(events, signs, source, rules)
        return events

    def frame(self) -> DataFrame:
        """The records, not decoded.

        Gives: file, line, is_last, text, row_schema, problem.
        """
        found = [made_of_files(self.spark, read, records_as_they_are, RECORD) for read in self.files]
        return all_of([*found, *self.frames])

    def made(self, make: Make, schema: pa.Schema) -> DataFrame:
        """The output of `make` for all records."""
        found = [made_of_files(self.spark, read, make, schema) for read in self.files]
        return all_of([*found, *(made_of_frame(frame, make, schema) for frame in self.frames)])


def from_first_line(entry: PendingFile) -> PendingFile:
    """The file, to be read from its first line. A partition stays as it is: its earlier records can be gone."""
    return entry if isinstance(entry.file, Partition) else replace(entry, after_line=0)


def with_lines_before(entry: PendingFile) -> PendingFile:
    """The file, to be read with the earlier lines that its new lines can depend on.

    For a file these are all earlier lines, for a topic the last RECORDS_BEFORE records before the new ones.
    """
    if not isinstance(entry.file, Partition):
        return from_first_line(entry)
    offset = max(entry.file.start, entry.after_line - RECORDS_BEFORE)
    return replace(entry, file=replace(entry.file, read_from=offset), after_line=offset)


def all_of(frames: Sequence[DataFrame]) -> DataFrame:
    """The rows of all frames."""
    first, *others = frames
    for other in others:
        first = first.unionByName(other, allowMissingColumns=True)
    return first


def source_files(spark: SparkSession, source: SourceSpec, catalog: str, until_ms: int | None) -> list[InputFile]:
    """The files of a source: those of its path, the data files of its table, or the partitions of its topics.

    An empty file that cannot grow line by line is skipped: it is not written yet.

    Raises: SourceError: there are none.
    """
    if source.table is not None:
        return data_files(spark, source, catalog, until_ms)
    if source.kafka is not None:
        return [*topic_partitions(source, until_ms)]
    files = list_files(source.path, until_ms, source.store)
    known = [file if kind_of(file.path, source) == "json" else replace(file, whole=True) for file in files]
    return [file for file in known if file.size or file.can_grow()]


def read_with_neighbours(
    spark: SparkSession, source: SourceSpec, files: Sequence[InputFile], read: Sequence[PendingFile], catalog: str
) -> tuple[Records, list[CountedFile]]:
    """The records of some of the source's `files`.

    If records of the format depend on other files, the reader knows which files follow a file that is not read.

    Gives, Raises: as in `read_records`.
    """
    if not format_of(source.format).resends or source.kafka is not None:
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
    """The new records of the files, and the number of records in each file.

    Raises: SourceError: a file cannot be read to its end.
    """
    kinds: dict[str, list[PendingFile]] = {}
    for entry in pending:
        kinds.setdefault(kind_of(entry.file.path, source), []).append(entry)
    files: list[Reading] = []
    counted: list[CountedFile] = []
    frames: list[DataFrame] = []
    for kind, entries in kinds.items():
        if kind == "table":
            frame, found = read_table(spark, entries, source, catalog)
            frames.append(frame)
        else:
            read, found = read_files(spark, kind, entries, source, after_gap)
            files.append(read)
        counted += found
    return Records(spark, files, frames), counted


def read_files(
    spark: SparkSession, kind: str, pending: Sequence[PendingFile], source: SourceSpec, after_gap: Collection[str]
) -> tuple[Reading, list[CountedFile]]:
    """The new records of files of one kind that tasks read themselves.

    Raises: SourceError: a file cannot be read to its end.
    """
    if kind == "topic":
        return read_topics(pending, source)
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


def refuse_replaced(source: SourceSpec, read: Iterable[PendingFile]) -> None:
    """Check that the files were not replaced since they were listed: lines of other files would get their coordinates.

    A file that is gone by now was read to its end.

    Raises: SourceError.
    """
    for entry in read if source.kafka is None and source.table is None else ():
        file, now = entry.file, listed(entry.file.path, entry.file.store)
        if now is None or not entry.fingerprint or (now.size, now.mtime) == (file.size, file.mtime):
            continue
        if not FileProbe().has_same_start(now, file.size, entry.fingerprint):
            raise changed(file.path)


def read_topics(pending: Sequence[PendingFile], source: SourceSpec) -> tuple[TopicsToRead, list[CountedFile]]:
    """The new records of partitions. The number of records is known only after reading: offsets can have holes."""
    assert source.kafka is not None  # its partitions are files then
    pieces = [piece for entry in pending if isinstance(entry.file, Partition) for piece in topic_pieces(entry.file)]
    around = around_of(format_of(source.format))
    return TopicsToRead(source.kafka, pieces, around), [CountedFile(entry, entry.file.size) for entry in pending]


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
    """The new lines of text files. Blank lines are skipped but counted. `layouts`: of the CSV files, by path.

    Raises: SourceError: a file cannot be read to its end.
    """
    pieces, counted = counted_lines(spark, pending, layouts)
    after = {entry.pending.file.path: entry.pending.after_line for entry in counted}
    total = {entry.pending.file.path: entry.lines for entry in counted}
    new = [piece for piece in pieces if piece.first + piece.lines - 1 > after[piece.path]]
    return LinesToRead(new, after, total, after_gap), counted


def with_likeness(error: SourceError, source: SourceSpec, files: Sequence[InputFile]) -> SourceError:
    """The error of a file with unexpected content, extended by the format that it looks like, if that is known."""
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
    """The neighbour files of new files, if the records of either can depend on the other's.

    As many on each side as the format needs, up to the last of NEIGHBOUR_COUNTS.
    """
    if not format_of(source.format).resends or source.kafka is not None:
        return []  # records that depend on each other are in one partition

    @cache
    def lanes() -> Collection[canal_step.Lane]:
        return canal_step.lanes_of(sent(spark, [entry.file for entry in new]))

    found: dict[str, InputFile] = {}
    for stretch, is_after, is_before in between_new(files, new):
        for is_adjacent, nearest_first in ((is_after, stretch), (is_before, stretch[::-1])):
            near = nearest(spark, lanes, nearest_first) if is_adjacent else []
            found |= {file.path: file for file in near}
    return [PendingFile(found[path], "", 0, False) for path in sorted(found)]


def nearest(
    spark: SparkSession, new_lanes: Callable[[], Collection[canal_step.Lane]], files: Sequence[InputFile]
) -> Sequence[InputFile]:
    """The first of the files, as many as are needed. `files`: on one side of a new file, the nearest first."""
    for most in NEIGHBOUR_COUNTS:
        if most >= len(files) or canal_step.has_enough_batches(sent(spark, files[:most]), new_lanes):
            return files[:most]
    return files[: NEIGHBOUR_COUNTS[-1]]


def sent(spark: SparkSession, files: Sequence[InputFile]) -> DataFrame:
    """The columns `canal_step.SENT` of all messages in files."""
    read, _ = read_lines(spark, [PendingFile(file, "", 0, False) for file in files])
    return made_of_files(spark, read, canal_step.sent_batches, canal_step.SENT)


def typed_likeness(source: SourceSpec, files: Sequence[InputFile]) -> str | None:
    """The format that the records of a source's typed files look like. None if it is the source's, or not known."""
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
