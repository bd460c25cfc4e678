"""How files that are no lines of text begin, and how names of compressed files end."""

from dataclasses import dataclass
from typing import Final

AVRO: Final = b"Obj\x01"
PARQUET: Final = b"PAR1"
LZ4_FRAME: Final = b"\x04\x22\x4d\x18"
SNAPPY_FRAME: Final = b"\xff\x06\x00\x00sNaPpY"


_BZIP2: Final = tuple(b"BZh%d%b" % (level, block) for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90"))


@dataclass(frozen=True)
class Compression:
    """How files are packed. `begins`: how such files begin; `endings`: of the names by which they are unpacked, none
    where they are not. `has_other_forms`: a file of such a name can begin otherwise: Hadoop's blocks."""

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
"""What such a file is called to people."""
LONGEST: Final = max(map(len, CALLED))
