"""Maxwell and GoldenGate changes, some without a position, have the same order in any number of runs."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, TableSpec
from tests.e2e.truth_runs import a_project, chronological

Row = dict[str, Any]
Line = Callable[[str, int, Row | None, Row | None, bool], str]


def maxwell(op: str, second: int, before: Row | None, after: Row | None, has_position: bool) -> str:
    old = {"old": {k: v for k, v in (before or {}).items() if after and after[k] != v}} if op == "update" else {}
    position = {"position": f"mysql-bin.000001:{100 + second}"} if has_position else {}
    row = {"database": "own", "table": "t", "type": op, "ts": 1477053217 + second, "xid": second, "commit": True}
    return json.dumps(row | position | {"data": after or before} | old) + "\n"


def goldengate(op: str, second: int, before: Row | None, after: Row | None, has_position: bool) -> str:
    position = {"pos": f"{second:020}"} if has_position else {}
    time = f"2021-09-07 22:28:{second:02}.000139"
    row = {"table": "own.t", "op_type": op[0].upper(), "op_ts": time, "before": before, "after": after}
    return json.dumps(row | position) + "\n"


FORMATS: dict[str, Line] = {"maxwell-json": maxwell, "goldengate-json": goldengate}


def deliveries(line: Line) -> list[list[str]]:
    """Three deliveries. All changes have a position, except one in the second delivery."""

    def row(key: int, v: str) -> Row:
        return {"id": key, "v": v}

    return [
        [line("insert", 1, None, row(1, "a"), True), line("insert", 2, None, row(2, "a"), True)],
        [line("delete", 3, row(1, "a"), None, False), line("update", 4, row(2, "a"), row(3, "b"), True)],
        [line("insert", 5, None, row(1, "again"), True), line("update", 6, row(3, "b"), row(3, "c"), True)],
    ]


def spec_of(project: ProjectSpec, form: str) -> TableSpec:
    target = {"latest": f"{project.namespace}.t", "history": f"{project.namespace}.t_history"}
    columns = {"id": "bigint", "v": "string"}
    source = {"format": form, "path": "events"}
    return table_spec(
        {"table": "own.t", "source": source, "keys": ["id"], "columns": columns, "target": target}, project
    )


def delivered(spark: SparkSession, project: ProjectSpec, form: str, runs: list[list[str]]) -> tuple[Any, Any]:
    """Deliver each list of lines with its own run. Gives history without `_batch` and positions, and latest."""
    (project.root / "events").mkdir()
    spec = spec_of(project, form)
    for number, lines in enumerate(runs):
        (project.root / "events" / f"day{number}.json").write_text("".join(lines), encoding="utf-8")
        (table,) = catch_up(project, [spec], spark).tables
        assert table.error is None
    left_out = ("_batch", "_position", "_last_position")
    rows = sorted((row.asDict() for row in spark.table(f"lake.{spec.target.history}").collect()), key=chronological)
    latest = sorted((row["id"], row["v"]) for row in spark.table(f"lake.{spec.target.latest}").collect())
    return [{name: row[name] for name in row if name not in left_out} for row in rows], latest


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_coordinates_order_the_source_after_the_first_change_without_a_position(
    form: str, spark: SparkSession, catalog: CatalogSpec, project: ProjectSpec, tmp_path_factory: Any
) -> None:
    parts = deliveries(FORMATS[form])
    other = a_project(catalog, tmp_path_factory.mktemp("whole"), f"{project.namespace}_whole")
    history, latest = delivered(spark, project, form, parts)
    assert latest == [(1, "again"), (3, "c")]
    assert delivered(spark, other, form, [[line for part in parts for line in part]]) == (history, latest)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_positions_give_the_same_tables_in_any_order_and_number_of_deliveries(
    form: str, spark: SparkSession, catalog: CatalogSpec, project: ProjectSpec, tmp_path_factory: Any
) -> None:
    line = FORMATS[form]
    lines = [
        text for part in deliveries(lambda op, at, before, after, _: line(op, at, before, after, True)) for text in part
    ]
    other = a_project(catalog, tmp_path_factory.mktemp("whole"), f"{project.namespace}_whole")
    history, latest = delivered(spark, project, form, [lines])
    assert latest == [(1, "again"), (3, "c")]
    assert delivered(spark, other, form, [lines[:2:-1], [*lines[2::-1], lines[4]]]) == (history, latest)
