"""Debezium's events of PostgreSQL and MySQL as Avro in Confluent's frames, in the schemas of Debezium's converter."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests import framed
from tests.conformance import wire
from tests.conformance.encode_debezium import Debezium, Mysql, Postgresql
from tests.conformance.wire import base
from tests.conformance.workload import Row, Step, Table, Workload
from tests.framed import named

_LONGS = {"ts_ms", "ts_us", "ts_ns", "txId", "lsn", "xmin", "origin_lsn", "server_id", "pos", "row", "thread"}
_ALWAYS = {"version", "connector", "name", "ts_ms", "db", "schema", "table", "server_id", "file", "pos", "row"}
_MARKS = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"
_AVRO: Mapping[str, Any] = {
    "boolean": "boolean",
    "smallint": {"type": "int", "connect.type": "int16"},
    "int": "int",
    "bigint": "long",
    "ubigint": "long",
    "float": "float",
    "double": "double",
    "text": "string",
    "bytes": "bytes",
    "date": named("int", "io.debezium.time.Date"),
    "timestamp": named("string", "io.debezium.time.ZonedTimestamp"),
    "datetime": named("long", "io.debezium.time.MicroTimestamp"),
    "time": named("long", "io.debezium.time.MicroTime"),
    "json": named("string", "io.debezium.data.Json"),
    "uuid": named("string", "io.debezium.data.Uuid"),
    "numeric": framed.record("VariableScaleDecimal", {"scale": "int", "value": "bytes"}, "io.debezium.data"),
}
_COUNT = framed.record("collection", {"data_collection": "string", "event_count": "long"}, "event")
COMMON = "io.debezium.connector.common"
TRANSACTION_KEY = framed.record("TransactionMetadataKey", {"id": "string"}, COMMON)
TRANSACTION = framed.record(
    "TransactionMetadataValue",
    {
        "status": "string",
        "id": "string",
        "event_count": ["null", "long"],
        "data_collections": ["null", {"type": "array", "items": ["null", _COUNT]}],
        "ts_ms": "long",
    },
    COMMON,
)


class Framed(Debezium):
    """Keys and values are frames instead of JSON. A file next to the folder of events has the schemas."""

    format = "debezium-avro"

    def __init__(self) -> None:
        super().__init__(schemas=True)
        self.name = f"{self.connector}_framed"
        self.schemas_by_text: dict[str, int] = {}

    def source(self, table: Table, folder: Path) -> Row:
        place = folder.parent / f"{self.name}.schemas.json"
        place.write_text(json.dumps({n: json.loads(text) for text, n in self.schemas_by_text.items()}))
        return super().source(table, folder) | {"schemas": str(place)}

    def lines(self, workload: Workload) -> list[str]:
        for table in workload.tables:
            self.number(self.key_schema(table))
            self.number(self.envelope_schema(table))
        return super().lines(workload)

    def number(self, schema: Any) -> int:
        """The id that the registry gives to a schema."""
        return self.schemas_by_text.setdefault(json.dumps(schema), len(self.schemas_by_text) + 1)

    def framed(self, schema: Any, value: Any) -> str:
        return base64.b64encode(framed.frame(self.number(schema), schema, value)).decode()

    def opened(self, text: str) -> tuple[Any, Any]:
        """The schema and the body of a frame."""
        data = base64.b64decode(text)
        number = int.from_bytes(data[1:5], "big")
        schema = json.loads(next(text for text, known in self.schemas_by_text.items() if known == number))
        return schema, framed.body(schema, data[5:])

    def record_line(
        self, table: Table | None, value: Row | None, row: Row | None = None, headers: Row | None = None
    ) -> str:
        topic = f"srv.{self.table_name(table)}" if table else "srv.transaction"
        key: Any = None
        if table is None and value:
            key = self.framed(TRANSACTION_KEY, {"id": value["id"]})
        elif table and table.keys and row:
            key = self.framed(self.key_schema(table), self.key(table, row))
        body = value and self.framed(self.envelope_schema(table) if table else TRANSACTION, value)
        more = {} if table is None else headers or {}
        return json.dumps({self.topic_field: topic, "key": key, "value": body, "headers": self.headers(more)})

    def value(self, kind: str, value: Any) -> Any:
        match base(kind):
            case _ if value is None:
                return None
            case "decimal":
                return wire.unscaled(value, wire.sizes(kind)[1])
            case "numeric":
                scale = -int(value.as_tuple().exponent)
                return {"scale": scale, "value": wire.unscaled(value, scale)}
            case "float" | "double" | "bytes":
                return value
        return super().value(kind, value)

    def avro_type(self, kind: str) -> Any:
        if base(kind) == "decimal":
            precision, scale = wire.sizes(kind)
            return framed.decimal(scale, precision)
        if base(kind) == "array":
            return {"type": "array", "items": ["null", self.avro_type(wire.item(kind))]}
        return _AVRO[kind]

    def key_schema(self, table: Table) -> Row:
        return framed.record("Key", {n: self.avro_type(table.columns[n]) for n in table.keys}, self.space(table))

    def envelope_schema(self, table: Table) -> Row:
        space = self.space(table)
        columns = {n: _column(self.avro_type(kind), n not in table.keys) for n, kind in table.columns.items()}
        orders = {"total_order": "long", "data_collection_order": "long"}
        fields = {
            "before": ["null", framed.record("Value", columns, space)],
            "after": ["null", "Value"],
            "source": self.source_schema(table),
            "transaction": ["null", framed.record("block", {"id": "string"} | orders, "event")],
            "op": "string",
            **{name: ["null", "long"] for name in ("ts_ms", "ts_us", "ts_ns")},
        }
        return framed.record("Envelope", fields, space)

    def space(self, table: Table) -> str:
        return f"srv.{self.table_name(table)}"

    def source_schema(self, table: Table) -> Row:
        """The fields of the `source` block, in their order."""
        place = {"lsn": 1, "commit": 1, "file": "", "pos": 1, "row": 0}
        fields = {name: _source_field(name) for name in self.source_block(Step("stream", 1, 0, ()), table, place)}
        return framed.record("Source", fields, f"io.debezium.connector.{self.connector}")


def _column(kind: Any, optional: bool) -> Any:
    return ["null", kind] if optional else kind


def _source_field(name: str) -> Any:
    if name == "snapshot":
        marks = named("string", "io.debezium.data.Enum", **{"connect.parameters": {"allowed": _MARKS}})
        return [marks, "null"]
    kind = "long" if name in _LONGS else "string"
    return kind if name in _ALWAYS else ["null", kind]


class PostgresqlFramed(Framed, Postgresql):
    """Replica identity FULL."""


class MysqlFramed(Framed, Mysql):
    """Events with the positions of binlog files."""
