"""Positions: order-preserving text of fixed-width upper-case hexadecimal segments, the epoch first.

Each format's module builds its own positions from these parts and describes their layout. A segment of text, as bytes,
has any length. The hyphen after it sorts before every digit, so that a shorter text sorts before a longer text with the
same beginning. A position is None if the source gives none, or a sentinel value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

EPOCH: Final = "0000"
SECOND_EPOCH: Final = "0001"
"""The second epoch that a format assigns by itself (SharePlex: coordinates instead of SCNs)."""
EPOCH_DIGITS: Final = len(EPOCH)
OWN_EPOCHS: Final = int(SECOND_EPOCH, 16) + 1
"""The number of a format's own epochs in each declared epoch."""
BINLOG: Final = "mysql-bin"
LONGEST_NUMBER: Final = 2**63 - 1
_AT_END: Final = re.compile(r"([0-9]+)\Z", re.ASCII)
_THREE_PARTS: Final = re.compile(r"([0-9A-F]{1,8}):([0-9A-F]{1,8}):([0-9A-F]{1,4})\Z")
_REDO_RECORD: Final = re.compile(r"([0-9A-F]{0,8})(?:\.([0-9A-F]{0,8})(?:\.([0-9A-F]{0,8})(?:\..*)?)?)?", re.DOTALL)
_TWO_HALVES: Final = re.compile(r"([0-9A-F]{1,8})/([0-9A-F]{1,8})\Z")
_HEX: Final = re.compile(r"[0-9A-F]*")
ANY_WIDTH: Final = 0
"""The width of a segment of any length."""


def hex_digits(number: int | None, width: int) -> str | None:
    """The digits of a number, padded with zeros. None for a negative or too long number."""
    if number is None or number < 0:
        return None
    digits = f"{number:0{width}X}"
    return digits if len(digits) == width else None


def joined(*segments: str | None, epoch: str = EPOCH) -> str | None:
    """The position of these segments. None if a segment is None."""
    for segment in segments:
        if segment is None:
            return None
    return "-".join((epoch, *segments))  # type: ignore[arg-type]


def text_segment(text: str) -> str:
    """Text as a segment that sorts by its UTF-8 bytes."""
    return text.encode("utf-8", "surrogatepass").hex().upper()


def number_at_end(text: str | None) -> int | None:
    """The number at the end of a text. None if there is none, or if it has more than 64 bits."""
    found = None if text is None else _AT_END.search(text)
    number = None if found is None else int(found[1][:40])
    return number if number is not None and number <= LONGEST_NUMBER and len(found[1]) <= 40 else None  # type: ignore[index]


def three_part_lsn(lsn: str | None) -> str | None:
    """SQL Server's LSN, three hexadecimal numbers with colons between, in 20 digits."""
    found = None if lsn is None else _THREE_PARTS.match(lsn.strip(" ").upper())
    return None if found is None else found[1].zfill(8) + found[2].zfill(8) + found[3].zfill(4)


def two_part_lsn(lsn: str | None) -> str | None:
    """PostgreSQL's LSN, two hexadecimal halves with a slash between, in 16 digits."""
    found = None if lsn is None else _TWO_HALVES.match(lsn.strip(" ").upper())
    return None if found is None else found[1].zfill(8) + found[2].zfill(8)


def redo_record(rs_id: str | None) -> str | None:
    """Oracle's redo record: three hexadecimal numbers with points between, with optional blanks and a leading 0x.
    Zeros if it is missing."""
    bare = "" if rs_id is None else rs_id.strip(" ")
    found = _REDO_RECORD.fullmatch(bare.upper().removeprefix("0X"))
    return None if found is None else "".join((part or "").zfill(8) for part in found.groups())


# --- read back ------------------------------------------------------------------------------------------------------


def segments(position: str, *widths: int) -> list[str]:
    """The segments after the epoch of a position, or of the beginning of a position. Empty for another layout.

    `widths`: the number of digits of each segment, or ANY_WIDTH.
    """
    found = position.split("-")[1:]
    is_fit = len(found) <= len(widths) and all(
        width == ANY_WIDTH or (width == len(segment) and _HEX.fullmatch(segment))
        for segment, width in zip(found, widths, strict=False)
    )
    return found if is_fit else []


def is_second_epoch(position: str) -> bool:
    """Whether a position is in the second of the format's own epochs."""
    return int(position[:EPOCH_DIGITS], 16) % OWN_EPOCHS == int(SECOND_EPOCH, 16)


def declared_epoch(position: str) -> int:
    """The number of a position's declared epoch. The first is 0."""
    return int(position[:EPOCH_DIGITS], 16) // OWN_EPOCHS


def text_of_segment(segment: str) -> str:
    """The text of a segment from `text_segment`."""
    return bytes.fromhex(segment).decode("utf-8", "surrogatepass")


def lsn_of_two_parts(segment: str) -> str:
    """PostgreSQL's LSN, as PostgreSQL writes it."""
    return f"{int(segment[:8], 16):X}/{int(segment[8:], 16):X}"


def lsn_of_three_parts(segment: str) -> str:
    """SQL Server's LSN, as SQL Server writes it."""
    return f"{segment[:8]}:{segment[8:16]}:{segment[16:]}".lower()


def binlog_place(file: str, place: Sequence[str] = ()) -> str:
    """A place in a binlog as MySQL writes it. `place`: the position in the file, and optionally the row.

    Positions have the number of a file, not its name. The name before the number is the default one (see `Notation`).
    """
    numbers = [int(segment, 16) for segment in place]
    name = f"{BINLOG}.{int(file, 16):06d}"
    return name + "".join(f":{at}" for at in numbers[:1]) + "".join(f" row {row}" for row in numbers[1:2] if row)


def within_commit(own: str, commit: str, what: str = "commit") -> str:
    """A place in a log, and the place of its commit if it is different."""
    return own if own == commit else f"{own} ({what} {commit})"
