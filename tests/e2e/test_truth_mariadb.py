"""The MariaDB recordings through the engine give the tables that the database itself reported."""

import random

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.spec.model import CatalogSpec, ProjectSpec
from tests.e2e.truth_runs import (
    Run,
    a_project,
    check_images,
    check_latest,
    in_parts,
    needs_recordings,
    split_recording,
    whole,
)
from tests.recorded_tables import MARIADB, Table

pytestmark = needs_recordings
TABLES = tuple(MARIADB.values())
PLAIN, SCHEMA = "mariadb/debezium.noschema.jsonl.gz", "mariadb/debezium.schema.jsonl.gz"
each_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


@pytest.fixture(scope="module")
def plain(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return whole(spark, a_project(catalog, tmp_path_factory.mktemp("truth_mariadb"), "truth_mariadb"), TABLES, PLAIN)


@each_table
def test_latest_equals_the_final_table(plain: Run, table: Table) -> None:
    check_latest(plain, table)


@each_table
def test_history_has_the_images_of_every_key_in_order(plain: Run, table: Table) -> None:
    check_images(plain, table, PLAIN)


@pytest.mark.slow
def test_events_with_schemas_give_the_same_tables(spark: SparkSession, project: ProjectSpec) -> None:
    run = whole(spark, project, TABLES, SCHEMA)
    for table in TABLES:
        check_latest(run, table)
        check_images(run, table, SCHEMA)


@pytest.mark.slow
def test_batches_in_any_order_with_redelivered_lines_give_the_same_rows(
    spark: SparkSession, project: ProjectSpec, plain: Run
) -> None:
    parts = split_recording(PLAIN, 3)
    run = in_parts(spark, project, TABLES, PLAIN, [parts[2], parts[0] + parts[0][::5], parts[1] + parts[2][::5]])
    for table in TABLES:
        assert run.stored(table) == plain.stored(table)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["in order", "backwards", "shuffled"])
def test_ten_batches_in_any_order_give_the_same_rows(
    spark: SparkSession, project: ProjectSpec, plain: Run, order: str
) -> None:
    parts = split_recording(PLAIN, 10)
    orders = {"in order": parts, "backwards": parts[::-1], "shuffled": random.Random(3).sample(parts, len(parts))}
    run = in_parts(spark, project, TABLES, PLAIN, orders[order])
    for table in TABLES:
        assert run.stored(table) == plain.stored(table)
