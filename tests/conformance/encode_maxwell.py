"""The JSON of Maxwell's daemon, with positions and without."""

from decimal import Decimal
from typing import Any

from tests.conformance import wire
from tests.conformance.encoder import Capabilities, LineEncoder, changed
from tests.conformance.wire import SECOND, base
from tests.conformance.workload import Event, Row, Step, Table, Workload


class Maxwell(LineEncoder):
    """`old` has the changed columns. The rows of one statement share a position. The last row of a transaction has
    `commit`, all other rows have `xoffset`. By default, Maxwell writes neither positions nor offsets."""

    name = "maxwell"
    format = "maxwell-json"
    lacks = frozenset({"boolean", "numeric", "uuid", "array"})

    def __init__(self, positions: bool = True) -> None:
        self.name = "maxwell" if positions else "maxwell_bare"
        self.can = Capabilities(positions=positions, before=True, reads=True, transactions=True, keys=True)

    def lines(self, workload: Workload) -> list[str]:
        self.place = 0
        return [wire.dumps(row) for step in self.steps(workload) for row in self.rows(step)]

    def rows(self, step: Step) -> list[Row]:
        if step.kind != "stream":
            return self.bootstrap(step)
        rows, before = [], None
        for number, event in enumerate(step.events):
            self.place += (event.op, event.table.name) != before
            before = (event.op, event.table.name)
            is_last = number == len(step.events) - 1
            commit: Row = {"commit": True} if is_last else {"xoffset": number} if self.can.positions else {}
            position = {"position": self.position(step)} if self.can.positions else {}
            keys = {"primary_key_columns": list(event.table.keys)}
            more = {"xid": 23_396 + step.number} | commit | position | keys | self.images(event)
            rows.append(self.row(step, event.table, event.op, more))
        return rows

    def position(self, step: Step) -> str:
        file = "mysql-bin.999999" if step.number < 14 else "mysql-bin.1000000"
        return f"{file}:{800_000 + 100 * self.place - (700_000 if step.number >= 14 else 0)}"

    def bootstrap(self, step: Step) -> list[Row]:
        """The rows of each table, between a start row and a complete row."""
        rows = []
        for table in {event.table.name: event.table for event in step.events}.values():
            rows.append(self.row(step, table, "bootstrap-start", {"data": {}}))
            for event in step.events:
                if event.table is table:
                    keys = {"primary_key_columns": list(table.keys)}
                    rows.append(self.row(step, table, "bootstrap-insert", keys | self.images(event)))
            rows.append(self.row(step, table, "bootstrap-complete", {"data": {}}))
        return rows

    def row(self, step: Step, table: Table, kind: str, more: Row) -> Row:
        return {"database": self.name, "table": table.name, "type": kind, "ts": step.at // SECOND} | more

    def images(self, event: Event) -> Row:
        data = self.image(event.table, event.after or event.before or {})
        if event.op != "update":
            return {"data": data}
        return {"data": data, "old": self.image(event.table, {n: (event.before or {})[n] for n in changed(event)})}

    def image(self, table: Table, row: Row) -> Row:
        return {name: self.value(table.columns[name], value) for name, value in row.items()}

    def value(self, kind: str, value: Any) -> Any:
        if value is None:
            return None
        match base(kind):
            case "decimal":
                return wire.number(Decimal(value))
            case "double" | "float":
                return wire.SPECIAL.get(str(value), value)
            case "bytes":
                return wire.base64_of(value)
            case "date":
                return wire.iso_date(value)
            case "timestamp" | "datetime":
                return wire.iso_moment(value, " ", "")
            case "time":
                return wire.clock(value)
            case "json":
                return wire.loads(value)
        return value
