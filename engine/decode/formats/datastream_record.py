"""Parses records of Datastream: the fields that siltstone uses, and the names of the key columns.

Versions of Datastream differ in the types of fields, and some write numbers as text. An unusual record is therefore
read twice: first with the documented types, then each field as text.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import msgspec

from siltstone.engine.decode.formats.json_fields import NOTHING, text_of_field, whole_number
from siltstone.engine.decode.json_value import PARSE_ERRORS, parse, raw_fields, text_of

MYSQL, ORACLE, POSTGRESQL, SQLSERVER = "mysql", "oracle", "postgresql", "sqlserver"
Word = int | str | None
"""A number, possibly written as text."""
_EPOCH_START: Final = datetime(1970, 1, 1)
_UTC_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST: Final = -719_162 * 86_400_000_000  # 0001-01-01
_AFTER_LAST: Final = 2_932_897 * 86_400_000_000  # 10000-01-01


class Metadata(msgspec.Struct, gc=False):
    """`source_metadata`: the change in the source's log. Each database has different fields."""

    schema: str | None = None
    table: str | None = None
    database: str | None = None
    row_id: str | None = None
    scn: Word = None
    ssn: Word = None
    rs_id: str | None = None
    tx_id: Word = None
    log_file: str | None = None
    log_position: Word = None
    lsn: str | None = None
    physical_location: list[int] | str | None = None
    change_type: str | None = None
    is_deleted: bool | str | None = None
    primary_keys: msgspec.Raw = NOTHING
    replication_index: msgspec.Raw = NOTHING
    binlog_file: str | None = None
    binlog_position: Word = None


class Record(msgspec.Struct, gc=False):
    """One event."""

    source_metadata: Metadata | None = None
    payload: msgspec.Raw = NOTHING
    uuid: str | None = None
    read_timestamp: Word = None
    source_timestamp: Word = None
    read_method: str | None = None
    stream_name: str | None = None


_usual: Final = msgspec.json.Decoder(Record)
_RAW: Final = frozenset({"payload", "primary_keys", "replication_index"})


def read_record(text: bytes) -> Record:
    """The fields of an event.

    Raises: one of PARSE_ERRORS: the text or its metadata is not a JSON object.
    """
    try:
        return _usual.decode(text)
    except msgspec.ValidationError:
        return _unusual(text)


def _unusual(text: bytes) -> Record:
    fields = raw_fields(text)
    metadata = bytes(fields.pop("source_metadata", NOTHING))
    found = Record(**_as_texts(fields, Record.__struct_fields__))
    if metadata != b"null":
        found.source_metadata = Metadata(**_as_texts(raw_fields(metadata), Metadata.__struct_fields__))
    return found


def _as_texts(fields: dict[str, msgspec.Raw], names: Iterable[str]) -> dict[str, Any]:
    return {name: fields[name] if name in _RAW else text_of_field(fields[name]) for name in names if name in fields}


def metadata_names(text: bytes) -> set[str]:
    """The names of the fields of `source_metadata`, which can be null."""
    return set(raw_fields(raw_fields(text)["source_metadata"]))


# --- values ---------------------------------------------------------------------------------------------------------


def as_text(word: Word) -> str | None:
    """The word as text."""
    return word if word is None or isinstance(word, str) else str(word)


def as_number(word: Word) -> int | None:
    """The word as a whole number of 64 bits; None if it is not one."""
    return whole_number(word.strip() if isinstance(word, str) else word)


def is_blank(text: str | None) -> bool:
    """Whether a text is missing or blank."""
    return text is None or not text.strip(" ")


def micros_of(time: Word) -> int | None:
    """Microseconds since 1970 of an ISO time (in UTC, if it has no zone) or of milliseconds since 1970."""
    if isinstance(time, str):
        if not time.isdecimal():
            return _written_micros(time)
        time = as_number(time)
    if time is None or time < 0:
        return None
    micros = time * 1_000
    return micros if micros < _AFTER_LAST else None


def _written_micros(text: str) -> int | None:
    if text[4:5] != "-" or text[7:8] != "-" or text[10:11] not in ("T", " ", ""):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    since = moment - (_EPOCH_START if moment.tzinfo is None else _UTC_START)
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return micros if _FIRST <= micros < _AFTER_LAST else None


# --- key columns ----------------------------------------------------------------------------------------------------


def key_of(metadata: Metadata, payload: bytes) -> bytes | None:
    """A JSON object with a null for each column of `primary_keys`, else `replication_index`, spelled as in the payload.

    None if both name no column.

    Needs: the payload is a JSON object.
    """
    found = _key_names(bytes(metadata.primary_keys), bytes(metadata.replication_index))
    return None if found is None else found.key(payload)


@lru_cache(maxsize=1_000)
def _key_names(primary_keys: bytes, replication_index: bytes) -> _KeyNames | None:
    names = _names(primary_keys) or _names(replication_index)
    return _KeyNames(names) if names else None


class _KeyNames:
    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._key = _named(names)
        self._columns = _columns(names)

    def key(self, payload: bytes) -> bytes:
        if self._columns is None:
            return self._respelled(raw_fields(payload))
        try:
            self._columns.decode(payload)
        except msgspec.ValidationError:  # the payload lacks one of the names
            return self._respelled(raw_fields(payload))
        return self._key

    def _respelled(self, fields: Iterable[str]) -> bytes:
        """The key. A name that the payload lacks becomes its first name that differs only in upper and lower case."""
        there = list(fields)
        alike = {name.lower(): name for name in reversed(there)}
        return _named(name if name in there else alike.get(name.lower(), name) for name in self._names)


def _columns(names: tuple[str, ...]) -> msgspec.json.Decoder[Any] | None:
    """A decoder of objects that have a field of each name; None if msgspec does not support a character of a name."""
    fields = [(f"column_{at}", msgspec.Raw, msgspec.field(name=name)) for at, name in enumerate(names)]
    try:
        return msgspec.json.Decoder(msgspec.defstruct("KeyColumns", fields, gc=False))
    except ValueError:
        return None


def _names(listed: bytes) -> tuple[str, ...]:
    """The names in a JSON array, or in the text of one; none for other values."""
    try:
        found = parse(listed)
        found = parse(found) if isinstance(found, str) else found
    except PARSE_ERRORS:
        return ()
    if not isinstance(found, list):
        return ()
    texts = (name if isinstance(name, str) else text_of(name).decode() for name in found if name is not None)
    return tuple(dict.fromkeys(texts))


def _named(names: Iterable[str]) -> bytes:
    return text_of(dict.fromkeys(names))
