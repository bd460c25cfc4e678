"""The rule of the step over Canal's events, in plain Python: repeated messages are control events, and positions have
the greatest time so far in their partition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from siltstone.engine.decode.event import Control, Event, Message
from siltstone.engine.decode.formats.canal_message import value_of
from siltstone.engine.decode.position_text import hex_digits, joined
from siltstone.engine.neighbours.canal_resent import Delivery, resent_of_lane
from siltstone.engine.neighbours.canal_step import LANE, ORDER, sent_batches

Line = tuple[str, int]
SAME = (
    *("file", "line", "text", "connector", "source", "table", "commit_us", "ingest_us", "event_id", "tx_id"),
    *("channel", "kafka_partition", "kafka_offset"),
)


def resolve(messages: Sequence[Message], events: Sequence[Event]) -> list[Event]:
    """The events of messages, resolved."""
    rows = [row for batch in sent_batches([list(messages)]) for row in batch.to_pylist()]
    resent, reached = lines_resent(rows), times_reached(rows)
    resolved: list[Event] = []
    for event in events:
        line = event.file, event.line
        if event.kind == "change" and line in resent:
            resolved += [] if event.text is None else [redelivery(event, event.text)]
            continue
        if line in reached and event.position is not None:
            event.position = position_at(event, event.position, reached[line])
        resolved.append(event)
    return resolved


def lane_and_place(row: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return tuple(row[name] for name in LANE), tuple(row[name] for name in ORDER)


def lines_resent(rows: Sequence[dict[str, Any]]) -> set[Line]:
    lanes = defaultdict(list)
    for row in rows:
        if row["id"] is not None:
            lane, place = lane_and_place(row)
            lanes[lane].append(Delivery(place, *(row[n] for n in ("file", "line", "after_gap", "id", "content"))))
    return {(one.file, one.line) for lane in lanes.values() for one in resent_of_lane(lane)}


def times_reached(rows: Sequence[dict[str, Any]]) -> dict[Line, int]:
    """The greatest time up to each line with a time."""
    lanes = defaultdict(list)
    for row in rows:
        if row["es"] is not None:
            lane, place = lane_and_place(row)
            lanes[lane].append((place, row["es"], (row["file"], row["line"])))
    return {
        line: max(es for other, es, _ in lane if other <= place) for lane in lanes.values() for place, _, line in lane
    }


def redelivery(event: Event, text: bytes) -> Control:
    same = {name: getattr(event, name) for name in SAME}
    return Control(**same, control_kind="redelivery", control=value_of(text))


def position_at(event: Event, position: str, reached: int) -> str:
    """The position in a partition, with the greatest time so far."""
    numbers = (reached, 12), (event.kafka_partition, 8), (event.kafka_offset, 16), (event.tx_order, 8)
    segments = [hex_digits(number, width) for number, width in numbers]
    return joined(*segments, epoch=position.partition("-")[0]) or position
