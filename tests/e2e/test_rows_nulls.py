"""A redelivered row with a null instead of a missing column is one change, in every order and any batches."""

import itertools
import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, TableSpec
from tests.e2e.truth_runs import a_project

ABSENT = [{"id": 1, "a": 1, "b": 5, "n": 1}, {"id": 1, "a": 2, "n": 2}]
NULL = [{"id": 1, "a": 2, "b": None, "n": 2}]
OTHER = [{"id": 2, "a": 1, "n": 3}]


def spec_of(project: ProjectSpec) -> TableSpec:
    target = {"latest": f"{project.namespace}.t", "history": f"{project.namespace}.t_history"}
    source = {"format": "rows", "path": "events", "sequence_by": "n"}
    columns = {"id": "int", "a": "int", "b": "int"}
    mapping = {"table": "own.t", "source": source, "keys": ["id"], "columns": columns, "target": target}
    return table_spec(mapping, project)


def deliver(
    spark: SparkSession, project: ProjectSpec, deliveries: list[list[dict[str, Any]]], at_once: bool
) -> list[Any]:
    """Deliver the rows with a run for each delivery, or with one run for all. Gives the versions."""
    events, spec = project.root / "events", spec_of(project)
    events.mkdir()
    for number, rows in enumerate(deliveries):
        (events / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        if not at_once or number + 1 == len(deliveries):
            assert catch_up(project, [spec], spark).exit_code == 0
    found = spark.table(f"lake.{spec.target.history}").orderBy("id", "_position", "_valid_from").collect()
    return [(row.id, row.a, row.b, row["_is_current"]) for row in found]


@pytest.mark.slow
def test_a_redelivery_with_a_null_for_a_missing_column_is_one_change_in_every_order(
    spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory
) -> None:
    wanted = [(1, 1, 5, False), (1, 2, None, True), (2, 1, None, True)]
    orders = [[ABSENT, NULL, OTHER], [NULL, ABSENT, OTHER], [[*ABSENT, *NULL], OTHER], [[*NULL, *ABSENT], OTHER]]
    for number, (order, at_once) in enumerate(itertools.product(orders, (False, True))):
        project = a_project(catalog, tmp_path_factory.mktemp("nulls"), f"nulls{number}")
        assert deliver(spark, project, order, at_once) == wanted, (number, at_once)
