"""Text files as numbered lines, in pieces that tasks read in parallel. Each line has its number in its file.

A CSV file is one piece, and its records count as lines.

A first pass counts the lines of each piece, so that the second pass knows the number of every line without a sort. Both
passes read a file up to its size when it was listed, and compare a hash of the bytes. So lines that are appended
meanwhile wait for the next run, and it is an error if a file changes while it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Final

import xxhash

from siltstone.engine.errors import SourceError
from siltstone.engine.inputs.compression import DAMAGED, plain_stream
from siltstone.engine.inputs.csv_records import BYTE_ORDER_MARK, CsvLayout, split_records
from siltstone.engine.inputs.file_store import changed, shorter, store_of, unreadable
from siltstone.engine.inputs.listing import InputFile, is_compressed
from siltstone.engine.storage import StoreSettings

PIECE_BYTES: Final = 16 << 20
CHUNK_BYTES: Final = 1 << 20
BLANKS: Final = b" \t\r"
"""What a line may hold and still be blank: the line ends of Windows leave a carriage return."""


@dataclass(frozen=True)
class Piece:
    """The lines of a file that begin at the bytes from `start` to `end`. A compressed file or a CSV file is one piece.

    `csv`: the layout of a CSV file. `store`: the settings of its store. Known after counting: `first`, the number of
    its first line (1-based); `lines`, the number of its lines; `filled`, how many of them are not blank; `digest`, the
    hash of its bytes.
    """

    path: str
    start: int
    end: int
    size: int
    first: int = 1
    lines: int = 0
    filled: int = 0
    digest: int = 0
    csv: CsvLayout | None = None
    store: StoreSettings = field(default=(), repr=False)

    @property
    def blanks(self) -> bytes:
        """What a line may hold and still be blank."""
        return BLANKS if self.csv is None else self.csv.blanks


def pieces_of(file: InputFile, most: int = PIECE_BYTES, csv: CsvLayout | None = None) -> list[Piece]:
    """The pieces of a file: one for a compressed file or a CSV file, which cannot be read in parallel."""
    if is_compressed(file.path) or csv is not None:
        return [Piece(file.path, 0, file.size, file.size, csv=csv, store=file.store)]
    starts = range(0, file.size, most)
    return [Piece(file.path, at, min(at + most, file.size), file.size, store=file.store) for at in starts]


def counted(piece: Piece) -> Piece:
    """The piece with its number of lines and the hash of its bytes.

    Raises: SourceError: the file cannot be read to its end.
    """
    lines = filled = 0
    digest, blanks = xxhash.xxh3_64(), piece.blanks
    for chunk in _chunks(piece, digest):
        lines += len(chunk)
        filled += sum(1 for line in chunk if line.strip(blanks))
    return replace(piece, lines=lines, filled=filled, digest=_signed(digest.intdigest()))


def numbered(pieces: Iterable[Piece]) -> list[Piece]:
    """Counted pieces with the numbers of their first lines. The pieces of a file must come in their order."""
    found: list[Piece] = []
    next_line: dict[str, int] = {}
    for piece in pieces:
        first = next_line.get(piece.path, 1)
        next_line[piece.path] = first + piece.lines
        found.append(replace(piece, first=first))
    return found


def lines_of(piece: Piece, after_line: int = 0) -> Iterator[list[tuple[int, bytes]]]:
    """The lines of a counted piece after `after_line` that are not blank, with their numbers, as lists.

    Raises: SourceError: the file changed since it was counted, or cannot be read.
    """
    number = piece.first
    digest, blanks = xxhash.xxh3_64(), piece.blanks
    for chunk in _chunks(piece, digest):
        yield [(at, line) for at, line in enumerate(chunk, number) if at > after_line and line.strip(blanks)]
        number += len(chunk)
    if _signed(digest.intdigest()) != piece.digest:
        raise changed(piece.path)


def _chunks(piece: Piece, digest: xxhash.xxh3_64) -> Iterator[list[bytes]]:
    try:
        with store_of(piece.path, piece.store).open(piece.path) as file:
            is_split = not is_compressed(piece.path) and piece.csv is None
            read = _plain_lines if is_split else _streamed_lines
            yield from _without_header(piece, read(piece, file, digest))
    except OSError as error:
        raise unreadable(piece.path, error) from error


def _plain_lines(piece: Piece, file: BinaryIO, digest: xxhash.xxh3_64) -> Iterator[list[bytes]]:
    """Lists of the lines that begin in the piece. The last one may end after the piece does."""
    at, stop = (_next_line(file, place, piece) for place in (piece.start, piece.end))
    file.seek(at)
    rest = b""
    while at < stop:
        data = file.read(min(CHUNK_BYTES, stop - at))
        if not data:
            raise shorter(piece.path, at)
        at += len(data)
        digest.update(data)
        *lines, rest = (rest + data).split(b"\n")
        yield lines
    if rest:
        yield [rest]


def _next_line(file: BinaryIO, place: int, piece: Piece) -> int:
    """The place of the first line that begins at `place` or after it; the end of the file if there is none."""
    if place == 0:
        return 0
    at = place - 1
    file.seek(at)
    while at < piece.size:
        data = file.read(min(CHUNK_BYTES, piece.size - at))
        if not data:
            raise shorter(piece.path, at)
        found = data.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(data)
    return piece.size


def _streamed_lines(piece: Piece, file: BinaryIO, digest: xxhash.xxh3_64) -> Iterator[list[bytes]]:
    """Lists of the lines, or the records of CSV, of a whole file."""
    done = 0
    rest = b""
    try:
        stream = plain_stream(piece.path, file)
        while data := stream.read(max(CHUNK_BYTES, len(rest))):  # so that a long record is not split at every chunk
            digest.update(data)
            lines, rest = _split(piece, rest + data)
            yield lines
            done += len(lines)
    except DAMAGED as error:
        is_cut = isinstance(error, EOFError) or "Truncated" in str(error)
        what = "the compressed stream ends early" if is_cut else "the compressed stream is damaged"
        raise SourceError(
            f"Cannot read {piece.path}: {what} after line {done}. It was cut short, or is still being written. Nothing"
            " of this batch was taken.",
            "deliver the whole file and retry, or move it away",
        ) from error
    if rest:
        yield [rest] if piece.csv is None else split_records(rest, piece.csv, is_end=True)[0]


def _split(piece: Piece, text: bytes) -> tuple[list[bytes], bytes]:
    """The lines of a text, and the rest after the last line end."""
    if piece.csv is not None:
        return split_records(text, piece.csv)
    *lines, rest = text.split(b"\n")
    return lines, rest


def _without_header(piece: Piece, chunks: Iterator[list[bytes]]) -> Iterator[list[bytes]]:
    """The lines without the byte order mark of a text file, and without the header of a CSV file."""
    is_first = piece.start == 0
    for lines in chunks:
        if lines and is_first:
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
            del lines[: piece.csv is not None and piece.csv.has_header]
            is_first = False
        yield lines


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number
