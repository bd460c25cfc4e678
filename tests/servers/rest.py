"""A REST catalog: the server of Iceberg's own tests, with a catalog in SQLite. Its jars come from Maven."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from siltstone.engine.jars import ICEBERG_AWS, cache_folder, jar_paths
from siltstone.engine.java import java_program
from tests.servers.process import free_port, running

POM = Path(__file__).with_name("rest-catalog.xml")
FOLDER = "rest-catalog-1.11.0"
MAIN = "org.apache.iceberg.rest.RESTCatalogServer"


@contextmanager
def rest_server(folder: Path, warehouse: str, store: Mapping[str, str]) -> Iterator[str]:
    """A server. Gives its address. `store`: the settings of the store that has the warehouse."""
    port = free_port()
    settings = {
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": f"jdbc:sqlite:{folder}/rest.db",
        "jdbc.schema-version": "V1",
        "warehouse": warehouse,
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        **store,
    }
    variables = {_variable(name): value for name, value in settings.items()}
    own = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CATALOG_"))}
    command = [str(java_program()), "-cp", os.pathsep.join(map(str, _jars())), MAIN]
    with running(command, port, folder / "rest.log", own | variables | {"CATALOG_REST_PORT": str(port)}):
        yield f"http://127.0.0.1:{port}"


def _variable(name: str) -> str:
    """The variable of the server's environment for a setting."""
    return f"CATALOG_{name.replace('-', '__').replace('.', '_').upper()}"


def _jars() -> list[Path]:
    """The server's jars: Iceberg's from Maven, Hadoop's from Spark, and the jars that read and write S3."""
    goal = cache_folder() / FOLDER
    if not any(goal.glob("iceberg-open-api-*.jar")):
        _fetch(goal)
    hadoop = sorted((Path(pyspark.__file__).parent / "jars").glob("hadoop-client-*.jar"))
    return [*sorted(goal.glob("*.jar")), *hadoop, *jar_paths([ICEBERG_AWS])]


def _fetch(goal: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("the jars of the REST catalog need Maven (apt install maven)")
    command = [maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={goal}.part"]
    found = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert found.returncode == 0, found.stdout[-2000:]
    Path(f"{goal}.part").replace(goal)
