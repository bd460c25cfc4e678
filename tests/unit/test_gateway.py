"""Cached columns are the same as those from the JVM, and there are fewer calls to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from py4j.java_gateway import GatewayClient
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from siltstone.engine.gateway import ITEMS, remember_names

MANY = [f"c{number}" for number in range(2 * ITEMS + 5)]


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The calls to the JVM inside the block, except those that release objects."""
    calls: list[str] = []
    send = GatewayClient.send_command

    def counting(self: Any, command: str, *args: Any, **kwargs: Any) -> Any:
        if not command.startswith("m\n"):
            calls.append(command)
        return send(self, command, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(GatewayClient, "send_command", counting)
        yield calls


def test_a_known_column_is_not_requested_twice(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_names(spark)
    F.col("known"), F.lit("known")
    with counted(monkeypatch) as calls:
        F.col("known"), F.lit("known")
    assert calls == []


def test_a_list_is_sent_ten_items_at_a_time(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_names(spark)
    columns = [F.col(name) for name in MANY]
    F.struct(*columns)
    with counted(monkeypatch) as calls:
        F.struct(*columns)
    assert len(calls) < ITEMS  # a list, three times ten items, toSeq, struct


@pytest.mark.parametrize("number", [0, 1, ITEMS, ITEMS + 1, len(MANY)])
def test_lists_of_every_length_keep_their_order(spark: SparkSession, number: int) -> None:
    remember_names(spark)
    row = spark.range(1).select(F.array(*[F.lit(name) for name in MANY[:number]]).alias("names")).first()
    assert row is not None
    assert row["names"] == MANY[:number]


def test_values_that_are_equal_in_python_stay_distinct(spark: SparkSession) -> None:
    remember_names(spark)
    row = spark.range(1).select(F.lit(1), F.lit(True), F.lit(1.0), F.lit("1"), F.lit(None), F.lit(2**40)).first()
    assert row is not None
    assert [repr(value) for value in row] == ["1", "True", "1.0", "'1'", "None", str(2**40)]


def test_functions_that_differ_each_time_are_called_each_time(spark: SparkSession) -> None:
    remember_names(spark)
    row = spark.range(1).select(F.rand().alias("one"), F.rand().alias("other")).first()
    assert row is not None
    assert row["one"] != row["other"]
