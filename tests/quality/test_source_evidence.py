"""Findings from control rows: log files, heartbeats, partitions; each next to a source without faults."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from siltstone.engine.spec.model import SourceSpec
from siltstone.engine.table.ledger import ledger_schema
from siltstone.quality.missing_log_files import skipped_logs
from siltstone.quality.silent_sources import silent_heartbeats, stalled_partitions
from siltstone.quality.source_evidence import evidence_of
from tests.decoding import control_rows, envelopes, watermark_rows
from tests.quality.stage import NOON, SECOND, at
from tests.unit.decode.formats.test_canal import framed
from tests.unit.decode.formats.test_spanner import record
from tests.unit.decode.formats.test_ticdc import MARK, MILLIS, TSO, documented
from tests.unit.decode.given import lines

GRACE = timedelta(seconds=10)


def frame(spark: SparkSession, rows: Sequence[dict[str, Any]]) -> DataFrame:
    whole = [{"batch": 1, "source": "mysql:shop"} | row for row in rows]
    schema = ledger_schema("control")
    return spark.createDataFrame([tuple(row.get(name) for name in schema.names) for row in whole], schema)


def messages(found: DataFrame) -> list[str]:
    return sorted(row["message"] for row in found.collect())


def test_a_missing_log_file_is_found_when_its_neighbours_arrive(spark: SparkSession) -> None:
    def file(number: int, batch: int, epoch: int = 0) -> dict[str, Any]:
        return {"kind": "log_file", "position": f"{epoch:04X}-{number:08X}", "batch": batch}

    rows = [file(n, 1) for n in (4, 5)] + [file(n, 2) for n in (5, 7, 12)] + [file(1, 2, epoch=1)]
    found = skipped_logs(frame(spark, rows), 1, T.StructType())
    assert messages(found) == ["no event arrived from log file 6", "no event arrived from log files 8 to 11"]
    assert {(r.position_from, r.position_to) for r in found.collect()} >= {("0000-00000005", "0000-00000007")}
    healed = frame(spark, [*rows, *(file(n, 3) for n in (6, 8, 9, 10, 11))])
    assert messages(skipped_logs(healed, 2, T.StructType())) == []
    assert messages(skipped_logs(frame(spark, rows), 2, T.StructType())) == []  # reported before


def beats(*seconds: int, batch: int = 1, channel: str = "hb") -> list[dict[str, Any]]:
    beat = {"kind": "heartbeat", "channel": channel, "batch": batch}
    return [beat | {"ingest_ts": at(NOON + s * SECOND)} for s in seconds]


def silences(
    spark: SparkSession, rows: list[dict[str, Any]], newest: int, since: int = 0, of_one_log: bool = False
) -> list[str]:
    control, now = frame(spark, rows), at(NOON + newest * SECOND)
    seen = evidence_of(control, ["mysql:shop"], since, {}, None)
    first = seen.first_heartbeat(GRACE)
    return messages(silent_heartbeats(control, since, first, now, GRACE, T.StructType(), of_one_log))


def test_a_heartbeat_that_stops_is_found(spark: SparkSession) -> None:
    assert silences(spark, beats(0, 5, 10, 15), 20) == []
    others = beats(0, 4, channel="other")
    paused, stopped = silences(spark, beats(0, 5, 20) + others, 21)
    assert paused.startswith("no heartbeat arrived on hb for longer than quality.grace after 2026-")
    assert stopped.startswith("no heartbeat arrived on other for longer than quality.grace after 2026-")
    assert silences(spark, beats(0, 5, 20) + others, 21, since=-1) == [stopped]  # the other one is over
    assert silences(spark, beats(0, 5) + beats(20, batch=2), 21, since=1) == [paused]
    assert silences(spark, beats(0, 5, 20) + beats(25, batch=2), 26, since=1) == []  # reported before


def test_an_older_name_of_a_log_is_not_silent_if_a_newer_one_sends_heartbeats(spark: SparkSession) -> None:
    newer = [beat | {"source": "mysql:renamed"} for beat in (*beats(12, 20), *beats(12, channel="stopped"))]
    renamed, stopped = silences(spark, beats(0, 5) + newer, 25)
    assert (" on hb " in renamed, " on stopped " in stopped) == (True, True)
    assert silences(spark, beats(0, 5) + newer, 25, of_one_log=True) == [stopped]


def test_redelivered_heartbeats_are_no_silence(spark: SparkSession) -> None:
    """Old heartbeats in a new batch: the heartbeats of the batches before are between them and now."""
    steady, repeated = beats(*range(0, 121, 5)), beats(*range(30, 51, 5), batch=2)
    assert silences(spark, steady + repeated, 125, since=1) == []
    holed = beats(*range(0, 71, 5), 120)
    assert len(silences(spark, holed, 125)) == 1
    assert silences(spark, holed + repeated, 125, since=1) == []  # reported before
    assert len(silences(spark, holed + beats(75, 80, batch=2), 125, since=1)) == 1  # the rest of it


def spanner(spark: SparkSession, values: list[Any]) -> DataFrame:
    read = envelopes(
        lines(spark, [json.dumps(value) for value in values]), SourceSpec("spanner-json", "x")
    ).localCheckpoint()
    return control_rows(read).unionByName(watermark_rows(read)).selectExpr("1L AS batch", "*")


def test_partitions_of_ticdc_have_advanced_to_their_watermarks(spark: SparkSession) -> None:
    """Its changes do not show that: changes of other tables in the partition can be older."""
    found = [
        framed(documented(**MARK | {"_tidb": {"watermarkTs": tso}}), offset, partition=partition)
        for offset, (partition, tso) in enumerate([(0, TSO), (1, TSO - (1 << 30)), (0, TSO - 1)])
    ]
    read = envelopes(lines(spark, [*found, framed(documented(), 9, partition=3)]), SourceSpec("ticdc-json", "x"))
    rows = watermark_rows(read).selectExpr("kind", "source", "channel", "unix_micros(commit_ts) AS at").collect()
    at = MILLIS * 1_000 - 1
    assert sorted(map(tuple, rows)) == [
        ("watermark", "ticdc", "t/0", at),
        ("watermark", "ticdc", "t/1", at - 4_096_000),
    ]


def moment(second: int) -> str:
    return f"2024-01-01T00:00:{second:02}Z"


def heartbeat(token: str, second: int) -> dict[str, Any]:
    return {"heartbeat_record": {"timestamp": moment(second)}, "partition_token": token}


def children(token: str, second: int, *named: tuple[str, Sequence[str | None]]) -> dict[str, Any]:
    listed = [{"token": child, "parent_partition_tokens": parents} for child, parents in named]
    child_record = {"start_timestamp": moment(second), "record_sequence": "00000001", "child_partitions": listed}
    return {"child_partitions_record": child_record, "partition_token": token}


def test_partitions_that_advance_and_follow_their_parents_have_no_finding(spark: SparkSession) -> None:
    child = ("child-0003", ["parent-001", "parent-002"])
    values = [heartbeat("parent-001", 5), heartbeat("parent-002", 5)]
    values += [children("parent-001", 6, child), children("parent-002", 7, child)]
    values += [children("", 4, ("parent-001", [None]), ("parent-002", [None]))]  # as the first query answers
    values += [record(partition_token="child-0003", commit_timestamp=moment(30)), heartbeat("child-0003", 40)]
    assert messages(stalled_partitions(spanner(spark, values), None, GRACE, T.StructType())) == []


def test_partitions_that_lag_or_are_read_before_their_parents_end_are_found(spark: SparkSession) -> None:
    child = ("child-0003", ["parent-001", "parent-002"])
    values = [heartbeat("parent-001", 5), heartbeat("parent-002", 5)]
    values += [children("parent-001", 6, child, ("child-0004", ["parent-001"])), heartbeat("child-0003", 40)]
    assert messages(stalled_partitions(spanner(spark, values), None, GRACE, T.StructType())) == [
        "partition ...ild-0003 was read before its parents ended; parents that have not ended: 1",
        "partition ...ild-0004 began at 2024-01-01T00:00:06.000Z, but no record of it arrived",
        "partition ...rent-002 is read up to 2024-01-01T00:00:05.000Z and lags the other partitions",
    ]
    known = datetime.fromisoformat("2024-01-01T00:00:40+00:00")
    assert messages(stalled_partitions(spanner(spark, values[:3]), known, GRACE, T.StructType())) == []
