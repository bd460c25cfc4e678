"""The settings of a new session, and the requirements for an existing one."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from siltstone.engine.errors import SpecError
from siltstone.engine.jars import ICEBERG_AWS, SQLITE_JDBC
from siltstone.engine.java import parse_java_version, require_java
from siltstone.engine.machine import GIGABYTE
from siltstone.engine.session import (
    ICEBERG_EXTENSIONS,
    PARALLEL_COLLECTOR,
    catalog_conf,
    default_driver_gigabytes,
    java_options,
    needed_jars,
    session_conf,
    spark_session,
    sqlite_file,
    utf8_names,
)
from siltstone.engine.spark_versions import iceberg_runtime
from siltstone.engine.spec.model import CatalogSpec, ProjectSpec, SparkSpec

REST = CatalogSpec("prod", "rest", "https://catalog.example", "s3://lake/warehouse", {"token": "secret"})


def test_the_embedded_catalog_waits_for_other_writers(catalog: CatalogSpec) -> None:
    conf = catalog_conf(catalog)
    assert conf["spark.sql.catalog.lake.jdbc.schema-version"] == "V1"
    assert conf["spark.sql.catalog.lake.jdbc.busy_timeout"] == "30000"
    assert conf["spark.sql.catalog.lake.warehouse"].startswith("file:///")


def test_other_catalogs_pass_through() -> None:
    assert catalog_conf(REST) == {
        "spark.sql.catalog.prod": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.prod.type": "rest",
        "spark.sql.catalog.prod.uri": "https://catalog.example",
        "spark.sql.catalog.prod.warehouse": "s3://lake/warehouse",
        "spark.sql.catalog.prod.cache-enabled": "false",
        "spark.sql.catalog.prod.token": "secret",
    }


def test_properties_override_the_defaults_of_siltstone(catalog: CatalogSpec) -> None:
    patient = replace(catalog, properties={"jdbc.busy_timeout": "90000"})
    assert catalog_conf(patient)["spark.sql.catalog.lake.jdbc.busy_timeout"] == "90000"


def test_the_project_overrides_every_default(project: ProjectSpec) -> None:
    chosen = replace(project, spark=SparkSpec("local[1]", {"spark.driver.memory": "3g", "spark.log.level": "INFO"}))
    conf = session_conf(chosen)
    assert (conf["spark.master"], conf["spark.driver.memory"], conf["spark.log.level"]) == ("local[1]", "3g", "INFO")
    assert conf["spark.sql.session.timeZone"] == "UTC"


def test_a_collector_is_set_only_if_the_environment_names_none(project: ProjectSpec) -> None:
    inlining = "-XX:+IgnoreUnrecognizedVMOptions -XX:FreqInlineSize=100"
    assert java_options({}) == f"{PARALLEL_COLLECTOR} {inlining}"
    assert java_options({"JAVA_TOOL_OPTIONS": "-XX:+UseG1GC"}) == inlining
    options = "-Xmn800m"
    chosen = replace(project, spark=SparkSpec("local[1]", {"spark.driver.extraJavaOptions": options}))
    assert session_conf(chosen)["spark.driver.extraJavaOptions"] == options


@pytest.mark.parametrize(("machine", "driver"), [(1, 1), (3, 1), (4, 2), (9, 4), (16, 8), (256, 8)])
def test_the_driver_takes_half_the_machine_up_to_eight_gigabytes(machine: int, driver: int) -> None:
    assert default_driver_gigabytes(machine * GIGABYTE) == driver


def test_only_the_jars_a_catalog_needs_are_requested(catalog: CatalogSpec) -> None:
    assert needed_jars(catalog) == [iceberg_runtime(), SQLITE_JDBC]
    assert needed_jars(REST) == [iceberg_runtime(), ICEBERG_AWS]
    assert needed_jars(replace(REST, warehouse="gs://lake")) == [iceberg_runtime()]


@pytest.mark.parametrize("uri", ["jdbc:sqlite:/data/c.db", "jdbc:sqlite:file:/data/c.db?cache=shared"])
def test_the_file_of_an_embedded_catalog_is_found(uri: str) -> None:
    assert sqlite_file(CatalogSpec("lake", "jdbc", uri, None)) == Path("/data/c.db")
    assert sqlite_file(CatalogSpec("lake", "jdbc", "jdbc:postgresql://db/catalog", None)) is None


def test_the_active_session_is_used_and_gets_the_projects_catalog(spark: SparkSession, project: ProjectSpec) -> None:
    other = replace(project, catalog=replace(project.catalog, name="second"))
    assert spark_session(other) is spark
    assert spark.conf.get("spark.sql.catalog.second.uri") == project.catalog.uri
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_a_session_without_iceberg_is_refused(
    spark: SparkSession, project: ProjectSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("siltstone.engine.session.ICEBERG_EXTENSIONS", "org.example.SomethingElse")
    with pytest.raises(SpecError, match="lacks the Iceberg extension"):
        spark_session(project)
    assert ICEBERG_EXTENSIONS in str(spark.conf.get("spark.sql.extensions"))


def test_a_session_whose_iceberg_jar_is_missing_is_refused(
    spark: SparkSession, project: ProjectSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("siltstone.engine.session.ICEBERG_EXTENSIONS", "")
    with pytest.raises(SpecError, match="classes are missing") as raised:
        spark_session(project)
    assert iceberg_runtime().file in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
    ],
)
def test_the_version_of_java_is_read_from_its_output(text: str, version: int | None) -> None:
    assert parse_java_version(text) == version


def test_without_java_one_line_names_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SpecError, match="no Java found") as raised:
        require_java()
    assert "apt install openjdk-17" in (raised.value.hint or "")


def test_an_old_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'java version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SpecError, match=r"Java 8 at .* is too old"):
        require_java()


@pytest.mark.skipif(sys.platform != "linux", reason="on other systems, Java does not use the locale")
def test_java_sees_the_disk_in_utf_8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setattr("locale.getencoding", lambda: "ANSI_X3.4-1968")
    with utf8_names():
        assert os.environ["LC_ALL"] == "C.UTF-8"
    assert os.environ["LC_ALL"] == "C"
    monkeypatch.setattr("locale.getencoding", lambda: "utf8")
    with utf8_names():
        assert os.environ["LC_ALL"] == "C"
