"""The messages that Canal sent again after a rollback.

A lane is a partition of a topic (of a folder, where no topic is named), or where there is none, all files in the order
of their names. What is at one place of a lane is one message, however often it was delivered. Messages of one `id`
that follow each other are a batch. After a rollback the whole batch just before comes again, message by message and
equal in all but `id` and `ts`, as the beginning of the next batch, which may go on longer. Inside one batch equal
messages are changes of their own. Of a batch that follows files that were not read, the beginning is not known.

    id       1  1  2  2  3  3  3  4  4
    message  A  B  C  D  C  D  E  E  F
    resent                x  x         batch 4 begins with E, but batch 3 was C D E

A lane can be as long as a night: it is judged in pieces, each alone. The batches at the ends of a piece can go on in
the next one, or come again there. They are the border of the piece: the borders of all pieces of a lane decide about
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final, NamedTuple

FOLLOWS: Final = 0
CUT: Final = 1
"""What is before the message is not known."""
SEPARATE: Final = 2
"""The message begins a whole batch, which was compared with the one before it."""
_AT_AN_END: Final = 2
"""So many batches at each end of a piece are its border."""
Lane = tuple[str, int, str]
Place = tuple[int, str, int]


class SourceBatch(NamedTuple):
    """A message that was delivered. `place`: where it is in its lane: an offset, or a file and a line, which have the
    offset -1. `start`: what a border knows of its beginning."""

    place: Place
    file: str
    line: int
    after_gap: bool
    id: str
    content: int
    start: int | None = None


class _Batch(NamedTuple):
    """Each of the messages is the deliveries at one place; the least of them counts."""

    start: int
    messages: list[list[SourceBatch]]

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


def resent_of_lane(deliveries: Iterable[SourceBatch]) -> list[SourceBatch]:
    """The deliveries of a lane, or of the borders of all its pieces, that were sent before."""
    batches = _batches(deliveries)
    return [source_batch for pair in pairwise(batches) for source_batch in _repeated(*pair)]


def resent_of_piece(deliveries: Iterable[SourceBatch]) -> tuple[list[SourceBatch], list[SourceBatch]]:
    """Those that were sent before for certain, by this piece of a lane alone; and its border."""
    batches = _batches(deliveries)
    inner = batches[_AT_AN_END - 1 : -1]
    resent = [source_batch for pair in pairwise(inner) for source_batch in _repeated(*pair)]
    if len(batches) <= 2 * _AT_AN_END:
        return resent, list(_border(batches))
    first, last = batches[:_AT_AN_END], batches[-_AT_AN_END:]
    begin = last[0]._replace(start=SEPARATE if last[0].start == FOLLOWS else last[0].start)
    return resent, [*_border(first), *_border([begin, *last[1:]], is_first=False)]


def _batches(deliveries: Iterable[SourceBatch]) -> list[_Batch]:
    messages = [list(found) for _, found in groupby(sorted(deliveries, key=_weight), key=lambda one: one.place)]
    batches: list[_Batch] = []
    before: SourceBatch | None = None
    for message in messages:
        first = message[0]
        start = _start(first, before)
        if before is None or start != FOLLOWS or first.id != before.id:
            batches.append(_Batch(start, []))
        batches[-1].messages.append(message)
        before = first
    return batches


def _weight(source_batch: SourceBatch) -> tuple[Place, bool, str, str, int]:
    return source_batch.place, source_batch.after_gap, source_batch.file, source_batch.id, source_batch.content


def _start(first: SourceBatch, before: SourceBatch | None) -> int:
    if first.start is not None:
        return first.start
    return CUT if first.after_gap and (before is None or before.file != first.file) else FOLLOWS


def _repeated(before: _Batch, batch: _Batch) -> Iterator[SourceBatch]:
    """What a batch has sent again of the one before: all of that, or nothing."""
    number = len(before.messages)
    if batch.start == FOLLOWS and before.start != CUT and batch.contents()[:number] == before.contents():
        for message in batch.messages[:number]:
            yield from message


def _border(batches: Sequence[_Batch], is_first: bool = True) -> Iterator[SourceBatch]:
    """The messages with what is known of their start. What is before the first one of a piece, its lane knows."""
    for batch in batches:
        start: int | None = None if is_first and batch is batches[0] else batch.start
        for message in batch.messages:
            for source_batch in message:
                yield source_batch._replace(start=start)
            start = FOLLOWS
