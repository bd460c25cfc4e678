"""Alibaba DTS's Avro records of both generations: of MySQL, and of PostgreSQL with images that omit long values."""

import base64
import io
import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import fastavro

from tests import dts_records as dts
from tests.conformance import wire
from tests.conformance.encoder import Capabilities, LineEncoder
from tests.conformance.wire import SECOND, base
from tests.conformance.workload import Event, Row, Step, Table, Workload

LONG_TEXT = 1000
ABSENT = "NONE"
LSNS = "<->"
_NUMBERS: Mapping[str, Mapping[str, int]] = {
    "MySQL": {
        "smallint": 2, "int": 3, "bigint": 8, "ubigint": 8, "float": 4, "double": 5, "decimal": 246, "text": 252,
        "bytes": 252, "date": 10, "timestamp": 7, "datetime": 12, "time": 11, "json": 245,
    },
    "PostgreSQL": {
        "boolean": 16, "smallint": 21, "int": 23, "bigint": 20, "float": 700, "double": 701, "decimal": 1700,
        "numeric": 1700, "text": 25, "bytes": 17, "date": 1082, "timestamp": 1184, "datetime": 1114, "time": 1083,
        "json": 3802, "uuid": 2950,
    },
}  # fmt: skip
_WORDS = {"insert": "INSERT", "update": "UPDATE", "delete": "DELETE", "read": "INIT"}


