"""Debezium's JSON of Oracle, SQL Server, Db2, Vitess and YugabyteDB: every event has the position of its commit."""

import json
from collections.abc import Iterator
from typing import Any

from tests.conformance.encode_debezium import Debezium
from tests.conformance.encoder import Capabilities
from tests.conformance.wire import SECOND
from tests.conformance.workload import Event, Row, Step, Table

MARKS = {"stream": "false", "initial": "true", "read": "incremental"}


class ByCommits(Debezium):
    """What these connectors have in common: complete before images, headers as a list."""

    topic_field = "topic"

    def before_image(self, table: Table, op: str, before: Row | None) -> Row | None:
        return None if before is None or op in "cr" else self.image(table, before)

    def headers(self, more: Row) -> Any:
        return [{"key": name, "value": value} for name, value in more.items()]

    def placed(self, steps: list[Step]) -> Iterator[list[tuple[Event, Row]]]:
        """Transactions in commit order. The records of an `early` transaction are before those of the previous one."""
        at = 1
        for step in steps:
            start = 1000 * step.number - (1500 if step.early else 0)
            events = []
            for n, event in enumerate(step.events):
                at = start + n if step.kind == "stream" else at
                events.append((event, {"at": at, "commit": 1000 * step.number + 500}))
            yield events
            at = 1000 * step.number + 500


class Sqlserver(ByCommits):
    """LSNs with three parts. The halves of a key change are the first and the second event at one LSN."""

    connector = "sqlserver"
    lacks = frozenset({"numeric", "ubigint", "array", "json", "decimal(65,30)"})

    def __init__(self) -> None:
        super().__init__(schemas=False)
        self.can = Capabilities(before=True, reads=True, transactions=True, commit_positions=True, keys=True)

    def change(
        self, step: Step, event: Event, op: str, before: Row | None, after: Row | None, headers: Row, place: Row, n: int
    ) -> str:
        serial = 2 if op == "u" or (op == "c" and headers) else 1
        return super().change(step, event, op, before, after, headers, place | {"serial": serial}, n)

    def source_block(self, step: Step, table: Table, place: Row) -> Row:
        streamed = step.kind == "stream"
        return {
            "version": self.version, "connector": self.connector, "name": "srv", "ts_ms": step.at // 1000,
            "snapshot": MARKS[step.kind], "db": "main", "sequence": None, "ts_us": step.at, "ts_ns": step.at * 1000,
            "schema": self.name, "table": table.name, "change_lsn": _lsn(place["at"]) if streamed else None,
            "commit_lsn": _lsn(place["commit"] if streamed else place["at"]),
            "event_serial_no": place["serial"] if streamed else None,
        }  # fmt: skip

    def transaction(self, step: Step, place: Row) -> str:
        return _lsn(place["commit"])


class Oracle(ByCommits):
    """SCNs as text. A READ has the SCN of its query."""

    connector = "oracle"
    lacks = frozenset({"boolean", "smallint", "ubigint", "uuid", "array", "time", "json", "decimal(65,30)"})

    def __init__(self) -> None:
        super().__init__(schemas=False)
        self.can = Capabilities(
            before=True, truncate=True, reads=True, transactions=True, commit_positions=True, keys=True
        )

    def source_block(self, step: Step, table: Table, place: Row) -> Row:
        streamed = step.kind == "stream"
        streamed_fields: Row = {"txId": f"0a00{step.number:04x}", "commit_scn": str(2_200_000 + place["commit"])}
        streamed_fields |= {"rs_id": f"0x000004.{place['at']:08x}.0010", "ssn": 0, "redo_thread": 1, "user_name": "KIT"}
        return {
            "version": self.version, "connector": self.connector, "name": "srv",
            "ts_ms": (step.at - (SECOND if streamed else 0)) // 1000, "snapshot": MARKS[step.kind], "db": "ORCLPDB",
            "sequence": None, "schema": self.name, "table": table.name, "scn": str(2_200_000 + place["at"]),
            **(streamed_fields if streamed else dict.fromkeys(streamed_fields)), "lcr_position": None,
            "commit_ts_ms": step.at // 1000 if streamed else None,
        }  # fmt: skip

    def transaction(self, step: Step, place: Row) -> str:
        return f"0a00{step.number:04x}"


