"""Bytes compressed in every supported format, by the ending of the file's name."""

import bz2
import gzip
import zlib
from collections.abc import Callable

import pyarrow as pa

BLOCK = 65_536


def hadoop_blocks(codec: str) -> Callable[[bytes], bytes]:
    """The block format that Hadoop's lz4 and snappy write."""

    def packed(data: bytes) -> bytes:
        made = bytearray()
        for at in range(0, len(data), BLOCK):
            block = data[at : at + BLOCK]
            small = pa.Codec(codec).compress(block, asbytes=True)
            made += len(block).to_bytes(4, "big") + len(small).to_bytes(4, "big") + small
        return bytes(made)

    return packed


def snappy_frames(data: bytes) -> bytes:
    """Snappy's framing format. No reader verifies the checksums."""
    made = bytearray(b"\xff\x06\x00\x00sNaPpY")
    for at in range(0, len(data), BLOCK):
        body = bytes(4) + pa.Codec("snappy").compress(data[at : at + BLOCK], asbytes=True)
        made += b"\x00" + len(body).to_bytes(3, "little") + body
    return bytes(made)


def _lz4_frame(data: bytes) -> bytes:
    return bytes(pa.compress(data, "lz4", asbytes=True))


def _zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": _zstd,
    ".lz4": _lz4_frame,
    ".hadoop.lz4": hadoop_blocks("lz4_raw"),
    ".hadoop.snappy": hadoop_blocks("snappy"),
    ".framed.snappy": snappy_frames,
    ".deflate": zlib.compress,
}
