"""The kinds of Debezium events: a change, a control event of some kind, or neither, with the reason.

    transaction topic    {"status": "BEGIN" or "END", "id", "event_count", "data_collections", "ts_ms"}
    heartbeats           {"ts_ms"}, key {"serverName"}
    schema changes       {"source", "ts_ms", "databaseName", "ddl", "tableChanges"}
    notifications        {"id", "type", "aggregate_type", "additional_data", "timestamp"}
    logical messages     {"op": "m", "source", "message"}; of TiCDC: a watermark, {"op": "m", "source"}
    signal table         changes of a table with the columns id, type, data: the marks of snapshot windows, and signals
    null messages        no value, after the delete of a key

Rows without an envelope can have columns with these names: the other fields of a record decide.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from siltstone.engine import names
from siltstone.engine.decode.event import Change
from siltstone.engine.decode.formats.debezium_envelope import Object, Value, json_text
from siltstone.engine.decode.formats.debezium_names import TICDC
from siltstone.engine.decode.formats.debezium_positions import CONNECTORS
from siltstone.engine.decode.formats.statements import is_truncate
from siltstone.engine.decode.json_value import PARSE_ERRORS, parse_object, plain_text, text_of
from siltstone.engine.schema import control_kinds

OPS: Final = {
    "c": names.OP_INSERT,
    "u": names.OP_UPDATE,
    "d": names.OP_DELETE,
    "r": names.OP_READ,
    "t": names.OP_TRUNCATE,
}
MESSAGE: Final = "m"
READ: Final = "r"
UPDATE: Final = "u"
DELETE: Final = "d"
INSERT: Final = "c"
TRUNCATE: Final = "t"
MARKS: Final = ("snapshot-window-open", "snapshot-window-close")
SIGNALS: Final = frozenset(
    (
        *("execute-snapshot", "stop-snapshot", "pause-snapshot", "resume-snapshot", *MARKS),
        *("schema-changes", "set-binlog-position", "log"),
    )
)
_SIGNAL_COLUMNS: Final = ("data", "id", "type")
_BOUNDARIES: Final = {"BEGIN": control_kinds.TRANSACTION_BEGIN, "END": control_kinds.TRANSACTION_END}
_BOUNDARY: Final = frozenset(("status", "id", "ts_ms"))
_NOTIFICATION: Final = frozenset(("id", "type", "aggregate_type", "timestamp"))
_HEARTBEAT: Final = frozenset(("ts_ms", "ts_us", "ts_ns"))
_AROUND: Final = frozenset(("schema", "payload", "value"))
_OF_RECORDS: Final = frozenset(("key", "schema", "topic", "destination", "partition", "offset"))
_MARKER_ID: Final = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-(?:open|close)")
_BEGINS_AS_SIGNAL: Final = re.compile(rb'\{\s*"[^"]*"\s*:\s*["n]')
_WORDS_OF_MARKS: Final = re.compile(rb"\\|-open|-close")
"""The end of a mark's id, or any escape."""
_WORDS_OF_SIGNALS: Final = re.compile(rb"\\|-open|" + b"|".join(re.escape(word.encode()) for word in sorted(SIGNALS)))
_KEYS_OF_ROWS: Final = ("maximum_key", "last_processed_key")
_CONDITION: Final = "additional-condition"
_CONDITIONS: Final[dict[str, Any]] = {_CONDITION: None, f"{_CONDITION}s": []}
"""Settings of a signal with conditions on rows, and what is stored instead. Checks read whether they are there."""
_WITH_AFTER: Final = frozenset(("c", "u", "r"))
_LONGEST_OP: Final = 20


# --- control events -------------------------------------------------------------------------------------------------


def control_kind(value: Value[Any], record: Object | None, key: bytes | None) -> str | None:
    """The kind of a control event that is not a row of the signal table; None for other events.

    `record`: all fields of the record, None if it is null.
    """
    op, source = value.op, value.source
    if op is not None:
        if op != MESSAGE or source is None:
            return None
        return control_kinds.CHECKPOINT if source.connector == TICDC else control_kinds.MESSAGE
    if source is not None:
        has_ddl = value.ddl is not None or json_text(value.table_changes) is not None
        return control_kinds.DDL if has_ddl else None
    if json_text(value.before) is not None or json_text(value.after) is not None:
        return None
    return control_kinds.NULL_MESSAGE if record is None else _kind_by_fields(value, record, key)


