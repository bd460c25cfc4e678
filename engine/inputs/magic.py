"""How files that are no lines of text begin."""

from typing import Final

AVRO: Final = b"Obj\x01"
PARQUET: Final = b"PAR1"
GZIP: Final = b"\x1f\x8b\x08"
CALLED: Final = {AVRO: "an Avro file", PARQUET: "a Parquet file", GZIP: "a file packed by gzip"}
"""What such a file is called to people."""
