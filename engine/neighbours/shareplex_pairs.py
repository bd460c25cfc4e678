"""Finds pairs of lines of a SharePlex source that are one update.

An UPDATE BEFORE has the before image of its UPDATE AFTER. It is the previous line, if no field of the two lines
contradicts that. Otherwise it is the line, at any place, with the same operation number in the same transaction, or
with the number before it: SharePlex counts both lines as one operation or as two.

    line   operation        transaction   operation in it
    1      UPDATE BEFORE    7.1           1
    2      UPDATE AFTER     7.1           2                  completes line 1
    3      UPDATE BEFORE    7.1           3
    4      ins              7.2           1
    5      UPDATE AFTER     7.1           4                  completes line 3
"""

from __future__ import annotations

from collections.abc import Sequence

from siltstone.engine.decode.event import UPDATE_AFTER, Event
from siltstone.engine.decode.formats.shareplex_rows import changes_with_row_before
from siltstone.engine.decode.json_value import raw_fields
from siltstone.engine.schema.control_kinds import UPDATE_BEFORE

Line = tuple[str, int]
Place = tuple[str | None, str | None, str, int | None]


def paired(events: Sequence[Event]) -> list[Event]:
    """The events, with the before image in each UPDATE AFTER whose UPDATE BEFORE is among them. The fields that the
    decoder set for this are removed."""
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
    """The rows of UPDATE BEFORE events, by their lines and by their operation numbers."""

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
        """The before image of an UPDATE AFTER. None if there is none."""
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
    """Whether two consecutive lines can be the halves of one update."""
    if before.table is None or before.table != after.table or before.tx_id != after.tx_id:
        return False
    if None not in (before.event_id, after.event_id) and before.event_id != after.event_id:
        return False
    if before.tx_order is None or after.tx_order is None:
        return True
    return after.tx_order - before.tx_order in (0, 1)
