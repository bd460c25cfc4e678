"""Positions by coordinates: where a record was delivered, its offset, or its file and line.

Files are named below the folder of the source: moving it changes no order.
"""

from __future__ import annotations

import re
from typing import Final

from engine.decode.position_text import EPOCH, file_line, kafka_record
from engine.inputs.globs import plain_start
from engine.spec.model import SourceSpec

_SCHEME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:/+")
_MOST_FILES: Final = 1_000


def folder_of(source: SourceSpec) -> str:
    """The folder that a source's path names, with its slash; empty where the path names none."""
    folder = _SCHEME.sub("/", plain_start(source.path).rpartition("/")[0])
    return f"{folder}/" if folder else ""


class Coordinates:
    """Positions by coordinates.

    in a topic   epoch (4) - zeros (12) - partition (8) - offset (16) - row in the record (8)
    in a file    epoch (4) - name of the file below the source's folder, as bytes - line (16) - row in the record (8)
    """

    def __init__(self, source: SourceSpec, epoch: str = EPOCH) -> None:
        self._folder = folder_of(source)
        self._epoch = epoch
        self._names: dict[str, str] = {}

    def position(self, file: str, line: int, partition: int | None, offset: int | None, row: int = 0) -> str | None:
        """The position of a row of a record."""
        if partition is not None and offset is not None:
            in_topic = kafka_record(0, partition, offset, row, self._epoch)
            if in_topic is not None:
                return in_topic
        return file_line(self._name(file), line, row, self._epoch)

    def _name(self, file: str) -> str:
        found = self._names.get(file)
        if found is None:
            if len(self._names) >= _MOST_FILES:
                self._names.clear()
            _, is_below, name = file.partition(self._folder) if self._folder else ("", "", "")
            found = self._names[file] = name if is_below else file
        return found
