"""What the decoder of every format is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from siltstone.engine.decode.event import Event, Message

Declared = Mapping[str, tuple[str, ...] | None]
"""The tables that specs name, and their key columns (None: the events carry them)."""


class Decoder(Protocol):
    """Decodes the messages of one source. It is made once for each task, and keeps only caches between messages."""

    def events(self, message: Message) -> Sequence[Event]:
        """The events of a message: at least one. The messages of a file come in their order."""
        ...
