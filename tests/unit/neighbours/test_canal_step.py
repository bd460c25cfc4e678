"""The Spark step gives the results of the plain rule for pieces of any size, and reports when batches suffice."""

import json
import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from siltstone.engine.decode.columns_seen import EVERYTHING, ColumnsSeen, merged
from siltstone.engine.decode.event import Message
from siltstone.engine.decode.event_batch import event_batch
from siltstone.engine.decode.source_decoder import decode_messages
from siltstone.engine.decode.spark import events_of, made_of_frame
from siltstone.engine.frames import local_frame
from siltstone.engine.neighbours import canal_step
from siltstone.engine.spec.model import EpochSpec, SourceSpec
from tests.unit.neighbours.canal_rule import resolve
from tests.unit.neighbours.test_canal_resent import drawn_lane

SOURCE = SourceSpec("canal-json", "/data/*", epochs=(EpochSpec(path="f/0"),))
LANES = 6


def text(number: str | None, content: int, es: int, place: dict[str, Any]) -> str:
    kind = "QUERY" if content == 2 else "UPDATE"
    fields = {"type": kind, "database": "shop", "table": "items", "es": es, "ts": es + 7, "id": number, "isDdl": False}
    rows = {"data": [{"id": str(content), "a": "x"}, {"id": "9"}], "old": [{"id": "7"}, {"a": "y"}], "pkNames": ["id"]}
    message = fields | {"mysqlType": {"id": "int", "a": "text"}} | (rows if kind == "UPDATE" else {"sql": "BEGIN"})
    return json.dumps(place | {"value": json.dumps(message)} if place else message)


def drawn(seed: int) -> list[Message]:
    """Lanes of partitions, and one lane of files: a message for each place, some of them twice."""
    draw, messages = random.Random(seed), list[Message]()
    for partition in [*range(LANES), None]:
        for one in drawn_lane(draw, partition):
            file = f"/data/{partition}/{one.file}"
            placed = {"topic": draw.choice((None, "t")) if partition == 0 else f"t{partition}", "partition": partition}
            place = {} if partition is None else placed | {"offset": one.place[0] if one.place[0] >= 0 else None}
            line = text(one.id if draw.random() < 0.95 else None, one.content, 10**12 + one.content, place)
            messages.append(Message(file, len(messages), line.encode(), after_gap=one.after_gap))
    return messages


def frame(spark: SparkSession, messages: list[Message]) -> DataFrame:
    rows = [
        {"file": one.file, "line": one.line, "text": one.text.decode(), "after_gap": one.after_gap} for one in messages
    ]
    return local_frame(spark, rows, "file string, line bigint, text string, after_gap boolean").repartition(3)


def sent(lines: DataFrame) -> DataFrame:
    return made_of_frame(lines, canal_step.sent_batches, canal_step.SENT)


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["line"], row["tx_order"] or 0, row["op"] or ""))


def rows_of(events: DataFrame) -> list[dict[str, Any]]:
    return in_order(pa.Table.from_batches(events.toArrow().to_batches()).to_pylist())


@pytest.mark.parametrize("piece", [1, 3, canal_step.PIECE])
def test_the_step_gives_the_results_of_the_rule(spark: SparkSession, piece: int) -> None:
    messages = drawn(piece)
    events = decode_messages(messages, SOURCE, {})
    columns = ColumnsSeen()
    columns.add(event for event in events if event.kind == "change")
    decoded = resolve(messages, events)
    expected = in_order(event_batch(decoded).drop_columns(["columns_json"]).to_pylist())
    lines = frame(spark, messages)
    events = made_of_frame(lines, *events_of(SOURCE, {}, EVERYTHING))
    found = rows_of(canal_step.resolved(events, sent(lines), piece))
    (summary,) = merged(text for row in found if (text := row.pop("columns_json")) is not None).values()
    assert summary.seen() == columns.seen()
    assert found == expected
    assert sum(row["control_kind"] == "redelivery" for row in found) > LANES
    assert len({row["position"][:4] for row in found if row["position"]}) > 1


def test_three_batches_of_each_lane_are_enough(spark: SparkSession) -> None:
    def of_batches(number: int, partition: int | None = None) -> list[Message]:
        places: list[dict[str, Any]] = [{"partition": partition, "offset": at} for at in range(2 * number)]
        texts = [text(str(at // 2), at, 5, {} if partition is None else place) for at, place in enumerate(places)]
        return [Message("/data/f", line, one.encode()) for line, one in enumerate(texts)]

    two, three, first, both = (
        frame(spark, messages)
        for messages in (of_batches(2), of_batches(3), of_batches(3, 0), [*of_batches(3, 0), *of_batches(2, 1)])
    )

    def enough(lines: DataFrame, new: DataFrame) -> bool:
        return canal_step.has_enough_batches(sent(lines), lambda: canal_step.lanes_of(sent(new)))

    assert (enough(two, two), enough(three, three), enough(three, two)) == (False, True, True)
    assert not enough(both, both)
    assert enough(both, first)
