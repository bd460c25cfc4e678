"""Canal messages through the engine: the recorded database, and a sample with a documented end state."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.run import catch_up
from siltstone.engine.spec import table_spec
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, TableSpec
from tests.e2e.truth_runs import Run, a_project, check_images, check_latest, needs_recordings, split_recording
from tests.recorded_tables import MARIADB, Table
from tests.recordings import DATA, lines

pytestmark = [pytest.mark.slow, needs_recordings]
RECORDING = "mariadb/canal.flat.jsonl.gz"
TABLES = tuple(MARIADB.values())
LOG_START = ("", 0, 0)
each_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


def spec_of(project: ProjectSpec, table: str, path: Path, **more: Any) -> TableSpec:
    """The spec of a table. The messages contain the types."""
    name = table.replace(".", "_")
    mapping = {
        "table": table,
        "source": {"format": "canal-json", "path": str(path)},
        "target": {"latest": f"{project.namespace}.{name}", "history": f"{project.namespace}.{name}_history"},
    }
    return table_spec(mapping | more, project)


def typed(project: ProjectSpec, table: Table, path: Path) -> TableSpec:
    """The spec of a recorded table. It declares the defaults, which no message contains."""
    columns = {c: {"type": table.columns[c].type, "default": v} for c, v in table.defaults.items()}
    return spec_of(project, table.name, path, **({"columns": columns} if columns else {}))


def taken(spark: SparkSession, project: ProjectSpec, path: Path, tables: Sequence[Table] = TABLES) -> Run:
    specs = [typed(project, table, path) for table in tables]
    report = catch_up(project, specs, spark)
    failed = [(table.table, table.error) for table in report.tables if table.exit_code]
    assert not failed, failed
    return Run(spark, specs, [report])


@pytest.fixture(scope="module")
def plain(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Run:
    project = a_project(catalog, tmp_path_factory.mktemp("truth_canal"), "truth_canal")
    return taken(spark, project, DATA / RECORDING)


@each_table
def test_latest_equals_the_final_table(plain: Run, table: Table) -> None:
    check_latest(plain, table)


@each_table
def test_history_has_the_images_of_every_key_in_order(plain: Run, table: Table) -> None:
    check_images(plain, table, LOG_START)


def test_the_report_counts_every_line_once(plain: Run) -> None:
    (source,) = plain.reports[0].sources
    assert source.read == sum(1 for _ in lines(DATA / RECORDING))
    assert source.rejected == 0
    assert source.read == sum(source.taken.values()) + source.control + sum(source.other_tables.values())


@pytest.mark.parametrize("order", [range(10), range(9, -1, -1), (3, 9, 0, 6, 7, 1, 8, 2, 5, 4)], ids=str)
def test_ten_files_in_any_order_give_the_tables_of_one_file(
    spark: SparkSession,
    catalog: CatalogSpec,
    tmp_path_factory: pytest.TempPathFactory,
    plain: Run,
    order: Sequence[int],
) -> None:
    """A fifth of the lines are in Canal batches that were sent twice. The parts split several of these batches."""
    root = tmp_path_factory.mktemp("canal")
    project = a_project(catalog, root, f"canal_{order[0]}")
    parts = split_recording(RECORDING, 10)
    (root / "events").mkdir()
    specs = [typed(project, table, root / "events") for table in TABLES]
    for number in order:
        (root / "events" / f"canal-{number}.jsonl").write_text("".join(parts[number]), encoding="utf-8")
        report = catch_up(project, specs, spark)
    failed = [(table.table, table.error) for table in report.tables if table.exit_code]
    assert not failed, failed
    run = Run(spark, specs, [report])
    for table in TABLES:
        assert without_positions(run.stored(table)) == without_positions(plain.stored(table)), table.name


def without_positions(stored: tuple[list[str], list[str]]) -> list[list[str]]:
    """The rows without positions, which contain the file of a change, and without `_unknown`.

    A run writes the `_unknown` of a column that was added later only when it writes the row.
    """
    left_out = r"'_\w*position', '[^']*'|'_unknown', (None|\[[^]]*\])"
    return [sorted(re.sub(left_out, "", row) for row in rows) for rows in stored]


def test_the_sample_of_flink_gives_its_documented_end_state(spark: SparkSession, project: ProjectSpec) -> None:
    spec = spec_of(project, "inventory.products2", DATA / "canal/canal-data.txt")
    report = catch_up(project, [spec], spark)
    assert not report.exit_code, report.tables[0].error
    rows = {row["id"]: row for row in spark.table(f"lake.{spec.target.latest}").collect()}
    found = {key: (row["name"], row["description"], round(row["weight"], 3)) for key, row in rows.items()}
    assert found == {
        101: ("scooter", "Small 2-wheel scooter", 5.17),
        104: ("hammer", "12oz carpenter's hammer", 0.75),
        105: ("hammer", "14oz carpenter's hammer", 0.875),
        106: ("hammer", "18oz carpenter hammer", 1.0),
        107: ("rocks", "box of assorted rocks", 5.1),
        108: ("jacket", "water resistent black wind breaker", 0.1),
        109: ("spare tire", "24 inch spare tire", 22.2),
        110: ("jacket", "new water resistent white wind breaker", 0.5),
    }
