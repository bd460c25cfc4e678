"""Renamed columns: Iceberg renames them in the tables. Until then, rows are read under the new names."""

import json
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siltstone.engine import names
from siltstone.engine.iceberg import plain
from siltstone.engine.names import literal, quoted
from siltstone.engine.schema.commits import foreign_commits
from siltstone.engine.spec.renamed_names import NewNames, renamed
from siltstone.engine.table.catalog import exists, identifier, load, properties_of, put_properties
from siltstone.engine.table.commit import Branch, commits_of, drop_stale_branches, one_boundary, own_marker

STRUCTS: Final = ("row", "before", "key", "old_key", "new_key")
"""The columns of `changes` whose fields are columns of the source."""
LISTS: Final = ("present", names.UNKNOWN)
"""The columns whose values are names of columns."""


def with_new_names(rows: DataFrame, by_old: NewNames) -> DataFrame:
    """Rows of `changes` or `history` with the present names of columns, also in the columns that list names.

    Rows: 1:1.
    """
    if not by_old:
        return rows
    return rows.select(*[_under_new_names(column, by_old) for column in rows.schema])


def type_with_new_names(row: T.StructType, by_old: NewNames) -> T.StructType:
    """The columns under their present names."""
    return T.StructType([T.StructField(renamed(column.name, by_old), column.dataType) for column in row])


def _under_new_names(column: T.StructField, by_old: NewNames) -> Column:
    own = F.col(quoted(column.name))
    if column.name in LISTS:
        pairs = [F.lit(text) for pair in by_old.items() for text in pair]
        now = F.create_map(*pairs)
        return F.transform(own, lambda name: F.coalesce(now[F.lower(name)], name)).alias(column.name)
    if column.name in STRUCTS and isinstance(column.dataType, T.StructType):
        kind = type_with_new_names(column.dataType, by_old)
        return (own if kind == column.dataType else own.cast(kind)).alias(column.name)
    return own.alias(renamed(column.name, by_old))


def old_columns(spark: SparkSession, catalog: str, name: str, by_old: NewNames) -> dict[str, str]:
    """The columns of a table to rename: new names by old ones. For `changes`, the columns of its rows.

    Empty if the table does not exist. A column whose new name another column has waits until the table is replaced.
    """
    if not by_old or not exists(spark, catalog, name):
        return {}
    schema = spark.table(identifier(catalog, name)).schema
    inside = schema["row"].dataType if "row" in schema.names and "present" in schema.names else schema
    assert isinstance(inside, T.StructType)
    wanted = {column: renamed(column, by_old) for column in inside.names if column.casefold() in by_old}
    return {old: new for old, new in wanted.items() if new not in inside.names}


def rename_in_changes(
    spark: SparkSession, catalog: str, name: str, wanted: Mapping[str, str], firsts: Mapping[str, str]
) -> None:
    """Rename columns of `changes` in one commit.

    `wanted`: new names by old ones. `firsts`: the first names of columns by new ones, which the table remembers.
    """
    schema = spark.table(identifier(catalog, name)).schema
    both = load(spark, catalog, name).newTransaction()
    columns = both.updateSchema()
    for struct in STRUCTS:
        fields = schema[struct].dataType
        assert isinstance(fields, T.StructType)
        for old in fields.names:
            if old in wanted:
                columns.renameColumn(f"{struct}.{old}", wanted[old])
    columns.commit()
    since = properties_of(spark, catalog, name)
    moved: dict[str, str | None] = {names.PROPERTY_FIRST_NAMES: json.dumps(dict(firsts), sort_keys=True)}
    for old, new in wanted.items():
        if (batch := since.get(names.SINCE_PREFIX + old)) is not None:
            moved |= {names.SINCE_PREFIX + old: None, names.SINCE_PREFIX + new: batch}
    put_properties(both, moved)
    with one_boundary(name):
        both.commitTransaction()


def rename_in_table(spark: SparkSession, catalog: str, name: str, wanted: Mapping[str, str]) -> None:
    """Rename columns of `history` or `latest` in one commit.

    An earlier commit renames them in the lists of unknown columns, so that no row names a column that does not exist.
    """
    if names.UNKNOWN in spark.table(identifier(catalog, name)).columns:
        rename_unknown(spark, catalog, name, wanted)
    java = load(spark, catalog, name)
    columns = java.updateSchema()
    for old, new in wanted.items():
        columns.renameColumn(old, new)
    with one_boundary(name):
        columns.commit()


def rename_unknown(spark: SparkSession, catalog: str, name: str, wanted: Mapping[str, str]) -> None:
    """Rename columns in the lists of unknown columns. Few versions have such a list."""
    olds = ", ".join(literal(old) for old in wanted)
    is_named = f"arrays_overlap({names.UNKNOWN}, array({olds}))"
    if spark.sql(f"SELECT 1 FROM {identifier(catalog, name)} WHERE {is_named} LIMIT 1").isEmpty():
        return
    drop_stale_branches(spark, catalog, name)
    has_foreign = bool(foreign_commits(commits_of(spark, load(spark, catalog, name))))  # they stay until a rebuild
    marker = own_marker(spark, catalog, name) | ({names.SUMMARY_FOREIGN: "true"} if has_foreign else {})
    branch = Branch.start(spark, catalog, name, marker)
    cases = " ".join(f"WHEN {literal(old)} THEN {literal(new)}" for old, new in wanted.items())
    new_list = f"transform({names.UNKNOWN}, name -> CASE name {cases} ELSE name END)"
    branch.execute(f"UPDATE {branch.identifier} SET {names.UNKNOWN} = {new_list} WHERE {is_named}")
    branch.publish()


def stored_first_names(spark: SparkSession, catalog: str, name: str) -> dict[str, str]:
    """The first names of renamed columns, by their present names, from the properties of `changes`."""
    properties: Any = plain(spark, load(spark, catalog, name).properties())
    return dict(json.loads(properties.get(names.PROPERTY_FIRST_NAMES, "{}")))
