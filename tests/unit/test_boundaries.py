"""Restrictions of the code: no Java; the JVM, Spark and the names of formats in a few modules only."""

import ast
import re
from pathlib import Path

import pytest

from siltstone.engine.formats import NAMES, SOURCES
from siltstone.engine.formats.rows import ROWS

ROOT = Path(__file__).parents[2]
REACHES_INTO_THE_JVM = re.compile(r"\b_jvm\b|\bpy4j\b(?!-)|\bsparkContext\b|\b_jsparkSession\b|\b_jdf\b")
MAY_REACH = {
    "engine/session.py",  # starts a local session
    "engine/gateway.py",  # caches repeated calls of the gateway
    "engine/iceberg.py",  # Iceberg's objects without an interface in SQL or Python
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
    """The other decoders name column types by `pyspark.sql.types`, which needs no session."""
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
def test_the_rule_finds_modules_that_break_it(line: str, is_spark: bool) -> None:
    assert bool(OF_SPARK.search(line)) == is_spark


def names_of_formats(text: str) -> set[str]:
    """The string constants that are the name of a format, or the beginning of the name of a source. `rows` does not
    count, because it is an ordinary word: the code takes the name of that format from `engine.formats.rows`."""
    begins = tuple(kind.begins for kind in SOURCES if kind.begins.endswith((":", "-")))
    words = {*NAMES, *(kind.connector for kind in SOURCES)} - {ROWS}
    constants = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
    return {one for one in constants if isinstance(one, str) and (one in words or one.startswith(begins))}


def test_only_the_registry_and_the_decoders_name_formats() -> None:
    own = (
        "engine/formats/",
        "engine/decode/formats/",
        "engine/demo/",
        "engine/jars.py",
    )  # a driver has the name of its database, too
    found = {
        (file, name)
        for file, text in sources("engine", "quality", "jobs").items()
        if not file.startswith(own)
        for name in names_of_formats(text)
    }
    assert found == set()


@pytest.mark.parametrize(
    ("line", "is_named"),
    [
        ('F.col("source").startswith("postgresql:")', True),
        ('source.format == "canal-json"', True),
        ('connector == "datastream-mysql"', True),
        ('"the setting is for canal-json only"', False),
        ("# canal-json", False),
    ],
)
def test_the_rule_finds_names_of_formats(line: str, is_named: bool) -> None:
    assert bool(names_of_formats(line)) == is_named
