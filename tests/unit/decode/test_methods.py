"""Columns that are computed in a method of their own, or interpreted, are what they are without, whatever stands around
them."""

import random

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from engine.decode.methods import held, interpreted, own_method
from engine.frames import local_frame
from engine.run.effort import LIGHT
from tests.generating import GENERATING, settings, stages_of

TYPES = ("string", "bigint", "double", "boolean", "decimal(30,4)", "binary", "date", "timestamp", "int")
SHAPES = ("struct<a string, n bigint>", "array<string>", "map<string,bigint>")


@pytest.fixture(scope="module")
def given(spark: SparkSession) -> DataFrame:
    """Rows with columns of every type, some null."""
    draw = random.Random(1)
    rows = [{"s": draw.choice((None, "", "a", "7", "é😀", "2024-02-29")), "n": number} for number in range(40)]
    told = local_frame(spark, rows, "s string, n bigint")
    plain = [
        F.when(F.col("n") % 5 != 0, F.col("n")).try_cast("decimal(10,0)").try_cast("string").alias("d"),
        F.col("s"),
    ]
    typed = told.select("n", *plain).select(
        "n",
        *[F.coalesce("s", "d").try_cast(kind).alias(f"c{at}") for at, kind in enumerate(TYPES[:5])],
        F.encode("s", "UTF-8").alias("c5"),
        F.col("s").try_cast("date").alias("c6"),
        F.timestamp_seconds("n").alias("c7"),
        F.col("d").try_cast("int").alias("c8"),
        F.when(F.col("n") % 3 != 0, F.struct(F.col("s").alias("a"), F.col("n").alias("n"))).alias("c9"),
        F.when(F.col("n") % 4 != 0, F.array("s", "d")).alias("c10"),
        F.when(F.col("n") % 7 != 0, F.create_map(F.coalesce("s", F.lit("k")), F.col("n"))).alias("c11"),
    )
    return typed.localCheckpoint()


class Drawn:
    """Expressions of any type, parts of them each in a method of its own, or none."""

    def __init__(self, seed: int, own: bool) -> None:
        self.draw, self.own = random.Random(seed), own

    def column(self, kind: str, depth: int) -> Column:
        made = self._made(kind, depth)
        is_own = self.draw.random() < 0.4
        return own_method(made) if is_own and self.own else made

    def _made(self, kind: str, depth: int) -> Column:
        kinds = [*TYPES, *SHAPES]
        if depth == 0 or self.draw.random() < 0.1:
            return F.lit(None).cast(kind) if self.draw.random() < 0.05 else F.col(f"c{kinds.index(kind)}")
        ways = [self._chosen, self._first, *([self._text] if kind == "string" else [])]
        return self.draw.choice(ways)(kind, depth - 1)

    def _chosen(self, kind: str, depth: int) -> Column:
        asked = self.column("boolean", depth)
        return F.when(asked, self.column(kind, depth)).otherwise(self.column(kind, depth))

    def _first(self, kind: str, depth: int) -> Column:
        return F.coalesce(self.column(kind, depth), self.column(kind, depth))

    def _text(self, _: str, depth: int) -> Column:
        of = self.draw.choice([*TYPES[:5], *TYPES[6:]])
        part = self.column(of, depth).cast("string")
        return F.concat(part, self.column("string", depth)) if self.draw.random() < 0.5 else F.upper(part)


def shown(frame: DataFrame) -> DataFrame:
    """The columns as texts, whatever their types."""
    places = [at for at, kind in enumerate((*TYPES, *SHAPES)) if kind != "binary"]
    texts = [F.to_json(F.struct(F.col(f"c{at}").alias("v"))).alias(f"c{at}") for at in places]
    return frame.select("n", F.hex("c5").alias("c5"), *texts)


def drawn(frame: DataFrame, seed: int, own: bool) -> DataFrame:
    """Columns of columns, three projections one on the other, between them a filter or an explosion."""
    tree, kinds = Drawn(seed, own), [*TYPES, *SHAPES]
    for level in range(3):
        made = [tree.column(kind, 2).alias(f"c{at}") for at, kind in enumerate(kinds)]
        frame = frame.select("n", *made)
        if level == 1 and seed % 2:
            frame = frame.where(tree.column("boolean", 1) | (F.col("n") > 3))
        elif level == 1:
            frame = frame.select("*", F.explode(F.array(tree.column("string", 1), F.lit("x"))).alias("more"))
            frame = frame.withColumn("c0", F.concat_ws("-", "c0", "more")).drop("more")
    return shown(frame)


@pytest.mark.parametrize("seed", [*range(6), *[pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 120)]])
def test_drawn_columns_are_what_they_are_without_methods(spark: SparkSession, given: DataFrame, seed: int) -> None:
    with settings(spark, dict(LIGHT)):
        expected = sorted(map(str, drawn(given, seed, own=False).collect()))
        assert sorted(map(str, drawn(given, seed, own=True).collect())) == expected
    with settings(spark, GENERATING):
        assert sorted(map(str, drawn(given, seed, own=True).collect())) == expected
    assert "project_own_" in stages_of(spark, drawn(given, seed, own=True))[1]


