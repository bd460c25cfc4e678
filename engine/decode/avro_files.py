"""Avro object container files: block by block, from any range of bytes, without a JVM.

    https://avro.apache.org/docs/1.12.0/specification/#object-container-files

A file has a header and blocks. A block has the number of its records, its size in bytes, the packed records, and the
file's marker. The header defines the marker and also ends with it. A block belongs to the range in which the marker
before it begins. So each block is in exactly one of the ranges into which a file is split.

Blocks are uncompressed, or compressed by deflate, snappy, zstandard, bzip2 or xz. Values are read as they are encoded,
without logical types, because Python has no value for some of them. A value of a union of several types is wrapped in a
record with one field, which shows its type: `member0` for the first type. Such a record does not change the encoded
bytes. Texts that are not UTF-8 keep their bytes as surrogates (Python's `surrogateescape`); `json_text` restores them.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, BinaryIO, Final

import msgspec
import pyarrow as pa
from fastavro import parse_schema, schemaless_reader
from fastavro.schema import SchemaParseException, UnknownType

from siltstone.engine.decode.json_value import text_of
from siltstone.engine.inputs import file_signatures

MARKER_BYTES: Final = 16
_HEAD_BYTES: Final = 1 << 16
_LONGEST_HEADER: Final = 1 << 24
_AROUND_BYTES: Final = MARKER_BYTES + 20
"""The size of a marker and of the two numbers that begin the next block."""
_CHUNK: Final = 1 << 20
_LARGE: Final = 64 << 20
"""The records of a block of this size or more are read one by one. All at once would take too much memory."""
_CUT_SHORT: Final = "a block of records was cut short"
_CHECKSUM_BYTES: Final = 4
_RECORDS: Final = ("record", "error")


class AvroFileError(ValueError):
    """An Avro file cannot be read. The message has the reason."""


@dataclass(frozen=True)
class Header:
    """The header of a file. `schema`: the writer's schema. `size`: the bytes before the first block."""

    schema: Any
    codec: str
    marker: bytes
    size: int


@dataclass(frozen=True)
class _Block:
    """Where the packed records of a block are, and how many it has."""

    records: int
    start: int
    size: int

    @property
    def end(self) -> int:
        """Where the marker after the block begins."""
        return self.start + self.size


def read_header(file: BinaryIO) -> Header:
    """The header of a file.

    Raises: AvroFileError: it is not an Avro file, or its header is damaged.
    """
    size = _HEAD_BYTES
    while True:
        file.seek(0)
        data = file.read(size)
        if not data.startswith(file_signatures.AVRO):
            raise AvroFileError("it is not an Avro file")
        try:
            return _header(data)
        except EOFError as error:
            if len(data) < size or size >= _LONGEST_HEADER:
                raise AvroFileError("it was cut short inside its header") from error
        size *= 16


def count_records(file: BinaryIO, header: Header, start: int = 0, end: int | None = None) -> int:
    """The number of records in the blocks of a range, from the blocks' own counts. It reads no records.

    Raises: AvroFileError: a block is damaged, or was cut short.
    """
    return sum(block.records for block in _blocks(file, header, start, end))


def read_records(file: BinaryIO, header: Header, start: int = 0, end: int | None = None) -> Iterator[list[Any]]:
    """The records in the blocks of a range, as lists.

    Raises: AvroFileError: a block is damaged, or was cut short; a record does not match the schema.
    """
    unpack = _unpacker(header.codec)
    read = _block_reader(header.schema)
    for block in _blocks(file, header, start, end):
        if not block.records:
            continue
        packed = _read_at(file, block.start, block.size)
        try:
            data = unpack(packed)
        except MemoryError:
            raise
        except Exception as error:
            raise AvroFileError("a block of records cannot be unpacked") from error
        yield from read(block.records, data)


