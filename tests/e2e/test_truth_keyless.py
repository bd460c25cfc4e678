"""The recorded tables without a key: latest and history have as many equal rows as the database had."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.report import EQUAL
from siltstone.engine.run import catch_up, verify
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import ProjectSpec, TableSpec
from tests.e2e.truth_runs import needs_recordings
from tests.recorded_tables import INTEGER, TEXT, Row, Table, stamp
from tests.recordings import DATA, SNAPSHOTS, lines, truth_changes

pytestmark = needs_recordings
LOG = Table("shop.nopk_log", (), {"msg": TEXT, "n": INTEGER, "at": stamp("timestamp_ntz(3)", 1000)})
DEBEZIUM, CANAL = "mariadb/debezium.noschema.jsonl.gz", "mariadb/canal.flat.jsonl.gz"
Image = tuple[Any, ...]


def spec_of(project: ProjectSpec, path: Path, form: str, table: Table = LOG, **more: Any) -> TableSpec:
    """The spec of a table without a key. It declares the types, except for Canal, whose messages contain them."""
    typed = {"columns": {c: v.type for c, v in table.columns.items()}} if form != "canal-json" else {}
    name = table.name.replace(".", "_")
    target = {"latest": f"{project.namespace}.{name}", "history": f"{project.namespace}.{name}_history"}
    source = {"format": form, "path": str(path)}
    return table_spec({"table": table.name, "source": source, "keys": [], "target": target} | typed | more, project)


def run(spark: SparkSession, project: ProjectSpec, spec: TableSpec) -> None:
    (table,) = catch_up(project, [spec], spark).tables
    assert not table.exit_code, table.error


def stored(spark: SparkSession, target: str, table: Table) -> list[tuple[Image, Row]]:
    rows = [row.asDict() for row in spark.table(f"lake.{target}").collect()]
    return [(image_of(table.canonical(row, "stored"), table), row) for row in rows]


def image_of(row: Row, table: Table) -> Image:
    return tuple(row.get(name) for name in table.columns)


def check_latest(spark: SparkSession, spec: TableSpec, final: Counter[Image], table: Table = LOG) -> None:
    """Check that latest has copies 1 to n of each image, where n is its number of rows in the final table."""
    copies: dict[Image, list[int]] = {}
    for image, row in stored(spark, spec.target.latest, table):
        copies.setdefault(image, []).append(row["_copy"])
    assert {image: len(found) for image, found in copies.items()} == dict(final)
    assert all(sorted(found) == list(range(1, len(found) + 1)) for found in copies.values())


def check_counts(spark: SparkSession, spec: TableSpec, since: Any) -> None:
    """Check that the number of rows of each image changes in history as it did in the database."""
    steps: dict[Image, Counter[str]] = {}
    for image, row in stored(spark, spec.target.history, LOG):
        steps.setdefault(image, Counter())[row["_position"]] += -1 if row["_op"] == "delete" else 1
    found = {image: running_totals(moved[p] for p in sorted(moved)) for image, moved in steps.items()}
    assert found == dict(truth_counts(since))


def running_totals(steps: Iterable[int]) -> list[int]:
    numbers = [0]
    for step in steps:
        numbers.append(numbers[-1] + step)
    return numbers[1:]


def truth_counts(since: Any) -> Iterator[tuple[Image, list[int]]]:
    """The numbers of rows of each image: first at `since`, then after every statement."""
    moved: dict[Image, Counter[Any]] = {}
    for place, old, new in truth_changes(LOG):
        at = since if place <= since else place
        for row, step in ((old, -1), (new, 1)):
            if row is not None:
                moved.setdefault(image_of(row, LOG), Counter())[at] += step
    for image, steps in moved.items():
        yield image, running_totals(steps[place] for place in sorted(steps))


@pytest.fixture
def final() -> Counter[Image]:
    return Counter(image_of(row, LOG) for row in truth_rows(LOG))


def truth_rows(table: Table) -> list[Row]:
    """All rows of the final table, including equal rows."""
    path = DATA / "mariadb/truth" / f"final.{table.name.partition('.')[2]}.jsonl"
    return [table.canonical(json.loads(line, parse_float=Decimal), "truth") for line in lines(path)]


@pytest.mark.parametrize("parts", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_debezium_events_give_the_row_counts_of_the_database(
    spark: SparkSession, project: ProjectSpec, final: Counter[Image], parts: int
) -> None:
    """The parts arrive in reverse order, with some lines twice."""
    events = [line for line in lines(DATA / DEBEZIUM) if '"table":"nopk_log"' in line]
    slices = [events[len(events) * n // parts : len(events) * (n + 1) // parts] for n in range(parts)]
    folder = project.root / "events"
    folder.mkdir()
    spec = spec_of(project, folder / "*.jsonl", "debezium-json")
    for number, part in enumerate(reversed(slices)):
        (folder / f"{number}.jsonl").write_text("".join(part + part[::7]), encoding="utf-8")
        run(spark, project, spec)
    check_latest(spark, spec, final)
    check_counts(spark, spec, SNAPSHOTS[DEBEZIUM])
    (verification,) = verify(project, [spec], spark, sample=None, seed=3)
    assert verification.status == EQUAL, verification


@pytest.mark.slow
def test_canal_messages_give_the_final_row_counts_of_the_database(
    spark: SparkSession, project: ProjectSpec, final: Counter[Image]
) -> None:
    spec = spec_of(project, DATA / CANAL, "canal-json")
    run(spark, project, spec)
    check_latest(spark, spec, final)


@pytest.mark.slow
def test_postgresql_events_give_the_final_row_counts_of_the_database(spark: SparkSession, project: ProjectSpec) -> None:
    """A column of the table was dropped during the recording. The images have the other columns."""
    table = Table("inventory.nopk", (), {"k": TEXT, "v": INTEGER})
    spec = spec_of(project, DATA / "postgresql/events.noschema.jsonl.gz", "debezium-json", table, evolution="ignore")
    run(spark, project, spec)
    final_lines = lines(DATA / "postgresql/truth/nopk.final.jsonl.gz")
    rows = [json.loads(line) for line in final_lines if line.strip()]
    check_latest(spark, spec, Counter((row["k"], row["v"]) for row in rows), table)
