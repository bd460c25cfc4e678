"""The first records of a file of any type, as messages for the decoders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal

from siltstone.engine.decode.csv_texts import CsvTexts
from siltstone.engine.decode.event import Message
from siltstone.engine.decode.json_value import PARSE_ERRORS, parse
from siltstone.engine.errors import SourceError
from siltstone.engine.init.dms_files import names_of_values
from siltstone.engine.init.stored_paths import opened
from siltstone.engine.init.typed_files import TypedRecords, typed_records
from siltstone.engine.inputs.compression import DAMAGED as DAMAGED_STREAM
from siltstone.engine.inputs.compression import plain_stream
from siltstone.engine.inputs.csv_records import BYTE_ORDER_MARK, CsvLayout, columns_of, split_records, values_of
from siltstone.engine.inputs.file_signatures import AVRO, COMPRESSIONS, LONGEST, PARQUET
from siltstone.engine.inputs.line_files import BLANKS, CHUNK_BYTES
from siltstone.engine.inputs.listing import is_compressed
from siltstone.engine.storage import problem_in

Container = Literal["json", "csv", "avro", "parquet", "document", "text", "empty"]

MOST_BYTES: Final = 64 << 20
MOST_RECORDS: Final = 100_000
LOOKED_AT: Final = 200
DELIMITERS: Final = (b",", b";", b"\t", b"|")
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_DAMAGED: Final = (*DAMAGED_STREAM, LookupError, TypeError, ArithmeticError, MemoryError, RecursionError)
"""The errors that a damaged file can cause."""
_OPENING: Final = (b"{", b"[")


@dataclass(frozen=True)
class Sample:
    """The first records of a file.

    `lines`: the lines of a text file; for CSV, the rows as JSON. `typed`: the records of an Avro or Parquet file.
    `is_whole`: there are no more records. CSV: `delimiter`; `header`: names for the columns, if the file has no header.
    """

    path: Path
    container: Container
    lines: tuple[Message, ...] = ()
    typed: TypedRecords | None = None
    is_whole: bool = True
    delimiter: str = ","
    header: tuple[str, ...] = ()

    @property
    def has_records(self) -> bool:
        """Whether the file has records."""
        return bool(self.lines) or (self.typed is not None and self.typed.number > 0)

    def rows(self) -> tuple[Message, ...]:
        """The records as plain rows."""
        return self.lines if self.typed is None else self.typed.rows

    def topic_messages(self) -> tuple[Message, ...]:
        """The records as messages of bytes in base64."""
        if self.container == "csv":
            return ()
        return self.lines if self.typed is None else self.typed.topic_messages

    def events(self) -> tuple[Message, ...]:
        """The records as events of a format that uses such files."""
        if self.container == "csv":
            return ()
        return self.lines if self.typed is None else self.typed.events


def read_sample(path: Path) -> Sample:
    """The first records of a file.

    Raises: SourceError: it cannot be read.
    """
    try:
        with opened(path) as file:
            magic = file.read(LONGEST)
        if magic.startswith(AVRO):
            return _typed(path, "avro")
        if magic.startswith(PARQUET):
            return _typed(path, "parquet")
        _check_name(path, magic)
        with opened(path) as file:
            return _of_text(path, _records(file, path))
    except SourceError:
        raise
    except _DAMAGED as error:
        if (form := _other_form(path, magic)) is not None:
            message = f"it is neither in the frame format of {form} nor in Hadoop's blocks; raw {form} is not read"
            raise SourceError(f"Cannot read {path}: {message}.", f"pack it in {form}'s frame format") from error
        problem = problem_in(str(error))
        reason = problem.reason if problem else str(error).splitlines()[0] if str(error) else type(error).__name__
        hint = problem.hint if problem else "check the file and the permissions"
        raise SourceError(f"Cannot read {path}: {reason}.", hint) from error


def _typed(path: Path, container: Literal["avro", "parquet"]) -> Sample:
    records = typed_records(path, container)
    return Sample(path, container, typed=records, is_whole=records.is_whole)


def _other_form(path: Path, magic: bytes) -> str | None:
    """The compression in a file's name whose frame format the file lacks; only compressions with several forms."""
    named = (each for each in COMPRESSIONS if each.has_other_forms and path.name.endswith(each.endings))
    return next((each.name for each in named if not magic.startswith(each.begins)), None)


