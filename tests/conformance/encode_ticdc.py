"""The messages of TiCDC: those of Canal, with the TSO of the commit."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.conformance.encode_dts import Canal
from tests.conformance.encoder import Capabilities, LineEncoder
from tests.conformance.workload import Event, Key, Row, Step, Table, Workload

COUNTER_BITS = 18


class Ticdc(Canal):
    """One row in each message. `old` is the complete row. Types have no parameters.

    TiDB commits each key once in a transaction. If a transaction removes a row and adds another row with the same key,
    a DELETE and an INSERT have the same TSO.
    """

    name = "ticdc"
    format = "ticdc-json"
    can = Capabilities(before=True, truncate=True, transactions=True, commit_positions=True, keys=True, types=True)

    def __init__(self) -> None:
        super().__init__()
        self.name = "ticdc"

    def deliver(self, workload: Workload, folder: Path) -> None:
        LineEncoder.deliver(self, workload, folder)

    def committed(self, workload: Workload) -> Workload:
        return Workload(workload.tables, [replace(step, events=tuple(net_changes(step))) for step in workload.steps])

    def lines(self, workload: Workload) -> list[str]:
        found: list[Row] = []
        for step in self.steps(self.committed(workload)):
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
    """The net effect of a transaction on a key: the row before, the row after, whether it was deleted between."""

    table: Table
    before: Row | None
    after: Row | None = None
    was_deleted: bool = False

    def events(self) -> Iterator[Event]:
        is_replaced = self.before is not None and self.after is not None
        if is_replaced and not self.was_deleted:
            if self.before != self.after:
                yield Event("update", self.table, self.before, self.after)
            return
        if self.before is not None:
            yield Event("delete", self.table, self.before, None)
        if self.after is not None:
            yield Event("insert", self.table, None, self.after)


def net_changes(step: Step) -> Iterator[Event]:
    """The net changes of a transaction: one change for each key, or a delete and an insert."""
    rows: dict[tuple[str, Key], Net] = {}
    for event in step.events:
        if event.op == "truncate":
            yield event
            continue
        before, after = (None if row is None else event.table.key(row) for row in (event.before, event.after))
        if before is not None and before != after:
            found = rows.setdefault((event.table.name, before), Net(event.table, event.before))
            found.after, found.was_deleted = None, True
        if after is not None:
            first = event.before if before == after else None
            rows.setdefault((event.table.name, after), Net(event.table, first)).after = event.after
    for net in rows.values():
        yield from net.events()
