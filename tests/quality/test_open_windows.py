from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.quality.open_windows import unclosed_windows
from tests.quality.stage import NOON, Stage, place

ROW = T.StructType([T.StructField("k", T.StringType())])


def test_a_window_without_its_close_is_found(spark: SparkSession) -> None:
    windows = [(place(10), NOON, place(20), NOON), (place(30), NOON, None, None)]
    rows = unclosed_windows(Stage(spark, ROW, ("k",)).control(windows), 0, T.StructType()).collect()
    assert [(row.position_from, row.message) for row in rows] == [
        (place(30), "snapshot window chunk1 was opened and not closed")
    ]


def test_windows_that_were_all_closed_have_no_finding(spark: SparkSession) -> None:
    windows = [(place(10), NOON, place(20), NOON), (place(30), NOON, place(30), NOON)]
    assert unclosed_windows(Stage(spark, ROW, ("k",)).control(windows), 0, T.StructType()).collect() == []
