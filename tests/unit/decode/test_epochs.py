"""Epochs of events, and their positions."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from siltstone.engine.decode.epoch_rules import UNKNOWN
from siltstone.engine.errors import SpecError
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import EpochSpec, ProjectSpec, SourceSpec
from siltstone.engine.steps.epochs import declared_epoch, is_second
from tests.decoding import envelopes
from tests.unit.decode.given import event, lines

UNTIL = datetime(2026, 3, 1, 4, tzinfo=UTC)
FEBRUARY, MARCH = (datetime(2026, month, 1, 12, tzinfo=UTC) for month in (2, 3))


def binlog(pos: int, **fields: Any) -> str:
    """An event of MySQL at a place of its first binlog."""
    at, op = fields.pop("at", FEBRUARY), fields.pop("op", "c")
    source = {"connector": "mysql", "db": "shop", "file": "bin.000001", "pos": pos, "row": 0, **fields}
    micros = int(at.timestamp()) * 1_000_000
    times = {"ts_ms": micros // 1000, "ts_us": micros, "ts_ns": micros * 1000}
    return event(op, after={"id": 1}, source={**source, **times})


def found(spark: SparkSession, texts: list[str], *epochs: EpochSpec, file: str = "events.jsonl") -> list[Row]:
    source = SourceSpec("debezium-json", "x", epochs=epochs)
    rows = lines(spark, texts).withColumn("file", F.lit(file))
    return envelopes(rows, source).orderBy("line").collect()


def test_an_event_belongs_to_the_first_epoch_whose_conditions_all_hold(spark: SparkSession) -> None:
    uuid = "3E11FA47-71CA-11E1-9E33-C80AA9429562"
    texts = [
        binlog(900, server_id=1),
        binlog(4, server_id=2),
        binlog(4, server_id=2, gtid=f"{uuid}:23"),
        binlog(4, server_id=1, at=MARCH),
        binlog(4),
    ]
    rules = (EpochSpec(server_id=1, until=UNTIL), EpochSpec(gtid=uuid.lower()), EpochSpec(server_id=2))
    positions = [row.position for row in found(spark, texts, *rules)]
    assert [position[:4] for position in positions] == ["0000", "0004", "0002", "0006", "0006"]
    assert positions[0] < positions[2] < positions[1] < positions[3] == positions[4]
    assert {position[4:] for position in positions[1:]} == {"-00000001-0000000000000004-00000000"}


def test_the_epoch_of_a_read_without_a_server_is_unknown(spark: SparkSession) -> None:
    reads = [binlog(4, op="r", server_id=0, gtid=None), binlog(5, op="r", server_id=0, gtid=None, at=MARCH)]
    dated = found(spark, [*reads, binlog(6, server_id=1)], EpochSpec(server_id=1, until=UNTIL))
    assert [row.position[:4] for row in dated] == ["0000", "0002", "0000"]
    bare = found(spark, [*reads, binlog(6, server_id=1)], EpochSpec(server_id=1))
    assert [(row.kind, row.reason and "until" in row.reason) for row in bare] == [
        ("reject", True),
        ("reject", True),
        ("change", None),
    ]


def test_streams_of_datastream_without_gtids_need_a_time_condition(spark: SparkSession) -> None:
    uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

    def change(file: str, server: int | None, at: datetime, place: str = "binlog") -> str:
        meta: dict[str, Any] = {"database": "db", "table": "t", "change_type": "UPDATE-INSERT", "primary_keys": ["id"]}
        if server is not None:
            meta |= {"gtid": f"{uuid if server == 1 else 'other'}:23", "datastream_master_server_id": server}
        meta |= {f"{place}_file": file, f"{place}_position": 4}
        return json.dumps({"source_timestamp": at.isoformat(), "source_metadata": meta, "payload": {"id": 1}})

    texts = [change("b.9", 1, FEBRUARY), change("b.1", 2, FEBRUARY), change("b.8", None, FEBRUARY, "log")]
    rows = lines(spark, [*texts, change("b.2", None, MARCH, "log")])

    def results(*rules: EpochSpec) -> list[Any]:
        source = SourceSpec("datastream-json", "x", epochs=rules)
        found = envelopes(rows, source).orderBy("line").collect()
        return [row.position[:13] if row.kind == "change" else row.reason for row in found]

    of_time = ["0000-00000009", "0002-00000001", "0000-00000008", "0002-00000002"]
    assert results(EpochSpec(server_id=1, until=UNTIL)) == results(EpochSpec(gtid=uuid, until=UNTIL)) == of_time
    assert results(EpochSpec(server_id=1)) == [*of_time[:2], UNKNOWN, UNKNOWN]


def test_without_rules_positions_are_those_of_the_source(spark: SparkSession) -> None:
    (plain,) = found(spark, [binlog(900)])
    (ruled,) = found(spark, [binlog(900)], EpochSpec(until=UNTIL))
    assert plain.position == ruled.position == "0000-00000001-0000000000000384-00000000"


def test_the_second_epoch_of_a_format_is_inside_every_declared_epoch(spark: SparkSession) -> None:
    meta = {"op": "ins", "table": "t", "trans": "1.2", "seq": 1}
    text = json.dumps({"meta": meta | {"time": "2026-02-01T12:00:00", "scn": "9"}, "data": {"id": 1}})
    for order, expected in (("scn", [(0, False), (1, False)]), ("coordinates", [(0, True), (1, True)])):
        epochs = []
        for rules in ((EpochSpec(until=UNTIL),), (EpochSpec(path="before/*"),)):
            source = SourceSpec("shareplex-json", "x", order=order, epochs=rules)
            (row,) = (
                envelopes(lines(spark, [text]), source, {"t": ("id",)})
                .select(declared_epoch(F.col("position")), is_second(F.col("position")))
                .collect()
            )
            epochs.append(tuple(row))
        assert epochs == expected


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [("after/*.jsonl", True), ("*.jsonl", True), ("**/after/**", True), ("/lake/*/e.jsonl", True),
     ("after", False), ("lake/*.jsonl", False), ("e?jsonl", True), ("fter/e.jsonl", False)],
)  # fmt: skip
def test_a_path_is_matched_from_its_end(spark: SparkSession, pattern: str, matches: bool) -> None:
    (row,) = found(spark, [binlog(4)], EpochSpec(path=pattern), file="file:/lake/after/e.jsonl")
    assert (row.position[:4] == "0000") == matches


@pytest.mark.parametrize(
    ("epoch", "message"),
    [
        ({}, "without a condition"),
        ({"until": "yesterday"}, "is not a time"),
        ({"until": "2026-03-01T04:00:00"}, "has no time zone"),
        ({"server_id": "one"}, "a server's number"),
        ({"timeline": 3}, "timeline"),
    ],
)
def test_an_invalid_rule_is_rejected(project: ProjectSpec, epoch: dict[str, Any], message: str) -> None:
    source = {"format": "debezium-json", "path": "x", "epoch": [epoch]}
    with pytest.raises(SpecError) as rejected:
        table_spec({"table": "a.b", "source": source}, project)
    assert message in str(rejected.value)
