"""Equal rows at one position of a table without a key: which are redeliveries, and which are separate changes."""

import json
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from siltstone.engine.spec.model import SourceSpec
from siltstone.engine.steps.whole_row_keys import keyless_changes
from tests.decoding import decode_rows, discover, envelopes
from tests.unit.decode.given import SOURCE, TABLE, changes_of, event, spec

A = {"id": 1, "v": "x"}
COLUMNS = {"id": "int", "v": "string"}


def datastream(uuid: str | None, change: str | None = "INSERT", pos: int = 10) -> str:
    meta = {"database": "shop", "table": "items", "primary_keys": [], "change_type": change}
    place = {"log_file": "b.000001" if pos else "", "log_position": pos}
    stamps = {"source_timestamp": "2024-01-01T00:00:00Z", "read_timestamp": "2024-01-01T00:00:09Z"}
    return json.dumps({"uuid": uuid, "source_metadata": meta | place, "payload": A} | stamps)


def hashes(spark: SparkSession, form: str, *placed: tuple[str, str]) -> list[Any]:
    """The content hashes of the changes of lines, (file, text) each, in their order."""
    source = SourceSpec(form, "x")  # type: ignore[arg-type]
    rows = [(file, number, text) for number, (file, text) in enumerate(placed, 1)]
    lines = spark.createDataFrame(rows, "file string, line bigint, text string").coalesce(1)
    table = replace(spec(COLUMNS, keys=()), source=source)
    events = envelopes(lines, source, {TABLE: ()}).localCheckpoint()
    changes, shape = changes_of(events), discover(events, table)
    found = keyless_changes(decode_rows(changes, shape, table), shape, table).orderBy("line").collect()
    assert [row.reason for row in found] == [None] * len(placed)
    return [row.content_hash for row in found]


def test_streamed_events_of_datastream_are_distinguished_by_their_ids(spark: SparkSession) -> None:
    one, other, gone = datastream("u1"), datastream("u2"), datastream("u1", "DELETE")
    given = [("a", one), ("a", one), ("a", other), ("b", one), ("c", other), ("c", gone)]
    first, redelivered, second, elsewhere, later, delete = hashes(spark, "datastream-json", *given)
    assert first == redelivered == elsewhere
    assert second == later
    assert len({first, second, delete}) == 3
    assert hashes(spark, "datastream-avro", ("d", other)) == [second]


def test_reads_of_datastream_and_events_without_ids_are_counted_in_their_file(spark: SparkSession) -> None:
    reads = [("a", datastream(uuid, None, 0)) for uuid in ("u1", "u1", "u2")]
    reads += [("b", datastream(uuid, None, 0)) for uuid in ("u7", "u8")]
    found = hashes(spark, "datastream-json", *reads)
    assert found[:2] == found[3:]
    assert len(set(found)) == 3
    for nothing in (None, ""):
        bare = [(file, datastream(nothing)) for file in "aab"]
        named = [("a", datastream("u1"))]
        first, second, redelivered, other = hashes(spark, "datastream-json", *bare, *named)
        assert first == redelivered
        assert len({first, second, other}) == 3
        assert hashes(spark, "datastream-json", *named, *bare)[1:] == [first, second, redelivered]


def test_equal_rows_are_counted_only_in_consecutive_events(spark: SparkSession) -> None:
    here, there = (event("c", after=A, source=SOURCE | {"lsn": lsn}) for lsn in (32, 48))
    first, second, between, redelivered = hashes(
        spark, "debezium-json", *[("a", line) for line in (here, here, there, here)]
    )
    assert first == redelivered == between
    assert second != first


def taken(op: str, row: dict[str, Any], seconds: int, order: int | None = None) -> tuple[str, str]:
    """A change at the same position, which the connector processed `seconds` after the first one."""
    line = json.loads(event(op, after=row))
    line["value"]["ts_ms"] += seconds * 1_000
    line["value"]["transaction"] = None if order is None else {"id": "7", "total_order": order}
    return "a", json.dumps(line)


def test_an_immediate_redelivery_is_detected_by_the_pause_before_it(spark: SparkSession) -> None:
    other = {"id": 2, "v": "y"}
    first, second, redelivered, second_redelivered, later = hashes(
        spark, "debezium-json", *[taken("c", A, seconds) for seconds in (0, 0, 60, 60, 3600)]
    )
    assert first == redelivered == later
    assert second == second_redelivered != first
    snapshot = [taken("r", row, at) for row, at in ((A, 0), (other, 0), (A, 30), (other, 30), (other, 90))]
    read, once, reread, once_more, equal = hashes(spark, "debezium-json", *snapshot)
    assert (read, once) == (reread, once_more)
    assert equal != once, "a long READ is not a READ that restarts"


def test_an_immediate_redelivery_is_detected_by_its_order_in_the_transaction(spark: SparkSession) -> None:
    first, redelivered, second = hashes(spark, "debezium-json", *[taken("c", A, 0, order) for order in (3, 3, 4)])
    assert first == redelivered != second
