"""A spec, lines, and Debezium events for the decoder's tests."""

import json
from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from siltstone.engine.spec.model import (
    ChecksSpec,
    ColumnSpec,
    HistorySpec,
    SnapshotSpec,
    SourceSpec,
    TableSpec,
    TargetSpec,
)
from tests.decoding import decode_rows, discover, envelopes

TABLE = "shop.items"
SOURCE = {
    "connector": "postgresql",
    "name": "srv",
    "schema": "shop",
    "table": "items",
    "ts_ms": 1_700_000_000_000,
    "ts_us": 1_700_000_000_000_001,
    "lsn": 32,
    "sequence": '["16","32"]',
}


def spec(
    columns: dict[str, str | ColumnSpec] | None = None,
    keys: tuple[str, ...] | None = ("id",),
    table: str = TABLE,
    evolution: Any = "additive",
    **source: Any,
) -> TableSpec:
    return TableSpec(
        file=None,
        table=table,
        source=SourceSpec("debezium-json", "events/*.jsonl", **source),
        keys=keys,
        columns=None
        if not columns
        else {n: c if isinstance(c, ColumnSpec) else ColumnSpec(c) for n, c in columns.items()},
        target=TargetSpec("a.items", "a.items_history", "a.items_changes"),
        history=HistorySpec(),
        snapshot=SnapshotSpec(),
        lateness=None,
        evolution=evolution,
        rejects_max_fraction=0.01,
        quality=ChecksSpec((), {}),
    )


def event(op: str = "c", before: Any = None, after: Any = None, key: Any = None, **more: Any) -> str:
    """A line. The default key comes from an image. `source`: other fields of its source block."""
    source = {**SOURCE, **more.pop("source", {})}
    image = after or before or {}
    found = {"id": image["id"]} if key is None and "id" in image else key
    value = {
        "before": before,
        "after": after,
        "source": source,
        "op": op,
        "ts_ms": 1_700_000_001_000,
        "transaction": None,
    }
    return json.dumps({"topic": "t", "key": found, "value": value, **more})


def with_schema(line: str, fields: list[dict[str, Any]]) -> str:
    """The line with schemas around its key and value. `fields`: the fields of the row."""
    record = json.loads(line)
    images = [{"type": "struct", "fields": fields, "optional": True, "field": name} for name in ("before", "after")]
    keys = [field for field in fields if field["field"] in (record["key"] or {})]
    if record["key"]:
        record["key"] = {"schema": {"type": "struct", "fields": keys}, "payload": record["key"]}
    record["value"] = {"schema": {"type": "struct", "fields": images}, "payload": record["value"]}
    return json.dumps(record)


def field(name: str, kind: str, semantic: str | None = None, **parameters: str) -> dict[str, Any]:
    named = {"name": semantic} if semantic else {}
    return {
        "type": kind,
        "optional": True,
        "field": name,
        **named,
        **({"parameters": parameters} if parameters else {}),
    }


def lines(spark: SparkSession, texts: Iterable[str]) -> DataFrame:
    rows = [("events.jsonl", number, text) for number, text in enumerate(texts, 1)]
    return spark.createDataFrame(rows, "file string, line bigint, text string").coalesce(1)


def enveloped(spark: SparkSession, texts: Iterable[str], **source: Any) -> list[Row]:
    return envelopes(lines(spark, texts), SourceSpec("debezium-json", "x", **source)).orderBy("line").collect()


def parsed(spark: SparkSession, texts: Iterable[str], source: SourceSpec) -> DataFrame:
    """Envelopes that are computed once, as in a run, so that later plans do not include their parsing."""
    return envelopes(lines(spark, texts), source).localCheckpoint()


def changes_of(events: DataFrame, table: str = TABLE) -> DataFrame:
    return events.where((F.col("kind") == "change") & (F.col("table") == table))


def decoded(spark: SparkSession, texts: Iterable[str], table_spec: TableSpec) -> list[Row]:
    events = parsed(spark, texts, table_spec.source)
    changes = changes_of(events, table_spec.table)
    return decode_rows(changes, discover(events, table_spec), table_spec).orderBy("line").collect()
