"""Decodes the messages of one source, with the decoder of its format and the epochs of its log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from siltstone.engine.decode.decoder import Declared, Decoder
from siltstone.engine.decode.epoch_rules import EpochRules, source_block_of
from siltstone.engine.decode.event import Event, Message
from siltstone.engine.formats import format_of, loaded
from siltstone.engine.spec.model import SourceSpec


class SourceDecoder:
    """Decodes the messages of one source. `declared`: the tables that specs declare, and their keys."""

    def __init__(self, source: SourceSpec, declared: Declared) -> None:
        decoder_of: Callable[[SourceSpec, Declared], Decoder] = loaded(format_of(source.format).decoder)
        self._decoder = decoder_of(source, declared)
        source_block = getattr(self._decoder, "source_block", source_block_of)
        self._epochs = EpochRules(source.epochs, source_block) if source.epochs else None

    def decode(self, messages: Sequence[Message]) -> list[Event]:
        """The events of messages, in their order, at least one for each message."""
        events = [event for message in messages for event in self._decoder.events(message)]
        return events if self._epochs is None else list(self._epochs.applied(events))


def decode_messages(messages: Sequence[Message], source: SourceSpec, declared: Declared) -> list[Event]:
    """The events of messages, in their order."""
    return SourceDecoder(source, declared).decode(messages)
