"""What must stay in one place: Java nowhere, the JVM in three modules, Spark in one module of the decoders."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REACHES_INTO_THE_JVM = re.compile(r"\b_jvm\b|\bpy4j\b|\bsparkContext\b|\b_jsparkSession\b|\b_jdf\b")
MAY_REACH = {
    "engine/session.py",  # starts a local session
    "engine/gateway.py",  # makes its gateway ask each question once
    "engine/iceberg.py",  # Iceberg's objects that have no face in SQL or in Python
}
OF_SPARK = re.compile(r"^\s*(?:from|import) pyspark(?!\.sql import types as T$)", re.MULTILINE)
MAY_USE_SPARK = {"engine/decode/spark.py"}


def sources(*packages: str) -> dict[str, str]:
    files = (file for package in packages for file in (ROOT / package).rglob("*.py"))
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}


def test_there_is_no_java_in_the_tree() -> None:
    assert [file for package in ("engine", "quality", "jobs") for file in (ROOT / package).rglob("*.java")] == []


def test_only_these_modules_reach_into_the_jvm() -> None:
    found = {name for name, text in sources("engine", "quality", "jobs").items() if REACHES_INTO_THE_JVM.search(text)}
    assert found == MAY_REACH


def test_one_module_of_the_decoders_knows_spark() -> None:
    """The others name column types by `pyspark.sql.types`, which needs no session."""
    assert {name for name, text in sources("engine/decode").items() if OF_SPARK.search(text)} == MAY_USE_SPARK


@pytest.mark.parametrize(
    ("line", "is_spark"),
    [
        ("from pyspark.sql import DataFrame", True),
        ("    from pyspark.sql import functions as F", True),
        ("import pyspark", True),
        ("from pyspark.sql import types as T", False),
        ("from pyspark.sql import types as T, Column", True),
        ("# from pyspark", False),
    ],
)
def test_the_rule_finds_what_breaks_it(line: str, is_spark: bool) -> None:
    assert bool(OF_SPARK.search(line)) == is_spark
