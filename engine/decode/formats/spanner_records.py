"""Parses records of Spanner change streams: every shape and spelling becomes the fields of `Record`.

    {data record}      {"data_change_record": {...}}      {"change_record": [{"data_change_record": [...], ...}]}
    [{"data_change_record": [...], "heartbeat_record": [], "child_partitions_record": []}]
    {"topic": ..., "partition": ..., "offset": ..., "value": one of these, or its text}

msgspec reads lines with Spanner's own names and types. `_unusual` reads all other lines, field by field: with the names
of other tools (`modType`, `keysJson`, `ChangeRecord`), with objects that are written as text, and with texts that are
written as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from siltstone.engine.decode.formats.json_fields import (
    NOTHING,
    Fields,
    Int,
    Long,
    content_of,
    int_field,
    long_field,
    text_field,
)
from siltstone.engine.decode.json_value import BLANKS, PARSE_ERRORS, is_utf8, raw_fields
from siltstone.engine.schema import control_kinds

DATA_CHANGE: Final = "data_change"
KINDS: Final[dict[str, tuple[str, ...]]] = {
    DATA_CHANGE: ("data_change_record", "dataChangeRecord"),
    control_kinds.HEARTBEAT: ("heartbeat_record", "heartbeatRecord"),
    control_kinds.CHILD_PARTITIONS: ("child_partitions_record", "childPartitionsRecord"),
    control_kinds.PARTITION_START: ("partition_start_record", "partitionStartRecord"),
    control_kinds.PARTITION_END: ("partition_end_record", "partitionEndRecord"),
    control_kinds.PARTITION_EVENT: ("partition_event_record", "partitionEventRecord"),
}
_CHANGE_RECORDS: Final = ("change_record", "ChangeRecord")
_BARE_NAMES: Final = ("table_name", "tableName", "mods", "modType", "mod_type")
"""Fields that show that a line or a value is a data record itself."""
_PARTS: Final = {
    "keys": ("keys", "keysJson", "keys_json"),
    "new_values": ("new_values", "newValues", "newValuesJson", "new_values_json"),
    "old_values": ("old_values", "oldValues", "oldValuesJson", "old_values_json"),
}
_UNUSED: Final = re.compile(rb'\{(?:\s*+"[^"]*+"\s*+:\s*+(?:null|\[\s*+\]|\{\s*+\}|"")\s*+,?)*+\s*+\}')
"""If a change record has no record of a kind, that kind can be an object with only empty fields."""
_NOT_THERE: Final = (b"null", b"[]")


class Mod(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """One change of a data record."""

    keys: msgspec.Raw = NOTHING
    new_values: msgspec.Raw = NOTHING
    old_values: msgspec.Raw = NOTHING


class Record(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The fields of a record of any kind. `mods` is None if it is not a list of objects."""

    commit_timestamp: str | None = None
    record_sequence: str | None = None
    server_transaction_id: str | None = None
    is_last_record_in_transaction_in_partition: bool | str | None = None
    table_name: str | None = None
    column_types: msgspec.Raw = NOTHING
    mods: list[Mod] | None = None
    mod_type: str | None = None
    value_capture_type: str | None = None
    number_of_records_in_transaction: int | str | None = None
    number_of_partitions_in_transaction: int | str | None = None
    partition_token: str | None = None
    timestamp: str | None = None
    start_timestamp: str | None = None
    end_timestamp: str | None = None
    transaction_tag: msgspec.Raw = NOTHING
    is_system_transaction: msgspec.Raw = NOTHING


class Found(NamedTuple):
    """A record with its kind. `json`: its text, if it is not a data record."""

    kind: str
    record: Record
    json: bytes | None = None


class SpannerLine(NamedTuple):
    """The records of a line, the partition token next to them, and the place of the line in a topic."""

    records: list[Found]
    token: str | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None


