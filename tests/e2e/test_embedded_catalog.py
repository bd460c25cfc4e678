"""The embedded catalog, read directly, gives the same results as PyIceberg's SqlCatalog for the same file."""

from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError

from siltstone.engine.reader.embedded_catalog import EmbeddedCatalog
from siltstone.engine.spec.model import CatalogSpec
from siltstone.engine.sqlite_catalog import sqlite_file


@pytest.fixture
def database(catalog: CatalogSpec, shop: str) -> Path:
    file = sqlite_file(catalog)
    assert file is not None
    return file


def test_both_catalogs_list_the_same_tables(database: Path) -> None:
    ours = EmbeddedCatalog("lake", database, {})
    theirs = SqlCatalog("lake", uri=f"sqlite:///{database}", init_catalog_tables="false")
    assert set(ours.list_namespaces()) <= set(theirs.list_namespaces())
    for namespace in ours.list_namespaces():
        assert sorted(ours.list_tables(namespace)) == sorted(theirs.list_tables(namespace))
    theirs.engine.dispose()


def test_both_catalogs_load_the_same_state_of_a_table(database: Path) -> None:
    ours = EmbeddedCatalog("lake", database, {}).load_table("shop.customers_history")
    sql = SqlCatalog("lake", uri=f"sqlite:///{database}", init_catalog_tables="false")
    theirs = sql.load_table("shop.customers_history")
    assert ours.metadata_location == theirs.metadata_location
    assert ours.metadata == theirs.metadata
    assert ours.name() == theirs.name()
    sql.engine.dispose()


def test_a_catalog_with_another_name_is_empty(database: Path) -> None:
    other = EmbeddedCatalog("pond", database, {})
    assert other.list_namespaces() == []
    assert not other.table_exists("shop.customers")
    with pytest.raises(NoSuchTableError):
        other.load_table("shop.customers")
