"""Plain-Python changes and their fold by the oracle, as the tables that the checks read."""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from siltstone.engine.schema.change_row import change_schema, key_schema
from siltstone.engine.schema.history_row import history_schema, latest_schema
from siltstone.engine.table.ledger import SCHEMAS
from siltstone.quality.scope import Tables
from tests.oracle import Rules, fold

Row = dict[str, Any]
SECOND = 1_000_000
NOON = 1_790_000_000 * SECOND
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def at(micros: int | None) -> datetime | None:
    return None if micros is None else EPOCH + timedelta(microseconds=micros)


def place(number: int) -> str:
    return f"0000-{number:016X}-{number:016X}"


def change(number: int, op: str, key: Any, row: Row | None = None, **more: Any) -> Row:
    """A change at a position; `key` None is a truncate, `row` lacks the key `k`."""
    values = None if key is None else {"k": key} | (row or {})
    before = more.pop("before", None)
    return {
        "key": None if key is None else (key,),
        "op": op,
        "row": values,
        "present": None,
        "before": None if before is None else {"k": key} | before,
        "position": place(number),
        "commit_ts": NOON + number * SECOND,
        "ingest_ts": NOON + number * SECOND,
        "tx_id": None,
        "tx_order": None,
        "old_key": None,
        "new_key": None,
        "content": repr(sorted((values or {}).items())),
        "batch": 1,
        "line": number,
        **more,
    }


@dataclass
class Stage:
    """The columns and keys of one table, and the conversion of plain rows to its tables."""

    spark: SparkSession
    row: T.StructType
    keys: tuple[str, ...]

    def tables(self, changes: Sequence[Row], windows: Iterable[tuple[Any, ...]] = (), **rules: Any) -> Tables:
        """The changes, and history and latest as the oracle folds them (`history` and `latest` override them)."""
        given = {name: rules.pop(name, None) for name in ("history", "latest")}
        folded = fold(changes, list(windows), Rules(tuple(self.row.names), self.keys, **rules))
        history = folded[0] if given["history"] is None else given["history"]
        latest = folded[1] if given["latest"] is None else given["latest"]
        return Tables(self.changes(changes), self.history(history), self.latest(latest), self.control(windows))

    def changes(self, changes: Sequence[Row]) -> DataFrame:
        schema = change_schema(key_schema(self.keys, self.row), self.row)
        rows = [self.change_row(index, change) for index, change in enumerate(changes)]
        return self.frame(rows, schema)

    def change_row(self, index: int, change: Row) -> Row:
        def struct(values: Row | None) -> tuple[Any, ...] | None:
            return None if values is None else tuple(values.get(name) for name in self.row.names)

        return {
            "batch": 1,
            "source": "shop",
            "table": "shop.orders",
            "channel": "orders",
            "file": "events.jsonl",
            "line": index + 1,
            **change,
            "row": struct(change["row"]),
            "before": struct(change["before"]),
            "present": None if change["present"] is None else sorted(change["present"]),
            "commit_ts": at(change["commit_ts"]),
            "ingest_ts": at(change["ingest_ts"]),
            "origin": "snapshot" if change["op"] == "read" else "stream",
            "content_hash": zlib.crc32(str(change["content"]).encode()),
        }

    def history(self, rows: Sequence[Row]) -> DataFrame:
        moments = ("_valid_from", "_valid_to", "_commit_ts")
        return self.frame([row | {name: at(row[name]) for name in moments} for row in rows], history_schema(self.row))

    def latest(self, rows: Sequence[Row]) -> DataFrame:
        moments = ("_valid_from", "_commit_ts")
        return self.frame([row | {name: at(row[name]) for name in moments} for row in rows], latest_schema(self.row))

    def control(self, windows: Iterable[tuple[Any, ...]]) -> DataFrame:
        rows = []
        for number, (opened, open_ts, closed, close_ts) in enumerate(windows):
            for kind, position, micros in (("window_open", opened, open_ts), ("window_close", closed, close_ts)):
                if position is not None:
                    ends = {"kind": kind, "event_id": f"chunk{number}-{kind[7:]}", "position": position}
                    rows.append({"batch": 1, "source": "shop", "commit_ts": at(micros), **ends})
        return self.frame(rows, T.StructType.fromDDL(SCHEMAS["control"]))

    def frame(self, rows: Sequence[Row], schema: T.StructType) -> DataFrame:
        return self.spark.createDataFrame([tuple(row.get(name) for name in schema.names) for row in rows], schema)
