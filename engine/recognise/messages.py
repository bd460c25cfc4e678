"""Messages of bytes: in lines of base64, in fields of JSON records, in columns of Parquet and Avro files.

What carries them is as `engine.decode.messages` reads it.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.decode.dts_kinds import FILLER_BYTES
from engine.recognise.sample import Sample

_VALUES, _KEYS = ("value_avro", "value"), ("key_avro", "key")
_COORDINATES: Final = {"topic", "destination", "partition", "offset"}
_OF_A_TOPIC: Final = {"value_avro", "key", "headers", *_COORDINATES}


@dataclass(frozen=True)
class Message:
    """One message. `has_key`: its record has a place for a key, which may be null."""

    value: bytes | None
    key: bytes | None = None
    has_key: bool = False


def messages(found: Sample) -> tuple[Message | None, ...]:
    """The message in each record of a file; None for a record that is none."""
    if found.container == "text":
        return tuple(_of_line(line) for line in found.records)
    if found.container in ("json", "avro", "parquet"):
        numbers = _decimals(found.schema) if found.container == "avro" else frozenset()
        return tuple(_of_record(record, numbers) for record in found.records)
    return ()


def _decimals(schema: Any) -> frozenset[str]:
    """The fields of an Avro record whose bytes are those of numbers."""
    found = set()
    for each in schema.get("fields", ()) if isinstance(schema, Mapping) else ():
        parts = each["type"] if isinstance(each["type"], list) else [each["type"]]
        if any(isinstance(part, Mapping) and part.get("logicalType") == "decimal" for part in parts):
            found.add(each["name"])
    return frozenset(found)


def are_fillers(found: Sample) -> bool:
    """Whether a file holds nothing but messages as short as those that keep a transport of DTS awake.

    Short texts of base64 are found elsewhere, too: what is not beside a topic's coordinates has to have their length.
    """
    taken = messages(found)
    both = [(message, found.records[n]) for n, message in enumerate(taken)]
    told = [pair for pair in both if pair[1] is not None and (pair[0] is None or pair[0].value is not None)]
    return bool(told) and all(message is not None and _is_filler(message, record) for message, record in told)


def _is_filler(message: Message, record: Any) -> bool:
    size = len(message.value or b"")
    in_topic = isinstance(record, Mapping) and bool(_COORDINATES & record.keys())
    return size == FILLER_BYTES or (in_topic and size <= FILLER_BYTES)


def _of_line(line: str) -> Message | None:
    bare = line.strip().strip('"')
    try:
        return Message(None if bare == "null" else _bytes(bare))
    except ValueError:
        return None


def _of_record(record: Any, numbers: frozenset[str]) -> Message | None:
    if isinstance(record, str):
        return _of_line(record)
    if not isinstance(record, Mapping):
        return None
    binary = [name for name, value in record.items() if isinstance(value, bytes) and name not in numbers]
    name = next((name for name in _VALUES if name in record), binary[0] if len(binary) == 1 else None)
    if name is None or name in numbers or not (len(record) == 1 or _OF_A_TOPIC & record.keys()):
        return None
    key = next((name for name in _KEYS if name in record), None)
    try:
        value = _bytes(record[name])
        return Message(value, None if key is None else _bytes(record[key]), key is not None)
    except (TypeError, ValueError):
        return None


def _bytes(written: Any) -> bytes | None:
    """Bytes, or those that a text of base64 stands for.

    Raises: TypeError, ValueError: it is neither.
    """
    if written is None or isinstance(written, bytes):
        return written
    if not isinstance(written, str):
        raise TypeError("neither text nor bytes")
    return base64.b64decode(written, validate=True)
