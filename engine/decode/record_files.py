"""Reads files of records as messages, piece by piece: lines of text, CSV files, Avro files, Parquet files.

A `Reading` has pieces with their sizes, and reads the messages of one piece at a time. Every record has its number in
its file (1-based). Records up to `after_line` are not new.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Protocol

import pyarrow as pa

from siltstone.engine.decode.arrow_json import plain_type
from siltstone.engine.decode.avro_files import (
    AvroFileError,
    Header,
    count_records,
    json_text,
    read_header,
    read_records,
)
from siltstone.engine.decode.avro_records import RecordTexts, as_it_is
from siltstone.engine.decode.csv_texts import CsvTexts
from siltstone.engine.decode.event import Message
from siltstone.engine.decode.typed_records import ArrowTexts, MessageTexts, message_columns
from siltstone.engine.errors import SourceError
from siltstone.engine.inputs import line_files
from siltstone.engine.inputs.file_store import changed, store_of, unreadable
from siltstone.engine.inputs.listing import NO_FILE, InputFile

RECORDS: Final = 2_000
AVRO_PIECE_BYTES: Final = 32 << 20
"""The part of a file that one task reads."""
DAMAGED: Final = (
    "it is damaged, was cut short, is still being written, or may not be read. Nothing of this batch was taken."
)
NO_MESSAGES: Final = "Cannot read messages from columns"
DELIVER: Final = "deliver the whole file (or grant read permission) and retry, or move the file away"


class Reading(Protocol):
    """Pieces of files. `sizes`: the size of each piece, in bytes."""

    @property
    def sizes(self) -> Sequence[int]: ...

    def messages(self, index: int) -> Iterator[list[Message]]:
        """The new records of one piece, as lists.

        Raises: SourceError: the file has changed since it was counted, or cannot be read.
        """
        ...


@dataclass(frozen=True)
class LinesToRead:
    """Counted pieces of text files. `after_line`: the last line of each file that is not new. `total_lines`: the number
    of lines of each file. `after_gap`: the files whose preceding file was not read."""

    pieces: Sequence[line_files.Piece]
    after_line: Mapping[str, int]
    total_lines: Mapping[str, int]
    after_gap: Collection[str] = ()

    @property
    def sizes(self) -> Sequence[int]:
        """Of each piece, in bytes."""
        return [piece.end - piece.start for piece in self.pieces]

    def messages(self, index: int) -> Iterator[list[Message]]:
        """The new lines of one piece, as lists."""
        piece = self.pieces[index]
        after, total = self.after_line.get(piece.path, 0), self.total_lines[piece.path]
        is_after_gap = piece.path in self.after_gap
        texts = None if piece.csv is None else CsvTexts(piece.csv)
        for lines in line_files.lines_of(piece, after):
            records = [
                Message(piece.path, line, text, is_last=line == total, after_gap=is_after_gap) for line, text in lines
            ]
            yield records if texts is None else [texts.message(record) for record in records]


@dataclass(frozen=True)
class TypedFile:
    """A counted piece of a file with a schema. `first`: the number of records before the piece. `records`: the number
    of its records. `total`: the number of records in the file. `group`: the row group of a Parquet file. `start`,
    `end`: the byte range in an Avro file."""

    file: InputFile
    records: int
    total: int
    after_line: int
    first: int = 0
    group: int = 0
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class AvroToRead:
    """Pieces of Avro files. `holds`: rows, events, or messages (bytes in a column)."""

    files: Sequence[TypedFile]
    holds: str

    @property
    def sizes(self) -> Sequence[int]:
        """Of each piece, in bytes."""
        return [one.end - one.start for one in self.files]

    def messages(self, index: int) -> Iterator[list[Message]]:
        """The new records of one piece, as lists."""
        one = self.files[index]
        number, last = one.first, one.first + one.records
        with _opened(one.file) as (opened, header):
            make = _avro_texts(header.schema, self.holds, one.file)
            for records in read_records(opened, header, one.start, one.end):
                made = [(at, record) for at, record in enumerate(records, number + 1) if one.after_line < at <= last]
                number += len(records)
                for start in range(0, len(made), RECORDS):
                    yield [_message(one, at, *make(record)) for at, record in made[start : start + RECORDS]]
        if number != last:
            raise changed(one.file.path)


@dataclass(frozen=True)
class ParquetToRead:
    """Row groups of Parquet files. `holds_messages`: a column has messages as bytes."""

    files: Sequence[TypedFile]
    holds_messages: bool

    @property
    def sizes(self) -> Sequence[int]:
        """Of each row group, in bytes."""
        return [one.file.size * one.records // max(one.total, 1) for one in self.files]

    def messages(self, index: int) -> Iterator[list[Message]]:
        """The new records of one row group, as lists."""
        one = self.files[index]
        number = one.first
        try:
            with store_of(one.file.path, one.file.store).open(one.file.path) as opened:
                parquet = parquet_file(opened, one.file)
                columns = parquet_columns(parquet)
                make = _parquet_texts(columns, self.holds_messages, one.file)
                for batch in parquet.iter_batches(RECORDS, row_groups=[one.group]):
                    made = make(_as_described(batch, columns))
                    numbered = [
                        Message(one.file.path, number + at, text, row_schema, is_last=number + at == one.total)
                        for at, (text, row_schema) in enumerate(made, 1)
                    ]
                    number += batch.num_rows
                    yield [message for message in numbered if message.line > one.after_line]
        except OSError as error:
            raise unreadable(one.file.path, error) from error
        except pa.ArrowException as error:
            raise SourceError(f"Cannot read {one.file.path}: {DAMAGED}", DELIVER) from error
        if number < one.first + one.records:
            raise changed(one.file.path)


def _message(one: TypedFile, number: int, text: bytes, row_schema: str | None) -> Message:
    return Message(one.file.path, number, text, row_schema, is_last=number == one.total)


# --- Avro -----------------------------------------------------------------------------------------------------------


@contextmanager
def _opened(file: InputFile) -> Iterator[tuple[BinaryIO, Header]]:
    """An Avro file and its header.

    Raises: SourceError: it is not an Avro file; or it is damaged, also if that is found while it is read.
    """
    try:
        with store_of(file.path, file.store).open(file.path) as opened:
            try:
                header = read_header(opened)
            except AvroFileError as error:
                raise SourceError(f"Cannot read {file.path}: {error}.", NO_FILE) from error
            yield opened, header
    except OSError as error:
        raise unreadable(file.path, error) from error
    except AvroFileError as error:
        raise SourceError(f"Cannot read {file.path}: {DAMAGED} ({error})", DELIVER) from error


def avro_pieces(file: InputFile, after_line: int, holds_messages: bool = False) -> list[TypedFile]:
    """The pieces of an Avro file, each with the number of its records. `holds_messages`: a column has messages.

    Raises: SourceError: it is not an Avro file, or is damaged, or no column has messages.
    """
    with _opened(file) as (opened, header):
        if holds_messages:
            _avro_message_columns(header.schema, file)
        starts = range(0, file.size, AVRO_PIECE_BYTES)
        counts = [count_records(opened, header, start, start + AVRO_PIECE_BYTES) for start in starts]
    total, first, pieces = sum(counts), 0, []
    for start, records in zip(starts, counts, strict=True):
        end = min(start + AVRO_PIECE_BYTES, file.size)
        pieces.append(TypedFile(file, records, total, after_line, first, start=start, end=end))
        first += records
    return pieces


def _avro_texts(schema: Any, holds: str, file: InputFile) -> Any:
    if holds == "messages":
        columns = _avro_message_columns(schema, file)
        return lambda record: (json_text({name: as_it_is(record[column]) for name, column in columns.items()}), None)
    texts = RecordTexts(schema, holds == "events")
    row_schema = texts.row_schema
    return lambda record: (texts.text(record), row_schema)


def _avro_message_columns(schema: Any, file: InputFile) -> dict[str, str]:
    kinds = {field["name"]: _plain_kind(field["type"]) for field in schema["fields"]}
    binary = [name for name, kind in kinds.items() if kind == "bytes"]
    found = message_columns(list(kinds), binary, [name for name, kind in kinds.items() if kind == "string"])
    return found or _no_messages(file, list(kinds), len(binary))


def _plain_kind(kind: Any) -> Any:
    parts = [part for part in kind if part != "null"] if isinstance(kind, list) else [kind]
    first = parts[0] if len(parts) == 1 else None
    return first.get("type") if isinstance(first, dict) else first


def _no_messages(file: InputFile, names: Iterable[str], number: int) -> dict[str, str]:
    raise SourceError(
        f"{NO_MESSAGES} ({', '.join(names)}): none has the name value, and {number} contain bytes ({file.path}).",
        "give the column with the messages the name value",
    )


# --- Parquet --------------------------------------------------------------------------------------------------------


def parquet_file(opened: Any, file: InputFile) -> Any:
    """An open Parquet file.

    Raises: SourceError: it is not a Parquet file, or is damaged.
    """
    import pyarrow.parquet as pq

    try:
        # 96-bit times hold more years than 64-bit nanoseconds.
        return pq.ParquetFile(opened, coerce_int96_timestamp_unit="us")
    except (pa.ArrowException, ValueError) as error:
        raise SourceError(f"Cannot read {file.path}: it is not a Parquet file, or is damaged.", NO_FILE) from error


def parquet_columns(parquet: Any) -> dict[str, pa.DataType]:
    """The columns with their Arrow types. 96-bit times, which Hive and Spark write, are instants."""
    kinds = {field.name: field.type for field in parquet.schema_arrow}
    for number in range(len(parquet.schema)):
        column = parquet.schema.column(number)
        if column.physical_type == "INT96" and column.path in kinds:
            kinds[column.path] = pa.timestamp("us", "UTC")
    return kinds


def parquet_groups(file: InputFile, after_line: int, holds_messages: bool = False) -> list[TypedFile]:
    """The row groups of a Parquet file. `holds_messages`: a column has messages.

    Raises: SourceError: it is not a Parquet file, or no column has messages.
    """
    try:
        with store_of(file.path, file.store).open(file.path) as opened:
            parquet = parquet_file(opened, file)
            metadata = parquet.metadata
            if holds_messages:
                _parquet_message_columns(parquet_columns(parquet), file)
    except OSError as error:
        raise unreadable(file.path, error) from error
    groups, first = [], 0
    for group in range(metadata.num_row_groups):
        records = metadata.row_group(group).num_rows
        groups.append(TypedFile(file, records, metadata.num_rows, after_line, first, group))
        first += records
    return groups


def _as_described(batch: pa.RecordBatch, columns: Mapping[str, pa.DataType]) -> list[pa.Array]:
    arrays = []
    for array, kind in zip(batch.columns, columns.values(), strict=True):
        is_shifted = pa.types.is_timestamp(kind) and kind != array.type
        arrays.append(array.cast(pa.timestamp("us")).cast(kind) if is_shifted else array)
    return arrays


def _parquet_texts(columns: Mapping[str, pa.DataType], holds_messages: bool, file: InputFile) -> Any:
    if not holds_messages:
        texts = ArrowTexts(columns)
        return lambda arrays: [(text, texts.row_schema) for text in texts.texts(arrays)]
    named = _parquet_message_columns(columns, file)
    messages = MessageTexts({field: columns[column] for field, column in named.items()})
    places = [list(columns).index(column) for column in named.values()]
    return lambda arrays: [(text, None) for text in messages.texts([arrays[place] for place in places])]


def _parquet_message_columns(columns: Mapping[str, pa.DataType], file: InputFile) -> dict[str, str]:
    binary = [name for name, kind in columns.items() if pa.types.is_binary(kind) or pa.types.is_large_binary(kind)]
    texts = [name for name, kind in columns.items() if plain_type(kind) == pa.string()]
    return message_columns(list(columns), binary, texts) or _no_messages(file, columns, len(binary))


__all__ = [
    "NO_MESSAGES",
    "AvroToRead",
    "LinesToRead",
    "ParquetToRead",
    "Reading",
    "TypedFile",
    "avro_pieces",
    "parquet_groups",
]
