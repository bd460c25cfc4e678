"""The order of SharePlex operations in several deliveries, when one operation has no SCN."""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.report import FAILED, TableReport
from siltstone.engine.run import catch_up, plan, replay, reread
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, TableSpec
from tests.e2e.truth_runs import a_project, chronological

TABLE = "own.t"


def operation(op: str, data: Any, second: int, scn: int | None, key: Any = None, **meta: Any) -> str:
    position = {"scn": scn, "trans": f"7.0.{second}", "seq": 1, "size": 1}
    fields = {"time": f"2017-06-16T14:24:{second:02}", "op": op, "table": TABLE} | position | meta
    return json.dumps({"meta": fields, "data": data} | ({} if key is None else {"key": key})) + "\n"


def row(key: int, v: str) -> dict[str, str]:
    return {"ID": str(key), "V": v}


DAYS = (
    [operation("ins", row(1, "a"), 1, 10), operation("ins", row(2, "a"), 2, 11)],
    [operation("del", row(1, "a"), 3, None), operation("upd", {"V": "b"}, 4, 13, row(2, "a"))],
    [operation("ins", row(1, "again"), 5, 14), operation("upd", {"V": "c"}, 6, 15, row(2, "b"))],
)


def spec_of(project: ProjectSpec, columns: dict[str, str] | None = None, **source: Any) -> TableSpec:
    target = {"latest": f"{project.namespace}.t", "history": f"{project.namespace}.t_history"}
    mapping = {
        "table": TABLE,
        "source": {"format": "shareplex-json", "path": "events", **source},
        "keys": ["ID"],
        "columns": columns or {"ID": "bigint", "V": "string"},
        "target": target,
        "rejects": {"max_fraction": 0.5},
    }
    return table_spec(mapping, project)


def write(project: ProjectSpec, name: str, lines: list[str]) -> None:
    (project.root / "events").mkdir(exist_ok=True)
    (project.root / "events" / name).write_text("".join(lines), encoding="utf-8")


def run(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> TableReport:
    """Run once, and check that the plan before it gives the same error and exit code."""
    (planned,) = plan(project, [spec], spark)
    (table,) = catch_up(project, [spec], spark).tables
    assert (planned.error, planned.exit_code) == (table.error, table.exit_code)
    return table


def taken(spark: SparkSession, project: ProjectSpec, spec: TableSpec, **files: list[str]) -> None:
    for name, lines in files.items():
        write(project, f"{name}.json", lines)
    assert run(spark, project, spec).error is None


def history(spark: SparkSession, spec: TableSpec, *without: str) -> list[dict[str, Any]]:
    rows = [found.asDict() for found in spark.table(f"lake.{spec.target.history}").collect()]
    left_out = ("_batch", *without)
    return [{k: v for k, v in found.items() if k not in left_out} for found in sorted(rows, key=chronological)]


def latest(spark: SparkSession, spec: TableSpec) -> list[tuple[int, str]]:
    return sorted((found["ID"], found["V"]) for found in spark.table(f"lake.{spec.target.latest}").collect())


@pytest.mark.slow
def test_changes_after_a_change_without_an_scn_stay_after_it(
    spark: SparkSession, catalog: CatalogSpec, project: ProjectSpec, tmp_path_factory: Any
) -> None:
    spec = spec_of(project)
    for number, lines in enumerate(DAYS):
        taken(spark, project, spec, **{f"day{number}": lines})
    assert latest(spark, spec) == [(1, "again"), (2, "c")]
    other = a_project(catalog, tmp_path_factory.mktemp("whole"), f"{project.namespace}_whole")
    at_once = spec_of(other)
    taken(spark, other, at_once, **{f"day{number}": lines for number, lines in enumerate(DAYS)})
    # Separate runs give SCNs as positions of the first day, and one run gives coordinates. The versions are the same.
    places = ("_position", "_last_position")
    assert history(spark, spec, *places) == history(spark, at_once, *places)
    assert not reread(project, [spec], spark).exit_code
    assert history(spark, spec) == history(spark, at_once)


@pytest.mark.slow
def test_coordinates_that_contradict_scns_are_refused_until_coordinates_order_all_changes(
    spark: SparkSession, project: ProjectSpec
) -> None:
    spec = spec_of(project)
    taken(spark, project, spec, day1=DAYS[2][:1])
    write(project, "day0.json", [operation("ins", row(1, "a"), 1, 10), operation("del", row(1, "a"), 3, None)])
    refused = run(spark, project, spec)
    assert refused.status == FAILED
    assert refused.exit_code == 3
    assert "day0.json:1, is before changes that positions ordered, up to " in str(refused.error)
    assert "source.order: coordinates" in str(refused.error)
    assert latest(spark, spec) == [(1, "again")]
    fixed = spec_of(project, order="coordinates")
    assert not reread(project, [fixed], spark).exit_code
    assert run(spark, project, fixed).error is None
    assert latest(spark, fixed) == [(1, "again")]
    assert [found["V"] for found in history(spark, fixed)] == ["a", None, "again"]


@pytest.mark.slow
def test_scns_that_contradict_coordinates_are_refused_at_the_first_change_without_an_scn(
    spark: SparkSession, project: ProjectSpec
) -> None:
    spec = spec_of(project)
    taken(
        spark,
        project,
        spec,
        day1=[operation("ins", row(1, "a"), 2, 20), operation("upd", {"V": "b"}, 1, 10, row(1, "a"))],
    )
    write(project, "day2.json", [operation("upd", {"V": "x"}, 3, None, row(2, "y"))])
    refused = run(spark, project, spec)
    assert refused.exit_code == 3
    assert "day1.json:1 after file:" in str(refused.error)
    fixed = spec_of(project, order="coordinates")
    assert not reread(project, [fixed], spark).exit_code
    assert run(spark, project, fixed).error is None
    assert latest(spark, fixed) == [(1, "b"), (2, "x")]


@pytest.mark.slow
def test_a_replayed_reject_keeps_the_order_of_its_delivery(spark: SparkSession, project: ProjectSpec) -> None:
    narrow = {"ID": "bigint", "V": "string", "N": "int"}
    spec, fixed = spec_of(project, narrow), spec_of(project, narrow | {"N": "bigint"})
    first = [operation("ins", row(1, "a"), 1, 10), operation("upd", {"N": "3000000000"}, 2, 11, row(1, "a"))]
    # Only the file of the reject has an SCN for every change.
    taken(spark, project, spec, day0=first, day1=[operation("upd", {"V": "b"}, 3, None, row(1, "a"))])
    assert not replay(project, [fixed], spark).exit_code
    assert [(found["V"], found["N"]) for found in history(spark, fixed)] == [
        ("a", None),
        ("a", 3_000_000_000),
        ("b", 3_000_000_000),
    ]
