"""Finds the format of records: the decoder that accepts most of the records wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from siltstone.engine.decode.event import CHANGE, CONTROL, Event, Message
from siltstone.engine.decode.formats.base64_messages import read_base64
from siltstone.engine.decode.json_value import PARSE_ERRORS, parse, text_of
from siltstone.engine.decode.source_decoder import SourceDecoder
from siltstone.engine.formats import FORMATS, Format, format_of
from siltstone.engine.init.file_sample import Container, Sample, csv_layout_of
from siltstone.engine.init.schema_place import are_frames
from siltstone.engine.inputs.file_signatures import CALLED
from siltstone.engine.schema.control_kinds import FILLER, NULL_MESSAGE
from siltstone.engine.spec.model import SourceSpec

MOST_LOOKED_AT: Final = 1_000
UNNAMED: Final = "\0"
"""The table of changes that do not name theirs."""
PLAIN_ROWS: Final = "plain rows (format rows)"
CSV_ROWS: Final = "plain rows in CSV (format rows)"
_FILLER_BYTES: Final = 48
CANDIDATES: Final = tuple(each for each in FORMATS.values() if each.holds != "rows")
"""The formats that can be recognised. Records of no other format are plain rows."""
FRAMES: Final = next(each for each in CANDIDATES if each.needs_schemas)
OF_BYTES: Final = tuple(each for each in CANDIDATES if each.holds == "messages" and not each.needs_schemas)


@dataclass
class Outcome:
    """The result of decoding messages.

    It has the numbers of messages with changes, with only control events, and with only a null message or a filler
    (`silent`), and the rejected messages by their reasons.
    """

    changes: int = 0
    controls: int = 0
    silent: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    has_filler: bool = False

    @property
    def taken(self) -> int:
        """The number of messages that certainly have the format."""
        return self.changes + self.controls

    @property
    def rejects(self) -> int:
        """The number of messages that the decoder rejects."""
        return self.reasons.total()

    @property
    def is_usable(self) -> bool:
        """Whether at least half of the messages with content have the format."""
        return self.taken > 0 and self.taken >= self.rejects

    @property
    def is_silent(self) -> bool:
        """Whether there are only null messages and fillers."""
        return self.silent > 0 and not self.taken and not self.rejects


class UnknownTables(Mapping[str, None]):
    """Replaces the tables of specs while there are no specs.

    A decoder checks here whether longer names are declared: these names are collected in `found`. Changes that do not
    name their table belong to UNNAMED.
    """

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
    """The number of rejected records, and the most common reason."""
    number = reasons.total()
    return f"{number} {'record is' if number == 1 else 'records are'} rejected: {reasons.most_common(1)[0][0]}"


def best_format(sample: Sample) -> Format | None:
    """The format of the records of a file. Frames are excluded: they cannot be read without their schemas."""
    return best_of((each, messages_of(sample, each)) for each in _candidates(sample))


def best_of(pairs: Iterable[tuple[Format, Sequence[Message]]]) -> Format | None:
    """The format whose decoder accepts the most messages, then rejects the fewest; the first one, if several are equal.

    A decoder that finds changes wins over one that finds only control events.
    """
    best, highest = None, (False, 0, 0)
    for candidate, messages in pairs:
        outcome = outcome_of(messages, candidate)
        rank = (outcome.changes > 0, outcome.taken, -outcome.rejects)
        if outcome.is_usable and rank > highest:
            best, highest = candidate, rank
    return best


def best_of_bytes(messages: Sequence[Message]) -> Format | None:
    """The format of messages of bytes that need no separate schemas."""
    return best_of((each, messages) for each in OF_BYTES)


def are_silent_bytes(messages: Sequence[Message]) -> bool:
    """Whether messages of bytes are only null messages and fillers."""
    return any(outcome_of(messages, each).is_silent for each in OF_BYTES)


def _candidates(sample: Sample) -> Iterator[Format]:
    """The formats that a file of this type can have."""
    return (each for each in CANDIDATES if not each.needs_schemas and sample.container in each.containers)


def messages_of(sample: Sample, form: Format) -> tuple[Message, ...]:
    """The records of a file as messages of a format."""
    return sample.topic_messages() if form.holds == "messages" else sample.events()


def outcome_of(messages: Sequence[Message], candidate: Format, decoder: SourceDecoder | None = None) -> Outcome:
    """The result of decoding the first messages as a format. `decoder`: for frames, a decoder with their schemas."""
    first = messages[:MOST_LOOKED_AT]
    by_line = {message.line: message for message in first}
    kinds: dict[int, tuple[int, Event]] = {}
    for event in (decoder or SourceDecoder(SourceSpec(candidate.name, ""), UnknownTables())).decode(first):
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
            found.reasons[event.reason or "it lacks the marks of the format"] += 1
    return found


_CHANGE, _CONTROL, _SILENT, _REJECT = 3, 2, 1, 0


def _rank(event: Event, message: Message, candidate: Format) -> int:
    """The rank of an event. Of the events of a message, the one with the highest rank counts."""
    is_unmarked = candidate.needs_marks and not candidate.marks.search(message.text)
    if event.kind == CHANGE:
        return _REJECT if is_unmarked else _CHANGE
    if event.kind != CONTROL:
        return _REJECT
    if event.control_kind == NULL_MESSAGE:
        return _SILENT
    if event.control_kind == FILLER:
        return _SILENT if _is_certain_filler(event, message) else _REJECT
    return _REJECT if is_unmarked else _CONTROL


def _is_certain_filler(event: Event, message: Message) -> bool:
    """Whether an event is certainly a filler of DTS's transport: it has a filler's length or coordinates of a topic.

    Otherwise it can be a short text that is base64 by chance.
    """
    has_coordinates = any(part is not None for part in (event.channel, event.kafka_partition, event.kafka_offset))
    return has_coordinates or len(read_base64(message).value or b"") == _FILLER_BYTES


def resembled(sample: Sample) -> tuple[Format, Outcome] | None:
    """The format whose marks most records have although its decoder rejects some of them; None if there is none."""
    for candidate in _candidates(sample):
        messages = messages_of(sample, candidate)[:MOST_LOOKED_AT]
        marked = sum(candidate.marks.search(message.text) is not None for message in messages)
        if marked and marked * 2 >= len(messages) and (outcome := outcome_of(messages, candidate)).rejects:
            return candidate, outcome
    return None


# --- lines that a run rejected --------------------------------------------------------------------------------------


def looks_like(lines: Sequence[str], container: Container = "json") -> str | None:
    """The format of lines of text that were read as a different format; None if it is unknown.

    `container`: the type of the file whose records became these lines.
    """
    first = next(iter(lines), "")
    for magic, name in CALLED.items():
        if first.startswith(magic.decode("utf-8", "replace")):
            return name
    messages = _messages(text.encode("utf-8", "replace") for text in lines if text.strip())
    objects = _messages(text_of(value) for message in messages if (value := _value(message.text)) is not _NO_JSON)
    if container == "json":
        found = best_of((each, objects) for each in CANDIDATES if "json" in each.containers and not each.needs_schemas)
        if found is not None:
            return found.name
    of_typed_records = best_of((each, _unfolded(objects)) for each in CANDIDATES if "json" not in each.containers)
    if of_typed_records is not None:
        return of_typed_records.name
    return _topic_format(messages) or _rows_format(lines, objects)


def _messages(texts: Iterable[bytes]) -> tuple[Message, ...]:
    return tuple(Message("lines", number, text) for number, text in enumerate(texts, 1))


_NO_JSON: Final = object()


def _value(text: bytes) -> Any:
    try:
        return parse(text)
    except PARSE_ERRORS:
        return _NO_JSON


def _unfolded(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Objects with JSON values instead of texts of JSON, because events of Avro files have their parts as text."""
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
    if (found := best_of_bytes(messages)) is not None:
        return found.name
    return FRAMES.name if are_frames(messages[:MOST_LOOKED_AT], None) else None


def _rows_format(lines: Sequence[str], objects: Sequence[Message]) -> str | None:
    if objects and all(message.text.startswith(b"{") for message in objects):
        return None if are_silent_bytes(objects) else PLAIN_ROWS
    others = [line.encode("utf-8", "replace") for line in lines if line.lstrip()[:1] not in ("{", "[")]
    return CSV_ROWS if others and csv_layout_of(others) else None


def other_than(source: SourceSpec, lines: Sequence[str], container: Container = "json") -> str | None:
    """The format of a source's records, if it differs from the spec's format; None if it does not, or is unknown.

    `lines`: the records as text. `container`: as for `looks_like`.
    """
    form = looks_like(lines, container)
    own = format_of(source.format)
    same = {each.name for each in FORMATS.values() if each.decoder == own.decoder}
    return None if form in (same | {PLAIN_ROWS, CSV_ROWS} if own.holds == "rows" else same) else form
