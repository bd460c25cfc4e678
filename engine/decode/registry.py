"""The registry of formats: the only place that lists them all."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from engine.decode.epoch_rules import EpochRules, source_block_of
from engine.decode.event import Event, Message
from engine.decode.formats.base import Declared, Format
from engine.errors import SpecError
from engine.spec.model import SourceSpec

_MODULES = {
    "debezium-json": "debezium",
    "debezium-avro": "debezium_avro",
    "canal-json": "canal",
    "dts-avro": "dts_avro",
    "spanner-json": "spanner",
    "shareplex-json": "shareplex",
    "datastream-json": "datastream",
    "datastream-avro": "datastream",
    "rows": "rows",
}


def format_of(name: str) -> Format:
    """The format of a name, from its module.

    Raises: SpecError: there is none.
    """
    if name not in _MODULES:
        raise SpecError(f"Cannot decode {name}: no decoder for it ({', '.join(_MODULES)} has one).")
    module = import_module(f"engine.decode.formats.{_MODULES[name]}")
    found: Format = module.FORMATS[name]
    return found


class SourceDecoder:
    """Decodes the messages of one source. `declared`: the tables that specs name, and their keys."""

    def __init__(self, source: SourceSpec, declared: Declared) -> None:
        self._decoder = format_of(source.format).decoder(source, declared)
        source_block = getattr(self._decoder, "source_block", source_block_of)
        self._epochs = EpochRules(source.epochs, source_block) if source.epochs else None

    def decode(self, messages: Sequence[Message]) -> list[Event]:
        """The events of messages, in their order; at least one for each message."""
        events = [event for message in messages for event in self._decoder.events(message)]
        return events if self._epochs is None else list(self._epochs.applied(events))


def decode_messages(messages: Sequence[Message], source: SourceSpec, declared: Declared) -> list[Event]:
    """The events of messages, in their order."""
    return SourceDecoder(source, declared).decode(messages)
