"""Run workloads through the engine's decoders: write the files, then read and decode them as a run does.

Nothing is stored. The values have the form of the kit (see `wire`), whatever their stored type, so that tests can
compare them.
"""

import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.formats import format_of
from siltstone.engine.ingest.source_records import read_records, source_files
from siltstone.engine.inputs.listing import FileProbe
from siltstone.engine.inputs.pending_files import pending_files
from siltstone.engine.inputs.table_rows import computed
from siltstone.engine.report import RunReport
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from tests.conformance import wire
from tests.conformance.encoder import Encoder
from tests.conformance.workload import Key, Row, Table, Workload
from tests.decoding import decode_rows, discover

_KEPT = ("op", "present", "position", "tx_id", "tx_order", "content_hash", "rescued", "reason", "file", "line")


@dataclass
class Decoded:
    """A decoded workload: the changes by table in the oracle's form, the numbers of records by kind, the reasons of
    rejects, and the stored types."""

    changes: dict[str, list[Row]] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    stored: dict[str, dict[str, str]] = field(default_factory=dict)


def spec_of(
    project: ProjectSpec, encoder: Encoder, table: Table, folder: Path, typed: bool = True, **more: Any
) -> TableSpec:
    """The spec of a table as an encoder writes it. `typed`: the spec declares the columns."""
    name = f"{encoder.name}_{table.name}"
    names = {part: f"{project.namespace}.{name}_{part}" for part in ("latest", "history", "changes")}
    mapping = {"table": encoder.table_name(table), "source": encoder.source(table, folder), "target": names} | more
    if not encoder.can.keys:
        mapping["keys"] = list(table.keys)
    if typed:
        mapping["columns"] = encoder.column_types(table)
    return table_spec(mapping, project)


def open_sums(report: RunReport) -> list[str]:
    """The sources whose records are not all accounted for, and the tables whose changes do not all have an outcome."""
    sources = [
        source.path
        for source in report.sources
        if source.read
        != sum(source.taken.values()) + source.control + sum(source.other_tables.values()) + source.rejected
    ]
    return sources + [table.table for table in report.tables if table.changes != sum(table.outcomes.values())]


def workload_folder(encoder: Encoder, workload: Workload, project: ProjectSpec) -> Path:
    """The folder with the files of the workload. The first call writes them."""
    folder = project.root / "encoded" / encoder.name
    if not folder.exists():
        folder.mkdir(parents=True)
        encoder.deliver(workload, folder)
    return folder


def decoded(
    spark: SparkSession, project: ProjectSpec, encoder: Encoder, workload: Workload, typed: bool = True
) -> Decoded:
    """Decode a workload in the format of the encoder."""
    folder = workload_folder(encoder, workload, project)
    found = Decoded()
    specs = {table.name: spec_of(project, encoder, table, folder, typed) for table in workload.tables}
    declared = {spec.table: spec.keys for spec in specs.values()}
    records: dict[Any, DataFrame] = {}
    for table in workload.tables:
        spec = specs[table.name]
        if spec.source not in records:
            records[spec.source] = enveloped(spark, project, spec, declared)
            for row in records[spec.source].groupBy("kind", "reason").count().collect():
                found.kinds[row["kind"]] = found.kinds.get(row["kind"], 0) + row["count"]
                found.reasons += [row["reason"]] if row["reason"] else []
        mine = records[spec.source].where((F.col("kind") == "change") & (F.col("table") == spec.table))
        splits = bool(spec.keys) and format_of(spec.source.format).splits_declared_keys
        rows = decode_rows(mine, discover(records[spec.source], spec), spec, splits_keys=splits)
        kinds = {name: rows.schema["row"].dataType[name].dataType for name in rows.schema["row"].dataType.names}
        found.stored[table.name] = {name: kind.simpleString() for name, kind in kinds.items()}
        found.changes[table.name] = [change(row.asDict(True), table) for row in comparable(rows).collect()]
    return found


def enveloped(spark: SparkSession, project: ProjectSpec, spec: TableSpec, declared: Mapping[str, Any]) -> DataFrame:
    """The events of a source, computed once."""
    files = source_files(spark, spec.source, project.catalog.name, None)
    pending = pending_files(FileProbe(), files, {}, "kit")
    lines, _ = read_records(spark, spec.source, pending, project.catalog.name)
    return computed(lines.events(spec.source, declared), pending)


def comparable(rows: DataFrame) -> DataFrame:
    """Times as counts and bytes as hexadecimal digits, because Python's own types cannot hold all values of Spark's."""
    structs = ("key", "row", "before", "old_key", "new_key")
    times = [F.unix_micros(name).alias(name) for name in ("commit_ts", "ingest_ts")]
    return rows.select(
        *[_plain(F.col(name), rows.schema[name].dataType).alias(name) for name in structs], *times, *_KEPT
    )