def _kind_by_fields(value: Value[Any], record: Object, key: bytes | None) -> str | None:
    fields = _event_fields(record)
    if value.status in _BOUNDARIES and value.id is not None and _is_known(fields, "event_count", _BOUNDARY):
        return _BOUNDARIES[value.status]
    if value.aggregate_type is not None and _is_known(fields, "additional_data", _NOTIFICATION):
        return control_kinds.NOTIFICATION
    if value.ts_ms is not None and (fields.keys() <= _HEARTBEAT or _is_heartbeat_key(key)):
        return control_kinds.HEARTBEAT
    return control_kinds.NULL_MESSAGE if _is_null_message(record, fields) else None


def _event_fields(record: Object) -> Object:
    """The fields of the event, in any form of record."""
    value = record.get("value")
    around = record if value is None else value
    payload = around.get("payload")
    return around if payload is None else payload


def _is_known(fields: Object, mark: str, usual: AbstractSet[str]) -> bool:
    """Whether an event has the field that marks its kind, or only fields of its kind."""
    return mark in fields or fields.keys() <= usual


def _is_heartbeat_key(key: bytes | None) -> bool:
    """Whether a key is a heartbeat's. It also shows heartbeats to which a transform added fields."""
    return key is not None and list(object_of(key)) == ["serverName"]


def _is_null_message(record: Object, fields: Object) -> bool:
    """Whether the value of a record, or the payload in it, is null. A row can have columns with these names, too."""
    value = record.get("value")
    has_null = any(name in fields and fields[name] is None for name in ("value", "payload"))
    is_record = value is None and not _OF_RECORDS.isdisjoint(fields)
    return has_null and (is_record or fields.keys() <= _AROUND)


def payload(record: Object | None) -> Any:
    """The event in a record, without the schema around it; the record, if its value is null."""
    if record is None:
        return None
    value = record.get("value")
    around = record if value is None else value
    is_wrapped = next(iter(around), None) in ("schema", "payload")
    event = around.get("payload") if is_wrapped else None
    return around if event is None else event


# --- payloads that are stored ---------------------------------------------------------------------------------------


def stored_payload(kind: str, record: Object | None) -> Any:
    """The event in a record, without what can hold values of rows, because a spec can mask these values: keys in
    notifications, the content of messages, conditions in signals."""
    event = payload(record)
    if kind == control_kinds.NOTIFICATION:
        return _without(event, "additional_data", _KEYS_OF_ROWS)
    if kind == control_kinds.MESSAGE:
        return _without(event, "message", ("content",))
    return _without_conditions(event) if kind == control_kinds.SIGNAL else event


def _without(event: Object, part: str, names: Collection[str]) -> Object:
    """An event whose part, an object, lacks these fields."""
    found = event.get(part)
    if not isinstance(found, Mapping):
        return event
    return {**event, part: {name: value for name, value in found.items() if name not in names}}


def _without_conditions(event: Object) -> Object:
    images = {name: event.get(name) for name in ("before", "after")}
    changed = {
        name: {column: _unconditional(value) for column, value in row.items()}
        for name, row in images.items()
        if isinstance(row, Mapping)
    }
    return {**event, **changed}


def _unconditional(data: Any) -> Any:
    """The data of a signal with no conditions. A text with conditions that is not an object becomes an empty one."""
    if not isinstance(data, str) or _CONDITION not in data:
        return data
    fields = object_of(data.encode())
    return text_of({name: _CONDITIONS.get(name, value) for name, value in fields.items()}).decode()


# --- rows of the signal table ---------------------------------------------------------------------------------------


