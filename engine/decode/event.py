"""The input and output of a decoder: messages, and changes, control events and rejects.

Times are microseconds since 1970-01-01T00:00:00Z. Images and keys are JSON text (bytes, UTF-8), exactly as in the
message. Their values are converted later, for all changes of a table at once.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Final, Literal, TypeVar

import msgspec

from siltstone.engine.schema.control_kinds import UPDATE_BEFORE

CHANGE: Final = "change"
CONTROL: Final = "control"
REJECT: Final = "reject"
Kind = Literal["change", "control", "reject"]
UPDATE_AFTER: Final = "update_after"
"""The `control_kind` of an update that lacks its row before, which is an event of its own (`UPDATE_BEFORE`)."""
HALVES: Final = (UPDATE_BEFORE, UPDATE_AFTER)
"""The kinds of events that a later step joins to one change."""


class Message(msgspec.Struct, gc=False):
    """One record of a source, its place, and facts about its file.

    `text` is the record: a line of a text file, or the JSON text of a typed record. `row_schema` describes the columns
    of a typed file, as JSON text. `problem` is a defect of the record that its text does not show. `is_last`: it is the
    last record of its file. `after_gap`: the file before this one was not read.
    """

    file: str
    line: int
    text: bytes
    row_schema: str | None = None
    problem: str | None = None
    is_last: bool = False
    after_gap: bool = False


class Announced(msgspec.Struct, gc=False):
    """A change's own facts about its transaction: its records, its partitions, and the change's place in it."""

    size: int | None = None
    partitions: int | None = None
    partition: str | None = None
    is_last: bool | None = None


class Event(msgspec.Struct, gc=False, kw_only=True):
    """One event of a source. Read it as a `Change`, a `Control` or a `Reject`.

    `file` and `line` are the place of its message. `text` is that message (None for the second and later events of one
    message). `key`, `before`, `after`, `old_key` and `new_key` are JSON text. `row_schema` and `key_schema` describe
    their columns in the form of the format. `is_whole`: a column that the row lacks is null, not unknown. `log_file`:
    the name of the source's log file whose number is in `position`. `columns` summarizes the columns of other changes
    (`columns_seen`).

    Python creates a dictionary for calls with more than 15 arguments. So decoders set the other fields afterwards,
    which takes a third of the time.
    """

    file: str
    line: int
    text: bytes | None
    kind: Kind
    reason: str | None = None
    connector: str | None = None
    source: str | None = None
    table: str | None = None
    op: str | None = None
    origin: str | None = None
    key: bytes | None = None
    before: bytes | None = None
    after: bytes | None = None
    row_schema: str | None = None
    key_schema: str | None = None
    schema_hash: int | None = None
    position: str | None = None
    commit_us: int | None = None
    ingest_us: int | None = None
    event_id: str | None = None
    tx_id: str | None = None
    tx_order: int | None = None
    old_key: bytes | None = None
    new_key: bytes | None = None
    channel: str | None = None
    kafka_partition: int | None = None
    kafka_offset: int | None = None
    control_kind: str | None = None
    control: bytes | None = None
    announced: Announced | None = None
    is_whole: bool = False
    log_file: str | None = None
    columns: bytes | None = None


class Change(Event, gc=False, kw_only=True):
    """A row changed, or was read by a snapshot."""

    kind: Kind = CHANGE


class Control(Event, gc=False, kw_only=True):
    """An event of the source that changes no row. `control_kind` is its kind (`engine.schema.control_kinds`), `control`
    is its JSON text."""

    kind: Kind = CONTROL


class Reject(Event, gc=False, kw_only=True):
    """A record that is not a valid event of the format. `reason` names fields and types, never values."""

    kind: Kind = REJECT


_E = TypeVar("_E", Control, Reject)
_COPIED: Final = tuple(name for name in Event.__struct_fields__ if name not in ("file", "line", "text", "kind"))
_copied_values: Final = attrgetter(*_COPIED)


def copied(kind: type[_E], event: Event, **others: Any) -> _E:
    """A copy of an event as another kind, with other values of some fields."""
    found = kind(file=event.file, line=event.line, text=event.text)
    for name, value in zip(_COPIED, _copied_values(event), strict=True):
        if value is not None:
            setattr(found, name, value)
    for name, value in others.items():
        setattr(found, name, value)
    return found


def rejected(message: Message, reason: str, table: str | None = None) -> Reject:
    """The reject of a message."""
    return Reject(file=message.file, line=message.line, text=message.text, reason=reason, table=table)
