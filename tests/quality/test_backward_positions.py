from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.quality.backward_positions import backward_positions
from siltstone.quality.change_digest import digest_of
from siltstone.quality.check_timeline import Columns
from tests.quality.stage import Row, Stage, change, place

ROW = T.StructType([T.StructField("k", T.StringType())])


def steps_back(spark: SparkSession, changes: list[Row]) -> list[tuple[str, str, str]]:
    digest = digest_of(Stage(spark, ROW, ("k",)).changes(changes), Columns(("k",), (), {}))
    rows = backward_positions(digest).collect()
    return sorted((row.position_from, row.position_to, row.message) for row in rows)


def delivered(*numbers: int, channel: str = "orders", file: str = "a/one.jsonl", op: str = "update") -> list[Row]:
    return [
        change(number, op, f"{channel} {number}", channel=channel, file=file, line=line)
        for line, number in enumerate(numbers, 1)
    ]


def test_a_channel_that_only_goes_forward_has_no_finding(spark: SparkSession) -> None:
    reads = [one | {"line": 9} for one in delivered(5, op="read")]
    other_lanes = delivered(3, 4, channel="customers") + delivered(1, 2, file="a/two.jsonl")
    assert steps_back(spark, delivered(10, 20, 20, 30) + reads + other_lanes) == []


def test_positions_of_two_logs_that_share_a_channel_are_not_compared(spark: SparkSession) -> None:
    one = [each | {"source": "shard1", "line": 2 * each["line"]} for each in delivered(10, 30)]
    other = [each | {"source": "shard2", "line": 2 * each["line"] + 1} for each in delivered(5, 20)]
    assert steps_back(spark, one + other) == []
    assert len(steps_back(spark, [each | {"source": "shard1"} for each in one + other])) == 2


def test_each_step_back_is_found_with_the_repeated_range(spark: SparkSession) -> None:
    assert steps_back(spark, delivered(10, 20, 30, 20, 30, 40, 35)) == [
        (place(20), place(30), "positions go back at line 4 of one.jsonl"),
        (place(35), place(40), "positions go back at line 7 of one.jsonl"),
    ]


def test_records_of_kafka_are_compared_by_offset_inside_a_partition(spark: SparkSession) -> None:
    changes = [
        change(number, "update", number, kafka_partition=partition, kafka_offset=offset, file=None, line=None)
        for partition, offset, number in ((0, 2, 10), (0, 1, 20), (1, 5, 15), (1, 6, 16))
    ]
    assert steps_back(spark, [one | {"key": ("k",), "row": None} for one in changes]) == [
        (place(10), place(20), "positions go back at offset 2")
    ]
