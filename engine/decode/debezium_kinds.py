"""What a Debezium event is: a change, a control event and which, or neither and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from engine import names
from engine.decode import debezium_places, json_lines
from engine.decode.debezium_places import CONNECTORS
from engine.decode.methods import own_method
from engine.decode.parsing import first_at, may_have_fields
from engine.schema import control_kinds
from engine.spec.model import SourceSpec

OPS: Final = {
    "c": names.OP_INSERT,
    "u": names.OP_UPDATE,
    "d": names.OP_DELETE,
    "r": names.OP_READ,
    "t": names.OP_TRUNCATE,
}
MARKS: Final = ("snapshot-window-open", "snapshot-window-close")
SIGNALS: Final = (
    "execute-snapshot",
    "stop-snapshot",
    "pause-snapshot",
    "resume-snapshot",
    *MARKS,
    "schema-changes",
    "set-binlog-position",
    "log",
)
_USUAL: Final = ("data", "id", "type")
_BOUNDARIES: Final = {"BEGIN": control_kinds.TRANSACTION_BEGIN, "END": control_kinds.TRANSACTION_END}
BOUNDARY: Final = ("status", "id", "ts_ms")
NOTIFICATION: Final = ("id", "type", "aggregate_type", "timestamp")
_OF_RECORDS: Final = ("key", "schema", "topic", "destination", "partition", "offset")
_MARKER_ID: Final = "^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-(?:open|close)$"


def op(code: Column) -> Column:
    """The operation of a change; null for every other code."""
    return json_lines.meaning(code, OPS)


def origin(code: Column) -> Column:
    """Snapshot rows are told by their op: streamed changes say snapshot = true after a restart inside one."""
    return F.when(code == "r", names.ORIGIN_SNAPSHOT).when(code.isin(*OPS), names.ORIGIN_STREAM)


def is_change_alone(value: Column) -> Column:
    """Whether the value tells alone that the event is a change: `control_kind` is null, whatever the text."""
    plain = value.getField("op").isin(*OPS) & value.getField("source").isNotNull()
    return F.coalesce(plain & ~may_have_fields(_signal_row(value), len(_USUAL)), F.lit(False))


def control_kind(value: Column, text: Column, key: Column, is_declared: Column) -> Column:
    """Which control event, or null. `is_declared`: whether a spec names the table of a change.

    Rows without an envelope around them can have columns of the same names: what else is there tells these apart.
    """
    code, source = value.getField("op"), value.getField("source")
    no_op, images = code.isNull(), F.coalesce(value.getField("before"), value.getField("after"))
    nothing = no_op & source.isNull() & images.isNull()
    status = value.getField("status")
    is_boundary = status.isin("BEGIN", "END") & value.getField("id").isNotNull()
    is_ddl = source.isNotNull() & (value.getField("ddl").isNotNull() | value.getField("tableChanges").isNotNull())
    return (
        F.when(code.isin(*OPS), _signal_kind(value, is_declared))
        .when((code == "m") & source.isNotNull(), control_kinds.MESSAGE)
        .when(no_op & is_ddl, control_kinds.DDL)
        .when(
            nothing & is_boundary & own_method(_is_known(text, "event_count", BOUNDARY)),
            json_lines.meaning(status, _BOUNDARIES),
        )
        .when(
            nothing
            & value.getField("aggregate_type").isNotNull()
            & own_method(_is_known(text, "additional_data", NOTIFICATION)),
            control_kinds.NOTIFICATION,
        )
        .when(
            nothing & value.getField("ts_ms").isNotNull() & own_method(_is_heartbeat(text, key)),
            control_kinds.HEARTBEAT,
        )
        .when(nothing & own_method(_is_null_message(text)), control_kinds.NULL_MESSAGE)
    )


def _is_known(text: Column, mark: str, fields: Sequence[str]) -> Column:
    """Whether an event has the field that marks its kind, or no other fields than those of its kind."""
    return text.contains(f'"{mark}"') | _has_only(text, *fields)


def _is_heartbeat(text: Column, key: Column) -> Column:
    """What a transform added to a heartbeat leaves its key as it was."""
    return _has_only(text, "ts_ms", "ts_us", "ts_ns") | (F.json_object_keys(key) == F.array(F.lit("serverName")))


def _is_null_message(text: Column) -> Column:
    """Whether the value of a record is null, or the payload in it; a row can have such columns, and others."""
    is_null = text.rlike(r'"(?:value|payload)"\s*:\s*null')
    is_record = F.get_json_object(text, "$.value").isNull() & F.arrays_overlap(_fields(text), _words(*_OF_RECORDS))
    return (F.trim(text) == "null") | (is_null & (is_record | _has_only(text, "schema", "payload", "value")))


def _has_only(text: Column, *fields: str) -> Column:
    return F.size(F.array_except(_fields(text), _words(*fields))) == 0


def _fields(text: Column) -> Column:
    """The fields of the value, wherever the line has it."""
    return F.json_object_keys(first_at(text, "value.payload", "value", "payload"))


def _words(*words: str) -> Column:
    return F.array(*[F.lit(word) for word in words])


def _signal_kind(value: Column, is_declared: Column) -> Column:
    """Rows of the signal table: nothing but id, type and data, and a type that Debezium knows.

    A delete may carry the id alone. Deleting the open row closes a window, too. Rows read by a snapshot mark nothing.
    A table that a spec names may have such columns, and words of its own in them: of its rows, and of those with other
    names, only those are signals that mark a window, with the ids that Debezium makes for them.
    """
    code, row = value.getField("op"), _signal_row(value)
    # First what is cheap, and so of few rows.
    about = may_have_fields(row, len(_USUAL)) & row.rlike(r'^\{\s*"[^"]*"\s*:\s*["n]')
    row_id, kind = _field(row, "id", 0), _field(row, "type", 1)
    opened, closed = ((code == "c") & (kind == mark) for mark in MARKS)
    # Of a deleted row the log may have the key alone, and of a column that cannot be null the empty text.
    is_of_open = kind.isNull() | kind.isin("", MARKS[0])
    withdrawn = (code == "d") & row_id.endswith("-open") & is_of_open
    marker = (
        F.when(opened, control_kinds.WINDOW_OPEN)
        .when(closed | withdrawn, control_kinds.WINDOW_CLOSE)
        .when(kind.isin(*SIGNALS), control_kinds.SIGNAL)
    )
    is_ours = _is_usual(row) & ~F.coalesce(is_declared, F.lit(False)) | _is_marker(marker, row_id)
    is_signal = (F.size(F.json_object_keys(row)) == len(_USUAL)) & is_ours
    return F.when(about, own_method(F.when(is_signal, marker)))


def _signal_row(value: Column) -> Column:
    return F.when(value.getField("op") == "d", value.getField("before")).otherwise(value.getField("after"))


def _is_usual(row: Column) -> Column:
    """Whether the columns have the names that Debezium's documentation gives them; Oracle has them in upper case."""
    listed = F.array_join(F.sort_array(F.json_object_keys(row)), ",")
    return own_method(listed.isin(",".join(_USUAL), ",".join(_USUAL).upper()))


