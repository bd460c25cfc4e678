"""The completeness of a table: the properties, and the watermarks of a partitioned stream."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import Row

from siltstone.engine.ingest.completeness import completeness_properties
from siltstone.engine.ingest.partition_watermarks import lowest


def born(at: int, *tokens: str, parent: str = "", camel: bool = False) -> Row:
    """The record by which a partition names its children."""
    record: dict[str, Any] = {"child_partitions": [{"token": token} for token in tokens]}
    if camel:
        record = {"childPartitions": [{"token": token} for token in tokens]}
    return Row(kind="child_partitions", channel=parent, at=at, payload=json.dumps(record))


def started(at: int, *tokens: str) -> Row:
    return Row(kind="partition_start", channel=None, at=at, payload=json.dumps({"partition_tokens": list(tokens)}))


def ended(token: str) -> Row:
    return Row(kind="partition_end", channel=None, at=9, payload=json.dumps({"partition_token": token}))


@pytest.mark.parametrize(
    ("reached", "lineage", "through"),
    [
        ({"a": 50, "b": 40}, [born(10, "a", "b")], 40),
        ({"a": 50}, [born(10, "a"), born(10, "b", camel=True)], 9),
        ({"a": 50, "b": 40, "c": 60}, [born(10, "a", "b"), born(45, "c", parent="b")], 50),
        ({"a": 50, "b": 40}, [started(10, "a", "b"), ended("b")], 50),
        ({"a": 50}, [], 50),
        ({}, [born(10, "a")], None),
        ({"a": 50}, [born(10, "a"), born(60, parent="a")], None),
        ({"a": None}, [born(10, "a")], None),
    ],
    ids=[
        "the slowest partition counts",
        "a child without records is at its start",
        "a parent that was split no longer counts",
        "an ended partition no longer counts",
        "one partition and no lineage",
        "no record names its partition",
        "no partition is live",
        "a partition without a time",
    ],
)
def test_a_stream_is_complete_through_its_slowest_live_partition(
    reached: dict[str, int | None], lineage: list[Row], through: int | None
) -> None:
    assert lowest(reached, lineage) == through


def test_an_unknown_value_removes_its_property() -> None:
    moment = datetime(2026, 1, 1, 12, 30, 0, 5, UTC)
    assert completeness_properties(7, moment, "heartbeat", []) == {
        "siltstone.complete-through": "2026-01-01T12:30:00.000005Z",
        "siltstone.complete-through-by": "heartbeat",
        "siltstone.sealed-up-to": "2026-01-01T12:30:00.000005Z",
        "siltstone.open-gaps": "0",
        "siltstone.checked-batch": "7",
    }
    nothing = completeness_properties(1, None, None, [])
    assert [name for name, value in nothing.items() if value is None] == [
        "siltstone.complete-through",
        "siltstone.complete-through-by",
        "siltstone.sealed-up-to",
    ]
