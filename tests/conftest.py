"""One Spark session for the whole test run, with its own catalog. Each test has a project with its own namespace."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from siltstone.engine.errors import SiltstoneError
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, QualitySpec, SparkSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.brokers import Broker

# Small and quick to start; the first two JVM flags trade peak speed for start-up, the third makes room
# for the code of a long run; they are for tests only.
TEST_CONF = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.default.parallelism": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m",
}
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> CatalogSpec:
    """The embedded catalog `lake` in a folder of this test run."""
    lake = tmp_path_factory.mktemp("lake")
    return CatalogSpec("lake", "jdbc", f"jdbc:sqlite:{lake}/catalog.db", f"file://{lake}/warehouse")


@pytest.fixture(scope="session")
def spark(catalog: CatalogSpec, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session of the whole run."""
    from siltstone.engine.jars import ICEBERG_AWS, POSTGRESQL_JDBC
    from siltstone.engine.session import spark_session

    root = tmp_path_factory.mktemp("session")
    session = spark_session(_project(root, catalog, "silt"), (ICEBERG_AWS, POSTGRESQL_JDBC))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A Kafka broker of the whole run."""
    from tests.brokers import Broker

    try:
        started = Broker(tmp_path_factory.mktemp("broker"))
        started.start()
    except SiltstoneError as error:  # its jars are not available
        pytest.skip(f"no Kafka broker: {error}")
    yield started
    started.stop()


@pytest.fixture
def project(catalog: CatalogSpec, tmp_path: Path) -> ProjectSpec:
    """A project in its own folder. Its ledgers and change tables are in its own namespace."""
    return _project(tmp_path, catalog, f"silt_{next(_numbers)}")


@pytest.fixture
def project_with_docs(project: ProjectSpec) -> ProjectSpec:
    """A project that keeps Great Expectations' pages."""
    return replace(project, quality=replace(project.quality, data_docs=True))


def _project(root: Path, catalog: CatalogSpec, namespace: str) -> ProjectSpec:
    return ProjectSpec(
        root=root,
        file=None,
        catalog=catalog,
        namespace=namespace,
        spark=SparkSpec("local[2]", TEST_CONF),
        quality=QualitySpec("warn"),
    )
