"""Debezium events as Avro in Confluent's frames: a zero byte, the id of the writer's schema (4 bytes), the body.

    {"topic": "srv.shop.items", "partition": 0, "offset": 7, "key": "AAAAAAEC", "value": "AAAAAAIA..."}

    https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/
    https://debezium.io/documentation/reference/stable/configuration/avro.html

`base64_messages` lists the forms of lines. Schemas come from a registry or from a file (`source.schemas`). A body is
read with the schema that wrote it. Its envelope is then decoded like a JSON envelope, with the same positions
(`debezium_positions`). Bytes become base64, as Debezium's JSON converter writes them.

The schema of rows and keys is the schema of the registry, written as the list of columns that
`engine.decode.file_schema` describes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from siltstone.engine.decode import connect_avro
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import Event, Message, rejected
from siltstone.engine.decode.event_batch import signed_hash
from siltstone.engine.decode.event_schemas import key_columns, row_columns
from siltstone.engine.decode.file_schema import file_keys, file_schema
from siltstone.engine.decode.formats.avro_values import UNREADABLE, BodyReader, UnfitBodyError
from siltstone.engine.decode.formats.base64_messages import Base64Message, read_base64
from siltstone.engine.decode.formats.debezium_envelope import WRONG_TYPE, Line, line_of
from siltstone.engine.decode.formats.debezium_event import Described, EventBuilder, Record
from siltstone.engine.decode.json_value import PARSE_ERRORS
from siltstone.engine.inputs.schema_registry import NO_SCHEMA, Unusable, fetch, schemas_in_file, session_of
from siltstone.engine.spec.model import SourceSpec

FRAME: Final = 5
VALUE: Final = "value"
KEY: Final = "key"


class _UnreadError(Exception):
    """A frame cannot be read. The text is the reason."""


class _Writer(NamedTuple):
    """One schema: the reader of its bodies, and the schemas of rows and keys in it."""

    reader: BodyReader
    row: Described | None
    key_schema: str


class _Writers:
    """The schemas of a source, by their ids. A schema of a registry is fetched when the first body needs it.

    Raises: SpecError, SourceError: the schemas cannot be loaded.
    """

    def __init__(self, source: SourceSpec) -> None:
        self._source = source
        self._in_file = None if source.schemas is None else schemas_in_file(source.schemas)
        self._known: dict[int, _Writer | Unusable | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_known": {}}  # each worker builds its own readers: they hold functions

    def of(self, number: int) -> _Writer | Unusable | None:
        """A schema, or why it is unusable; None if its id is unknown."""
        if number not in self._known:
            self._known[number] = _writer(self._schema(number))
        return self._known[number]

    def _schema(self, number: int) -> Any:
        if self._in_file is not None:
            return self._in_file.get(number)
        assert self._source.registry is not None  # the spec ensures it
        with session_of(self._source.registry) as session:
            return fetch(session, self._source.registry, number)


def _writer(schema: Any) -> _Writer | Unusable | None:
    if schema is None or isinstance(schema, Unusable):
        return schema
    try:
        rows, keys = connect_avro.row_schema(schema), connect_avro.key_schema(schema)
        columns = {} if rows is None else row_columns(rows)
        row = file_schema(columns) if columns else rows
        described = None if row is None else Described(row, signed_hash(row.encode()))
        return _Writer(BodyReader(schema), described, file_keys(key_columns(keys)))
    except UNREADABLE:
        return Unusable(NO_SCHEMA)


class DebeziumAvroDecoder:
    """Decodes the messages of one source."""

    def __init__(self, source: SourceSpec, declared: Declared) -> None:
        self._builder = EventBuilder(source, declared)
        self._writers = _Writers(source)

    def events(self, message: Message) -> Sequence[Event]:
        """The event of a message."""
        return [self._event(message)]

    def source_block(self, text: bytes) -> Mapping[str, Any]:
        """The complete source block of the event in a message; empty if there is none. Epoch rules use it."""
        value = read_base64(Message("", 0, text)).value
        try:
            event = None if value is None else self._body(VALUE, value)[0]
        except _UnreadError:
            return {}
        source = event.get("source") if isinstance(event, dict) else None
        return source if isinstance(source, dict) else {}

    def _event(self, message: Message) -> Event:
        try:
            return self._builder.event(message, self._record(read_base64(message)))
        except _UnreadError as why:
            return rejected(message, str(why))

    def _record(self, message: Base64Message) -> Record:
        """The record in a message.

        Raises: _UnreadError.
        """
        if message.problem is not None:
            raise _UnreadError(message.problem)
        value, row = (None, None) if message.value is None else self._value(message.value)
        key, key_schema = (None, None) if message.key is None else self._key(message.key)
        fields = {
            VALUE: value,
            KEY: key,
            "headers": None if message.headers is None else msgspec.Raw(message.headers),
            "topic": message.topic,
            "partition": message.partition,
            "offset": message.offset,
        }
        line, is_fit = _line(fields)
        return Record(line, lambda: fields, None if is_fit else WRONG_TYPE, row, key_schema)

    def _value(self, frame: bytes) -> tuple[Any, Described | None]:
        value, writer = self._body(VALUE, frame)
        return value, writer.row

    def _key(self, frame: bytes) -> tuple[Any, str]:
        key, writer = self._body(KEY, frame)
        return key, writer.key_schema

    def _body(self, part: str, frame: bytes) -> tuple[Any, _Writer]:
        """The value of the body in a frame, and its schema. `part`: `value` or `key` of the message.

        Raises: _UnreadError.
        """
        number = _number(part, frame)
        writer = self._writers.of(number)
        if writer is None:
            raise _UnreadError(f"the {part}: schema {number} is not known")
        if isinstance(writer, Unusable):
            raise _UnreadError(f"the {part}: schema {number} {writer.reason}")
        if part == VALUE and not writer.reader.is_record:
            raise _UnreadError(f"the {part}: schema {number} does not describe a record")
        try:
            return writer.reader.read(frame[FRAME:]), writer
        except UnfitBodyError:
            raise _UnreadError(f"the {part}: schema {number} does not fit the body") from None


def _number(part: str, frame: bytes) -> int:
    if not frame:
        raise _UnreadError(f"the {part}: empty instead of a Confluent frame")
    if frame[0]:
        raise _UnreadError(f"the {part}: not a Confluent frame: its first byte is 0x{frame[0]:02X}")
    if len(frame) < FRAME:
        raise _UnreadError(f"the {part}: a truncated Confluent frame")
    return int.from_bytes(frame[1:FRAME], "big")


def _line(fields: dict[str, Any]) -> tuple[Line[Any], bool]:
    try:
        return msgspec.convert(fields, Line[Any]), True
    except PARSE_ERRORS:
        return line_of(fields)