def without_logical_types(schema: Any) -> Any:
    """The schema without logical types: decimals of any size are read as bytes, times as their counts."""
    if isinstance(schema, list):
        return [without_logical_types(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in ("logicalType", "precision", "scale", "default")}
    if "fields" in kept:
        kept["fields"] = [{"name": f["name"], "type": without_logical_types(f["type"])} for f in kept["fields"]]
    for inside in ("type", "items", "values"):
        if isinstance(kept.get(inside), (dict, list)):
            kept[inside] = without_logical_types(kept[inside])
    return kept


# --- header ---------------------------------------------------------------------------------------------------------


def _header(data: bytes) -> Header:
    """Raises: EOFError: the header is longer than the data. AvroFileError: the header is damaged."""
    stream = io.BytesIO(data[len(file_signatures.AVRO) :])
    found: dict[bytes, bytes] = {}
    while items := _long(stream):
        if items < 0:
            _long(stream)  # the size of the items, in bytes
        for _ in range(abs(items)):
            key = _sized(stream)
            found[key] = _sized(stream)
    marker = _exactly(stream, MARKER_BYTES)
    try:
        schema = json.loads(found[b"avro.schema"])
        codec = found.get(b"avro.codec", b"null").decode()
        _unpacker(codec)
        parse_schema(reading_schema(schema))
    except (SchemaParseException, UnknownType, LookupError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, AvroFileError):
            raise
        raise AvroFileError(f"its header is damaged, or has no valid Avro schema ({_reason(error)})") from error
    return Header(schema, codec, marker, len(file_signatures.AVRO) + stream.tell())


def _reason(error: Exception) -> str:
    return str(error).split("\n", 1)[0][:200] or type(error).__name__


def _long(stream: io.BytesIO) -> int:
    """A 64-bit number in zig-zag base 128."""
    value = 0
    for shift in range(0, 70, 7):
        byte = _exactly(stream, 1)[0]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1)
    raise EOFError


def _sized(stream: io.BytesIO) -> bytes:
    """The bytes after a length."""
    return _exactly(stream, min(max(_long(stream), 0), _LONGEST_HEADER))


def _exactly(stream: io.BytesIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


# --- blocks ---------------------------------------------------------------------------------------------------------


def _blocks(file: BinaryIO, header: Header, start: int, end: int | None) -> Iterator[_Block]:
    """The blocks of a range: those whose preceding marker begins in it."""
    length = file.seek(0, io.SEEK_END)
    marker_at = _next_marker(file, header.marker, max(start, header.size - MARKER_BYTES))
    around = b"" if marker_at is None else _read_at(file, marker_at, _AROUND_BYTES)
    while marker_at is not None and (end is None or marker_at < end) and marker_at + MARKER_BYTES < length:
        block = _block(around[MARKER_BYTES:], marker_at + MARKER_BYTES, length)
        around = _read_at(file, block.end, _AROUND_BYTES)
        if not around.startswith(header.marker):
            raise AvroFileError("a block does not end with the marker of its file")
        yield block
        marker_at = block.end


def _read_at(file: BinaryIO, at: int, size: int) -> bytes:
    file.seek(at)
    return file.read(size)


def _block(data: bytes, at: int, length: int) -> _Block:
    """The block that begins at a place of a file. `data`: the bytes from there on."""
    head = io.BytesIO(data)
    try:
        records, size = _long(head), _long(head)
    except EOFError as error:
        raise AvroFileError(_CUT_SHORT) from error
    block = _Block(records, at + head.tell(), size)
    if records < 0 or size < 0 or block.end + MARKER_BYTES > length:
        raise AvroFileError(_CUT_SHORT)
    return block


def _next_marker(file: BinaryIO, marker: bytes, at: int) -> int | None:
    """Where the first marker begins at a place or after it."""
    rest = b""
    file.seek(at)
    while data := file.read(_CHUNK):
        found = (rest + data).find(marker)
        if found >= 0:
            return at - len(rest) + found
        at += len(data)
        rest = (rest + data)[1 - MARKER_BYTES :]
    return None


def _unpacker(codec: str) -> Callable[[bytes], bytes]:
    found = _CODECS.get(codec)
    if found is None:
        raise AvroFileError(f"its records have an unsupported compression ({codec[:40]!r})")
    return found


def _inflated(data: bytes) -> bytes:
    stream = zlib.decompressobj(-15)
    plain = stream.decompress(data) + stream.flush()
    if not stream.eof:
        raise EOFError
    return plain


def _of_snappy(data: bytes) -> bytes:
    """Snappy's own format begins with the plain size. Avro appends a checksum of the plain bytes."""
    packed, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    size = shift = 0
    for byte in packed:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    plain: bytes = pa.Codec("snappy").decompress(packed, decompressed_size=size, asbytes=True)
    if zlib.crc32(plain) != int.from_bytes(checksum, "big"):
        raise ValueError("the checksum differs")
    return plain


def _of_zstandard(data: bytes) -> bytes:
    return pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()  # type: ignore[no-any-return]


_CODECS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "null": bytes, "deflate": _inflated, "snappy": _of_snappy, "zstandard": _of_zstandard,
    "bzip2": bz2.decompress, "xz": lzma.decompress,
}  # fmt: skip


