"""Operations of SharePlex for Oracle as JSON lines: `{"meta", "data", "key"}`. Alibaba DTS writes them, too.

    https://www.alibabacloud.com/help/en/dts/user-guide/data-formats-of-a-kafka-cluster

    ins, del        `data` is the row; a delete can have it in `key`
    upd             `key` is the row before, `data` has the columns that changed; an explicit null counts
    UPDATE BEFORE   `data` is the row before the UPDATE AFTER, which is a separate operation: two lines are one update
    TRUNCATE, DROP COLUMN

`meta.time` is the time of the commit, in UTC. If `meta` does not name the table, it is the only table of the specs.
Operations name neither keys nor types: the spec does.

    position     epoch (4) - SCN (16) - transaction, as bytes - operation in the transaction (16)
                 second epoch (4) - coordinates (`coordinates` has their layout)

A change without an SCN, or without a place in its transaction, has its coordinates as its position. Then coordinates
order its whole source, after everything that SCNs order. A later step converts the other positions, because it needs
the other events (`engine.neighbours.shareplex_pairs`). It also joins the halves of updates: an UPDATE BEFORE is a
control event with the row in `before`; an UPDATE AFTER is an update with UPDATE_AFTER in `control_kind` and its key
columns in `key`. Both have their SCN in `event_id`. A change of a table that no spec names has no position if it has no
SCN: it does not change the order of the source.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, TypeGuard

from siltstone.engine import names
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import UPDATE_AFTER, Announced, Change, Control, Event, Message, rejected
from siltstone.engine.decode.formats.coordinates import LogOrCoordinates
from siltstone.engine.decode.formats.coordinates import notation as by_coordinates
from siltstone.engine.decode.formats.instants import unix_nanos
from siltstone.engine.decode.formats.row_images import image_of, is_empty
from siltstone.engine.decode.formats.shareplex_operation import (
    BrokenOperationError,
    Meta,
    Operation,
    read_operation,
    value_of,
)
from siltstone.engine.decode.formats.shareplex_rows import changes_with_row_before, key_of
from siltstone.engine.decode.formats.topic_record import TopicRecord, null_message
from siltstone.engine.decode.json_value import BLANKS, broken_reason
from siltstone.engine.decode.position_text import (
    ANY_WIDTH,
    EPOCH,
    is_second_epoch,
    segments,
    text_of_segment,
    text_segment,
)
from siltstone.engine.schema import control_kinds
from siltstone.engine.spec.model import SourceSpec

CONNECTOR: Final = "shareplex"
AFTER: Final = "UPDATE AFTER"
OPS: Final = {
    "INS": names.OP_INSERT,
    "INSERT": names.OP_INSERT,
    "UPD": names.OP_UPDATE,
    "UPDATE": names.OP_UPDATE,
    AFTER: names.OP_UPDATE,
    "DEL": names.OP_DELETE,
    "DELETE": names.OP_DELETE,
    "TRUNC": names.OP_TRUNCATE,
    "TRUNCATE": names.OP_TRUNCATE,
}
CONTROLS: Final = {
    "UPDATE BEFORE": control_kinds.UPDATE_BEFORE,
    "DROP COLUMN": control_kinds.DDL,
    "DDL": control_kinds.DDL,
}
_HALVES: Final = ("UPDATE BEFORE", AFTER)
WRONG_TYPE: Final = "a field of the operation has a type that SharePlex does not write"
NO_META: Final = "meta is missing"
NO_OP: Final = "meta.op is missing"
NO_TABLE: Final = "meta.table is missing, and more than one spec reads these files"
NO_TIME: Final = "meta.time is missing"
WRONG_TIME: Final = "meta.time is not a time such as 2017-06-16T14:24:34"
NO_PLACE: Final = (
    "a change without scn, trans or seq: source.order: coordinates orders by file and line, or partition and offset"
)
_MOST_DIGITS_OF_SCN: Final = 18
_BETWEEN_WORDS: Final = re.compile(r"[\s_]+", re.ASCII)
_NULL: Final = b"null"
_MOST_OF_OP: Final = 20
_MOST_OF_SCN: Final = 30


class SharePlexDecoder:
    """Decodes operations of SharePlex."""

    def __init__(self, source: SourceSpec, declared: Declared) -> None:
        self._keys = {table: keys for table, keys in declared.items() if keys}
        self._only = next(iter(declared)) if len(declared) == 1 else None
        self._order = source.order
        self._places = LogOrCoordinates(source, declared)

    def events(self, message: Message) -> Sequence[Event]:
        """The events of a message: one, or two for an update that changes the key."""
        try:
            operation = read_operation(message.text)
        except BrokenOperationError as broken:
            return [_of_broken(message, self._only if broken.table is None else broken.table)]
        meta = operation.meta
        if meta is None:
            return [
                null_message(message, operation.place, CONNECTOR, self._only)
                if operation.is_null()
                else rejected(message, NO_META, self._only)
            ]
        table = self._only if meta.table is None else meta.table
        word = _word(meta.op)
        if word in CONTROLS:
            return [_control(message, operation, meta, table, CONTROLS[word])]
        return self._changes(message, operation, meta, table, word)

    def _changes(
        self, message: Message, operation: Operation, meta: Meta, table: str | None, word: str | None
    ) -> Sequence[Event]:
        op = None if word is None else OPS.get(word)
        data, key = image_of(operation.data), image_of(operation.key)
        if op == names.OP_DELETE and (data is None or is_empty(data)):
            data = key
        nanos = None if meta.time is None else unix_nanos(meta.time)
        place = None if self._order == "coordinates" else _by_scn(meta)
        reason = _reject_reason(meta, op, table, nanos, data) or self._place_problem(meta, place)
        if reason is not None or nanos is None:
            return [rejected(message, reason or WRONG_TIME, table)]
        is_delete, is_half = op == names.OP_DELETE, word == AFTER
        change = Change(
            file=message.file,
            line=message.line,
            text=message.text,
            connector=CONNECTOR,
            source=CONNECTOR,
            table=table,
            op=op,
            origin=names.ORIGIN_STREAM,
            before=data if is_delete else None,
            after=None if is_delete else data,
            position=self._places.position(place, table, message, operation.partition, operation.offset),
            commit_us=nanos // 1_000,
            tx_id=meta.trans,
            tx_order=meta.sequence(),
        )
        change.channel, change.kafka_partition = operation.topic, operation.partition
        change.kafka_offset, change.announced = operation.offset, _announced(meta)
        if op != names.OP_UPDATE or data is None:
            return [change]
        keys = self._keys.get(table or "", ())
        if is_half:
            change.control_kind, change.event_id, change.key = UPDATE_AFTER, meta.scn_text(), key_of(data, keys)
            return [change]
        return [change] if key is None else changes_with_row_before(change, key, keys)

    # --- positions --------------------------------------------------------------------------------------------------

    def _place_problem(self, meta: Meta, place: str | None) -> str | None:
        """Why a change has no position; None if it has one, also if that is its coordinates."""
        if place is not None or self._order == "coordinates":
            return None
        return None if self._order == "auto" and _lacks_place(meta) else NO_PLACE


def is_complete(text: bytes) -> bool:
    """Whether a record is complete by itself: it is not half of an update and has an SCN, or it is not an operation."""
    try:
        meta = read_operation(text).meta
    except BrokenOperationError:
        return True
    return meta is None or (_word(meta.op) not in _HALVES and _by_scn(meta) is not None)


def _by_scn(meta: Meta) -> str | None:
    scn, sequence, transaction = meta.scn_text(), meta.sequence(), meta.trans
    if transaction is None or sequence is None or sequence < 0 or not _is_scn(scn):
        return None
    return f"{EPOCH}-{int(scn):016X}-{text_segment(transaction)}-{sequence:016X}"


def notation(position: str, source: str) -> str | None:
    """SCN, transaction and operation, or coordinates."""
    if is_second_epoch(position):
        return by_coordinates(position, source)
    scn, transaction, sequence = [*segments(position, 16, ANY_WIDTH, 16), "", "", ""][:3]
    if not sequence:
        return None
    return f"SCN {int(scn, 16)} transaction {text_of_segment(transaction)} operation {int(sequence, 16)}"


def _is_scn(scn: str | None) -> TypeGuard[str]:
    return scn is not None and len(scn) <= _MOST_DIGITS_OF_SCN and scn.isdecimal() and scn.isascii()


def _lacks_place(meta: Meta) -> bool:
    """Whether an operation lacks its SCN or its place in its transaction. Invalid values do not count as lacking."""
    return meta.scn_text() is None or meta.trans is None or (meta.seq is None and meta.idx is None)


# --- kinds of operations --------------------------------------------------------------------------------------------


@lru_cache(maxsize=1_000)
def _word(op: str | None) -> str | None:
    """The operation's name in capitals, with one blank between its words."""
    return None if op is None else _BETWEEN_WORDS.sub(" ", op).strip(" ").upper()


