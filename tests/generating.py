"""Spark with generated code, which the session of the tests goes without, and the code that it makes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

GENERATING = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "CODEGEN_ONLY",
    "spark.sql.codegen.fallback": "false",
}
LARGEST = "65535"


@contextmanager
def settings(spark: SparkSession, chosen: Mapping[str, str]) -> Iterator[None]:
    """Settings of the session inside of the block."""
    usual = {name: spark.conf.get(name, None) for name in chosen}
    for name, value in chosen.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in usual.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def stages_of(spark: SparkSession, frame: DataFrame) -> tuple[int, str]:
    """The bytes of the largest method in the code of a frame's stages, and all their code."""
    with settings(spark, GENERATING | {"spark.sql.codegen.hugeMethodLimit": LARGEST}):
        jvm = spark._jvm
        assert jvm is not None
        plan = frame.select("*")._jdf.queryExecution().executedPlan()
        found = jvm.org.apache.spark.sql.execution.debug.package.codegenStringSeq(plan)
        stages = [found.apply(at) for at in range(found.size())]
        sizes = [stage._3().maxMethodCodeSize() for stage in stages]
        return max(sizes, default=0), "\n".join(stage._2() for stage in stages)
