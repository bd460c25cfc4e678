"""What the events of a SharePlex source say together: which two lines are one update, and which order the source has.

An UPDATE BEFORE has the row before its UPDATE AFTER. It is the line before it, where nothing that both say speaks
against that; else the one with the same place in the same transaction, or the place before it, wherever it is:
SharePlex counts both as one operation, or as two.

    line   operation        transaction   operation in it
    1      UPDATE BEFORE    7.1           1
    2      UPDATE AFTER     7.1           2                  of line 1
    3      UPDATE BEFORE    7.1           3
    4      ins              7.2           1
    5      UPDATE AFTER     7.1           4                  of line 3

One change without an SCN, and coordinates order all changes. Their positions are in the second epoch, after all SCNs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from engine.decode.event import CHANGE, Event
from engine.decode.formats.coordinates import Coordinates
from engine.decode.formats.shareplex import UPDATE_AFTER, UPDATE_BEFORE
from engine.decode.formats.shareplex_rows import changes_with_row_before
from engine.decode.json_value import raw_fields
from engine.decode.position_text import SECOND_EPOCH
from engine.spec.model import SourceSpec

_DIGITS: Final = len(SECOND_EPOCH)
_OWN: Final = int(SECOND_EPOCH, 16) + 1
"""So many epochs of the format's own are in each declared one."""
Line = tuple[str, int]
Place = tuple[str | None, str | None, str, int | None]


def resolve(events: Iterable[Event], source: SourceSpec) -> list[Event]:
    """The events of all messages as their neighbours show them: pairs of lines are one update, and one order has all
    changes."""
    found = paired(list(events))
    if source.order == "auto" and any(is_at_coordinates(event) for event in found):
        coordinates = Coordinates(source, SECOND_EPOCH)
        for event in found:
            turn_to_coordinates(event, coordinates)
    return found


# --- pairs of lines -------------------------------------------------------------------------------------------------


def paired(events: Sequence[Event]) -> list[Event]:
    """The events, with the row before in each UPDATE AFTER whose UPDATE BEFORE is among them. What the decoder gave the
    halves for this is gone."""
    befores = [event for event in events if event.control_kind == UPDATE_BEFORE]
    afters = [event for event in events if event.control_kind == UPDATE_AFTER]
    rows = _RowsBefore(befores, afters)
    found: list[Event] = []
    for event in events:
        found += _completed(event, rows) if event.control_kind == UPDATE_AFTER else [event]
    for event in befores:
        event.before = event.event_id = None
    return found


def _completed(after: Event, rows: _RowsBefore) -> list[Event]:
    row, keys = rows.of(after), tuple(raw_fields(after.key or b"{}"))
    after.control_kind = after.event_id = after.key = None
    return [after] if row is None else changes_with_row_before(after, row, keys)


class _RowsBefore:
    """The rows that UPDATE BEFOREs have, by their lines and by their places."""

    def __init__(self, befores: Sequence[Event], afters: Sequence[Event]) -> None:
        self._by_line: dict[Line, Event] = {(before.file, before.line): before for before in befores}
        self._by_place: dict[Place, bytes] = {}
        next_lines: dict[Line, Event] = {(after.file, after.line): after for after in afters}
        for before in befores:
            neighbour = next_lines.get((before.file, before.line + 1))
            if neighbour is None or not _belong(before, neighbour):
                self._add(before)

    def _add(self, before: Event) -> None:
        if before.table is None or before.tx_id is None or before.tx_order is None or before.before is None:
            return
        place = _place(before)
        self._by_place[place] = max(before.before, self._by_place.get(place, before.before))

    def of(self, after: Event) -> bytes | None:
        """The row before an UPDATE AFTER; None where there is none."""
        neighbour = self._by_line.get((after.file, after.line - 1))
        if neighbour is not None and neighbour.before is not None and _belong(neighbour, after):
            return neighbour.before
        if after.tx_order is None:
            return None
        same = self._by_place.get(_place(after))
        return self._by_place.get(_place(after, 1)) if same is None else same


def _place(event: Event, places_before: int = 0) -> Place:
    order = None if event.tx_order is None else event.tx_order - places_before
    return event.table, event.tx_id, event.event_id or "", order


def _belong(before: Event, after: Event) -> bool:
    """Whether two lines, one after the other, can be halves of one update."""
    if before.table is None or before.table != after.table or before.tx_id != after.tx_id:
        return False
    if None not in (before.event_id, after.event_id) and before.event_id != after.event_id:
        return False
    if before.tx_order is None or after.tx_order is None:
        return True
    return after.tx_order - before.tx_order in (0, 1)


# --- one order ------------------------------------------------------------------------------------------------------


def is_at_coordinates(event: Event) -> bool:
    """Whether coordinates give a change its position."""
    return event.kind == CHANGE and event.position is not None and int(event.position[:_DIGITS], 16) % _OWN == 1


def turn_to_coordinates(event: Event, coordinates: Coordinates) -> None:
    """Give a change the position of its coordinates, in the declared epoch that it is in."""
    if event.kind != CHANGE or event.position is None or is_at_coordinates(event):
        return
    place = coordinates.position(event.file, event.line, event.kafka_partition, event.kafka_offset)
    if place is not None:
        event.position = f"{int(event.position[:_DIGITS], 16) + 1:0{_DIGITS}X}{place[_DIGITS:]}"