def _reject_reason(meta: Meta, op: str | None, table: str | None, nanos: int | None, image: bytes | None) -> str | None:
    """Why an operation is not a change, without a check of its position; None if it is one."""
    scn = meta.scn_text()
    if scn is not None and not _is_scn(scn):
        return f'meta.scn "{scn[:_MOST_OF_SCN]}" is not a whole number'
    if meta.op is None:
        return NO_OP
    if op is None:
        return f'unknown op "{meta.op[:_MOST_OF_OP]}"'
    if table is None:
        return NO_TABLE
    if meta.time is None:
        return NO_TIME
    if nanos is None:
        return WRONG_TIME
    return f'op "{meta.op}" without data' if op != names.OP_TRUNCATE and image is None else None


def _announced(meta: Meta) -> Announced | None:
    size = meta.transaction_size()
    return None if size is None else Announced(size)


# --- other events ---------------------------------------------------------------------------------------------------


def _control(message: Message, operation: Operation, meta: Meta, table: str | None, kind: str) -> Control:
    nanos = None if meta.time is None else unix_nanos(meta.time)
    is_half = kind == control_kinds.UPDATE_BEFORE
    return Control(
        file=message.file,
        line=message.line,
        text=message.text,
        connector=CONNECTOR,
        source=CONNECTOR,
        table=table,
        before=image_of(operation.data) if is_half else None,
        commit_us=None if nanos is None else nanos // 1_000,
        event_id=meta.scn_text() if is_half else None,
        tx_id=meta.trans,
        tx_order=meta.sequence(),
        channel=operation.topic,
        kafka_partition=operation.partition,
        kafka_offset=operation.offset,
        control_kind=kind,
        control=value_of(operation, message.text),
        announced=_announced(meta),
    )


def _of_broken(message: Message, table: str | None) -> Event:
    if message.text.strip(BLANKS) == _NULL:
        return null_message(message, TopicRecord(None), CONNECTOR, table)
    return rejected(message, broken_reason(message.text, WRONG_TYPE), table)
