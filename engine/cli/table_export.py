"""Writes all rows of a table, one Arrow batch at a time. A file appears completely or not at all."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from siltstone.engine.atomic_file import whole_file
from siltstone.engine.cli.options import ExportFormat
from siltstone.engine.cli.standard_output import NO_ROOM, is_read, no_room
from siltstone.engine.errors import SpecError
from siltstone.engine.storage import StoreSettings, is_remote

if TYPE_CHECKING:
    import pyarrow as pa


OTHER_FILE: Final = "name another file with -o"


@dataclass(frozen=True)
class StoredFile:
    """A file of an object store to write."""

    address: str
    settings: StoreSettings

    def __str__(self) -> str:
        return self.address


def goal_of(text: str, settings: StoreSettings) -> Path | StoredFile:
    """The target of an export: a file of this machine, or of an object store."""
    return StoredFile(text, settings) if is_remote(text) else Path(text)


def export_rows(batches: "pa.RecordBatchReader", form: ExportFormat, output: Path | StoredFile | None) -> int:
    """Write the rows, and give their number."""
    if form is ExportFormat.parquet and output is None and sys.stdout.isatty():
        raise SpecError("Cannot write Parquet to a terminal.", hint="name a file with -o, or pipe the output")
    write = {ExportFormat.jsonl: _jsonl, ExportFormat.csv: _csv, ExportFormat.parquet: _parquet}[form]
    read = batches if output else takewhile(lambda _: is_read(), batches)
    with _opened(output) as out:
        return write(batches.schema, read, out)


def _opened(output: Path | StoredFile | None) -> AbstractContextManager[BinaryIO]:
    """The open output of an export."""
    if isinstance(output, StoredFile):
        from siltstone.engine.inputs.file_store import store_of

        return store_of(output.address, output.settings).writer(output.address)
    return _standard_output() if output is None else _whole_file(output)


def _jsonl(_: "pa.Schema", batches: "Iterable[pa.RecordBatch]", out: BinaryIO) -> int:
    from siltstone.engine.plain_values import json_line, rows

    written = 0
    for batch in batches:
        out.writelines(f"{json_line(row)}\n".encode() for row in rows(batch))
        written += batch.num_rows
    return written


def _csv(schema: "pa.Schema", batches: "Iterable[pa.RecordBatch]", out: BinaryIO) -> int:
    from siltstone.engine.plain_values import csv_line, rows

    out.write(f"{csv_line(schema.names)}\n".encode())
    written = 0
    for batch in batches:
        out.writelines(f"{csv_line(row.values())}\n".encode() for row in rows(batch))
        written += batch.num_rows
    return written


def _parquet(schema: "pa.Schema", batches: "Iterable[pa.RecordBatch]", out: BinaryIO) -> int:
    import pyarrow.parquet as pq

    written = 0
    with pq.ParquetWriter(out, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            written += batch.num_rows
    return written


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextmanager
def _whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file of this machine that appears completely or not at all.

    Raises: SpecError: it cannot be written.
    """
    try:
        with ExitStack() as opened:
            try:
                if path.exists() and not path.is_file():
                    what = "a folder" if path.is_dir() else "not a regular file"
                    raise SpecError(f"Cannot write {path}: it is {what}.", OTHER_FILE)
                out = opened.enter_context(whole_file(path))
            except OSError as error:
                raise SpecError(f"Cannot write {path}: {error.strerror}.", OTHER_FILE) from error
            yield out
    except OSError as error:
        if error.errno not in NO_ROOM:  # reading the table can fail, too
            raise
        raise no_room(str(path), error) from error
