"""Catalogs in database servers: the addresses of their databases, and drivers that are not installed."""

import sys

import pytest

from siltstone.engine.errors import SpecError, StorageError
from siltstone.engine.reader import open_catalog
from siltstone.engine.reader.database_catalog import database_address
from siltstone.engine.spec.model import CatalogSpec
from tests.servers.process import free_port


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("jdbc:postgresql://db:5433/lake", "postgresql+psycopg://me:p%40ss@db:5433/lake"),
        (
            "jdbc:postgresql://db/lake?sslmode=require&prepareThreshold=0&currentSchema=ice",
            "postgresql+psycopg://me:p%40ss@db/lake?options=-csearch_path%3Dice&sslmode=require",
        ),
        ("jdbc:mysql://db/lake?useSSL=true", "mysql+pymysql://me:p%40ss@db/lake"),
    ],
)
def test_the_address_equals_that_of_the_jdbc_driver(uri: str, address: str) -> None:
    spec = CatalogSpec("lake", "jdbc", uri, "s3://lake", {"jdbc.user": "me", "jdbc.password": "p@ss"})
    assert database_address(spec).render_as_string(hide_password=False) == address


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    spec = CatalogSpec("lake", "jdbc", "jdbc:postgresql://127.0.0.1:1/lake", "s3://lake")
    with pytest.raises(SpecError, match="without a JVM") as raised:
        open_catalog(spec)
    assert raised.value.hint == "install it: pip install 'siltstone[postgresql]'"


def test_an_unreachable_database_is_named() -> None:
    port = free_port()
    with pytest.raises(StorageError, match=rf"it cannot be reached \(127\.0\.0\.1:{port}\)"):
        open_catalog(CatalogSpec("lake", "jdbc", f"jdbc:postgresql://127.0.0.1:{port}/lake", "s3://lake"))


def test_a_catalog_that_only_a_jvm_can_read_is_named() -> None:
    with pytest.raises(SpecError, match="its type is jdbc, its uri is 'jdbc:oracle:thin:@db'"):
        open_catalog(CatalogSpec("lake", "jdbc", "jdbc:oracle:thin:@db", "s3://lake"))
