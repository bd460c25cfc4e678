"""A look into files without a JVM: what they are written in, and their first records."""

import bz2
import csv
import gzip
import io
import json
import zlib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

from engine.errors import SourceError
from engine.inputs.avro import without_logical_types
from engine.inputs.magic import AVRO, PARQUET

Container = Literal["json", "csv", "avro", "parquet", "document", "text", "empty", "frames", "dts"]

MOST_CHARACTERS = 64 << 20
MOST_RECORDS = 100_000
LOOKED_AT = 200
ARROW_BATCH = 1_000
GZIP, BZIP2 = b"\x1f\x8b", b"BZh"
PACKED = {GZIP: ("gzip", ".gz"), BZIP2: ("bzip2", ".bz2")}
ZSTD, UTF16 = b"\x28\xb5\x2f\xfd", (b"\xff\xfe", b"\xfe\xff")
DELIMITERS = (",", ";", "\t", "|")
ENCODING = "utf-8-sig"
"""Without the byte order mark that a text may begin with, as Spark reads it."""
csv.field_size_limit(MOST_CHARACTERS)  # Python's own limit is less than what tables hold
DAMAGED = (zlib.error, LookupError, TypeError, ArithmeticError, MemoryError, RecursionError)
"""What reading the bytes of a damaged file can end in, beside what says so."""


class Fraction(str):
    """A number that is not whole, as it is written."""


@dataclass(frozen=True)
class Sample:
    """The first records of a file, as Python has JSON's values. `schema`: what an Avro or Parquet file says of them.

    `whole`: they are all. `delimiter`: of a CSV file. `broken`: how many lines are no JSON. The
    records of a text are its lines; those of "frames" and "dts" are in messages of bytes, whatever carries these.
    """

    path: Path
    container: Container
    records: tuple[Any, ...]
    whole: bool = True
    schema: Any = None
    delimiter: str = ","
    broken: int = 0


def sample(path: Path) -> Sample:
    """Look into a file.

    Raises: SourceError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
        if magic == AVRO:
            return _avro(path)
        if magic == PARQUET:
            return _parquet(path)
        _refuse_other_names(path, magic)
        with _unpacked(path, magic) as lines:
            return _of_text(path, lines)
    except (OSError, EOFError, ValueError, csv.Error) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SourceError(f"Cannot look into {path}: {reason}.", "check the file and the permissions") from error
    except DAMAGED as error:
        reason = f"it is damaged ({type(error).__name__} while it was read)"
        raise SourceError(f"Cannot look into {path}: {reason}.", "deliver the file again") from error


def _refuse_other_names(path: Path, magic: bytes) -> None:
    """See that a file is called as it is packed, which is all that a run goes by, and that its text is UTF-8.

    Raises: SourceError.
    """
    for packed, (what, suffix) in PACKED.items():
        is_packed, is_called = magic.startswith(packed), path.name.endswith(suffix)
        if is_packed and not is_called:
            message = f"it is packed by {what}, and its name does not end in {suffix}: a run takes it for text"
            raise SourceError(f"Cannot look into {path}: {message}.", f"call it {path.name}{suffix}")
        if is_called and not is_packed and magic:
            message = f"its name ends in {suffix}, but it is not packed by {what}"
            raise SourceError(f"Cannot look into {path}: {message}.", "give it the name of what it is")
    if magic.startswith(ZSTD):
        message = "it is packed by zstd, which siltstone does not unpack here"
        raise SourceError(f"Cannot look into {path}: {message}.", "name it unpacked, or packed by gzip")
    if magic.startswith(UTF16):
        raise SourceError(
            f"Cannot look into {path}: it is text in UTF-16.", "write it in UTF-8: iconv -f UTF-16 -t UTF-8"
        )


def parsed(line: str) -> Any:
    """One JSON value; numbers that are not whole as they are written.

    Raises: ValueError: it is none.
    """
    try:
        return json.loads(line, parse_float=Fraction)
    except RecursionError as error:
        raise ValueError("values nested too deep") from error


def opened(value: Any) -> Any:
    """What JSON text holds; other values as they are."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parsed(value)
        except ValueError:
            return value
    return value


def _unpacked(path: Path, magic: bytes) -> IO[str]:
    if magic.startswith(GZIP):
        return gzip.open(path, "rt", encoding=ENCODING, errors="replace", newline="\n")
    if magic.startswith(BZIP2):
        return bz2.open(path, "rt", encoding=ENCODING, errors="replace", newline="\n")
    return path.open(encoding=ENCODING, errors="replace", newline="\n")


