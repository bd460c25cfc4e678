"""The halves of Datastream's key changes give the same tables together or separately, in any order."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, TableSpec
from tests.conformance.decoded import spec_of
from tests.conformance.encode_datastream import DatastreamJson
from tests.conformance.wire import SECOND
from tests.conformance.workload import NOON, Event, Step, Table, Workload
from tests.e2e.truth_runs import a_project

THINGS = Table("things", ("id",), {"id": "bigint", "name": "text"})
ENCODERS = (DatastreamJson("mysql"), DatastreamJson("postgresql"))
FIRST, SECOND_HALF = "UPDATE-DELETE", "UPDATE-INSERT"


def key_change_workload() -> Workload:
    """A row that gets another key, changes, and gets its first key back."""
    rows: list[Any] = [None, (1, "a"), (2, "a"), (2, "b"), (1, "b")]
    images = [row and dict(zip(THINGS.columns, row, strict=True)) for row in rows]
    events = [Event("update" if n else "insert", THINGS, images[n], images[n + 1]) for n in range(4)]
    return Workload((THINGS,), [Step("stream", n + 1, NOON + n * SECOND, (event,)) for n, event in enumerate(events)])


def delivered(
    spark: SparkSession, catalog: CatalogSpec, root: Path, namespace: str, parts: Sequence[Any]
) -> tuple[ProjectSpec, list[TableSpec]]:
    """Deliver the parts with a run after each. A part is a predicate that selects the kinds of change it contains."""
    project, specs = a_project(catalog, root, namespace), []
    for encoder in ENCODERS:
        (root / encoder.name).mkdir()
        specs.append(spec_of(project, encoder, THINGS, root / encoder.name))
    for number, part in enumerate(parts):
        for encoder in ENCODERS:
            kinds = [(line, json.loads(line)["source_metadata"]) for line in encoder.lines(key_change_workload())]
            lines = [line for line, meta in kinds if part(meta["change_type"])]
            (root / encoder.name / f"part-{number}.jsonl").write_text("".join(line + "\n" for line in lines))
        report = catch_up(project, specs, spark)
        assert [table.error for table in report.tables if table.error] == []
    return project, specs


def rows_of(spark: SparkSession, specs: Sequence[TableSpec]) -> list[Any]:
    """All rows of latest and history without `_batch`."""
    tables = [name for spec in specs for name in (spec.target.latest, spec.target.history)]
    return [sorted(map(repr, spark.table(f"lake.{name}").drop("_batch").collect())) for name in tables]


@pytest.fixture(scope="module")
def together(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    root = tmp_path_factory.mktemp("together")
    _, specs = delivered(spark, catalog, root, "halves_together", [lambda kind: True])
    for spec in specs:
        latest = spark.table(f"lake.{spec.target.latest}").select("id", "name").collect()
        assert [tuple(row) for row in latest] == [(1, "b")]
        links = spark.table(f"lake.{spec.target.changes}").where("old_key IS NOT NULL OR new_key IS NOT NULL")
        assert links.count() == 4
    return rows_of(spark, specs)


@pytest.mark.slow
@pytest.mark.parametrize("last", [FIRST, SECOND_HALF])
def test_halves_that_arrive_separately_give_the_same_tables(
    last: str, spark: SparkSession, catalog: CatalogSpec, tmp_path: Path, together: list[Any]
) -> None:
    namespace = f"halves_{last[-6:].lower()}_last"
    _, specs = delivered(spark, catalog, tmp_path, namespace, [lambda kind: kind != last, lambda kind: kind == last])
    assert rows_of(spark, specs) == together


def a_shift(number: int) -> Workload:
    """Three rows, and one statement that adds 1 to each key: `SET id = id + 1`."""
    table = Table(f"shift_{number}", THINGS.keys, THINGS.columns)
    rows = {key: {"id": key, "name": f"row {key}"} for key in (1, 2, 3)}
    inserts = tuple(Event("insert", table, None, row) for row in rows.values())
    changes_key = tuple(Event("update", table, row, row | {"id": key + 1}) for key, row in rows.items())
    steps = [Step("stream", 1, NOON, inserts), Step("stream", 2, NOON + SECOND, changes_key)]
    return Workload((table,), steps)


def without_transaction(line: str) -> str:
    event = json.loads(line)
    assert event["source_metadata"].pop("tx_id")
    return json.dumps(event)


@pytest.mark.slow
@pytest.mark.parametrize("database", ["oracle", "postgresql"])
@pytest.mark.parametrize("rewrite", [str, without_transaction])
def test_a_key_shift_that_is_split_anywhere_gives_the_tables_of_the_whole(
    database: str, rewrite: Callable[[str], str], spark: SparkSession, catalog: CatalogSpec, tmp_path: Path
) -> None:
    namespace = f"halves_shifted_{database}_{rewrite.__name__}"
    project, specs, parts = a_project(catalog, tmp_path, namespace), [], []
    for number in range(2 * 5):
        encoder, workload, folder = DatastreamJson(database), a_shift(number), tmp_path / str(number)
        folder.mkdir()
        lines, cut = (
            [rewrite(line) + "\n" for line in encoder.lines(workload)],
            4 + number % 5,
        )  # between two of the six halves
        parts.append([lines[:cut], lines[cut:]] if number < 5 else [lines[cut:], lines[:cut]])
        specs.append(spec_of(project, encoder, workload.tables[0], folder))
    for turn in range(2):
        for number, part in enumerate(parts):
            (tmp_path / str(number) / f"part-{turn}.jsonl").write_text("".join(part[turn]))
        report = catch_up(project, specs, spark)
        assert [table.error for table in report.tables if table.error] == []
    for spec in specs:
        latest = spark.table(f"lake.{spec.target.latest}").select("id", "name").orderBy("id").collect()
        assert [tuple(row) for row in latest] == [(2, "row 1"), (3, "row 2"), (4, "row 3")]
    once = {repr(rows) for rows in zip(*[iter(rows_of(spark, specs))] * 2, strict=True)}
    assert len(once) == 1