class Db2(ByCommits):
    """LSNs of ten bytes. A key change is one pair of rows in the change table, at one LSN."""

    connector = "db2"
    lacks = frozenset({"numeric", "ubigint", "array", "json", "uuid", "decimal(65,30)"})

    def __init__(self) -> None:
        super().__init__(schemas=False)
        self.can = Capabilities(before=True, reads=True, transactions=True, commit_positions=True, keys=True)

    def source_block(self, step: Step, table: Table, place: Row) -> Row:
        streamed = step.kind == "stream"
        return {
            "version": self.version, "connector": self.connector, "name": "srv", "ts_ms": step.at // 1000,
            "snapshot": MARKS[step.kind], "db": "main", "sequence": None, "ts_us": step.at, "ts_ns": step.at * 1000,
            "schema": self.name, "table": table.name, "change_lsn": _lsn(place["at"]) if streamed else None,
            "commit_lsn": _lsn(place["commit"] if streamed else place["at"]),
        }  # fmt: skip

    def transaction(self, step: Step, place: Row) -> str:
        return _lsn(place["commit"])


class Vitess(ByCommits):
    """One shard. Each transaction adds one to its GTID set, and the metadata of a transaction orders its changes."""

    connector = "vitess"
    lacks = frozenset({"boolean", "numeric", "uuid", "array", "decimal(65,30)"})

    def __init__(self) -> None:
        super().__init__(schemas=False)
        self.can = Capabilities(before=True, commit_positions=True, keys=True)

    def source_block(self, step: Step, table: Table, place: Row) -> Row:
        return {
            "version": self.version, "connector": self.connector, "name": "srv", "ts_ms": step.at // 1000,
            "ts_us": step.at, "ts_ns": step.at * 1000, "snapshot": "false", "db": "", "sequence": None,
            "keyspace": self.name, "table": table.name, "shard": "-", "vgtid": self.transaction(step, place),
        }  # fmt: skip

    def transaction(self, step: Step, place: Row) -> str:
        gtid = f"MySQL56/e03ece6c-4c04-11ec-8e20-0242ac110004:1-{step.number + 60}"
        return json.dumps([{"keyspace": self.name, "shard": "-", "gtid": gtid}], separators=(",", ":"))


class Yugabytedb(ByCommits):
    """The gRPC connector: positions in Raft's log, values in cells, and updates with the changed columns only."""

    connector = "yugabytedb"
    version = "dz.1.9.5.yb.grpc.2025.2"
    lacks = frozenset({"ubigint", "decimal(65,30)"})

    def __init__(self) -> None:
        super().__init__(schemas=False)
        self.can = Capabilities(partial=True, deleted_row=False, reads=True, commit_positions=True, keys=True)

    def key(self, table: Table, row: Row) -> Row:
        return {name: _cell(value) for name, value in super().key(table, row).items()}

    def before_image(self, table: Table, op: str, before: Row | None) -> Row | None:
        if before is None or op != "d":
            return None
        return dict.fromkeys(table.columns) | self.key(table, before)

    def after_image(self, table: Table, op: str, before: Row | None, after: Row) -> Row:
        old = before if op == "u" and before is not None else {}
        sent = {n: v for n, v in after.items() if n in table.keys or n not in old or old[n] != v}
        return {
            name: _cell(self.value(kind, sent[name])) if name in sent else None for name, kind in table.columns.items()
        }

    def source_block(self, step: Step, table: Table, place: Row) -> Row:
        streamed = step.kind == "stream"
        lsn = f"1:{place['at']}::{0 if streamed else -1}:0"
        time = (place["commit"] if streamed else place["at"]) << 12
        return {
            "version": self.version, "connector": self.connector, "name": "srv", "ts_ms": step.at // 1000,
            "snapshot": MARKS[step.kind], "db": "main", "sequence": json.dumps([None, lsn]), "schema": self.name,
            "table": table.name, "txId": f"{step.number:032x}", "lsn": lsn, "commit_time": time, "record_time": time,
            "tablet_id": "t", "partition_id": "p.t", "origin_id": None,
        }  # fmt: skip

    def transaction(self, step: Step, place: Row) -> str:
        return f"{step.number:032x}"


def _cell(value: Any) -> Row:
    return {"value": value, "set": True}


def _lsn(number: int) -> str:
    return f"00000027:{number:08x}:0003"
