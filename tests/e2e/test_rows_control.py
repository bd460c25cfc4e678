"""Plain rows that are not changes (before images of updates, null lines), and a warning for times before 2000."""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec
from tests.e2e.truth_runs import a_project

FEED: list[Any] = [
    {"id": 1, "a": 1, "v": 1, "_change_type": "insert"},
    {"id": 1, "a": 1, "v": 2, "_change_type": "update_preimage"},
    {"id": 1, "a": 2, "v": 2, "_change_type": "update_postimage"},
    None,
    {"id": 2, "a": 1, "v": 2, "_change_type": "insert"},
    {"id": 2, "a": 1, "v": 3, "_change_type": "delete"},
]


@pytest.mark.slow
def test_rows_that_are_not_changes_count_as_control_events_and_times_before_2000_give_a_warning(
    spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project = a_project(catalog, tmp_path_factory.mktemp("preimages"), "preimages")
    events = project.root / "events"
    events.mkdir()
    (events / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in FEED))
    source = {
        "format": "rows", "path": "events", "sequence_by": "v", "columns": {"except": ["v", "_change_type"]},
        "ignore_when": "_change_type = 'update_preimage'", "delete_when": "_change_type = 'delete'",
    }  # fmt: skip
    target = {"latest": "preimages.t", "history": "preimages.t_history"}
    spec = table_spec({"table": "own.t", "source": source, "keys": ["id"], "target": target}, project)
    report = catch_up(project, [spec], spark)
    (read,), (table,) = report.sources, report.tables
    assert (report.exit_code, read.read, dict(read.taken), read.control, read.rejected) == (0, 6, {"own.t": 4}, 2, 0)
    assert table.warning is not None
    assert table.warning.startswith("All its changes have a time before 2000.")
    control = spark.table("lake.preimages.control").select("kind", "line", "payload").orderBy("line").collect()
    assert [tuple(row) for row in control] == [("ignored", 2, None), ("null_message", 4, None)]
    versions = spark.table("lake.preimages.t_history").select("id", "a", "_op").orderBy("id", "_position").collect()
    assert [tuple(row) for row in versions] == [
        (1, 1, "update"),
        (1, 2, "update"),
        (2, 1, "update"),
        (2, None, "delete"),
    ]
