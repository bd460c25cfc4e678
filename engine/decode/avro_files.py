"""Avro object container files: block by block, from any range of bytes, without a JVM.

    https://avro.apache.org/docs/1.12.0/specification/#object-container-files

A file is a header, then blocks: how many records, how many bytes, the packed records, and the marker that the header
names. A marker ends the header, too. A block is in the range in which the marker before it begins: so each block is in
one of the ranges that a file is split into.

Blocks are packed by deflate, snappy, zstandard, bzip2 or xz, or not at all. Values are read as they are encoded,
without logical types: Python has no value for some of them. A value of a union of several types shows which of them it
is: it is in a record of one field, `member0` for the first. Bytes are the same with such a record around them and
without it. Texts that are not UTF-8 have their bytes as surrogates, by Python's `surrogateescape`; `json_text` gives
them back.
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
"""Of a marker and what begins the block after it, which is two numbers."""
_CHUNK: Final = 1 << 20
_LARGE: Final = 64 << 20
"""From so many bytes on, the records of a block are read one by one: all at once, they would take too much memory."""
_CUT_SHORT: Final = "a block of records was cut short"
_CHECKSUM_BYTES: Final = 4
_RECORDS: Final = ("record", "error")


class AvroFileError(ValueError):
    """What is wrong with an Avro file."""


@dataclass(frozen=True)
class Header:
    """What a file says of itself. `schema`: the writer's. `size`: bytes up to the first block."""

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

    Raises: AvroFileError: it is no Avro file, or its header is damaged.
    """
    size = _HEAD_BYTES
    while True:
        file.seek(0)
        data = file.read(size)
        if not data.startswith(file_signatures.AVRO):
            raise AvroFileError("it is no Avro file")
        try:
            return _header(data)
        except EOFError as error:
            if len(data) < size or size >= _LONGEST_HEADER:
                raise AvroFileError("it was cut short inside its header") from error
        size *= 16


def count_records(file: BinaryIO, header: Header, start: int = 0, end: int | None = None) -> int:
    """How many records the blocks of a range have, as the blocks say. Records are not looked at.

    Raises: AvroFileError: a block is damaged, or was cut short.
    """
    return sum(block.records for block in _blocks(file, header, start, end))


def read_records(file: BinaryIO, header: Header, start: int = 0, end: int | None = None) -> Iterator[list[Any]]:
    """The records in the blocks of a range, as lists.

    Raises: AvroFileError: a block is damaged, or was cut short; a record is none of the schema.
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
    """The schema that reads every value as it is encoded: decimals of any size as bytes, times as their counts."""
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
    """Raises: EOFError: it goes on after the data; AvroFileError: it is damaged."""
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
        raise AvroFileError(f"its header is damaged, or has no schema that Avro takes ({_reason(error)})") from error
    return Header(schema, codec, marker, len(file_signatures.AVRO) + stream.tell())


def _reason(error: Exception) -> str:
    return str(error).split("\n", 1)[0][:200] or type(error).__name__


def _long(stream: io.BytesIO) -> int:
    """A number of 64 bits in zig-zag base 128."""
    value = 0
    for shift in range(0, 70, 7):
        byte = _exactly(stream, 1)[0]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1)
    raise EOFError


def _sized(stream: io.BytesIO) -> bytes:
    """A length, and so many bytes."""
    return _exactly(stream, min(max(_long(stream), 0), _LONGEST_HEADER))


def _exactly(stream: io.BytesIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


# --- blocks ---------------------------------------------------------------------------------------------------------


def _blocks(file: BinaryIO, header: Header, start: int, end: int | None) -> Iterator[_Block]:
    """The blocks whose markers before them begin in a range."""
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
    """The block that begins at a place of a file. `data`: from there on."""
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
        raise AvroFileError(f"its records are packed in a way that is not known here ({codec[:40]!r})")
    return found


def _inflated(data: bytes) -> bytes:
    stream = zlib.decompressobj(-15)
    plain = stream.decompress(data) + stream.flush()
    if not stream.eof:
        raise EOFError
    return plain


def _of_snappy(data: bytes) -> bytes:
    """Snappy's own format says its plain size first; Avro adds a checksum of the plain bytes."""
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
    """The schema that reads every value as it is encoded, and each value of a union of several types with its type."""
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
        # In the namespace around it: names of types in it stay what they are.
        member = {"type": "record", "name": f"SiltstoneMember{next(numbers)}", "fields": [field]}
        found.append(part if part == "null" else member)
    return found


def _block_reader(schema: Any) -> Callable[[int, bytes], Iterator[list[Any]]]:
    """A function that gives the records of a block, as lists, from their number and their bytes."""
    record = reading_schema(schema)
    one, all_of = parse_schema(record), parse_schema({"type": "array", "items": record})

    def read_all(records: int, data: bytes) -> Iterator[list[Any]]:
        body = _number(records) + data + _number(0)
        stream = io.BytesIO(body)
        found: list[Any] = _read(stream, all_of)
        if len(found) != records or stream.tell() != len(body):
            raise AvroFileError("a block does not have as many records as it says")
        yield found

    def read_each(records: int, data: bytes) -> Iterator[list[Any]]:
        stream = io.BytesIO(data)
        for _ in range(records):
            yield [_read(stream, one)]
        if stream.tell() != len(data):
            raise AvroFileError("a block has more in it than its records")

    return lambda records, data: (read_all if len(data) < _LARGE else read_each)(records, data)


def json_text(value: Any) -> bytes:
    """The JSON text of what a record became. A text that is not UTF-8 has its bytes in it, so that the record can be
    rejected as it is."""
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
        raise AvroFileError("a record is none of its file's schema") from error


def _number(value: int) -> bytes:
    """A number that is not negative, as Avro writes it."""
    rest, found = value << 1, bytearray()
    while rest >= 0x80:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)
