"""The PostgreSQL recordings through the engine give the tables that the database itself reported."""

import json
import random
from collections.abc import Sequence

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
from tests.recorded_tables import POSTGRESQL, Table

pytestmark = needs_recordings
TABLES = tuple(POSTGRESQL.values())
PLAIN, SCHEMA = "postgresql/events.noschema.jsonl.gz", "postgresql/events.schema.jsonl.gz"
each_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
# A READ has the date '4713-01-01 BC' as 4713-01-01, because JDBC loses the era, and the event does not show the loss.
# The first image of key 90 is such a READ. Its first streamed change has the right date.
WRONG_ERA = {"inventory.customers": [(90,)]}


@pytest.fixture(scope="module")
def plain(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return whole(
        spark, a_project(catalog, tmp_path_factory.mktemp("truth_postgresql"), "truth_postgresql"), TABLES, PLAIN
    )


@each_table
def test_latest_equals_the_final_table(plain: Run, table: Table) -> None:
    check_latest(plain, table)


@each_table
def test_history_has_the_images_of_every_key_in_order(plain: Run, table: Table) -> None:
    check_images(plain, table, PLAIN, except_keys=WRONG_ERA.get(table.name, ()))


@pytest.mark.slow
def test_events_with_schemas_give_the_same_tables(spark: SparkSession, project: ProjectSpec) -> None:
    run = whole(spark, project, TABLES, SCHEMA)
    for table in TABLES:
        check_latest(run, table)
        check_images(run, table, SCHEMA, except_keys=WRONG_ERA.get(table.name, ()))


@pytest.mark.slow
def test_batches_in_any_order_with_redelivered_lines_give_the_same_rows(
    spark: SparkSession, project: ProjectSpec, plain: Run
) -> None:
    parts = split_recording(PLAIN, 3)
    run = in_parts(spark, project, TABLES, PLAIN, [parts[1], parts[0] + parts[1][::5], parts[2] + parts[0][::5]])
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


def bare(lines: Sequence[str]) -> list[str]:
    """Only the values of the events, as sinks without keys and headers write them."""
    return [json.dumps(json.loads(line)["value"]) + "\n" for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]], ids=["in order", "out of order"])
def test_bare_values_give_the_same_rows(
    spark: SparkSession, project: ProjectSpec, plain: Run, order: list[int]
) -> None:
    parts = split_recording(PLAIN, 4)
    run = in_parts(spark, project, TABLES, PLAIN, [bare(parts[number]) for number in order])
    for table in TABLES:
        check_latest(run, table)
        assert run.stored(table) == plain.stored(table)
