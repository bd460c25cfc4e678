"""Columns of history are renamed in one commit with the property of their names. Columns become wider."""

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.spec.model import ProjectSpec
from siltstone.engine.table.catalog import create, identifier, properties_of, rename_columns, widen_column
from siltstone.engine.table.history_layout import Layout, stored_names

KINDS = (("id", T.IntegerType()), (names.VALID_FROM, T.IntegerType()), (names.VALID_TO, T.TimestampType()))
OWN = T.StructType([*[T.StructField(*kind) for kind in KINDS], T.StructField(names.IS_CURRENT, T.BooleanType())])


@pytest.fixture
def called(spark: SparkSession, project: ProjectSpec) -> str:
    """A table with a row, in which two of three columns have other names."""
    layout, name = Layout({names.VALID_FROM: "a", names.VALID_TO: "b"}), f"{project.namespace}.h"
    create(spark, project.catalog.name, name, layout.schema(OWN), layout.partitioning(), layout.properties())
    spark.sql(f"INSERT INTO {identifier(project.catalog.name, name)} VALUES (1, 7, NULL, true)")
    return name


@pytest.mark.parametrize(
    "wanted",
    [
        {names.VALID_FROM: "b", names.VALID_TO: "a"},
        {names.VALID_FROM: "b", names.VALID_TO: "c", names.IS_CURRENT: "a"},
        {names.VALID_FROM: "A"},
        {},
    ],
)
def test_names_can_be_swapped_shifted_and_reset_in_one_commit(
    spark: SparkSession, project: ProjectSpec, called: str, wanted: dict[str, str]
) -> None:
    catalog = project.catalog.name
    versions = spark.table(f"{identifier(catalog, called)}.metadata_log_entries")
    before = versions.count()
    rename_columns(spark, catalog, called, wanted)
    found = spark.table(identifier(catalog, called))
    assert found.columns == [wanted.get(name, name) for name in OWN.names]
    assert found.collect() == [Row(id=1, one=7, other=None, third=True)]
    assert stored_names(properties_of(spark, catalog, called)) == wanted
    assert spark.table(f"{identifier(catalog, called)}.metadata_log_entries").count() == before + 1
    rename_columns(spark, catalog, called, wanted)
    assert spark.table(f"{identifier(catalog, called)}.metadata_log_entries").count() == before + 1


def test_arrays_become_wider_by_their_elements(spark: SparkSession, project: ProjectSpec) -> None:
    catalog, name = project.catalog.name, f"{project.namespace}.w"
    create(spark, catalog, name, T.StructType.fromDDL("row struct<`a.b`: array<array<int>>>"))
    spark.sql(f"INSERT INTO {identifier(catalog, name)} VALUES (named_struct('a.b', array(array(1), null)))")
    widen_column(spark, catalog, name, ("row", "a.b"), T.ArrayType(T.ArrayType(T.LongType())))
    spark.sql(f"INSERT INTO {identifier(catalog, name)} VALUES (named_struct('a.b', array(array({2**40}))))")
    found = spark.table(identifier(catalog, name))
    assert found.dtypes == [("row", "struct<a.b:array<array<bigint>>>")]
    assert sorted(str(row[0][0]) for row in found.collect()) == ["[[1099511627776]]", "[[1], None]"]
