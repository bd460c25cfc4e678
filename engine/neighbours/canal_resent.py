"""Finds the messages that Canal sent a second time after a rollback.

A lane is a partition of a topic (or of a folder, if the messages name no topic). Without partitions, all files in the
order of their names are one lane. All deliveries at one place of a lane are one message. Consecutive messages with one
`id` are a batch. After a rollback Canal repeats the whole previous batch, message by message and equal in all fields
except `id` and `ts`, at the beginning of the next batch. That batch can have more messages. Inside one batch, equal
messages are separate changes. If the files before a batch were not read, the beginning of the batch is unknown.

    id       1  1  2  2  3  3  3  4  4
    message  A  B  C  D  C  D  E  E  F
    resent                x  x         batch 4 begins with E, but batch 3 was C D E

A lane can have all messages of a run, so it is classified in separate pieces. The batches at the ends of a piece can
continue in the next piece, or be repeated there. They are the border of the piece. The borders of all pieces of a lane
are classified together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final, NamedTuple

FOLLOWS: Final = 0
CUT: Final = 1
"""The messages before it are unknown."""
SEPARATE: Final = 2
"""The message begins a complete batch, which was compared with the batch before it."""
_AT_AN_END: Final = 2
"""The number of batches at each end of a piece that are its border."""
Lane = tuple[str, int, str]
Place = tuple[int, str, int]


class Delivery(NamedTuple):
    """A delivery of a message. `place`: its place in its lane: an offset, or the offset -1 with a file and a line.
    `start`: how its batch begins, if that is known (FOLLOWS, CUT or SEPARATE)."""

    place: Place
    file: str
    line: int
    after_gap: bool
    id: str
    content: int
    start: int | None = None


class _Batch(NamedTuple):
    """A batch. A message is the list of deliveries at one place, of which the first in order counts."""

    start: int
    messages: list[list[Delivery]]

    def contents(self) -> list[int]:
        return [deliveries[0].content for deliveries in self.messages]


def lane_of(file: str, channel: str | None, partition: int | None) -> Lane:
    """The lane of a message."""
    if partition is None:
        return channel or "", -1, ""
    return channel or "", partition, file.rpartition("/")[0] if channel is None else ""


def place_of(file: str, line: int, partition: int | None, offset: int | None) -> Place:
    """The place of a message in its lane."""
    return (-1, file, line) if partition is None or offset is None else (offset, "", 0)


def resent_of_lane(deliveries: Iterable[Delivery]) -> list[Delivery]:
    """The repeated deliveries of a lane, or of the borders of all its pieces."""
    batches = _batches(deliveries)
    return [delivery for pair in pairwise(batches) for delivery in _repeated(*pair)]


def resent_of_piece(deliveries: Iterable[Delivery]) -> tuple[list[Delivery], list[Delivery]]:
    """The deliveries of a piece that are certainly repeated, and the border of the piece."""
    batches = _batches(deliveries)
    inner = batches[_AT_AN_END - 1 : -1]
    resent = [delivery for pair in pairwise(inner) for delivery in _repeated(*pair)]
    if len(batches) <= 2 * _AT_AN_END:
        return resent, list(_border(batches))
    first, last = batches[:_AT_AN_END], batches[-_AT_AN_END:]
    begin = last[0]._replace(start=SEPARATE if last[0].start == FOLLOWS else last[0].start)
    return resent, [*_border(first), *_border([begin, *last[1:]], is_first=False)]


def _batches(deliveries: Iterable[Delivery]) -> list[_Batch]:
    messages = [list(found) for _, found in groupby(sorted(deliveries, key=_weight), key=lambda one: one.place)]
    batches: list[_Batch] = []
    before: Delivery | None = None
    for message in messages:
        first = message[0]
        start = _start(first, before)
        if before is None or start != FOLLOWS or first.id != before.id:
            batches.append(_Batch(start, []))
        batches[-1].messages.append(message)
        before = first
    return batches


def _weight(delivery: Delivery) -> tuple[Place, bool, str, str, int]:
    return delivery.place, delivery.after_gap, delivery.file, delivery.id, delivery.content


def _start(first: Delivery, before: Delivery | None) -> int:
    if first.start is not None:
        return first.start
    return CUT if first.after_gap and (before is None or before.file != first.file) else FOLLOWS


def _repeated(before: _Batch, batch: _Batch) -> Iterator[Delivery]:
    """The messages of a batch that repeat the previous batch: all messages of that batch, or none."""
    number = len(before.messages)
    if batch.start == FOLLOWS and before.start != CUT and batch.contents()[:number] == before.contents():
        for message in batch.messages[:number]:
            yield from message


def _border(batches: Sequence[_Batch], is_first: bool = True) -> Iterator[Delivery]:
    """The messages of batches, each with its known start. The start of a piece is known only in its lane."""
    for batch in batches:
        start: int | None = None if is_first and batch is batches[0] else batch.start
        for message in batch.messages:
            for delivery in message:
                yield delivery._replace(start=start)
            start = FOLLOWS
