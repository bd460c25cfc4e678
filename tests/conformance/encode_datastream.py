"""Google Datastream's events of four databases, as JSON lines and as Avro files.

An event has the row after the change. The event of a delete has the row before it. A key change is an UPDATE-DELETE and
an UPDATE-INSERT at one position. Backfills are READs without a position. Only those of Oracle have an SCN.
"""

from abc import abstractmethod
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro

from tests.conformance import wire
from tests.conformance.encoder import Capabilities, Encoder, LineEncoder
from tests.conformance.wire import SECOND, base
from tests.conformance.workload import Event, Row, Step, Table, Workload

_METHODS = {
    "mysql": ("mysql-backfill-fulldump", "mysql-cdc-binlog"),
    "oracle": ("oracle-backfill", "oracle-cdc-logminer"),
    "postgresql": ("postgresql-backfill", "postgresql-cdc"),
    "sqlserver": ("sqlserver-backfill", "sqlserver-cdc"),
}
_MICROS = {"logicalType": "timestamp-micros", "type": "long"}
_AVRO: dict[str, Any] = {
    "smallint": "int",
    "bigint": "long",
    "ubigint": {"logicalType": "number", "type": "string"},
    "numeric": {"logicalType": "number", "type": "string"},
    "uuid": "string",
    "json": {"logicalType": "json", "type": "string"},
    "date": _MICROS,
    "datetime": _MICROS,
}
_LACKS = {
    "mysql": {"boolean", "numeric", "uuid", "array"},
    "oracle": {"boolean", "ubigint", "uuid", "array", "time", "json", "smallint"},
    "postgresql": {"ubigint"},
    "sqlserver": {"ubigint", "array", "numeric", "json"},
}


