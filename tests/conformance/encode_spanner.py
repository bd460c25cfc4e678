"""Spanner's change records: two dialects, four capture types, mods as objects and as JSON text.

Keys cannot change: a key change is a delete and an insert in one transaction. Spanner has no truncates and no
snapshots.
"""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from tests.conformance import wire
from tests.conformance.encoder import Capabilities, Encoder, LineEncoder, changed
from tests.conformance.wire import base
from tests.conformance.workload import Event, Row, Step, Table, Workload

_CODES: dict[str, Any] = {
    "boolean": "BOOL",
    "bigint": "INT64",
    "int": "INT64",
    "float": "FLOAT32",
    "double": "FLOAT64",
    "text": "STRING",
    "bytes": "BYTES",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "json": "JSON",
}


class SpannerRecords(Encoder):
    """The records, in any file format.

    `shape`: array (GoogleSQL), object (PostgreSQL), or text (an object whose mods and types are JSON text).
    """

    lacks: frozenset[str] = frozenset({"smallint", "ubigint", "datetime", "time", "uuid"})

    def __init__(self, capture: str, shape: str) -> None:
        self.capture, self.shape = capture, shape
        self.name = f"spanner_{capture.lower()}_{shape}"
        partial = capture in ("NEW_VALUES", "OLD_AND_NEW_VALUES")
        self.can = Capabilities(
            before=capture == "NEW_ROW_AND_OLD_VALUES", deleted_row="OLD" in capture,
            partial=partial, transactions=True, commit_positions=True, keys=True, types=True,
        )  # fmt: skip
        self.lacks = self.lacks | ({"numeric", "decimal(38,10)", "decimal(65,30)"} if shape == "array" else {"float"})

    def table_name(self, table: Table) -> str:
        return f"{self.name}_{table.name}"

    def halves(self, event: Event) -> Iterator[Event]:
        if event.changes_key:
            yield Event("delete", event.table, event.before, None)
            yield Event("insert", event.table, None, event.after)
        elif event.op != "update" or changed(event):
            yield event

    def runs(self, events: list[Event]) -> Iterator[list[Event]]:
        """Group the changes into records. The mods of a record have one kind and one table. Partial updates also have
        the same columns."""

        def alike(event: Event) -> tuple[Any, ...]:
            columns = tuple(sorted(changed(event))) if self.can.partial and event.op == "update" else ()
            return event.op, event.table.name, columns

        run: list[Event] = []
        for event in events:
            if run and alike(event) != alike(run[0]):
                yield run
                run = []
            run.append(event)
        if run:
            yield run

    def record(self, step: Step, run: list[Event], number: int, total: int) -> Row:
        table = run[0].table
        carried = set(table.keys) | (
            set(changed(run[0])) if self.can.partial and run[0].op == "update" else set(table.columns)
        )
        types: list[Any] = [
            {
                "name": name,
                "type": self.type(kind),
                "is_primary_key": name in table.keys,
                "ordinal_position": place,
            }
            for place, (name, kind) in enumerate(table.columns.items(), 1)
            if name in carried
        ]
        mods: list[Any] = [self.mod(event) for event in run]
        if self.shape == "text":
            types = [one | {"type": json.dumps(one["type"])} for one in types]
            mods = [{name: json.dumps(part, ensure_ascii=False) for name, part in mod.items()} for mod in mods]
        return {
            "commit_timestamp": wire.iso_moment(step.at, zone="", digits=0) + f".{step.number:09}Z",
            "record_sequence": f"{number:08}",
            "server_transaction_id": f"NTQ5MTAx{step.number:04}==",
            "is_last_record_in_transaction_in_partition": number == total - 1,
            "table_name": self.table_name(table),
            "column_types": types,
            "mods": mods,
            "mod_type": run[0].op.upper(),
            "value_capture_type": self.capture,
            "number_of_records_in_transaction": total,
            "number_of_partitions_in_transaction": 1,
        } | ({} if self.shape == "array" else {"transaction_tag": "", "is_system_transaction": False})

    def mod(self, event: Event) -> Row:
        table, others = event.table, [n for n in event.table.columns if n not in event.table.keys]
        row = event.after or event.before or {}
        keys = {name: self.value(table.columns[name], row[name]) for name in table.keys}
        new: list[str] = others if event.op != "delete" else []
        old: list[str] = [] if event.op == "insert" else others
        if event.op == "update" and self.can.partial:
            new = old = [n for n in others if n in changed(event)]
        elif event.op == "update":
            old = [n for n in others if n in changed(event)]
        if self.capture in ("NEW_VALUES", "NEW_ROW"):
            old = []
        images = {"new_values": self.part(table, event.after, new), "old_values": self.part(table, event.before, old)}
        return {"keys": keys} | images

    def part(self, table: Table, row: Row | None, names: list[str]) -> Row:
        return {name: self.value(table.columns[name], (row or {})[name]) for name in names}

    def type(self, kind: str) -> Row:
        if base(kind) == "array":
            return {"code": "ARRAY", "array_element_type": self.type(wire.item(kind))}
        if base(kind) in ("decimal", "numeric"):
            return {"code": "NUMERIC"} | ({} if self.shape == "array" else {"type_annotation": "PG_NUMERIC"})
        return {"code": _CODES[kind]}

    def value(self, kind: str, value: Any) -> Any:
        if value is None:
            return None
        match base(kind):
            case "bigint" | "int":
                return str(value)
            case "decimal" | "numeric":
                return wire.digits_of(Decimal(value))
            case "double" | "float":
                return wire.SPECIAL.get(str(value), value)
            case "bytes":
                return wire.base64_of(value)
            case "date":
                return wire.iso_date(value)
            case "timestamp":
                return wire.iso_moment(value)
            case "array":
                return [self.value(wire.item(kind), one) for one in value]
        return value


class Spanner(SpannerRecords, LineEncoder):
    """JSON lines, with heartbeats."""

    format = "spanner-json"

    def lines(self, workload: Workload) -> list[str]:
        found = []
        for step in self.steps(workload):
            events = [half for event in step.events for half in self.halves(event)]
            runs = list(self.runs(events))
            for number, run in enumerate(runs):
                record = self.record(step, run, number, len(runs))
                found.append(json.dumps(self.shaped(record), ensure_ascii=False, separators=(",", ":")))
            found.append(json.dumps(self.heartbeat(step)))
        return found

    def shaped(self, record: Row) -> Any:
        if self.shape == "array":
            data = {"data_change_record": [record], "heartbeat_record": [], "child_partitions_record": []}
            return {"partition_token": "AUKm", "change_record": [data]}
        return {"data_change_record": record}

    def heartbeat(self, step: Step) -> Row:
        beat = {"timestamp": wire.iso_moment(step.at)}
        if self.shape == "array":
            data = {"data_change_record": [], "heartbeat_record": [beat], "child_partitions_record": []}
            return {"partition_token": "AUKm", "change_record": [data]}
        return {"heartbeat_record": beat}
