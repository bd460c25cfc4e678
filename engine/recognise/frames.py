"""Debezium's events in Confluent's frames, as its JSON has them: a zero byte, the number of a schema, the body."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from json import loads
from pathlib import Path
from typing import Any, Final

from engine.decode import connect_avro
from engine.errors import SourceError
from engine.inputs.avro import without_logical_types
from engine.inputs.registry import Unusable, writer_schemas
from engine.recognise.messages import Message
from engine.recognise.wire import UNREAD, body
from engine.spec.model import RegistrySpec, SourceSpec

FRAME: Final = 5
USUAL: Final = range(1, 1 << 24)
"""Numbers of schemas as registries give them; others are known only by somebody's schemas."""


@dataclass(frozen=True)
class SchemaPlace:
    """Where the schemas of frames are: a file, or a registry.

    `of_project`: it is the project's registry, which nobody named for these events.
    """

    file: Path | None = None
    registry: RegistrySpec | None = None
    of_project: bool = False

    def __str__(self) -> str:
        return str(self.file) if self.registry is None else repr(self.registry.url)


@dataclass
class Writers:
    """The schemas of a place, each asked for once, with what each says of rows; None for one that is none of Avro's."""

    place: SchemaPlace
    known: dict[int, tuple[Any, Any] | None] = field(default_factory=dict)

    def learn(self, numbers: Iterable[int]) -> None:
        """Ask for the schemas of these numbers.

        Raises: SpecError, SourceError: they cannot be had.
        """
        wanted = sorted(set(numbers) - self.known.keys())
        file = None if self.place.file is None else str(self.place.file)
        found = writer_schemas(SourceSpec("debezium-avro", "", registry=self.place.registry, schemas=file), wanted)
        self.known |= {number: _writer(found.get(number)) for number in wanted}

    def read(self, data: bytes) -> Any:
        """The body of a frame, and the schema of its rows as Debezium's JSON has it; UNREAD where it cannot be."""
        number = number_of(data)
        writer = None if number is None else self.known.get(number)
        if writer is None:
            return UNREAD, None
        return body(data[FRAME:], writer[0]), writer[1]


def number_of(data: bytes | None) -> int | None:
    """The number of the schema in a frame; None where it is no frame."""
    is_frame = data is not None and len(data) >= FRAME and data[0] == 0
    return int.from_bytes(data[1:FRAME], "big") if data is not None and is_frame else None


def events(
    taken: Sequence[Message | None], writers: Writers, remark: Callable[[str], None] | None, where: Path
) -> list[Any]:
    """The events in messages, as Debezium's JSON has them with schemas; UNREAD for what cannot be read.

    Raises: SpecError, SourceError: the schemas cannot be had, or none of those that are needed is there.
    """
    frames = [data for message in taken if message is not None for data in (message.value, message.key)]
    numbers = {number for data in frames if (number := number_of(data)) is not None}
    writers.learn(numbers)
    missing = sorted(number for number in numbers if writers.known[number] is None)
    if missing:
        listed = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
        told = f"Avro schema {listed}" if len(missing) == 1 else f"Avro schemas {listed}"
        if len(missing) == len(numbers):
            raise SourceError(
                f"Cannot look into {where}: {writers.place} has no {told}, in which its messages are written.",
                "name the registry, or the file, that the writer of these messages used",
            )
        if remark is not None:
            remark(f"{where}: {writers.place} has no {told}; messages written in it are passed over")
    return [_event(message, writers) for message in taken]


def _event(message: Message | None, writers: Writers) -> Any:
    if message is None:
        return UNREAD
    event: dict[str, Any] = {"value": None}
    for part, data in (("value", message.value), ("key", message.key)):
        if data is not None:
            read, schema = writers.read(data)
            if read == UNREAD:
                return UNREAD
            event[part] = {"payload": read, "schema": schema} if part == "value" else read
        elif part == "key" and message.has_key:
            event[part] = None
    return event


def _writer(schema: Any) -> tuple[Any, Any] | None:
    """How a body is read, and what it says of rows; None for what is no Avro schema."""
    import fastavro

    if schema is None or isinstance(schema, Unusable):
        return None
    try:
        parsed = fastavro.parse_schema(without_logical_types(schema))
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType, LookupError, TypeError):
        return None
    rows = connect_avro.row_schema(schema)
    return parsed, None if rows is None else loads(rows)
