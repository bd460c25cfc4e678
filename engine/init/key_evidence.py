"""What a change shows about its table's key beyond the key itself: that there is none.

debezium      a message has a place for a key, and it is null
canal         `pkNames` names no column
dts           `pk_uk_info` names no column, and the rows are complete: a run identifies a row by all of its columns
datastream    PostgreSQL: `primary_keys` is empty, and the change is no update, which lacks the row before it
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from engine.decode.event import Event
from engine.decode.formats.datastream_record import read_record
from engine.decode.json_value import MISFIT, raw_fields
from engine.names import OP_TRUNCATE, OP_UPDATE

_NO_NAMES: Final = (b"[]", b'"[]"')
_NULL: Final = b"null"


def is_keyless(event: Event, text: bytes, form: str) -> bool | None:
    """Whether a change shows that its table has no key; None where it shows nothing. `text`: its message."""
    shown = _BY_FORMAT.get(form)
    return False if shown is None else shown(event, text)


def _debezium(event: Event, text: bytes) -> bool | None:
    if event.op == OP_TRUNCATE:  # has no key in any table
        return None
    return event.key is None and _has_null_key(text)


def _has_null_key(text: bytes) -> bool:
    try:
        fields = raw_fields(text)
    except MISFIT:  # a message in base64 alone
        return False
    return bytes(fields.get("key", b"")) == _NULL


def _canal(event: Event, _: bytes) -> bool:
    return event.key_schema is None


def _dts(event: Event, _: bytes) -> bool | None:
    try:
        keys = json.loads(event.key_schema or "null")["pk_uk_info"]
        columns = len(json.loads(event.row_schema or "null")["fields"])
    except (KeyError, TypeError, ValueError):
        return None
    if not isinstance(keys, dict):
        return None
    image = event.before if event.op == OP_UPDATE else event.after or event.before
    return not any(keys.values()) and image is not None and len(raw_fields(image)) == columns


def _datastream(event: Event, text: bytes) -> bool | None:
    if event.key is not None:
        return False
    metadata = read_record(text).source_metadata
    listed = _NULL if metadata is None else bytes(metadata.primary_keys)
    if listed == _NULL:
        return None
    return event.connector == "datastream-postgresql" and listed in _NO_NAMES and event.op != OP_UPDATE


_BY_FORMAT: Final[dict[str, Callable[[Event, bytes], bool | None]]] = {
    **dict.fromkeys(("debezium-json", "debezium-avro"), _debezium),
    "canal-json": _canal,
    "dts-avro": _dts,
    **dict.fromkeys(("datastream-json", "datastream-avro"), _datastream),
}
