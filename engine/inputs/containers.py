"""The container formats of files: lines of JSON, CSV, Parquet, Avro, or the data files of an Iceberg table."""

from typing import Literal

from siltstone.engine.errors import SourceError
from siltstone.engine.formats import format_of
from siltstone.engine.inputs.compression import DAMAGED, plain_stream
from siltstone.engine.inputs.csv_records import CsvLayout, columns_of
from siltstone.engine.inputs.file_store import read_bytes, store_of
from siltstone.engine.inputs.globs import name_pattern
from siltstone.engine.inputs.listing import NO_FILE, InputFile, is_compressed
from siltstone.engine.spec.model import SourceSpec
from siltstone.engine.spec.rows_format import Headers

Kind = Literal["json", "csv", "parquet", "avro", "table", "topic"]

HEAD_BYTES = 1 << 16
ENDINGS: tuple[tuple[tuple[str, ...], Kind], ...] = (
    ((".csv", ".csv.gz", ".csv.bz2"), "csv"),
    ((".parquet",), "parquet"),
    ((".avro",), "avro"),
)


def kind_of(path: str, source: SourceSpec) -> Kind:
    """The container format of a file of a source."""
    if source.table is not None:
        return "table"
    if source.kafka is not None:
        return "topic"
    if source.rows is not None and source.rows.file_type is not None:
        return source.rows.file_type
    written = format_of(source.format).containers
    by_name = kind_by_name(path)
    return by_name if by_name in written else "json" if "json" in written else "avro"


def kind_by_name(path: str) -> Kind:
    """The container format of a file by the ending of its name."""
    return next((kind for ends, kind in ENDINGS if path.lower().endswith(ends)), "json")


def csv_layout(file: InputFile, source: SourceSpec) -> CsvLayout:
    """The layout of a CSV file.

    Raises: SourceError: its first line does not name its columns, or names one twice; or source.header has no pattern
        for this file.
    """
    assert source.rows is not None
    delimiter, null = source.rows.delimiter.encode(), source.rows.null_value
    names, line_end = columns_of(head(file), delimiter)
    if source.rows.header:
        return CsvLayout(_named_columns(file, source.rows.header), delimiter, line_end, has_header=False, null=null)
    if any(not name.strip() or "\r" in name for name in names) or len(set(names)) < len(names):
        raise SourceError(
            f"Cannot read {file.path}: its first line must name each column once, and does not.",
            "check the file, source.file_type and source.delimiter",
        )
    return CsvLayout(tuple(names), delimiter, line_end, null=null)


def _named_columns(file: InputFile, header: Headers) -> tuple[str, ...]:
    """The columns that the spec names for a file.

    Raises: SourceError: no pattern of source.header matches the file.
    """
    name = file.path.rpartition("/")[2]
    found = next((columns for pattern, columns in header if name_pattern(pattern).fullmatch(name)), None)
    if found is None:
        raise SourceError(
            f"Cannot read {file.path}: no pattern of source.header matches its name.", "add one, or * as the last one"
        )
    return found


def head(file: InputFile) -> bytes:
    """The beginning of a file, decompressed.

    Raises: SourceError: it cannot be decompressed.
    """
    if not is_compressed(file.path):
        return read_bytes(file.path, 0, min(file.size, HEAD_BYTES), file.store)
    try:
        with store_of(file.path, file.store).open(file.path) as packed:
            begin = plain_stream(file.path, packed).read(HEAD_BYTES)
    except DAMAGED as error:
        raise SourceError(f"Cannot read {file.path}: it cannot be decompressed.", NO_FILE) from error
    return begin
