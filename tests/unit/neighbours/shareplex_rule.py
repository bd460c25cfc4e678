"""The rule of the step over SharePlex's events, in plain Python: pairs of lines are one update, and if one change lacks
an SCN, coordinates order all changes."""

from __future__ import annotations

from collections.abc import Iterable

from siltstone.engine.decode.event import Event
from siltstone.engine.decode.formats.coordinates import Coordinates
from siltstone.engine.neighbours.shareplex_pairs import paired
from siltstone.engine.neighbours.shareplex_step import is_at_coordinates
from siltstone.engine.spec.model import SourceSpec


def resolve(events: Iterable[Event], source: SourceSpec) -> list[Event]:
    """The events of all messages, resolved."""
    found = paired(list(events))
    if source.order == "auto" and any(map(is_at_coordinates, found)):
        coordinates = Coordinates(source, "0001")
        for event in found:
            if event.kind == "change" and event.position is not None and not is_at_coordinates(event):
                place = coordinates.position(event.file, event.line, event.kafka_partition, event.kafka_offset)
                event.position = f"{int(event.position[:4], 16) + 1:04X}{place[4:]}"
    return found
