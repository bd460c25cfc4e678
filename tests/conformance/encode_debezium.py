"""Debezium's JSON of PostgreSQL and MySQL, with and without schemas and before images."""

import json
import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from tests.conformance import wire
from tests.conformance.encoder import Capabilities, LineEncoder
from tests.conformance.wire import SECOND, base
from tests.conformance.workload import Event, Row, Step, Table, Workload

UNAVAILABLE = "__debezium_unavailable_value"
LONG_TEXT = 1000
INFINITE = {
    "timestamp": ("infinity", "-infinity"),
    "datetime": (9_223_372_036_825_200_000, -9_223_372_036_832_400_000),
}
OPS = {"insert": "c", "update": "u", "delete": "d", "truncate": "t", "read": "r"}
CONTEXT = {"connectorLogicalName": "srv", "taskId": "0", "runId": "01a1fd44-5694-77c0-9f0c-89e05588a112"}
_CONNECT: dict[str, dict[str, Any]] = {
    "boolean": {"type": "boolean"},
    "smallint": {"type": "int16"},
    "int": {"type": "int32"},
    "bigint": {"type": "int64"},
    "ubigint": {"type": "int64"},
    "float": {"type": "float"},
    "double": {"type": "double"},
    "text": {"type": "string"},
    "bytes": {"type": "bytes"},
    "date": {"type": "int32", "name": "io.debezium.time.Date", "version": 1},
    "timestamp": {"type": "string", "name": "io.debezium.time.ZonedTimestamp", "version": 1},
    "datetime": {"type": "int64", "name": "io.debezium.time.MicroTimestamp", "version": 1},
    "time": {"type": "int64", "name": "io.debezium.time.MicroTime", "version": 1},
    "json": {"type": "string", "name": "io.debezium.data.Json", "version": 1},
    "uuid": {"type": "string", "name": "io.debezium.data.Uuid", "version": 1},
    "numeric": {
        "type": "struct",
        "fields": [
            {"type": "int32", "optional": False, "field": "scale"},
            {"type": "bytes", "optional": False, "field": "value"},
        ],
        "name": "io.debezium.data.VariableScaleDecimal",
        "version": 1,
        "doc": "Variable scaled decimal",
    },
}


