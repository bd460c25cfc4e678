"""Spanner change records through the engine give the documented end states and histories."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec
from tests.e2e.truth_runs import chronological, needs_recordings
from tests.recordings import DATA

pytestmark = needs_recordings
CAPTURES = ("NEW_VALUES", "NEW_ROW", "OLD_AND_NEW_VALUES")


def rows_of(
    spark: SparkSession, project: ProjectSpec, table: str, file: Path, name: str, **more: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], Any]:
    """Run once. Gives latest, history in chronological order, and the report of the source."""
    target = {"latest": f"{project.namespace}.{name}", "history": f"{project.namespace}.{name}_history"}
    changes = {"changes": f"{project.namespace}.{name}_changes"}
    mapping = {"table": table, "source": {"format": "spanner-json", "path": str(file)}, "target": target | changes}
    spec = table_spec(mapping | more, project)
    report = catch_up(project, [spec], spark)
    assert not report.exit_code, [found.error for found in report.tables]
    latest = [row.asDict() for row in spark.table(f"lake.{spec.target.latest}").collect()]
    history = [row.asDict() for row in spark.table(f"lake.{spec.target.history}").collect()]
    return latest, sorted(history, key=chronological), report.sources[0]


def versions(history: list[dict[str, Any]], key: str, value: Any, columns: tuple[str, ...]) -> list[Any]:
    """The values of the columns in each version, in order. None: a deletion."""
    mine = sorted((row for row in history if row[key] == value), key=lambda row: row["_position"])
    return [None if row["_op"] == "delete" else tuple(row[c] for c in columns) for row in mine]


@pytest.mark.slow
@pytest.mark.parametrize("capture", CAPTURES)
def test_every_capture_type_gives_the_same_tables(spark: SparkSession, project: ProjectSpec, capture: str) -> None:
    file = DATA / f"spanner/derived_emulator_{capture}.jsonl"
    latest, history, _ = rows_of(spark, project, "Users", file, "users")
    assert [(row["UserId"], row["Name"], row["Age"]) for row in latest] == [(1, "name1Update", 33)]
    one = versions(history, "UserId", 1, ("Name", "Age"))
    assert one == [("name1", None), ("name1Update", None), ("name1Update", 33)]
    assert versions(history, "UserId", 2, ("Name", "Age")) == [("name2", 20), ("name2", 22), None]
    assert all(row["_unknown"] in (None, []) for row in history)
    first, *_, last = sorted((row for row in history if row["UserId"] == 1), key=lambda row: row["_position"])
    assert first["_valid_to"] == last["_valid_from"], "a nanosecond apart: the version between has no width"
    assert last["_valid_to"] is None


@pytest.mark.parametrize("shape", ["", pytest.param("_pg_jsonb", marks=pytest.mark.slow)])
def test_lines_in_any_order_give_the_documented_history(spark: SparkSession, project: ProjectSpec, shape: str) -> None:
    file = DATA / f"spanner/derived_beam_ordered_within_key{shape}.jsonl"
    latest, history, source = rows_of(spark, project, "Singers", file, "singers")
    assert latest == []
    ends = {
        key: [None if v is None else v[0] for v in versions(history, "SingerId", key, ("FirstName",))]
        for key in range(7)
    }
    changed = {key: len([name for name in names if name is not None]) for key, names in ends.items()}
    assert changed == {0: 1, 1: 3, 2: 2, 3: 2, 4: 1, 5: 1, 6: 0}, "the update of key 5 changes nothing"
    assert [len(names) for names in ends.values()] == [2, 5, 3, 3, 2, 2, 0]
    assert ends[5][0] == "Updating mutation 5"
    assert ends[1][2] is None
    assert all(names[-1] is None for key, names in ends.items() if key < 6)
    assert source.rejected == 0


@pytest.mark.slow
def test_only_data_records_give_rows(spark: SparkSession, project: ProjectSpec) -> None:
    file = DATA / "spanner/real_googlesql_array_struct.jsonl"
    latest, history, source = rows_of(spark, project, "Players", file, "players")
    assert sorted((row["PlayerId"], row["Name"]) for row in latest) == [(22, "foo"), (23, "bar")]
    assert len(history) == 2
    assert (source.read, source.control, source.rejected) == (7, 4, 0)


@pytest.mark.slow
def test_a_commit_time_with_an_offset_is_the_same_instant(spark: SparkSession, project: ProjectSpec) -> None:
    latest, history, source = rows_of(spark, project, "players", DATA / "spanner/real_pg_jsonb.jsonl", "pg")
    assert [(row["playerid"], row["playername"]) for row in latest] == [(3, "b")]
    moment = history[0]["_valid_from"].astimezone().timestamp()
    assert moment == datetime.fromisoformat("2023-02-25T01:17:00.678847+00:00").timestamp()
    assert (source.read, source.control) == (3, 2)
