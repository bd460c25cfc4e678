"""Canal messages in growing files: runs recognize redeliveries, also of earlier runs, and account for every record."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.report import RunReport
from siltstone.engine.run import catch_up
from siltstone.engine.run.explain import explain
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, TableSpec
from tests.e2e.truth_runs import a_project, chronological

TYPES = {"id": "int", "a": "varchar(9)"}


def line(batch: int, kind: str, data: Any = None, old: Any = None, second: int = 0, **more: Any) -> str:
    millis = 1_700_000_000_000 + second * 1000
    message = {"data": data, "old": old, "database": "shop", "table": "items", "type": kind, "id": batch, "es": millis}
    defaults = {"ts": millis + batch, "isDdl": False, "sql": "", "mysqlType": TYPES, "pkNames": ["id"], "gtid": ""}
    return json.dumps(message | defaults | more) + "\n"


def row(key: int, a: str) -> dict[str, str]:
    return {"id": str(key), "a": a}


FIRST = [
    line(1, "INSERT", [row(1, "a"), row(2, "a")]),
    line(2, "UPDATE", [row(1, "b")], [{"a": "a"}], 1),
    line(2, "UPDATE", [row(1, "c")], [{"a": "b"}], 1),
]
SECOND = [
    line(3, "UPDATE", [row(1, "b")], [{"a": "a"}], 1),
    line(3, "UPDATE", [row(1, "c")], [{"a": "b"}], 1),
    line(3, "UPDATE", [row(3, "a")], [{"id": "2"}], 2),
    line(3, "QUERY", database="", table="", sql="BEGIN"),
    line(4, "TRUNCATE", second=3, isDdl=True, sql="TRUNCATE TABLE items"),
    line(4, "INSERT", [row(1, "d"), {"a": "no key"}], None, 4),
]


def spec_of(project: ProjectSpec) -> TableSpec:
    target = {"latest": f"{project.namespace}.items", "history": f"{project.namespace}.items_history"}
    source = {"format": "canal-json", "path": "events"}
    mapping = {"table": "shop.items", "source": source, "target": target, "rejects": {"max_fraction": 0.5}}
    return table_spec(mapping, project)


def delivered(
    spark: SparkSession, project: ProjectSpec, parts: list[list[str]], files: bool = False
) -> tuple[list[RunReport], list[Any]]:
    """Deliver the parts in one growing file, or in separate `files`, with a run after each part."""
    (project.root / "events").mkdir()
    spec, reports = spec_of(project), []
    for number, part in enumerate(parts):
        with (project.root / "events" / f"canal-{number if files else 0}.jsonl").open("a") as file:
            file.writelines(part)
        reports.append(catch_up(project, [spec], spark))
        assert not reports[-1].exit_code, reports[-1].tables[0].error
    rows = [found.asDict() for found in spark.table(f"lake.{spec.target.history}").collect()]
    return reports, [{k: v for k, v in found.items() if k != "_batch"} for found in sorted(rows, key=chronological)]


@pytest.mark.slow
def test_a_growing_file_gives_the_tables_of_the_whole_file(
    spark: SparkSession, catalog: CatalogSpec, project: ProjectSpec, tmp_path_factory: Any
) -> None:
    (first, second), grown = delivered(spark, project, [FIRST, SECOND])
    other = a_project(catalog, tmp_path_factory.mktemp("canal"), f"{project.namespace}_whole")
    (only,), whole = delivered(spark, other, [FIRST + SECOND])
    assert grown == whole
    versions: dict[int, list[Any]] = {}
    for found in sorted(whole, key=lambda found: found["_position"]):
        versions.setdefault(found["id"], []).append(None if found["_op"] == "delete" else found["a"])
    assert versions == {1: ["a", "b", "c", None, "d"], 2: ["a", None], 3: ["a", None]}
    for report, read, control in ((first, 3, 0), (second, 6, 3), (only, 9, 3)):
        (source,) = report.sources
        assert (source.read, source.control, source.rejected) == (read, control, 0)
        assert source.read == source.control + sum(source.taken.values())
    assert [report.tables[0].changes for report in (first, second, only)] == [4, 4, 8]
    assert [report.tables[0].rejected for report in (first, second, only)] == [0, 1, 1]


@pytest.mark.slow
def test_a_run_recognizes_redeliveries_of_the_previous_file(spark: SparkSession, project: ProjectSpec) -> None:
    """The second run also reads the previous file to compare. It takes nothing from it a second time."""
    (first, second), history = delivered(spark, project, [FIRST, SECOND], files=True)
    versions = [(found["id"], found["a"], found["_op"]) for found in sorted(history, key=lambda f: f["_position"])]
    assert [version[1] for version in versions if version[0] == 1] == ["a", "b", "c", None, "d"]
    assert [(s.read, s.control) for s in (*first.sources, *second.sources)] == [(3, 0), (6, 3)]
    assert [report.tables[0].changes for report in (first, second)] == [4, 4]


REPEATED = [
    *FIRST,
    line(3, "TRUNCATE", second=1, isDdl=True, sql="TRUNCATE TABLE items"),
    line(3, "INSERT", [row(1, "x"), row(4, "x")], None, 2),
    line(3, "UPDATE", [row(1, "y")], [{"a": "x"}], 2),
    line(4, "TRUNCATE", second=1, isDdl=True, sql="TRUNCATE TABLE items"),
    line(4, "INSERT", [row(1, "x"), row(4, "x")], None, 2),
    line(4, "UPDATE", [row(1, "y")], [{"a": "x"}], 2),
    line(4, "DELETE", [row(4, "x")], None, 3),
    line(5, "INSERT", [row(5, "z")], None, 4),
]
"""Batch 4 begins with the whole of batch 3."""


def in_files(
    spark: SparkSession, project: ProjectSpec, files: Mapping[int, list[str]], order: Iterable[int]
) -> tuple[list[RunReport], list[Any]]:
    """Write the files in this order, with a run after each. Gives the reports and the history."""
    (project.root / "events").mkdir()
    spec, reports = spec_of(project), []
    for number in order:
        (project.root / "events" / f"canal-{number}.jsonl").write_text("".join(files[number]))
        reports.append(catch_up(project, [spec], spark))
        assert not reports[-1].exit_code, reports[-1].tables[0].error
    rows = [found.asDict() for found in spark.table(f"lake.{spec.target.history}").collect()]
    known = [(r["id"], r["a"], r["_op"], r["_valid_from"], r["_valid_to"]) for r in rows]
    return reports, sorted(known, key=repr)


@pytest.mark.slow
def test_changes_are_retracted_if_another_file_shows_that_they_are_redeliveries(
    spark: SparkSession, catalog: CatalogSpec, project: ProjectSpec, tmp_path_factory: Any
) -> None:
    """Two files split the repeated messages, and arrive in both orders."""
    parts = {0: REPEATED[:7], 1: REPEATED[7:]}
    found = {}
    for name, order in (("cut", (0, 1)), ("backwards", (1, 0))):
        other = a_project(catalog, tmp_path_factory.mktemp(name), f"{project.namespace}_{name}")
        _, found[name] = in_files(spark, other, parts, order)
    explanation = explain(other, spec_of(other), spark, {"id": "4"})
    assert [change.outcome for change in explanation.changes].count("redelivered") == 1
    _, whole = in_files(spark, project, {0: REPEATED}, (0,))
    assert found["cut"] == whole
    assert found["backwards"] == whole
    assert [(key, a) for key, a, *_ in whole].count((1, "x")) == 1


@pytest.mark.slow
def test_a_run_recognizes_redelivered_batches_that_span_many_files(spark: SparkSession, project: ProjectSpec) -> None:
    """Each file has one message: the file before the new ones has the end of a batch, but not its beginning."""
    (project.root / "events").mkdir()
    spec, lines = spec_of(project), [*FIRST, *SECOND]
    reports = []
    for names in (range(3), range(3, len(lines))):
        for number in names:
            (project.root / "events" / f"canal-{number}.jsonl").write_text(lines[number])
        reports.append(catch_up(project, [spec], spark))
        assert not reports[-1].exit_code, reports[-1].tables[0].error
    assert [report.tables[0].changes for report in reports] == [4, 4]
    assert [report.sources[0].control for report in reports] == [0, 3]


def test_a_row_of_the_first_load_never_overrides_a_change(spark: SparkSession, project: ProjectSpec) -> None:
    events = [
        line(1, "UPDATE", [row(8, "changed")], [{"a": "x"}], 2),
        line(2, "INIT", [row(8, "stale"), row(9, "loaded")], None, 3),
        line(3, "UPDATE", [row(9, "later")], [{"a": "loaded"}], 600),
    ]
    _, history = delivered(spark, project, [events])
    assert [(found["id"], found["a"], found["_op"]) for found in sorted(history, key=lambda f: (f["id"], f["a"]))] == [
        (8, "changed", "update"),
        (9, "later", "update"),
        (9, "loaded", "read"),
    ]
