"""Fold many drawn histories with the engine at once. The case number is part of the key."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine.fold.recompute_keys import fold_with_links
from siltstone.engine.frames import local_frame
from siltstone.engine.history.fold_settings import FoldRules
from siltstone.engine.history.key_timeline import change_rows
from siltstone.engine.history.partial_key_changes import links_by_position, with_links
from siltstone.engine.ordering.snapshot_windows import attach_windows
from siltstone.engine.schema.change_row import change_schema, key_schema
from tests import oracle
from tests.property.histories import COLUMNS, KEYS, Case, Row

TEXTS = ("b", "c")
ROW = T.StructType([T.StructField(name, T.StringType() if name in TEXTS else T.LongType()) for name in COLUMNS])
CHANGES = change_schema(key_schema(KEYS, ROW), ROW)
WINDOWS = T.StructType(
    [
        *(T.StructField(name, T.StringType()) for name in ("source", "window_id", "open_position")),
        T.StructField("open_ts", T.TimestampType()),
        T.StructField("close_position", T.StringType()),
    ]
)
COMPARED = (*COLUMNS, "_valid_from", "_valid_to", "_is_current", "_op", "_commit_ts", "_position", "_unknown")


def engine_rules(rules: oracle.Rules) -> FoldRules:
    return FoldRules(
        keys=KEYS,
        columns=COLUMNS,
        tracked=rules.tracked or COLUMNS,
        partial=TEXTS,
        defaults=rules.defaults,
        guard=timedelta(microseconds=rules.guard),
        skew=timedelta(microseconds=rules.skew),
        margin=timedelta(microseconds=rules.margin),
    )


def fold(spark: SparkSession, cases: Sequence[Case], rules: oracle.Rules) -> dict[int, list[Row]]:
    """History rows by case, folded by the engine from an empty table."""
    spec = engine_rules(rules)
    changes = change_frame(spark, cases)
    linked = with_links(changes, links_by_position(changes).localCheckpoint())
    with_windows = attach_windows(linked, window_frame(spark, cases), spec.margin)
    rows = change_rows(with_windows, spec).localCheckpoint()
    judged = fold_with_links(rows, spec)
    found: dict[int, list[Row]] = {case.number: [] for case in cases}
    for row in judged.where(F.col("action").isNotNull()).select("version.*").collect():
        found[row["case"]].append(comparable(row.asDict()))
    judged.unpersist()
    return {number: ordered(rows) for number, rows in found.items()}


def change_frame(spark: SparkSession, cases: Sequence[Case]) -> DataFrame:
    """The changes of all cases. A truncate becomes a change of every key of its case."""
    rows = []
    for case in cases:
        keys = {c["key"] for c in case.changes if c["key"]}
        for change in case.changes:
            rows += [encoded(case.number, change, key) for key in ([change["key"]] if change["key"] else sorted(keys))]
    return local_frame(spark, rows, CHANGES)


def encoded(number: int, change: Row, key: tuple[int, int]) -> dict[str, Any]:
    values = dict.fromkeys(CHANGES.names) | {name: change[name] for name in change if name in CHANGES.names}
    source = str(change.get("source", number))
    linked_by_position = ("", "partial")[number % 2]
    headers = change.get("headers", linked_by_position if source.startswith("postgresql:") else "whole")
    return values | {
        "batch": 1,
        "source": source,
        "key": keyed(key),
        "old_key": key_in_headers(change["old_key"], headers),
        "new_key": key_in_headers(change["new_key"], headers),
        "present": change["present"] and sorted(change["present"]),
        "commit_ts": moment(change["commit_ts"]),
        "ingest_ts": moment(change["ingest_ts"]),
        "origin": "snapshot" if change["op"] == "read" else "stream",
        "content_hash": change["content"],
    }


def source_of(case: Case) -> str:
    """The source that the changes and the windows of a case name."""
    return next((str(change["source"]) for change in case.changes if "source" in change), str(case.number))


def key_in_headers(key: tuple[int, int] | None, headers: str) -> dict[str, int | None] | None:
    """The key of the other half as the headers have it: complete, only the part of the message's key, or absent."""
    partial = key and {KEYS[0]: key[0], KEYS[1]: None}
    return {"whole": keyed(key), "partial": partial, "": None}[headers]


def keyed(key: tuple[int, int] | None) -> dict[str, int] | None:
    return key and dict(zip(KEYS, key, strict=True))


def window_frame(spark: SparkSession, cases: Sequence[Case]) -> DataFrame:
    rows = [
        dict(zip(WINDOWS.names, (source_of(case), opened, opened, moment(at), closed), strict=True))
        for case in cases
        for opened, at, closed, _ in case.windows
    ]
    return local_frame(spark, rows, WINDOWS)


def folded_by_oracle(case: Case, rules: oracle.Rules) -> list[Row]:
    return ordered([comparable(row) for row in oracle.fold(case.changes, case.windows, rules)[0]])


def moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def comparable(row: Row) -> Row:
    times = {name: row[name] for name in ("_valid_from", "_valid_to", "_commit_ts")}
    micros = {n: int(t.timestamp()) * 1_000_000 + t.microsecond for n, t in times.items() if isinstance(t, datetime)}
    return {name: row[name] for name in COMPARED} | micros | {"_unknown": sorted(row["_unknown"] or ())}


def ordered(rows: list[Row]) -> list[Row]:
    """Sort by key, then by time. At one time, the position decides, and a delete is before what follows it."""

    def order(row: Row) -> tuple[Any, ...]:
        times = row["_valid_from"], row["_valid_to"] or 1 << 62
        return row["k"], *times, row["_position"] or "", row["_op"] != "delete", repr(row)

    return sorted(rows, key=order)
