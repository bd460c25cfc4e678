"""The protocol that the decoder of every format implements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from siltstone.engine.decode.event import Event, Message

Declared = Mapping[str, tuple[str, ...] | None]
"""The tables that specs declare, and their key columns (None: the events have them)."""


class Decoder(Protocol):
    """Decodes the messages of one source. Each task has one decoder, which keeps only caches between messages."""

    def events(self, message: Message) -> Sequence[Event]:
        """The events of a message, at least one. The messages of a file are passed in their order."""
        ...
