"""One history told in every format, through the whole engine in one run: the stored tables are the story's own."""

import os
from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.run import catch_up
from engine.spec.model import ProjectSpec, TableSpec
from tests.conformance.decoded import spec_of, stored_rows, told
from tests.conformance.formats import BY_NAME
from tests.conformance.quick import one_a_format
from tests.conformance.story import Key, Row, Table, a_story

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
        problems += differing(f"{name} history {table.name}", images(spark, spec, table), story.images()[table.name])
    assert not problems, "\n".join(problems)


def images(spark: SparkSession, spec: TableSpec, table: Table) -> dict[Key, list[Row | None]]:
    """What each key went through, repetitions once."""
    flags = ("_valid_from", "_valid_to", "_position", "_op")
    found: dict[Key, list[Row | None]] = {}
    for row, flagged in sorted(stored_rows(spark.table(f"lake.{spec.target.history}"), table, *flags), key=in_time):
        image = None if flagged["_op"] == "delete" else row
        sequence = found.setdefault(table.key(row), [])
        if not sequence or sequence[-1] != image:
            sequence.append(image)
    return found


def in_time(pair: tuple[Row, Row]) -> tuple[Any, ...]:
    """Versions of one instant have no width, and follow each other as they do in the log."""
    since, until, place, _ = pair[1].values()
    return since, until is None, until or since, place or ""


def differing(what: str, found: Mapping[Key, Any], expected: Mapping[Key, Any]) -> list[str]:
    wrong = [key for key in {**found, **expected} if found.get(key) != expected.get(key)]
    return [f"{what} {key}: {str(found.get(key))[:300]} != {str(expected.get(key))[:300]}" for key in wrong[:2]]
