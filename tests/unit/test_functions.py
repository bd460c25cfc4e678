"""The functions in Java: compiled once into the cache, known to every session, thread and executor."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from engine import jvm
from engine.inputs.lines import APART
from engine.jvm import CATALOG, add_functions, functions_jar, jar_name
from tests.generating import GENERATING, settings


def numbers(spark: SparkSession) -> list[int]:
    """What a function gives of a text in each of several tasks."""
    texts = (
        spark.range(4).repartition(2).select(F.concat(F.lit("mysql-bin."), F.col("id").cast("string")).alias("text"))
    )
    found = texts.select(F.call_function(f"{CATALOG}.number_at_end", "text").alias("number"))
    return sorted(row["number"] for row in found.collect())


def test_every_session_and_thread_knows_the_functions(spark: SparkSession) -> None:
    sibling = spark.newSession()
    add_functions(sibling)
    with ThreadPoolExecutor(1) as others:
        assert [numbers(spark), numbers(sibling), others.submit(numbers, sibling).result()] == [[0, 1, 2, 3]] * 3


def test_what_stands_apart_begins_another_stage(spark: SparkSession) -> None:
    with settings(spark, GENERATING):
        given = spark.range(3).select(F.when(F.col("id") > 0, F.col("id")).alias("number"))
        told = given.select(F.call_function(APART, "number").alias("number"))
        assert [row["number"] for row in told.where("number is null or number < 2").collect()] == [None, 1]
        plans = [str(rows._jdf.queryExecution().executedPlan()) for rows in (given, told)]
    assert [plan.startswith("*(1) Project") for plan in plans] == [True, False]


def test_the_jar_is_compiled_once_and_again_where_it_is_damaged(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SILTSTONE_CACHE", str(tmp_path))
    jar = functions_jar(spark)
    assert (jar.parent, jar.name) == (tmp_path / "jars", jar_name(spark.version))
    made = jar.stat().st_mtime_ns
    assert functions_jar(spark).stat().st_mtime_ns == made
    whole = jar.read_bytes()
    for damaged in (whole[:100], whole[:200] + bytes([whole[200] ^ 255]) + whole[201:]):
        jar.write_bytes(damaged)
        assert functions_jar(spark).stat().st_size > 1_000
        assert jar.read_bytes() != damaged
    assert list(jar.parent.iterdir()) == [jar]


def test_a_cache_that_cannot_be_written_is_no_obstacle(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("SILTSTONE_CACHE", str(tmp_path / "file"))
    jar = functions_jar(spark)
    assert jar.is_file()
    assert tmp_path not in jar.parents


def test_other_sources_or_another_spark_are_another_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = jar_name("4.1.1")
    assert jar_name("4.1.2") != before
    (tmp_path / "Other.java").write_text("package siltstone;")
    monkeypatch.setattr(jvm, "SOURCES", tmp_path)
    assert jar_name("4.1.1") != before


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("mysql-bin.000123", 123),
        ("binlog7", 7),
        ("12", 12),
        ("bin.1x", None),
        ("", None),
        (None, None),
        ("a" + "9" * 19, None),
    ],
)
def test_the_number_at_the_end_of_a_text(spark: SparkSession, text: str | None, number: int | None) -> None:
    row = spark.range(1).select(F.call_function(f"{CATALOG}.number_at_end", F.lit(text).cast("string"))).first()
    assert row is not None
    assert row[0] == number


def test_hexadecimal_digits_are_those_of_lpad_and_hex(spark: SparkSession) -> None:
    numbers = [0, 1, 15, 16, 255, 2**31, 2**32 - 1, 2**40, 2**63 - 1, -1, -(2**63), None]
    frame = spark.createDataFrame([(number,) for number in numbers], "n bigint")
    for width in (4, 8, 16):
        mine, theirs = F.call_function(f"{CATALOG}.hex_digits", "n", F.lit(width)), F.lpad(F.hex("n"), width, "0")
        assert frame.where(~mine.eqNullSafe(theirs)).count() == 0


@pytest.mark.parametrize(
    ("text", "size"), [("{}", 0), ('{"a":{"b":[1,2]}, "c":null}', 2), ("[1]", -1), ("x", -1), (None, -1), ("{} {}", -1)]
)
def test_the_size_of_an_object(spark: SparkSession, text: str | None, size: int) -> None:
    row = spark.range(1).select(F.call_function(f"{CATALOG}.object_size", F.lit(text).cast("string"))).first()
    assert row is not None
    assert row[0] == size