class BrokenLineError(Exception):
    """A line that is not JSON, or that has a field with a wrong type."""


def read_line(text: bytes) -> SpannerLine:
    """The records of a line.

    Raises: BrokenLineError.
    """
    line, value = _read(text)
    if value is None or not value.lstrip(BLANKS).startswith((b"{", b"[")):
        return line
    inner, _ = _read(value)
    token = inner.token if line.token is None else line.token
    return SpannerLine(inner.records, token, line.topic, line.partition, line.offset)


def _read(text: bytes) -> tuple[SpannerLine, bytes | None]:
    """The records of a text, and the content of its `value`."""
    if not is_utf8(text):
        raise BrokenLineError
    try:
        return _usual(text) or _unusual(text)
    except PARSE_ERRORS:
        raise BrokenLineError from None


# --- in Spanner's own spelling --------------------------------------------------------------------------------------


class _ChangeRecord(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    data_change_record: list[Record] | Record | None = None
    heartbeat_record: msgspec.Raw = NOTHING
    child_partitions_record: msgspec.Raw = NOTHING
    partition_start_record: msgspec.Raw = NOTHING
    partition_end_record: msgspec.Raw = NOTHING
    partition_event_record: msgspec.Raw = NOTHING


class _Line(Record, gc=False, forbid_unknown_fields=True):
    """A data record, or an object with records or change records."""

    data_change_record: list[Record] | Record | None = None
    heartbeat_record: msgspec.Raw = NOTHING
    child_partitions_record: msgspec.Raw = NOTHING
    partition_start_record: msgspec.Raw = NOTHING
    partition_end_record: msgspec.Raw = NOTHING
    partition_event_record: msgspec.Raw = NOTHING
    change_record: list[_ChangeRecord] | None = None
    value: msgspec.Raw = NOTHING
    topic: str | None = None
    partition: Int | None = None
    offset: Long | None = None


_line: Final = msgspec.json.Decoder(_Line)
_change_records: Final = msgspec.json.Decoder(list[_ChangeRecord])
_record: Final = msgspec.json.Decoder(Record)
_raw_items: Final = msgspec.json.Decoder(list[msgspec.Raw])


class _UnusualRecordError(Exception):
    """A record that must be read field by field."""


def _usual(text: bytes) -> tuple[SpannerLine, bytes | None] | None:
    """The records of a text in Spanner's own spelling, and the content of its `value`; None for other texts."""
    try:
        if text.lstrip(BLANKS)[:1] == b"[":
            return SpannerLine(_of_change_records(_change_records.decode(text))), None
        line = _line.decode(text)
        if line.mods:
            records = [Found(DATA_CHANGE, line)]
        elif line.mods is not None or line.table_name is not None or line.mod_type is not None:
            return None
        elif line.change_record is not None:
            records = _of_change_records(line.change_record)
        else:
            records = _of_kinds(line)
    except (*PARSE_ERRORS, _UnusualRecordError):
        return None
    found = SpannerLine(records, line.partition_token, line.topic, line.partition, line.offset)
    return found, content_of(line.value)


def _of_change_records(listed: Iterable[_ChangeRecord]) -> list[Found]:
    return [found for change_record in listed for found in _of_kinds(change_record)]


def _of_kinds(holder: _ChangeRecord | _Line) -> list[Found]:
    records: list[Found] = []
    data = holder.data_change_record
    if data is not None:
        for record in data if isinstance(data, list) else (data,):
            if not record.mods:
                raise _UnusualRecordError
            records.append(Found(DATA_CHANGE, record))
    for kind, (name, _) in KINDS.items():
        if kind != DATA_CHANGE:
            raw = bytes(getattr(holder, name))
            if raw not in _NOT_THERE:
                records += _of_kind(kind, content_of(msgspec.Raw(raw)))
    return records


# --- in any other spelling ------------------------------------------------------------------------------------------


def _unusual(text: bytes) -> tuple[SpannerLine, bytes | None]:
    """Raises: one of PARSE_ERRORS."""
    bare = text.strip(BLANKS)
    if bare == b"null":
        return SpannerLine([]), None
    if bare.startswith(b"["):
        _raw_items.decode(bare)
        return SpannerLine(_of_listed(bare)), None
    fields = raw_fields(bare)
    line = SpannerLine(
        _records_in(bare, fields),
        text_field(fields, "partition_token", "partitionToken"),
        text_field(fields, "topic"),
        int_field(fields, "partition"),
        long_field(fields, "offset"),
    )
    return line, content_of(fields.get("value"))


def _records_in(text: bytes, fields: Fields) -> list[Found]:
    if any(content_of(fields.get(name)) is not None for name in _BARE_NAMES):
        return [Found(DATA_CHANGE, _record_of(text))]
    listed = _content(fields, *_CHANGE_RECORDS)
    return list(_of_named(fields)) if listed is None else _of_listed(listed)


def _of_listed(listed: bytes) -> list[Found]:
    """The records of one change record or of a list of them; empty for other values."""
    try:
        items = _raw_items.decode(listed) if listed.lstrip(BLANKS).startswith(b"[") else [msgspec.Raw(listed)]
        objects = [raw_fields(item) for item in items if bytes(item) != b"null"]
    except PARSE_ERRORS:
        return []
    return [found for fields in objects for found in _of_named(fields)]


def _of_named(fields: Fields) -> Iterator[Found]:
    for kind, names in KINDS.items():
        content = _content(fields, *names)
        if content is not None:
            yield from _of_kind(kind, content)


def _of_kind(kind: str, content: bytes | None) -> Iterator[Found]:
    """The records of one kind, which are one record or a list.

    An unused kind is null, an empty list, or an object with only empty fields.
    """
    if content is None:
        return
    try:
        items = [content_of(item) for item in _raw_items.decode(content)] if content.startswith(b"[") else [content]
    except PARSE_ERRORS:
        return
    for item in items:
        if item is not None and not _UNUSED.fullmatch(item):
            yield Found(kind, _record_of(item), item)


def _content(fields: Fields, *names: str) -> bytes | None:
    """The content of the first of the fields that is not null."""
    return next((found for name in names if (found := content_of(fields.get(name))) is not None), None)


def _record_of(text: bytes) -> Record:
    """The fields of a record, under any of their names; empty if it is not an object."""
    try:
        return _record.decode(text)
    except PARSE_ERRORS:
        pass
    try:
        fields = raw_fields(text)
    except PARSE_ERRORS:
        return Record()
    made = {name: text_field(fields, name, *others) for name, others in _SPELLINGS.items()}
    types = _raw(fields, "column_types", "columnTypes", "rowType")
    return Record(**made, column_types=types, mods=_listed_mods(_content(fields, "mods")))  # type: ignore[arg-type]


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


_SPELLINGS: Final = {
    name: (_camel(name),)
    for name in Record.__struct_fields__
    if name not in ("column_types", "mods", "transaction_tag", "is_system_transaction")
}


def _raw(fields: Fields, *names: str) -> msgspec.Raw:
    return next((fields[name] for name in names if name in fields and bytes(fields[name]) != b"null"), NOTHING)


def _listed_mods(listed: bytes | None) -> list[Mod] | None:
    """The mods: each is an object or the text of one. A null in the list is a mod without parts."""
    if listed is None:
        return None
    try:
        items = _raw_items.decode(listed) if listed.lstrip(BLANKS).startswith(b"[") else [msgspec.Raw(listed)]
        contents = [content_of(item) for item in items]
        return [Mod() if content is None else _mod(raw_fields(content)) for content in contents]
    except PARSE_ERRORS:
        return None


def _mod(fields: Fields) -> Mod:
    return Mod(**{part: _raw(fields, *names) for part, names in _PARTS.items()})
