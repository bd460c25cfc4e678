"""Which format records have: the decoders are asked, and the one that takes most of the records wins."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from engine.decode.event import CHANGE, CONTROL, Event, Message
from engine.decode.formats.base64_messages import read_base64
from engine.decode.json_value import MISFIT, parse, text_of
from engine.decode.registry import SourceDecoder
from engine.init.file_sample import Container, Sample, delimiter_of
from engine.init.schema_place import are_frames
from engine.inputs.magic import CALLED
from engine.schema.control_kinds import FILLER, NULL_MESSAGE
from engine.spec.model import SourceSpec

MOST_LOOKED_AT: Final = 1_000
ROWS: Final = "rows"
UNNAMED: Final = "\0"
"""The table of changes that do not name theirs."""
FRAMES: Final = "debezium-avro"
DTS: Final = "dts-avro"
PLAIN_ROWS: Final = "plain rows (format rows)"
CSV_ROWS: Final = "plain rows in CSV (format rows)"
OF_TOPICS: Final = ("debezium-json", "debezium-avro", "canal-json", "dts-avro", "shareplex-json")
"""Formats of messages, of which some may be null."""
_FILLER_BYTES: Final = 48
_SAME_TEXT: Final = {ROWS: (PLAIN_ROWS, CSV_ROWS), "datastream-avro": ("datastream-json",)}
"""What else the records of a format look like as text."""


@dataclass(frozen=True)
class Candidate:
    """One format. `containers`: what its files are written in. `marks`: what the text of its changes has.

    `looks_for`: the same in words. `order`: in which order its changes are. `needs_marks`: its control events, too.
    """

    format: str
    containers: tuple[Container, ...]
    marks: re.Pattern[bytes]
    looks_for: str
    order: str
    needs_marks: bool = False


_BY_LOG: Final = "the source's log: position, LSN or SCN"
_MESSAGES: Final[tuple[Container, ...]] = ("json", "text", "avro", "parquet")
_DEBEZIUM: Final = re.compile(rb'(?s)\A(?=.*"op"\s*:)(?=.*"source"\s*:\s*\{)')
_DATASTREAM: Final = re.compile(rb'(?s)\A(?=.*"source_metadata"\s*:)(?=.*"payload"\s*:)')
_OF_DATASTREAM: Final[tuple[tuple[str, tuple[Container, ...]], ...]] = (
    ("datastream-json", ("json",)),
    ("datastream-avro", ("avro",)),
)
_NOTHING: Final = re.compile(rb"(?!)")
CANDIDATES: Final = (
    Candidate("debezium-json", ("json",), _DEBEZIUM, "op and a source block around before and after", _BY_LOG),
    Candidate(
        "canal-json",
        ("json",),
        re.compile(rb'"(?:isDdl|mysqlType|MHEARTBEAT)\\?"'),
        "database, table, type and isDdl or mysqlType",
        "where the messages are: partition and offset, else file and line",
        needs_marks=True,  # rows can have a column `type`, too
    ),
    Candidate(
        "spanner-json",
        ("json",),
        re.compile(rb'(?is)"data_?change_?record\\?"|\A(?=.*"mods\\?")(?=.*"table_?name\\?")'),
        "data_change_record, or mods with a table_name",
        "commit time in nanoseconds, transaction, record in it",
    ),
    Candidate(
        "shareplex-json",
        ("json",),
        re.compile(rb'(?s)"meta\\?"\s*:\s*\{.*"op\\?"\s*:'),
        "meta with an op, and data",
        "SCN, transaction and operation, if all have one, else where the operations are",
    ),
    *(
        Candidate(
            name,
            containers,
            _DATASTREAM,
            "source_metadata and a payload",
            "the source's log: binlog position, SCN, or time and LSN",
        )
        for name, containers in _OF_DATASTREAM
    ),
    Candidate(FRAMES, _MESSAGES, _NOTHING, "messages in base64 or bytes, in Confluent's frames", _BY_LOG),
    Candidate(
        DTS,
        _MESSAGES,
        _NOTHING,
        "messages in base64 or bytes, each a record of DTS",
        "the source's log: sourcePosition, then the record's id",
    ),
)
BY_NAME: Final = {candidate.format: candidate for candidate in CANDIDATES}


@dataclass
class Outcome:
    """What a decoder makes of messages: how many hold changes, or control events only, or nothing but a null message or
    a filler (`silent`); and how many are rejected, and why."""

    changes: int = 0
    controls: int = 0
    silent: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    has_filler: bool = False

    @property
    def taken(self) -> int:
        """How many messages are of the format for certain."""
        return self.changes + self.controls

    @property
    def rejects(self) -> int:
        """How many messages the decoder rejects."""
        return self.reasons.total()

    @property
    def is_usable(self) -> bool:
        """Whether at least half of the messages that hold something are of the format."""
        return self.taken > 0 and self.taken >= self.rejects

    @property
    def is_silent(self) -> bool:
        """Whether there are only null messages and fillers."""
        return self.silent > 0 and not self.taken and not self.rejects


class UnknownTables(Mapping[str, None]):
    """The tables of specs while none is known: a decoder asks for the longer names that it would use if they were
    declared, which are kept. Changes that do not name their table belong to UNNAMED."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str) and name.count(".") > 1:
            self.found.add(name)
        return name == UNNAMED

    def __getitem__(self, name: str) -> None:
        if name != UNNAMED:
            raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter((UNNAMED,))

    def __len__(self) -> int:
        return 1


