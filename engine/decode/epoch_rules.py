"""Epochs: after a log is reset, its positions restart. Rules over the event itself determine its epoch.

So an event has the same epoch whenever it arrives. The epoch is the first segment of every position.

    epoch: [{until: 2026-03-01T04:00:00Z}]   position as read     position
    committed on 28 February                 0000-0000000A-...    0000-0000000A-...
    committed on 1 March at noon             0000-00000001-...    0002-00000001-...    a new log, after the old one
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from siltstone.engine.decode.event import CHANGE, Event, Reject, copied
from siltstone.engine.decode.json_value import PARSE_ERRORS, parse, raw_fields
from siltstone.engine.decode.position_text import EPOCH_DIGITS, OWN_EPOCHS
from siltstone.engine.formats import kind_of
from siltstone.engine.names import OP_READ
from siltstone.engine.spec.model import EpochSpec

_SERVER: Final = ("server_id", "gtid")
_SERVER_OF_DATASTREAM: Final = ("datastream_master_server_id", "gtid")
_EPOCH_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
SourceBlock = Callable[[bytes], Mapping[str, Any]]
UNKNOWN: Final = (
    "the event names no server (a READ, or a stream of Datastream without GTIDs), so that its epoch is unknown:"
    " add until or path to the epoch, next to server_id and gtid"
)


class EpochRules:
    """The declared epochs of one source. `source_block`: the JSON fields of a message about its source."""

    def __init__(self, epochs: Sequence[EpochSpec], source_block: SourceBlock) -> None:
        self._source_block = source_block
        self._epochs = [_Rule(epoch) for epoch in epochs]
        self._needs_source_block = any(epoch.server_id is not None or epoch.gtid is not None for epoch in epochs)

    def applied(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events with their positions in their epochs. The epoch is that of the first rule that holds, or the last
        one if no rule holds. A change whose epoch the rules cannot determine is rejected."""
        for event in events:
            if event.position is None:
                yield event
                continue
            number = self._number(event)
            if number is None:
                yield copied(Reject, event, reason=UNKNOWN, position=None) if event.kind == CHANGE else event
                continue
            own = int(event.position[:EPOCH_DIGITS], 16)
            event.position = f"{number * OWN_EPOCHS + own:0{EPOCH_DIGITS}X}{event.position[EPOCH_DIGITS:]}"
            yield event

    def _number(self, event: Event) -> int | None:
        source = _server_of(self._source_block(event.text or b"null")) if self._needs_source_block else {}
        for index, rule in enumerate(self._epochs):
            holds = rule.holds(event, source)
            if holds is None:
                return None
            if holds:
                return index
        return len(self._epochs)


class _Rule:
    def __init__(self, epoch: EpochSpec) -> None:
        self._epoch = epoch
        self._path = None if epoch.path is None else re.compile(ending(epoch.path))
        self._until = None if epoch.until is None else _micros(epoch.until)

    def holds(self, event: Event, source: Mapping[str, Any]) -> bool | None:
        """Whether all conditions hold. None if the event names no server and the rule has no other condition.

        A READ of MySQL has no server and no GTID. Changes of a source that omits them have none either. For those
        events only the other conditions count.
        """
        epoch = self._epoch
        others = [self._path.search(event.file) is not None] if self._path is not None else []
        if self._until is not None:
            others.append(event.commit_us is not None and event.commit_us < self._until)
        server, gtid = source.get("server_id"), source.get("gtid") or ""
        if epoch.server_id is None and epoch.gtid is None:
            return all(others)
        names_no_server = not server and not gtid and (event.op == OP_READ or kind_of(event.source).omits_server)
        if names_no_server:
            return all(others) if others else None
        if epoch.server_id is not None and server != epoch.server_id:
            return False
        if epoch.gtid is not None and gtid.partition(":")[0].lower() != epoch.gtid.lower():
            return False
        return all(others)


def source_block_of(text: bytes) -> Mapping[str, Any]:
    """The server fields of a JSON message: of Debezium's source block, or of Datastream's metadata under the same
    names. Empty if it has neither."""
    record = _fields(text)
    value = _fields(record.get("value"))
    found: dict[str, Any] = {}
    for around in (_fields(value.get("payload")), value, _fields(record.get("payload")), record):
        _add(found, _fields(around.get("source")), _SERVER)
    _add(found, _fields(record.get("source_metadata")), _SERVER_OF_DATASTREAM)
    return found


def _fields(text: bytes | msgspec.Raw | None) -> dict[str, msgspec.Raw]:
    """The fields of an object. Empty for another value. Row images are large and are not parsed."""
    try:
        return {} if text is None else raw_fields(text)
    except PARSE_ERRORS:
        return {}


def _add(found: dict[str, Any], block: Mapping[str, msgspec.Raw], names: Sequence[str]) -> None:
    """Add the server and the GTID of a block if they are not found yet. `names`: their names in the block."""
    for name, own in zip(_SERVER, names, strict=True):
        if found.get(name) is None and own in block:
            found[name] = parse(bytes(block[own]))


def _server_of(block: Mapping[str, Any]) -> dict[str, Any]:
    """`server_id` as a number and `gtid` as text. None for a value of another type."""
    server, gtid = (block.get(name) for name in _SERVER)
    is_text = isinstance(server, str) and server.isascii() and server.isdigit()
    number = int(server) if is_text else server if isinstance(server, int) else None  # type: ignore[arg-type]
    return {"server_id": number, "gtid": gtid if isinstance(gtid, str) else None}


def _micros(moment: datetime) -> int:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = aware - _EPOCH_START
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def ending(pattern: str) -> str:
    """The regular expression for names that end with a pattern: `*` matches text inside a folder, `**` across folders,
    `?` one character."""
    words = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces, rest = [], pattern
    while rest:
        word = next((word for word in words if rest.startswith(word)), None)
        pieces.append(words[word] if word else re.escape(rest[0]))
        rest = rest[len(word or rest[0]) :]
    return ("" if pattern.startswith("/") else "(?:^|/)") + "".join(pieces) + r"\Z"