def _of_text(path: Path, lines: IO[str]) -> Sample:
    """Lines of JSON, or CSV, or some other text."""
    taken, whole = _first_lines(lines)
    if not taken:
        return Sample(path, "empty", ())
    records, broken = [], 0
    for number, line in enumerate(taken):
        try:
            records.append(parsed(line))
        except ValueError:
            broken += 1
        if number + 1 == LOOKED_AT and broken * 2 > number:
            break
    if broken * 2 <= len(taken) and any(isinstance(record, dict | list) for record in records):
        return Sample(path, "json", tuple(records), whole, broken=broken)
    if whole and taken[0].lstrip()[:1] in ("{", "[") and _is_document(taken):
        return Sample(path, "document", (), whole)
    delimiter = delimiter_of(taken[:LOOKED_AT])
    if delimiter is None:
        return Sample(path, "text", tuple(taken), whole)
    rows = csv.DictReader(io.StringIO("".join(taken)), delimiter=delimiter)
    named = tuple({name: value for name, value in row.items() if name is not None} for row in rows)  # others: too many
    return Sample(path, "csv", named, whole, tuple(rows.fieldnames or ()), delimiter)


def _is_document(lines: list[str]) -> bool:
    try:
        parsed("".join(lines))
    except ValueError:
        return False
    return True


def _first_lines(lines: IO[str]) -> tuple[list[str], bool]:
    taken: list[str] = []
    characters = 0
    for line in lines:
        if len(taken) == MOST_RECORDS or characters > MOST_CHARACTERS:
            return taken, False
        characters += len(line)
        if line.strip():
            taken.append(line)
    return taken, True


def delimiter_of(lines: list[str]) -> str | None:
    """What stands between the values of a CSV file with a header: as often in every line as in the first."""
    for delimiter in DELIMITERS:
        try:
            rows = list(csv.reader(io.StringIO("".join(lines)), delimiter=delimiter))
        except csv.Error:  # a line end where none can be: no CSV of this kind
            continue
        names = rows[0] if rows else []
        named = len(names) > 1 and all(name.strip() for name in names) and len(set(names)) == len(names)
        if named and len(rows) > 1 and all(len(row) == len(names) for row in rows[1:-1] or rows[1:]):
            return delimiter
    return None


def _avro(path: Path) -> Sample:
    """Values as they are encoded, as the engine reads them: Python's dates and times are fewer than those of files."""
    import fastavro
    from fastavro.schema import SchemaParseException, UnknownType

    with path.open("rb") as file:
        try:
            blocks: Any = fastavro.block_reader(file)
            encoded = fastavro.parse_schema(without_logical_types(blocks.writer_schema))
        except (SchemaParseException, UnknownType) as error:
            raise ValueError(f"its schema is none ({error})") from error
        bodies = (block.bytes_ for block in blocks for _ in range(block.num_records))
        read = (fastavro.schemaless_reader(body, encoded, None) for body in bodies)
        records = tuple(islice(read, MOST_RECORDS))
        return Sample(path, "avro", records, len(records) < MOST_RECORDS, blocks.writer_schema)


def _parquet(path: Path) -> Sample:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from engine.render import records

    try:
        file = pq.ParquetFile(path)
        batch = next(file.iter_batches(ARROW_BATCH), None)
        found = () if batch is None else tuple(records(_in_utc(batch)))
        return Sample(path, "parquet", found, len(found) == file.metadata.num_rows, _columns(file))
    except pa.ArrowException as error:  # Arrow says what it cannot read, be it damaged or not
        raise ValueError(str(error)) from error


def _in_utc(batch: Any) -> Any:
    """The records with instants as times in UTC: at the ends of the calendar there is no other zone's clock."""
    import pyarrow as pa

    for number, column in enumerate(batch.schema):
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            plain = batch.column(number).cast(pa.timestamp(column.type.unit))
            batch = batch.set_column(number, column.name, plain)
    return batch


def _columns(file: Any) -> Any:
    """The columns as Arrow has them; the old times of 96 bits, which Hive and Spark write, are instants to Spark."""
    import pyarrow as pa

    schema = file.schema_arrow
    for number in range(len(file.schema)):
        column = file.schema.column(number)
        if column.physical_type == "INT96" and column.path in schema.names:
            schema = schema.set(schema.get_field_index(column.path), pa.field(column.path, pa.timestamp("ns", "UTC")))
    return schema
