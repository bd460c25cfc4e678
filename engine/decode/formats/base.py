"""What every format's module has: one `FORMAT`, which says how its messages are decoded and what else it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.decode.event import Event, Message
from engine.spec.model import SourceSpec

Declared = Mapping[str, tuple[str, ...] | None]
"""The tables that specs name, and their key columns (None: the events carry them)."""


class Decoder(Protocol):
    """Decodes the messages of one source. It is made once for each task, and keeps only caches between messages."""

    def events(self, message: Message) -> Sequence[Event]:
        """The events of a message: at least one. The messages of a file come in their order."""
        ...


@dataclass(frozen=True)
class Format:
    """One format: how its messages are decoded, and what else of siltstone has to know about it.

    `decoder` makes the decoder of a source; `declared` are the tables that specs name.
    `fans_out`: one message can hold several changes.
    `reads_whole`: what a message means can depend on the messages before it in its file.
    `resends`: files that come later can show that a change is none, because its message was sent again.
    `can_turn_to_coordinates`: from one change without a position on, the place of delivery orders the whole source.
    `can_turn_to_scns`: a record can show that SCNs alone order its source.
    """

    name: str
    decoder: Callable[[SourceSpec, Declared], Decoder]
    fans_out: bool = False
    reads_whole: bool = False
    resends: bool = False
    can_turn_to_coordinates: bool = False
    can_turn_to_scns: bool = False