def _plain(value: Column, kind: T.DataType) -> Column:
    match kind:
        case T.StructType():
            fields = [_plain(value[field.name], field.dataType).alias(field.name) for field in kind]
            return F.when(value.isNotNull(), F.struct(*fields))
        case T.DateType():
            return F.unix_date(value)
        case T.TimestampType():
            return F.unix_micros(value)
        case T.TimestampNTZType():
            return F.unix_micros(value.cast("timestamp"))
        case T.BinaryType():
            return F.hex(value)
        case T.DecimalType():
            return value.cast("string")
        case T.ArrayType() if not isinstance(kind.elementType, T.StringType):
            return F.transform(value, lambda one: _plain(one, kind.elementType))
    return value


def stored_rows(frame: DataFrame, table: Table, *more: str) -> list[tuple[Row, Row]]:
    """The rows of a stored table in the form of the kit. `more`: other columns that are returned with each row."""
    columns = [_plain(F.col(name), frame.schema[name].dataType).alias(name) for name in table.columns]
    found = [row.asDict(True) for row in frame.select(*columns, *more).collect()]
    kinds = table.columns
    return [({name: kit_value(kinds[name], row[name]) for name in kinds}, {m: row[m] for m in more}) for row in found]


def images(history: DataFrame, table: Table) -> dict[Key, list[Row | None]]:
    """The sequence of images of each key in a stored history, without consecutive repetitions."""
    flags = ("_valid_from", "_valid_to", "_position", "_op")
    found: dict[Key, list[Row | None]] = {}
    for row, flagged in sorted(stored_rows(history, table, *flags), key=in_time):
        image = None if flagged["_op"] == "delete" else row
        sequence = found.setdefault(table.key(row), [])
        if not sequence or sequence[-1] != image:
            sequence.append(image)
    return found


def in_time(pair: tuple[Row, Row]) -> tuple[Any, ...]:
    """The sort key of a version: its times, then its position, which orders versions of zero length."""
    since, until, place, _ = pair[1].values()
    return since, until is None, until or since, place or ""


def differing(what: str, found: Mapping[Key, Any], expected: Mapping[Key, Any]) -> list[str]:
    """The first two keys whose values differ from the expected ones."""
    wrong = [key for key in {**found, **expected} if found.get(key) != expected.get(key)]
    return [f"{what} {key}: {str(found.get(key))[:300]} != {str(expected.get(key))[:300]}" for key in wrong[:2]]


def change(found: Row, table: Table) -> Row:
    """A decoded change in the form that the oracle takes."""

    def row(name: str) -> Row | None:
        return found[name] and {column: kit_value(table.columns[column], v) for column, v in found[name].items()}

    def key(name: str) -> Key | None:
        values = row(name)
        return values and tuple(values[column] for column in table.keys)

    made = {name: key(name) for name in ("key", "old_key", "new_key")} | {n: row(n) for n in ("row", "before")}
    known = {name: found[name] for name in (*_KEPT, "commit_ts") if name != "content_hash"}
    ingest = found["commit_ts"] if found["ingest_ts"] is None else found["ingest_ts"]
    return made | known | {"ingest_ts": ingest, "content": found["content_hash"]}


def kit_value(kind: str, value: Any) -> Any:
    """A stored value in the form of the workload's values."""
    if value is None:
        return None
    if wire.base(kind) == "array":
        return [kit_value(wire.item(kind), one) for one in (json.loads(value) if isinstance(value, str) else value)]
    return _FORMS.get(wire.base(kind), _as_it_is)(value)


def _as_it_is(value: Any) -> Any:
    return value


def micros_of_clock(text: str) -> int:
    hours, minutes, seconds = text.lstrip("-").split(":")
    whole = (int(hours) * 60 + int(minutes)) * 60 * wire.SECOND + int(Decimal(seconds) * wire.SECOND)
    return -whole if text.startswith("-") else whole


def _flag(value: Any) -> Any:
    return value if isinstance(value, bool) else {0: False, 1: True, "0": False, "1": True}.get(value, value)


def single(value: float) -> float:
    """The nearest number that a 4-byte float can hold."""
    return value if math.isnan(value) or math.isinf(value) else float(struct.unpack("f", struct.pack("f", value))[0])


_FORMS: Mapping[str, Callable[[Any], Any]] = {
    "boolean": _flag,
    **dict.fromkeys(("smallint", "int", "bigint", "ubigint"), int),
    **dict.fromkeys(("decimal", "numeric"), Decimal),
    "float": lambda value: single(float(value)),
    "double": float,
    "bytes": lambda value: bytes.fromhex(value) if isinstance(value, str) else bytes(value),
    "time": lambda value: micros_of_clock(value) if isinstance(value, str) else value,
    "json": lambda value: json.loads(value, parse_float=Decimal),
}
