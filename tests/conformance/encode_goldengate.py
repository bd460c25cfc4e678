"""The JSON of Oracle GoldenGate, in the operation layout and in the row layout."""

from decimal import Decimal
from typing import Any

from tests.conformance import wire
from tests.conformance.encoder import Capabilities, LineEncoder
from tests.conformance.wire import SECOND, base
from tests.conformance.workload import Event, Row, Step, Table, Workload


class GoldenGate(LineEncoder):
    """Operations have both images, rows have one. In the row layout, a key change is a delete and an insert at one
    position in the trail.

    Dates have a colon before the time in operations, and a space in rows, because releases differ in this.
    """

    name = "goldengate"
    format = "goldengate-json"
    lacks = frozenset({"boolean", "ubigint", "uuid", "array", "time"})

    def __init__(self, has_rows: bool = False) -> None:
        self.has_rows = has_rows
        self.name = "goldengate_row" if has_rows else "goldengate"
        self.can = Capabilities(before=not has_rows, truncate=True, transactions=True, keys=True)

    def lines(self, workload: Workload) -> list[str]:
        self.place = 0
        return [
            wire.dumps(operation)
            for step in self.steps(workload)
            for event in step.events
            for operation in self.operations(step, event)
        ]

    def operations(self, step: Step, event: Event) -> list[Row]:
        self.place += 0x100
        before, after = (None if row is None else self.image(event.table, row) for row in (event.before, event.after))
        word = event.op[0].upper()
        if not self.has_rows:
            return [self.metadata(step, event, word) | {"before": before, "after": after}]
        if event.changes_key:
            return [self.metadata(step, event, "D") | (before or {}), self.metadata(step, event, "I") | (after or {})]
        return [self.metadata(step, event, word) | (after or before or {})]

    def metadata(self, step: Step, event: Event, word: str) -> Row:
        """The metadata of an operation. The trail has two files, and the positions in the second file start over."""
        file, place = (9, 9_999_000_000 + self.place) if step.number < 14 else (10, self.place)
        return {
            "table": self.table_name(event.table),
            "op_type": word,
            "op_ts": wire.iso_moment(step.at, " ", ""),
            "current_ts": wire.iso_moment(step.at - 7 * 3600 * SECOND, zone="", digits=3),
            "pos": f"{file:010}{place:010}",
            "primary_keys": list(event.table.keys),
            "tokens": {"txid": f"0.6.23.{step.number}", "csn": str(791_065 + step.number)},
        }

    def image(self, table: Table, row: Row) -> Row:
        return {name: self.value(table.columns[name], value) for name, value in row.items()}

    def value(self, kind: str, value: Any) -> Any:
        if value is None or isinstance(value, str):
            return value
        between = " " if self.has_rows else ":"
        match base(kind):
            case "decimal" | "numeric":
                return wire.number(Decimal(value))
            case "double" | "float":
                return wire.SPECIAL.get(str(value), value)
            case "bytes":
                return wire.base64_of(value)
            case "date":
                return f"{wire.iso_date(value)}{between}00:00:00"
            case "timestamp":
                return wire.iso_moment(value, between, "000 +00:00")
            case "datetime":
                return wire.iso_moment(value, between, "000")
        return value
