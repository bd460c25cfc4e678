"""Plain rows as JSON lines, CSV, Parquet and Avro. One column has their order, one their operation, one their time."""

import csv
import io
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from tests.conformance import wire
from tests.conformance.encoder import Capabilities, Encoder, changed
from tests.conformance.wire import base
from tests.conformance.workload import Event, Row, Table, Workload

FLAGS = ("seq", "what", "told_at")
_MICROS = {"type": "long", "logicalType": "timestamp-micros"}
_AVRO: dict[str, Any] = {
    "smallint": "int",
    "bigint": "long",
    "ubigint": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 0},
    "text": "string",
    "json": "string",
    "uuid": "string",
    "numeric": "string",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": _MICROS,
    "datetime": {"type": "long", "logicalType": "local-timestamp-micros"},
    "time": {"type": "long", "logicalType": "time-micros"},
}
_ARROW: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "ubigint": pa.decimal128(20, 0),
    "float": pa.float32(),
    "double": pa.float64(),
    "numeric": pa.string(),
    "text": pa.string(),
    "bytes": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "datetime": pa.timestamp("us"),
    "json": pa.string(),
    "uuid": pa.string(),
}


class Rows(Encoder):
    """`kind`: json (updates have only the changed columns), csv, parquet, avro."""

    format = "rows"
    lacks: frozenset[str] = frozenset()

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.name = f"rows_{kind}"
        self.can = Capabilities(truncate=True, partial=kind == "json", types=kind in ("parquet", "avro"))
        self.lacks = frozenset({"csv": {"array"}, "parquet": {"time", "decimal(65,30)"}}.get(kind, set()))

    def source(self, table: Table, folder: Path) -> dict[str, Any]:
        flags = {"sequence_by": "seq", "delete_when": "what = 'delete'", "truncate_when": "what = 'truncate'"}
        path = {"format": self.format, "path": str(folder / table.name / "*"), "time_by": "told_at"}
        return path | flags | {"columns": {"except": list(FLAGS)}}

    def rows(self, workload: Workload) -> Iterator[tuple[Table, Row]]:
        """Each row with its flags. A key change is a row that deletes and a row that puts."""
        number = 0
        for step in self.steps(workload):
            for event in step.events:
                for what, row in self.halves(event):
                    number += 1
                    yield event.table, row | {"seq": number, "what": what, "told_at": step.at}

    def halves(self, event: Event) -> list[tuple[str, Row]]:
        if event.op == "truncate":
            return [("truncate", {})]
        if event.op == "delete":
            return [("delete", event.before or {})]
        if event.changes_key:
            return [("delete", event.before or {}), ("put", event.after or {})]
        after = event.after or {}
        if event.op == "update" and self.can.partial:
            after = {name: after[name] for name in after if name in event.table.keys or name in changed(event)}
        return [("put", after)]

    def deliver(self, workload: Workload, folder: Path) -> None:
        for table in workload.tables:
            (folder / table.name).mkdir()
            columns = table.columns | {"seq": "bigint", "what": "text", "told_at": "timestamp"}
            rows = [row for owner, row in self.rows(workload) if owner is table]
            half = len(rows) // 2
            for number, part in enumerate(
                (rows[half:], rows[:half] + rows[half - 3 :])
            ):  # out of order, some rows twice
                if part:
                    write = getattr(self, f"_{self.kind}")
                    write(folder / table.name / f"part-{number}.{self.kind}", columns, part)

    def _json(self, path: Path, columns: Row, rows: list[Row]) -> None:
        path = path.with_suffix(".jsonl")
        lines = [wire.dumps({name: self.value(columns[name], row[name]) for name in row}) for row in rows]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    def _csv(self, path: Path, columns: Row, rows: list[Row]) -> None:
        """A null is an empty cell. An empty text is a pair of quotes."""
        out = io.StringIO()
        out.write(",".join(columns) + "\n")
        for row in rows:
            cells = [self.cell(kind, row.get(name)) for name, kind in columns.items()]
            out.write(",".join(cells) + "\n")
        path.write_text(out.getvalue(), encoding="utf-8", newline="")

    def cell(self, kind: str, value: Any) -> str:
        if value is None:
            return ""
        found = self.value(kind, value)
        text = {True: "true", False: "false"}.get(found, "") if isinstance(found, bool) else str(found)
        text = text.removeprefix("@@").removesuffix("@@") if base(kind) in ("decimal", "numeric") else text
        quoted = io.StringIO()
        csv.writer(quoted, quoting=csv.QUOTE_ALL, lineterminator="").writerow([text])
        return quoted.getvalue()

    def _parquet(self, path: Path, columns: Row, rows: list[Row]) -> None:
        arrays = []
        for name, kind in columns.items():
            values = [row.get(name) for row in rows]
            arrays.append(_arrow(kind, values))
        pq.write_table(pa.table(dict(zip(columns, arrays, strict=True))), path)

    def _avro(self, path: Path, columns: Row, rows: list[Row]) -> None:
        types = {name: ["null", self.avro_type(kind)] for name, kind in columns.items()}
        fields = [{"name": name, "type": kind, "default": None} for name, kind in types.items()]
        schema = fastavro.parse_schema({"type": "record", "name": "row", "fields": fields})
        records = [{name: self.avro_value(kind, row.get(name)) for name, kind in columns.items()} for row in rows]
        with path.open("wb") as out:
            fastavro.writer(out, schema, records)

    def avro_type(self, kind: str) -> Any:
        if base(kind) == "decimal":
            precision, scale = wire.sizes(kind)
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        if base(kind) == "array":
            return {"type": "array", "items": ["null", self.avro_type(wire.item(kind))]}
        return _AVRO.get(kind, kind)

    def avro_value(self, kind: str, value: Any) -> Any:
        if value is not None and kind in ("numeric", "ubigint"):
            return wire.digits_of(Decimal(value)) if kind == "numeric" else Decimal(value)
        return value

    def value(self, kind: str, value: Any) -> Any:
        if value is None:
            return None
        match base(kind):
            case "decimal" | "numeric":
                return wire.number(Decimal(value))
            case "double" | "float":
                return wire.SPECIAL.get(str(value), value)
            case "bytes":
                return wire.base64_of(value)
            case "date":
                return wire.iso_date(value)
            case "timestamp":
                return wire.iso_moment(value)
            case "datetime":
                return wire.iso_moment(value, zone="")
            case "time":
                return wire.clock(value)
            case "array":
                return [self.value(wire.item(kind), one) for one in value]
        return value


def _arrow(kind: str, values: list[Any]) -> pa.Array:
    if base(kind) == "decimal":
        return pa.array(values, pa.decimal128(*wire.sizes(kind)))
    if base(kind) == "array":
        return pa.array(values, pa.list_(_ARROW[wire.item(kind)]))
    if kind == "numeric":
        values = [None if value is None else wire.digits_of(value) for value in values]
    if kind == "ubigint":
        values = [None if value is None else Decimal(value) for value in values]
    if base(kind) in ("date", "timestamp", "datetime"):
        stored = pa.int32() if kind == "date" else pa.int64()
        return pa.array(values, stored).cast(_ARROW[kind])
    return pa.array(values, _ARROW[kind])
