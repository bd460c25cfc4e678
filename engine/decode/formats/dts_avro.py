"""Alibaba DTS: Avro records, one per message, without frames or a registry. `engine.decode.dts_schema` has the schema.

    https://www.alibabacloud.com/help/en/dts/user-guide/use-a-kafka-client-to-consume-tracked-data

Messages are lines of base64, or JSON objects with base64 in them (`base64_messages`). A message of 48 bytes or fewer is
a filler of the transport. `bornTimestamp`, which only newer records have, is skipped. INIT is a READ, DDL can be a
TRUNCATE, and every other record that does not change rows is a control event. An update that changes the key is a
delete and an insert. Values of all types are text (`dts_values`); the numbers of types show the type, and for decimals
and bytes the values themselves do.

    source         sourcePosition             unit of the fractions of dates and times
    MySQL          position@file              microseconds
    PostgreSQL     number; or LSN<->LSN       microseconds; nanoseconds with <->
    all others     one of these               nanoseconds

Position: epoch (4) - file, or the part before <-> (16) - position in it (16). A READ has only a time. Changes at one
position are ordered by `id` (`tx_order`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from siltstone.engine import names
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import Change, Control, Event, Message, Reject, rejected
from siltstone.engine.decode.formats import dts_kinds
from siltstone.engine.decode.formats.base64_messages import Base64Message, read_base64
from siltstone.engine.decode.formats.dts_record import Columns, DtsReader, DtsRecord
from siltstone.engine.decode.formats.dts_values import ABSENT, Image, read_image, row_schema
from siltstone.engine.decode.formats.row_images import halves
from siltstone.engine.decode.json_value import raw_fields, text_of
from siltstone.engine.schema import control_kinds
from siltstone.engine.spec.model import SourceSpec

_IN_MICROS: Final = frozenset({"MySQL", "PostgreSQL"})
_NO_TRANSACTION: Final = frozenset({"", "0"})
_CONTROL_FIELDS: Final = ("operation", "objectName", "sourcePosition", "sourceTxid", "tags")
_LAST_MILLI: Final = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z
_MOST_DIGITS: Final = 20
_Made = TypeVar("_Made", Change, Control)


class DtsDecoder:
    """Decodes messages of DTS. `declared`: keys by table; if a spec names none, those of the record are used."""

    def __init__(self, source: SourceSpec, declared: Declared) -> None:  # noqa: ARG002  # every decoder gets the source
        self._declared = {table: columns for table, columns in declared.items() if columns}
        self._reader = DtsReader()

    def events(self, message: Message) -> Sequence[Event]:
        """The event of a message; two for an update that changes the key."""
        body = read_base64(message)
        value = body.value
        is_filler = value is not None and len(value) <= dts_kinds.FILLER_BYTES
        record = None if value is None or is_filler else self._reader.read(value)
        if record is not None:
            return self._of_record(message, body, record)
        if body.problem is not None:
            return [rejected(message, body.problem)]
        if body.is_empty or is_filler:
            kind = control_kinds.NULL_MESSAGE if body.is_empty else control_kinds.FILLER
            return [_control(message, body, None, kind, None)]
        return [rejected(message, dts_kinds.unread_reason(value or b""))]

    def _of_record(self, message: Message, body: Base64Message, record: DtsRecord) -> Sequence[Event]:
        op = dts_kinds.operation(record)
        table = dts_kinds.table(record, op)
        if body.problem is not None:
            return [rejected(message, body.problem, table)]
        if op is None:
            return [_control(message, body, record, dts_kinds.CONTROLS[record.head["operation"]], table)]
        position = dts_kinds.position(record.head["sourcePosition"])
        reason = dts_kinds.reject_reason(record, op, table, position)
        if reason is not None:
            return [rejected(message, reason, table)]
        change = _event(Change, message, body, record, table)
        change.op, change.tx_order = op, record.head["id"]
        change.origin = names.ORIGIN_SNAPSHOT if op == names.OP_READ else names.ORIGIN_STREAM
        change.position = None if op == names.OP_READ else position
        key_info = record.head["tags"].get("pk_uk_info")
        if key_info is not None and key_info.startswith("{"):
            change.key_schema = f'{{"pk_uk_info":{key_info}}}'
        if op == names.OP_TRUNCATE or record.columns is None:
            return [change]
        return self._with_rows(change, record, record.columns, key_info)

    def _with_rows(self, change: Change, record: DtsRecord, columns: Columns, key_info: str | None) -> Sequence[Event]:
        """The change with its images. An update that changes the key becomes a delete of the old key and an insert."""
        old, new = _values(record.before), _values(record.after)
        is_update = change.op == names.OP_UPDATE
        keys = self._declared.get(change.table or "") or dts_kinds.key_columns(key_info) if is_update and old else None
        if keys and old is not None and new is not None and ABSENT in new:
            new = _with_keys(keys, columns, old, new)
        in_nanos = record.head["source"]["sourceType"] not in _IN_MICROS or "<->" in record.head["sourcePosition"]
        before = None if old is None else read_image(old, columns, in_nanos)
        after = None if new is None else read_image(new, columns, in_nanos)
        if (before and before.unread) or (after and after.unread):
            return [_rejected_values(change, columns, before, after)]
        is_delete = change.op == names.OP_DELETE
        old_row, new_row = before if is_update or is_delete else None, None if is_delete else after
        change.row_schema, change.schema_hash = row_schema(columns, old_row, new_row), columns.schema_hash
        old_json = None if old_row is None else old_row.json(columns)
        new_json = None if new_row is None else new_row.json(columns)
        if keys and before and after and _differ(keys, columns, before, after):
            return halves(change, old_json, new_json)
        change.before = None if is_update and before and before.absent else old_json
        change.after = new_json
        return [change]


# --- rows -----------------------------------------------------------------------------------------------------------


def _values(image: list[Any] | str | None) -> list[Any] | None:
    return image if isinstance(image, list) else None


def _with_keys(keys: Sequence[str], columns: Columns, old: list[Any], new: list[Any]) -> list[Any]:
    """The values after the update. Absent key columns keep their earlier values: the update did not change them."""
    return [
        before if after == ABSENT and name in keys else after
        for name, before, after in zip(columns.names, old, new, strict=True)
    ]


def _differ(keys: Sequence[str], columns: Columns, before: Image, after: Image) -> bool:
    """Whether a key column has different values before and after. Columns that one image lacks do not count."""
    for key in keys:
        if key in columns.names:
            at = columns.names.index(key)
            old, new = before.texts[at], after.texts[at]
            if old is not None and new is not None and old != new:
                return True
    return False


# --- events ---------------------------------------------------------------------------------------------------------


def _event(
    kind: type[_Made], message: Message, body: Base64Message, record: DtsRecord | None, table: str | None
) -> _Made:
    """An event with the fields of the record other than the row."""
    head: dict[str, Any] = {} if record is None else record.head
    tags = head.get("tags", {})
    connector = None if record is None else f"dts-{head['source']['sourceType'].lower()}"
    transaction = head.get("sourceTxid", "")
    return kind(
        file=message.file,
        line=message.line,
        text=message.text,
        connector=connector,
        source=connector,
        table=table,
        commit_us=None if record is None else dts_kinds.commit_us(record),
        ingest_us=_micros(tags.get("readerThroughoutTime")),
        event_id=None if record is None else str(head["id"]),
        tx_id=tags.get("GTID") if transaction in _NO_TRANSACTION else transaction,
        channel=body.topic,
        kafka_partition=body.partition,
        kafka_offset=body.offset,
    )


def _micros(millis: str | None) -> int | None:
    if millis is None or not (millis.isascii() and millis.isdigit()):
        return None
    count = int(millis[:_MOST_DIGITS])
    return count * 1_000 if count <= _LAST_MILLI else None


def _control(message: Message, body: Base64Message, record: DtsRecord | None, kind: str, table: str | None) -> Control:
    fields = dict.fromkeys(_CONTROL_FIELDS) if record is None else {name: record.head[name] for name in _CONTROL_FIELDS}
    control = _event(Control, message, body, record, table)
    control.control_kind = kind
    control.control = text_of(fields | {"statement": None if record is None else dts_kinds.statement(record)})
    return control


def _rejected_values(change: Change, columns: Columns, before: Image | None, after: Image | None) -> Reject:
    unread = [at for image in (before, after) if image is not None for at in image.unread]
    listed = ", ".join(f'column "{columns.names[at]}"' for at in unread)
    reason = f"a value cannot be read: {listed}"
    return Reject(file=change.file, line=change.line, text=change.text, reason=reason, table=change.table)


def shows_no_key(event: Event, _: bytes) -> bool | None:
    """Whether a change shows that its table has no key: `pk_uk_info` names no column, and the row is complete.

    A run then identifies the row by all of its columns.
    """
    try:
        keys = json.loads(event.key_schema or "null")["pk_uk_info"]
        columns = len(json.loads(event.row_schema or "null")["fields"])
    except (KeyError, TypeError, ValueError):
        return None
    if not isinstance(keys, dict):
        return None
    image = event.before if event.op == names.OP_UPDATE else event.after or event.before
    return not any(keys.values()) and image is not None and len(raw_fields(image)) == columns
