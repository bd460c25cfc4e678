"""AWS DMS: JSON messages of MySQL with transaction details and whole rows before, as it writes them to Kafka."""

from decimal import Decimal
from typing import Any

from tests.conformance import wire
from tests.conformance.encoder import Capabilities, LineEncoder
from tests.conformance.wire import SECOND, base
from tests.conformance.workload import Event, Row, Step, Table, Workload

_OPERATIONS = {"read": "load"}


class Dms(LineEncoder):
    """A message is a change of one row; nulls and empty texts are in it (`IncludeNullAndEmpty`)."""

    name = "dms"
    format = "dms-json"
    can = Capabilities(before=True, reads=True, transactions=True)
    lacks = frozenset({"array"})

    def lines(self, workload: Workload) -> list[str]:
        created = [wire.dumps(self.created(table)) for table in workload.tables]
        return created + [
            wire.dumps(self.message(step, event, number))
            for step in self.steps(workload)
            for number, event in enumerate(step.events, 1)
        ]

    def created(self, table: Table) -> Row:
        columns = {name: {"nullable": name not in table.keys, "type": "STRING"} for name in table.columns}
        definition = {"columns": columns, "primary-key": list(table.keys)}
        metadata = {"timestamp": "2026-03-01T11:00:00.000000Z", "record-type": "control", "operation": "create-table"}
        task = {"partition-key-type": "task-id", "schema-name": self.name, "table-name": table.name}
        return {"control": {"table-def": definition}, "metadata": metadata | task}

    def message(self, step: Step, event: Event, number: int) -> Row:
        before = {"before-image": self.image(event.table, event.before or {})} if event.op == "update" else {}
        data = self.image(event.table, event.after or event.before or {})
        return {"data": data} | before | {"metadata": self.metadata(step, event, number)}

    def metadata(self, step: Step, event: Event, number: int) -> Row:
        is_read = event.op == "read"
        key = ".".join(str((event.after or {})[name]) for name in event.table.keys) if is_read else ""
        partition = {"partition-key-type": "schema-table"}
        if is_read:
            value = f"{self.name}.{event.table.name}.{key}"
            partition = {"partition-key-type": "primary-key", "partition-key-value": value}
        file = "999999" if step.number < 14 else "1000000"
        details = {
            "transaction-id": 47_330_445_004 + step.number,
            "transaction-record-id": number,
            "commit-timestamp": wire.iso_moment(step.at),
            "stream-position": f"mysql-bin-changelog.{file}:{4_000 + 100 * step.number}",
        }
        return {
            "timestamp": wire.iso_moment(step.at if is_read else step.at + SECOND),
            "record-type": "data",
            "operation": _OPERATIONS.get(event.op, event.op),
            **partition,
            "schema-name": self.name,
            "table-name": event.table.name,
            **({} if is_read else details),
        }

    def image(self, table: Table, row: Row) -> Row:
        return {name: self.value(table.columns[name], value) for name, value in row.items()}

    def value(self, kind: str, value: Any) -> Any:
        if value is None:
            return None
        match base(kind):
            case "decimal" | "numeric":
                return wire.number(Decimal(value))
            case "double" | "float":
                return wire.SPECIAL.get(str(value), value)
            case "bytes":
                return f"0x{value.hex()}"
            case "date":
                return wire.iso_date(value)
            case "timestamp" | "datetime":
                return wire.iso_moment(value)
            case "time":
                return wire.clock(value)
        return value
