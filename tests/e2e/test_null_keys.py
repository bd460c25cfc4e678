"""A NULL in a Spanner key column is a key value like any other: in the fold, late changes, checks and `explain`."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up, explain, verify
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, TableSpec
from siltstone.quality.validate import checks_of_run
from tests.e2e.truth_runs import a_project

TYPES = [
    {"name": name, "type": {"code": code}, "is_primary_key": is_key, "ordinal_position": at}
    for at, (name, code, is_key) in enumerate((("a", "INT64", True), ("b", "STRING", True), ("v", "INT64", False)), 1)
]
Step = tuple[str, str | None, str | None, int | None, int | None]


def record(at: int, kind: str, a: str | None, b: str | None, old: int | None, new: int | None) -> str:
    """A change of the row (a, b) at second `at`, with complete before and after images."""
    values = {
        "old_values": {} if old is None else {"v": str(old)},
        "new_values": {} if new is None else {"v": str(new)},
    }
    data = {
        "commit_timestamp": f"2024-01-02T03:04:{at:02}Z", "record_sequence": "00000000", "table_name": "items",
        "server_transaction_id": f"t{at}", "is_last_record_in_transaction_in_partition": True, "mod_type": kind,
        "value_capture_type": "NEW_ROW_AND_OLD_VALUES", "column_types": TYPES,
        "mods": [{"keys": {"a": a, "b": b}} | values],
        "number_of_records_in_transaction": 1, "number_of_partitions_in_transaction": 1, "partition_token": "p",
    }  # fmt: skip
    return json.dumps({"data_change_record": data})


STEPS: dict[int, Step] = {
    1: ("INSERT", None, "x", None, 1),
    2: ("INSERT", None, None, None, 2),
    3: ("INSERT", "1", None, None, 3),
    4: ("INSERT", "1", "x", None, 4),
    5: ("UPDATE", None, "x", 1, 5),
    6: ("UPDATE", None, None, 2, 6),
    7: ("UPDATE", "1", None, 3, 7),
    8: ("DELETE", None, None, 6, None),
    9: ("INSERT", None, None, None, 9),
}
LATEST = [(None, None, 9), (None, "x", 5), (1, None, 7), (1, "x", 4)]
HISTORY = [
    (None, None, "insert", 2, 2, 6), (None, None, "update", 6, 6, 8), (None, None, "delete", None, 8, 9),
    (None, None, "insert", 9, 9, None), (None, "x", "insert", 1, 1, 5), (None, "x", "update", 5, 5, None),
    (1, None, "insert", 3, 3, 7), (1, None, "update", 7, 7, None), (1, "x", "insert", 4, 4, None),
]  # fmt: skip


def spec_of(project: ProjectSpec) -> TableSpec:
    target = {"latest": f"{project.namespace}.items", "history": f"{project.namespace}.items_history"}
    mapping = {"table": "items", "source": {"format": "spanner-json", "path": "events"}, "target": target}
    return table_spec(mapping, project)


def deliver(spark: SparkSession, project: ProjectSpec, deliveries: Sequence[Sequence[int]]) -> TableSpec:
    """Deliver the batches with a run after each, and check the last run. Gives the spec of the table."""
    spec, events = spec_of(project), project.root / "events"
    events.mkdir()
    for number, source_batch in enumerate(deliveries):
        (events / f"{number}.jsonl").write_text("".join(f"{record(at, *STEPS[at])}\n" for at in source_batch))
        report = catch_up(project, [spec], spark, checks=checks_of_run)
        (table,) = report.tables
        assert (table.error, table.rejected) == (None, 0)
    failed = [result for result in table.checks or () if result.status == "failed" and result.severity == "error"]
    assert [(result.check, result.message) for result in failed] == []
    return spec


def sorted_rows(rows: Sequence[Any]) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in rows), key=lambda row: [(value is not None, value) for value in row[:2]])


@pytest.mark.slow
def test_rows_with_null_in_a_key_column_behave_like_all_other_rows(
    spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory
) -> None:
    orders = [[[1, 2, 3, 4, 5], [6, 7, 8, 9]], [[1, 3, 4, 9], [8, 2], [7, 6, 5, 2]]]
    for number, deliveries in enumerate(orders):
        project = a_project(catalog, tmp_path_factory.mktemp("null_keys"), f"null_keys{number}")
        spec = deliver(spark, project, deliveries)
        latest = spark.table(f"lake.{spec.target.latest}").select("a", "b", "v").collect()
        assert sorted_rows(latest) == LATEST
        seconds = ("second(_valid_from)", "second(_valid_to)")
        history = spark.table(f"lake.{spec.target.history}").orderBy("_valid_from")
        assert sorted_rows(history.selectExpr("a", "b", "_op", "v", *seconds).collect()) == HISTORY
        (verification,) = verify(project, [spec], spark, sample=None, seed=3)
        assert (verification.status, verification.error) == ("equal", None)
        found = explain(project, spec, spark, {"a": None, "b": None})
        assert [version.op for version in found.versions] == ["insert", "update", "delete", "insert"]
        assert all(version.in_table for version in found.versions)
