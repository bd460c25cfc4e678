"""One history told in every format, through the whole engine in one run: the stored tables are the story's own."""

import os

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from tests.conformance.decoded import differing, images, spec_of, stored_rows, told
from tests.conformance.formats import BY_NAME
from tests.conformance.quick import one_a_format
from tests.conformance.story import a_story

STORY = a_story()
TABLES = {table.name: table for table in STORY.tables}
WANTED = [name for name in BY_NAME if any(part in name for part in os.environ.get("SILTSTONE_FORMATS", "").split(","))]
QUICK = one_a_format(WANTED)
REST = [name for name in WANTED if name not in QUICK]


@pytest.mark.slow
@pytest.mark.parametrize("told_by", [QUICK, REST], ids=["quick", "rest"])
def test_every_format_ends_in_the_same_tables(told_by: list[str], spark: SparkSession, project: ProjectSpec) -> None:
    specs: dict[tuple[str, str], TableSpec] = {}
    for name in told_by:
        folder = told(BY_NAME[name], STORY, project)
        specs |= {(name, table.name): spec_of(project, BY_NAME[name], table, folder) for table in STORY.tables}
    report = catch_up(project, list(specs.values()), spark)
    assert [(table.table, table.error) for table in report.tables if table.error] == []
    problems = []
    for (name, told_table), spec in specs.items():
        table = TABLES[told_table]
        live = stored_rows(spark.table(f"lake.{spec.target.latest}"), table)
        latest = {table.key(row): row for row, _ in live}
        story = BY_NAME[name].committed(STORY)
        problems += differing(f"{name} latest {table.name}", latest, story.latest()[table.name])
        problems += differing(
            f"{name} history {table.name}",
            images(spark.table(f"lake.{spec.target.history}"), table),
            story.images()[table.name],
        )
    assert not problems, "\n".join(problems)