class Debezium(LineEncoder):
    """What the connectors have in common: envelope, headers, transaction topic, null messages after deletes."""

    format = "debezium-json"
    connector: ClassVar[str]
    topic_field: ClassVar[str]
    version = "3.4.0.Final"
    separators = (",", ":")

    def __init__(self, schemas: bool) -> None:
        self.schemas = schemas
        self.name = f"{self.connector}_{'schemas' if schemas else 'bare'}"
        self.now = 0

    def lines(self, workload: Workload) -> list[str]:
        found = []
        for step, events in zip(steps := list(self.steps(workload)), self.placed(steps), strict=True):
            total = sum(len(self.halves(event)) for event, _ in events)
            boundary = self.boundary(step, events[0][1], events[-1][1]) if step.kind == "stream" else None
            if boundary and not all(event.op == "truncate" for event in step.events):
                found.append(self.record_line(None, boundary[0] | {"event_count": None, "data_collections": None}))
            order = 0
            for event, place in events:
                for op, before, after, headers in self.halves(event):
                    order += 1
                    found.append(self.change(step, event, op, before, after, headers, place, order))
                    if op == "d":
                        found.append(self.record_line(event.table, None, before, headers))
            if boundary:
                counts = [{"data_collection": "all", "event_count": total}]
                found.append(self.record_line(None, boundary[1] | {"event_count": total, "data_collections": counts}))
        return found

    def kinds_without_scale(self) -> set[str]:
        """Kinds that need a schema: without one, a number that no decimal type can hold has no scale."""
        return set() if self.schemas else {"decimal(65,30)"}

    def halves(self, event: Event) -> list[tuple[str, Row | None, Row | None, Row]]:
        """(op, before, after, headers). A key change is a delete and an insert."""
        if not event.changes_key:
            return [(OPS[event.op], event.before, event.after, {})]
        old, new = (self.key(event.table, row or {}) for row in (event.before, event.after))
        return [
            ("d", event.before, None, {"__debezium.newkey": new}),
            ("c", event.before, event.after, {"__debezium.oldkey": old}),
        ]

    def change(
        self, step: Step, event: Event, op: str, before: Row | None, after: Row | None, headers: Row, place: Row, n: int
    ) -> str:
        self.now = step.at + 7 * SECOND
        block = {"id": self.transaction(step, place), "total_order": n, "data_collection_order": n}
        value = {
            "before": self.before_image(event.table, op, before),
            "after": None if after is None else self.after_image(event.table, op, before, after),
            "source": self.source_block(step, event.table, place),
            "transaction": block if step.kind == "stream" else None,
            "op": op,
            **self.clocks(self.now + 123),
        }
        return self.record_line(event.table, value, after or before, headers)

    def record_line(
        self, table: Table | None, value: Row | None, row: Row | None = None, headers: Row | None = None
    ) -> str:
        """The line of a record."""
        topic = f"srv.{self.table_name(table)}" if table else "srv.transaction"
        key: Any = {"id": value["id"]} if table is None and value else None
        if table and table.keys and row:
            key = self.key(table, row)
        if self.schemas and table:
            key = key and {"schema": self.key_schema(table), "payload": key}
            value = value and {"schema": self.envelope_schema(table), "payload": value}
        elif self.schemas:
            value = {"schema": {"type": "struct", "fields": []}, "payload": value}
        line = {self.topic_field: topic, "partition": None, "key": key, "value": value}
        more = {} if table is None else (headers or {}) | {f"__debezium.context.{k}": v for k, v in CONTEXT.items()}
        return json.dumps(line | {"headers": self.headers(more)}, ensure_ascii=False, separators=self.separators)

    def key(self, table: Table, row: Row) -> Row:
        return {name: self.value(table.columns[name], row[name]) for name in table.keys}

    def image(self, table: Table, row: Row) -> Row:
        return {name: self.value(kind, row[name]) for name, kind in table.columns.items()}

    def after_image(self, table: Table, op: str, before: Row | None, after: Row) -> Row:
        return self.image(table, after)

    def value(self, kind: str, value: Any) -> Any:
        if value is None or base(kind) in ("text", "json", "uuid", "boolean", "smallint", "int", "bigint"):
            return value
        match base(kind):
            case "decimal":
                return wire.decimal_base64(value, wire.sizes(kind)[1])
            case "numeric":
                scale = -int(value.as_tuple().exponent)
                return {"scale": scale, "value": wire.decimal_base64(value, scale)}
            case "float" | "double":
                return value if math.isfinite(value) else wire.SPECIAL[str(value)]
            case "bytes":
                return wire.base64_of(value)
            case "timestamp":
                return wire.iso_moment(value)
            case "array":
                return [self.value(wire.item(kind), one) for one in value]
            case "ubigint":
                return value - 2**64 if value >= 2**63 else value
        return value

    def field(self, name: str, kind: str, optional: bool = True) -> Row:
        """A column in Kafka Connect's schema."""
        if base(kind) == "decimal":
            precision, scale = (str(size) for size in wire.sizes(kind))
            sizes = {"scale": scale, "connect.decimal.precision": precision}
            named = {"name": "org.apache.kafka.connect.data.Decimal", "version": 1, "parameters": sizes}
            return {"type": "bytes", "optional": optional, **named, "field": name}
        if base(kind) == "array":
            items = {k: v for k, v in self.field("", wire.item(kind)).items() if k != "field"}
            return {"type": "array", "items": items, "optional": optional, "field": name}
        return _CONNECT[kind] | {"optional": optional, "field": name}

    def key_schema(self, table: Table) -> Row:
        fields = [self.field(name, table.columns[name], optional=False) for name in table.keys]
        return {"type": "struct", "fields": fields, "optional": False, "name": f"srv.{self.table_name(table)}.Key"}

    def envelope_schema(self, table: Table) -> Row:
        columns = [self.field(name, kind, name not in table.keys) for name, kind in table.columns.items()]
        images = [
            {"type": "struct", "fields": columns, "optional": True, "field": name} for name in ("before", "after")
        ]
        return {"type": "struct", "fields": images, "optional": False, "name": f"srv.{self.table_name(table)}.Envelope"}

    def clocks(self, micros: int) -> Row:
        return {"ts_ms": micros // 1000, "ts_us": micros, "ts_ns": micros * 1000}

    @abstractmethod
    def placed(self, steps: list[Step]) -> Iterator[list[tuple[Event, Row]]]:
        """The events of each step with their positions in the log."""

    @abstractmethod
    def before_image(self, table: Table, op: str, before: Row | None) -> Row | None:
        """The before image that the event has."""

    @abstractmethod
    def source_block(self, step: Step, table: Table, place: Row) -> Row:
        """The `source` block of the event."""

    @abstractmethod
    def transaction(self, step: Step, place: Row) -> str:
        """The id of the transaction."""

    def boundary(self, step: Step, first: Row, last: Row) -> tuple[Row, Row]:
        """The BEGIN and END records of a transaction."""
        clock = {"ts_ms": step.at // 1000}
        begin = {"status": "BEGIN", "id": self.transaction(step, first), **clock}
        return begin, {"status": "END", "id": self.transaction(step, last), **clock}

    @abstractmethod
    def headers(self, more: Row) -> Any:
        """The headers of the message."""


class Postgresql(Debezium):
    """Without schemas: replica identity DEFAULT, so there are no before images and long values are unavailable. With
    schemas: replica identity FULL."""

    connector = "postgresql"
    topic_field = "topic"
    version = "3.6.1.Final"

    def __init__(self, schemas: bool) -> None:
        super().__init__(schemas)
        self.lacks = frozenset({"ubigint"} | self.kinds_without_scale())
        self.can = Capabilities(
            before=schemas, deleted_row=schemas, partial=not schemas, truncate=True, reads=True, transactions=True,
            commit_positions=True, keys=True, types=schemas,
        )  # fmt: skip

    def specials(self, kind: str) -> list[Any]:
        """Infinite times."""
        return [math.inf, -math.inf] if kind in INFINITE else []

    def value(self, kind: str, value: Any) -> Any:
        infinite = kind in INFINITE and isinstance(value, float)
        return INFINITE[kind][value < 0] if infinite else super().value(kind, value)

    def placed(self, steps: list[Step]) -> Iterator[list[tuple[Event, Row]]]:
        """Transactions are in commit order. Each record has the position at which it was written."""
        commit = last = 400_000_000
        for number, step in enumerate(steps):
            start = 400_000_000 + 100_000 * (step.number - (1 if step.early else 0)) + (-50_000 if step.early else 0)
            events = []
            for at, event in enumerate(step.events):
                last = start + 100 * at if step.kind == "stream" else last
                events.append((event, {"lsn": last, "commit": commit}))
            yield events
            if step.kind == "stream":
                commit = 400_000_000 + 100_000 * (step.number + 1) - 1000 + number

    def before_image(self, table: Table, op: str, before: Row | None) -> Row | None:
        if before is None or op in "cr":
            return None
        if self.schemas:
            return self.image(table, before)
        if op == "u":
            return None
        return {name: self.value(table.columns[name], before[name]) if name in table.keys else None for name in before}

    def after_image(self, table: Table, op: str, before: Row | None, after: Row) -> Row:
        image = self.image(table, after)
        kept = before or {}
        toast = {n for n, v in kept.items() if isinstance(v, str) and len(v) > LONG_TEXT and after[n] == v}
        return image if self.schemas else image | dict.fromkeys(toast, UNAVAILABLE)

    def source_block(self, step: Step, table: Table, place: Row) -> Row:
        marks = {"stream": "false", "initial": "true", "read": "incremental"}
        commit = None if step.kind == "initial" else str(place["commit"])
        streamed = {"txId": 1000 + step.number, "lsn": place["lsn"]}
        return {
            "version": self.version, "connector": self.connector, "name": "srv", "ts_ms": step.at // 1000,
            "snapshot": marks[step.kind], "db": "main",
            "sequence": json.dumps([commit, str(place["lsn"])], separators=(",", ":")),
            "ts_us": step.at, "ts_ns": step.at * 1000, "schema": self.name, "table": table.name,
            **(dict.fromkeys(streamed) if step.kind == "read" else streamed),
            "xmin": None, "origin": None, "origin_lsn": None,
        }  # fmt: skip

    def transaction(self, step: Step, place: Row) -> str:
        return f"{1000 + step.number}:{place['lsn']}"

    def headers(self, more: Row) -> Any:
        return [{"key": name, "value": value} for name, value in more.items()]


class Mysql(Debezium):
    """Full before images, times of whole seconds, one position for the rows of a statement, and two binlog files."""

    connector = "mysql"
    topic_field = "destination"
    misnamed = frozenset({"ubigint"})  # the schema declares a signed 64-bit number

    def __init__(self, schemas: bool) -> None:
        super().__init__(schemas)
        self.lacks = frozenset({"boolean", "numeric", "uuid", "array"} | self.kinds_without_scale())
        self.can = Capabilities(before=True, truncate=True, reads=True, transactions=True, keys=True, types=schemas)

    def placed(self, steps: list[Step]) -> Iterator[list[tuple[Event, Row]]]:
        """The first half of the workload is in mysql-bin.999999, the second half in mysql-bin.1000000."""
        place = {"file": "mysql-bin.999999", "pos": 157, "row": 0}
        previous: Event | None = None
        for number, step in enumerate(steps):
            if number == len(steps) // 2:
                place = {"file": "mysql-bin.1000000", "pos": 4, "row": 0}
            events = []
            for event in step.events:
                same = previous is not None and (event.op, event.table) == (previous.op, previous.table)
                if step.kind == "stream" and same and event.op == "insert":
                    place = place | {"row": place["row"] + 1}
                elif step.kind == "stream":
                    place = place | {"pos": place["pos"] + 301, "row": 0}
                else:
                    place = place | {"row": 0}
                events.append((event, place))
                previous = event
            previous = None
            yield events

    def before_image(self, table: Table, op: str, before: Row | None) -> Row | None:
        return None if before is None or op in "cr" else self.image(table, before)

    def source_block(self, step: Step, table: Table, place: Row) -> Row:
        marks = {"stream": "false", "initial": "true", "read": "incremental"}
        gtid = None if step.kind == "initial" else f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{step.number}"
        return {
            "version": self.version, "connector": self.connector, "name": "srv", "ts_ms": step.at // 1000,
            "snapshot": marks[step.kind], "db": self.name, "sequence": None, "ts_us": step.at, "ts_ns": step.at * 1000,
            "table": table.name, "server_id": 0 if step.kind == "initial" else 7001, "gtid": gtid,
            "file": place["file"], "pos": place["pos"], "row": place["row"], "thread": None, "query": None,
        }  # fmt: skip

    def transaction(self, step: Step, place: Row) -> str:
        return f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{step.number}"

    def headers(self, more: Row) -> Any:
        return more


class Flat(Mysql):
    """Rows of MySQL after the transform ExtractNewRecordState, with rewritten deletes."""

    format = "debezium-flat-json"

    def __init__(self) -> None:
        super().__init__(schemas=False)
        self.name = "mysql_flat"
        self.can = Capabilities(reads=True, transactions=True, keys=True)

    def record_line(
        self, table: Table | None, value: Row | None, row: Row | None = None, headers: Row | None = None
    ) -> str:
        if table is None or value is None:
            return super().record_line(table, value, row, headers)
        source, transaction = value["source"], value["transaction"] or {}
        fields = {
            f"__source_{n}": source[n] for n in ("connector", "name", "db", "table", "file", "pos", "row", "ts_ms")
        }
        fields |= {f"__transaction_{name}": transaction.get(name) for name in ("id", "total_order")}
        flat = value["before" if value["op"] == "d" else "after"] | {
            "__op": value["op"], "__deleted": str(value["op"] == "d").lower(), "__ts_ms": value["ts_ms"], **fields,
        }  # fmt: skip
        return super().record_line(table, flat, row, headers)
