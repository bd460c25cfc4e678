"""Messages of TiCDC in its dialect of Canal's JSON: Canal's flat messages with the TiDB extension `_tidb`.

    https://docs.pingcap.com/tidb/stable/ticdc-canal-json/

    {"database", "table", "pkNames", "isDdl", "type", "es", "ts", "mysqlType", "data", "old", ...,
     "_tidb": {"commitTs": 429918007904436226}}

A changefeed writes `_tidb` with `enable-tidb-extension=true`. Without it, the format of its messages is `canal-json`. A
message holds one row. `old` is the complete row before an update, or only the changed columns (`content-compatible`).
An update that changes the key, or a unique key, is a DELETE and an INSERT, or an UPDATE with the old key in `old`
(`output-raw-change-event`). There are no READs.

`commitTs` is the TSO of the commit: `tso` has the layout of positions. It orders the changes of a key for any place and
number of deliveries. `es` is the same time in milliseconds.

A TIDB_WATERMARK is a heartbeat of its partition: all changes that were committed at lower TSOs than `watermarkTs` were
sent there before it. Its time is the last microsecond before the millisecond of that TSO.

A message that is too large can hold only the key (`onlyHandleKey`, `claimCheckLocation`). That is enough for a delete.
An insert or an update is rejected, because the message lacks its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from siltstone.engine import names
from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import Announced, Event, Message, Reject, copied
from siltstone.engine.decode.formats.canal import CanalDecoder, of_broken
from siltstone.engine.decode.formats.canal_message import (
    BrokenMessageError,
    CanalMessage,
    Tidb,
    millis_to_micros,
    read_message,
)
from siltstone.engine.decode.formats.tso import millis_of, position_of
from siltstone.engine.schema import control_kinds
from siltstone.engine.spec.model import SourceSpec

CONNECTOR: Final = "ticdc"
NO_EXTENSION: Final = "_tidb is missing: TiCDC writes it with enable-tidb-extension=true; without it, read canal-json"
NO_COMMIT: Final = "_tidb.commitTs is missing"
NO_TSO: Final = "_tidb.commitTs is not a TSO"
ONLY_KEY: Final = "a message that was too large holds only the key (_tidb.onlyHandleKey): its row is in TiDB"
IN_STORAGE: Final = (
    "a message that was too large holds only the key (_tidb.claimCheckLocation): its row is in external storage"
)
_NO_EXTENSION: Final = Tidb()


class TicdcDecoder:
    """Decodes messages of TiCDC as Canal's messages, with positions from `_tidb`."""

    def __init__(self, source: SourceSpec, declared: Declared) -> None:
        self._canal = CanalDecoder(source, declared)

    def events(self, message: Message) -> Sequence[Event]:
        """The events of a message: a change, two for an update that changes the key, or one event of another kind."""
        try:
            canal = read_message(message.text)
        except BrokenMessageError as broken:
            return [_of_ticdc(of_broken(message, broken))]
        events = self._canal.events_of(message, canal)
        first, tidb = events[0], canal.tidb or _NO_EXTENSION
        if first.op is None:
            return [_watermark(first, canal, tidb) if _is_watermark(first) else _of_ticdc(first)]
        reason = _reject_reason(canal, first.op)
        if reason is not None:
            return [copied(Reject, _of_ticdc(first), reason=reason)]
        return [_placed(event, tidb.commit_ts) for event in events]


def _is_watermark(event: Event) -> bool:
    return event.control_kind == control_kinds.HEARTBEAT


def _of_ticdc(event: Event) -> Event:
    """Remove the fields that only Canal's messages have. TiCDC's `id` is always 0."""
    if event.connector is not None:
        event.connector = event.source = CONNECTOR
    event.event_id = event.tx_order = None
    return event


def _reject_reason(canal: CanalMessage, op: str) -> str | None:
    """Why a change has no position or no row; None if it has both."""
    tidb = canal.tidb
    if tidb is None:
        return NO_EXTENSION
    if tidb.commit_ts is None:
        return NO_COMMIT
    if millis_of(tidb.commit_ts) <= 0:
        return NO_TSO
    if op not in (names.OP_INSERT, names.OP_UPDATE):
        return None
    if tidb.claim_check_location:
        return IN_STORAGE
    return ONLY_KEY if tidb.only_handle_key else None


def _placed(event: Event, commit_ts: int | None) -> Event:
    _of_ticdc(event)
    event.position = position_of(commit_ts, is_delete=event.op == names.OP_DELETE)
    event.commit_us = _micros_of(commit_ts)
    event.tx_id = str(commit_ts)
    return event


def _watermark(event: Event, canal: CanalMessage, tidb: Tidb) -> Event:
    """The progress of a partition. Without coordinates of the topic, the partition is unknown."""
    _of_ticdc(event)
    reached = _micros_of(tidb.watermark_ts)
    event.commit_us = None if reached is None else reached - 1
    if canal.partition is not None:
        event.announced = Announced(partition=f"{canal.topic or ''}/{canal.partition}")
    return event


def _micros_of(tso: int | None) -> int | None:
    return None if tso is None else millis_to_micros(millis_of(tso))
