"""The PostgreSQL recordings through the engine: the tables are what the database itself said they were."""

import json
import random
from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.spec.model import CatalogSpec, ProjectSpec
from tests.e2e.truth_runs import Run, a_project, check_images, check_latest, cut, in_parts, needs_recordings, whole
from tests.recorded_tables import POSTGRESQL, Table

pytestmark = needs_recordings
TABLES = tuple(POSTGRESQL.values())
PLAIN, SCHEMA = "postgresql/events.noschema.jsonl.gz", "postgresql/events.schema.jsonl.gz"
each_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
# A READ tells the date '4713-01-01 BC' as 4713-01-01 (JDBC loses the era); nothing in the event says so. Key 90's first
# image is such a READ, and its first streamed change puts it right.
WRONG_ERA = {"inventory.customers": [(90,)]}


@pytest.fixture(scope="module")
def plain(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return whole(
        spark, a_project(catalog, tmp_path_factory.mktemp("truth_postgresql"), "truth_postgresql"), TABLES, PLAIN
    )


@each_table
def test_latest_is_the_final_table(plain: Run, table: Table) -> None:
    check_latest(plain, table)


@each_table
def test_history_holds_the_images_every_key_went_through(plain: Run, table: Table) -> None:
    check_images(plain, table, PLAIN, but=WRONG_ERA.get(table.name, ()))


@pytest.mark.slow
def test_events_with_schemas_give_the_same_truth(spark: SparkSession, project: ProjectSpec) -> None:
    run = whole(spark, project, TABLES, SCHEMA)
    for table in TABLES:
        check_latest(run, table)
        check_images(run, table, SCHEMA, but=WRONG_ERA.get(table.name, ()))


@pytest.mark.slow
def test_batches_in_any_order_with_lines_delivered_twice_give_the_same_rows(
    spark: SparkSession, project: ProjectSpec, plain: Run
) -> None:
    parts = cut(PLAIN, 3)
    run = in_parts(spark, project, TABLES, PLAIN, [parts[1], parts[0] + parts[1][::5], parts[2] + parts[0][::5]])
    for table in TABLES:
        assert run.stored(table) == plain.stored(table)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["in order", "backwards", "shuffled"])
def test_ten_batches_give_the_same_rows(spark: SparkSession, project: ProjectSpec, plain: Run, order: str) -> None:
    parts = cut(PLAIN, 10)
    orders = {"in order": parts, "backwards": parts[::-1], "shuffled": random.Random(3).sample(parts, len(parts))}
    run = in_parts(spark, project, TABLES, PLAIN, orders[order])
    for table in TABLES:
        assert run.stored(table) == plain.stored(table)


def bare(lines: Sequence[str]) -> list[str]:
    """The values alone, as sinks write them that know neither keys nor headers."""
    return [json.dumps(json.loads(line)["value"]) + "\n" for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]], ids=["in order", "out of order"])
def test_bare_values_give_the_same_rows(
    spark: SparkSession, project: ProjectSpec, plain: Run, order: list[int]
) -> None:
    parts = cut(PLAIN, 4)
    run = in_parts(spark, project, TABLES, PLAIN, [bare(parts[number]) for number in order])
    for table in TABLES:
        check_latest(run, table)
        assert run.stored(table) == plain.stored(table)