def test_a_method_is_made_once_for_all_that_are_equal(spark: SparkSession, given: DataFrame) -> None:
    def long_one() -> Column:
        return own_method(F.concat(*[F.regexp_extract("c0", f"({sign})", 1) for sign in "abcdefgh"]))

    cases = [F.when(F.col("n") == at, F.concat(long_one(), F.lit(str(at)))) for at in range(6)]
    size, code = stages_of(spark, given.select(F.coalesce(*cases)))
    assert code.count("private UTF8String project_own_") == 1
    bare, _ = stages_of(
        spark, given.select(F.coalesce(*[F.concat(F.regexp_extract("c0", f"({s})", 1)) for s in "abcdefgh" * 6]))
    )
    assert size < bare


def test_what_takes_too_many_columns_stays_where_it_is(spark: SparkSession) -> None:
    wide = spark.range(3).select(*[(F.col("id") + at).alias(f"n{at}") for at in range(130)]).localCheckpoint()
    total = own_method(F.concat(*[F.col(f"n{at}").cast("string") for at in range(130)]))
    with settings(spark, GENERATING | {"spark.sql.codegen.maxFields": "1000"}):
        found = [row[0] for row in wide.select(F.length(total)).collect()]
    expected = [len("".join(str(one + at) for at in range(130))) for one in range(3)]
    assert found == expected


def interpreting(frame: DataFrame, seed: int, hidden: bool) -> DataFrame:
    """Columns of columns, each second one interpreted for some of the rows, two projections one on the other."""
    tree, kinds = Drawn(seed, own=False), [*TYPES, *SHAPES]
    for _ in range(2):
        made = []
        for at, kind in enumerate(kinds):
            column = tree.column(kind, 2)
            told = interpreted(frame, column) if hidden and at % 2 else column
            made.append(F.when(F.col("n") % 3 != 0, told).otherwise(F.col(f"c{at}")).alias(f"c{at}"))
        frame = frame.select("n", *made)
    return shown(frame)


@pytest.mark.parametrize("seed", [*range(6), *[pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 60)]])
def test_what_is_interpreted_is_what_it_is_without(spark: SparkSession, given: DataFrame, seed: int) -> None:
    with settings(spark, dict(LIGHT)):
        expected = sorted(map(str, interpreting(given, seed, hidden=False).collect()))
        assert sorted(map(str, interpreting(given, seed, hidden=True).collect())) == expected
    with settings(spark, GENERATING):
        assert sorted(map(str, interpreting(given, seed, hidden=True).collect())) == expected


def test_an_interpreted_column_is_no_part_of_plan_or_code(spark: SparkSession, given: DataFrame) -> None:
    long_one = F.concat(*[F.regexp_extract("c0", f"({sign})", 1) for sign in "abcdefgh" * 20])
    found = given.select("n", F.when(F.col("n") > 30, interpreted(given, long_one)).alias("long"))
    size, code = stages_of(spark, found)
    bare, _ = stages_of(spark, given.select("n", F.when(F.col("n") > 30, long_one).alias("long")))
    assert size < bare / 4
    assert "interpreted" in code
    assert "regexp_extract" not in str(found._jdf.queryExecution().optimizedPlan())


def test_an_interpreted_column_knows_functions_that_are_rewritten_and_those_of_lambdas(
    spark: SparkSession, given: DataFrame
) -> None:
    column = F.concat_ws(
        "|",
        F.when(F.length("c0").between(1, 3), "short"),  # what is between stands for one that is computed once
        F.array_join(F.transform("c10", lambda one: F.coalesce(F.nullif(one, F.lit("7")), F.lit("-"))), ","),
        F.get_json_object(F.to_json(F.struct("c0", "c1")), "$.c1"),
        F.col("c9")["a"],
    )
    pair = given.select("n", column.alias("plain"), interpreted(given, column).alias("told"))
    assert pair.where(~F.col("plain").eqNullSafe(F.col("told"))).count() == 0
    joined = pair.alias("l").join(pair.alias("r"), "n").select(F.col("l.told"), F.col("r.told").alias("other"))
    assert joined.where(~F.col("told").eqNullSafe(F.col("other"))).count() == 0
    assert pair.where(F.col("told").contains("short")).count() > 0


def test_an_interpreted_column_that_fails_does_so_where_it_is_asked(spark: SparkSession, given: DataFrame) -> None:
    failing = given.select("n", F.when(F.col("n") > 99, interpreted(given, F.raise_error(F.lit("asked")))).alias("v"))
    assert failing.where(F.col("v").isNull()).count() == 40
    with settings(spark, {"spark.sql.ansi.enabled": "true"}):
        strict = given.select(F.when(F.col("n") >= 0, interpreted(given, F.lit("x").cast("int"))).alias("v"))
        with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
            strict.collect()
        never = given.select(F.when(F.col("n") > 99, interpreted(given, F.lit("x").cast("int"))).alias("v"))
        assert never.where(F.col("v").isNull()).count() == 40


def test_no_filter_is_pushed_below_what_is_held(spark: SparkSession, given: DataFrame) -> None:
    def told(made: Column) -> DataFrame:
        return given.select("n", made.alias("d")).where(F.col("d").isNotNull()).select("n", F.upper("d"))

    def times(frame: DataFrame) -> int:
        return str(frame._jdf.queryExecution().optimizedPlan().toString()).count("soundex(")

    made = F.soundex("c0")
    assert (times(told(held(made))), times(told(made))) == (1, 2)
    assert told(held(made)).collect() == told(made).collect()
