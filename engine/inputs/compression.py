"""Decompress files by their names: gzip, bzip2, zstd, lz4, snappy and deflate.

A stream that ends early or is damaged is an error, never a shorter file. `.lz4` is the frame format of the lz4 tool or
Hadoop's blocks. `.snappy` is the framing format or Hadoop's blocks.
"""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final, cast

import pyarrow as pa

from siltstone.engine.inputs.file_signatures import LZ4_FRAME, SNAPPY_FRAME

CHUNK: Final = 1 << 20
PACKED_CHUNK: Final = 1 << 16
"""How much of a deflate or bzip2 file is read at once. The rest of it is copied after each short stream."""
DAMAGED: Final = (EOFError, zlib.error, gzip.BadGzipFile, OSError, ValueError, pa.ArrowException)
"""The exceptions of reading a stream that ends early or is damaged."""


def plain_stream(path: str, file: BinaryIO) -> BinaryIO:
    """The decompressed bytes of a file, by the ending of its name; the file itself if the ending is no compression."""
    suffix = path.rpartition(".")[2]
    opened = _STREAMS.get(suffix)
    return file if opened is None else opened(file)


def _gzip(file: BinaryIO) -> BinaryIO:
    return cast("BinaryIO", gzip.GzipFile(fileobj=file))


def _bzip2(file: BinaryIO) -> BinaryIO:
    return _buffered(_streams(file, bz2.BZ2Decompressor))  # Python's own BZ2File ignores what follows a stream


def _zstd(file: BinaryIO) -> BinaryIO:
    return cast("BinaryIO", pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd"))


def _deflate(file: BinaryIO) -> BinaryIO:
    return _buffered(_streams(file, zlib.decompressobj))


def _streams(file: BinaryIO, decompressor: Callable[[], Any]) -> Iterator[bytes]:
    """The bytes of one stream, or of several that follow each other."""
    unpacked = decompressor()
    while data := file.read(PACKED_CHUNK):
        while data:
            if unpacked.eof:
                unpacked = decompressor()
            yield unpacked.decompress(data)
            data = unpacked.unused_data
    if not unpacked.eof:
        raise EOFError("the compressed stream ends early")


def _lz4(file: BinaryIO) -> BinaryIO:
    if _begins_with(file, LZ4_FRAME):
        return cast("BinaryIO", pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "lz4"))
    return _buffered(_hadoop_blocks(file, pa.Codec("lz4_raw")))


def _snappy(file: BinaryIO) -> BinaryIO:
    if _begins_with(file, SNAPPY_FRAME):
        return _buffered(_snappy_frames(file))
    return _buffered(_hadoop_blocks(file, pa.Codec("snappy")))


def _begins_with(file: BinaryIO, magic: bytes) -> bool:
    begin = file.read(len(magic))
    file.seek(0)
    return begin == magic


def _hadoop_blocks(file: BinaryIO, codec: pa.Codec) -> Iterator[bytes]:
    """Hadoop's block format: the decompressed size of a block, then its chunks, each after its compressed size."""
    while head := file.read(4):
        left = int.from_bytes(_whole(head, 4), "big")
        while left > 0:
            packed = _exactly(file, int.from_bytes(_exactly(file, 4), "big"))
            # The last chunk of a block can be smaller than the rest of the block. A snappy chunk has its own size.
            plain = codec.decompress(packed, _plain_size(codec, packed, left), asbytes=True)
            left -= len(plain)
            yield plain
        if left < 0:
            raise ValueError("a compressed block is longer than its size")


def _plain_size(codec: pa.Codec, packed: bytes, left: int) -> int:
    if codec.name != "snappy":
        return left
    size = shift = 0
    for byte in packed[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return size
    raise ValueError("a compressed block is damaged")


def _snappy_frames(file: BinaryIO) -> Iterator[bytes]:
    """Snappy's framing format: chunks with a kind and a size. Chunks of data begin with a checksum of four bytes."""
    codec = pa.Codec("snappy")
    while head := file.read(4):
        size = int.from_bytes(_whole(head, 4)[1:], "little")
        body = _exactly(file, size)
        if head[0] == 0:
            yield codec.decompress(body[4:], _plain_size(codec, body[4:], 0), asbytes=True)
        elif head[0] == 1:
            yield body[4:]
        elif head[0] < 0x80:
            raise ValueError("a compressed chunk is of no known kind")


def _exactly(file: BinaryIO, size: int) -> bytes:
    return _whole(file.read(size), size)


def _whole(data: bytes, size: int) -> bytes:
    if len(data) < size:
        raise EOFError("the compressed stream ends early")
    return data


def _buffered(pieces: Iterator[bytes]) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(_Pieces(pieces), CHUNK))


class _Pieces(io.RawIOBase):
    """A stream of the bytes that an iterator gives."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            found = next(self._pieces, None)
            if found is None:
                return 0
            self._rest = found
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


_STREAMS: Final[dict[str, Callable[[BinaryIO], BinaryIO]]] = {
    "gz": _gzip,
    "bz2": _bzip2,
    "zst": _zstd,
    "zstd": _zstd,
    "lz4": _lz4,
    "snappy": _snappy,
    "deflate": _deflate,
}
