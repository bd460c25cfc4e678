"""Operations of Oracle GoldenGate for Big Data (Distributed Applications and Analytics), written by its JSON formatter.

There is one operation per line. It is bare, or text or an object in `value` of a topic's record.

    https://docs.oracle.com/en/middleware/goldengate/big-data/19.1/gadbd/pluggable-formatters.html

    format=json        {"table", "op_type", "op_ts", "current_ts", "pos", "primary_keys", "tokens", "before", "after"}
    format=json_row    {"table", "op_type", "op_ts", "current_ts", "pos", "primary_keys", "tokens", a field per column}

    I       `after` is the row                  U, K    `before` and `after` are the rows, or their logged columns
    D       `before` is the row                 T       the table is truncated

A missing field was not logged and is unknown; null is null. A column that only `before` has did not change. Early
releases write `a_isMissing` after each column `a`: a column with a true mark is missing. The row layout has one image,
and a column cannot have one of the names in METADATA there.

If `before` and `after` have different keys, the key of the row changes: the update becomes a delete of the old key and
an insert of the new one (`pkUpdateHandling=update`; with `delete-insert`, these are two operations already). In the row
layout, such an update does not remove the old row. Keys come from the spec, else from `primary_keys`. Operations name
no types.

    position     epoch (4) - number of the trail file (16) - place in it (16)
                 second epoch (4) - coordinates (`coordinates` has their layout)

`pos` is the number of the file in the trail and the place in it, ten digits each. A trail has transactions in the order
of their commits. A new trail (of an initial load, or of an Extract that was removed and added) starts its numbers at
the beginning: `source.epoch` defines the order of trails. If an operation has no `pos`, coordinates order the source.

`op_ts` is the time of the commit, in UTC or in the zone of the process (`goldengate.userexit.timestamp`): without a
zone it is read in `source.time_zone`. `current_ts` is a local time, possibly in another zone: it is not used. There are
no READs: rows of an initial load are inserts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from siltstone.engine import names
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import Change, Event, Message, rejected
from siltstone.engine.decode.formats.canal_rows import NO_KEYS, keys_of
from siltstone.engine.decode.formats.coordinates import LogOrCoordinates
from siltstone.engine.decode.formats.coordinates import notation as by_coordinates
from siltstone.engine.decode.formats.json_fields import NOTHING, Fields, text_field
from siltstone.engine.decode.formats.shareplex_rows import changes_with_row_before
from siltstone.engine.decode.formats.topic_record import TopicRecord, null_message, object_of, read_record
from siltstone.engine.decode.json_value import PARSE_ERRORS, broken_reason, parse, raw_fields, text_of
from siltstone.engine.decode.position_text import hex_digits, is_second_epoch, joined, segments
from siltstone.engine.decode.types.time_texts import instant
from siltstone.engine.decode.types.zones import source_zone
from siltstone.engine.spec.model import SourceSpec

CONNECTOR: Final = "goldengate"
METADATA: Final = frozenset(
    {"table", "op_type", "op_ts", "current_ts", "pos", "primary_keys", "tokens", "csn", "xid", "txind"}
)
"""The fields of the row layout that are not columns."""
OPS: Final = {
    "I": names.OP_INSERT, "INSERT": names.OP_INSERT,
    "U": names.OP_UPDATE, "UPDATE": names.OP_UPDATE, "K": names.OP_UPDATE,
    "D": names.OP_DELETE, "DELETE": names.OP_DELETE,
    "T": names.OP_TRUNCATE, "TRUNCATE": names.OP_TRUNCATE,
}  # fmt: skip
WRONG_TYPE: Final = "a field of the operation has a type that GoldenGate does not write"
NO_OP: Final = "op_type is missing"
NO_TABLE: Final = "table is missing"
NO_TIME: Final = "op_ts is missing"
WRONG_TIME: Final = "op_ts is not a time such as 2013-06-02 22:14:41.000000"
WRONG_PLACE: Final = "pos is not a place in a trail such as 00000000020000002928"
NO_OBJECT: Final = "before or after is not an object"
_IMAGES: Final = ("before", "after")
_TRANSACTIONS: Final = ("xid", "txid", "6")
"""The names of the token with the transaction's id; 6 is GoldenGate's own number for it."""
_MISSING: Final = "_isMissing"
_MISSING_MARK: Final = b'_isMissing"'
_PLACE: Final = re.compile(r"[0-9]{1,28}", re.ASCII)
_DIGITS_IN_FILE: Final = 10
_MOST_NAMED: Final = 20
_names: Final = msgspec.json.Decoder(list[str] | None)


class GoldenGateDecoder:
    """Decodes operations of GoldenGate."""

    def __init__(self, source: SourceSpec, declared: Declared) -> None:
        self._keys = {table: keys for table, keys in declared.items() if keys}
        self._places = LogOrCoordinates(source, declared)
        self._zone = source_zone(source.time_zone)

    def events(self, message: Message) -> Sequence[Event]:
        """The events of a message: one, or two for an update that changes the key."""
        try:
            record = read_record(message.text, "op_type")
            if record.text is None:
                return [null_message(message, record, CONNECTOR)]
            fields = raw_fields(record.text)
            return self._changes(message, record, fields)
        except PARSE_ERRORS:
            return [rejected(message, broken_reason(message.text, WRONG_TYPE))]

    def _changes(self, message: Message, record: TopicRecord, fields: Fields) -> list[Event]:
        """Raises: one of PARSE_ERRORS."""
        own_keys = _names.decode(fields.get("primary_keys", NOTHING)) or ()
        op_type, time, pos = (text_field(fields, name) for name in ("op_type", "op_ts", "pos"))
        change = Change(
            file=message.file,
            line=message.line,
            text=message.text,
            connector=CONNECTOR,
            source=CONNECTOR,
            table=text_field(fields, "table"),
            op=OPS.get((op_type or "").upper()),
            origin=names.ORIGIN_STREAM,
            key_schema=(keys_of(tuple(own_keys)) if own_keys else NO_KEYS).schema,
            commit_us=None if time is None else instant(time, self._zone),
            tx_id=_transaction(fields),
            channel=record.topic,
            kafka_partition=record.partition,
            kafka_offset=record.offset,
        )
        place = None if pos is None else _place(pos)
        reason = _reject_reason(change, op_type, time) or (WRONG_PLACE if pos is not None and place is None else None)
        if reason is not None:
            return [rejected(message, reason, change.table)]
        try:
            before, after = _images(fields, change.op)
        except PARSE_ERRORS:
            return [rejected(message, NO_OBJECT, change.table)]
        if change.op != names.OP_TRUNCATE and (before if change.op == names.OP_DELETE else after) is None:
            return [rejected(message, f'op_type "{op_type}" without its row', change.table)]
        change.position = self._places.position(place, change.table, message, record.partition, record.offset)
        change.before, change.after = (before, None) if change.op == names.OP_DELETE else (None, after)
        if change.op != names.OP_UPDATE or before is None:
            return [change]
        known = raw_fields(before)
        keys = self._keys.get(change.table or "", own_keys)
        return changes_with_row_before(change, before, [name for name in keys if name in known])


# --- kinds of operations ----------------------------------------------------------------------------------------------


def _reject_reason(change: Change, op_type: str | None, time: str | None) -> str | None:
    """Why an operation is not a change, without a check of its place and images; None if it is one."""
    if op_type is None:
        return NO_OP
    if change.op is None:
        return f'unknown op_type "{op_type[:_MOST_NAMED]}"'
    if not change.table:
        return NO_TABLE
    if time is None:
        return NO_TIME
    return WRONG_TIME if change.commit_us is None else None


def _place(pos: str) -> str | None:
    """The place of an operation in the trail; None if `pos` is not one."""
    if not _PLACE.fullmatch(pos):
        return None
    file, at = pos[:-_DIGITS_IN_FILE], pos[-_DIGITS_IN_FILE:]
    return joined(hex_digits(int(file or "0"), 16), hex_digits(int(at), 16))


def notation(position: str, source: str) -> str | None:
    """`pos` as GoldenGate writes it, or coordinates."""
    if is_second_epoch(position):
        return by_coordinates(position, source)
    file, at = [*segments(position, 16, 16), "", ""][:2]
    return f"{int(file, 16):0{_DIGITS_IN_FILE}d}{int(at, 16):0{_DIGITS_IN_FILE}d}" if at else None


def _transaction(fields: Fields) -> str | None:
    """The id of the transaction, from the metadata or a token."""
    own = text_field(fields, "xid")
    tokens = fields.get("tokens", NOTHING)
    if own is not None or not bytes(tokens).startswith(b"{"):
        return own
    named = {name.lower(): token for name, token in raw_fields(tokens).items()}
    return text_field(named, *_TRANSACTIONS)


# --- rows -------------------------------------------------------------------------------------------------------------


def _images(fields: Fields, op: str | None) -> tuple[bytes | None, bytes | None]:
    """The row before and the row after, for both layouts.

    Raises: one of PARSE_ERRORS: an image is not an object.
    """
    if any(name in fields for name in _IMAGES):
        before, after = (object_of(fields.get(name, NOTHING)) for name in _IMAGES)
        return _logged(before), _logged(after)
    columns = {name: value for name, value in fields.items() if name not in METADATA}
    row = _logged(text_of(columns)) if columns else None
    return (row, None) if op == names.OP_DELETE else (None, row)


def _logged(image: bytes | None) -> bytes | None:
    """An image without the columns that were not logged, and without the marks of missing columns."""
    if image is None or _MISSING_MARK not in image:
        return image
    fields = raw_fields(image)
    marks = {name for name in fields if name.endswith(_MISSING) and name.removesuffix(_MISSING) in fields}
    lacking = {name.removesuffix(_MISSING) for name in marks if parse(fields[name]) is True}
    return text_of({name: value for name, value in fields.items() if name not in marks and name not in lacking})


def shows_no_key(event: Event, text: bytes) -> bool | None:
    """Whether a change shows that its table has no key: `primary_keys` is there and names no column."""
    if event.key_schema is not None:
        return False
    record = read_record(text, "op_type")
    listed = None if record.text is None else raw_fields(record.text).get("primary_keys")
    return None if listed is None or _names.decode(listed) is None else True