def rejects_in_words(reasons: Counter[str]) -> str:
    """How many records are rejected, and the most common reason."""
    number = reasons.total()
    return f"{number} {'record is' if number == 1 else 'records are'} rejected: {reasons.most_common(1)[0][0]}"


def best_format(sample: Sample) -> Candidate | None:
    """The format of the records of a file, but for frames, which are read with their schemas only."""
    return best_of((each, messages_of(sample, each.format)) for each in _candidates(sample))


def best_of(pairs: Iterable[tuple[Candidate, Sequence[Message]]]) -> Candidate | None:
    """The format whose decoder takes most of the messages, and rejects the fewest; the first of equal ones. A decoder
    that finds changes comes before one that finds control events only."""
    best, highest = None, (False, 0, 0)
    for candidate, messages in pairs:
        outcome = outcome_of(messages, candidate)
        rank = (outcome.changes > 0, outcome.taken, -outcome.rejects)
        if outcome.is_usable and rank > highest:
            best, highest = candidate, rank
    return best


def _candidates(sample: Sample) -> Iterator[Candidate]:
    """The formats that such a file can have."""
    return (each for each in CANDIDATES if each.format != FRAMES and sample.container in each.containers)


def messages_of(sample: Sample, name: str) -> tuple[Message, ...]:
    """The records of a file as messages of a format."""
    return sample.topic_messages() if name in (FRAMES, DTS) else sample.events()


def outcome_of(messages: Sequence[Message], candidate: Candidate, decoder: SourceDecoder | None = None) -> Outcome:
    """What the decoder of a format makes of the first of the messages. `decoder`: of frames, it knows their schemas."""
    first = messages[:MOST_LOOKED_AT]
    by_line = {message.line: message for message in first}
    kinds: dict[int, tuple[int, Event]] = {}
    for event in (decoder or SourceDecoder(SourceSpec(candidate.format, ""), UnknownTables())).decode(first):
        rank = _rank(event, by_line[event.line], candidate)
        if event.line not in kinds or rank > kinds[event.line][0]:
            kinds[event.line] = rank, event
    found = Outcome()
    for rank, event in kinds.values():
        found.changes += rank == _CHANGE
        found.controls += rank == _CONTROL
        found.silent += rank == _SILENT
        found.has_filler |= rank == _SILENT and event.control_kind == FILLER
        if rank == _REJECT:
            found.reasons[event.reason or "it has not the marks of the format"] += 1
    return found


_CHANGE, _CONTROL, _SILENT, _REJECT = 3, 2, 1, 0