def signal(op: str, row: bytes | None, is_declared: bool) -> tuple[str, str | None] | None:
    """The kind of a row of the signal table, and its id; None for other rows.

    `row`: the before image of a delete, else the after image. `is_declared`: whether a spec names the table.

    Such a row has the columns id, type and data, and a type that Debezium knows. A delete can have only the id. The
    delete of the open mark closes a window, too. A table that a spec names can have the same columns with other values.
    Therefore, in declared tables and in tables with other column names, only marks with Debezium's own ids are signals.
    """
    if row is None or not _BEGINS_AS_SIGNAL.match(row):
        return None
    words = _WORDS_OF_MARKS if is_declared else _WORDS_OF_SIGNALS
    if words.search(row) is None:
        return None
    fields = object_of(row)
    if len(fields) != len(_SIGNAL_COLUMNS):
        return None
    is_usual, row_id, row_type = _id_and_type(fields)
    kind = _signal_kind(op, row_id, row_type)
    if kind is None or not ((is_usual and not is_declared) or _is_own_mark(kind, row_id)):
        return None
    return kind, row_id


def _id_and_type(fields: Object) -> tuple[bool, str | None, str | None]:
    """Whether the columns have the names of Debezium's documentation (upper-case for Oracle); the id and the type.

    Columns with other names count by their order.
    """
    found = tuple(sorted(fields))
    for spelled in (_SIGNAL_COLUMNS, tuple(map(str.upper, _SIGNAL_COLUMNS))):
        if found == spelled:
            return True, _content(fields[spelled[1]]), _content(fields[spelled[2]])
    row_id, row_type, _ = fields.values()
    return False, _content(row_id), _content(row_type)


def _signal_kind(op: str, row_id: str | None, row_type: str | None) -> str | None:
    if op == INSERT and row_type == MARKS[0]:
        return control_kinds.WINDOW_OPEN
    # The log can have only the key of a deleted row, with empty text in columns that cannot be null.
    is_open_mark = row_type is None or row_type in ("", MARKS[0])
    is_deleted = op == DELETE and is_open_mark and row_id is not None and row_id.endswith("-open")
    if is_deleted or (op == INSERT and row_type == MARKS[1]):
        return control_kinds.WINDOW_CLOSE
    return control_kinds.SIGNAL if row_type in SIGNALS else None


def _is_own_mark(kind: str, row_id: str | None) -> bool:
    """Whether a signal is a mark that Debezium itself writes around a chunk of a snapshot."""
    return kind != control_kinds.SIGNAL and row_id is not None and _MARKER_ID.fullmatch(row_id) is not None


def _content(value: Any) -> str | None:
    return None if value is None else plain_text(value)


def object_of(text: bytes) -> dict[str, Any]:
    """The fields of a JSON object; no fields if the text is not one."""
    try:
        return parse_object(text)
    except PARSE_ERRORS:
        return {}


# --- truncates ------------------------------------------------------------------------------------------------------


def op_of(value: Value[Any]) -> str | None:
    """The op of an event. TiCDC reports a TRUNCATE only as a schema change, which has no op."""
    if value.op is None and value.source is not None and value.source.connector == TICDC and is_truncate(value.ddl):
        return TRUNCATE
    return value.op


# --- rejects --------------------------------------------------------------------------------------------------------


def envelope_reason(value: Value[Any], change: Change) -> str | None:
    """Why an event is neither a control event nor a change, by its op and source block; None if both fit a change."""
    op, source = value.op, value.source
    if op is None:
        is_nothing = source is None and change.before is None and change.after is None
        return "neither a change nor a control event of Debezium" if is_nothing else "op is missing"
    if op not in OPS:
        return unknown_op(op)
    if source is None:
        return "source is missing"
    if change.connector is None:
        return "source.connector is missing"
    if change.connector not in CONNECTORS:
        return f'connector "{change.connector}" is not supported; supported: {_supported()}'
    return "source.table is missing" if change.table is None else None


def _supported() -> str:
    return ", ".join(sorted(CONNECTORS, key=str.lower))


def unknown_op(op: str) -> str:
    """The reason of a reject: Debezium has no such operation."""
    return f'unknown op "{op[:_LONGEST_OP]}"'


def image_reason(op: str | None, change: Change) -> str | None:
    """Why the images of an event are not those of a change; None if they are."""
    if change.after is None:
        if op in _WITH_AFTER:
            return f'op "{op}" without an after image'
    elif not change.after.startswith(b"{"):
        return "after is not an object"
    is_object = change.before is None or change.before.startswith(b"{")
    return None if is_object else "before is not an object"