class DtsAvro(LineEncoder):
    """One record in each message. Changes have the position of the log, READs have a time only. An image has one union
    value for each column."""

    format = "dts-avro"
    database: str
    born: bool
    misnamed: frozenset[str]
    charset: str

    def record(self, step: Step, operation: str, place: str, **more: Any) -> Row:
        """A record with the fields that all records have."""
        self.records += 1
        micros = str((step.at + 300_000) // 1000)
        tags = {"readerThroughoutTime": micros, "server_id": "26957161", "thread_id": "163931"} | more.pop("tags", {})
        common = {"sourceTimestamp": step.at // SECOND, "id": 1_700_000 + self.records, "source": self.database}
        return dts.record(operation, position=place, keys=None, **(common | self.transaction(step) | more)) | {
            "tags": tags
        }

    def records_of(self, workload: Workload) -> Iterator[Row]:
        """The records in the order of delivery."""
        self.records = 0
        for at, (step, places) in enumerate(self.placed(workload)):
            if step.kind == "stream":
                yield self.record(step, "BEGIN", "0@0", objectName=None, tags={"GTID": f"281c62dc:{at}"})
            for event, place in zip(step.events, places, strict=True):
                yield self.change(step, event, place)
            if step.kind == "stream":
                yield self.record(step, "COMMIT", places[-1], objectName=None)

    def lines(self, workload: Workload) -> list[str]:
        return [self.closed(record) for record in self.records_of(workload)]

    def closed(self, record: Row) -> str:
        """The line of a record."""
        return dts.line(record, self.born)

    def opened(self, line: str) -> Row:
        """The record of a line, in the form that `closed` takes."""
        data = io.BytesIO(base64.b64decode(line))
        found: Any = fastavro.schemaless_reader(data, dts.SCHEMAS[self.born], None, return_record_name=True)
        return {"bornTimestamp": 0} | found

    def change(self, step: Step, event: Event, place: str) -> Row:
        self.fraction = 1000 if LSNS in place else 1  # with pairs of LSNs, fractions are nanoseconds
        table = event.table
        if event.op == "truncate":
            statement = f"TRUNCATE TABLE `{table.name}`"
            return self.record(step, "DDL", place, objectName=self.table_name(table), after=statement)
        keys = json.dumps({"PRIMARY": list(table.keys)}, separators=(",", ":"))
        types = {name: _NUMBERS[self.database][base(kind)] for name, kind in table.columns.items()}
        before, after = (image and self.image(table, image) for image in self.images(event))
        fields = {"types": types, "before": before, "after": after, "objectName": self.table_name(table)}
        return self.record(
            step, _WORDS[event.op], place, tags={"pk_uk_info": keys, "metaVersion": "3109599372"}, **fields
        )

    def image(self, table: Table, row: Row) -> list[Any]:
        return [self.value(kind, row[name]) for name, kind in table.columns.items()]

    def images(self, event: Event) -> tuple[Row | None, Row | None]:
        return event.before, event.after

    def value(self, kind: str, value: Any) -> Any:
        if value is None or value == ABSENT:
            return value
        match base(kind):
            case "smallint" | "int" | "bigint" | "ubigint":
                return dts.integer(value)
            case "float" | "double":
                return dts.number(value)
            case "decimal" | "numeric":
                digits = len(value.as_tuple().digits)
                sizes = wire.sizes(kind) if base(kind) == "decimal" else (digits, -int(value.as_tuple().exponent))
                return dts.decimal(wire.digits_of(value), *sizes)
            case "text" | "uuid":
                return dts.text(value, self.charset)
            case "date":
                return dts.moment(*wire.civil(value))
            case "datetime":
                return dts.moment(*self.parts(value))
            case "time":
                sign, whole = (-1 if value < 0 else 1), abs(value)
                seconds, fraction = divmod(whole, SECOND)
                clock = [seconds // 3600, seconds // 60 % 60, seconds % 60, fraction * self.fraction]
                return dts.moment(None, None, None, *[sign * part for part in clock])
        return self.special(kind, value)

    def parts(self, micros: int) -> list[int]:
        days, rest = divmod(micros, wire.DAY)
        seconds, fraction = divmod(rest, SECOND)
        return [*wire.civil(days), seconds // 3600, seconds // 60 % 60, seconds % 60, fraction * self.fraction]

    @abstractmethod
    def special(self, kind: str, value: Any) -> Any:
        """A value of a type whose form depends on the database."""

    @abstractmethod
    def placed(self, workload: Workload) -> Iterator[tuple[Step, list[str]]]:
        """Every step with the positions of its events."""

    @abstractmethod
    def transaction(self, step: Step) -> Row:
        """The fields of a record that name its transaction."""


class DtsMysql(DtsAvro):
    """The newer generation: two binlog files, one position for the rows of a statement, no transactions."""

    name = "dts_mysql"
    database, born, charset = "MySQL", True, "utf8mb4"
    can = Capabilities(before=True, truncate=True, reads=True, keys=True, types=True)
    lacks = frozenset({"boolean", "numeric", "uuid", "array"})
    misnamed = frozenset({"ubigint"})  # its type number declares a number of eight bytes

    def special(self, kind: str, value: Any) -> Any:
        if kind == "timestamp":
            return dts.timestamp(value // SECOND, value % SECOND)
        return dts.blob(value) if kind == "bytes" else dts.of_type(value)

    def transaction(self, step: Step) -> Row:
        return {"sourceTxid": "0"}

    def placed(self, workload: Workload) -> Iterator[tuple[Step, list[str]]]:
        steps = list(self.steps(workload))
        at = 4
        for number, step in enumerate(steps):
            file = 999_999 if number < len(steps) // 2 else 1_000_000
            at = 4 if number == len(steps) // 2 else at
            places, previous = [], None
            for event in step.events:
                at += 0 if event.op == "insert" and (event.op, event.table) == previous else 301
                previous = event.op, event.table
                places.append(f"{at}@{file}" if step.kind == "stream" else "0@0")
            yield step, places


class DtsPostgresql(DtsAvro):
    """The older generation. Positions are pairs of LSNs, so fractions are nanoseconds. Images omit long values that did
    not change. An image before a change has only the key."""

    name = "dts_postgresql"
    database, born, charset = "PostgreSQL", False, "utf8"
    can = Capabilities(
        deleted_row=False, partial=True, truncate=True, reads=True, transactions=True, keys=True, types=True
    )  # fmt: skip
    lacks = frozenset({"ubigint", "array"})

    def closed(self, record: Row) -> str:
        """The line in the form in which Kafka's tools dump a topic."""
        return json.dumps({"topic": "dts", "partition": 0, "offset": record["id"], "value": super().closed(record)})

    def opened(self, line: str) -> Row:
        return super().opened(json.loads(line)["value"])

    def special(self, kind: str, value: Any) -> Any:
        match kind:
            case "boolean":
                return dts.of_type("t" if value else "f", "BOOL")
            case "timestamp":
                return dts.zoned("+00:00", *self.parts(value))
            case "json":
                return dts.blob(b"\x01" + value.encode(), "JSONB")
        return dts.blob(value, "BYTEA")

    def images(self, event: Event) -> tuple[Row | None, Row | None]:
        before, after = event.before, event.after
        if before is not None and after is not None:
            kept = {n for n, v in before.items() if isinstance(v, str) and len(v) > LONG_TEXT and after[n] == v}
            after = after | dict.fromkeys(kept, ABSENT)
        if before is not None:
            before = {name: value if name in event.table.keys else ABSENT for name, value in before.items()}
        return before, after

    def transaction(self, step: Step) -> Row:
        return {"sourceTxid": str(1000 + step.number) if step.kind == "stream" else "0"}

    def placed(self, workload: Workload) -> Iterator[tuple[Step, list[str]]]:
        for step in self.steps(workload):
            lsn = (0x16 << 32) + 0xFFFF0000 + 0x1000 * step.number
            places = [f"{_lsn(lsn + n)}{LSNS}{lsn}" for n in range(len(step.events))]
            yield step, places if step.kind == "stream" else ["0@0"] * len(places)


def _lsn(number: int) -> str:
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"