class Datastream(Encoder):
    """What JSON and Avro have in common: metadata, positions, and the halves of key changes."""

    def __init__(self, database: str) -> None:
        self.database = database
        self.name = f"{self.format.replace('-', '_')}_{database}"
        self.lacks = frozenset(_LACKS[database])
        self.can = Capabilities(reads=True, keys=True, types=self.format == "datastream-avro")

    def events(self, workload: Workload) -> Iterator[tuple[Event, Row]]:
        """Every event with its record."""
        self.place = 0
        for step in self.steps(workload):
            for event in step.events:
                self.place += 1
                for word, row in self.halves(event):
                    yield event, self.record(step, event, word) | {"payload": self.payload(event.table, row)}

    def halves(self, event: Event) -> list[tuple[str, Row]]:
        if event.changes_key:
            return [("UPDATE-DELETE", event.before or {}), ("UPDATE-INSERT", event.after or {})]
        words = {"insert": "INSERT", "delete": "DELETE", "read": "INSERT"}
        words["update"] = "UPDATE-INSERT" if self.database == "mysql" else "UPDATE"
        return [(words[event.op], event.after or event.before or {})]

    def record(self, step: Step, event: Event, word: str) -> Row:
        backfill, cdc = _METHODS[self.database]
        is_read = step.kind != "stream"
        late = SECOND if self.database == "mysql" and event.changes_key and word == "UPDATE-INSERT" else 0
        return {
            "uuid": f"3c0ffaeb-b16e-4c8c-91d4-{self.place:012x}",
            "read_timestamp": self.clock(step.at + 30 * SECOND + 123_000),
            "source_timestamp": self.clock(step.at + late),
            "object": f"{self.name}_{event.table.name}",
            "read_method": backfill if is_read else cdc,
            "stream_name": "projects/545418958905/locations/us-central1/streams/kit",
            "schema_key": "1d2ab1bcde3e861022798fbded72121b56007c52",
            "sort_keys": [step.at // 1000, "", self.place],
            "source_metadata": self.metadata(step, event, word, is_read),
        }

    def metadata(self, step: Step, event: Event, word: str, is_read: bool) -> Row:
        """The metadata of the database, with the fields in the order of real files."""
        change: Row = {"change_type": word, "is_deleted": word == "DELETE"}
        table, keys = {"table": event.table.name}, {"primary_keys": list(event.table.keys)}
        place = 0x4000 + 0x100 * self.place
        if self.database == "mysql":
            file = "mysql-bin.999999" if step.number < 14 else "mysql-bin.1000000"
            place = place if step.number < 14 else place - 0x3000
            log: Row = {"log_file": "", "log_position": 0}
            log = log if is_read else {"log_file": file, "log_position": place}
            return table | {"database": self.name} | keys | log | change
        schema = {"schema": self.name} | table
        if self.database == "postgresql":
            lsn = "" if is_read else f"16/{0xFFFF0000 + place:X}" if place < 0x10000 else f"17/{place:X}"
            fields = {"is_deleted": change["is_deleted"], "change_type": word, "tx_id": step.number, "lsn": lsn}
            return schema | fields | keys
        if self.database == "sqlserver":
            lsn = "" if is_read else f"00000025:{place:08X}:0003"
            return schema | {"database": "mydb", "lsn": lsn, "tx_id": str(step.number)} | change | keys
        rest: Row = {"ssn": 0, "rs_id": None, "tx_id": None, "log_file": None}
        if not is_read:
            rs_id = f" 0x000004.{place:08x}.0010 "
            rest = {"ssn": 0, "rs_id": rs_id, "tx_id": f"BAABACkB{step.number:04}", "log_file": "/u01/o1_mf_1_4.arc"}
        deleted = {"is_deleted": change["is_deleted"], "change_type": None if is_read else word}
        scn = {"database": "xe", "row_id": "AAAE5SAAEAAAADNAAJ", "scn": 382_000 + 10 * step.number}
        return schema | scn | deleted | rest | keys

    @abstractmethod
    def clock(self, micros: int) -> Any:
        """A time in the form that the records have."""

    def payload(self, table: Table, row: Row) -> Row:
        return {name: self.value(kind, row[name]) for name, kind in table.columns.items()}

    @abstractmethod
    def value(self, kind: str, value: Any) -> Any:
        """A column's value in the form that the payload has."""


class DatastreamJson(Datastream, LineEncoder):
    """JSON lines. Times are text in UTC, `json` is a JSON value."""

    format = "datastream-json"

    def lines(self, workload: Workload) -> list[str]:
        return [wire.dumps(record) for _, record in self.events(workload)]

    def clock(self, micros: int) -> str:
        return wire.iso_moment(micros, zone="" if self.database == "oracle" else "Z", digits=3)

    def value(self, kind: str, value: Any) -> Any:
        if value is None:
            return None
        match base(kind):
            case "decimal" | "numeric":
                return wire.number(Decimal(value))
            case "double" | "float":
                return wire.SPECIAL.get(str(value), value)
            case "bytes":
                return value.hex()
            case "date":
                return wire.iso_date(value)
            case "timestamp" | "datetime":
                return wire.iso_moment(value)
            case "time":
                return wire.clock(value)
            case "json":
                return wire.loads(value)
            case "array":
                return [self.value(wire.item(kind), one) for one in value]
        return value


class DatastreamAvro(Datastream):
    """Avro files, one for each table and kind of event, each with its own schema."""

    format = "datastream-avro"
    misnamed = frozenset({"date"})  # the schema declares a timestamp, which is at midnight

    def deliver(self, workload: Workload, folder: Path) -> None:
        found: dict[tuple[str, bool], list[Row]] = {}
        tables = {table.name: table for table in workload.tables}
        for event, record in self.events(workload):
            found.setdefault((event.table.name, event.op == "read"), []).append(record)
        for (name, is_read), records in found.items():
            path = folder / f"{'backfill' if is_read else 'cdc'}-{name}.avro"
            with path.open("wb") as out:
                fastavro.writer(out, fastavro.parse_schema(self.schema(tables[name])), records[::-1], codec="deflate")

    def clock(self, micros: int) -> int:
        return micros // 1000

    def schema(self, table: Table) -> Row:
        millis = {"logicalType": "timestamp-millis", "type": "long"}
        plain = [("uuid", "string"), ("read_timestamp", millis), ("source_timestamp", millis), ("object", "string")]
        plain += [("read_method", "string"), ("stream_name", "string"), ("schema_key", "string")]
        keys = [("sort_keys", {"type": "array", "items": ["string", "long"]})]
        payload = [(name, ["null", self.type(kind, name)]) for name, kind in table.columns.items()]
        return _record(
            f"{self.name}_{table.name}",
            [
                *plain,
                *keys,
                ("source_metadata", _record("source_metadata", self.metadata_fields())),
                ("payload", _record("payload", payload)),
            ],
        )

    def metadata_fields(self) -> list[tuple[str, Any]]:
        def maybe(kind: str) -> list[str]:
            return ["null", kind]

        keys = {"type": "array", "items": "string"}
        change = [("is_deleted", maybe("boolean")), ("change_type", maybe("string"))]
        owner = [("schema", "string"), ("table", "string")]
        if self.database == "mysql":
            log = [("log_file", maybe("string")), ("log_position", maybe("long"))]
            return [("table", "string"), ("database", "string"), ("primary_keys", keys), *log, *change[::-1]]
        if self.database == "postgresql":
            log = [("tx_id", maybe("long")), ("lsn", maybe("string"))]
            return [*owner, *change, *log, ("primary_keys", ["null", keys])]
        if self.database == "sqlserver":
            place = [("database", "string"), ("lsn", maybe("string")), ("tx_id", maybe("string"))]
            return [*owner, *place, *change, ("primary_keys", ["null", keys])]
        place = [("database", "string"), ("row_id", maybe("string")), ("scn", maybe("long"))]
        log = [("ssn", maybe("long")), ("rs_id", maybe("string")), ("tx_id", maybe("string"))]
        return [*owner, *place, *change, *log, ("log_file", maybe("string")), ("primary_keys", ["null", keys])]

    def type(self, kind: str, name: str) -> Any:
        if kind in _AVRO:
            return _AVRO[kind]
        match base(kind):
            case "decimal":
                precision, scale = wire.sizes(kind)
                return {"logicalType": "decimal", "precision": precision, "scale": scale, "type": "bytes"}
            case "text" if self.database == "oracle":
                return {"logicalType": "varchar", "length": 4000, "type": "string"}
            case "text":
                return "string"
            case "bytes":
                return "bytes" if self.database == "postgresql" else "string"
            case "timestamp":
                offset = {"name": "offset", "type": {"logicalType": "time-millis", "type": "int"}}
                fields = [{"name": "timestamp", "type": _MICROS}, offset]
                zoned = {"type": "record", "name": f"timestampTz_{name}", "fields": fields}
                return zoned if self.database == "postgresql" else _MICROS
            case "time":
                interval = "time-interval-micros" if self.database == "mysql" else "time-micros"
                return {"logicalType": interval, "type": "long"}
            case "array":
                return _array(name, self.type(wire.item(kind), name))
        return kind

    def value(self, kind: str, value: Any) -> Any:
        if value is None:
            return None
        match base(kind):
            case "numeric":
                return wire.digits_of(value)
            case "ubigint":
                return str(value)
            case "bytes":
                return value if self.database == "postgresql" else value.hex()
            case "date":
                return value * wire.DAY
            case "timestamp" if self.database == "postgresql":
                return {"timestamp": value, "offset": 0}
            case "array":
                inside = [{"nestedArray": None, "elementValue": self.value(wire.item(kind), one)} for one in value]
                return {"nestedArray": inside, "elementValue": None}
        return value


def _record(name: str, fields: list[tuple[str, Any]]) -> Row:
    return {"type": "record", "name": name, "fields": [{"name": name, "type": kind} for name, kind in fields]}


def _array(name: str, element: Any) -> Row:
    own = f"multidimensionalArray_{name}"
    nested = {"default": None, "name": "nestedArray", "type": ["null", {"type": "array", "items": own}]}
    value = {"default": None, "name": "elementValue", "type": ["null", element]}
    return {"type": "record", "name": own, "fields": [nested, value]}