def _rank(event: Event, message: Message, candidate: Candidate) -> int:
    """What one event of a message is: that with the highest rank counts."""
    if event.kind == CHANGE:
        return _CHANGE
    if event.kind != CONTROL:
        return _REJECT
    if event.control_kind == NULL_MESSAGE:
        return _SILENT
    if event.control_kind == FILLER:
        return _SILENT if _is_certain_filler(event, message) else _REJECT
    return _REJECT if candidate.needs_marks and not candidate.marks.search(message.text) else _CONTROL


def _is_certain_filler(event: Event, message: Message) -> bool:
    """Whether it is a filler of DTS's transport, and no short text that is base64 by chance: it has the length of a
    filler, or the coordinates of a topic."""
    has_coordinates = any(part is not None for part in (event.channel, event.kafka_partition, event.kafka_offset))
    return has_coordinates or len(read_base64(message).value or b"") == _FILLER_BYTES


def resembled(sample: Sample) -> tuple[Candidate, Outcome] | None:
    """The format whose marks most records have, though its decoder rejects them; None where there is none."""
    for candidate in _candidates(sample):
        messages = messages_of(sample, candidate.format)[:MOST_LOOKED_AT]
        marked = sum(candidate.marks.search(message.text) is not None for message in messages)
        if marked and marked * 2 >= len(messages) and (outcome := outcome_of(messages, candidate)).rejects:
            return candidate, outcome
    return None


# --- lines that a run could not take --------------------------------------------------------------------------------


def looks_like(lines: Sequence[str], container: Container = "json") -> str | None:
    """The format of lines of text that were read as another one; None where it is unknown. `container`: what held the
    records that became these lines."""
    first = next(iter(lines), "")
    for magic, name in CALLED.items():
        if first.startswith(magic.decode("utf-8", "replace")):
            return name
    messages = _messages(text.encode("utf-8", "replace") for text in lines if text.strip())
    objects = _messages(text_of(value) for message in messages if (value := _value(message.text)) is not _NO_JSON)
    in_avro = BY_NAME["datastream-avro"]
    if container == "json":
        found = best_of((each, objects) for each in CANDIDATES if "json" in each.containers and each.format != FRAMES)
        if found is not None:
            return found.format
    if outcome_of(_unfolded(objects), in_avro).is_usable:
        return in_avro.format
    return _topic_format(messages) or _rows_format(lines, objects)


def _messages(texts: Iterable[bytes]) -> tuple[Message, ...]:
    return tuple(Message("lines", number, text) for number, text in enumerate(texts, 1))


_NO_JSON: Final = object()


def _value(text: bytes) -> Any:
    try:
        return parse(text)
    except MISFIT:
        return _NO_JSON


def _unfolded(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Objects of which texts that hold JSON are replaced with what they hold: so are events of Avro files as text."""
    values = (_value(message.text) for message in messages)
    return _messages(
        text_of({name: _opened(field) for name, field in value.items()}) for value in values if isinstance(value, dict)
    )


def _opened(value: Any) -> Any:
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    inside = _value(value.encode("utf-8", "replace"))
    return value if inside is _NO_JSON else inside


def _topic_format(messages: Sequence[Message]) -> str | None:
    """The format of messages of bytes."""
    if outcome_of(messages, BY_NAME[DTS]).is_usable:
        return DTS
    return FRAMES if are_frames(messages[:MOST_LOOKED_AT], None) else None


def _rows_format(lines: Sequence[str], objects: Sequence[Message]) -> str | None:
    if objects and all(message.text.startswith(b"{") for message in objects):
        return None if outcome_of(objects, BY_NAME[DTS]).is_silent else PLAIN_ROWS
    others = [f"{line}\n" for line in lines if line.lstrip()[:1] not in ("{", "[")]
    return CSV_ROWS if others and delimiter_of(others) else None


def other_than(source: SourceSpec, lines: Sequence[str], container: Container = "json") -> str | None:
    """The format of a source's records, as text, where it is another one than the spec says; None where it is not, or
    unknown. `container`: as for `looks_like`."""
    form = looks_like(lines, container)
    return None if form in {source.format, *_SAME_TEXT.get(source.format, ())} else form