# --- records --------------------------------------------------------------------------------------------------------


def reading_schema(schema: Any) -> Any:
    """The schema without logical types, in which each value of a union of several types is read with its type."""
    return _with_members(without_logical_types(schema), count())


def _with_members(schema: Any, numbers: Iterator[int]) -> Any:
    if isinstance(schema, list):
        parts = [_with_members(part, numbers) for part in schema]
        return _members(parts, numbers) if sum(part != "null" for part in parts) > 1 else parts
    if not isinstance(schema, dict):
        return schema
    found = {name: _with_members(schema[name], numbers) for name in ("type", "items", "values") if name in schema}
    if schema.get("type") in _RECORDS:
        found["fields"] = [{**each, "type": _with_members(each["type"], numbers)} for each in schema["fields"]]
    return schema | found


def _members(parts: list[Any], numbers: Iterator[int]) -> list[Any]:
    found, names = [], (f"member{number}" for number in count())
    for part in parts:
        field = {"name": "" if part == "null" else next(names), "type": part}
        # The record has no namespace of its own, so that the names of types in it keep their meaning.
        member = {"type": "record", "name": f"SiltstoneMember{next(numbers)}", "fields": [field]}
        found.append(part if part == "null" else member)
    return found


def _block_reader(schema: Any) -> Callable[[int, bytes], Iterator[list[Any]]]:
    """A function that reads the records of a block, as lists, from their number and their bytes."""
    record = reading_schema(schema)
    one, all_of = parse_schema(record), parse_schema({"type": "array", "items": record})

    def read_all(records: int, data: bytes) -> Iterator[list[Any]]:
        body = _number(records) + data + _number(0)
        stream = io.BytesIO(body)
        found: list[Any] = _read(stream, all_of)
        if len(found) != records or stream.tell() != len(body):
            raise AvroFileError("the number of records in a block differs from its header")
        yield found

    def read_each(records: int, data: bytes) -> Iterator[list[Any]]:
        stream = io.BytesIO(data)
        for _ in range(records):
            yield [_read(stream, one)]
        if stream.tell() != len(data):
            raise AvroFileError("a block has bytes after its records")

    return lambda records, data: (read_all if len(data) < _LARGE else read_each)(records, data)


def json_text(value: Any) -> bytes:
    """The JSON text of a converted record. Text that is not UTF-8 keeps its bytes for the reject."""
    try:
        return text_of(value)
    except UnicodeEncodeError:
        return text_of(_with_bytes(value))


def _with_bytes(value: Any) -> Any:
    if isinstance(value, str):
        return msgspec.Raw(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogateescape"))
    if isinstance(value, list):
        return [_with_bytes(one) for one in value]
    if isinstance(value, dict):
        return {name.encode("utf-8", "replace").decode(): _with_bytes(one) for name, one in value.items()}
    return value


def _read(stream: io.BytesIO, schema: Any) -> Any:
    try:
        return schemaless_reader(stream, schema, None, handle_unicode_errors="surrogateescape")
    except MemoryError:
        raise
    except Exception as error:
        raise AvroFileError("a record does not match its file's schema") from error


def _number(value: int) -> bytes:
    """A non-negative number as Avro encodes it."""
    rest, found = value << 1, bytearray()
    while rest >= 0x80:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)
