"""Tables of plain rows: files of one folder whose names differ only in numbers are one table."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from siltstone.engine.decode.event import Change, Message
from siltstone.engine.decode.formats.rows import file_schema
from siltstone.engine.formats import format_of
from siltstone.engine.formats.rows import ROWS
from siltstone.engine.init.dms_files import is_load, is_new, is_of_dms, table_folder
from siltstone.engine.init.file_sample import Sample
from siltstone.engine.init.found_table import FoundTable
from siltstone.engine.init.path_patterns import NUMBERED
from siltstone.engine.names import OP_INSERT

_SUFFIXES: Final = (
    *(".gz", ".bz2", ".zst", ".zstd", ".lz4", ".snappy", ".deflate"),
    *(".jsonl", ".json", ".ndjson", ".csv", ".parquet", ".avro", ".txt"),
)


def are_rows(sample: Sample) -> bool:
    """Whether the records of a file can be plain rows, if they have no format of events."""
    rows = sample.rows()[:100]
    return sample.container != "text" and bool(rows) and all(row.text.lstrip()[:1] == b"{" for row in rows)


def rows_table(sample: Sample) -> FoundTable:
    """The table of a file of plain rows."""
    table = FoundTable(rows_name(sample.path), ROWS, format_of(ROWS).order, sample.container)
    if sample.header:
        table.headers = {is_load(sample.path): sample.header}
    table.files, table.whole, table.delimiter = [sample.path], sample.is_whole, sample.delimiter
    for row in sample.rows():
        table.add(_row(row, is_new(sample.path, row.text)))
    return table


def _row(message: Message, is_new_row: bool) -> Change:
    schema = message.row_schema
    return Change(
        file=message.file,
        line=message.line,
        text=None,
        op=OP_INSERT if is_new_row else None,
        after=message.text,
        row_schema=schema,
        schema_hash=file_schema(schema).hash,
    )


def rows_name(file: Path) -> str:
    """The name of the table of a file. Files of one folder whose names differ only in numbers are one table.

    Its name is made of folder and file; for files of AWS DMS, of the folders.
    """
    stem = file.name
    while (suffix := Path(stem).suffix.lower()) in _SUFFIXES:
        stem = stem[: -len(suffix)]
    bare = NUMBERED.sub("", stem)
    folder = table_folder(file)
    if stem.startswith("part-") or not bare or is_of_dms(file):
        name = f"{folder.parent.name or 'landing'}.{folder.name}"
    else:
        name = f"{file.parent.name or 'landing'}.{bare}"
    return ".".join(part.replace(".", "_").strip() or "rows" for part in name.split(".", 1))