def _field(row: Column, name: str, place: int) -> Column:
    """A field by its usual name, otherwise by its place: Debezium itself asks for no names."""
    placed = F.concat(F.lit("$['"), F.get(F.json_object_keys(row), F.lit(place)), F.lit("']"))
    named = F.coalesce(*[F.get_json_object(row, f"$.{spelt}") for spelt in (name, name.upper())])
    found = F.when(_is_usual(row), named).otherwise(F.call_function("get_json_object", row, placed))
    return own_method(found)


def _is_marker(kind: Column, row_id: Column) -> Column:
    """Whether a signal is one that Debezium itself writes around a chunk of a snapshot."""
    return kind.isin(control_kinds.WINDOW_OPEN, control_kinds.WINDOW_CLOSE) & row_id.rlike(_MARKER_ID)


def event_id(value: Column, control: Column) -> Column:
    """The id of a signal row."""
    is_signal = control.isin(control_kinds.WINDOW_OPEN, control_kinds.WINDOW_CLOSE, control_kinds.SIGNAL)
    return F.when(is_signal, _field(_signal_row(value), "id", 0))


def payload(text: Column) -> Column:
    """The value of a line as JSON text, without the schema around it."""
    value = first_at(text, "value")
    wrapped = value.startswith('{"schema":') | value.startswith('{"payload":')
    # Asked of the text first: inside a condition the value is looked for anew each time it is named.
    return F.when(text.contains('"payload"') & wrapped, first_at(value, "payload")).otherwise(value)


def broken_reason(text: Column) -> Column:
    """Why a line could not be parsed as an event."""
    return json_lines.broken_reason(text, "a field of the envelope has a type that Debezium does not give it")


def reject_reason(value: Column, table: Column, position: Column, is_timeless: Column, spec: SourceSpec) -> Column:
    """Why an event that is no control event cannot be a change either; null where it can."""
    code, source = value.getField("op"), value.getField("source")
    before, after = value.getField("before"), value.getField("after")
    connector = debezium_places.connector(source)
    changes = source.isNotNull() | before.isNotNull() | after.isNotNull()
    misplaced = own_method(debezium_places.misplaced(source, spec))
    return (
        F.when(code.isNull() & ~changes, "neither a change nor a control event of Debezium")
        .when(code.isNull(), "op is missing")
        .when(~code.isin(*OPS), F.concat(F.lit('unknown op "'), F.substring(code, 1, 20), F.lit('"')))
        .when(source.isNull(), "source is missing")
        .when(connector.isNull(), "source.connector is missing")
        .when(~connector.isin(*CONNECTORS), F.concat(F.lit('connector "'), connector, F.lit('" is not supported')))
        .when(table.isNull(), "source.table is missing")
        .when(
            code.isin("c", "u", "r") & after.isNull(), F.concat(F.lit('op "'), code, F.lit('" without an after image'))
        )
        .when(~after.startswith("{"), "after is not an object")
        .when(~before.startswith("{"), "before is not an object")
        .when((code != "r") & misplaced.isNotNull(), misplaced)
        .when((code != "r") & position.isNull(), "a streamed change without a position")
        .when(
            (code != "r") & is_timeless,
            "neither source.ts_ms, the time of the change, nor ts_ms, when it was read, is a time",
        )
    )
