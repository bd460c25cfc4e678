"""Samples of the Alibaba DTS JSON formats through the engine give their documented rows."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.report import RunReport
from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec
from tests.e2e.truth_runs import needs_recordings
from tests.recordings import DATA

pytestmark = needs_recordings


def history_of(
    spark: SparkSession, project: ProjectSpec, table: str, form: str, files: str, **more: Any
) -> tuple[RunReport, list[dict[str, Any]]]:
    """Run once. Gives the report, and history in the order of positions."""
    target = {"latest": f"{project.namespace}.t", "history": f"{project.namespace}.t_history"}
    mapping = {"table": table, "source": {"format": form, "path": str(DATA / files)}, "target": target}
    report = catch_up(project, [table_spec(mapping | more, project)], spark)
    assert not report.exit_code, report.tables[0].error
    rows = [row.asDict() for row in spark.table(f"lake.{project.namespace}.t_history").collect()]
    return report, sorted(rows, key=lambda row: row["_position"])


def test_shareplex_samples_give_their_rows_in_the_table_of_the_spec(spark: SparkSession, project: ProjectSpec) -> None:
    report, history = history_of(
        spark, project, "CL_BIZ1.MIO_LOG", "shareplex-json", "dts/shareplex/doc_samples.jsonl", keys=["MIO_LOG_ID"]
    )
    inserted, updated, deleted = history
    assert (inserted["MIO_LOG_ID"], inserted["_op"]) == ("32539737", "insert")
    columns = ("MIO_LOG_ID", "PLNMIO_REC_ID", "POL_CODE", "CNTR_TYPE", "CNTR_NO")
    assert [updated[name] for name in columns] == ["32537893", "31557806", None, None, "1171201606"]
    assert (deleted["MIO_LOG_ID"], deleted["_op"]) == ("32539739", "delete")
    assert (report.sources[0].read, report.sources[0].taken) == (3, {"CL_BIZ1.MIO_LOG": 3})


@pytest.mark.parametrize("images", ["standard", pytest.param("swapped", marks=pytest.mark.slow)])
def test_a_delete_without_its_key_is_rejected_and_not_applied(
    spark: SparkSession, project: ProjectSpec, images: str
) -> None:
    report, history = history_of(
        spark,
        project,
        "dbname.tablename",
        "canal-json",
        "dts/canal/doc_d*.jsonl",
        source={"format": "canal-json", "path": str(DATA / "dts/canal/doc_d*.jsonl"), "images": images},
        rejects={"max_fraction": 0.5},
    )
    assert [(row["id"], row["_op"]) for row in history] == [(500000287, "delete")]
    (rejected,) = spark.table(f"lake.{project.namespace}.rejects").collect()
    assert rejected.reason == 'key column "id" is missing'
    assert rejected.file.endswith("doc_delete_before_2022-03-20.jsonl")
    assert (report.sources[0].control, report.tables[0].rejected) == (1, 1)
