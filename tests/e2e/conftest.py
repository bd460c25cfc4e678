"""Tables that Spark wrote: format version 3, merge-on-read, and changed by MERGE, so that deletion vectors exist."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.cli import main
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec
from tests.e2e.store_projects import FIRST, SECOND, Tables, delivered, embedded
from tests.servers.postgresql import PostgreSql, postgresql_server
from tests.servers.s3 import S3, s3_server

PROPERTIES = (
    "TBLPROPERTIES ('format-version'='3', 'write.merge.mode'='merge-on-read', 'write.delete.mode'='merge-on-read', "
    "'write.update.mode'='merge-on-read')"
)
USER_COLUMNS = (
    "id BIGINT, region STRING, balance DECIMAL(12,2), photo BINARY, seen TIMESTAMP, `a.b c` STRING, "
    "tags MAP<STRING, INT>"
)
VERSION_COLUMNS = "_valid_from TIMESTAMP, _valid_to TIMESTAMP, _op STRING, _commit_ts TIMESTAMP, _position STRING"


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """An S3 server without buckets."""
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSql]:
    """A PostgreSQL server without databases."""
    with postgresql_server() as server:
        yield server


@pytest.fixture(scope="session")
def reference(spark: SparkSession, catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """The rows of two batches, in a local catalog with local files."""
    here = embedded(tmp_path_factory.mktemp("reference") / "project", catalog, "reference")
    for name, lines in (("a", FIRST), ("b", SECOND)):
        (Path(here.events) / f"{name}.jsonl").write_bytes(delivered(lines))
        with pytest.raises(SystemExit) as ended:
            main(["catch-up", "--project", str(here.root)])
        assert not ended.value.code
    return here.tables(spark)


@pytest.fixture(scope="session")
def shop(spark: SparkSession, catalog: CatalogSpec) -> str:
    """The namespace that holds `customers`, `customers_history` and an empty `customers_changes`."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.shop")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.ledger")
    spark.sql(f"CREATE TABLE lake.shop.customers ({USER_COLUMNS}, _batch BIGINT) USING iceberg {PROPERTIES}")
    spark.sql(
        f"CREATE TABLE lake.shop.customers_history ({USER_COLUMNS}, {VERSION_COLUMNS}, _batch BIGINT) "
        f"USING iceberg PARTITIONED BY (months(_valid_to)) {PROPERTIES}"
    )
    spark.sql(
        "CREATE TABLE lake.ledger.shop_customers_changes (batch BIGINT, key STRUCT<region: STRING, id: BIGINT>) "
        f"USING iceberg {PROPERTIES}"
    )
    _fill(spark)
    return "shop"


@pytest.fixture
def shop_project(shop: str, project: ProjectSpec, catalog: CatalogSpec) -> Path:
    """A project file and a spec in `specs`, for these tables."""
    (project.root / "specs").mkdir()
    (project.root / "specs" / "people.yaml").write_text(
        "table: crm.clients\n"
        "source: {format: debezium-json, path: events/*.jsonl}\n"
        "target: {latest: shop.customers, history: shop.customers_history, changes: ledger.shop_customers_changes}\n"
    )
    file = project.root / "siltstone.yaml"
    file.write_text(
        f"catalog: {{name: {catalog.name}, type: jdbc, uri: '{catalog.uri}', warehouse: '{catalog.warehouse}'}}\n"
        "namespace: ledger\n"
    )
    return file


def _fill(spark: SparkSession) -> None:
    """Insert three customers, then change one and delete one."""
    row = "{}L, '{}', {}BD, X'00FF', TIMESTAMP '2024-01-01 00:00:00.5', '{}', map('vip', {})"
    first = [row.format(i, r, b, t, v) for i, r, b, t, v in ((2, "eu", "20.00", "two", 1), (1, "eu", "10.50", "", 0))]
    first.append("1L, 'us', CAST(NULL AS DECIMAL(12,2)), NULL, NULL, NULL, NULL")
    noon = "TIMESTAMP '2024-01-01 12:00:00'"
    later = "TIMESTAMP '2024-02-01 12:00:00.25'"
    for line in first:
        spark.sql(f"INSERT INTO lake.shop.customers VALUES ({line}, 1)")
        version = f"{line}, {noon}, NULL, 'insert', {noon}, '0000-0001', 1"
        spark.sql(f"INSERT INTO lake.shop.customers_history VALUES ({version})")
    spark.sql("DELETE FROM lake.shop.customers WHERE id = 2")
    changed = row.format(1, "eu", "99.99", "one", 5)
    names = "(id, region, balance, photo, seen, `a.b c`, tags"
    _merge(spark, "customers", f"SELECT * FROM VALUES ({changed}, 2L) AS s{names}, _batch)")
    closed = f"SELECT * FROM VALUES (1L, 'eu', {later}), (2L, 'eu', {later}) AS s(id, region, _valid_to)"
    spark.sql(
        f"MERGE INTO lake.shop.customers_history t USING ({closed}) s ON t.id = s.id AND t.region = s.region "
        "AND t._valid_to IS NULL WHEN MATCHED THEN UPDATE SET t._valid_to = s._valid_to"
    )
    gone = "2L, 'eu', NULL, NULL, NULL, NULL, NULL"
    spark.sql(
        f"INSERT INTO lake.shop.customers_history VALUES "
        f"({changed}, {later}, NULL, 'update', {later}, '0000-0002', 2), "
        f"({gone}, {later}, NULL, 'delete', {later}, '0000-0003', 2)"
    )


def _merge(spark: SparkSession, table: str, source: str) -> None:
    spark.sql(
        f"MERGE INTO lake.shop.{table} t USING ({source}) s ON t.id = s.id AND t.region = s.region "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
