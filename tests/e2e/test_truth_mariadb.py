"""The MariaDB recordings through the engine: the tables are what the database itself said they were."""

import random

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.spec.model import CatalogSpec, ProjectSpec
from tests.e2e.truth_runs import Run, a_project, check_images, check_latest, cut, in_parts, needs_recordings, whole
from tests.recorded_tables import MARIADB, Table

pytestmark = needs_recordings
TABLES = tuple(MARIADB.values())
PLAIN, SCHEMA = "mariadb/debezium.noschema.jsonl.gz", "mariadb/debezium.schema.jsonl.gz"
each_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


@pytest.fixture(scope="module")
def plain(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return whole(spark, a_project(catalog, tmp_path_factory.mktemp("truth_mariadb"), "truth_mariadb"), TABLES, PLAIN)


@each_table
def test_latest_is_the_final_table(plain: Run, table: Table) -> None:
    check_latest(plain, table)


@each_table
def test_history_holds_the_images_every_key_went_through(plain: Run, table: Table) -> None:
    check_images(plain, table, PLAIN)


@pytest.mark.slow
def test_events_with_schemas_give_the_same_truth(spark: SparkSession, project: ProjectSpec) -> None:
    run = whole(spark, project, TABLES, SCHEMA)
    for table in TABLES:
        check_latest(run, table)
        check_images(run, table, SCHEMA)


@pytest.mark.slow
def test_batches_in_any_order_with_lines_delivered_twice_give_the_same_rows(
    spark: SparkSession, project: ProjectSpec, plain: Run
) -> None:
    parts = cut(PLAIN, 3)
    run = in_parts(spark, project, TABLES, PLAIN, [parts[2], parts[0] + parts[0][::5], parts[1] + parts[2][::5]])
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
