"""The place of the schemas of Debezium's Avro messages.

A message is a frame: a zero byte, the id of a schema in four bytes, the body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from siltstone.engine.decode.event import Message
from siltstone.engine.decode.formats.base64_messages import read_base64
from siltstone.engine.spec.model import RegistrySpec, SourceSpec

FRAME_BYTES: Final = 5
USUAL_NUMBERS: Final = range(1, 1 << 24)
"""The ids that registries usually give to schemas."""


@dataclass(frozen=True)
class SchemaPlace:
    """A file of schemas, or a registry. `of_project`: the project names it, so these events can have other schemas."""

    file: Path | None = None
    registry: RegistrySpec | None = None
    of_project: bool = False

    def source(self, source: SourceSpec) -> SourceSpec:
        """A source with these schemas."""
        return replace(source, registry=self.registry, schemas=None if self.file is None else str(self.file))


def are_frames(messages: Sequence[Message], place: SchemaPlace | None) -> bool:
    """Whether at least half of the messages are frames. Without a place of schemas, only usual ids count."""
    read = [each for each in map(read_base64, messages) if not each.is_empty]
    numbers = [number_of(each.value) for each in read]
    known = sum(number is not None and (place is not None or number in USUAL_NUMBERS) for number in numbers)
    return bool(known) and known * 2 >= len(read)


def number_of(data: bytes | None) -> int | None:
    """The id of the schema in a frame; None if the bytes are not a frame."""
    if data is None or len(data) < FRAME_BYTES or data[0] != 0:
        return None
    return int.from_bytes(data[1:FRAME_BYTES], "big")
