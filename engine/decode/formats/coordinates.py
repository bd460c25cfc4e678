"""Positions by coordinates: the place where a record was delivered, that is its offset, or its file and line.

File names are relative to the folder of the source, so that moving the folder does not change the order.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from siltstone.engine.decode.decoder import Declared
from siltstone.engine.decode.event import Message
from siltstone.engine.decode.position_text import (
    ANY_WIDTH,
    EPOCH,
    SECOND_EPOCH,
    hex_digits,
    joined,
    segments,
    text_of_segment,
    text_segment,
)
from siltstone.engine.inputs.globs import plain_start
from siltstone.engine.spec.model import SourceSpec

_SCHEME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:/+")


def folder_of(source: SourceSpec) -> str:
    """The folder in a source's path, with a final slash; empty if the path names none."""
    folder = _SCHEME.sub("/", plain_start(source.path).rpartition("/")[0])
    return f"{folder}/" if folder else ""


class Coordinates:
    """Positions by coordinates.

    in a topic   epoch (4) - milliseconds, or zeros (12) - partition (8) - offset (16) - row in the record (8)
    in a file    epoch (4) - name of the file below the source's folder, as bytes - line (16) - row in the record (8)
    """

    def __init__(self, source: SourceSpec, epoch: str = EPOCH) -> None:
        self._folder = folder_of(source)
        self._epoch = epoch

    def position(
        self, file: str, line: int, partition: int | None, offset: int | None, row: int = 0, millis: int | None = 0
    ) -> str:
        """The position of a row of a record.

        `millis` never decreases inside a partition. It orders partitions; offsets order the records of a partition.
        """
        if partition is not None and offset is not None:
            place = hex_digits(millis, 12), hex_digits(partition, 8), hex_digits(offset, 16), hex_digits(row, 8)
            in_topic = joined(*place, epoch=self._epoch)
            if in_topic is not None:
                return in_topic
        return f"{self._epoch}-{_name_segment(self._folder, file)}-{line:016X}-{row:08X}"


class LogOrCoordinates:
    """Positions of a source whose changes have a place in its log.

    If one change has no place, coordinates order the whole source from then on, in an epoch after the epoch of the log
    (a later step converts the positions of the other changes).

    A change of a table that no spec declares does not cause this: without a place, it has no position.
    """

    def __init__(self, source: SourceSpec, declared: Declared) -> None:
        self._order = source.order
        self._tables = frozenset(declared)
        self._coordinates = Coordinates(source, SECOND_EPOCH)

    def position(
        self, place: str | None, table: str | None, message: Message, partition: int | None, offset: int | None
    ) -> str | None:
        """The position of a change. `place`: its place in the log, if it has one."""
        if place is not None and self._order != "coordinates":
            return place
        if self._order == "auto" and self._tables and table not in self._tables:
            return None
        return self._coordinates.position(message.file, message.line, partition, offset)


def notation(position: str, _source: str = "") -> str | None:
    """Partition and offset, or file and line, and the number of the row in the record, unless it is the first row."""
    found = segments(position, 12, 8, 16, 8)
    if len(found) == 4:
        place, row = f"partition {int(found[1], 16)} offset {int(found[2], 16)}", found[3]
    else:
        name, line, row = [*segments(position, ANY_WIDTH, 16, 8), "", "", ""][:3]
        if not row:
            return None
        place = f"{text_of_segment(name)}:{int(line, 16)}"
    return place + (f" row {int(row, 16)}" if int(row, 16) else "")


@lru_cache(maxsize=1_000)
def _name_segment(folder: str, file: str) -> str:
    return text_segment(name_below(folder, file))


def name_below(folder: str, file: str) -> str:
    """The name of a file relative to a folder; the full name if the file is not in the folder."""
    _, is_below, name = file.partition(folder) if folder else ("", "", "")
    return name if is_below else file
