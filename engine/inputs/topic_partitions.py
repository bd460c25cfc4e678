"""Partitions of topics as files: which records of each are new to a consumer.

A partition is treated like a growing file of lines. Its path is `kafka://<topic>/<partition>`, its line number is the
offset plus one, and its fingerprint is the id of its topic. A topic that is recreated with the same name has another
id. Offsets that transactions and compaction skip are missing lines.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from siltstone.engine.errors import SourceError
from siltstone.engine.inputs.listing import InputFile
from siltstone.engine.inputs.pending_files import PendingFile, Taken
from siltstone.engine.names import TOPICS

RECORD_BYTES: Final = 1_000
"""The assumed size of a record. Its real size is known only when it is read."""
SHOWN: Final = 5

Why = Literal["retention", "recreated", "shortened"]


@dataclass(frozen=True)
class Partition(InputFile):
    """A partition of a topic.

    `size`, also `end`: the offset after the last record of this run. `start`: the first offset that the topic still
    has. `read_from`: the first offset to read. `latest`: the offset after the last committed record.
    """

    topic: str = ""
    number: int = 0
    topic_id: str = ""
    start: int = 0
    read_from: int = 0
    latest: int = 0

    @property
    def end(self) -> int:
        """The offset after the last record of this run."""
        return self.size

    @property
    def work_bytes(self) -> int:
        """About how many bytes are read."""
        return max(self.end - self.read_from, 0) * RECORD_BYTES


def partition(topic: str, number: int, topic_id: str, start: int, end: int) -> Partition:
    """A partition with all its records."""
    return Partition(
        partition_path(topic, number),
        size=end,
        mtime=0,
        topic=topic,
        number=number,
        topic_id=topic_id,
        start=start,
        read_from=start,
        latest=end,
    )


def partition_path(topic: str, number: int) -> str:
    """The path of a partition."""
    return f"{TOPICS}{topic}/{number}"


def partition_of(path: str) -> tuple[str, int]:
    """The topic and the number of a partition."""
    topic, _, number = path.removeprefix(TOPICS).rpartition("/")
    return topic, int(number)


@dataclass(frozen=True)
class Lost:
    """Records that are gone before a consumer took them: those of a partition from offset `first` to `last`.

    With `why` recreated, the topic itself was replaced by another one of the same name.
    """

    path: str
    why: Why
    first: int
    last: int

    @property
    def place(self) -> str:
        """The identity of the loss, the same in every run until it is accepted: where the consumer stopped."""
        return f"{self.path}:{self.first}:{self.why}"

    @property
    def words(self) -> str:
        """The loss in words."""
        if self.why == "recreated":
            return f"{self.path} belongs to another topic of that name now (up to offset {self.first} was taken)"
        if self.why == "shortened":
            return f"{self.path} ends at offset {self.last}, but up to offset {self.first} was taken"
        return f"{self.path} has lost offsets {self.first} to {self.last} to the topic's retention"


@dataclass(frozen=True)
class Pending:
    """The records that are new to a consumer, and those that are gone before it took them."""

    entries: Sequence[PendingFile]
    lost: Sequence[Lost]


Starts = Callable[[Partition], int]


def pending_partitions(partitions: Iterable[Partition], taken: Mapping[str, Taken], starts: Starts) -> Pending:
    """The partitions with new records, and those that have lost records.

    `starts`: the offset at which a new partition begins. It is recorded as taken up to there, even without a record.
    """
    entries, lost = [], []
    for one in partitions:
        known = taken.get(one.path)
        gone = None if known is None else _lost(one, known)
        if known is None:
            entries.append(_from(one, min(max(starts(one), one.start), one.end)))
        elif gone is not None:
            lost.append(gone)
            entries.append(_from(one, one.end if gone.why == "shortened" else one.start))
        elif known.to_line < one.end:
            entries.append(_from(one, known.to_line))
    return Pending(entries, lost)


def _lost(one: Partition, known: Taken) -> Lost | None:
    if known.fingerprint != one.topic_id:
        return Lost(one.path, "recreated", known.to_line, one.end)
    if one.latest < known.to_line:
        return Lost(one.path, "shortened", known.to_line, one.latest)
    if known.to_line < one.start:
        return Lost(one.path, "retention", known.to_line, one.start - 1)
    return None


def _from(one: Partition, offset: int) -> PendingFile:
    return PendingFile(replace(one, read_from=offset), one.topic_id, offset, False)


def bounded(entries: Collection[PendingFile], max_records: int | None) -> dict[str, int]:
    """The end of each partition in a run of at most `max_records` offsets, shared equally among the partitions."""
    sizes = sorted((entry.file.size - entry.after_line, entry.file.path, entry.after_line) for entry in entries)
    left = sum(size for size, _, _ in sizes) if max_records is None else max_records
    ends = {}
    for at, (size, path, begin) in enumerate(sizes):
        share = min(size, left // (len(sizes) - at))
        ends[path] = begin + share
        left -= share
    return ends


def cut(pending: Pending, ends: Mapping[str, int], taken: Collection[str]) -> list[PendingFile]:
    """The entries up to the ends. `taken`: the partitions that are not new.

    An entry without a record is kept if its offset must be recorded: its partition is new, or continues at another
    offset because records are gone.
    """
    found, goes_on = [], set(taken) - {one.path for one in pending.lost}
    for entry in pending.entries:
        end = max(ends[entry.file.path], entry.after_line)
        if end > entry.after_line or entry.file.path not in goes_on:
            found.append(replace(entry, file=replace(entry.file, size=end)))
    return found


def lost_error(source: str, lost: Iterable[Lost], hint: str) -> SourceError:
    """The error for a source that has lost records before they were taken."""
    words = list(dict.fromkeys(one.words for one in lost))
    more = f"; and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return SourceError(f"Cannot take {source}: {'; '.join(words[:SHOWN])}{more}. Nothing was taken.", hint)
