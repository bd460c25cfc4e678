"""The JSON of Canal and of SharePlex. Alibaba's DTS writes both."""

import json
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.conformance import wire
from tests.conformance.encoder import Capabilities, LineEncoder, changed
from tests.conformance.wire import SECOND, base
from tests.conformance.workload import Event, Row, Step, Table, Workload

_MYSQL = {
    "smallint": ("smallint(6)", 5),
    "int": ("int(11)", 4),
    "bigint": ("bigint(20)", -5),
    "ubigint": ("bigint(20) unsigned", -5),
    "float": ("float", 7),
    "double": ("double", 8),
    "text": ("longtext", 2005),
    "bytes": ("blob", 2004),
    "date": ("date", 91),
    "timestamp": ("timestamp(6)", 93),
    "datetime": ("datetime(6)", 93),
    "time": ("time(6)", 92),
    "json": ("json", 12),
}


class Canal(LineEncoder):
    """Flat messages without positions. Values are text, `old` has the changed columns.

    A message has the rows of one statement. After a rollback, the source sends a batch a second time: the next batch
    begins with it.
    """

    name = "canal"
    format = "canal-json"
    can = Capabilities(positions=False, before=True, truncate=True, reads=True, keys=True, types=True)
    lacks = frozenset({"boolean", "numeric", "uuid", "array"})

    def __init__(self, swapped: bool = False) -> None:
        self.swapped = swapped
        self.name = "canal_swapped" if swapped else "canal"

    def source(self, table: Table, folder: Path) -> Row:
        swapped = {"images": "swapped"} if self.swapped else {}
        return super().source(table, folder) | swapped

    def deliver(self, workload: Workload, folder: Path) -> None:
        """Write files that end between a batch and its repetition."""
        lines = self.lines(workload)
        ids = [json.loads(line)["id"] for line in lines]
        cuts = [0, *[ids.index(number + 1) for number in self.resent[:2]], len(lines)]
        for number, (first, last) in enumerate(pairwise(cuts), 1):
            text = "".join(line + "\n" for line in lines[first:last])
            (folder / f"part-{number}.jsonl").write_text(text, encoding="utf-8")

    def lines(self, workload: Workload) -> list[str]:
        batches: list[list[Row]] = []
        self.resent: list[int] = []
        for number, step in enumerate(self.steps(workload)):
            messages = self.messages(step)
            if number % 3 == 1:
                batches[-1] += messages
            else:
                batches.append(messages)
            if number % 8 == 7:
                self.resent.append(len(batches))
                batches.append([*batches[-1], self.message(step, "QUERY", None, sql="COMMIT")])
        return [
            json.dumps(
                message | {"id": number, "ts": message["es"] + number},
                ensure_ascii=False,
                sort_keys=True,
                separators=(",", ":"),
            )
            for number, batch in enumerate(batches, 1)
            for message in batch
        ]

    def messages(self, step: Step) -> list[Row]:
        found: list[Row] = [self.message(step, "QUERY", None, sql="BEGIN")] if step.kind == "stream" else []
        run: list[Event] = []
        for event in (*step.events, None):
            if run and (event is None or (event.op, event.table) != (run[0].op, run[0].table)):
                found.append(self.rows(step, run))
                run = []
            run += [event] if event else []
        return found

    def rows(self, step: Step, run: list[Event]) -> Row:
        op, table = run[0].op, run[0].table
        word = {"read": "INIT"}.get(op, op.upper())
        if op == "truncate":
            return self.message(step, word, None, sql=f"TRUNCATE TABLE {table.name}", table=table.name, isDdl=True)
        data = [self.image(table, event.after or event.before or {}) for event in run]
        old: Any = None
        if op == "update":
            old = [self.image(table, self.old_row(event)) for event in run]
        if self.swapped and op == "update":
            data, old = (
                [self.image(table, event.before or {}) for event in run],
                [self.image(table, changed(event)) for event in run],
            )
        if self.swapped and op == "delete":
            data, old = None, data
        types = {name: self.mysql_type(kind) for name, kind in table.columns.items()}
        described = {
            "mysqlType": {name: kind for name, (kind, _) in types.items()},
            "sqlType": {name: number for name, (_, number) in types.items()},
            "pkNames": list(table.keys),
        }
        return self.message(step, word, data, old=old, table=table.name, **described)

    def old_row(self, event: Event) -> Row:
        return {name: (event.before or {})[name] for name in changed(event)}

    def message(self, step: Step, word: str, data: Any, **more: Any) -> Row:
        empty = {"data": data, "old": None, "sql": "", "table": "", "isDdl": False, "gtid": "", "pkNames": None}
        database = self.name if more.get("table") else ""
        plain = {"mysqlType": None, "sqlType": None, "database": database, "es": step.at // 1000, "type": word}
        return empty | plain | more

    def mysql_type(self, kind: str) -> tuple[str, int]:
        return (kind, 3) if base(kind) == "decimal" else _MYSQL[kind]

    def image(self, table: Table, row: Row) -> Row:
        return {name: self.value(table.columns[name], value) for name, value in row.items()}

    def value(self, kind: str, value: Any) -> str | None:
        if value is None:
            return None
        match base(kind):
            case "decimal":
                text = wire.digits_of(value)
                return text.rstrip("0") + ("0" if text.rstrip("0").endswith(".") else "") if "." in text else text
            case "double" | "float":
                return str(value).replace("e+", "E").replace("e", "E")
            case "bytes":
                return wire.latin(value)
            case "date":
                return wire.iso_date(value)
            case "timestamp" | "datetime":
                return wire.iso_moment(value, " ", "")
            case "time":
                return wire.clock(value)
        return str(value)


class Shareplex(LineEncoder):
    """An update has the old row in `key`, its changed columns in `data`. Values are text, without types."""

    name = "shareplex"
    format = "shareplex-json"
    can = Capabilities(before=True, truncate=True, transactions=True)
    lacks = frozenset({"ubigint", "time", "uuid", "array", "boolean"})

    def lines(self, workload: Workload) -> list[str]:
        return [
            json.dumps(self.operation(step, event, n), ensure_ascii=False)
            for step in self.steps(workload)
            for n, event in enumerate(step.events, 1)
        ]

    def operation(self, step: Step, event: Event, n: int) -> Row:
        words = {"insert": "ins", "update": "upd", "delete": "del", "truncate": "TRUNCATE"}
        total = len(step.events)
        meta = {
            "time": wire.iso_moment(step.at, zone="", digits=0),
            "userid": 84,
            "op": words[event.op],
            "scn": str(14_589_063_118_712 + step.number),
            "rowid": "AAATGpAAIAAItcIAAA",
            "trans": f"7.0.{411_499 + step.number}",
            "seq": n,
            "size": total,
            "table": self.table_name(event.table),
            "idx": f"{n}/{total}",
            "posttime": wire.iso_moment(step.at + 9 * SECOND, zone="", digits=0),
        }
        if event.op == "truncate":
            return {"meta": meta}
        if event.op == "update":
            image = self.image(event.table, changed(event))
            return {"meta": meta, "data": image, "key": self.image(event.table, event.before or {})}
        return {"meta": meta, "data": self.image(event.table, event.after or event.before or {})}

    def image(self, table: Table, row: Row) -> Row:
        return {name: self.value(table.columns[name], value) for name, value in row.items()}

    def value(self, kind: str, value: Any) -> str | None:
        if value is None or isinstance(value, str):
            return value
        match base(kind):
            case "decimal" | "numeric":
                return wire.digits_of(Decimal(value))
            case "double" | "float":
                return wire.SPECIAL.get(str(value), str(value))
            case "bytes":
                return wire.base64_of(value)
            case "date":
                return wire.iso_date(value)
            case "timestamp":
                return wire.iso_moment(value)
            case "datetime":
                return wire.iso_moment(value, zone="")
        return str(value)
