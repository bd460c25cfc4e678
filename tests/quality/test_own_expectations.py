"""The expectations of a spec, by their names in Great Expectations, on real tables."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from siltstone.engine.spec import ProjectSpec, table_spec
from siltstone.engine.table.ledger import read_ledger
from siltstone.quality.gx_names import described
from siltstone.quality.validate import run_checks
from tests.quality.stage import Stage, change
from tests.quality.test_validate import write
from tests.unit.spec.cases import spec, violation, violations

ROW = T.StructType([T.StructField("k", T.StringType()), T.StructField("a", T.IntegerType())])
LIST = Path(__file__).parents[2] / "engine" / "spec" / "expectations.json"


def named(name: str, **given: Any) -> dict[str, Any]:
    settings = {key: given.pop(key) for key in ("on", "severity") if key in given}
    return settings | {f"expect_{name}": given}


EXPECTED = [
    named("column_values_to_not_be_null", column="a", on="latest", severity="warn"),
    named("column_values_to_be_between", column="a", min_value=2, max_value=3),
    named("column_values_to_be_between", column="a", min_value=0),
    named("table_row_count_to_equal", value=3, on="history"),
    named("column_max_to_be_between", column="a", max_value=1, on="history", severity="info"),
    named("column_values_to_be_in_set", column="op", value_set=["insert", "update"], on="changes"),
    named("column_values_to_be_unique", column="nowhere"),
]


@pytest.fixture
def results(spark: SparkSession, project_with_docs: ProjectSpec) -> dict[str, Any]:
    project = project_with_docs
    changes = [
        change(10, "insert", "secret key", {"a": 1}),
        change(11, "insert", "y", {"a": None}),
        change(12, "update", "y", {"a": 3}, before={"a": None}),
    ]
    found = table_spec(
        {
            "table": "shop.orders",
            "source": {"format": "debezium-json", "path": "x"},
            "target": {"latest": f"{project.namespace}.orders", "history": f"{project.namespace}.orders_history"},
            "quality": {"checks": ["sums_close"], "expectations": EXPECTED},
        },
        project,
    )
    write(spark, project, found, Stage(spark, ROW, ("k",)).tables(changes))
    return {one.check: one for one in run_checks(spark, project, found, "run1", 0)}


def test_expectations_are_evaluated_on_the_tables_and_recorded_with_the_other_checks(
    spark: SparkSession, project: ProjectSpec, results: dict[str, Any]
) -> None:
    by_check = {check: (one.severity, one.status, one.observed) for check, one in results.items() if ":" in check}
    assert by_check == {
        "latest: expect_column_values_to_not_be_null('a')": ("warn", "passed", 0),
        "latest: expect_column_values_to_be_between('a')": ("error", "failed", 1),
        "latest: expect_column_values_to_be_between('a') #2": ("error", "passed", 0),
        "history: expect_table_row_count_to_equal()": ("error", "passed", 0),
        "history: expect_column_max_to_be_between('a')": ("info", "noted", 1),
        "changes: expect_column_values_to_be_in_set('op')": ("error", "passed", 0),
        "latest: expect_column_values_to_be_unique('nowhere')": ("error", "failed", 1),
    }
    assert results["latest: expect_column_values_to_be_between('a')"].message == "1 unexpected value among 2"
    assert results["history: expect_column_max_to_be_between('a')"].message == "observed: 3"
    broken = results["latest: expect_column_values_to_be_unique('nowhere')"]
    assert broken.message.startswith("the expectation could not be evaluated: ")
    ledger = read_ledger(spark, project, "checks")
    assert ledger is not None
    assert {row["check"] for row in ledger.collect()} == set(results)

    pages = project.root / "report" / "data-docs"
    index = (pages / "index.html").read_text()
    assert {name for name in ("latest", "history", "changes") if f"shop.orders.{name}<" in index} == {
        "latest", "history", "changes",
    }  # fmt: skip
    assert not [page for page in pages.rglob("*.html") if "secret key" in page.read_text()]


WRONG = [
    ({"expect_column_values_to_not_be_nul": {"column": "a"}}, "did you mean 'expect_column_values_to_not_be_null'?"),
    ({"expect_column_values_to_not_be_null": {"colum": "a"}}, "did you mean 'column'?"),
    ({"expect_column_values_to_not_be_null": {}}, None),
    ({"expect_column_values_to_not_be_null": {"column": "a", "mostly": 2}}, None),
    ({"expect_column_values_to_not_be_null": {"column": "a"}, "on": "last"}, "did you mean 'latest'?"),
    ({"expect_column_values_to_not_be_null": {"column": "a"}, "severity": "wrn"}, "did you mean 'warn'?"),
    ({"on": "latest"}, None),
    ({"expect_column_to_exist": {"column": 3}}, None),
    ("expect_column_to_exist", None),
]


@pytest.mark.parametrize(("given", "hint"), WRONG)
def test_an_unknown_or_incomplete_expectation_is_a_violation(given: Any, hint: str | None) -> None:
    found = violation(quality={"expectations": [given]})
    assert found.path == "$.quality.expectations[0]"
    assert hint is None or hint in str(found)


def test_every_wrong_expectation_is_reported_with_its_place() -> None:
    given = [WRONG[0][0], named("column_to_exist", column="a"), *(wrong for wrong, _ in WRONG[1:])]
    paths = [found.path for found in violations(quality={"expectations": given, "on_failure": "stop"})]
    places = [0, *range(2, len(given))]
    assert paths == ["$.quality.on_failure", *(f"$.quality.expectations[{place}]" for place in places)]
    assert violation(quality={"expectations": {}}).path == "$.quality.expectations"


def test_arguments_are_passed_on_unchanged() -> None:
    (one,) = spec(
        quality={"expectations": [named("column_values_to_be_in_set", column="a", value_set=[1, "b"])]}
    ).quality.expectations
    assert (one.on, one.severity, one.arguments) == ("latest", "error", {"column": "a", "value_set": [1, "b"]})


def test_the_list_of_expectations_is_that_of_the_installed_library() -> None:
    assert json.loads(LIST.read_text()) == described()
