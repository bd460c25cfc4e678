"""One night in two halves. The second half has changes that belong into the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LATE_SHARE = 0.01


@dataclass(frozen=True)
class Halves:
    """The folders of lines: the first half without some changes, the second half, and the changes that are late."""

    first: Path
    second: Path
    late: Path


def halves(events: Path, folder: Path) -> Halves:
    """Cut the lines of a night, which are in commit order. Hold back the lines of the first half that arrive late."""
    total = sum(1 for _ in _lines(events))
    middle = total // 2
    every = max(1, round(middle / ((total - middle) * LATE_SHARE)))
    made = Halves(folder / "first", folder / "second", folder / "late")
    for part in (made.first, made.second, made.late):
        part.mkdir(parents=True)
    with (
        (made.first / "lines.jsonl").open("wb") as first,
        (made.second / "lines.jsonl").open("wb") as second,
        (made.late / "lines.jsonl").open("wb") as late,
    ):
        for number, line in enumerate(_lines(events)):
            (second if number >= middle else late if number % every == 0 else first).write(line)
    return made


def _lines(events: Path) -> Iterator[bytes]:
    for file in sorted(events.glob("*.jsonl")):
        with file.open("rb") as found:
            yield from found
