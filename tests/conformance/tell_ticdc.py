"""The messages of TiCDC: Canal's, with the TSO of the commit."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.conformance.story import Event, Key, Row, Step, Story, Table
from tests.conformance.tell_dts import Canal
from tests.conformance.teller import Can, LineTeller

COUNTER_BITS = 18


class Ticdc(Canal):
    """One row a message; `old` is the whole row; types have no parameters. TiDB commits a key once in a transaction.

    Where a transaction removes a row and brings another under its key, a DELETE and an INSERT have the same TSO.
    """

    name = "ticdc"
    format = "ticdc-json"
    can = Can(before=True, truncate=True, transactions=True, commit_places=True, keys=True, types=True)

    def __init__(self) -> None:
        super().__init__()
        self.name = "ticdc"

    def deliver(self, story: Story, folder: Path) -> None:
        LineTeller.deliver(self, story, folder)

    def committed(self, story: Story) -> Story:
        return Story(story.tables, [replace(step, events=tuple(net_changes(step))) for step in story.steps])

    def lines(self, story: Story) -> list[str]:
        found: list[Row] = []
        for step in self.steps(self.committed(story)):
            for event in step.events:
                message = self.rows(step, [event])
                found.append(message | {"_tidb": {"commitTs": tso(step)}})
            watermark = {"watermarkTs": tso(step) + 1}
            found.append(self.message(step, "TIDB_WATERMARK", None) | {"_tidb": watermark})
        return [
            json.dumps(message | {"id": 0, "ts": message["es"] + 1_000}, ensure_ascii=False, separators=(",", ":"))
            for message in found
        ]

    def old_row(self, event: Event) -> Row:
        return event.before or {}

    def mysql_type(self, kind: str) -> tuple[str, int]:
        word, number = super().mysql_type(kind)
        name, _, rest = word.partition("(")
        return name + rest.partition(")")[2], number


def tso(step: Step) -> int:
    return ((step.at // 1_000) << COUNTER_BITS) + 2 * step.number


@dataclass
class Net:
    """What a transaction did to a key, all in all: the row before, the row after, and whether it was gone between."""

    table: Table
    before: Row | None
    after: Row | None = None
    was_gone: bool = False

    def events(self) -> Iterator[Event]:
        is_replaced = self.before is not None and self.after is not None
        if is_replaced and not self.was_gone:
            if self.before != self.after:
                yield Event("update", self.table, self.before, self.after)
            return
        if self.before is not None:
            yield Event("delete", self.table, self.before, None)
        if self.after is not None:
            yield Event("insert", self.table, None, self.after)


def net_changes(step: Step) -> Iterator[Event]:
    """The changes of a transaction, one or a delete and an insert for each key."""
    rows: dict[tuple[str, Key], Net] = {}
    for event in step.events:
        if event.op == "truncate":
            yield event
            continue
        before, after = (None if row is None else event.table.key(row) for row in (event.before, event.after))
        if before is not None and before != after:
            found = rows.setdefault((event.table.name, before), Net(event.table, event.before))
            found.after, found.was_gone = None, True
        if after is not None:
            first = event.before if before == after else None
            rows.setdefault((event.table.name, after), Net(event.table, first)).after = event.after
    for net in rows.values():
        yield from net.events()
