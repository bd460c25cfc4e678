"""The Spark step of SharePlex gives the results of the rule in plain Python."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from siltstone.engine.decode.columns_seen import EVERYTHING, Seen, merged, summarize
from siltstone.engine.decode.event import Message
from siltstone.engine.decode.event_batch import event_batch
from siltstone.engine.decode.formats.coordinates import Coordinates
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.decode.spark import events_of, made_of_frame
from siltstone.engine.frames import local_frame
from siltstone.engine.neighbours.shareplex_step import SIGNS, by_coordinates, is_at_coordinates, resolved, signs_of
from siltstone.engine.spec.model import EpochSpec, SourceSpec
from tests.unit.decode.formats.test_shareplex import DECLARED, SOURCE, operation
from tests.unit.neighbours.shareplex_rule import resolve

EPOCHS = (EpochSpec(until=datetime(2017, 1, 1, tzinfo=UTC)),)
SEED = 5


def drawn(draw: random.Random, is_lacking: bool) -> Iterator[tuple[str, int, str]]:
    """Operations of a few transactions in two files, many of them halves: files, lines, texts."""
    for line in range(1, 151):
        meta: dict[str, Any] = {
            "trans": draw.choice(("1.1", "1.2", "1.2", None if is_lacking else "1.3")),
            "scn": draw.choice(("9", "9", "10", None if is_lacking else "9")),
            "seq": draw.randint(1, 5),
            "time": draw.choice(("2016-06-16T14:24:34", "2017-06-16T14:24:34.5")),
        }
        row = {"id": str(draw.randint(1, 2)), "a": draw.choice(("x", "é", None))}
        op = draw.choice(("UPDATE BEFORE", "UPDATE BEFORE", "UPDATE AFTER", "UPDATE AFTER", "ins", "upd"))
        yield f"file:/data/shareplex/{draw.choice('ab')}.jsonl", line, operation(op, row, **meta)


def columns(texts: Iterable[Any]) -> dict[str, Seen]:
    """The columns of each table in some summaries."""
    found = merged(text for text in texts if text is not None)
    return {table: one.seen() for table, one in found.items()}


def both(spark: SparkSession, lines: list[tuple[str, int, str]], source: SourceSpec) -> tuple[list[Any], list[Any]]:
    """The events of the step and of the rule, as comparable rows."""
    texts = [{"file": file, "line": line, "text": text} for file, line, text in lines]
    records = local_frame(spark, texts, "file string, line bigint, text string")
    frame = made_of_frame(records, *events_of(source, DECLARED, EVERYTHING))
    signs = made_of_frame(records, signs_of(source, DECLARED), SIGNS)
    times = ("commit_ts", "ingest_ts")
    counted = resolved(frame, signs, source, EVERYTHING).withColumns({name: F.unix_micros(name) for name in times})
    by_step = [row.asDict(recursive=True) for row in counted.collect()]
    events = [Message(file, line, text.encode()) for file, line, text in sorted(lines)]
    expected = resolve(decode_messages(events, source, DECLARED), source)
    summarize(expected)
    summaries = columns(event.columns for event in expected)
    assert columns(row.pop("columns_json") for row in by_step) == summaries
    batch = event_batch(expected).drop_columns(["columns_json"])
    for name in times:
        at = batch.schema.get_field_index(name)
        batch = batch.set_column(at, name, batch.column(at).cast("int64"))
    by_rule = batch.to_pylist()
    assert [*by_step[0]] == batch.schema.names
    return sorted(by_step, key=repr), sorted(by_rule, key=repr)


@pytest.mark.parametrize("is_lacking", [False, True])
@pytest.mark.parametrize("order", ["auto", "scn"])
def test_the_step_gives_the_results_of_the_rule(spark: SparkSession, is_lacking: bool, order: Any) -> None:
    source = replace(SOURCE, order=order, epochs=EPOCHS)
    by_step, by_rule = both(spark, list(drawn(random.Random(SEED), is_lacking)), source)
    assert by_step == by_rule
    assert any(row["before_json"] is not None for row in by_rule)


@pytest.mark.parametrize("order", ["auto", "scn"])
def test_the_scan_of_records_finds_the_signs_of_their_events(order: Any) -> None:
    source = replace(SOURCE, order=order, epochs=EPOCHS)
    odd = ("{", "null", "{}", operation("ins", None, scn=None), operation("ins", {"id": "1"}, scn="x"))
    lines = [text for lacking in (True, False) for _, _, text in drawn(random.Random(SEED), lacking)]
    lines += [*odd, operation("ins", {"id": "1"}, scn=None), operation("ins", {"id": "1"}, table="S.OTHER", scn=None)]
    seen = set()
    for line, text in enumerate(lines):
        messages = [Message("/data/shareplex/a.jsonl", line, text.encode())]
        events = decode_messages(messages, source, DECLARED)
        expected = {
            "has_halves": any(event.control_kind in ("update_before", "update_after") for event in events),
            "lacks_scn": any(map(is_at_coordinates, events)),
        }
        assert [row for batch in signs_of(source, DECLARED)([messages]) for row in batch.to_pylist()] == [expected]
        seen.add(tuple(expected.values()))
    assert {(True, False), (False, False)} & seen
    assert order == "scn" or (False, True) in seen


def test_usual_events_stay_as_they_are(spark: SparkSession) -> None:
    lines = [("f", line, operation("ins", {"id": str(line)})) for line in range(1, 4)]
    by_step, by_rule = both(spark, lines, SOURCE)
    assert by_step == by_rule


def test_coordinates_are_the_same_as_a_column(spark: SparkSession) -> None:
    places = [
        {"file": "file:/data/shareplex/a/é.jsonl", "line": 7},
        {"file": "/data/shareplex/x/data/shareplex/b.jsonl", "line": 2**40},
        {"file": "/elsewhere/c.jsonl", "line": 1},
        {"file": "f", "line": 1, "kafka_partition": 3, "kafka_offset": 2**40},
        {"file": "f", "line": 1, "kafka_partition": 3},
    ]
    columns = "file string, line bigint, kafka_partition int, kafka_offset bigint"
    rows = local_frame(spark, [dict.fromkeys(("kafka_partition", "kafka_offset")) | place for place in places], columns)
    for source in (SOURCE, replace(SOURCE, path="events"), replace(SOURCE, path="s3://b/data/shareplex/*")):
        by_rule = Coordinates(source, "0001")
        for row in rows.select("*", by_coordinates(source).alias("place")).collect():
            assert row["place"] == by_rule.position(*[row[name] for name in rows.columns])
