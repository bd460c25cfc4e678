"""Records of Avro and Parquet files as messages, in the form in which a run reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Final, Literal

from pyspark.sql import types as T

from siltstone.engine.decode.event import Message
from siltstone.engine.decode.file_schema import file_columns
from siltstone.engine.decode.record_files import (
    NO_MESSAGES,
    AvroToRead,
    ParquetToRead,
    Reading,
    TypedFile,
    avro_pieces,
    parquet_groups,
)
from siltstone.engine.decode.typed_records import message_columns
from siltstone.engine.errors import SourceError
from siltstone.engine.init.stored_paths import settings_of, size_of
from siltstone.engine.inputs.listing import InputFile

Kind = Literal["avro", "parquet"]
MOST: Final[Mapping[Kind, int]] = {"avro": 100_000, "parquet": 1_000}
_OF_A_TOPIC: Final = frozenset({"topic", "destination", "partition", "offset", "value_avro", "key", "headers"})
_OF_EVENTS: Final = frozenset({"payload", "mods"})


@dataclass(frozen=True)
class TypedRecords:
    """The first records of a file that describes its columns. `types`: the stored types of the columns."""

    kind: Kind
    pieces: Sequence[TypedFile]
    types: Mapping[str, T.DataType]

    @property
    def number(self) -> int:
        """The number of records in the file."""
        return sum(piece.records for piece in self.pieces)

    @property
    def is_whole(self) -> bool:
        """Whether the first records are all records."""
        return self.number <= MOST[self.kind]

    @cached_property
    def rows(self) -> tuple[Message, ...]:
        """The records as plain rows."""
        return self._first("rows")

    @cached_property
    def events(self) -> tuple[Message, ...]:
        """The records as events; empty if no field holds the changes of an event."""
        return self._first("events") if self.kind == "avro" and _OF_EVENTS & self.types.keys() else ()

    @cached_property
    def topic_messages(self) -> tuple[Message, ...]:
        """The records as messages of bytes; empty if no column holds messages."""
        if len(self.types) > 1 and not _OF_A_TOPIC & self.types.keys():
            return ()
        binary = [name for name, kind in self.types.items() if isinstance(kind, T.BinaryType)]
        texts = [name for name, kind in self.types.items() if isinstance(kind, T.StringType)]
        if not message_columns(list(self.types), binary, texts):
            return ()
        try:
            return self._first("messages")
        except SourceError as error:
            if error.message.startswith(
                NO_MESSAGES
            ):  # a column becomes bytes in the table, but is not bytes in the file
                return ()
            raise

    def _first(self, holds: str) -> tuple[Message, ...]:
        return tuple(islice(_messages(self.kind, self.pieces, holds), MOST[self.kind]))


def typed_records(path: Path, kind: Kind) -> TypedRecords:
    """The first records of a file.

    Raises: SourceError and others: the file is damaged.
    """
    file = InputFile(str(path), size_of(path), 0, whole=True, store=settings_of(path))
    pieces = [piece for piece in (avro_pieces if kind == "avro" else parquet_groups)(file, 0) if piece.records]
    first = next(_messages(kind, pieces, "rows"), None)
    columns = {} if first is None else file_columns(first.row_schema or "")
    return TypedRecords(kind, pieces, {name: stored for name, (stored, _) in columns.items()})


def _messages(kind: Kind, pieces: Sequence[TypedFile], holds: str) -> Iterator[Message]:
    read: Reading = AvroToRead(pieces, holds) if kind == "avro" else ParquetToRead(pieces, holds == "messages")
    return chain.from_iterable(chain.from_iterable(map(read.messages, range(len(pieces)))))
