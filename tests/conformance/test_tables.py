"""The same workload in every format, in one run of the whole engine: the stored tables are those of the workload."""

import os

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from tests.conformance.decoded import differing, images, open_sums, spec_of, stored_rows, workload_folder
from tests.conformance.formats import BY_NAME
from tests.conformance.quick import one_per_format
from tests.conformance.workload import full_workload

WORKLOAD = full_workload()
TABLES = {table.name: table for table in WORKLOAD.tables}
WANTED = [name for name in BY_NAME if any(part in name for part in os.environ.get("SILTSTONE_FORMATS", "").split(","))]
QUICK = one_per_format(WANTED)
REST = [name for name in WANTED if name not in QUICK]


@pytest.mark.slow
@pytest.mark.parametrize("encoders", [QUICK, REST], ids=["quick", "rest"])
def test_every_format_gives_the_tables_of_the_workload(
    encoders: list[str], spark: SparkSession, project: ProjectSpec
) -> None:
    specs: dict[tuple[str, str], TableSpec] = {}
    for name in encoders:
        folder = workload_folder(BY_NAME[name], WORKLOAD, project)
        specs |= {(name, table.name): spec_of(project, BY_NAME[name], table, folder) for table in WORKLOAD.tables}
    report = catch_up(project, list(specs.values()), spark)
    assert [(table.table, table.error) for table in report.tables if table.error] == []
    assert open_sums(report) == []
    problems = []
    for (name, table_name), spec in specs.items():
        table = TABLES[table_name]
        live = stored_rows(spark.table(f"lake.{spec.target.latest}"), table)
        latest = {table.key(row): row for row, _ in live}
        committed = BY_NAME[name].committed(WORKLOAD)
        problems += differing(f"{name} latest {table.name}", latest, committed.latest()[table.name])
        problems += differing(
            f"{name} history {table.name}",
            images(spark.table(f"lake.{spec.target.history}"), table),
            committed.images()[table.name],
        )
    assert not problems, "\n".join(problems)
