"""The first bytes of files that are not text, and the name endings of compressed files."""

from dataclasses import dataclass
from typing import Final

AVRO: Final = b"Obj\x01"
PARQUET: Final = b"PAR1"
LZ4_FRAME: Final = b"\x04\x22\x4d\x18"
SNAPPY_FRAME: Final = b"\xff\x06\x00\x00sNaPpY"


_BZIP2: Final = tuple(b"BZh%d%b" % (level, block) for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90"))


@dataclass(frozen=True)
class Compression:
    """A compression format.

    `begins`: the first bytes of such files. `endings`: the name endings for which siltstone decompresses files; none if
    it does not. `has_other_forms`: a file with such a name can have other first bytes: Hadoop's blocks.
    """

    name: str
    begins: tuple[bytes, ...]
    endings: tuple[str, ...] = ()
    has_other_forms: bool = False


COMPRESSIONS: Final = (
    Compression("gzip", (b"\x1f\x8b\x08",), (".gz",)),
    Compression("bzip2", _BZIP2, (".bz2",)),
    Compression("zstd", (b"\x28\xb5\x2f\xfd",), (".zst", ".zstd")),
    Compression("lz4", (LZ4_FRAME,), (".lz4",), has_other_forms=True),
    Compression("snappy", (SNAPPY_FRAME,), (".snappy",), has_other_forms=True),
    Compression("xz", (b"\xfd7zXZ\x00",)),
    Compression("zip", (b"PK\x03\x04",)),
)
CALLED: Final = {
    AVRO: "an Avro file",
    PARQUET: "a Parquet file",
    **{begin: f"a file packed by {each.name}" for each in COMPRESSIONS for begin in each.begins},
}
"""The names of these kinds of files in messages."""
LONGEST: Final = max(map(len, CALLED))