def _check_name(path: Path, magic: bytes) -> None:
    """Check that the name of a file fits its compression, because a run decides by the name, and that it is UTF-8.

    Raises: SourceError.
    """
    for each in COMPRESSIONS:
        is_packed_so, is_named_so = magic.startswith(each.begins), path.name.endswith(each.endings)
        if is_packed_so and not each.endings:
            raise SourceError(
                f"Cannot read {path}: it is compressed by {each.name}, which siltstone does not decompress.",
                "decompress it",
            )
        if is_packed_so and not is_named_so:
            named = " or ".join(each.endings)
            message = f"it is compressed by {each.name}, and its name does not end in {named}: a run reads it as text"
            raise SourceError(f"Cannot read {path}: {message}.", f"rename it to {path.name}{each.endings[0]}")
        if is_named_so and not is_packed_so and magic and not each.has_other_forms:
            message = f"its name ends in {path.suffix}, but it is not compressed by {each.name}"
            raise SourceError(f"Cannot read {path}: {message}.", f"rename it without {path.suffix}")
    if magic.startswith(_UTF16):
        raise SourceError(f"Cannot read {path}: it is text in UTF-16.", "write it in UTF-8: iconv -f UTF-16 -t UTF-8")


# --- text -----------------------------------------------------------------------------------------------------------


def _records(file: BinaryIO, path: Path) -> Iterator[Message]:
    """The lines of a text file that are not blank."""
    stream = plain_stream(path.name, file) if is_compressed(path.name) else file
    for number, line in enumerate(_lines(stream), 1):
        bare = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
        if bare.strip(BLANKS):
            yield Message(str(path), number, bare)


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    rest = b""
    while data := stream.read(CHUNK_BYTES):
        *lines, rest = (rest + data).split(b"\n")
        yield from lines
    if rest:
        yield rest


def _of_text(path: Path, records: Iterator[Message]) -> Sample:
    """A sample of lines of JSON, of CSV, or of other text."""
    lines, is_whole = _first(records)
    if not lines:
        return Sample(path, "empty")
    if _are_json(lines):
        return Sample(path, "json", lines, is_whole=is_whole)
    if is_whole and lines[0].text.lstrip()[:1] in _OPENING and _is_json(b"\n".join(line.text for line in lines)):
        return Sample(path, "document")
    layout = csv_layout_of([line.text for line in lines], path)
    if layout is None:
        return Sample(path, "text", lines, is_whole=is_whole)
    rows = _csv_rows(path, [line.text for line in lines], layout)
    header = () if layout.has_header else layout.columns
    return Sample(path, "csv", rows, is_whole=is_whole, delimiter=layout.delimiter.decode(), header=header)


def _first(records: Iterator[Message]) -> tuple[tuple[Message, ...], bool]:
    """The first records, and whether there are no more."""
    taken: list[Message] = []
    size = 0
    for record in records:
        if len(taken) == MOST_RECORDS or size > MOST_BYTES:
            return tuple(taken), False
        size += len(record.text)
        taken.append(record)
    return tuple(taken), True


def _are_json(lines: Sequence[Message]) -> bool:
    """Whether at least half of the lines are JSON, and at least one is an object or an array."""
    broken = 0
    has_parts = False
    for number, line in enumerate(lines, 1):
        try:
            has_parts = isinstance(parse(line.text), dict | list) or has_parts
        except PARSE_ERRORS:
            broken += 1
        if number == LOOKED_AT and broken * 2 > number:
            return False
    return has_parts and broken * 2 <= len(lines)


def _is_json(text: bytes) -> bool:
    try:
        parse(text)
    except PARSE_ERRORS:
        return False
    return True


def csv_layout_of(lines: Sequence[bytes], path: Path | None = None) -> CsvLayout | None:
    """The layout of a CSV file, in which each record has as many values as the first one; None for other text.

    A file has a header, unless it is a file of AWS DMS without one. `lines`: the first lines that are not blank.
    """
    text = b"".join(b"%b\n" % line for line in lines[:LOOKED_AT])
    for delimiter in DELIMITERS:
        names, line_end = columns_of(text, delimiter)
        named = names_of_values(path, names) if path is not None and len(names) > 1 else ()
        if named:
            return CsvLayout(named, delimiter, line_end, has_header=False)
        layout = CsvLayout(tuple(names), delimiter, line_end)
        is_header = len(names) > 1 and all(name.strip() for name in names) and len(set(names)) == len(names)
        rows = [values_of(_readable(record), layout) for record in split_records(text, layout, is_end=True)[0][1:]]
        if is_header and rows and all(row and len(row) == len(names) for row in rows[:-1] or rows):
            return layout
    return None


def _readable(record: bytes) -> bytes:
    return record.decode("utf-8", "replace").encode()


def _csv_rows(path: Path, lines: Sequence[bytes], layout: CsvLayout) -> tuple[Message, ...]:
    records = split_records(b"".join(b"%b\n" % line for line in lines), layout, is_end=True)[0][layout.has_header :]
    texts = CsvTexts(layout)
    made = (texts.message(Message(str(path), number, record)) for number, record in enumerate(records, 1))
    return tuple(message for message in made if message.problem is None)
